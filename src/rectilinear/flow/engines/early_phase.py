"""The early phase, exactly: while outputs are negligible against the labels, neurons do not see each other.

The pulls -dl/df are then those at f = 0, so in each cell (between kinks) a neuron's drive g is constant and, with G = |g|, e = g/G,
p = e.w + a, m = e.w - a and E = e^{Gt},

    e.w(t) = (p E + m/E)/2,   a(t) = (p E - m/E)/2,   the rest of w constant.

A kink n.w = 0 is met where (n.e)(p E^2 + m)/2 + (n.w_rest) E = 0: a quadratic in E. No time is stepped: neurons go from event to
event by themselves, and the phase ends where the outputs reach a small share of the labels (its error is of that order).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays import Array, Signs
from ...events import Events, Kind
from ...problem import Problem
from ..deadline import chunks, look_at_clock
from ..kinks.decisions import Decisions
from ..state import Start, flatten, layers_of, row_lengths
from ..tolerances import NO_JUMP, TINY
from .early_phase_kernels import MOST_EVENTS, ConstantPull, EarlyNeurons, advance_free, move, next_kink
from .engine import Engine

NEGLIGIBLE = 0.1  # outputs may reach this share of rtol, relative to the labels
GROWTH = 2.0  # outputs may grow by about e^(2 GROWTH) between two looks at them
MOST_WORK = (
    2e10  # neurons x lines^2 x inputs beyond which following every neuron through every kink costs more than it saves
)
HALVINGS = 5  # of the last step


class EarlyPhase:
    """The flow with pulls frozen at f = 0, as long as the outputs stay negligible; from the state at its `end` another engine goes on."""

    name = "early phase"
    chattering = False

    def __init__(
        self, problem: Problem, decisions: Decisions, start: Start, rtol: float, then: Callable[[Start], Engine]
    ) -> None:
        self.problem, self.decisions, self.end, self.then = problem, decisions, start, then
        kinks = self.kinks = decisions.kinks
        zero = np.zeros_like(problem.y)
        self.pull = np.asarray(problem.loss.pull(problem.y, zero)) / len(zero)
        self.jumps = kinks.jumps(self.pull)
        self.matters = np.abs(self.jumps) > NO_JUMP * kinks.jumps(np.abs(self.pull)).max()
        self.estimated_error = NEGLIGIBLE * rtol
        self.limit = NEGLIGIBLE * rtol * float(np.sqrt(np.mean(problem.y**2)))
        self.reach = np.linalg.norm(kinks.x, axis=1)
        self.longest = float(self.reach.max())
        self.common = 0.5 * (1.0 + kinks.alpha) * (self.pull @ kinks.x)  # the drive of every neuron if no kink matters
        strongest = np.abs(self.pull) @ self.reach if self.matters.any() else np.linalg.norm(self.common)
        self.step_size = GROWTH / max(float(strongest), TINY)
        self.first_loss = float(np.mean(problem.loss.value(problem.y, zero)))
        self.looks = self.halvings = 0
        work = len(start.theta) * float(self.matters.sum()) ** 2 * kinks.x.shape[1]
        self.over = work > MOST_WORK or not self._negligible(start.theta)

    @staticmethod
    def applies(problem: Problem) -> bool:
        """Two layers that both train, without regularisation."""
        return problem.network.layers == 2 and all(problem.network.trainable_layers) and problem.l2 == 0.0

    @property
    def t(self) -> float:
        return self.end.t

    def _negligible(self, theta: Array) -> bool:
        """Whether the outputs are below the limit on all samples."""
        return self._outputs(theta) <= self.limit

    def _outputs(self, theta: Array) -> float:
        """The bound |f(x)| <= |x| sum_h |a_h| |w_h| for the longest sample."""
        return float(self.longest * (np.abs(theta[:, -1]) @ row_lengths(theta[:, :-1])))

    def attempt(self, t_end: float) -> bool:
        """Go as far as the outputs stay negligible; a step that goes too far is halved a few times, and then is the last.

        Moves are exact, whatever their length: where outputs hardly grow, steps do.
        """
        self.looks += 1
        length = min(self.step_size, t_end - self.t)
        with self.decisions.trial() as keep:
            self._next = self._moved(length)
            if self._negligible(self._next.theta):
                keep()
                if self._outputs(self._next.theta) < np.exp(GROWTH) * self._outputs(self.end.theta):
                    self.step_size *= 2
                    self.halvings -= 1
                return True
        self.step_size = length / 2
        self.halvings += 1
        if self.halvings < HALVINGS:
            return False
        self._next = self.end
        return True

    @property
    def step_end(self) -> float:
        return self._next.t

    def states(self, times: Array) -> tuple[Array, Array]:
        if self.matters.any():
            theta, energies = (np.array(part) for part in zip(*(self._state(float(t)) for t in times), strict=True))
        else:
            theta, energies = self._moved_together(times - self.t)
        return flatten(layers_of(theta)), energies

    def _state(self, t: float) -> tuple[Array, float]:
        if t == self.t:
            at = self.end
        elif t == self._next.t:
            at = self._next
        else:
            with self.decisions.trial():
                at = self._moved(t - self.t)
        return at.theta, at.energy

    def commit(self) -> tuple[float, float]:
        self.over = self._next is self.end
        self.end = self._next
        theta, signs = self.end.theta, self.end.signs
        if self.over:  # kinks without a jump were not followed
            heights = theta[:, :-1] @ self.kinks.normals.T
            fresh = (signs != 0) & ~self.matters[None, :] & (heights != 0.0)
            self.end.signs = np.where(fresh, np.sign(heights), signs).astype(np.int8)
        drives = (self.kinks.slopes(signs) * self.pull) @ self.kinks.x if self.matters.any() else self.common[None, :]
        speed = np.sum((theta[:, -1:] * drives) ** 2) + np.sum(np.sum(drives * theta[:, :-1], axis=1) ** 2)
        return float(np.sqrt(speed)), self.first_loss - self.end.energy

    def _moved(self, length: float) -> Start:
        """All neurons, `length` later."""
        if not self.matters.any():
            theta, energies = self._moved_together(np.array([length]))
            return Start(self.t + length, theta[0], self.end.signs, float(energies[0]))
        theta, signs = self.end.theta.copy(), self.end.signs.copy()
        each = self._move_each(theta, signs, length)
        return Start(self.t + length, theta, signs, self.end.energy + each)

    def _moved_together(self, lengths: Array) -> tuple[Array, Array]:
        """Neurons (t, neurons, inputs + 1) and energies (t,), if no kink matters: every neuron has the drive of the linear network."""
        g, size = self.common, float(np.linalg.norm(self.common))
        theta = np.repeat(self.end.theta[None], len(lengths), axis=0)
        if size == 0.0:
            return theta, np.full(len(lengths), self.end.energy)
        along, a = self.end.theta[:, :-1] @ g / size, self.end.theta[:, -1]
        up = np.multiply.outer(np.expm1(size * lengths), 0.5 * (along + a))
        down = np.multiply.outer(np.expm1(-size * lengths), 0.5 * (along - a))
        theta[:, :, :-1] += (up + down)[:, :, None] * (g / size)
        theta[:, :, -1] += up - down
        gained = np.sum(theta[:, :, -1] * (along + up + down), axis=1) - a @ along
        return theta, self.end.energy + size * gained

    def _move_each(self, theta: Array, signs: Signs, length: float) -> float:
        """Every neuron from kink to kink; crossings are logged, other decisions taken one by one."""
        kinks, drive = self.kinks, ConstantPull(self.pull, self.jumps, self.matters)
        used, energies = np.zeros(len(theta)), np.zeros(len(theta))
        where = np.full(len(theta), -1, dtype=np.intp)
        all_free, crossed = np.flatnonzero((signs != 0).all(axis=1)), int(self.matters.sum())
        for part in chunks(len(all_free), len(all_free) * (1.0 + crossed) * kinks.x.size):
            free = all_free[part]
            room, count = max(64, 4 * crossed * len(free)), -1
            while count < 0:  # once, unless neurons cross a kink many times
                thetas, patterns, waits, gains, lines = theta[free], signs[free], used[free], energies[free], where[free]
                events = np.empty((room, 5))
                moved = EarlyNeurons(thetas, patterns, waits, gains, lines)
                count = advance_free(moved, kinks.arrays, drive, length, events)
                room *= 2
            theta[free], signs[free], used[free], energies[free], where[free] = thetas, patterns, waits, gains, lines
            for n, at, line, below, above in events[:count]:
                self.decisions.note(self.t + at, free[int(n)], int(line), Kind.CROSS, below, above)
        for h in np.flatnonzero(used < length):
            look_at_clock()
            energies[h] += self._move_one(int(h), theta, signs, used[h], length, int(where[h]))
        return float(energies.sum())

    def _move_one(self, h: int, theta: Array, signs: Signs, used: float, length: float, line: int) -> float:
        """One neuron with holds, from `used` to `length`; what it adds to the energy."""
        kinks, decisions, energy, step = self.kinks, self.decisions, 0.0, np.inf
        for _ in range(MOST_EVENTS):
            if line >= 0:
                pattern, arrived, now = signs[h].copy(), np.array([line]), self.t + used
                signs[h], theta[h] = decisions.settle(h, theta[h], signs[h], arrived, self.pull, now)
                if step == 0.0 and (signs[h] == pattern).all():  # sent back, and yet pushed over it: zero up to rounding
                    signs[h] = decisions.graze(h, theta[h], pattern, line, self.pull, now)
            g = self.pull @ kinks.seen(signs[h])
            wait, line = next_kink(theta[h], g, signs[h], kinks.normals, self.matters)
            turns = self._sign_change(theta[h], g) if (signs[h] == 0).any() else np.inf
            left = length - used
            step = min(wait, turns, left)
            before = theta[h, -1] * (g @ theta[h, :-1])
            move(theta[h], g, step)
            energy += theta[h, -1] * (g @ theta[h, :-1]) - before
            used += step
            if step == left:
                break
            if turns < wait:
                signs[h], theta[h] = decisions.turn(h, theta[h], signs[h], self.pull, self.t + used)
                line = -1
        return energy

    @staticmethod
    def _sign_change(neuron: Array, g: Array) -> float:
        """When a neuron's outgoing weight passes through zero."""
        size = float(np.linalg.norm(g))
        if size == 0.0:
            return np.inf
        along = float(g @ neuron[:-1]) / size
        p, m = along + neuron[-1], along - neuron[-1]
        return float(np.log(m / p) / (2 * size)) if p != 0.0 and m / p > 1.0 else np.inf

    def successor(self) -> Engine | None:
        return self.then(self.end) if self.over else None

    def events(self) -> Events:
        return self.decisions.events()

    def group_counts(self) -> None:
        return None

    def statistics(self) -> dict[str, int]:
        return {"looks": self.looks}
