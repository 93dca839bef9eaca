"""`rectilinear diagnose`: put in your data, learn what your network can and will do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ..errors import FileError
from ..progress import ProgressBar
from ..trajectory import Status
from .group import main
from .problems import of_a_problem, problem_from
from .runs import EXIT_CODES


@main.command("diagnose")
@of_a_problem
@click.option("--verify", is_flag=True, help="Also simulate the problem, and put prediction and truth side by side.")
@click.option("--max-seconds", type=float, help="Stop that simulation after so long and keep what there is.")
@click.option("--report", type=click.Path(path_type=Path), help="Write a self-contained HTML page with figures.")
@click.option("--json", "as_json", is_flag=True, help="Print the diagnosis as JSON instead of a screen of text.")
@click.option("--quiet", is_flag=True, help="Print neither diagnosis nor progress.")
def diagnose_command(
    verify: bool, max_seconds: float | None, report: Path | None, as_json: bool, quiet: bool, **chosen: Any
) -> None:
    """Say which hypotheses hold for DATA (a named data set, or a file: .csv, .tsv, .npz, .parquet, ...), and what training will do."""
    from ..diagnose import diagnose

    if report is not None and not report.parent.is_dir():
        raise FileError(f"--report {report}: no such folder to write in; create it first.")
    problem = problem_from(**chosen)
    try:
        with ProgressBar(shown=not quiet) as bar:
            diagnosis = diagnose(problem, verify=verify, max_seconds=max_seconds, progress=bar)
    except KeyboardInterrupt:
        click.echo("interrupted before there was anything to tell", err=True)
        sys.exit(EXIT_CODES[Status.INTERRUPTED])
    if report is not None:
        _write_page(diagnosis, report)
    if as_json:
        click.echo(diagnosis.to_json())
    elif not quiet:
        click.echo(repr(diagnosis))
    if diagnosis.verified is not None:
        run = diagnosis.verified.run
        if run.status is Status.INTERRUPTED:
            click.echo(
                f"interrupted: the simulation is kept up to t = {run.times[-1]:.4g}, the diagnosis is whole", err=True
            )
        sys.exit(EXIT_CODES.get(run.status, 0))


def _write_page(diagnosis: Any, path: Path) -> None:
    from ..report import diagnosis_page

    try:
        path.write_text(diagnosis_page(diagnosis), encoding="utf-8")
    except OSError as error:
        raise FileError(f"{path}: the page could not be written ({error}); choose another place.") from error
