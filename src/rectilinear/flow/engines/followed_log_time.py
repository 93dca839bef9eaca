"""Followed neurons in a run that tells log10 t."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...arrays import Array
from ...events import Events
from .engine import Engine, States
from .followed import FollowedNeurons


class FollowedInLogTime:
    """The engine `inner` in ordinary time up to t = 10^`until`; `go_on` makes the one that takes over there, if the run goes on."""

    def __init__(self, inner: FollowedNeurons, until: float, go_on: Callable[[], Engine] | None) -> None:
        self.inner, self.until, self.go_on = inner, until, go_on
        self.name, self.chattering, self.resting = inner.name, False, False
        self.target = until
        self.t = _log10(inner.t)

    @property
    def estimated_error(self) -> float:
        return self.inner.estimated_error

    @property
    def step_end(self) -> float:
        """log10 of the step's end; the target itself where that is reached, which rounding must not miss."""
        end = self.inner.step_end
        return self.target if end >= 10.0**self.target * (1.0 - 1e-14) else _log10(end)

    def at_rest(self) -> bool:
        return False

    def attempt(self, t_end: float) -> bool:
        self.target = min(t_end, self.until)
        return self.inner.attempt(10.0**self.target)

    def states(self, times: Array) -> States:
        return self.inner.states(10.0**times)

    def commit(self) -> tuple[float, float]:
        self.t = self.step_end
        return self.inner.commit()

    def successor(self) -> Engine | None:
        return self.go_on() if self.go_on is not None and self.t >= self.until else None

    def statistics(self) -> dict[str, int]:
        return self.inner.statistics()

    def events(self) -> Events:
        found = self.inner.events()
        with np.errstate(divide="ignore"):
            return replace(found, time=np.log10(found.time))

    def group_counts(self) -> None:
        return None


def _log10(t: float) -> float:
    return float(np.log10(t)) if t > 0.0 else -np.inf
