"""What a run of the ledger says while it goes on: a line for each claim, and on a terminal which ones are running."""

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
    """Prints each finished claim on stdout; shows the running ones on stderr where that is a terminal."""

    def __init__(self, silent: bool = False) -> None:
        self._silent = silent
        self._status: Status | None = None
        self._running: list[str] = []

    def __call__(self, entry: Entry | None, claim: Claim, done: int, of: int) -> None:
        if entry is None:
            self._running.append(claim.name)
        elif claim.name in self._running:
            self._running.remove(claim.name)
        if entry is not None and not self._silent:
            verdict = click.style(f"{entry.verdict.value:<12}", fg=COLOURS[entry.verdict.value])
            click.echo(f"{done:>3}/{of}  {verdict}  {claim.name:<28} {entry.seconds:6.1f} s  {entry.headline}")
        if self._status is not None:
            left = of - done - len(self._running)
            self._status.update(f"{done} claims done; running: {', '.join(self._running)}; {left} left")

    def __enter__(self) -> Announcer:
        if not self._silent and sys.stderr.isatty():
            from rich.console import Console

            self._status = Console(stderr=True).status("getting ready; the first run after an install compiles its kernels")
            self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._status is not None:
            self._status.stop()
