"""Budgets, progress and provenance, shared by every way of running a problem."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

from ..errors import InputError, is_number
from ..progress import Wanted, compilation, reporter
from ..trajectory import Status

MOMENT = 0.4  # seconds that a first step may take, however small the budget
REPORT_EVERY = 0.1  # seconds between two calls of the progress function


class Watch:
    """Counts steps and seconds against their budgets and tells how far the run is."""

    def __init__(self, max_steps: int | None, max_seconds: float | None, progress: Wanted) -> None:
        for name, budget in (("max_steps", max_steps), ("max_seconds", max_seconds)):
            if budget is not None and not (is_number(budget) and budget > 0):
                raise InputError(f"{name} must be positive, or None for no limit, found {budget!r}.")
        self.max_steps, self.max_seconds, self.progress = max_steps, max_seconds, reporter(progress)
        self.began = self.reported = time.perf_counter()
        self.compiled = compilation().seconds  # compiling does not count against the budget
        self.steps = 0

    @property
    def spent(self) -> float:
        """Seconds used so far."""
        return time.perf_counter() - self.began - (compilation().seconds - self.compiled)

    @property
    def deadline(self) -> float:
        """When the seconds are used up, as time.perf_counter() tells it, if nothing more is compiled."""
        if self.max_seconds is None:
            return float("inf")
        return self.began + max(self.max_seconds, MOMENT) + compilation().seconds - self.compiled

    def over_budget(self, fraction: float, note: Callable[[], str]) -> Status | None:
        """Count a step; the reason to stop, if a budget is used up. What `note` says is for those who watch."""
        self.steps += 1
        if self.max_steps is not None and self.steps >= self.max_steps:
            return Status.OUT_OF_STEPS
        if self.max_seconds is None and self.progress is None:
            return None
        if self.progress is not None and (now := time.perf_counter()) - self.reported > REPORT_EVERY:
            self.reported = now
            self.progress(min(max(fraction, 0.0), 1.0), note())
        return Status.OUT_OF_SECONDS if self.max_seconds is not None and self.spent > self.max_seconds else None

    @property
    def limited(self) -> bool:
        """Whether there is a budget."""
        return self.max_steps is not None or self.max_seconds is not None

    @property
    def half_used(self) -> bool:
        """Whether less is left of a budget than was used."""
        seconds, steps = (float("inf") if budget is None else budget for budget in (self.max_seconds, self.max_steps))
        return 2.0 * self.spent > seconds or 2 * self.steps > steps

    def out_of_seconds(self) -> bool:
        """Whether the seconds are used up."""
        return time.perf_counter() > self.deadline


def counted_together(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, float]:
    """What two parts of a run count: sums, and the larger of two largest numbers.

    >>> counted_together({"steps": 2, "groups at most": 3}, {"steps": 5, "groups at most": 4})
    {'steps': 7, 'groups at most': 4}
    """
    return {
        name: max(first.get(name, 0), count) if name.endswith("at most") else first.get(name, 0) + count
        for name, count in second.items()
    }


@cache
def _package() -> str:
    return f"rectilinear {version('rectilinear')}"


def provenance(method: str, **settings: Any) -> dict[str, Any]:
    """How a run was made, for its file."""
    return {
        "package": _package(),
        "method": method,
        "loss_normalisation": "mean over samples",
        "time_unit": "tau = 1: dW/dt = -grad L",
        **settings,
    }
