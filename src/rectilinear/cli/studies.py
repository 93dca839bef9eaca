"""`rectilinear study`: what the papers leave open, question by question."""

from __future__ import annotations

from pathlib import Path

import click

from ..jsonable import json_text
from .group import main


@main.command("study")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("out/studies"), help="Folder for the page, figures and numbers."
)
@click.option("--jobs", type=click.IntRange(min=1), help="Studies made at a time; as many as there are cores by default.")
@click.option("--engine", metavar="ADDRESS", help="Make them on the Dask cluster whose scheduler is there, instead.")
@click.option("--list", "only_list", is_flag=True, help="List the studies and run none.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of the findings.")
@click.option("--quiet", is_flag=True, help="Print nothing.")
def study_command(
    names: tuple[str, ...],
    out: Path,
    jobs: int | None,
    engine: str | None,
    only_list: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Measure what the papers on classification leave open, all questions (some twenty minutes) or the named ones."""
    from ..crew import cores
    from ..studies import MAKERS, run_studies

    if only_list:
        purposes = {name: (make.__doc__ or "").strip() for name, make in MAKERS.items()}
        click.echo(json_text(purposes) if as_json else "\n".join(f"{name:<22} {text}" for name, text in purposes.items()))
        return
    done = []
    for study in run_studies(names, out, jobs=jobs or cores(), engine=engine):
        done.append(study.to_json())
        if not (as_json or quiet):
            click.echo(f"{study!r}\n")
    if as_json:
        click.echo(json_text(done))
    elif not quiet:
        click.echo(str(out / "studies.html"))
