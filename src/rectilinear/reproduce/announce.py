"""What a run of the ledger says while it goes on: a line for each claim, and on a terminal which one is running."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

import click

from .claim import Claim
from .ledger import Entry

if TYPE_CHECKING:
    from rich.status import Status

COLOURS = {"confirmed": "green", "corrected": "cyan", "contradicted": "yellow", "inconclusive": "white", "failed": "red"}


class Announcer:
    """Prints each finished claim on stdout; shows the running one on stderr where that is a terminal."""

    def __init__(self, silent: bool = False) -> None:
        self._silent = silent
        self._status: Status | None = None

    def __call__(self, entry: Entry | None, claim: Claim, number: int, of: int) -> None:
        if self._silent:
            return
        if entry is None:
            if self._status is not None:
                self._status.update(f"{claim.name} is running; {number - 1} claims done, {of - number} left")
            return
        verdict = click.style(f"{entry.verdict.value:<12}", fg=COLOURS[entry.verdict.value])
        click.echo(f"{number:>3}/{of}  {verdict}  {claim.name:<28} {entry.seconds:6.1f} s  {entry.headline}")

    def __enter__(self) -> Announcer:
        if not self._silent and sys.stderr.isatty():
            from rich.console import Console

            self._status = Console(stderr=True).status("")
            self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._status is not None:
            self._status.stop()
