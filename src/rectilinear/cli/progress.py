"""A progress bar for whatever takes longer than a moment."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import rich.progress

Report = Callable[[float, str], None]

PATIENCE = 2.0  # seconds after which a run shows its progress


class ProgressBar:
    """A bar on stderr that appears when a run takes longer than a moment; silent where stderr is not a terminal."""

    def __init__(self, shown: bool) -> None:
        self._shown = shown and sys.stderr.isatty()
        self._began = time.monotonic()
        self._bar: rich.progress.Progress | None = None

    def __call__(self, fraction: float, note: str) -> None:
        if not self._shown or time.monotonic() - self._began < PATIENCE:
            return
        if self._bar is None:
            self._bar = self._started()
        self._bar.update(self._bar.task_ids[0], completed=fraction, description=note)

    def _started(self) -> rich.progress.Progress:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

        columns = (BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
        bar = Progress(*columns, console=Console(stderr=True), transient=True)
        bar.add_task("", total=1.0)
        bar.start()
        return bar

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()
