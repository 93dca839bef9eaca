"""The options of commands that make many pieces of work side by side, into a folder: `reproduce` and `study`."""

from __future__ import annotations

from pathlib import Path

import click

from .problems import Option


def side_by_side_options(pieces: str, folder: str) -> tuple[Option, ...]:
    """Names of some of the pieces, the folder, how many are made at a time and where, and what is printed."""
    return (
        click.argument("names", nargs=-1, metavar="[NAME]..."),
        click.option(
            "--out", type=click.Path(path_type=Path), default=Path(folder), help="Folder for the page, figures and numbers."
        ),
        click.option(
            "--jobs", type=click.IntRange(min=1), help=f"How many {pieces} at a time; as many as there are cores by default."
        ),
        click.option("--engine", metavar="ADDRESS", help="Make them on the Dask cluster whose scheduler is there, instead."),
        click.option("--list", "only_list", is_flag=True, help=f"List the {pieces}, and make none."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON instead of lines."),
        click.option("--quiet", is_flag=True, help="Print nothing."),
    )
