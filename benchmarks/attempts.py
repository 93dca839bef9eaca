"""What a solver did with a problem, and how far that is from the truth."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import rectilinear as rl
from rectilinear.flow.field import make_field
from rectilinear.flow.state import flatten

Array = NDArray[np.float64]

REPEATS = 3
WORTH_REPEATING = 2.0  # seconds: a run longer than this is timed once
SHORT, REPEATS_OF_SHORT = 0.05, 20  # seconds; whatever else a machine does for a moment is as long as such a run


@dataclass(frozen=True, eq=False)
class Attempt:
    """The flat weights `states` (t, size) at those of the asked `times` that the solver reached before its cap.

    `reached` is the time it came to, `seconds` the best warm time, `gradients` how often -grad L was evaluated, finite
    differences for Jacobians included (None where that is not known), `processor` the seconds of all its threads, where measured.
    """

    solver: str
    rtol: float
    times: Array
    states: Array
    reached: float
    seconds: float
    gradients: int | None
    processor: float | None = None

    @property
    def finished(self) -> bool:
        return len(self.states) == len(self.times)


Solve = Callable[[rl.Problem, Array, float, float], Attempt]  # problem, times, rtol, cap in seconds


def best(attempt: Callable[[], Attempt]) -> Attempt:
    """The attempt with the best time of several; the first one warms up."""
    first = attempt()
    return (
        first if first.seconds > WORTH_REPEATING else replace(first, seconds=min(attempt().seconds for _ in range(REPEATS)))
    )


def best_in_turns(attempts: list[Callable[[], Attempt]]) -> list[Attempt]:
    """The best of each, repeated in turns, so that whatever else the machine does falls on all of them; the first one warms up."""
    for attempt in attempts:
        attempt()
    warm = [[timed(attempt)] for attempt in attempts]
    for k in range(1, REPEATS_OF_SHORT):
        for attempt, tries in zip(attempts, warm, strict=True):
            if k < _repeats(tries[0].seconds):
                tries.append(timed(attempt))
    return [
        replace(tries[0], seconds=min(a.seconds for a in tries), processor=min(a.processor or 0.0 for a in tries))
        for tries in warm
    ]


def _repeats(seconds: float) -> int:
    """How often a run that takes so many seconds is timed."""
    return 1 if seconds > WORTH_REPEATING else REPEATS if seconds > SHORT else REPEATS_OF_SHORT


def timed(attempt: Callable[[], Attempt]) -> Attempt:
    """The attempt with its processor time."""
    began = time.process_time()
    found = attempt()
    return replace(found, processor=time.process_time() - began)


def best_seconds(run: Callable[[], object], repeats: int = REPEATS) -> float:
    """The shortest warm time of `run`."""
    run()
    took = []
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        took.append(time.perf_counter() - began)
    return min(took)


def small_atol(problem: rl.Problem, rtol: float) -> float:
    """rtol times the root mean square of the starting weights: as strict on tiny weights as on grown ones.

    Small weights grow by many orders of magnitude, and their errors with them, so a larger absolute tolerance spoils the run.
    """
    start = flatten(problem.weights)
    return rtol * float(np.sqrt(np.mean(start * start)))


def weight_error(attempt: Attempt, truth: Attempt) -> float | None:
    """|theta - truth| / |truth| at the last time; None for a run that did not get there."""
    if not attempt.finished:
        return None
    return float(np.linalg.norm(attempt.states[-1] - truth.states[-1]) / np.linalg.norm(truth.states[-1]))


def saved_weight_error(attempt: Attempt, truth: Attempt) -> float | None:
    """The largest |theta - truth| / |truth| over all saved times; None for a run that did not get to the last."""
    if not attempt.finished:
        return None
    return float(np.max(np.linalg.norm(attempt.states - truth.states, axis=1) / np.linalg.norm(truth.states, axis=1)))


def loss_error(problem: rl.Problem, attempt: Attempt, truth: Attempt) -> float | None:
    """Largest |L - truth| over the saved times, in units of the first loss; None for a run that did not get to the end."""
    if not attempt.finished:
        return None
    field = make_field(problem)
    expected = field.losses(truth.states)
    found = field.losses(attempt.states)
    return float(np.max(np.abs(found - expected)) / expected[0])
