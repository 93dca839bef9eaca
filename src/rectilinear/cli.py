"""The command line: `rectilinear simulate`, `rectilinear descend`, `rectilinear datasets`, `rectilinear reproduce`.

Exit codes: 0 the run ended as asked, 1 it could not go on (it chatters or diverged) or a claim got another verdict than the
recorded one, 2 something cannot be used as it is, 130 it was interrupted. A run that ends early is printed, saved and drawn
like any other.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from . import datasets
from .dataset import Dataset
from .errors import FileError, InputError, RectilinearError
from .flow import descend, simulate
from .losses import LOSSES
from .network import Network
from .problem import Problem
from .starts import STARTS
from .trajectory import Status, Trajectory

if TYPE_CHECKING:
    import rich.progress

Command = Callable[..., None]
Report = Callable[[float, str], None]

PATIENCE = 2.0  # seconds after which a run shows its progress
KEPT_POINTS = 200  # states that gradient descent keeps unless told otherwise
EXIT_CODES = {Status.CHATTERING: 1, Status.DIVERGED: 1, Status.INTERRUPTED: 130}


class Refusal(click.ClickException):
    """A refusal of the package as one sentence on stderr."""

    exit_code = 2


class RefusingGroup(click.Group):
    """Commands whose refusals are sentences, never tracebacks."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except RectilinearError as error:
            raise Refusal(str(error)) from error
        except MemoryError as error:
            raise Refusal(f"the run must fit in memory ({error}); keep fewer points, or take a smaller network.") from error


