"""Random problems of ordinary size: none stalls, none is off, none costs much more than others."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

import rectilinear as rl

from .ours import flat_states
from .random_problems import KINDS, random_ordinary_problem
from .report import Report, short

RTOL, TIGHTER = 1e-6, 1e-2  # the tolerance, and by how much that of the run is smaller which it is held against
TIMES = np.array([0.0, 1.0, 5.0, 20.0, 50.0])
FIRST_SEED = 20_000
CAP = 120.0
ALLOWED = 30.0  # tolerances
NEWS_EVERY = 50


def run(folder: Path, problems: int) -> dict[str, Any]:
    """All of them, in a table by kind of data."""
    report = Report("random_ordinary", folder)
    rows = []
    for seed in range(FIRST_SEED, FIRST_SEED + problems):
        rows.append(row_of(random_ordinary_problem(seed)) | {"seed": seed, "kind": KINDS[seed % len(KINDS)]})
        if is_outlier(rows[-1]):
            report.note(f"{rows[-1]}")
        if len(rows) % NEWS_EVERY == 0:
            report.note(f"{len(rows)} of {problems}: {sum(map(is_outlier, rows))} off or not finished")
    report.table(
        f"{problems} random problems to t = {TIMES[-1]:g}, rtol {RTOL:g} against {TIGHTER:g} of it",
        [
            "data",
            "problems",
            "not finished",
            f"beyond {ALLOWED:g} rtol",
            "beyond what is stated",
            "median s",
            "most s",
            "cost per gradient, most over median",
        ],
        [_summary(kind, [row for row in rows if kind in ("all", row["kind"])], rows) for kind in ("all", *KINDS)],
    )
    report.save({"rows": rows})
    return {"rows": rows}


def row_of(problem: rl.Problem) -> dict[str, Any]:
    """One problem at both tolerances."""
    began = time.process_time()
    run = rl.simulate(problem, TIMES, rtol=RTOL, max_seconds=CAP)
    seconds = time.process_time() - began
    tight = rl.simulate(problem, TIMES, rtol=TIGHTER * RTOL, max_seconds=10 * CAP)
    both = min(len(run), len(tight))
    states, truth = flat_states(run)[:both], flat_states(tight)[:both]
    size = sum(layer.size for layer in problem.weights) * problem.data.samples
    return {
        "problem": repr(problem),
        "l2": problem.l2,
        "bias": problem.network.bias,
        "method": run.provenance["method"],
        "status": [run.status.name, tight.status.name],
        "seconds": seconds,
        "cost": seconds / max(run.statistics["gradients"], 1) / (size + 1e4),  # of a gradient, with what any takes
        "gradients": run.statistics["gradients"],
        "weight_error": float(np.abs(states - truth).max() / np.abs(truth).max()),
        "loss_error": float(np.abs(run.loss[:both] - tight.loss[:both]).max() / tight.loss[0]),
        "stated": [run.audit.weight_error, run.audit.loss_error],
        "certified": run.events is None or run.events.certified,
        "repeated": run.provenance.get("repeated"),
    }


def is_outlier(row: dict[str, Any]) -> bool:
    """Whether it did not finish or is further off than allowed."""
    off = max(row["weight_error"], row["loss_error"]) > ALLOWED * RTOL
    return off or row["status"] != ["FINISHED", "FINISHED"]


def _summary(name: str, rows: list[dict[str, Any]], all_rows: list[dict[str, Any]]) -> list[str]:
    seconds, costs = [row["seconds"] for row in rows], [row["cost"] for row in rows]
    median = np.median([row["cost"] for row in all_rows])
    unfinished = [row for row in rows if row["status"] != ["FINISHED", "FINISHED"]]
    off = [row for row in rows if max(row["weight_error"], row["loss_error"]) > ALLOWED * RTOL]
    unsaid = [row for row in rows if row["certified"] and row["weight_error"] > (row["stated"][0] or 0.0)]
    return [
        name, str(len(rows)), str(len(unfinished)), str(len(off)), str(len(unsaid)),
        short(float(np.median(seconds))), short(max(seconds)), short(max(costs) / median),
    ]  # fmt: skip
