"""`rectilinear simulate` and `rectilinear descend`: run, then save, draw and print."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from ..errors import FileError, InputError
from ..flow import descend, simulate
from ..long_trajectory import LongTrajectory
from ..problem import Problem
from ..progress import ProgressBar, Report
from ..trajectory import Status, Trajectory
from .group import INTERRUPTED, main
from .problems import of_a_problem, problem_from, taking

CONVERGES = "converges"  # what --until says to go on until the direction does
LONG = 1e5  # times for inputs of size 1: those of a table as it is may ask for minutes of stiff steps
KEPT_POINTS = 200  # states that gradient descent keeps unless told otherwise
EXIT_CODES = {Status.CHATTERING: 1, Status.STUCK: 1, Status.DIVERGED: 1, Status.INTERRUPTED: INTERRUPTED}

DELIVERY_OPTIONS = (
    click.option("--out", type=click.Path(path_type=Path), help="Save the run as netCDF."),
    click.option("--plot", type=click.Path(path_type=Path), help="Draw the loss curve (.png, .pdf, .svg, ...)."),
    click.option("--json", "as_json", is_flag=True, help="Print the run as JSON instead of a card."),
    click.option("--quiet", is_flag=True, help="Print neither card nor progress."),
)
OUTPUT_OPTIONS = (
    click.option("--max-seconds", type=float, help="Stop after that long and keep what there is."),
    *DELIVERY_OPTIONS,
)


@main.command("simulate")
@of_a_problem
@click.option("--until", metavar="TIME", help=f"The last time; '{CONVERGES}' goes on until a classifier's direction does.")
@click.option(
    "--log10-times", metavar="LIST", help="Instead of --until, for classifiers: keep t = 10^these, as in 2,100,1e5."
)
@click.option("--points", type=int, default=101, help="Number of equally spaced times to keep, 0 and the last included.")
@click.option(
    "--rtol",
    type=float,
    default=None,
    help="Relative tolerance; by default 1e-9 where the network stops at kinks, 1e-6 where neurons are followed (1e-8 if they are few).",
)
@click.option(
    "--method",
    default="auto",
    help="kinks (stop at every kink), follow (each neuron by itself), impulses (deep networks), plain, smooth, or auto.",
)
@click.option("--max-steps", type=int, help="Stop after that many steps and keep what there is.")
@taking(OUTPUT_OPTIONS)
def simulate_command(
    until: str | None,
    log10_times: str | None,
    points: int,
    rtol: float | None,
    method: str,
    max_steps: int | None,
    max_seconds: float | None,
    **shared: Any,
) -> None:
    """Follow gradient flow on DATA (a named data set, or a file: .csv, .tsv, .npz, .parquet, ...) up to a time."""
    horizon = horizon_of(until, log10_times, points)

    def run(problem: Problem, progress: Report) -> Trajectory:
        say_if_long(problem, horizon)
        return simulate(
            problem, **horizon, method=method, rtol=rtol, max_steps=max_steps, max_seconds=max_seconds, progress=progress
        )

    run_and_deliver(run, **shared)


def say_if_long(problem: Problem, horizon: dict[str, Any]) -> None:
    """Time goes by the squared size of the inputs: columns of a table as they are may ask for millions of the usual times."""
    size = float(np.sqrt(np.mean((problem.x**2).sum(axis=1))))
    if "times" in horizon and size**2 * horizon["times"][-1] > LONG:
        last = horizon["times"][-1]
        click.echo(
            f"inputs are of size {size:.2g} (root mean square), so that t = {last:g} is as long as {size**2 * last:.2g} with inputs of "
            "size 1; take --standardise or a smaller --until if that is not meant",
            err=True,
        )


def horizon_of(until: str | None, log10_times: str | None, points: int) -> dict[str, Any]:
    """The arguments of `simulate` that say how far to go."""
    if (until is None) == (log10_times is None):
        raise InputError("simulate needs --until or --log10-times, one of the two; say how far to go.")
    if log10_times is not None:
        return {"log10_times": [_number("--log10-times", text) for text in log10_times.split(",")]}
    if until == CONVERGES:
        return {"until": "direction converges"}
    last = _number("--until", str(until))
    if not (math.isfinite(last) and last > 0):
        raise InputError(f"--until must be a positive time, found {last:g}.")
    if points < 2:
        raise InputError(f"--points must be 2 at least, the first and the last, found {points}.")
    return {"times": np.linspace(0.0, last, points)}


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InputError(f"{option} takes numbers, found {text!r}.") from error


@main.command("descend")
@of_a_problem
@click.option("--learning-rate", type=float, required=True, help="Size of a step.")
@click.option("--steps", type=int, required=True, help="Number of steps.")
@click.option("--record-every", type=int, help=f"Keep every so many steps; about {KEPT_POINTS} states by default.")
@taking(OUTPUT_OPTIONS)
def descend_command(
    learning_rate: float, steps: int, record_every: int | None, max_seconds: float | None, **shared: Any
) -> None:
    """Take steps of full-batch gradient descent on DATA (a named data set, or a file)."""
    every = max(1, steps // KEPT_POINTS) if record_every is None else record_every

    def run(problem: Problem, progress: Report) -> Trajectory:
        return descend(problem, learning_rate, steps, every, max_seconds=max_seconds, progress=progress)

    run_and_deliver(run, **shared)


def run_and_deliver(
    run: Callable[[Problem, Report], Trajectory],
    out: Path | None,
    plot: Path | None,
    as_json: bool,
    quiet: bool,
    **chosen: Any,
) -> None:
    """Check what can be checked before a long run, run, then save, draw and print."""
    _check_destinations(out, plot)
    problem = problem_from(**chosen)
    with ProgressBar(shown=not quiet) as bar:
        result = run(problem, bar)
    start = {name: chosen[name] for name in ("start", "scale", "seed", "source", "settings")}
    result = replace(result, provenance={**result.provenance, "asked": start})
    if out is not None:
        result.save(out)
    if plot is not None:
        _draw(result, plot)
    if as_json:
        click.echo(result.to_json())
    elif not quiet:
        click.echo(repr(result))
    sys.exit(EXIT_CODES.get(result.status, 0))


def _check_destinations(out: Path | None, plot: Path | None) -> None:
    """Refuse now what could not be written after the run."""
    for option, path in (("--out", out), ("--plot", plot)):
        if path is not None and not path.parent.is_dir():
            raise FileError(f"{option} {path}: no such folder to save in; create it first.")
    if plot is not None:
        from matplotlib.figure import Figure

        known = Figure().canvas.get_supported_filetypes()
        if plot.suffix.lower().removeprefix(".") not in known:
            raise FileError(f"--plot {plot}: the name must end in one of {', '.join(sorted(known))}.")


def _draw(run: Trajectory, path: Path) -> None:
    from ..plots import long_time, loss_curves

    try:
        (long_time(run) if isinstance(run, LongTrajectory) else loss_curves(run)).savefig(path)
    except OSError as error:
        raise FileError(f"{path}: the figure could not be written ({error}); choose another place.") from error
