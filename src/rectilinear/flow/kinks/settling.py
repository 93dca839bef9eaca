"""Kinks that meet in one neuron: those reached, held or ended at one moment are settled together, by `contact.py` as everywhere."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ..apart import apart
from ..compiled import in_line, part_of_its_own, part_without_arrays
from ..polynomials import START, inner, value
from .contact import arriving, settle_as_descent_apart
from .single_neuron import (
    CROSS,
    EVENT_FIELDS,
    HOLD,
    NONE,
    RELEASE,
    KnownStep,
    Log,
    Moment,
    Neuron,
    Watch,
    jump_from,
    note,
    turn_to,
)

MEETING_HEIGHT = 1e-12  # height over the neuron's size that is zero up to rounding, as tolerances.ON_KINK_HEIGHT


@in_line
def add_touching(
    normals: Array, neuron: Neuron, watch: Watch, listed: int, turned: float, on_kink: float, count: int, but: int
) -> int:  # fmt: skip
    """Append to the held kinks the free ones that w lies on, except one; how many there are then. They are among those near and due."""
    w, signs, held, due, near = neuron.w, neuron.signs, neuron.held, watch.due, watch.near
    for n in range(listed):
        line = near[n]
        free = line != but and signs[line] != 0 and due[line] <= turned + on_kink
        if free and abs(inner(normals, line, w, START)) <= on_kink:
            held[count] = line
            count += 1
    return count


@in_line
def unless_rounding(speed: float, slow: float) -> float:
    """A velocity, or zero where its sign is rounding."""
    return 0.0 if abs(speed) <= slow else speed


@part_of_its_own
def settle(step: KnownStep, neuron: Neuron, log: Log, moment: Moment, count: int, ahead: float) -> int:
    """Settle the first `count` kinks of `held` together, whatever their signs; how many hold from here on.

    Velocities are for a unit outgoing weight (of sign `lean`). Where all of them are zero, what they are `ahead` of tau decides.
    """
    normals, held, jump, (tau, lean, slow) = step.normals, neuron.held, neuron.polynomials[0], moment
    degree, rows = step.jumps.shape[1] - 1, log.rows
    gram, below, pushes = np.empty((count, count)), np.empty(count), np.empty(count)
    came_from = np.empty(count, np.int8)
    for m in range(count):
        jump_from(step.jumps, held[m], tau, jump)
        pushes[m], came_from[m] = lean * value(jump, START, degree, ahead), neuron.signs[held[m]]
        for j in range(m + 1):
            gram[m, j] = gram[j, m] = inner(normals, held[m], normals, held[j])
    for m in range(count):
        below[m], power = 0.0, lean
        for i in range(degree + 1):
            below[m] += power * inner(normals, held[m], neuron.drive, i)
            power *= ahead
        for j in range(count):
            below[m] -= 0.5 * (1 + came_from[j]) * gram[m, j] * pushes[j]
    coming = arriving(gram, below, pushes, came_from)
    outcome, q, mu, pinned, push = settle_as_descent_apart(gram, below, pushes, came_from, slow)
    if pinned >= 0:
        for i in range(degree + 1):
            rows[log.happened[0], EVENT_FIELDS + i] = 0.0
        note(log, tau, held[pinned], RELEASE, min(0.0, push), max(0.0, push), np.nan, 0.0)
    kept = 0
    for m in range(count):
        line, side, change = held[m], NONE + outcome[m], float(outcome[m] - came_from[m])
        speed = q[m]
        for j in range(count):
            speed -= gram[m, j] * mu[j]
        under, over = speed + mu[m], speed + mu[m] + pushes[m]
        if pushes[m] >= 0.0:  # holds answer on both sides; what moved away was on the line, and others have taken it over
            came = 0.0 if came_from[m] * coming[m] > 0.0 else coming[m]
            under, over = (came, speed) if side > 0 else (speed, came)
        if change != 0.0:
            jump_from(step.jumps, line, tau, jump)
            turn_to(neuron, log, jump, normals, line, side)
            kind = HOLD if side == 0 else RELEASE if came_from[m] == 0 else CROSS
            if kind == RELEASE:  # where a changes sign it comes to repel, and both sides may lead away
                push = pushes[m] if neuron.a[0] == 0.0 and pushes[m] > slow else 0.0
                under = 0.0 if push == 0.0 else speed - push if side > 0 else speed
                over = under + push
            under, over = unless_rounding(under, slow), unless_rounding(over, slow)
            if pinned >= 0 and pushes[m] >= 0.0 and under < 0.0 < over:
                kind = RELEASE  # holds kept it on this line too
            note(log, tau, line, kind, under, over, -mu[m] / pushes[m] if kind == HOLD else np.nan, change)
        if side == 0:
            held[kept] = line
            kept += 1
    return kept


settle_apart = apart(settle, "i")


@part_without_arrays
def meet(step: KnownStep, neuron: Neuron, log: Log, moment: Moment, line: int) -> int:
    """A free neuron reaches a kink, and no other: it crosses, is held, or grazes it; how many kinks hold it."""
    came_from, jump, (tau, lean, slow) = int(neuron.signs[line]), neuron.polynomials[0], moment
    jump_from(step.jumps, line, tau, jump)
    here, push = lean * inner(step.normals, line, neuron.drive, START), lean * jump[0]
    below = here if came_from < 0 else here - push
    beyond = below if came_from > 0 else below + push
    under, over = unless_rounding(below, slow), unless_rounding(below + push, slow)
    if push >= 0.0 or came_from * beyond <= slow:
        turn_to(neuron, log, jump, step.normals, line, -came_from)
        note(log, tau, line, CROSS, under, over, np.nan, -2.0 * came_from)
        return 0
    if came_from * here > 0.0:  # it moves away already
        return 0
    turn_to(neuron, log, jump, step.normals, line, NONE)
    neuron.held[0] = line
    share = min(max(-below / push, 0.0), 1.0)
    note(log, tau, line, HOLD, under, over, share, float(-came_from))
    return 1


meet_apart = apart(meet, "i")
