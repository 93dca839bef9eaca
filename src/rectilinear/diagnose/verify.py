"""Prediction and simulation side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..arrays import Array
from ..compare import compare
from ..flow import simulate
from ..problem import Problem
from ..trajectory import Status, Trajectory
from .curves import outside
from .diagnosis import Outlook, PlateauForecast, Verification
from .look_ahead import LookAhead
from .outlook import AFTERWARDS, POINTS, crossing, first_drop, time_scale

DROP = 0.1  # share of its height by which the loss must fall for a plateau to end


def verify(
    problem: Problem, outlook: Outlook, max_seconds: float | None, progress: Callable[[float, str], None] | None
) -> Verification:
    """Simulate the problem at the predicted times and put what was predicted beside it."""
    expected = outlook.prediction
    if expected is None:
        return _verified_ahead(problem, outlook.ahead, max_seconds, progress)
    run = _simulated(problem, expected.times, max_seconds, progress)
    rest = outlook.plateau
    fall_to = outlook.ending.loss if rest is None else rest.height
    seen_drop = first_drop(run, fall_to)
    rows = [("first drop", _number(outlook.first_drop), _number(seen_drop))]
    if rest is not None:
        rows += _plateau_rows(rest, run)
    rows.append(("last loss", float(expected.loss[min(len(run), len(expected)) - 1]), float(run.loss[-1])))
    stated = found = None
    if expected.loss_error is not None:
        shared = min(len(run), len(expected))
        first = float(run.loss[0]) or 1.0
        worst = int(np.argmax(np.abs(run.loss[:shared] - expected.loss[:shared]) - expected.loss_error[:shared]))
        stated, found = float(expected.loss_error[worst]) / first, abs(float(run.loss[worst] - expected.loss[worst])) / first
    return Verification(run, compare(expected, run), tuple(rows), stated, found)


def _verified_ahead(
    problem: Problem, ahead: LookAhead | None, max_seconds: float | None, progress: Callable[[float, str], None] | None
) -> Verification:
    """Where no theorem speaks: the look ahead beside an accurate simulation of all samples at the same times."""
    times = np.linspace(0.0, 4 * AFTERWARDS * time_scale(problem), POINTS) if ahead is None else ahead.run.times
    run = _simulated(problem, times, max_seconds, progress)
    if ahead is None:
        return Verification(run, None, ())
    shared = min(len(run), len(ahead.loss))
    times, seen, expected = run.times[:shared], run.loss[:shared], ahead.loss[:shared]
    told = replace(ahead.run, times=ahead.run.times[: len(ahead.loss)], loss=ahead.loss)
    fall_to = float(ahead.loss.min())
    rows = [
        ("first drop", _number(first_drop(told, fall_to)), _number(first_drop(run, fall_to))),
        (f"loss at t = {times[-1]:.4g}", float(expected[-1]), float(seen[-1])),
    ]
    worst = float(outside(times, seen, expected, ahead.time_error).max()) / (float(seen[0]) or 1.0)
    return Verification(run, None, tuple(rows), stated=ahead.error, found=worst, time_error=ahead.time_error)


def _simulated(
    problem: Problem, times: Array, max_seconds: float | None, progress: Callable[[float, str], None] | None
) -> Trajectory:
    """The run; who interrupts it before its first step has the start, and keeps the rest of the diagnosis."""
    try:
        return simulate(problem, times, max_seconds=max_seconds, progress=progress)
    except KeyboardInterrupt:
        start, loss = tuple(layer[None] for layer in problem.weights), problem.data_loss(problem.weights)
        return Trajectory(problem, np.zeros(1), np.array([loss]), start, Status.INTERRUPTED)


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
