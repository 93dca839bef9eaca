"""Two hundred small random problems to t = 2000: who gets there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rectilinear as rl
from rectilinear.plots.style import colour, panels, paper

from . import ours
from .attempts import Array, Attempt, weight_error
from .peers import sundials
from .random_problems import random_problem
from .report import Report, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TIMES = np.array([0.0, 1.0, 10.0, 100.0, 1000.0, 2000.0])
RTOL = 1e-9
OUR_STEPS = 50_000  # counted in steps, so that it does not depend on the machine
PEER_RTOL = 1e-6  # looser than ours, as tighter runs stall sooner
PEER_STEPS = 2_000  # runs that finish take a few hundred
PEER_CAP = 300.0  # seconds
NEWS_EVERY = 10
ERROR_PROMISED, DRIFT_PROMISED = 1e-6, 1e-9


def run(folder: Path, problems: int) -> dict[str, Any]:
    """All of them."""
    return measure(Report("stalls", folder), random_problem, TIMES, problems)


def measure(report: Report, draw: Callable[[int], rl.Problem], times: Array, problems: int) -> dict[str, Any]:
    """Solve random problems by us, by us a hundred times tighter, and by CVODE."""
    rows = []
    for seed in range(problems):
        rows.append(row_of(draw(seed), times) | {"seed": seed})
        if len(rows) % NEWS_EVERY == 0:
            found = summary(rows)
            report.note(
                f"{len(rows)} of {problems}: {found['ours_stalled']} stalled here, {found['peer_stalled']} with CVODE"
            )
    for name, chosen in (
        ("all", rows),
        *((loss, [r for r in rows if r["loss"] == loss]) for loss in ("square", "logistic")),
    ):
        if chosen:
            _show(report, f"{name}: {len(chosen)} random problems to t = {times[-1]:g}", chosen)
    results = {"rows": rows, "summary": summary(rows)}
    report.save(results, survival_figure(rows, float(times[-1])))
    return results


def row_of(problem: rl.Problem, times: Array) -> dict[str, Any]:
    """One problem by all solvers."""
    run = rl.simulate(problem, times, rtol=RTOL, max_steps=OUR_STEPS)
    tight = rl.simulate(problem, times, rtol=RTOL / 100, max_steps=OUR_STEPS)
    both = min(len(run), len(tight))
    peer = sundials.cvode(problem, times, PEER_RTOL, PEER_CAP, PEER_STEPS)
    truth = Attempt(ours.NAME, RTOL / 100, times, ours.flat_states(tight), float(tight.times[-1]), 0.0, None)
    return {
        "loss": problem.loss.name,
        "alpha": problem.network.alpha,
        "samples": problem.data.samples,
        "inputs": problem.data.inputs,
        "widths": problem.network.widths,
        "seconds": run.statistics["seconds"],
        "status": run.status.name,
        "tight_status": tight.status.name,
        "reached": float(run.times[-1]),
        "error": _largest_error(ours.flat_states(run)[:both], ours.flat_states(tight)[:both]),
        "drift": run.audit.balance_drift,
        "events": len(run.events),
        "certified": run.events.certified,
        "peer_finished": peer.finished,
        "peer_reached": peer.reached,
        "peer_seconds": peer.seconds,
        "peer_error": weight_error(peer, truth) if len(tight) == len(times) else None,
    }


def _largest_error(states: np.ndarray, truth: np.ndarray) -> float:
    """Largest |theta - truth| / |truth| over the saved times."""
    return float(np.max(np.linalg.norm(states - truth, axis=1) / np.linalg.norm(truth, axis=1)))


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures that the promises are about."""
    peer_errors = [row["peer_error"] for row in rows if row["peer_error"] is not None]
    seconds = [row["seconds"] for row in rows]
    return {
        "problems": len(rows),
        "ours_stalled": sum(row["status"] != "FINISHED" or row["tight_status"] != "FINISHED" for row in rows),
        "largest_error": max(row["error"] for row in rows),
        "errors_above_promise": sum(row["error"] > ERROR_PROMISED for row in rows),
        "largest_drift": max(row["drift"] for row in rows),
        "drifts_above_promise": sum(row["drift"] > DRIFT_PROMISED for row in rows),
        "not_certified": sum(not row["certified"] for row in rows),
        "median_seconds": float(np.median(seconds)),
        "most_seconds": max(seconds),
        "with_events": sum(row["events"] > 0 for row in rows),
        "peer_stalled": sum(not row["peer_finished"] for row in rows),
        "peer_median_seconds": float(np.median([row["peer_seconds"] for row in rows])),
        "peer_largest_error": max(peer_errors, default=None),
    }


def _show(report: Report, name: str, rows: list[dict[str, Any]]) -> None:
    found = summary(rows)
    report.table(
        f"{name}, {found['with_events']} with kink events",
        ["solver", "stalled", "median s", "most s", "largest error", "largest drift"],
        [
            [
                f"rectilinear, rtol {RTOL:g}",
                str(found["ours_stalled"]),
                short(found["median_seconds"]),
                short(found["most_seconds"]),
                f"{found['largest_error']:.1e} ({found['errors_above_promise']} above {ERROR_PROMISED:g})",
                f"{found['largest_drift']:.1e} ({found['drifts_above_promise']} above {DRIFT_PROMISED:g})",
            ],
            [
                f"CVODE, rtol {PEER_RTOL:g}, {PEER_STEPS:,} steps",
                str(found["peer_stalled"]),
                short(found["peer_median_seconds"]),
                short(max(row["peer_seconds"] for row in rows)),
                "-" if found["peer_largest_error"] is None else f"{found['peer_largest_error']:.1e} (where finished)",
                "-",
            ],
        ],
    )


@paper
def survival_figure(rows: list[dict[str, Any]], end: float) -> Figure:
    """How many problems each solver brought as far as time t."""
    figure, (ax,) = panels(5.6, 3.2)
    for k, (name, key) in enumerate(((ours.NAME, "reached"), ("CVODE", "peer_reached"))):
        reached = np.sort([row[key] for row in rows])
        still = len(rows) - np.searchsorted(reached, grid := np.geomspace(1e-3, end, 400))
        ax.plot(grid, still, color=colour(k), label=name, drawstyle="steps-post")
    ax.set(xscale="log", xlabel="time / τ", ylabel="problems that got so far", ylim=(0, 1.05 * len(rows)))
    ax.legend(loc="lower left")
    return figure
