"""Classification to times like 10^10,000,000: runs in rescaled time, kept and reported in log10 t."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, Mask
from ..errors import InputError
from ..events import Events
from ..long_trajectory import LongTrajectory
from ..problem import Problem
from ..trajectory import Audit, Status
from .audit import audit_run
from .budgets import Watch
from .choose import too_many_kinks
from .engines.clock import LogClock
from .engines.followed import FollowedNeurons
from .engines.followed_log_time import FollowedInLogTime
from .engines.kink_exact import KinkEngine
from .engines.moving_field import RescaledField
from .kinks.decisions import Decisions, first_start
from .kinks.geometry import Kinks
from .run import Ending, Kept, drive
from .span import Span
from .state import Start, flatten, layers_of, neurons_of, unflatten
from .threads import blas_threads

UNTIL = ("direction converges", "converges")
DIRECTION_TOLERANCE = 1e-3
FIRST_TEST, TEST_RATIO = 4.0, 4.0  # log10 t at which directions are first compared, and how much later again
TESTS = 14
FARTHEST = FIRST_TEST * TEST_RATIO ** (
    TESTS - 1
)  # log10 t, about 3e8: beyond, margins lose the digits that tell samples apart
# the loss has settled where ln L falls by less than SETTLED_FALL while s grows by the factor SETTLED_RATIO
SETTLED_FALL, SETTLED_RATIO = 1e-3, 1e6
# Log10 t up to which neurons are followed by themselves where there are many kinks: few events are left then.
HANDOVER = 12.0
FINITE_LIMIT = "nothing moves any more, the weights have a finite limit"


def simulate_long(
    problem: Problem,
    log10_times: ArrayLike | None,
    until: str | None,
    direction_tolerance: float | None,
    rtol: float,
    watch: Watch,
) -> LongTrajectory:
    """Gradient flow at t = 10^log10_times, or on and on `until` its direction converges; `simulate` has the details."""
    tolerance = DIRECTION_TOLERANCE if direction_tolerance is None else direction_tolerance
    asked = _check(problem, log10_times, until, tolerance)
    with blas_threads(float(problem.data.samples) ** 3):
        span = Span(problem)
        run = LongRun(span.problem, rtol, asked)
        test = DirectionTest(span.problem, tolerance) if until is not None else None
        record = LongRecord(problem, span, run)
        ending = drive(record, asked, watch, LongRules(run, test, asked[-1]), "t = 10^{:.4g}")
        if ending.status is Status.FINISHED and run.engine.at_rest():
            ending = Ending(Status.FINISHED, FINITE_LIMIT)
        return record.trajectory(ending, watch, test, rtol)


def _check(problem: Problem, log10_times: ArrayLike | None, until: str | None, tolerance: float) -> Array:
    if until is not None and until not in UNTIL:
        raise InputError(f"until must be None or {UNTIL[0]!r}, found {until!r}.")
    if not 0.0 < tolerance < 1.0:
        raise InputError(f"direction_tolerance must lie between 0 and 1, found {tolerance!r}.")
    if not problem.loss.is_classification:
        raise InputError(
            "log10_times and until need a loss that falls for ever (logistic or exponential), "
            f"found {problem.loss}; use times."
        )
    if problem.network.layers != 2:
        raise InputError(
            f"log10_times and until need a two-layer network, found {problem.network.layers} layers; use times."
        )
    if problem.l2:
        raise InputError(f"log10_times and until need l2 = 0, found {problem.l2:g}: weights then stay bounded; use times.")
    if log10_times is None:
        return np.asarray(FIRST_TEST * TEST_RATIO ** np.arange(TESTS))
    try:
        asked = np.atleast_1d(np.asarray(log10_times, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InputError(f"log10_times must be numbers ({error}).") from error
    rising = asked.ndim == 1 and asked.size > 0 and bool((asked[:-1] < asked[1:]).all())
    if not rising or np.isnan(asked).any() or not -np.inf < asked[-1] <= FARTHEST:
        raise InputError(
            f"log10_times must be strictly rising numbers up to {FARTHEST:g} (-inf is the start), "
            f"found {np.array2string(asked, threshold=6, edgeitems=3)}."
        )
    return asked


class DirectionTest:
    """Compares the direction theta/|theta| at log10 t = 4, 16, 64, ...

    What falls like a power of ln t changes in a geometric sequence from one time to the next. Its ratio r tells what is still to
    come, r/(1 - r) of the last change: as much again where an angle falls like (ln t)^(-1/2), but far more where it falls slowly.
    The direction has converged where both are within the tolerance.
    """

    def __init__(self, problem: Problem, tolerance: float) -> None:
        self.problem, self.tolerance = problem, tolerance
        self.next = FIRST_TEST
        self.before: Array | None = None
        self.change: float | None = None
        self.converged = False

    def compare(self, theta: Array, live: Mask) -> None:
        """The neurons theta (h, inputs + 1) at log10 t = `next`, with the samples that they see."""
        layers = layers_of(theta)
        trains = self.problem.network.trainable_layers
        moving = flatten(tuple(layer * moves for layer, moves in zip(layers, trains, strict=True)))
        now = moving / np.linalg.norm(moving)
        if self.before is not None:
            last, self.change = self.change, float(np.linalg.norm(now - self.before))
            to_come = np.inf if last is None or last <= self.change else self.change**2 / (last - self.change)
            margins = self.problem.y * self.problem.output(layers)
            # before all samples that neurons see are on their side, a direction that stays is a plateau
            self.converged = max(self.change, to_come) < self.tolerance and bool(margins[live].min() > 0)
        self.before = now
        self.next *= TEST_RATIO


@dataclass(frozen=True, eq=False)
class LongState:
    """Neurons (neurons, inputs + 1), ln L over all samples, and by how much its fall differs from the integral of
    |grad ln L|^2 ds, relative to the fall."""

    theta: Array
    log_loss: float
    drift: float


class LongRun:
    """The kink-exact engine in rescaled time: its energy is the fall of ln L over the samples that neurons see.

    Where there are too many kinks to stop at each, neurons are followed by themselves up to t = 10^HANDOVER. Each decade brings fewer
    events then, and those to come are met one by one.
    """

    def __init__(self, problem: Problem, rtol: float, asked: Array) -> None:
        self.problem, self.rtol, self.field = problem, rtol, RescaledField(problem, rtol)
        self.before = Events()
        decisions = Decisions(Kinks(problem))
        start = first_start(problem, decisions)
        self.first_log_loss = self.field.objective(start.theta)
        self.followed: FollowedInLogTime | None = None
        if too_many_kinks(problem, rtol):
            until = min(HANDOVER, float(asked[-1]))
            times = 10.0 ** np.append(asked[asked < until], until)
            self.followed = FollowedInLogTime(
                FollowedNeurons(problem, rtol, decisions, start, times),
                until,
                self._hand_over if asked[-1] > until else None,
            )
        self.engine: KinkEngine | FollowedInLogTime = self.followed or self._rescaled(decisions, start, LogClock())

    def _rescaled(self, decisions: Decisions, start: Start, clock: LogClock) -> KinkEngine:
        engine = KinkEngine(self.problem, self.rtol, self.field, clock, decisions, start)
        self.first_log_loss = self.field.objective(start.theta)
        return engine

    def _hand_over(self) -> KinkEngine:
        """Held neurons are on their kinks, to rounding, and are held again."""
        followed, self.followed = self.followed, None
        assert followed is not None
        self.before = followed.events()
        theta = neurons_of(unflatten(followed.states(np.array([followed.t])).weights[0], self.problem.network.shapes))
        decisions = Decisions(Kinks(self.problem))
        signs = decisions.start(theta, decisions.kinks.pulls(theta))
        decisions.log.clear()
        self.engine = engine = self._rescaled(decisions, Start(followed.t, theta, signs, 0.0), LogClock(followed.t))
        return engine

    def state_at(self, log10_t: float) -> LongState:
        """The state at a time within the step just made."""
        (flat,), (fall,), _ = self.engine.states(np.array([log10_t]))
        theta = neurons_of(unflatten(flat, self.problem.network.shapes))
        log_loss = self.field.normalised(theta, self.field.everyone)[1]
        if self.followed is not None:  # whose energy is the fall of the loss itself
            first = np.exp(self.first_log_loss)
            return LongState(theta, log_loss, float(abs(np.exp(log_loss) - (first - fall)) / first))
        drift = self.field.objective(theta) - (self.first_log_loss - fall)
        return LongState(theta, log_loss, abs(drift) / max(1.0, abs(fall)))

    def events(self) -> Events:
        return self.before.followed_by(self.engine.events(), 0.0)


class LongRules:
    """The direction has converged, nothing moves, or no later time can be reached."""

    def __init__(self, run: LongRun, test: DirectionTest | None, farthest: float) -> None:
        self.run, self.test, self.farthest = run, test, farthest
        self.live = run.field.live
        self.landmark = (0.0, run.first_log_loss)  # s and ln L when ln L last fell by something

    def within(self) -> tuple[float, Status] | None:
        engine, test = self.run.engine, self.test
        if test is None:
            return None
        if engine.resting:
            return engine.t, Status.AT_REST
        while test.next <= min(engine.step_end, self.farthest):
            due = test.next
            test.compare(self.run.state_at(due).theta, self.run.field.live)
            if test.converged:
                return due, Status.CONVERGED
        return None

    def met(self, speed: float, loss: float) -> Status | None:
        """The loss stays positive although weights still move: then time goes no faster than s.

        That is, something has been learned, and ln L has hardly fallen since s was a millionth of what it is.
        """
        engine = self.run.engine
        if not isinstance(engine, KinkEngine):
            return None
        s = engine.clock.s
        if self.live is not self.run.field.live:  # the fall goes on from the loss of other samples
            self.live, self.landmark = self.run.field.live, (s, np.inf)
        elif loss < self.landmark[1] - SETTLED_FALL:
            self.landmark = (s, loss)
        settled = s > SETTLED_RATIO * self.landmark[0] > 0.0
        return Status.SETTLED if settled and not engine.resting else None


class LongRecord(Kept):
    """The states kept along a run; its times are log10 t."""

    def __init__(self, problem: Problem, span: Span, run: LongRun) -> None:
        super().__init__(run.engine)
        self.problem, self.span, self.run = problem, span, run
        self.states: list[LongState] = []

    def keep(self, times: Array) -> None:
        self.times += times.tolist()
        self.states += [self.run.state_at(t) for t in times.tolist()]

    def trajectory(self, ending: Ending, watch: Watch, test: DirectionTest | None, rtol: float) -> LongTrajectory:
        log10_times = np.array(self.times)
        full = [self.span.full(state.theta) for state in self.states]
        shapes = self.problem.network.shapes
        weights = tuple(np.array([layers[k] for layers in full]).reshape(-1, *shapes[k]) for k in range(2))
        log_loss = np.array([state.log_loss for state in self.states])
        with np.errstate(over="ignore"):
            times = np.power(10.0, log10_times)
        return LongTrajectory(
            problem=self.problem,
            times=times,
            loss=np.exp(log_loss),
            weights=weights,
            status=ending.status,
            reason=ending.reason,
            audit=self._audit(log_loss, weights),
            statistics=self.statistics(watch),
            provenance=self.provenance(
                rtol=rtol, **({"direction_tolerance": test.tolerance} if test else {}), **self.span.said
            ),
            events=self.span.full_events(self.run.events()),
            log10_times=log10_times,
            log_loss=log_loss,
            direction_change=test.change if test else None,
            direction_converged=test.converged if test else None,
        )

    def _audit(self, log_loss: Array, weights: tuple[Array, ...]) -> Audit:
        """As for ordinary runs; the energy residual compares the fall of ln L with the integral of |grad ln L|^2 ds."""
        audit = audit_run(self.problem, np.zeros(len(log_loss)), np.exp(log_loss), weights, None)
        return replace(audit, energy_residual=max((state.drift for state in self.states), default=0.0))
