"""Deep networks of ordinary size: work and precision at all saved times, in the loss and in the weights.

Among a few tolerances one may hit a small error by luck, and does: errors of solvers that do not see kinks rise and fall with the
tolerance. So each problem is run for several seeds of data and start, every solver at tolerances a factor of two to three apart, and what
counts is the median over seeds of the ratio of processor times at equal error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import rectilinear as rl

from . import ours
from .attempts import Array, Attempt, best_in_turns
from .ordinary import digits, fastest, row_of, show, work_precision_figure
from .peers import diffrax_solvers
from .report import Report

SEEDS = 3
PLAIN_RTOLS = (1e-2, 3e-3, 1e-3, 5e-4, 3e-4, 1e-4, 5e-5, 3e-5)
IMPULSE_RTOLS = (1e-3, 3e-4, 1e-4)
PEER_RTOLS = (1e-2, 3e-3, 1e-3, 5e-4, 3e-4, 1e-4, 5e-5, 3e-5, 1e-5)
DEEP_TRUTH_RTOL, TRUTH_CAP, CAP = 1e-5, 300.0, 20.0
EQUAL_ERRORS = (1e-3, 1e-4)  # of the loss
DIGITS = ((3, 8), (4, 9), (1, 7), (2, 5), (6, 0))


def tanh_teacher(seed: int) -> tuple[Array, Array]:
    """Gaussian inputs, labels tanh of a random direction."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((200, 10))
    return x, np.tanh(x @ rng.standard_normal(10))


def relu_teacher(seed: int) -> tuple[Array, Array]:
    """A ReLU teacher with noise."""
    rng = np.random.default_rng(11 + seed)
    x = rng.standard_normal((600, 12)) / np.sqrt(12)
    y = np.maximum(x @ rng.standard_normal((12, 5)), 0.0) @ rng.standard_normal(5)
    return x, y + 0.1 * rng.standard_normal(600)


def two_digits(seed: int) -> tuple[Array, Array]:
    """Images of two digits, another pair for every seed."""
    return digits(*DIGITS[seed % len(DIGITS)])


Maker = Callable[[int], tuple[Array, Array]]
PROBLEMS: dict[str, tuple[Maker, tuple[int, int], str, float, float]] = {
    "10-50-50-1, 200 samples": (tanh_teacher, (50, 50), "square", 1.5, 40.0),
    "12-40-40-1, 600 samples": (relu_teacher, (40, 40), "square", 2.0, 60.0),
    "two digits, 64-30-30-1": (two_digits, (30, 30), "logistic", 1.5, 20.0),
}


def problem_of(name: str, seed: int) -> tuple[rl.Problem, Array]:
    """The problem and the 21 times at which it is compared."""
    make, widths, loss, scale, end = PROBLEMS[name]
    x, y = make(seed)
    network = rl.Network(inputs=x.shape[1], widths=widths)
    weights = network.init(scale=scale, seed=seed + 1)
    return rl.Problem(rl.Dataset(x, y), network, weights, loss=loss), np.linspace(0.0, end, 21)


def measured(problem: rl.Problem, times: Array, truth: Attempt) -> list[dict[str, Any]]:
    """Plain steps, impulses, Tsit5 and Dopri5 in turns."""
    plain, impulses = (partial(ours.solve, method=method) for method in ("plain", "impulses"))
    runs = [(plain, rtol) for rtol in PLAIN_RTOLS] + [(impulses, rtol) for rtol in IMPULSE_RTOLS]
    runs += [(solve, rtol) for solve in (diffrax_solvers.tsit5, diffrax_solvers.dopri5) for rtol in PEER_RTOLS]
    attempts = best_in_turns([partial(solve, problem, times, rtol, CAP) for solve, rtol in runs])
    return [row_of(problem, attempt, truth) for attempt in attempts]


def ratio(rows: list[dict[str, Any]], error: float) -> float:
    """Processor time of the best peer over ours at this loss error; infinite where only we get there, nan where we do not."""
    mine = fastest([row for row in rows if ours.is_ours(row["solver"])], error)
    theirs = fastest([row for row in rows if not ours.is_ours(row["solver"])], error)
    if mine is None:
        return float("nan")
    return theirs["processor"] / mine["processor"] if theirs else float("inf")


def run(folder: Path) -> dict[str, Any]:
    """All of them; the truth is our own run at a tight tolerance of impulses, which is worth its time."""
    report = Report("deep_ordinary", folder)
    results: dict[str, Any] = {}
    for name in PROBLEMS:
        for seed in range(SEEDS):
            problem, times = problem_of(name, seed)
            truth = ours.solve(problem, times, DEEP_TRUTH_RTOL, TRUTH_CAP, "impulses")
            results[f"{name}, seed {seed}"] = rows = measured(problem, times, truth)
            show(report, f"{name}, seed {seed}, {len(times)} saved times", rows)
        for error in EQUAL_ERRORS:
            ratios = [ratio(results[f"{name}, seed {seed}"], error) for seed in range(SEEDS)]
            said = ", ".join(f"{value:.2f}" for value in ratios)
            report.note(f"{name}, loss error {error:g}: best peer over ours {said}; median {np.median(ratios):.2f}")
    report.save(results, work_precision_figure(results))
    return results
