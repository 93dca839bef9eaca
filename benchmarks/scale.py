"""How cost grows with samples, inputs and neurons, one at a time, on a teacher's data."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import rectilinear as rl

from . import ours
from .attempts import best
from .ordinary import teacher
from .peers import diffrax_solvers
from .report import Report, short, whole

BASE = {"samples": 1000, "inputs": 20, "neurons": 100}
SIZES = {"samples": (500, 1000, 2000, 4000), "inputs": (10, 20, 40, 80), "neurons": (50, 100, 200, 400)}
TOLERANCES = {
    "ours, 1e-2": (ours.solve, 1e-2),
    "ours, 1e-4": (ours.solve, 1e-4),
    "Tsit5, 1e-2": (diffrax_solvers.tsit5, 1e-2),
}
CAP = 120.0


def run(folder: Path) -> dict[str, Any]:
    """A table per size, and the slopes of log seconds in log size."""
    report = Report("scale", folder)
    results: dict[str, Any] = {}
    for varied, sizes in SIZES.items():
        rows, seconds = [], {name: [] for name in TOLERANCES}
        for size in sizes:
            shape = {**BASE, varied: size}
            x, y = teacher(shape["samples"], shape["inputs"])
            network = rl.Network(inputs=shape["inputs"], widths=(shape["neurons"],))
            problem = rl.Problem(rl.Dataset(x, y), network, network.init(scale=1e-3, seed=1))
            times = np.linspace(0.0, 10.0 * shape["inputs"], 11)
            attempts = {name: best(partial(solve, problem, times, rtol, CAP)) for name, (solve, rtol) in TOLERANCES.items()}
            for name, attempt in attempts.items():
                seconds[name].append(attempt.seconds)
            rows.append([whole(size)] + [text for a in attempts.values() for text in (short(a.seconds), whole(a.gradients))])
        headings = [varied, *(text for name in TOLERANCES for text in (f"{name}: seconds", "gradients"))]
        report.table(f"{varied}, the others {BASE}", headings, rows)
        slopes = {name: float(np.polyfit(np.log(sizes), np.log(took), 1)[0]) for name, took in seconds.items()}
        report.note("slopes: " + ", ".join(f"{name} {slope:.2f}" for name, slope in slopes.items()))
        results[varied] = {"sizes": sizes, "seconds": seconds, "slopes": slopes}
    report.save(results)
    return results
