"""In which time an engine moves, and which time it tells."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ...arrays import Array
from ..collocation import earliest
from ..kinks.decisions import Log
from ..steppers.elapsed_time import log_integral
from ..tolerances import AT_REST, SAME_SHARE
from .step import Step

LONGEST = 1e300  # of s; runs end long before
LN10 = float(np.log(10.0))


class Clock(Protocol):
    """An engine moves in s, and the clock tells the time t that belongs to it."""

    name: str  # of an engine that goes by it
    other_way: str  # what else a run may be tried with that does not get on

    @property
    def s(self) -> float: ...

    @property
    def t(self) -> float: ...

    def length_to(self, t: float) -> float:
        """How long a step in s may be that is not to pass t."""
        ...

    def shows_rest(self, last: Step, sizes: Array) -> bool:
        """Whether the last step, of carriers of these sizes, shows that nothing will move any more."""
        ...

    def t_at(self, step: Step, u: float) -> float:
        """The time after the share u of the step."""
        ...

    def share_at(self, step: Step, t: float) -> float:
        """The share of the step after which the time is t."""
        ...

    def advance(self, step: Step) -> None:
        """The step is made."""
        ...

    def rest(self, t: float) -> None:
        """Nothing moves up to this time."""
        ...

    def stamp(self, log: Log, step: Step | None = None) -> None:
        """Events noted since the last call, with their s, get their times: those of the step about to be made, or the present."""
        ...

    def __str__(self) -> str:
        """The time, as messages tell it."""
        ...


class OrdinaryClock:
    """s is t."""

    name = "kink-exact"
    other_way = ", or use method='smooth'"

    def __init__(self, t: float) -> None:
        self.t = t

    @property
    def s(self) -> float:
        return self.t

    def length_to(self, t: float) -> float:
        return t - self.t

    def shows_rest(self, last: Step, sizes: Array) -> bool:
        return False

    def t_at(self, step: Step, u: float) -> float:
        return self.t + u * step.h

    def share_at(self, step: Step, t: float) -> float:
        return min(1.0, (t - self.t) / step.h) if t != self.t else 0.0

    def advance(self, step: Step) -> None:
        self.t += step.h

    def rest(self, t: float) -> None:
        self.t = t

    def stamp(self, log: Log, step: Step | None = None) -> None:
        """They have them."""

    def __str__(self) -> str:
        return f"t = {self.t:.17g}"


class LogClock:
    """dt/ds = 1/L for steps whose objective is ln L; the time is told as log10 t."""

    name = "kink-exact, rescaled time"
    other_way = ""

    def __init__(self, t: float = -np.inf) -> None:
        self.s, self.t, self.stamped = 0.0, t, 0

    def length_to(self, t: float) -> float:
        return LONGEST

    def shows_rest(self, last: Step, sizes: Array) -> bool:
        """No neuron changes by its own size in a very long time."""
        return bool(np.max(np.linalg.norm(last.stages[-1], axis=1) / sizes) * self.s / last.h < AT_REST)

    def t_at(self, step: Step, u: float) -> float:
        if step.h == 0.0 or u == 0.0:
            return self.t
        passed = np.log(step.h) + log_integral(-step.objectives, u)
        return float(np.logaddexp(self.t * LN10, passed) / LN10)

    def share_at(self, step: Step, t: float) -> float:
        return earliest(lambda u: self.t_at(step, u) >= t, SAME_SHARE) if t != self.t else 0.0

    def advance(self, step: Step) -> None:
        self.s, self.t = self.s + step.h, self.t_at(step, 1.0)

    def rest(self, t: float) -> None:
        self.t = t

    def stamp(self, log: Log, step: Step | None = None) -> None:
        for k in range(self.stamped, len(log)):
            t = self.t if step is None or step.h == 0.0 else self.t_at(step, (log[k][0] - self.s) / step.h)
            log[k] = (t, *log[k][1:])
        self.stamped = len(log)

    def __str__(self) -> str:
        return f"t = 10^{self.t:.6g}"
