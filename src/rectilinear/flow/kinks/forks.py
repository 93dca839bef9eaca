"""Where a neuron passes so close to a fork of the flow that the tolerance decides which way it goes.

Over a kink that repels, neighbouring paths part: one that just reaches it is pushed on, one that just misses it, as it turns or is
deflected by another kink in time, stays. Such passages are suspected here, cheaply and too often; what they amount to is measured by a
twin on the other side (engines/fork_twins.py). With z the height over the kink and delta what is within the tolerance,

- a kink is missed if z has a minimum below delta, within a piece or where an event turns its slope;
- a crossing may have been missed if without it the path had turned within a depth of delta, by itself (its parabola does), or at an
  event: `crossed` holds the crossing that stays within delta for longest, with the velocity that it would have had.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ..compiled import part
from ..polynomials import START, inner, value
from .single_neuron import EVENT_FIELDS, NOBODY, SUSPECT, KnownStep, Log, Neuron, Piece, Watch, jump_from, note

LINE, SPEED, SLOPE, UNTIL = (
    0,
    1,
    2,
    3,
)  # of the crossing in `crossed`: its slope at the last event is nan at the crossing itself


@part
def suspect_forks(
    step: KnownStep, neuron: Neuron, watch: Watch, log: Log, count: int, piece: Piece, tau: float, until: float, met: int, event: bool
) -> None:  # fmt: skip
    """Note the kinks that may have been missed or met by less than the tolerance in a piece that ends after `until` by an event."""
    z, order = neuron.polynomials[1], piece.order
    _look_at_crossing(step, neuron, watch, log, piece, tau, until, event)
    for n in range(count):
        line = watch.close[n]
        side, neared = neuron.signs[line], watch.neared[line]
        watch.neared[line] = False
        if side == 0:
            continue
        z[1] = side * inner(step.normals, line, neuron.w, 1)
        if z[1] >= 0.0 and line != met:
            if neared:
                _suspect(step, neuron, log, line, tau, -side)
            continue
        _heights(step.normals, neuron, line, side, order, z)
        slope, bend = _slope_and_bend(z, order, until)
        if line == met:
            if slope * slope <= 2.0 * piece.close * bend:
                _suspect(step, neuron, log, line, tau + until, side)
            _remember(watch.crossed, line, -slope, tau + until, piece.close)
        elif slope < 0.0:
            watch.neared[line] = event and value(z, START, order, until) <= piece.close
        elif _lowest(z, order, until) <= piece.close:
            _suspect(step, neuron, log, line, tau + until, -side)


@part
def _look_at_crossing(
    step: KnownStep, neuron: Neuron, watch: Watch, log: Log, piece: Piece, tau: float, until: float, event: bool
) -> None:  # fmt: skip
    """Whether events since the crossing in `crossed` would have turned the neuron back, had it not yet been over the kink.

    There an event may do up to twice as much: what is crossed here may hold there.
    """
    crossed, z, line = watch.crossed, neuron.polynomials[1], int(watch.crossed[LINE])
    if line < 0:
        return
    side = neuron.signs[line]
    if side == 0 or tau > crossed[UNTIL]:
        crossed[LINE] = NOBODY
        return
    _heights(step.normals, neuron, line, side, piece.order, z)
    if not np.isnan(crossed[SLOPE]):
        change = z[1] - crossed[SLOPE]
        crossed[SPEED] += change
        if crossed[SPEED] + change < 0.0:
            _suspect(step, neuron, log, line, tau, -side)
            crossed[LINE] = NOBODY
            return
    crossed[SLOPE] = _slope_and_bend(z, piece.order, until)[0] if event else np.nan


@part
def _remember(crossed: Array, line: int, speed: float, tau: float, close: float) -> None:
    """Keep a crossing if it stays within the tolerance for longer than the one that is kept."""
    until = tau + close / max(speed, 1e-300)
    if crossed[LINE] < 0.0 or until > crossed[UNTIL]:
        crossed[LINE], crossed[SPEED], crossed[SLOPE], crossed[UNTIL] = line, speed, np.nan, until


@part
def _heights(normals: Array, neuron: Neuron, line: int, side: int, order: int, z: Array) -> None:
    """Coefficients of side n.w."""
    for j in range(order + 1):
        z[j] = side * inner(normals, line, neuron.w, j)


@part
def _slope_and_bend(z: Array, order: int, u: float) -> tuple[float, float]:
    """First and second derivative of a polynomial at u."""
    slope, bend = 0.0, 0.0
    for j in range(order, 0, -1):
        bend = bend * u + slope
        slope = slope * u + j * z[j]
    return slope, bend


@part
def _lowest(z: Array, order: int, until: float) -> float:
    """The value where a polynomial that falls at 0 and rises at `until` turns, by halving."""
    low, high = 0.0, until
    for _ in range(40):
        u = 0.5 * (low + high)
        if _slope_and_bend(z, order, u)[0] < 0.0:
            low = u
        else:
            high = u
    return value(z, START, order, high)


@part
def _suspect(step: KnownStep, neuron: Neuron, log: Log, line: int, tau: float, towards: int) -> None:
    """Note that a neuron may have gone another way at a line, had it been further `towards` that side of it."""
    jump, a = neuron.polynomials[0], neuron.a[0]
    jump_from(step.jumps, line, tau, jump)
    for i in range(step.jumps.shape[1]):
        log.rows[log.happened[0], EVENT_FIELDS + i] = 0.0
    push = jump[0] if a >= 0.0 else -jump[0]
    here, side = inner(step.normals, line, neuron.w, 1) / max(abs(a), 1e-300), neuron.signs[line]
    below, above = (here - push, here) if side > 0 else (here, here + push)
    note(log, tau, line, SUSPECT, below, above, float(towards), 0.0)
