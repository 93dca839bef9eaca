"""What neurons of frozen patterns miss as they cross kinks within a step, to second order.

In the field of frozen patterns a step is smooth and may pass many kinks. A neuron h that came from side s of line l should since it
crossed it, at t_hl, have felt F_hl n_l more, F_hl = -s a_h D_l. By time t neurons are off by

    I + J q,   I_h = sum_l n_l int F_hl dt',   q_h = sum_l n_l int (t - t') F_hl dt'   (from t_hl to t),

with the derivative J of the field, and the integral of |grad L|^2 by 2 sum_hl int F_hl d(n_l.w_h) + 2 (dtheta/dt).J q. Forces F count as
linear in time. What is left out is of third order: less than |J q| by about the factor by which that is less than |I|.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Array, Indices, Signs
from ..field.common_patterns import CommonPatterns
from ..state import row_lengths
from ..tolerances import TINY
from .geometry import Kinks
from .impulse_kernels import Bent, Crossed, CrossedLines, before_each, missed_by, polish, response
from .passages import times_beyond

SIXTHS = np.arange(7) / 6.0  # of the step, where heights are taken
THIRDS = slice(None, None, 2)  # of these: for what is needed less exactly


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
        self.field, self.start, self.length = field, start, length
        neuron, line = crossed.T
        self._lines = np.flatnonzero(np.bincount(line))
        place = np.searchsorted(self._lines, line)
        normals = np.pad(kinks.normals[self._lines], ((0, 0), (0, 1)))
        heights = np.take((thetas @ normals.T).reshape(len(thetas), -1), neuron * len(normals) + place, axis=1)
        beyond, _ = times_beyond(signs[neuron, line], heights[THIRDS], np.arange(len(crossed)), 1.0)
        order = np.argsort(place - 0.5 * beyond)  # line by line, each in order of time
        self.neuron, self.line, place, share = neuron[order], line[order], place[order], 1.0 - beyond[order]
        powers = SEXTICS @ np.take(heights, order, axis=1)
        self.speed = polish(powers, share) / length  # of the height over the kink, when there
        self.side, self.time = signs[self.neuron, self.line], length * share  # since the start
        thetas = thetas[THIRDS]
        self.outgoing = _value(CUBICS @ np.take(thetas[..., -1], self.neuron, axis=1), share)
        outputs = [field.outputs(theta) for theta in thetas]
        pulls = [field.pulls(f) for f in outputs]
        self._see_bends(kinks, thetas[-1], outputs[-1], pulls[-1])
        jumps = CUBICS @ np.stack([kinks.jumps(pull)[self._lines] for pull in pulls])
        self._crossed_lines = CrossedLines(self._lines, normals, jumps, self._jump_bend)
        jump = _value(
            jumps[:, place], share
        )  # as frozen patterns have it; outputs of a line have risen since others crossed it
        risen, area_before = before_each(place, self.time, self.outgoing * np.abs(self.speed))
        self.jump, self._force = jump + self._jump_bend[place] * risen, -self.side * self.outgoing * jump
        self._crossed = Crossed(self.neuron, place, self.side, self.time, self.speed, self._force, area_before, powers)

    def _see_bends(self, kinks: Kinks, theta: Array, f: Array, pull: Array) -> None:
        """How pulls change with outputs near f, and jumps with what outputs of their line, over its weights, rise by."""
        field = self.field
        probe = PROBE_OUTPUT * max(float(np.abs(f).max()), PROBE_OUTPUT)
        bend = (field.pulls(f + probe) - pull) / probe
        self._jump_bend = kinks.jumps(bend * kinks.weights)[self._lines]
        drives, (bends, line_bends) = field.drives(pull), field.bends(bend, kinks.weights)
        velocity = field.moved(theta, drives) + field.decay(theta)
        self._bent = Bent(
            field.pattern, field.normals, bends, line_bends[:, self._lines], drives, velocity, field.trains, field.l2
        )

    def by(self, t: float, theta: Array) -> Missed:
        """What neurons, which are at theta (h, inputs + 1) at time t within the step, have missed by then."""
        return Missed(*missed_by(self._crossed, self._crossed_lines, self._bent, theta, t - self.start, self.length))

    def left_out(self, t: float, theta: Array, missed: Missed) -> float:
        """An estimate of what is left out of `missed`, relative to the neurons' sizes: third order, and kinks that are met at other
        times, as what was missed before is a part |F|/|d(n.w)/dt| of the way to them."""
        past = self.time < t - self.start
        if not past.any() or not missed.moment.any():
            return 0.0
        sizes = np.maximum(row_lengths(theta), TINY)
        alone = response(self._bent, self._lines, theta, missed.moment, np.zeros(len(self._lines)))
        first, second, moment, by_moment = (
            row_lengths(rows) / sizes for rows in (missed.first, missed.second, missed.moment, alone)
        )
        rate = np.linalg.norm(by_moment) / np.linalg.norm(moment)
        longest = t - self.start - self.time.min()
        turns = np.bincount(self.neuron[past], np.abs(self._force / self.speed)[past], len(theta))
        again = np.bincount(self.neuron[past], minlength=len(theta)) > 1
        left = np.hypot(rate * longest / 3 * second, turns * (second + np.where(again, first, 0.0)))
        return float(np.sqrt(np.mean(left * left)))


def _value(powers: Array, u: Array) -> Array:
    """Of polynomials (powers, k) at u (k,)."""
    found = powers[0]
    for row in powers[1:]:
        found = found * u
        found += row
    return found
