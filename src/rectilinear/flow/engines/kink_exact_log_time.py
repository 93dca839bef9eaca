"""The kink-exact engine in rescaled time, d theta/ds = -grad ln L, dt/ds = 1/L, L the loss of the samples that neurons see.

Kinks and sliding depend only on ratios of pulls, so they are decided as in ordinary time. Where the loss goes to zero,
ln(1/L) grows exponentially with s if both layers train, and linearly if one does; steps in s grow accordingly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...arrays import Array, Mask
from ...errors import FlowError
from ...problem import Problem
from ..collocation import NODES, STAGES, basis_at, earliest
from ..field.frozen import FrozenField
from ..field.log_domain import normalised_pulls
from ..state import layers_of, neurons_of, unflatten
from ..steppers.elapsed_time import log_integral
from ..steppers.radau import Accuracy, Nodes, collocation_step
from ..tolerances import AT_REST, HOLD_BAND, SAME_SHARE, SMALLEST_STEP, TINY
from .kink_exact import KinkEngine

LONGEST = 1e300  # of s; runs end long before
LN10 = float(np.log(10.0))
LARGEST_LOG_PULL = 14.0  # ln of a pull that outweighs all live ones; beyond it only its sign matters
SETTLED_FALL, SETTLED_RATIO = (
    1e-3,
    1e6,
)  # the loss has settled where ln L falls by less than this while s grows by this factor
BEYOND = 1.1  # how far a known step may be continued to guess another


@dataclass(frozen=True, eq=False)
class LongState:
    """Neurons (neurons, inputs + 1), ln L over all samples, and by how much its fall differs from the integral of
    |grad ln L|^2 ds, relative to the fall."""

    theta: Array
    log_loss: float
    drift: float


class LongEngine(KinkEngine):
    """The kink-exact engine in rescaled time: it moves in s and tells the time as log10 t; its energy is the fall of ln L."""

    name = "kink-exact, rescaled time"

    def __init__(self, problem: Problem, rtol: float) -> None:
        self.log_t = -np.inf
        self._rests_until: float | None = None
        self.live = np.ones(len(problem.y), dtype=np.bool_)
        self._solved: tuple[float, Array] | None = None  # the last converged step from the present state
        super().__init__(problem, rtol)
        self.stamped = 0
        self._restamp(lambda s: -np.inf)
        self.live = self._seen_samples()
        self.first_log_loss = self._normalised(self.groups.theta, self.live)[1]
        self.landmark = (0.0, self.first_log_loss)  # s and ln L when ln L last fell by something

    # ------------------------------------------------------------------ the rescaled field

    def _normalised(self, theta: Array, live: Mask) -> tuple[Array, float]:
        """Normalised pulls and ln L over these samples."""
        problem, samples = self.problem, len(self.problem.y)
        pull = np.empty(samples)
        outputs = problem.output(layers_of(theta))
        log_loss = normalised_pulls(problem.loss.code, problem.y, outputs, live, pull, np.empty(samples))
        return pull, log_loss

    def _pulls(self, theta: Array) -> Array:
        return self._normalised(theta, np.ones_like(self.live))[0]

    def _seen_samples(self) -> Mask:
        seen = np.asarray(self.groups.seen.any(axis=(0, 2)))
        return seen if seen.any() else np.ones_like(seen)

    def _unseen_pulls(self) -> Array:
        """Pulls (6, unseen samples) at the nodes: the output is zero there, and grows in weight as the live losses fall."""
        problem = self.problem
        at_zero = float(np.abs(problem.loss.pull(np.ones(1), np.zeros(1)))[0])
        sizes = np.minimum(np.log(at_zero / len(problem.y)) - self.log_losses, LARGEST_LOG_PULL)
        return np.exp(sizes)[:, None] * problem.y[~self.live]

    def _hold_band(self) -> float:
        return HOLD_BAND * float(np.abs(self.pulls[0, self.live]).max() * np.abs(self.kinks.lengths).max())

    def _try(self, h: float, guess: Array) -> bool:
        self.steps += 1
        groups, problem = self.groups, self.problem
        if self._solved is not None and h < BEYOND * self._solved[0]:  # a step from here is known: its beginning
            length, stages = self._solved
            guess = np.einsum("sj,jek->sek", np.array([basis_at(c * h / length)[1:] for c in NODES]), stages)
        nodes = Nodes(guess, np.empty(STAGES + 1), np.empty((STAGES + 1, len(problem.y))), np.empty(STAGES + 1))
        sizes = np.maximum(np.linalg.norm(groups.carried, axis=1), TINY)
        accuracy = Accuracy(sizes, np.inf, self.rtol, 0.0)
        field = FrozenField(groups.group, groups.seen, problem.y, self.live, self.train, problem.loss.code, 0.0, True)
        self.error, evaluations = collocation_step(groups.carried, field, accuracy, h, nodes)
        self.stages, self.energies, self.pulls, self.log_losses = nodes
        self.pulls[:, ~self.live] = self._unseen_pulls()
        self.evaluations += evaluations
        self.objective = float(self.log_losses[-1])
        self.h = h
        if self.error >= 0.0:
            self._solved = (h, self.stages)
        return self.error >= 0.0

    def _stand_still(self) -> None:
        super()._stand_still()
        self.log_losses[:] = self.log_losses[0]

    def _shorten(self, h: float, factor: float) -> bool:
        if h < SMALLEST_STEP * self.now or h == 0.0:
            raise FlowError(
                f"the step shrank to nothing at t = 10^{self.log_t / LN10:.6g} after {self.steps} steps; "
                f"loosen rtol (now {self.rtol:g})."
            )
        return super()._shorten(h, factor)

    # ------------------------------------------------------------------ time

    def _log_t_at(self, u: float) -> float:
        """ln t at the share u of the step."""
        if self.h == 0.0 or u == 0.0:
            return self.log_t
        step = log_integral(-self.log_losses, u)
        return float(np.logaddexp(self.log_t, np.log(self.h) + step))

    @property
    def t(self) -> float:
        """log10 of the time."""
        return float(self.log_t / LN10)

    @property
    def resting(self) -> bool:
        """Whether the step just attempted is one in which nothing moves, however far it goes."""
        return self._rests_until is not None

    @property
    def step_end(self) -> float:
        return self._log_t_at(1.0) / LN10 if self._rests_until is None else self._rests_until

    def attempt(self, t_end: float) -> bool:
        """Try a step, of any length; where nothing moves any more, rest until log10 t = `t_end`."""
        self._rests_until = t_end if self.at_rest() else None
        return self.resting or super().attempt(LONGEST)

    def _share_of(self, log10_t: float) -> float:
        """The share u of the step at which log10 t is reached."""
        if log10_t == self.t or self.resting:
            return 0.0
        return earliest(lambda u: self._log_t_at(u) >= log10_t * LN10, SAME_SHARE)

    def states(self, times: Array) -> tuple[Array, Array]:
        """Flat weights (t, size) and the fall of ln L (t,) at log10 t = `times` within the step just made."""
        return super().states(np.array([self.now + self._share_of(t) * self.h for t in times.tolist()]))

    def state_at(self, log10_t: float) -> LongState:
        """The state at a time within the step just made."""
        (flat,), (fall,) = self.states(np.array([log10_t]))
        theta = neurons_of(unflatten(flat, self.problem.network.shapes))
        drift = self._normalised(theta, self.live)[1] - (self.first_log_loss - fall)
        return LongState(theta, self._normalised(theta, np.ones_like(self.live))[1], abs(drift) / max(1.0, abs(fall)))

    def commit(self) -> tuple[float, float]:
        if self._rests_until is not None:
            self.log_t = self._rests_until * LN10
            return 0.0, self.first_log_loss - self.energy
        began, length = self.now, self.h
        self._restamp(lambda s: self._log_t_at((s - began) / length if length else 0.0))
        self.log_t = self._log_t_at(1.0)
        result = super().commit()
        self._restamp(lambda s: self.log_t)
        self._solved = None
        theta = self.groups.neurons(self.groups.carried)
        self.groups.sizes = np.linalg.norm(theta, axis=1)  # they grow without bound
        seen = self._seen_samples()
        if (seen != self.live).any():  # the fall goes on from the loss of other samples
            self.energy += self._normalised(theta, self.live)[1] - self._normalised(theta, seen)[1]
            self.live = seen
            self.landmark = (self.now, self._normalised(theta, seen)[1])
        return result

    def _restamp(self, log_t: Callable[[float], float]) -> None:
        """Give the events noted since the last call their log10 t, which the decisions noted with their s."""
        log = self.decisions.log
        for k in range(self.stamped, len(log)):
            log[k] = (log_t(log[k][0]) / LN10, *log[k][1:])
        self.stamped = len(log)

    def at_rest(self) -> bool:
        """Whether nothing moves any more: no neuron is driven, or none changes by its own size in a very long time."""
        carried = self.groups.carried
        if not len(carried):
            return True
        sizes = np.maximum(np.linalg.norm(carried, axis=1), TINY)
        if self._guess is None:  # no step since the last event
            return False
        length, stages = self._guess
        return bool(np.max(np.linalg.norm(stages[-1], axis=1) / sizes) * self.now / length < AT_REST)

    def settled(self) -> bool:
        """Whether the loss stays positive although weights still move: then time goes no faster than s.

        That is, something has been learned, and ln L has hardly fallen since s was a millionth of what it is.
        """
        if self.objective < self.landmark[1] - SETTLED_FALL:
            self.landmark = (self.now, self.objective)
        return self.now > SETTLED_RATIO * self.landmark[0] > 0.0
