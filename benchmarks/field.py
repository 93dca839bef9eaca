"""How fast the two-layer field is, against matrix products by BLAS and against torch's gradient."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import rectilinear as rl
from rectilinear.flow.field import make_field
from rectilinear.flow.state import flatten
from rectilinear.plots.style import colour, panels, paper

from .peers.descent import torch_loss
from .report import Report, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SAMPLES, INPUTS, NEURONS = 2000, 20, 500
FLOPS = 4 * SAMPLES * NEURONS * INPUTS  # a multiply-add counts two, forwards and backwards
SQUARE = (
    600  # side of the square matrix product that stands for the best rate of the machine; it takes about as long as a field
)
ROUNDS = 200


def run(folder: Path) -> dict[str, Any]:
    """Measure all rates in turns, so that whatever else the machine does falls on all of them."""
    report = Report("field", folder)
    tasks = make_tasks()
    seconds = {name: [] for name in tasks}
    for _ in range(ROUNDS):
        for name, (_, task) in tasks.items():
            began = time.perf_counter()
            task()
            seconds[name].append(time.perf_counter() - began)
    peak = tasks["dgemm, square"][0] / min(seconds["dgemm, square"])
    rows = [
        {
            "what": name,
            "seconds": min(seconds[name]),
            "median_seconds": float(np.median(seconds[name])),
            "gigaflops": 1e-9 * flops / min(seconds[name]),
            "share_of_dgemm": flops / min(seconds[name]) / peak,
        }
        for name, (flops, _) in tasks.items()
    ]
    report.table(
        f"{SAMPLES} samples, {INPUTS} inputs, {NEURONS} neurons: 4 x samples x neurons x inputs = {FLOPS / 1e6:.0f} Mflop",
        ["what", "best ms", "median ms", "Gflop/s", "of dgemm"],
        [
            [
                row["what"],
                short(1e3 * row["seconds"]),
                short(1e3 * row["median_seconds"]),
                short(row["gigaflops"]),
                f"{row['share_of_dgemm']:.0%}",
            ]
            for row in rows
        ],
    )
    results = {"rows": rows}
    report.save(results, rates_figure(rows))
    return results


def make_tasks() -> dict[str, tuple[int, Callable[[], object]]]:
    """What is measured: flops and the work itself, already compiled."""
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((SQUARE, SQUARE)), rng.standard_normal((SQUARE, SQUARE))
    x, w = rng.standard_normal((SAMPLES, INPUTS)), rng.standard_normal((NEURONS, INPUTS))
    mirrored, lone = _problem(mirrored=True), _problem(mirrored=False)
    tasks: dict[str, tuple[int, Callable[[], object]]] = {
        "dgemm, square": (2 * SQUARE**3, lambda: left @ right),
        "dgemm, samples by neurons": (2 * SAMPLES * INPUTS * NEURONS, lambda: x @ w.T),
        "our field, mirrored samples": (FLOPS, _field_task(mirrored)),
        "our field, no mirror images": (FLOPS, _field_task(lone)),
        "torch gradient, float64": (FLOPS, _torch_task(lone)),
    }
    for _, task in tasks.values():
        task()
    return tasks


def _problem(mirrored: bool) -> rl.Problem:
    network = rl.Network(inputs=INPUTS, widths=(NEURONS,))
    data = rl.datasets.sine_teacher(inputs=INPUTS, pairs=SAMPLES // 2)
    if not mirrored:
        data = rl.Dataset(np.random.default_rng(1).standard_normal((SAMPLES, INPUTS)), data.y)
    return rl.Problem(data, network, network.init(scale=1.0, seed=0))


def _field_task(problem: rl.Problem) -> Callable[[], object]:
    field, theta = make_field(problem), flatten(problem.weights)
    out = np.empty_like(theta)
    return lambda: field.velocity(theta, out)


def _torch_task(problem: rl.Problem) -> Callable[[], object]:
    weights, loss = torch_loss(problem, torch.float64)
    return lambda: torch.autograd.grad(loss(), weights)


@paper
def rates_figure(rows: list[dict[str, Any]]) -> Figure:
    figure, (ax,) = panels(6.4, 2.4)
    names, rates = [row["what"] for row in rows][::-1], [row["gigaflops"] for row in rows][::-1]
    ax.barh(names, rates, color=[colour(0) if name.startswith("our") else colour(6) for name in names])
    ax.set(xlabel="Gflop/s")
    return figure
