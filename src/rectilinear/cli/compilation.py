"""`rectilinear compile`: compile the kernels ahead of the first run."""

from __future__ import annotations

import click

from ..jsonable import json_text
from .group import main


@main.command("compile")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--quiet", is_flag=True, help="Print nothing.")
def compile_command(as_json: bool, quiet: bool) -> None:
    """Compile all kernels now, so that no later run has to wait for them; a matter of seconds if they are there already."""
    from ..kept_kernels import HINT, why_not_kept
    from ..kernels import compile_kernels

    compile_kernels()
    if why_not_kept():
        raise click.ClickException(f"compiled kernels cannot be kept for later runs ({why_not_kept()}); {HINT}")
    if as_json:
        click.echo(json_text({"kept": True}))
    elif not quiet:
        click.echo("all kernels are compiled and kept for later runs")
