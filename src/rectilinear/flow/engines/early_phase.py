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
from ...errors import FlowError
from ...events import Events, Kind
from ...problem import Problem
from ..deadline import chunks, look_at_clock
from ..kinks.balance import Balance
from ..kinks.decisions import Decisions
from ..state import Start, flatten, layers_of, row_lengths
from ..tolerances import NO_JUMP, NO_KINK_SPEED, TINY
from .early_phase_kernels import (
    MOST_EARLY_EVENTS,
    ConstantPull,
    EarlyNeurons,
    advance_free,
    advance_held,
    move,
    move_together,
    next_kink,
    sign_change,
)
from .engine import Engine, States

NEGLIGIBLE_EARLY_OUTPUTS = 0.1  # outputs may reach this share of rtol, relative to the labels
LOG_OUTPUT_GROWTH = 2.0  # outputs may grow by about e^(2 LOG_OUTPUT_GROWTH) between two looks at them
# Neurons x lines^2 x inputs beyond which following every neuron through every kink costs more than it saves.
MOST_WORK = 2e10
LAST_STEP_HALVINGS = 5  # of the last step


class EarlyPhase:
    """The flow with pulls frozen at f = 0, as long as the outputs stay negligible; from the state at its `end` another engine goes on."""

    name = "early phase"
    chattering = False

    def __init__(
        self, problem: Problem, decisions: Decisions, start: Start, rtol: float, then: Callable[[Start], Engine]
    ) -> None:
        self.problem, self.decisions, self.end, self.then = problem, decisions, start, then
        kinks = self.kinks = decisions.kinks
        self.apart = Balance(problem).start
        zero = np.zeros_like(problem.y)
        self.pull = np.asarray(problem.loss.pull(problem.y, zero)) / len(zero)
        jumps = kinks.jumps(self.pull)
        self.matters = np.abs(jumps) > NO_JUMP * kinks.jumps(np.abs(self.pull)).max()
        self.kinks_that_matter = int(self.matters.sum())
        self.estimated_error = NEGLIGIBLE_EARLY_OUTPUTS * rtol
        self.limit = NEGLIGIBLE_EARLY_OUTPUTS * rtol * float(np.sqrt(np.mean(problem.y**2)))
        self.reach = np.linalg.norm(kinks.x, axis=1)
        self.longest = float(self.reach.max())
        self.common = 0.5 * (1.0 + kinks.alpha) * (self.pull @ kinks.x)  # the drive of every neuron if no kink matters
        most = float(np.abs(self.pull) @ self.reach)
        self.constant_pull = ConstantPull(self.pull, jumps, self.matters, NO_KINK_SPEED * most)
        strongest = most if self.kinks_that_matter else float(np.linalg.norm(self.common))
        self.step_size = LOG_OUTPUT_GROWTH / max(strongest, TINY)
        self.first_loss = float(np.mean(problem.loss.value(problem.y, zero)))
        self.looks = self.halvings = 0
        self._drives: dict[bytes, Array] = {}
        self.outputs = self._outputs(start.theta)
        work = len(start.theta) * float(self.kinks_that_matter) ** 2 * kinks.x.shape[1]
        self.over = work > MOST_WORK or self.outputs > self.limit

    @staticmethod
    def applies(problem: Problem) -> bool:
        """Two layers that both train, without regularisation."""
        return problem.network.layers == 2 and all(problem.network.trainable_layers) and problem.l2 == 0.0

    @property
    def t(self) -> float:
        return self.end.t

    def _outputs(self, theta: Array) -> float:
        """The bound |f(x)| <= |x| sum_h |a_h| |w_h| for the longest sample."""
        return float(self.longest * (np.abs(theta[:, -1]) @ row_lengths(theta[:, :-1])))

    def attempt(self, t_end: float) -> bool:
        """Go as far as the outputs stay negligible; a step that goes too far is halved a few times, and then is the last.

        Moves are exact, whatever their length: where outputs hardly grow, steps do.
        """
        self.looks += 1
        length = min(self.step_size, t_end - self.t)
        with self.decisions.trial() as keep, np.errstate(over="ignore", invalid="ignore"):  # far too long, and refused
            self._next = self._moved(self.end, self.t + length)
            outputs = self._outputs(self._next.theta)
            if outputs <= self.limit:
                keep()
                if outputs <= np.exp(LOG_OUTPUT_GROWTH) * self.outputs:  # both are zero once all neurons are dead
                    self.step_size *= 2
                    self.halvings -= 1
                self.outputs = outputs
                return True
        self.step_size = length / 2
        self.halvings += 1
        if self.halvings < LAST_STEP_HALVINGS:
            return False
        self._next = self.end
        return True

    @property
    def step_end(self) -> float:
        return self._next.t

    def states(self, times: Array) -> States:
        if not self.kinks_that_matter:
            theta, energies = self._moved_together(times - self.t)
            return States(flatten(layers_of(theta)), energies, self.estimated_error)
        at, theta, energies = self.end, np.empty((len(times), *self.end.theta.shape)), np.empty(len(times))
        with self.decisions.trial():
            for k, t in enumerate(times.tolist()):
                at = at if t == at.t else self._next if t == self._next.t else self._moved(at, t)
                theta[k], energies[k] = at.theta, at.energy
        return States(flatten(layers_of(theta)), energies, self.estimated_error)

    def commit(self) -> tuple[float, float]:
        self.over = self._next is self.end
        self.end = self._next
        theta, signs = self.end.theta, self.end.signs
        if self.over:  # kinks without a jump were not followed
            heights = theta[:, :-1] @ self.kinks.normals.T
            fresh = (signs != 0) & ~self.matters[None, :] & (heights != 0.0)
            self.end.signs = np.where(fresh, np.sign(heights), signs).astype(np.int8)
        drives = (self.kinks.slopes(signs) * self.pull) @ self.kinks.x if self.kinks_that_matter else self.common[None, :]
        speed = np.sum((theta[:, -1:] * drives) ** 2) + np.sum(np.sum(drives * theta[:, :-1], axis=1) ** 2)
        return float(np.sqrt(speed)), self.first_loss - self.end.energy

    def _moved(self, at: Start, t: float) -> Start:
        """All neurons, that were so, at a later time."""
        if not self.kinks_that_matter:
            theta, energies = self._moved_together(np.array([t - self.t]))
            return Start(t, theta[0], at.signs, float(energies[0]))
        after = Start(t, at.theta.copy(), at.signs.copy(), at.energy)
        after.energy += self._move_each(after.theta, after.signs, at.t, t - at.t)
        return after

    def _moved_together(self, lengths: Array) -> tuple[Array, Array]:
        """Neurons (t, neurons, inputs + 1) and energies (t,), if no kink matters: every neuron has the drive of the linear network."""
        theta = np.repeat(self.end.theta[None], len(lengths), axis=0)
        before = self.end.theta[:, -1] @ (self.end.theta[:, :-1] @ self.common)
        for k, length in enumerate(lengths.tolist()):
            move_together(theta[k], self.common, self.apart, length)
        gained = np.sum(theta[:, :, -1] * (theta[:, :, :-1] @ self.common), axis=1) - before
        return theta, self.end.energy + gained

    def _move_each(self, theta: Array, signs: Signs, begin: float, length: float) -> float:
        """Every neuron from kink to kink; crossings are logged, other decisions taken one by one. What all add to the energy."""
        kinks, crossed = self.kinks.arrays, self.kinks_that_matter
        all_used, all_energies = np.zeros(len(theta)), np.zeros(len(theta))
        all_where = np.full(len(theta), -1, dtype=np.intp)
        for part in chunks(len(theta), len(theta) * (1.0 + crossed) * kinks.x.size):
            neurons = EarlyNeurons(
                theta[part], signs[part], self.apart[part], all_used[part], all_energies[part], all_where[part]
            )
            held = np.flatnonzero((neurons.signs == 0).any(axis=1))
            if held.size:
                drives = np.array([self._drive(signs) for signs in neurons.signs[held]])
                advance_held(neurons, held, drives, kinks, self.constant_pull, length)
            events = np.empty((max(64, 4 * crossed * len(neurons.theta)), 5))
            count = len(events)
            while count == len(events):  # once, unless neurons cross a kink many times
                count = advance_free(neurons, kinks, self.constant_pull, length, events)
                for n, at, line, below, above in events[:count].tolist():
                    self.decisions.note(begin + at, part.start + int(n), int(line), Kind.CROSS, below, above)
        for h in np.flatnonzero(all_used < length).tolist():
            all_energies[h] += self._move_one(h, theta, signs, begin, float(all_used[h]), length, int(all_where[h]))
        return float(all_energies.sum())

    def _drive(self, signs: Signs) -> Array:
        """g of a neuron of this pattern."""
        key = signs.tobytes()
        if key not in self._drives:
            self._drives[key] = self.pull @ self.kinks.seen(signs)
        return self._drives[key]

    def _move_one(self, h: int, theta: Array, signs: Signs, begin: float, used: float, length: float, line: int) -> float:
        """One neuron with holds, from `used` to `length` after `begin`; what it adds to the energy."""
        kinks, decisions, apart, energy, step = self.kinks, self.decisions, float(self.apart[h]), 0.0, np.inf
        for _ in range(MOST_EARLY_EVENTS):
            look_at_clock()
            if line >= 0:
                pattern, arrived, now = signs[h].copy(), np.array([line]), begin + used
                signs[h], theta[h] = decisions.settle(h, theta[h], signs[h], arrived, self.pull, now)
                if step == 0.0 and (signs[h] == pattern).all():  # sent back, and yet pushed over it: zero up to rounding
                    signs[h] = decisions.graze(h, theta[h], pattern, line, self.pull, now)
            g = self._drive(signs[h])
            wait, line = next_kink(theta[h], g, apart, signs[h], kinks.normals, self.constant_pull)
            turns = sign_change(theta[h], g, apart) if (signs[h] == 0).any() else np.inf
            left = length - used
            step = min(wait, turns, left)
            before = theta[h, -1] * (g @ theta[h, :-1])
            move(theta[h], g, apart, step)
            energy += theta[h, -1] * (g @ theta[h, :-1]) - before
            used += step
            if step == left:
                break
            if turns < wait:
                signs[h], theta[h] = decisions.turn(h, theta[h], signs[h], self.pull, begin + used)
                line = -1
        else:
            raise FlowError(
                f"events at t = {begin + used:.17g} do not come to an end; the data may be degenerate: perturb it slightly, or use "
                "early_phase=False."
            )
        return energy

    def successor(self) -> Engine | None:
        return self.then(self.end) if self.over else None

    def events(self) -> Events:
        return self.decisions.events()

    def group_counts(self) -> None:
        return None

    def statistics(self) -> dict[str, int]:
        return {"early steps": self.looks}
