"""Kinks that meet in one neuron: those reached, held or ended at one moment are settled together.

A hold needs a multiplier within its bounds. Where several kinks lie on w at once, the multipliers of all of them solve a quadratic program
in a box; where their normals depend on each other that leaves some free, which are moved to their bounds.
"""

from __future__ import annotations

import numba
import numpy as np

from ...arrays import Array, Indices, Signs
from ..fast_math import FAST
from ..polynomials import START, inner, value
from .contact import to_vertex
from .single_neuron import (
    CROSS,
    DEPENDENT,
    EVENT_FIELDS,
    HOLD,
    NOBODY,
    NONE,
    RELEASE,
    UNTOLD,
    KnownStep,
    jump_from,
    note,
    turn_to,
)

ON_BOUND = 1e-9  # distance of a multiplier from its bound that counts as being on it


@numba.njit(cache=True, nogil=True, error_model="numpy")
def solve_box(gram: Array, q: Array, bounds: Array, mu: Array) -> None:
    """min mu.gram.mu/2 - q.mu over 0 <= mu <= bounds (0 where a bound is not positive): sweeps over the coordinates."""
    count = q.shape[0]
    for k in range(count):
        mu[k] = 0.0
    for _ in range(20_000):
        moved = 0.0
        for k in range(count):
            if bounds[k] > 0.0:
                rest = q[k]
                for j in range(count):
                    rest -= gram[k, j] * mu[j]
                new = min(max(mu[k] + rest / gram[k, k], 0.0), bounds[k])
                moved = max(moved, abs(new - mu[k]) / bounds[k])
                mu[k] = new
        if moved < 1e-15:
            break


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def add_companions(
    step: KnownStep, w: Array, signs: Signs, held: Indices, count: int, basis: Array, jump: Array, on_kink: float, lean: float,
    tau: float,
) -> int:  # fmt: skip
    """Append to the held kinks the free ones that attract and lie on w as well, as their normals depend on the held ones'.

    Returns how many there are then.
    """
    total = count
    for line in range(signs.shape[0]):
        if signs[line] != 0 and abs(inner(step.normals, line, w, START)) <= on_kink:
            left = 1.0
            for m in range(count):
                part = inner(step.normals, line, basis, m)
                left -= part * part
            jump_from(step.jumps, line, tau, jump)
            if left <= DEPENDENT and lean * jump[0] < 0.0:
                held[total] = line
                total += 1
    return total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def hold_silently(
    step: KnownStep, drive: Array, moments: Array, signs: Signs, jump: Array, line: int, tau: float, events: Array, event: int
) -> int:  # fmt: skip
    """Hold a kink for the moment, to settle it with others; the number of events."""
    side = signs[line]
    jump_from(step.jumps, line, tau, jump)
    turn_to(drive, moments, signs, jump, step.normals, line, NONE, events[event])
    return event + note(events[event], tau, line, UNTOLD, 0.0, 0.0, np.nan, float(-side))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def settle(
    step: KnownStep, drive: Array, moments: Array, signs: Signs, held: Indices, polynomials: Array, events: Array,
    count: int, lean: float, arrived: int, came_from: int, tau: float, ahead: float, slow: float, event: int,
) -> tuple[int, int]:  # fmt: skip
    """Settle `count` held kinks together (one may have `arrived` just now); how many stay held, and the number of events.

    With the kinks counted below, v_l the velocities along their normals for a unit outgoing weight (of sign `lean`) and
    b_l = -lean q_l, velocities are v - Gram mu with 0 <= mu_l <= b_l: mu_l = 0 below, b_l above, v_l = 0 in between.
    Where all of them end at once, velocities are zero: what they are `ahead` of tau then decides.
    """
    normals, degree = step.normals, step.jumps.shape[1] - 1
    gram, speeds, bounds, mu = np.empty((count, count)), np.empty(count), np.empty(count), np.empty(count)
    for m in range(count):
        jump_from(step.jumps, held[m], tau, polynomials[0])
        bounds[m] = -lean * value(polynomials[0], START, degree, ahead)
        for j in range(count):
            gram[m, j] = inner(normals, held[m], normals, held[j])
    for m in range(count):
        speeds[m], power = 0.0, lean
        for i in range(degree + 1):
            speeds[m] += power * inner(normals, held[m], drive, i)
            power *= ahead
        for j in range(count):
            speeds[m] += 0.5 * gram[m, j] * bounds[j]
    solve_box(gram, speeds, bounds, mu)
    to_vertex(gram, bounds, mu)
    kept = 0
    for m in range(count):
        line, after = held[m], speeds[m]
        for j in range(count):
            after -= gram[m, j] * mu[j]
        share = mu[m] / bounds[m] if bounds[m] > 0.0 else np.nan
        margin = ON_BOUND * bounds[m] + slow
        if bounds[m] > 0.0 and margin < mu[m] < bounds[m] - margin:
            held[kept] = line
            kept += 1
            if line == arrived:
                for i in range(degree + 1):
                    events[event, EVENT_FIELDS + i] = inner(normals, line, moments, i)
                event += note(
                    events[event], tau, line, HOLD, after + mu[m], after + mu[m] - bounds[m], share, float(-came_from)
                )
            continue
        side = 1 if (share >= 0.5 if bounds[m] > 0.0 else after - 0.5 * bounds[m] > 0.0) else -1
        jump_from(step.jumps, line, tau, polynomials[0])
        turn_to(drive, moments, signs, polynomials[0], normals, line, side, events[event])
        if line != arrived:
            event += note(events[event], tau, line, RELEASE, 0.0, 0.0, np.nan, float(side))
        elif side != came_from:
            event += note(
                events[event], tau, line, CROSS, after + mu[m], after + mu[m] - bounds[m], np.nan, float(side - came_from)
            )
    return kept, event


@numba.njit(cache=True, nogil=True, error_model="numpy")
def meet(
    step: KnownStep, drive: Array, moments: Array, signs: Signs, held: Indices, basis: Array, polynomials: Array, events: Array,
    count: int, lean: float, line: int, tau: float, slow: float, event: int,
) -> tuple[int, int]:  # fmt: skip
    """A free kink is reached: cross it, or hold it and settle it with the other holds; how many are held, and events."""
    came_from, jump = int(signs[line]), polynomials[0]
    jump_from(step.jumps, line, tau, jump)
    here, push = lean * inner(step.normals, line, drive, START), lean * jump[0]
    repels = push >= 0.0
    for m in range(count):  # what the other holds leave of it
        part = inner(step.normals, line, basis, m)
        here -= lean * part * inner(basis, m, drive, START)
        push -= lean * jump[0] * part * part
    below = here if came_from < 0 else here - push
    beyond = below if came_from > 0 else below + push
    if repels or (count == 0 and came_from * beyond <= slow):
        above = below + push
        turn_to(drive, moments, signs, jump, step.normals, line, -came_from, events[event])
        event += note(events[event], tau, line, CROSS, below, above, np.nan, -2.0 * came_from)
        if count == 0:
            return 0, event
        return settle(
            step, drive, moments, signs, held, polynomials, events, count, lean, NOBODY, NONE, tau, 0.0, slow, event
        )
    turn_to(drive, moments, signs, jump, step.normals, line, NONE, events[event])
    held[count] = line
    if count == 0:
        share = min(max(-below / push, 0.0), 1.0)
        event += note(events[event], tau, line, HOLD, below, below + push, share, float(-came_from))
        return 1, event
    return settle(
        step, drive, moments, signs, held, polynomials, events, count + 1, lean, line, came_from, tau, 0.0, slow, event
    )
