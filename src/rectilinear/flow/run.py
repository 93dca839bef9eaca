"""A run: the engine that moves, the states kept on the way, the rules that end it, and the loop over all of them."""

from __future__ import annotations

import time
from typing import Protocol

import numpy as np

from ..arrays import Array
from ..errors import FlowError, InputError
from ..events import Events
from ..problem import Problem
from ..trajectory import Status, Trajectory
from .audit import audit_run
from .budgets import Watch
from .field import Field
from .state import unflatten


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

    def events(self) -> Events | None:
        """What happened at kinks; None if they are not located."""
        ...

    def group_counts(self) -> Array | None:
        """Rows (time, number of groups of neurons that move together); None if there are no groups."""
        ...


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

    def trajectory(self, status: Status, engine: Engine, watch: Watch, made: dict[str, object]) -> Trajectory:
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


def drive(engine: Engine, record: Record, times: Array, watch: Watch, rules: StopRules) -> Status:
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