@click.group(cls=RefusingGroup, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(package_name="rectilinear", prog_name="rectilinear", message="%(prog)s %(version)s")
def main() -> None:
    """How bias-free (leaky) ReLU networks learn."""


PROBLEM_OPTIONS = (
    click.option("--data", "source", required=True, help="A named data set, or a .csv or .npz file."),
    click.option(
        "--set", "settings", multiple=True, metavar="NAME=VALUE", help="An option of the named data set; repeatable."
    ),
    click.option("--target", help="The label column of a .csv file, by name or position; the last one by default."),
    click.option(
        "--width", "widths", type=int, multiple=True, default=(100,), help="Neurons; repeat it for deeper networks."
    ),
    click.option("--alpha", type=float, default=0.0, help="Slope on the negative side: 0 is ReLU, 1 is linear."),
    click.option("--bias", is_flag=True, help="Give the first layer biases."),
    click.option("--scale", type=float, default=1e-3, help="Size of the starting weights."),
    click.option("--start", type=click.Choice(list(STARTS)), default="gaussian", help="Kind of starting weights."),
    click.option("--seed", type=int, default=0, help="Seed of the starting weights (of the data: --set seed=1)."),
    click.option("--loss", type=click.Choice(list(LOSSES)), default="square", help="Loss."),
    click.option("--l2", type=float, default=0.0, help="Strength of L2 regularisation."),
)
OUTPUT_OPTIONS = (
    click.option("--max-seconds", type=float, help="Stop after that long and keep what there is."),
    click.option("--out", type=click.Path(path_type=Path), help="Save the run as netCDF."),
    click.option("--plot", type=click.Path(path_type=Path), help="Draw the loss curve (.png, .pdf, .svg, ...)."),
    click.option("--json", "as_json", is_flag=True, help="Print the run as JSON instead of a card."),
    click.option("--quiet", is_flag=True, help="Print neither card nor progress."),
)


def taking(options: tuple[Callable[[Command], Command], ...]) -> Callable[[Command], Command]:
    """Add shared options to a command."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@main.command("simulate")
@taking(PROBLEM_OPTIONS)
@click.option("--until", type=float, required=True, metavar="TIME", help="The last time.")
@click.option("--points", type=int, default=101, help="Number of equally spaced times to keep, 0 and the last included.")
@click.option(
    "--rtol", type=float, default=None, help="Relative tolerance; by default 1e-9, for three layers and more 1e-6."
)
@click.option("--method", default="auto", help="How to step.")
@click.option("--max-steps", type=int, help="Stop after that many steps and keep what there is.")
@taking(OUTPUT_OPTIONS)
def simulate_command(
    until: float,
    points: int,
    rtol: float | None,
    method: str,
    max_steps: int | None,
    max_seconds: float | None,
    **shared: Any,
) -> None:
    """Follow gradient flow up to a time."""
    if not (math.isfinite(until) and until > 0):
        raise InputError(f"--until must be a positive time, found {until:g}.")
    if points < 2:
        raise InputError(f"--points must be 2 at least, the first and the last, found {points}.")
    times = np.linspace(0.0, until, points)

    def run(problem: Problem, progress: Report) -> Trajectory:
        return simulate(
            problem, times, method=method, rtol=rtol, max_steps=max_steps, max_seconds=max_seconds, progress=progress
        )

    _run_and_deliver(run, **shared)


@main.command("descend")
@taking(PROBLEM_OPTIONS)
@click.option("--learning-rate", type=float, required=True, help="Size of a step.")
@click.option("--steps", type=int, required=True, help="Number of steps.")
@click.option("--record-every", type=int, help=f"Keep every so many steps; about {KEPT_POINTS} states by default.")
@taking(OUTPUT_OPTIONS)
def descend_command(
    learning_rate: float, steps: int, record_every: int | None, max_seconds: float | None, **shared: Any
) -> None:
    """Take steps of full-batch gradient descent."""
    every = max(1, steps // KEPT_POINTS) if record_every is None else record_every

    def run(problem: Problem, progress: Report) -> Trajectory:
        return descend(problem, learning_rate, steps, every, max_seconds=max_seconds, progress=progress)

    _run_and_deliver(run, **shared)


@main.command("datasets")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def datasets_command(as_json: bool) -> None:
    """List the named data sets, their options and the hypotheses they satisfy by construction."""
    options = {name: datasets.options_of(name) for name in datasets.NAMES}
    promises = {name: _promises(name) for name in datasets.NAMES}
    if as_json:
        listing = {name: {"options": options[name], "promises": promises[name]} for name in datasets.NAMES}
        click.echo(json.dumps({"datasets": listing, "promises": datasets.PROMISES}))
        return
    for name in datasets.NAMES:
        defaults = ", ".join(f"{option}={value}" for option, value in options[name].items())
        click.echo(f"{name} ({defaults})" if defaults else name)
        kept = promises[name]
        click.echo("  needs scikit-learn" if kept is None else f"  {', '.join(kept) or 'no promises'}")
    click.echo("\nWhat they promise:")
    for promise, meaning in datasets.PROMISES.items():
        click.echo(f"  {promise:<22} {meaning}")


@main.command("reproduce")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--full", is_flag=True, help="Use the papers' sizes and many seeds: up to half an hour.")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("out"), help="Folder for the page, figures and numbers."
)
@click.option("--jobs", type=click.IntRange(min=1), help="Claims measured at a time; as many as there are cores by default.")
@click.option("--json", "as_json", is_flag=True, help="Print the ledger as JSON instead of a line for each claim.")
@click.option("--quiet", is_flag=True, help="Print nothing.")
def reproduce_command(names: tuple[str, ...], full: bool, out: Path, jobs: int | None, as_json: bool, quiet: bool) -> None:
    """Check what the papers state, claim by claim, or the named claims only; write figures, numbers and report.html."""
    from .reproduce import CLAIMS, Announcer, reproduce

    try:
        with Announcer(silent=quiet or as_json) as announce:
            ledger = reproduce(CLAIMS, out, full, names, announce, jobs or os.cpu_count() or 1)
    except KeyboardInterrupt:
        if not quiet:
            click.echo(f"interrupted; the same command goes on with what is left (done claims are kept in {out})", err=True)
        sys.exit(130)
    if as_json:
        click.echo(ledger.to_json())
    elif not quiet:
        click.echo(f"{ledger}\n{out / 'report.html'}")
    sys.exit(1 if ledger.surprises else 0)


def _promises(name: str) -> list[str] | None:
    """What the data set promises with its default options; None where it cannot be made here."""
    try:
        return sorted(datasets.make(name).promises)
    except InputError:
        return None


def _run_and_deliver(
    run: Callable[[Problem, Report], Trajectory],
    out: Path | None,
    plot: Path | None,
    as_json: bool,
    quiet: bool,
    **chosen: Any,
) -> None:
    """Check what can be checked before a long run, run, then save, draw and print."""
    _check_destinations(out, plot)
    problem = _problem(**chosen)
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


def _problem(
    source: str,
    settings: tuple[str, ...],
    target: str | None,
    widths: tuple[int, ...],
    alpha: float,
    bias: bool,
    scale: float,
    start: str,
    seed: int,
    loss: str,
    l2: float,
) -> Problem:
    data = _dataset(source, settings, target)
    network = Network(data.inputs, widths, alpha, bias)
    return Problem(data, network, network.init(scale, seed, start), loss, l2)


def _dataset(source: str, settings: tuple[str, ...], target: str | None) -> Dataset:
    if source in datasets.NAMES:
        if target is not None:
            raise InputError(f"--target belongs to a .csv file, found the named data set {source}; drop it.")
        return datasets.make(source, **dict(_setting(text) for text in settings))
    kind = Path(source).suffix.lower()
    if kind not in (".csv", ".npz"):
        raise InputError(f"--data must be a .csv or .npz file or one of {', '.join(datasets.NAMES)}, found {source!r}.")
    if settings:
        raise InputError(f"--set belongs to a named data set, found the file {source}; drop it.")
    if kind == ".csv":
        return Dataset.from_csv(source, -1 if target is None else target)
    if target is not None:
        raise InputError(f"--target belongs to a .csv file, found {source}, whose labels are its array y; drop it.")
    return Dataset.from_npz(source)


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(f"--set must read NAME=VALUE, found {text!r}.")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value  # a word, which the data set may know or refuse


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
    from .plots import loss_curves

    try:
        loss_curves(run).savefig(path)
    except OSError as error:
        raise FileError(f"{path}: the figure could not be written ({error}); choose another place.") from error


class ProgressBar:
    """A bar on stderr that appears when a run takes longer than a moment; silent where stderr is not a terminal."""

    def __init__(self, shown: bool) -> None:
        self._shown = shown and sys.stderr.isatty()
        self._began = time.monotonic()
        self._bar: rich.progress.Progress | None = None

    def __call__(self, fraction: float, note: str) -> None:
        if not self._shown or time.monotonic() - self._began < PATIENCE:
            return
        if self._bar is None:
            self._bar = self._started()
        self._bar.update(self._bar.task_ids[0], completed=fraction, description=note)

    def _started(self) -> rich.progress.Progress:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

        columns = (BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
        bar = Progress(*columns, console=Console(stderr=True), transient=True)
        bar.add_task("", total=1.0)
        bar.start()
        return bar

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()
