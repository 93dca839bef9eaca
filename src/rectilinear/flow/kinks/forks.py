"""Where a neuron passes so close to a fork of the flow that the tolerance decides which way it goes.

Over a kink that repels, and no other, neighbouring paths part: one that just reaches it is pushed on, one that just misses it, as it
turns or is deflected by another kink in time, stays. Such passages are suspected here, cheaply and too often; what they amount to is
measured by a twin on the other side (engines/fork_twins.py). With z the height over the kink and delta what is within the tolerance,

- a kink is missed if z has a minimum below delta, within a piece or where an event turns its slope;
- a crossing may have been missed if without it the path had turned within a depth of delta, by itself (its parabola does), or at an
  event: `crossed` holds the crossings that stay within delta for longest, with the velocities that they would have had.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ..apart import apart
from ..compiled import fast_part, part, part_without_arrays
from ..polynomials import START, inner, slope_and_bend, value
from .single_neuron import (
    EVENT_FIELDS,
    NOBODY,
    NONE,
    SUSPECT,
    KnownStep,
    Log,
    Neuron,
    Piece,
    Watch,
    jump_from,
    note,
    repels,
)

# Of a crossing in `crossed`: its slope at the last event is nan at the crossing itself.
LINE, SPEED, SLOPE, PIECE_END = 0, 1, 2, 3


@part_without_arrays
def suspect_forks(
    step: KnownStep, neuron: Neuron, watch: Watch, log: Log, count: int, piece: Piece, tau: float, until: float, met: int, event: bool
) -> None:  # fmt: skip
    """Note the kinks that may have been missed or met by less than the tolerance in a piece that ends after `until`, by an `event` or
    not; `count` of those that it nears are within the tolerance."""
    crossed, heights = watch.crossed, watch.heights
    for n in range(crossed.shape[0]):
        if crossed[n, LINE] >= 0.0:
            if crossed[n, PIECE_END] < tau + until and np.isnan(crossed[n, SLOPE]):
                crossed[n, LINE] = NOBODY
            else:
                _look_at_crossing(step, neuron, crossed[n], log, piece.order, tau, until, event)
    turn, power = 0.0, until * until  # how much higher orders may change slopes within the piece
    for j in range(3, piece.order + 1 if count > 0 else 3):
        turn += j * power * watch.sizes[0, j]
        power *= until
    for n in range(count):
        line, height, slope, bend = watch.close[n], heights[0, n], heights[1, n], heights[2, n]
        neared, watch.neared[line] = watch.neared[line], False
        if slope >= 0.0:
            if neared:
                _suspect(step, neuron, log, line, tau, -neuron.signs[line], slope)
        elif slope + 2.0 * until * max(bend, 0.0) + turn >= 0.0:
            _look_at(step, neuron, watch, log, line, piece, tau, until, met, event)
        elif event and line != met:
            watch.neared[line] = height + until * (slope + until * bend) <= piece.close
    if met >= 0 and repels(step, neuron, met):
        slope = watch.arrival[0]
        if slope * slope <= 2.0 * piece.close * watch.arrival[1]:
            _suspect(step, neuron, log, met, tau + until, NONE + neuron.signs[met], slope)
        stays, place = tau + until + piece.close / max(-slope, 1e-300), 0
        for n in range(crossed.shape[0]):
            if crossed[n, LINE] < 0.0 or (crossed[place, LINE] >= 0.0 and crossed[n, PIECE_END] < crossed[place, PIECE_END]):
                place = n
        last = crossed[place]
        if last[LINE] < 0.0 or stays > last[PIECE_END]:
            last[LINE], last[SPEED], last[SLOPE], last[PIECE_END] = met, -slope, np.nan, stays


suspect_forks_apart = apart(suspect_forks, "n")


@part
def _look_at(
    step: KnownStep, neuron: Neuron, watch: Watch, log: Log, line: int, piece: Piece, tau: float, until: float, met: int, event: bool
) -> None:  # fmt: skip
    """Whether a kink whose height may turn within a piece is missed, or neared as an event comes."""
    z, side = neuron.polynomials[1], neuron.signs[line]
    slope, _ = _heights_end(step.normals, neuron.w, line, side, piece.order, until, z)
    if slope < 0.0:
        watch.neared[line] = event and line != met and value(z, START, piece.order, until) <= piece.close
    elif line != met and _lowest(z, piece.order, until) <= piece.close:
        _suspect(step, neuron, log, line, tau + until, -side, 0.0)


@part
def _look_at_crossing(
    step: KnownStep, neuron: Neuron, crossed: Array, log: Log, order: int, tau: float, until: float, event: bool
) -> None:  # fmt: skip
    """Whether events since a crossing in `crossed` would have turned the neuron back, had it not yet been over the kink.

    There an event may do up to twice as much: what is crossed here may hold there.
    """
    z, line = neuron.polynomials[1], int(crossed[LINE])
    side = neuron.signs[line]
    slope, _ = _heights_end(step.normals, neuron.w, line, side, order, until, z)
    change = 0.0 if np.isnan(crossed[SLOPE]) else z[1] - crossed[SLOPE]
    crossed[SPEED] += change
    crossed[SLOPE] = slope if event else np.nan
    turned = crossed[SPEED] + change < 0.0
    if side != 0 and turned:
        _suspect(step, neuron, log, line, tau, -side, z[1])
    if side == 0 or turned or tau + until > crossed[PIECE_END]:
        crossed[LINE] = NOBODY


@fast_part
def _heights_end(normals: Array, w: Array, line: int, side: int, order: int, u: float, z: Array) -> tuple[float, float]:
    """Write the coefficients of side n.w to z; its first and second derivative at u."""
    for j in range(order + 1):
        z[j] = side * inner(normals, line, w, j)
    return slope_and_bend(z, order, u)


@part
def _lowest(z: Array, order: int, until: float) -> float:
    """The value where a polynomial that falls at 0 and rises at `until` turns, by halving."""
    low, high = 0.0, until
    for _ in range(40):
        u = 0.5 * (low + high)
        if slope_and_bend(z, order, u)[0] < 0.0:
            low = u
        else:
            high = u
    return value(z, START, order, high)


@part
def _suspect(step: KnownStep, neuron: Neuron, log: Log, line: int, tau: float, towards: int, slope: float) -> None:
    """Note that a neuron whose height over a line has that slope may have gone another way, had it been further `towards` that side."""
    jump, a = neuron.polynomials[0], neuron.a[0]
    jump_from(step.jumps, line, tau, jump)
    for i in range(step.jumps.shape[1]):
        log.rows[log.happened[0], EVENT_FIELDS + i] = 0.0
    push = jump[0] if a >= 0.0 else -jump[0]
    side = neuron.signs[line]
    here = side * slope / max(abs(a), 1e-300)
    below, above = (here - push, here) if side > 0 else (here, here + push)
    note(log, tau, line, SUSPECT, below, above, float(towards), 0.0)
