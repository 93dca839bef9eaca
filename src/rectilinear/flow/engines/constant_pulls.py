"""The early phase of a plain run, from kink to kink: while outputs are negligible against the labels, pulls are those at f = 0.

Tiny neurons turn before they grow, through half of all kinks, and what each gains or loses there it keeps: an error of its size is a
shift of the time at which the loss falls. Plain steps are as wrong as their length times the jumps; constant pulls are followed
exactly (constant_pull_kernels.py), each kink for a pass over the samples. early_phase.py does the same for engines that certify
every event, to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...arrays import Array
from ...dataset import find_lines
from ...problem import Problem
from ..deadline import look_at_clock
from ..field.two_layer_kernels import padded
from ..state import flatten, row_lengths
from ..threads import in_shares
from ..tolerances import TINY
from .constant_pull_kernels import KINKS_TOGETHER, MOST_HELD, PulledNeurons, UnitKinks, move_neurons
from .engine import Engine, States

NEGLIGIBLE_OUTPUTS = 0.1  # outputs may reach this share of rtol, relative to the labels
OUTPUT_GROWTH = 100.0  # by which outputs may grow in a step: every one looks at all kinks anew
SMALLEST_STRETCH = 1e-3  # of such a step: then another engine goes on
FAR_ENOUGH, TOO_FAR = 0.7, 2.0  # of what they may reach
MOST_SAMPLES = 2_000  # whose products with each other are kept
NEURONS_TOGETHER = 256  # whose heights over all kinks are kept at a time
EVENT_WORK = 4  # multiply-adds that an event takes for every sample


class ConstantPulls:
    """The engine, asked for states at `times`; `then` makes the one that goes on with the problem as it has become, from a time and
    an energy on."""

    name = "early phase"
    chattering = False

    def __init__(self, problem: Problem, rtol: float, times: Array, then: Callable[[Problem, float, float], Engine]) -> None:
        self.problem, self.times, self.then = problem, times, then
        self.t, self.h, self.energy, self.over = 0.0, 0.0, 0.0, False
        x, zero = problem.x, np.zeros_like(problem.y)
        pulls = np.asarray(problem.loss.pull(problem.y, zero)) / len(zero)
        self.first_loss = float(np.mean(problem.loss.value(problem.y, zero)))
        lines, alpha = find_lines(x), problem.network.alpha
        lengths, normals = np.abs(lines.lengths), padded(lines.normals.copy(), KINKS_TOGETHER, 1)
        jumps = np.asarray(np.bincount(lines.index, (1.0 - alpha) * pulls * lengths, len(normals)), dtype=np.float64)
        single = normals.astype(np.float32)
        self.across = single.T.copy()  # with the transpose of itself, a product takes NumPy up to five times as long
        self.kinks, self.largest_jump = UnitKinks(normals, single @ self.across, jumps), float(np.abs(jumps).max())
        self.neurons = self._placed(problem.weights[0].copy(), problem.weights[1][0].copy(), 0.5 * (1.0 + alpha) * pulls @ x)
        self.longest, self.limit = float(lengths.max()), NEGLIGIBLE_OUTPUTS * rtol * float(np.sqrt(np.mean(problem.y**2)))
        self.estimated_error, self.counts = NEGLIGIBLE_OUTPUTS * rtol, {"early steps": 0, "crossings": 0, "gradients": 1}
        self.first_along, self.stretch = self._along(), 1.0

    @staticmethod
    def applies(problem: Problem, rtol: float) -> bool:
        """Two layers that both train, without regularisation, few enough samples, and outputs that may at least double."""
        network, (first, second) = problem.network, problem.weights
        if network.inputs < 2 or not all(network.trainable_layers) or problem.l2 or problem.data.samples > MOST_SAMPLES:
            return False
        outputs = row_lengths(problem.x).max() * np.abs(second[0]) @ row_lengths(first)
        return bool(TINY < outputs < 0.5 * NEGLIGIBLE_OUTPUTS * rtol * np.sqrt(np.mean(problem.y**2)))

    def _placed(self, w: Array, a: Array, common: Array) -> PulledNeurons:
        """Neurons at a start, where `common` (inputs,) is the drive half way between above and below all kinks."""
        normals, _, jumps = self.kinks
        sides = np.where(w @ normals.T >= 0.0, 1.0, -1.0)
        g = common + 0.5 * (sides * jumps) @ normals
        held = np.zeros((len(a), MOST_HELD), dtype=np.intp)
        holding = np.zeros(len(a), dtype=np.intp)
        return PulledNeurons(w, g, a, sides.astype(np.float32), held, np.zeros(held.shape), holding)

    def _outputs(self, neurons: PulledNeurons) -> float:
        """The bound |f(x)| <= |x| sum_h |a_h| |w_h| for the longest sample."""
        return float(self.longest * (np.abs(neurons.a) @ row_lengths(neurons.w)))

    def _along(self) -> float:
        """Sum of a w.g, which grows as the loss falls."""
        return float(self.neurons.a @ np.einsum("hk,hk->h", self.neurons.w, self.neurons.g))

    @property
    def step_end(self) -> float:
        return self.t + self.h

    def attempt(self, t_end: float) -> bool:
        look_at_clock()
        neurons, reached, self.h = self.neurons, self._outputs(self.neurons), 0.0
        fastest = 2.0 * float(row_lengths(neurons.g).max())
        growth = self.stretch * np.log(min(OUTPUT_GROWTH, self.limit / reached))
        h = min(growth / max(fastest, TINY), t_end - self.t)
        self.next = PulledNeurons(*(part.copy() for part in neurons))  # type: ignore[arg-type]  # floats and indices each in its place
        self.saved = self.times[(self.times > self.t) & (self.times <= self.t + h)]
        self.states_saved = np.empty((len(neurons.a), len(self.saved), neurons.w.shape[1] + 2))
        met = in_shares(
            lambda first, last: self._moved(first, last, h),
            len(neurons.a),
            EVENT_WORK * 0.1 * neurons.sides.size * len(self.kinks.normals),
        )
        self.counts["early steps"] += 1
        outputs = self._outputs(self.next)
        if min(met) < 0 or not outputs <= TOO_FAR * self.limit:
            self.stretch *= 0.5
            self.over = self.stretch < SMALLEST_STRETCH
            return self.over
        self.h = h
        self.counts["crossings"] += sum(met)
        self.over = outputs >= FAR_ENOUGH * self.limit
        self.stretch = min(2.0 * self.stretch, 1.0)
        return True

    def _moved(self, first: int, last: int, h: float) -> int:
        """Move neurons first..last-1 of the next state by h; returns how many kinks they met, -1 if one could not be moved."""
        total = 0
        for begin in range(first, last, NEURONS_TOGETHER):
            here = slice(begin, min(begin + NEURONS_TOGETHER, last))
            w, g, a = self.next.w[here], self.next.g[here], self.next.a[here]
            units = np.array([row_lengths(w) + np.abs(a), row_lengths(g) + self.largest_jump]) + TINY
            heights, rates = (
                (rows / unit[:, None]).astype(np.float32) @ self.across for rows, unit in zip((w, g), units, strict=True)
            )
            met = move_neurons(
                self.next, begin, self.kinks, heights, rates, units, h, self.saved - self.t, self.states_saved
            )
            if met < 0:
                return -1
            total += met
        return total

    def states(self, times: Array) -> States:
        inputs = self.neurons.w.shape[1]
        if not self.h:
            flat = flatten((self.neurons.w, self.neurons.a[None]))
            return States(np.repeat(flat[None], len(times), axis=0), np.full(len(times), self.energy), self.estimated_error)
        rows = self.states_saved.transpose(1, 0, 2)[np.searchsorted(self.saved, times)]
        flat = flatten((rows[:, :, :inputs], rows[:, None, :, inputs]))
        return States(flat, rows[:, :, inputs + 1].sum(axis=1) - self.first_along, self.estimated_error)

    def commit(self) -> tuple[float, float]:
        if self.h:
            self.neurons, self.t, self.h = self.next, self.t + self.h, 0.0
        w, g, a = self.neurons.w, self.neurons.g, self.neurons.a
        along = np.einsum("hk,hk->h", w, g)
        self.energy = self._along() - self.first_along
        return float(np.sqrt(((a[:, None] * g) ** 2).sum() + along @ along)), self.first_loss - self._along()

    def successor(self) -> Engine | None:
        if not self.over:
            return None
        grown = replace(self.problem, weights=(self.neurons.w, self.neurons.a[None]))
        return self.then(grown, self.t, self.energy)

    def statistics(self) -> dict[str, int]:
        return dict(self.counts)

    def events(self) -> None:
        return None

    def group_counts(self) -> None:
        return None
