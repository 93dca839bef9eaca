"""`rectilinear predict`: what a theorem says of a training run, at the times asked for."""

from __future__ import annotations

from typing import Any

import click

from ..errors import InputError
from ..problem import Problem
from ..progress import Report
from ..theorems import predict
from ..trajectory import Trajectory
from .group import main
from .problems import of_a_problem, taking
from .runs import DELIVERY_OPTIONS, horizon_of, run_and_deliver


@main.command("predict")
@of_a_problem
@click.option("--until", metavar="TIME", required=True, help="The last time.")
@click.option("--points", type=int, default=101, help="Number of equally spaced times, 0 and the last included.")
@click.option("--theorem", help="The theorem to use; by default the strongest that applies.")
@click.option("--force", is_flag=True, help="Use it although a hypothesis fails, and say so.")
@taking(DELIVERY_OPTIONS)
def predict_command(until: str, points: int, theorem: str | None, force: bool, **shared: Any) -> None:
    """Say what a theorem predicts of the training run on DATA (a named data set, or a file)."""
    times = horizon_of(until, None, points).get("times")
    if times is None:
        raise InputError(f"--until must be a positive time, found {until!r}.")

    def run(problem: Problem, progress: Report) -> Trajectory:
        return predict(problem, times, theorem=theorem, force=force)

    run_and_deliver(run, **shared)
