"""simulate: gradient flow of a problem at the asked times."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import FlowError, InputError
from ..events import Events
from ..problem import Problem
from ..trajectory import Status, Trajectory, check_times
from .audit import audit_run
from .decisions import Decisions, Start, first_start
from .deep_engine import DeepEngine
from .early import EarlyPhase
from .field import Field, make_field, unflatten
from .kink_engine import KinkEngine
from .kinks import Kinks
from .long_time import simulate_long
from .smooth import SmoothEngine
from .watch import Progress, Watch, provenance

Array = NDArray[np.float64]

TIGHTEST, LOOSEST = 1e-13, 1e-2
METHODS = ("kinks", "smooth")
LOCATED_RTOL = 1e-9
UNRESOLVED_RTOL = 1e-6  # for more kinks than can be located one by one, where less would only cost steps
DEEP_RTOL = 1e-5  # likewise for deeper networks
FEW_SAMPLES = 150  # up to here a kink-exact step (cubic in the samples) is cheaper than what it saves
FEW_PREACTIVATIONS = 1_000  # samples x hidden neurons, up to which a deep run may stop at every kink


def simulate(
    problem: Problem,
    times: ArrayLike | None = None,
    *,
    log10_times: ArrayLike | None = None,
    until: str | None = None,
    direction_tolerance: float = 1e-3,
    method: str = "auto",
    early_phase: bool = True,
    rtol: float | None = None,
    max_steps: int | None = None,
    max_seconds: float | None = None,
    stop_gradient: float = 0.0,
    stop_loss: float = 0.0,
    progress: Progress | None = None,
) -> Trajectory:
    """Solve dW/dt = -grad L from the problem's weights and return the run at `times` (t = 0 is the start).

    The run ends early, with what there is and the reason, when |grad L| < `stop_gradient`, the loss < `stop_loss`, a budget of
    steps or seconds is used up, or the user interrupts; the state at that moment is then the last one kept.
    `progress(fraction, note)` is called ten times a second.

    `method` is "kinks" (every kink located and decided), "smooth" (explicit steps; sliding is followed exactly in two layers) or
    "auto": kinks up to 150 samples, and for three layers and more up to 1000 preactivations. In two layers either is preceded by
    the exact early phase, unless `early_phase` is False, while outputs are below a tenth of `rtol` of the labels. `rtol` is 1e-9
    by default; where kinks are not located one by one it is 1e-6, or 1e-5 for three layers and more (1e-9 still for two layers if
    every sample has its mirror image).

    Classification (logistic or exponential loss, two layers) goes far beyond the range of floating-point numbers: instead of
    `times`, ask for t = 10^`log10_times` (up to 10^(2.6 10^8); -inf is the start), or go on `until="direction converges"`: until
    theta/|theta| has changed by less than `direction_tolerance` since a quarter of log10 t. Both give a `LongTrajectory`.

    >>> import numpy as np, rectilinear as rl
    >>> data = rl.datasets.sine_teacher(inputs=3, pairs=50, seed=0)
    >>> net = rl.Network(inputs=3, widths=(10,))
    >>> run = simulate(rl.Problem(data, net, net.init(scale=1e-3, seed=0)), times=np.linspace(0, 30, 4))
    >>> run.status.name, bool(run.audit.balance_drift < 1e-9)
    ('FINISHED', True)

    >>> data, net = rl.datasets.orthogonally_separable(samples=6, inputs=2), rl.Network(inputs=2, widths=(4,))
    >>> far = simulate(rl.Problem(data, net, net.init(1e-3, seed=0), loss="logistic"), log10_times=[2, 1e5])
    >>> far.log_loss.round(1).tolist()
    [-4.6, -230270.3]
    """
    if rtol is None:
        rtol = _default_rtol(problem, method)
    if not TIGHTEST <= rtol <= LOOSEST:
        raise InputError(f"rtol must lie between {TIGHTEST:g} and {LOOSEST:g}, found {rtol!r}.")
    if method not in METHODS and method != "auto":
        raise InputError(f"method must be auto or one of {', '.join(METHODS)}, found {method!r}.")
    watch = Watch(max_steps, max_seconds, progress)
    rules = StopRules(stop_gradient, stop_loss)
    if log10_times is not None or until is not None:
        if times is not None or method != "auto" or stop_gradient or stop_loss:
            raise InputError(
                "log10_times and until cannot be mixed with times, method, stop_gradient or stop_loss; drop those."
            )
        return simulate_long(problem, log10_times, until, rtol=rtol, watch=watch, direction_tolerance=direction_tolerance)
    if times is None:
        raise InputError("simulate needs times, log10_times or until; say how far to go.")
    asked = check_times(times)
    field = make_field(problem)
    engine = Phases(problem, field, method, rtol, early_phase)
    record = Record(problem, field, len(asked) + 1)  # and where it stopped
    status = _drive(engine, record, asked, watch, rules)
    return record.trajectory(status, engine, watch, provenance(engine.name, rtol=rtol))


def _default_rtol(problem: Problem, method: str) -> float:
    if problem.network.layers > 2:
        return LOCATED_RTOL if _locates_kinks(problem, method) else DEEP_RTOL
    located = method == "kinks" or problem.data.samples <= FEW_SAMPLES
    mirrored = not problem.network.bias and not len(problem.data.mirror_pairs[1])
    return LOCATED_RTOL if located or mirrored or problem.network.alpha == 1.0 else UNRESOLVED_RTOL


def _locates_kinks(problem: Problem, method: str) -> bool:
    """Whether every kink is located: if asked for, or where there are few."""
    network, samples = problem.network, problem.data.samples
    if network.layers > 2 and network.alpha == 1.0:
        return False  # there are none
    few = samples <= FEW_SAMPLES and (network.layers == 2 or samples * sum(network.widths) <= FEW_PREACTIVATIONS)
    return method == "kinks" or (method == "auto" and few)


def resume(run: Trajectory, times: ArrayLike, **options: Any) -> Trajectory:
    """Go on with a run, interrupted or not, to later `times`; `options` are those of `simulate`.

    Neurons that were held on kinks are on them still, to rounding, and are held again. The result is one run from t = 0.

    >>> import rectilinear as rl
    >>> net = rl.Network(inputs=2, widths=(5,))
    >>> problem = rl.Problem(rl.datasets.six_points(), net, net.init(scale=0.1, seed=0))
    >>> run = resume(simulate(problem, times=[0.0, 5.0]), times=[10.0])
    >>> run.times.tolist()
    [0.0, 5.0, 10.0]
    """
    asked = check_times(times)
    if not len(run) or asked[0] <= run.times[-1]:
        last = run.times[-1] if len(run) else 0.0
        raise InputError(f"times to resume at must lie after the run's last one, {last:g}, found {asked[0]:g}.")
    problem, before = run.problem, run.times[-1]
    more = simulate(problem.with_weights(run.final), asked - before, **options)
    joined = tuple(np.concatenate([old, new]) for old, new in zip(run.weights, more.weights, strict=True))
    later = more.times + before
    later[: len(asked)] = np.where(more.times == asked[: len(later)] - before, asked[: len(later)], later[: len(asked)])
    all_times, loss = np.concatenate([run.times, later]), np.concatenate([run.loss, more.loss])
    audit = audit_run(problem, all_times, loss, joined, None)
    residuals = [a.energy_residual for a in (run.audit, more.audit) if a is not None and a.energy_residual is not None]
    counted = {key: run.statistics.get(key, 0) + value for key, value in more.statistics.items()}
    events = run.events.followed_by(more.events, before) if run.events is not None and more.events is not None else None
    return replace(
        more,
        problem=problem,
        times=all_times,
        loss=loss,
        weights=joined,
        audit=replace(audit, energy_residual=max(residuals, default=None)),
        statistics=counted,
        events=events,
        group_counts=_joined_counts(run.group_counts, more.group_counts, before),
    )


def _joined_counts(first: Array | None, second: Array | None, shift: float) -> Array | None:
    if first is None or second is None:
        return None
    return np.concatenate([first, second + np.array([shift, 0.0])])


class StopRules:
    """When a run is over before its last time."""

    def __init__(self, gradient: float, loss: float) -> None:
        if not gradient >= 0 or not loss >= 0:
            raise InputError(f"stop_gradient and stop_loss must be numbers >= 0, found {gradient!r} and {loss!r}.")
        self.gradient, self.loss = gradient, loss

    def met(self, speed: float, loss: float) -> Status | None:
        if speed < self.gradient:
            return Status.STATIONARY
        if loss < self.loss:
            return Status.LOSS_REACHED
        return None


class Engine(Protocol):
    """A way of moving along the flow: attempt a step, look into it, commit it."""

    @property
    def name(self) -> str: ...

    @property
    def t(self) -> float: ...

    @property
    def chattering(self) -> bool:
        """Whether steps have become too small to get anywhere."""
        ...

    def attempt(self, t_end: float) -> bool:
        """Try a step that does not pass `t_end`; False if it must be tried again."""
        ...

    @property
    def step_end(self) -> float: ...

    def states(self, times: Array) -> tuple[Array, Array]:
        """Flat weights (t, size) and the integral of |grad L|^2 (t,) at times within the step just made."""
        ...

    def commit(self) -> tuple[float, float]:
        """Move to the end of the step; |grad L| and the loss without regularisation there."""
        ...

    def statistics(self) -> dict[str, int]: ...


class Record:
    """The states kept along a run."""

    def __init__(self, problem: Problem, field: Field, most: int) -> None:
        self.problem, self.field = problem, field
        self.times: list[float] = []
        self.states, self.energies = np.empty((most, field.size)), np.empty(most)  # memory is taken as it fills

    def keep(self, times: Array, engine: Engine) -> None:
        if len(times):
            new = slice(len(self.times), len(self.times) + len(times))
            self.states[new], self.energies[new] = engine.states(times)
            self.times += times.tolist()

    def trajectory(self, status: Status, engine: Phases, watch: Watch, made: dict[str, object]) -> Trajectory:
        problem = self.problem
        times = np.array(self.times)
        states = self.states[: len(times)]
        loss = self.field.losses(states)
        weights = unflatten(states, problem.network.shapes)
        return Trajectory(
            problem=problem,
            times=times,
            loss=loss,
            weights=weights,
            status=status,
            audit=audit_run(problem, times, loss, weights, self.energies[: len(times)]),
            statistics={**engine.statistics(), "seconds": time.perf_counter() - watch.began},
            provenance=made,
            events=engine.events(),
            group_counts=engine.group_counts(),
        )


def _drive(engine: Engine, record: Record, times: Array, watch: Watch, rules: StopRules) -> Status:
    """Step until the last time or a reason to stop; keep the states at `times` and, on an early stop, the last one."""
    done = int(times[0] == 0.0)
    record.keep(times[:done], engine)
    status = None
    try:
        while done < len(times) and status is None:
            status = watch.over_budget(engine.t / times[-1], f"t = {engine.t:.4g}")
            if not engine.attempt(times[-1]):
                if engine.chattering:
                    status = Status.CHATTERING
                continue
            passed = int(np.searchsorted(times, engine.step_end, side="right"))
            record.keep(times[done:passed], engine)
            done = passed
            speed, objective = engine.commit()
            status = status or rules.met(speed, objective)
            if not np.isfinite(objective):
                status = Status.DIVERGED
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    except FlowError:
        status = Status.STUCK
    if done < len(times) and (not record.times or engine.t > record.times[-1]):
        record.keep(np.array([engine.t]), engine)
    return Status.FINISHED if done == len(times) else status or Status.FINISHED


class Phases:
    """The early phase where it applies, and then the engine that the rest of the run needs."""

    def __init__(self, problem: Problem, field: Field, method: str, rtol: float, early_phase: bool) -> None:
        self.problem, self.field, self.method, self.rtol = problem, field, method, rtol
        self.past: dict[str, int] = {}
        self.current: Engine
        if problem.network.layers > 2:
            located = _locates_kinks(problem, method)
            self.current = DeepEngine(problem, rtol) if located else SmoothEngine(problem, field, rtol)
            return
        self.decisions = Decisions(Kinks(problem))
        start = first_start(problem, self.decisions)
        early = EarlyPhase(problem, self.decisions, start, rtol) if early_phase and EarlyPhase.applies(problem) else None
        self.current = self._main(start) if early is None or early.over else early

    def _main(self, start: Start) -> Engine:
        """Kink-exact where the samples are few, smooth stepping for many."""
        if _locates_kinks(self.problem, self.method):
            return KinkEngine(self.problem, self.rtol, self.decisions, start)
        return SmoothEngine(self.problem, self.field, self.rtol, self.decisions, start)

    @property
    def name(self) -> str:
        return f"early phase, {self.current.name}" if self.past else self.current.name

    @property
    def t(self) -> float:
        return self.current.t

    @property
    def step_end(self) -> float:
        return self.current.step_end

    @property
    def chattering(self) -> bool:
        return self.current.chattering

    def attempt(self, t_end: float) -> bool:
        return self.current.attempt(t_end)

    def states(self, times: Array) -> tuple[Array, Array]:
        return self.current.states(times)

    def commit(self) -> tuple[float, float]:
        speed, objective = self.current.commit()
        if isinstance(self.current, EarlyPhase) and self.current.over:
            self.past = self.current.statistics()
            self.current = self._main(self.current.end)
        return speed, objective

    def statistics(self) -> dict[str, int]:
        return self.past | self.current.statistics()

    def group_counts(self) -> Array | None:
        return np.array(self.current.groups_over_time) if isinstance(self.current, KinkEngine) else None

    def events(self) -> Events | None:
        if isinstance(self.current, DeepEngine):
            return self.current.events()
        return None if self.problem.network.layers > 2 else self.decisions.events()
