"""Networks whose neurons slide on kinks: what Figure 2 of Zhang et al. costs, and what accuracy costs elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rectilinear as rl
from rectilinear.plots.style import NEUTRAL, colour, legend_beside, panels, paper

from . import ours
from .attempts import REPEATS, Array, Attempt, Solve, best, loss_error, weight_error
from .peers import diffrax_solvers, scipy_solvers, sundials
from .report import Report, short, whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURE_2 = ((0.15, 100), (0.0125, 100), (0.15, 10_000))  # delta, width
WIDE_CAP = 300.0
HORIZON = np.linspace(0.0, 60_000.0, 1001)
STOP_LOSS = 1e-12

PEERS: tuple[Solve, ...] = (
    scipy_solvers.dop853,
    scipy_solvers.lsoda,
    scipy_solvers.radau,
    sundials.cvode,
    diffrax_solvers.tsit5,
    diffrax_solvers.kvaerno5,
)
PEER_RTOLS = (1e-3, 1e-5, 1e-7, 1e-9)
OUR_RTOLS = (1e-3, 1e-5, 1e-7, 1e-9, 1e-11)
TRUTH_RTOL = 1e-13
TRUTH_CAP = 300.0


@dataclass(frozen=True, eq=False)
class Case:
    """A problem and the time at which errors are measured."""

    name: str
    problem: rl.Problem
    end: float

    @property
    def times(self) -> Array:
        return np.array([0.0, self.end])


def figure_2_problem(delta: float, width: int) -> rl.Problem:
    network = rl.Network(inputs=2, widths=(width,))
    return rl.Problem(rl.datasets.six_points(delta), network, network.init(scale=1e-3, seed=0))


def cases() -> list[Case]:
    """Figure 2 beyond its plateau, a student of a ReLU teacher, and logistic loss on twelve samples."""
    student = rl.Network(inputs=5, widths=(20,))
    teacher = rl.Problem(rl.datasets.gaussian_teacher(inputs=5, samples=30), student, student.init(scale=0.1, seed=0))
    small = rl.Network(inputs=3, widths=(8,))
    rng = np.random.default_rng(0)
    labelled = rl.Dataset(rng.standard_normal((12, 3)), np.where(rng.standard_normal(12) > 0, 1.0, -1.0))
    return [
        Case("figure 2", figure_2_problem(0.15, 100), 800.0),
        Case("ReLU teacher", teacher, 100.0),
        Case("logistic", rl.Problem(labelled, small, small.init(scale=0.1, seed=0), loss="logistic"), 100.0),
    ]


def run(folder: Path, cap: float) -> dict[str, Any]:
    """Measure everything about kinks, print it and keep it."""
    report = Report("kinks", folder)
    to_zero_loss = [figure_2_row(delta, width) for delta, width in FIGURE_2]
    report.table(
        f"Figure 2 to loss {STOP_LOSS:g}",
        ["problem", "best seconds", "median seconds", "steps", "events", "groups at most", "reached t", "loss", "ended"],
        [
            [
                f"delta {row['delta']:g}, width {row['width']:,}",
                short(row["seconds"]),
                short(row["median_seconds"]),
                whole(row["steps"]),
                whole(row["events"]),
                whole(row["groups"]),
                f"{row['reached']:.0f}",
                short(row["loss"]),
                row["status"],
            ]
            for row in to_zero_loss
        ],
    )
    curves = {case.name: work_precision(case, report, cap) for case in cases()}
    results = {"figure_2": to_zero_loss, "cap_seconds": cap, "work_precision": curves}
    report.save(results, work_precision_figure(curves, cap))
    return results


def figure_2_row(delta: float, width: int) -> dict[str, Any]:
    """Seconds, events and groups of a run to zero loss; long runs are timed once."""
    runs: list[rl.Trajectory] = []
    while len(runs) < 1 + REPEATS and (not runs or runs[-1].statistics["seconds"] < WIDE_CAP / 10):
        problem = figure_2_problem(delta, width)
        runs.append(rl.simulate(problem, HORIZON, stop_loss=STOP_LOSS, max_seconds=WIDE_CAP))
    last, seconds = runs[-1], [run.statistics["seconds"] for run in runs[1:] or runs]
    return {
        "delta": delta,
        "width": width,
        "seconds": min(seconds),
        "median_seconds": float(np.median(seconds)),
        "steps": last.statistics["steps"],
        "events": len(last.events) if last.events is not None else None,
        "groups": last.statistics.get("groups at most"),
        "reached": float(last.times[-1]),
        "loss": float(last.loss[-1]),
        "status": last.status.name,
    }


def work_precision(case: Case, report: Report, cap: float) -> list[dict[str, Any]]:
    """Cost and error of every solver at every tolerance; after a stall its tighter tolerances are not tried."""
    truth = ours.solve(case.problem, case.times, TRUTH_RTOL, TRUTH_CAP)
    if not truth.finished:
        raise RuntimeError(f"{case.name}: the reference must reach t = {case.end:g}, it came to {truth.reached:.4g}.")
    rows = [_row(case, best(partial(ours.solve, case.problem, case.times, rtol, cap)), truth) for rtol in OUR_RTOLS]
    for solve in PEERS:
        for rtol in PEER_RTOLS:
            rows.append(_row(case, best(partial(solve, case.problem, case.times, rtol, cap)), truth))
            if not rows[-1]["finished"]:
                break
    report.table(
        f"{case.name} to t = {case.end:g}: {case.problem}",
        ["solver", "rtol", "seconds", "gradients", "weight error", "loss error", ""],
        [
            [
                row["solver"],
                short(row["rtol"]),
                short(row["seconds"]),
                whole(row["gradients"]),
                short(row["weight_error"]),
                short(row["loss_error"]),
                "" if row["finished"] else f"stalled at t = {row['reached']:.4g}",
            ]
            for row in rows
        ],
    )
    return rows


def _row(case: Case, attempt: Attempt, truth: Attempt) -> dict[str, Any]:
    return {
        "solver": attempt.solver,
        "rtol": attempt.rtol,
        "seconds": attempt.seconds,
        "gradients": attempt.gradients,
        "weight_error": weight_error(attempt, truth),
        "loss_error": loss_error(case.problem, attempt, truth),
        "finished": attempt.finished,
        "reached": attempt.reached,
    }


@paper
def work_precision_figure(curves: dict[str, list[dict[str, Any]]], cap: float) -> Figure:
    """Error of the final weights against seconds (above) and against gradient evaluations (below), a column a problem."""
    figure, axes = panels(11.0, 6.0, rows=2, columns=len(curves))
    for k, (name, rows) in enumerate(curves.items()):
        above, below = axes[k], axes[k + len(curves)]
        _draw_curves(above, rows, "seconds")
        _draw_curves(below, rows, "gradients")
        above.set(title=name, xlabel=f"seconds (peers stopped at {cap:g})")
        below.set(xlabel="gradient evaluations")
        for ax in (above, below):
            ax.set(xscale="log", yscale="log", ylabel="error of the final weights" if k == 0 else None)
    corner = axes[len(curves) - 1]
    corner.plot([], [], "X", color=NEUTRAL, label="stalled")
    legend_beside(corner)
    return figure


def _draw_curves(ax: Axes, rows: list[dict[str, Any]], cost: str) -> None:
    """Finished runs as a curve; a stall as a cross at the top, above its cost."""
    names = list(dict.fromkeys(row["solver"] for row in rows))
    for k, name in enumerate(names):
        known = [row for row in rows if row["solver"] == name and row[cost] is not None]
        done = [row for row in known if row["finished"]]
        ax.plot([row[cost] for row in done], [row["weight_error"] for row in done], "o-", color=colour(k), label=name)
        stalled = [row[cost] for row in known if not row["finished"]]
        ax.plot(stalled, [0.97 - 0.05 * k] * len(stalled), "X", color=colour(k), transform=ax.get_xaxis_transform())
