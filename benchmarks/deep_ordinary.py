"""Deep networks of ordinary size: work and precision at all saved times, in the loss and in the weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import rectilinear as rl

from . import ours
from .attempts import Array
from .ordinary import digits, measured, relu_teacher, show, work_precision_figure
from .report import Report

DEEP_RTOLS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
DEEP_TRUTH_RTOL, TRUTH_CAP = 3e-6, 300.0


def tanh_teacher() -> tuple[Array, Array]:
    """Gaussian inputs, labels tanh of a random direction."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 10))
    return x, np.tanh(x @ rng.standard_normal(10))


PROBLEMS = {
    "10-50-50-1, 200 samples": (tanh_teacher, (50, 50), "square", 1.5, 40.0),
    "12-40-40-1, 600 samples": (relu_teacher, (40, 40), "square", 2.0, 60.0),
    "digits 3 and 8, 64-30-30-1": (lambda: digits(3, 8), (30, 30), "logistic", 1.5, 20.0),
}


def run(folder: Path) -> dict[str, Any]:
    """All of them; the truth is our own run at the tightest tolerance of impulses that is worth its time."""
    report = Report("deep_ordinary", folder)
    results = {}
    for name, (make, widths, loss, scale, end) in PROBLEMS.items():
        x, y = make()
        network = rl.Network(inputs=x.shape[1], widths=widths)
        problem = rl.Problem(rl.Dataset(x, y), network, network.init(scale=scale, seed=1), loss=loss)
        times = np.linspace(0.0, end, 21)
        results[name] = measured(problem, times, DEEP_RTOLS, ours.solve(problem, times, DEEP_TRUTH_RTOL, TRUTH_CAP))
        show(report, f"{name}, {len(times)} saved times", results[name])
    report.save(results, work_precision_figure(results))
    return results
