"""Classification to times like 10^10,000,000: runs in rescaled time, kept and reported in log10 t."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, Mask
from ..errors import FlowError, InputError
from ..long_trajectory import LongTrajectory
from ..problem import Problem
from ..trajectory import Audit, Status
from .audit import audit_run
from .budgets import Watch, provenance
from .engines.kink_exact_log_time import LN10, LongEngine, LongState, Span
from .state import flatten, layers_of

UNTIL = "direction converges"
LONGEST = 1e300  # of s; runs end long before
FIRST_LOOK, LOOK_RATIO = 4.0, 4.0  # log10 t at which directions are first compared, and how much later again
LOOKS = 14
FARTHEST = FIRST_LOOK * LOOK_RATIO ** (
    LOOKS - 1
)  # log10 t, about 3e8: beyond, margins lose the digits that tell samples apart


def simulate_long(
    problem: Problem,
    log10_times: ArrayLike | None,
    until: str | None,
    *,
    rtol: float,
    watch: Watch,
    direction_tolerance: float,
) -> LongTrajectory:
    """Gradient flow at t = 10^log10_times, or on and on `until` its direction converges; `simulate` has the details."""
    asked = _check(problem, log10_times, until, direction_tolerance)
    span = Span(problem)
    engine = LongEngine(span.problem, rtol)
    record = LongRecord(problem, span)
    looks = Looks(span.problem, until is not None, direction_tolerance)
    status = _drive(engine, record, asked, watch, looks)
    made = provenance(engine.name, rtol=rtol, **({"direction_tolerance": direction_tolerance} if until else {}))
    return record.trajectory(status, engine, watch, made, looks)


def _check(problem: Problem, log10_times: ArrayLike | None, until: str | None, tolerance: float) -> Array:
    if until is not None and until != UNTIL:
        raise InputError(f"until must be None or {UNTIL!r}, found {until!r}.")
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
        return np.asarray(FIRST_LOOK * LOOK_RATIO ** np.arange(LOOKS))
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


class Looks:
    """Compares the direction theta/|theta| at log10 t = 4, 16, 64, ...

    What falls like a power of ln t changes in a geometric sequence from look to look. Its ratio r tells what is still to come,
    r/(1 - r) of the last change: as much again where an angle falls like (ln t)^(-1/2), but far more where it falls slowly. The
    direction has converged where both are within the tolerance.
    """

    def __init__(self, problem: Problem, wanted: bool, tolerance: float) -> None:
        self.problem, self.wanted, self.tolerance = problem, wanted, tolerance
        self.train = np.array(problem.network.trainable_layers)
        self.next = FIRST_LOOK if wanted else np.inf
        self.before: Array | None = None
        self.change: float | None = None
        self.converged = False

    def look(self, theta: Array, live: Mask) -> None:
        moving = flatten(tuple(layer * trains for layer, trains in zip(layers_of(theta), self.train, strict=True)))
        now = moving / np.linalg.norm(moving)
        if self.before is not None:
            last, self.change = self.change, float(np.linalg.norm(now - self.before))
            to_come = np.inf if last is None or last <= self.change else self.change**2 / (last - self.change)
            margins = self.problem.y * self.problem.output(layers_of(theta))
            # before all samples that neurons see are on their side, a direction that stays is a plateau
            self.converged = max(self.change, to_come) < self.tolerance and bool(margins[live].min() > 0)
        self.before = now
        self.next *= LOOK_RATIO


class LongRecord:
    """The states kept along a run."""

    def __init__(self, problem: Problem, span: Span) -> None:
        self.problem, self.span = problem, span
        self.log10_times: list[float] = []
        self.states: list[LongState] = []
        self.ended = ""  # what the status does not say

    def keep(self, log10_t: float, state: LongState) -> None:
        self.log10_times.append(log10_t)
        self.states.append(state)

    def trajectory(
        self, status: Status, engine: LongEngine, watch: Watch, made: dict[str, object], looks: Looks
    ) -> LongTrajectory:
        log10_times = np.array(self.log10_times)
        full = [self.span.full(state.theta) for state in self.states]
        shapes = self.problem.network.shapes
        weights = tuple(np.array([layers[k] for layers in full]).reshape(-1, *shapes[k]) for k in range(2))
        log_loss = np.array([state.log_loss for state in self.states])
        with np.errstate(over="ignore"):
            times = np.power(10.0, log10_times)
        loss = np.exp(log_loss)
        return LongTrajectory(
            problem=self.problem,
            times=times,
            loss=loss,
            weights=weights,
            status=status,
            audit=self._audit(log_loss, weights),
            statistics={**engine.statistics(), "seconds": time.perf_counter() - watch.began},
            provenance={**made, **({"ended": self.ended} if self.ended else {})},
            events=engine.events(),
            log10_times=log10_times,
            log_loss=log_loss,
            direction_change=looks.change,
            direction_converged=looks.converged if looks.wanted else None,
        )

    def _audit(self, log_loss: Array, weights: tuple[Array, ...]) -> Audit:
        """As for ordinary runs; the energy residual compares the fall of ln L with the integral of |grad ln L|^2 ds."""
        audit = audit_run(self.problem, np.zeros(len(log_loss)), np.exp(log_loss), weights, None)
        return replace(audit, energy_residual=max((state.drift for state in self.states), default=0.0))


def _drive(engine: LongEngine, record: LongRecord, asked: Array, watch: Watch, looks: Looks) -> Status:
    """Step until the last time or a reason to stop; keep the states at the asked times and, on an early stop, the last one."""
    left = list(asked[::-1])
    if left[-1] == -np.inf:
        record.keep(left.pop(), engine.look())
    status = None
    try:
        while left and status is None:
            reached = engine.log_t / LN10
            status = watch.over_budget(float(np.clip(reached / asked[-1], 0.0, 1.0)), f"t = 10^{reached:.4g}")
            if engine.at_rest():
                status = Status.STATIONARY if looks.wanted else Status.FINISHED
                record.ended = "nothing moves any more: the weights have a finite limit"
                while left and not looks.wanted:
                    record.keep(left.pop(), engine.look())
            elif engine.attempt(LONGEST):
                _look_into(engine, record, left, looks)
                engine.commit()
                if left and engine.settled():
                    record.ended = (
                        "stopped: the loss settles above zero while weights still grow; no later time can be reached"
                    )
                    status = Status.STUCK
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    except FlowError as error:
        record.ended = f"stopped: {error}"
        status = Status.STUCK
    if left and (not record.log10_times or engine.log_t / LN10 > record.log10_times[-1]):
        record.keep(engine.log_t / LN10, engine.look())
    return status if status is not None and left else Status.FINISHED


def _look_into(engine: LongEngine, record: LongRecord, left: list[float], looks: Looks) -> None:
    """Keep the asked times within the step just made, and compare directions where that is due."""
    end = engine.log_step_end / LN10
    while left and min(left[-1], looks.next) <= end:
        due = min(left[-1], looks.next)
        state = engine.look(engine.share_of(due * LN10))
        if due == looks.next:
            looks.look(state.theta, engine.live)
        if due == left[-1] or looks.converged:
            record.keep(due, state)
        if looks.converged:
            left.clear()
        elif due == left[-1]:
            left.pop()
