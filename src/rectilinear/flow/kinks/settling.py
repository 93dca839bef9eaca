"""Kinks that meet in one neuron: those reached, held or ended at one moment are settled together, by `contact.py` as everywhere."""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Indices, Signs
from ..compiled import fast_kernel, kernel
from ..polynomials import START, inner, value
from .contact import arriving, settle_as_descent
from .single_neuron import CROSS, EVENT_FIELDS, HOLD, NONE, RELEASE, KnownStep, jump_from, note, turn_to

TOUCHING = 1e-12  # height over the neuron's size that is zero up to rounding, as tolerances.ON_KINK_HEIGHT


@fast_kernel
def add_touching(
    step: KnownStep, w: Array, signs: Signs, due: Array, near: Indices, listed: int, turned: float, on_kink: float, held: Indices,
    count: int, but: int,
) -> int:  # fmt: skip
    """Append to the held kinks the free ones that w lies on, except one; how many there are then. They are among those near and due."""
    for n in range(listed):
        line = near[n]
        free = line != but and signs[line] != 0 and due[line] <= turned + on_kink
        if free and abs(inner(step.normals, line, w, START)) <= on_kink:
            held[count] = line
            count += 1
    return count


@kernel
def settle(
    step: KnownStep, drive: Array, moments: Array, signs: Signs, held: Indices, polynomials: Array, events: Array,
    count: int, lean: float, tau: float, ahead: float, slow: float, event: int,
) -> tuple[int, int]:  # fmt: skip
    """Settle the first `count` kinks of `held` together, whatever their signs; how many hold from here on, and the number of events.

    Velocities are for a unit outgoing weight (of sign `lean`). Where all of them are zero, what they are `ahead` of tau decides.
    """
    normals, degree = step.normals, step.jumps.shape[1] - 1
    gram, below, pushes = np.empty((count, count)), np.empty(count), np.empty(count)
    came_from = np.empty(count, np.int8)
    for m in range(count):
        jump_from(step.jumps, held[m], tau, polynomials[0])
        pushes[m], came_from[m] = lean * value(polynomials[0], START, degree, ahead), signs[held[m]]
        for j in range(count):
            gram[m, j] = inner(normals, held[m], normals, held[j])
    for m in range(count):
        below[m], power = 0.0, lean
        for i in range(degree + 1):
            below[m] += power * inner(normals, held[m], drive, i)
            power *= ahead
        for j in range(count):
            below[m] -= 0.5 * (1 + came_from[j]) * gram[m, j] * pushes[j]
    coming = arriving(gram, below, pushes, came_from)
    outcome, q, mu, pinned, push = settle_as_descent(gram, below, pushes, came_from, slow)
    if pinned >= 0:
        for i in range(degree + 1):
            events[event, EVENT_FIELDS + i] = 0.0
        event += note(events[event], tau, held[pinned], RELEASE, min(0.0, push), max(0.0, push), np.nan, 0.0)
    kept = 0
    for m in range(count):
        line, side, change = held[m], outcome[m], float(outcome[m] - came_from[m])
        speed = q[m]
        for j in range(count):
            speed -= gram[m, j] * mu[j]
        under, over = speed + mu[m], speed + mu[m] + pushes[m]
        if pushes[m] >= 0.0:  # holds answer on both sides
            under, over = (coming[m], speed) if side > 0 else (speed, coming[m])
        if change != 0.0:
            jump_from(step.jumps, line, tau, polynomials[0])
            turn_to(drive, moments, signs, polynomials[0], normals, line, side, events[event])
            kind = HOLD if side == 0 else RELEASE if came_from[m] == 0 else CROSS
            known = kind != RELEASE
            event += note(
                events[event], tau, line, kind, under if known else 0.0, over if known else 0.0,
                -mu[m] / pushes[m] if kind == HOLD else np.nan, change,
            )  # fmt: skip
        if side == 0:
            held[kept] = line
            kept += 1
    return kept, event


@kernel
def meet(
    step: KnownStep, drive: Array, moments: Array, signs: Signs, held: Indices, polynomials: Array, events: Array,
    lean: float, line: int, tau: float, slow: float, event: int,
) -> tuple[int, int]:  # fmt: skip
    """A free neuron reaches a kink, and no other: it crosses, or is held; how many kinks hold it, and events."""
    came_from, jump = int(signs[line]), polynomials[0]
    jump_from(step.jumps, line, tau, jump)
    here, push = lean * inner(step.normals, line, drive, START), lean * jump[0]
    below = here if came_from < 0 else here - push
    beyond = below if came_from > 0 else below + push
    if push >= 0.0 or came_from * beyond <= slow:
        turn_to(drive, moments, signs, jump, step.normals, line, -came_from, events[event])
        return 0, event + note(events[event], tau, line, CROSS, below, below + push, np.nan, -2.0 * came_from)
    turn_to(drive, moments, signs, jump, step.normals, line, NONE, events[event])
    held[0] = line
    share = min(max(-below / push, 0.0), 1.0)
    return 1, event + note(events[event], tau, line, HOLD, below, below + push, share, float(-came_from))
