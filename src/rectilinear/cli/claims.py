"""`rectilinear reproduce`: the papers, claim by claim."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..jsonable import json_text
from .group import INTERRUPTED, main
from .problems import taking
from .side_by_side import side_by_side_options

if TYPE_CHECKING:
    from ..reproduce import Claim


@main.command("reproduce")
@taking(side_by_side_options("claims", "out"))
@click.option("--full", is_flag=True, help="Use the papers' sizes and many seeds: up to half an hour.")
def reproduce_command(
    names: tuple[str, ...],
    full: bool,
    out: Path,
    jobs: int | None,
    engine: str | None,
    only_list: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Check what the papers state, claim by claim, or the named claims only; write figures, numbers and report.html."""
    from ..crew import cores
    from ..reproduce import Announcer, known_claims, reproduce

    if only_list:
        click.echo(_listing(known_claims(), as_json))
        return
    try:
        with Announcer(silent=quiet or as_json) as announce:
            ledger = reproduce(known_claims(), out, full, names, announce, jobs or cores(), engine)
    except KeyboardInterrupt:
        if not quiet:
            click.echo(f"interrupted; the same command goes on with what is left (done claims are kept in {out})", err=True)
        sys.exit(INTERRUPTED)
    if as_json:
        click.echo(ledger.to_json())
    elif not quiet:
        click.echo(f"{ledger}\n{out / 'report.html'}")
    sys.exit(1 if ledger.surprises else 0)


def _listing(claims: tuple[Claim, ...], as_json: bool) -> str:
    """Every claim: its name, recorded verdict, title and place; as JSON with statement and address of the paper too."""
    from ..reproduce.papers import known_papers

    papers = known_papers()
    if not as_json:
        return "\n".join(
            f"{claim.name:<28} {claim.recorded.value:<13} {claim.title} ({papers[claim.paper].authors}, {claim.source})"
            for claim in claims
        )
    texts = ("name", "title", "paper", "source", "statement")
    return json_text(
        [
            {
                **{text: getattr(claim, text) for text in texts},
                "url": papers[claim.paper].url,
                "recorded": claim.recorded.value,
            }
            for claim in claims
        ]
    )
