"""`rectilinear compile`: compile the kernels ahead of the first run."""

from __future__ import annotations

import click

from .group import main


@main.command("compile")
@click.option("--quiet", is_flag=True, help="Print nothing.")
def compile_command(quiet: bool) -> None:
    """Compile all kernels now, so that no later run has to wait for them; a matter of seconds if they are there already."""
    from ..kept_kernels import HINT, why_not_kept
    from ..kernels import compile_kernels

    compile_kernels()
    if why_not_kept():
        raise click.ClickException(f"compiled kernels cannot be kept for later runs ({why_not_kept()}); {HINT}")
    if not quiet:
        click.echo("all kernels are compiled and kept for later runs")
