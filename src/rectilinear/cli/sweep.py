"""`rectilinear sweep`: thousands of runs over a grid, here or on a cluster; show and consolidate what they left."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import FileError, InputError
from ..jsonable import json_text
from ..progress import ProgressBar
from .group import INTERRUPTED, main
from .problems import named_value

if TYPE_CHECKING:
    from ..sweep import Plan, Tally


class RunByDefault(click.Group):
    """`rectilinear sweep grid.toml` means `rectilinear sweep run grid.toml`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


@main.group("sweep", cls=RunByDefault)
def sweep_group() -> None:
    """Run a grid of settings (`sweep GRID.toml --out FOLDER`), and look at what is there (`sweep show FOLDER`)."""


@sweep_group.command("run")
@click.argument("grid", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs"), help="Folder that keeps every run.")
@click.option(
    "--jobs", type=click.IntRange(min=0), help="Processes; as many as there are cores by default, 0: run in this one."
)
@click.option("--engine", metavar="ADDRESS", help="Run on the Dask cluster whose scheduler is there, instead.")
@click.option("--shard", metavar="I/N", help="Run part I of N only; by default what SLURM's array variables say.")
@click.option(
    "--slurm", metavar="N", type=click.IntRange(min=1), help="Print an sbatch script for N tasks, and run nothing."
)
@click.option("--seek", "condition", metavar="CONDITION", help="Search for a counter-example instead: 'MEASURE > NUMBER'.")
@click.option("--trials", type=click.IntRange(min=1), default=256, help="Runs spent on finding one.")
@click.option("--at", "at", multiple=True, metavar="NAME=VALUE", help="Run this point alone and print it; one per axis.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--quiet", is_flag=True, help="Print nothing but results that were asked for.")
def run_command(
    grid: Path,
    out: Path,
    jobs: int | None,
    engine: str | None,
    shard: str | None,
    slurm: int | None,
    condition: str | None,
    trials: int,
    at: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Run what is missing of the sweep that the TOML file GRID describes; run it again, and it goes on where it was."""
    from ..sweep import read_plan, sweep_plan
    from ..sweep.grid import Shard
    from ..sweep.slurm import script, shard_of_task
    from ..sweep.store import Store

    plan = read_plan(grid)
    if slurm is not None:
        plan.rehearse()  # a grid that cannot work is refused here, not by every task
        Store(out).create()  # where tasks write their logs
        click.echo(script(grid, out, slurm), nl=False)
        return
    if at:
        _run_point(plan, at, as_json)
        return
    try:
        if condition is not None:
            _search(plan, grid, out, jobs, engine, condition, trials, as_json, quiet)
            return
        part = Shard.of(shard) if shard else shard_of_task(os.environ)
        with ProgressBar(shown=not (quiet or as_json)) as bar:

            def tell(tally: Tally) -> None:
                bar(1.0 - tally.left / max(tally.of, 1), str(tally))

            tally = sweep_plan(plan, out, jobs, engine, part, tell)
    except KeyboardInterrupt:
        click.echo(f"interrupted; the same command goes on with what is left (finished runs are kept in {out})", err=True)
        sys.exit(INTERRUPTED)
    if as_json:
        click.echo(json_text({"runs": tally.of, "found": tally.found, "done": tally.done, "failed": tally.failed}))
    elif not quiet:
        click.echo(f"{tally}; see them by: rectilinear sweep show {shlex.quote(str(out))}")
    sys.exit(1 if tally.failed else 0)


def _search(
    plan: Plan,
    grid: Path,
    out: Path,
    jobs: int | None,
    engine: str | None,
    condition: str,
    trials: int,
    as_json: bool,
    quiet: bool,
) -> None:
    from ..sweep import seek

    with ProgressBar(shown=not (quiet or as_json)) as bar:

        def tell(runs: int, excess: float) -> None:
            bar(min(runs / trials, 1.0), f"{runs} runs; the best exceeds the bound by {excess:.3g}")

        found = seek(plan, condition, out, jobs, engine, trials, tell=tell)
    point = found.nearest if found.point is None else found.point
    places = " ".join(f"--at {name}={value}" for name, value in point.items())
    command = f"rectilinear sweep {shlex.quote(str(grid))} {places}"
    if as_json:
        contents = {
            "found": found.point,
            "nearest": found.nearest,
            "value": found.value,
            "runs": found.runs,
            "command": command,
        }
        click.echo(json_text(contents))
    else:
        told = "the smallest counter-example" if found.point else "no counter-example; the nearest point"
        click.echo(f"{told} in {found.runs} runs measures {found.value:.6g} ({condition}):\n  {command}")
    sys.exit(0 if found.point else 1)


def _run_point(plan: Plan, at: tuple[str, ...], as_json: bool) -> None:
    point = dict(named_value("--at", text) for text in at)
    if set(point) != set(plan.grid.axes):
        raise InputError(f"--at must give each of {', '.join(plan.grid.axes)} once, found {', '.join(point)}.")
    run = plan.run_at(point)
    numbers = {name: values.tolist() for name, values in plan.numbers(run).items()}
    click.echo(
        json_text(numbers) if as_json else "\n".join([repr(run), *(f"{name} = {value}" for name, value in numbers.items())])
    )


@sweep_group.command("show")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--measure", help="What to draw; the first measure by default.")
@click.option("--plot", type=click.Path(path_type=Path), help="Where to draw it; overview.png in the folder by default.")
@click.option("--csv", type=click.Path(path_type=Path), help="Also write a row per run as CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print a row per run as JSON.")
def show_command(folder: Path, measure: str | None, plot: Path | None, csv: Path | None, as_json: bool) -> None:
    """Print a summary of the sweep in FOLDER and draw it: curves with the spread over seeds, or a map over two axes."""
    from ..plots import sweep_overview
    from ..sweep import open_sweep, to_pandas
    from ..sweep.summary import summary

    table = open_sweep(folder)
    if not as_json:
        click.echo(summary(folder, table))
    path = plot or folder / "overview.png"
    try:
        if csv is not None:
            to_pandas(table).to_csv(csv, index=False)
        sweep_overview(table, measure).savefig(path)
    except OSError as error:
        raise FileError(f"{path}: it could not be written ({error}); choose another place.") from error
    click.echo(json_text({"runs": to_pandas(table).to_dict("records"), "plot": str(path)}) if as_json else str(path))


@sweep_group.command("consolidate")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def consolidate_command(folder: Path, as_json: bool) -> None:
    """Pack the finished runs in FOLDER into one file and remove their small files."""
    from ..sweep import consolidate

    path = consolidate(folder)
    if as_json:
        click.echo(json_text({"packed": None if path is None else str(path)}))
    else:
        click.echo("nothing to pack" if path is None else str(path))
