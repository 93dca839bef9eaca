"""A run: the engines that move it, the states kept on the way, the rules that end it, and the loop over all of them."""

from __future__ import annotations

import time
from bisect import bisect_right
from dataclasses import dataclass
from math import isfinite
from typing import Protocol

import numpy as np

from ..arrays import Array
from ..errors import FlowError, InputError, is_number
from ..trajectory import Status, Trajectory
from .audit import audit_run
from .budgets import Watch, provenance
from .deadline import Deadline, OutOfTime, interrupts_held, look_at_clock
from .engines.engine import Engine
from .field import Field
from .span import Span
from .state import unflatten


@dataclass(frozen=True)
class Ending:
    """Why a run ended, with what the method says where the status alone does not tell."""

    status: Status
    reason: str = ""


class Rules(Protocol):
    """When a run is over before its last time."""

    def within(self) -> tuple[float, Status] | None:
        """When and why the run ends within the step just attempted."""
        ...

    def met(self, speed: float, loss: float) -> Status | None:
        """Why it ends after the step just committed, with |grad L| and the loss there."""
        ...


class StopRules:
    """The gradient norm or the loss has become small."""

    def __init__(self, gradient: float, loss: float) -> None:
        if not all(is_number(limit) and limit >= 0 for limit in (gradient, loss)):
            raise InputError(f"stop_gradient and stop_loss must be numbers >= 0, found {gradient!r} and {loss!r}.")
        self.gradient, self.loss = gradient, loss

    @property
    def looks(self) -> bool:
        """Whether any step can be the last."""
        return self.gradient > 0.0 or self.loss > 0.0

    def within(self) -> None:
        return None

    def met(self, speed: float, loss: float) -> Status | None:
        if speed < self.gradient:
            return Status.STATIONARY
        if loss < self.loss:
            return Status.LOSS_REACHED
        return None


class Kept:
    """What a run leaves: the engines that moved it, the last one still at work, and the times kept."""

    def __init__(self, engine: Engine) -> None:
        self.engines = [engine]
        self.times: list[float] = []

    @property
    def engine(self) -> Engine:
        return self.engines[-1]

    def hand_over(self) -> None:
        """Let the next engine go on, if the one at work has come to its end."""
        following = self.engine.successor()
        if following is not None:
            self.engines.append(following)

    def keep(self, times: Array) -> None:
        """Keep the states at these times, the present one or within the step just attempted."""
        raise NotImplementedError

    def provenance(self, **settings: object) -> dict[str, object]:
        return provenance(", ".join(engine.name for engine in self.engines), **settings)

    def statistics(self, watch: Watch) -> dict[str, float]:
        counts: dict[str, float] = {}
        for engine in self.engines:
            for name, count in engine.statistics().items():
                counts[name] = counts.get(name, 0) + count
        return counts | {"seconds": time.perf_counter() - watch.began}


class Record(Kept):
    """The states kept along a run in ordinary time, whose engine moves the problem as seen in `span`."""

    def __init__(self, span: Span, field: Field, engine: Engine, most: int) -> None:
        super().__init__(engine)
        self.span, self.field = span, field
        self.states, self.energies, self.errors = (
            np.empty((most, field.size)),
            np.empty(most),
            np.empty(most),
        )  # memory is taken as it fills

    def keep(self, times: Array) -> None:
        if len(times):
            new = slice(len(self.times), len(self.times) + len(times))
            states, energies, errors = self.engine.states(times)
            self.energies[new] = energies + self.span.rest_energy(times)
            self.errors[new] = errors + sum(engine.estimated_error for engine in self.engines[:-1])
            self.states[new] = self.span.full_states(states, times)
            self.times += times.tolist()

    def trajectory(self, ending: Ending, watch: Watch, rtol: float) -> Trajectory:
        problem = self.span.given
        times = np.array(self.times)
        states = self.states[: len(times)]
        loss = self.field.losses(states)
        weights = unflatten(states, problem.network.shapes)
        return Trajectory(
            problem=problem,
            times=times,
            loss=loss,
            weights=weights,
            status=ending.status,
            reason=ending.reason,
            audit=audit_run(problem, times, loss, weights, self.energies[: len(times)], self.errors[: len(times)]),
            statistics=self.statistics(watch),
            provenance=self.provenance(rtol=rtol),
            events=self.span.full_events(self.engine.events()),
            group_counts=self.engine.group_counts(),
        )


@interrupts_held()
def drive(kept: Kept, times: Array, watch: Watch, rules: Rules, clock: str = "t = {:.4g}") -> Ending:
    """Step until the last time or a reason to stop; keep the states at `times` and, on an early stop, the last one.

    `clock` tells the time in words, to those who watch.
    """
    done, asked = int(times[0] == kept.engine.t), times.tolist()
    end: float = asked[-1]
    kept.keep(times[:done])
    ending = None
    try:
        while done < len(times) and ending is None:
            look_at_clock()
            kept.hand_over()
            engine = kept.engine
            fraction = engine.t / end if end else 0.0
            over = watch.over_budget(fraction, lambda: clock.format(kept.engine.t))
            ending = Ending(over) if over else None
            with Deadline(watch.out_of_seconds):
                went = engine.attempt(end)
            if not went:
                if engine.chattering:
                    ending = Ending(Status.CHATTERING)
                continue
            last, why = rules.within() or (engine.step_end, None)
            passed = bisect_right(asked, last)
            kept.keep(times[done:passed])
            done = passed
            if why is not None:
                if not kept.times or kept.times[-1] < last:
                    kept.keep(np.array([last]))
                return Ending(why)
            speed, objective = engine.commit()
            met = rules.met(speed, objective) if isfinite(objective) else Status.DIVERGED
            ending = Ending(met) if met and (ending is None or met is Status.DIVERGED) else ending
    except OutOfTime:
        ending = Ending(Status.OUT_OF_SECONDS)
    except KeyboardInterrupt:
        ending = Ending(Status.INTERRUPTED)
    except FlowError as error:
        ending = Ending(Status.STUCK, str(error).rstrip("."))
    if done == len(times) or ending is None:
        return Ending(Status.FINISHED)
    if not kept.times or kept.engine.t > kept.times[-1]:
        kept.keep(np.array([kept.engine.t]))
    return ending
