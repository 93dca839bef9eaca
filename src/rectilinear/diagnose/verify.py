"""Prediction and simulation side by side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..compare import compare
from ..flow import simulate
from ..problem import Problem
from ..trajectory import Trajectory
from .diagnosis import Outlook, PlateauForecast, Verification
from .outlook import AFTERWARDS, POINTS, crossing, first_drop, time_scale

DROP = 0.1  # share of its height by which the loss must fall for a plateau to end


def verify(
    problem: Problem, outlook: Outlook, max_seconds: float | None, progress: Callable[[float, str], None] | None
) -> Verification:
    """Simulate the problem at the predicted times and put what was predicted beside it."""
    expected = outlook.prediction or outlook.mirrored
    times = np.linspace(0.0, 4 * AFTERWARDS * time_scale(problem), POINTS) if expected is None else expected.times
    run = simulate(problem, times, max_seconds=max_seconds, progress=progress)
    if expected is None:
        return Verification(run, None, ())
    rest = outlook.plateau
    fall_to = outlook.ending.loss if rest is None else rest.height
    on_mirrored = "" if outlook.prediction is not None else ", mirrored data against these"
    seen_drop = first_drop(run, fall_to)
    rows = [(f"first drop{on_mirrored}", _number(outlook.first_drop), _number(seen_drop))]
    if rest is not None:
        rows += _plateau_rows(rest, run)
    rows.append((f"last loss{on_mirrored}", float(expected.loss[min(len(run), len(expected)) - 1]), float(run.loss[-1])))
    return Verification(run, None if outlook.prediction is None else compare(expected, run), tuple(rows))


def _plateau_rows(rest: PlateauForecast, run: Trajectory) -> list[tuple[str, float, float]]:
    """Height and duration; the simulated plateau begins where the predicted one does, and ends `DROP` below its own height."""
    height = plateau_height(run, rest)
    ended = crossing(run, (1 - DROP) * height)
    duration = np.nan if ended is None else ended - rest.begins
    return [("plateau height", rest.height, height), ("plateau duration", rest.duration, duration)]


def plateau_height(run: Trajectory, rest: PlateauForecast) -> float:
    """The median loss between the beginning of the plateau and the first fall below it (or the end of the run)."""
    later = run.times >= rest.begins
    on_it = later & (run.loss >= (1 - DROP) * rest.height)
    return float(np.median(run.loss[on_it])) if on_it.any() else np.nan


def _number(value: float | None) -> float:
    return np.nan if value is None else value
