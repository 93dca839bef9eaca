"""`rectilinear study`: what the papers leave open, question by question."""

from __future__ import annotations

from pathlib import Path

import click

from ..jsonable import json_text
from .group import main
from .problems import taking
from .side_by_side import side_by_side_options


@main.command("study")
@taking(side_by_side_options("studies", "out/studies"))
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
