"""`rectilinear datasets`: the named data sets."""

from __future__ import annotations

import click

from .. import datasets
from ..errors import InputError
from ..jsonable import json_text
from .group import main


@main.command("datasets")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def datasets_command(as_json: bool) -> None:
    """List the named data sets, their options and the hypotheses they satisfy by construction."""
    options = {name: datasets.options_of(name) for name in datasets.names()}
    promises = {name: _promises(name) for name in options}
    if as_json:
        listing = {name: {"options": options[name], "promises": promises[name]} for name in options}
        click.echo(json_text({"datasets": listing, "promises": datasets.PROMISES}))
        return
    for name in options:
        defaults = ", ".join(f"{option}={value}" for option, value in options[name].items())
        click.echo(f"{name} ({defaults})" if defaults else name)
        kept = promises[name]
        click.echo("  needs scikit-learn" if kept is None else f"  {', '.join(kept) or 'no promises'}")
    click.echo("\nWhat they promise:")
    for promise, meaning in datasets.PROMISES.items():
        click.echo(f"  {promise:<22} {meaning}")


def _promises(name: str) -> list[str] | None:
    """What the data set promises with its default options; None where it cannot be made here."""
    try:
        return sorted(datasets.make(name).promises)
    except InputError:
        return None
