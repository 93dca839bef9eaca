"""`rectilinear explore`: the page in the browser, or one file that replays exact runs."""

from __future__ import annotations

import asyncio
import sys
import webbrowser
from contextlib import suppress
from pathlib import Path

import click

from ..errors import FileError, InputError
from ..explore.state import State, state_of
from ..jsonable import json_text
from ..network import Network
from ..problem import Problem
from .group import main
from .problems import dataset_from

WIDTH, SCALE = 20, 1e-3


@main.command("explore")
@click.argument("source", metavar="[DATA]", required=False)
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="An option of the named data set; repeatable.")
@click.option("--target", help="The label column of a file, by name or position; the last one by default.")
@click.option("--drop", multiple=True, help="A column of the file to leave out, by name or position; repeatable.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port to listen on; 0 is any that is free.")
@click.option("--host", default="127.0.0.1", help="The address to listen on.")
@click.option("--expose", is_flag=True, help="Allow a --host that other machines can reach.")
@click.option("--no-browser", is_flag=True, help="Print the address and open nothing.")
@click.option(
    "--export", type=click.Path(path_type=Path), help="Write a page that replays the runs without a server, and end."
)
@click.option("--json", "as_json", is_flag=True, help="Print the address, or the page that was written, as JSON.")
def explore_command(
    source: str | None,
    settings: tuple[str, ...],
    target: str | None,
    drop: tuple[str, ...],
    port: int,
    host: str,
    expose: bool,
    no_browser: bool,
    export: Path | None,
    as_json: bool,
) -> None:
    """Drag a point, see the exact training run: DATA (a named data set or a file) or Figure 2 in the browser."""
    state = None if source is None else _state(source, settings, target, drop)
    if export is not None:
        _export(state, export)
        if as_json:
            click.echo(json_text({"page": str(export)}))
        return
    _serve(state, host, port, expose, no_browser, as_json)


def _state(source: str, settings: tuple[str, ...], target: str | None, drop: tuple[str, ...]) -> State:
    data = dataset_from(source, settings, target, drop)
    network = Network(data.inputs, (WIDTH,))
    return state_of(Problem(data, network, network.init(SCALE, 0)), scale=SCALE)


def _export(state: State | None, path: Path) -> None:
    from ..explore.page import replay_page
    from ..explore.presets import presets

    if not path.parent.is_dir():
        raise FileError(f"--export {path}: no such folder to write in; create it first.")
    page = replay_page(presets() if state is None else [state])
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise FileError(f"{path}: the page could not be written ({error}); choose another place.") from error


def _serve(state: State | None, host: str, port: int, expose: bool, no_browser: bool, as_json: bool) -> None:
    try:
        from ..explore.server import Server, listen
    except ModuleNotFoundError as error:
        raise InputError("explore needs the package websockets, found none; pip install 'rectilinear[explore]'.") from error

    def opened(address: str) -> None:
        click.echo(json_text({"address": address}) if as_json else address)
        sys.stdout.flush()
        if not no_browser:
            webbrowser.open(address)

    server = Server(listen(host, port, expose), state)
    with suppress(KeyboardInterrupt):
        asyncio.run(server.run(opened))
