"""What neurons of frozen patterns miss as they cross kinks within a step, to second order.

In the field of frozen patterns a step is smooth and may pass many kinks. A neuron h that came from side s of line l should since it
crossed it, at t_hl, have felt F_hl n_l more, F_hl = -s a_h D_l. By time t neurons are off by

    I + J q,   I_h = sum_l n_l int F_hl dt',   q_h = sum_l n_l int (t - t') F_hl dt'   (from t_hl to t),

with the derivative J of the field, and the integral of |grad L|^2 by 2 sum_hl int F_hl d(n_l.w_h) + 2 (dtheta/dt).J q. Forces F count as
linear in time. What is left out is of third order: less than |J q| by about the factor by which that is less than |I|.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from ...arrays import Array, Indices, Signs
from ..field.common_patterns import CommonPatterns
from ..state import row_lengths
from ..tolerances import TINY
from .geometry import Kinks
from .passages import times_beyond

SIXTHS = np.arange(7) / 6.0  # of the step, where heights are taken
THIRDS = slice(None, None, 2)  # of these: for what is needed less exactly
POLISHING = 2  # Newton steps from the root of a cubic to that of the polynomial of degree 6, which is as exact as steps are


def _powers_of(places: Array) -> Array:
    """The matrix (powers, places) from values to the polynomial through them, highest power first."""
    return np.asarray(np.linalg.inv(np.vander(places)), dtype=np.float64)


CUBICS, SEXTICS = _powers_of(SIXTHS[THIRDS]), _powers_of(SIXTHS)
PROBE_OUTPUT = 1e-6  # of outputs: how far they are changed to see pulls bend


class Missed(NamedTuple):
    """What was missed: weights (h, inputs + 1) to first order and what the second adds, with the q of it; and energy."""

    first: Array
    second: Array
    moment: Array
    energy: float


class Impulses:
    """The pairs (neuron, line) `crossed` (k, 2) in a step that begins at `start` and takes `length`.

    `thetas` (7, h, inputs + 1) are the neurons at sixths of it, and `signs` (h, lines) their patterns.
    """

    def __init__(
        self, field: CommonPatterns, kinks: Kinks, crossed: Indices, signs: Signs, thetas: Array, start: float, length: float
    ) -> None:
        self.field, self.kinks, self.start, self.length = field, kinks, start, length
        neuron, line = crossed.T
        self._lines = np.flatnonzero(np.bincount(line))
        place = np.searchsorted(self._lines, line)
        self._normals = kinks.normals[self._lines]
        heights = np.ascontiguousarray((thetas[..., :-1] @ self._normals.T)[:, neuron, place])
        beyond, _ = times_beyond(signs[neuron, line], heights[THIRDS], np.arange(len(crossed)), 1.0)
        order = np.argsort(place - 0.5 * beyond)  # line by line, each in order of time
        self.neuron, self.line, self._place = neuron[order], line[order], place[order]
        self._heights = SEXTICS @ heights[:, order]
        self._speeds = _derivatives(self._heights)
        share = _polished(self._heights, self._speeds, 1.0 - beyond[order])
        self.side, self.time = signs[self.neuron, self.line], length * share  # since the start
        self.speed = _value(self._speeds, share) / length  # of the height over the kink, when there
        thetas = thetas[THIRDS]
        self.outgoing = _value(CUBICS @ thetas[:, self.neuron, -1], share)
        outputs = [field.outputs(theta) for theta in thetas]
        pulls = [field.pulls(f) for f in outputs]
        self._drives = field.drives(pulls[-1])
        self._velocity = field.moved(thetas[-1], self._drives) + field.decay(thetas[-1])
        self._see_bends(outputs[-1], pulls[-1])
        self._jumps = CUBICS @ np.stack([kinks.jumps(pull)[self._lines] for pull in pulls])
        self._see_those_before(_value(self._jumps[:, self._place], share))

    def _see_bends(self, f: Array, pull: Array) -> None:
        """How pulls change with outputs near f, and jumps with what outputs of their line, over its weights, rise by."""
        probe = PROBE_OUTPUT * max(float(np.abs(f).max()), PROBE_OUTPUT)
        bend = (self.field.pulls(f + probe) - pull) / probe
        self._bends = self.field.bends(bend, self.kinks.weights)
        self._jump_bend = self.kinks.jumps(bend * self.kinks.weights)[self._lines]

    def _see_those_before(self, jump: Array) -> None:
        """Jumps as neurons cross, where frozen patterns have these: outputs of a line have risen since others crossed it."""
        before = partial(_sums_before, np.searchsorted(self._place, self._place))
        rise, since = self.outgoing * np.abs(self.speed), self.time
        risen = before(rise), before(rise * since), before(rise * since**2)
        self._area_before = 0.5 * risen[0] * since**2 - risen[1] * since + 0.5 * risen[2]
        self.jump = jump + self._jump_bend[self._place] * (risen[0] * since - risen[1])
        self._force = -self.side * self.outgoing * jump

    def by(self, t: float, theta: Array) -> Missed:
        """What neurons, which are at theta (h, inputs + 1) at time t within the step, have missed by then."""
        spent = np.maximum(t - self.start - self.time, 0.0)
        share = (t - self.start) / self.length
        outgoing, height = theta[self.neuron, -1], np.abs(_values(self._heights, share))
        areas = outgoing * spent * (height / 3 + np.abs(self.speed) * spent / 6)
        area = np.asarray(
            np.bincount(self._place, areas, len(self._lines)), dtype=np.float64
        )  # of what outputs of a line have risen by
        turn = np.where(spent > 0.0, -self.side * outgoing, 0.0)
        force = turn * _values(self._jumps, share)[self._place]
        by_rise = turn * self._jump_bend[self._place] * (area[self._place] - self._area_before)
        along = [0.5 * spent * (self._force + force), spent * spent * (self._force / 3 + force / 6), by_rise]
        first, moment, second = self._summed(along)
        response = self._response(theta, moment, area)
        second += response
        speed = _values(self._speeds, share) / self.length
        energy = spent @ (self._force * self.speed + force * speed) + 2.0 * (
            by_rise @ speed + np.vdot(self._velocity, response)
        )
        return Missed(first, second, moment, float(energy))

    def left_out(self, t: float, theta: Array, missed: Missed) -> float:
        """An estimate of what is left out of `missed`, relative to the neurons' sizes: third order, and kinks that are met at other
        times, as what was missed before is a part |F|/|d(n.w)/dt| of the way to them."""
        past = self.time < t - self.start
        if not past.any() or not missed.moment.any():
            return 0.0
        sizes = np.maximum(row_lengths(theta), TINY)
        alone = self._response(theta, missed.moment, np.zeros(len(self._lines)))
        first, second, moment, by_moment = (
            row_lengths(rows) / sizes for rows in (missed.first, missed.second, missed.moment, alone)
        )
        rate = np.linalg.norm(by_moment) / np.linalg.norm(moment)
        longest = t - self.start - self.time.min()
        turns = np.bincount(self.neuron[past], np.abs(self._force / self.speed)[past], len(theta))
        again = np.bincount(self.neuron[past], minlength=len(theta)) > 1
        left = np.hypot(rate * longest / 3 * second, turns * (second + np.where(again, first, 0.0)))
        return float(np.sqrt(np.mean(left * left)))

    def _response(self, theta: Array, moment: Array, area: Array) -> Array:
        """J q for q = `moment`, and what the velocity changes by with the outputs of lines that have changed besides."""
        products = self.field.products(theta, moment[:, :-1])
        found = self.field.moved(theta, self.field.bent_drives(self._bends, products, self._lines, area))
        found += self.field.decay(moment)
        if self.field.trains[1]:
            found[:, -1] += np.einsum("hi,hi->h", self._drives[self.field.pattern], moment[:, :-1])
        return found

    def _summed(self, along: list[Array]) -> Array:
        """Sums (..., h, inputs + 1) over lines of what neurons get along their normals."""
        table = np.zeros((len(along), self.field.neuron_count, len(self._lines)))
        found = np.zeros((*table.shape[:2], self._normals.shape[1] + 1))
        for rows, values in zip(table, along, strict=True):
            rows[self.neuron, self._place] = values
        np.matmul(table, self._normals, out=found[..., :-1])
        return found


def _sums_before(first: Indices, values: Array) -> Array:
    """Of values in groups, sums of those before each in its group; `first` (k,) is where its group begins."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    return sums[:-1] - sums[first]


def _value(powers: Array, u: Array) -> Array:
    """Of polynomials (powers, k) at u (k,)."""
    found = powers[0]
    for row in powers[1:]:
        found = found * u
        found += row
    return found


def _values(powers: Array, u: float) -> Array:
    """The same, all at one u."""
    return np.asarray(u ** np.arange(len(powers) - 1, -1, -1) @ powers)


def _derivatives(powers: Array) -> Array:
    """The polynomials (powers - 1, k) that are their slopes."""
    return np.asarray(np.arange(len(powers) - 1.0, 0.0, -1.0)[:, None] * powers[:-1])


def _polished(powers: Array, slopes: Array, u: Array) -> Array:
    """Roots of polynomials near u, by Newton's steps, except of those that begin beyond it."""
    found = u
    for _ in range(POLISHING):
        slope = _value(slopes, found)
        found = found - np.where(slope != 0.0, _value(powers, found) / np.where(slope != 0.0, slope, 1.0), 0.0)
    return np.where(u > 0.0, np.clip(found, 0.0, 1.0), u)
