"""Progress of whatever takes longer than a moment: a bar on a terminal, a line now and then where output is piped."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from functools import cache, wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    import rich.progress

Report = Callable[[float, str], None]
Wanted = Report | bool | None  # what callers may say: a function of their own, True for a bar, or nothing

PATIENCE = 2.0  # seconds after which a run shows its bar
SPEAKS_EVERY = 10.0  # seconds between two lines where there is no terminal

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class ProgressBar:
    """A bar with the remaining time on stderr, from the third second on; lines of text where stderr is not a terminal."""

    def __init__(self, shown: bool = True) -> None:
        self._shown = shown
        self._began = self._spoke = time.monotonic()
        self._bar: rich.progress.Progress | None = None

    def __call__(self, fraction: float, note: str) -> None:
        now = time.monotonic()
        if not self._shown or now - self._began < PATIENCE:
            return
        if not sys.stderr.isatty():
            self._speak(now, fraction, note)
            return
        if self._bar is None:
            self._bar = self._started()
        self._bar.update(self._bar.task_ids[0], completed=fraction, description=note)

    def _speak(self, now: float, fraction: float, note: str) -> None:
        if now - self._spoke < SPEAKS_EVERY:
            return
        self._spoke = now
        left = (now - self._began) * (1.0 - fraction) / fraction if fraction > 0 else float("inf")
        remaining = f"{left:.0f} s more at this pace" if left < 1e6 else "no estimate yet"
        sys.stderr.write(f"{100 * fraction:.0f} % after {now - self._began:.0f} s, {remaining}: {note}\n")
        sys.stderr.flush()

    def _started(self) -> rich.progress.Progress:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
        )
        bar = Progress(*columns, console=Console(stderr=True), transient=True)
        bar.add_task("", total=1.0)
        bar.start()
        return bar

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()


def shows_progress(run: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Let `run(..., progress=...)` take True for a bar, and say so once if its kernels must be compiled first."""

    @wraps(run)
    def shown(*args: Arguments.args, **options: Arguments.kwargs) -> Result:
        compilation()
        if options.get("progress") is not True:
            return run(*args, **options)
        with ProgressBar() as bar:
            told: dict[str, Any] = {**options, "progress": bar}
            return run(*args, **told)

    return shown


def reporter(progress: Wanted) -> Report | None:
    """What to call with (fraction, note), if anything."""
    return progress if callable(progress) else None


class Compilation:
    """How long kernels have been compiled by this process, and whether that was interrupted; says on stderr, at the first one, why nothing
    seems to happen.

    Python's garbage collector rests meanwhile: compilers make millions of objects that live, and looking through them again and
    again takes a tenth of the time.
    """

    def __init__(self) -> None:
        from numba.core import event

        self.seconds, self._since, self._depth, self._collects = 0.0, 0.0, 0, False
        self.interrupted = False
        listener = type("Listener", (event.Listener,), {"on_start": self._start, "on_end": self._end})()
        event.register("numba:compile", listener)  # type: ignore[no-untyped-call]

    def _start(self, event: Any) -> None:
        if self._depth == 0:
            self._since, self._collects = time.perf_counter(), gc.isenabled()
            gc.disable()
            whose = event.data["dispatcher"].py_func.__module__ or ""  # functions made by exec have none
            if self.seconds == 0.0 and whose.startswith(__package__):
                sys.stderr.write(f"rectilinear: compiling kernels, {_how_often()} (some 10 s) ...\n")
                sys.stderr.flush()
        self._depth += 1  # kernels compile those that they call

    def _end(self, event: Any) -> None:
        self._depth -= 1
        self.interrupted = self.interrupted or sys.exc_info()[0] is KeyboardInterrupt
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._since
            if self._collects:
                gc.enable()


def _how_often() -> str:
    from .kept_kernels import HINT, why_not_kept

    reason = why_not_kept()
    return f"in every process anew, as they cannot be kept ({reason}; {HINT})" if reason else "once after an install"


def interruption() -> str:
    """What an interrupt that nobody else answers has cost."""
    if not compilation.cache_info().currsize or not compilation().interrupted:
        return "interrupted before there was anything to keep"
    from .kept_kernels import why_not_kept

    kept = "none of them can be kept" if why_not_kept() else "those that are done are kept"
    return f"interrupted while kernels were compiled; {kept}"


@cache
def compilation() -> Compilation:
    """The one clock of compilation, started at the first call."""
    return Compilation()
