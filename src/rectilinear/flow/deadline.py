"""Budgets of seconds and interrupts, heard within steps: whatever takes long looks at the clock on its way.

`run.drive` arms a deadline for the thread it runs in. Engines call `look_at_clock` between parts of their work, as long as nothing
that a run keeps is half changed: between evaluations of the field, neurons or decisions of an attempted step. Compiled kernels that
may run for seconds are called for `chunks` of their work.

Ctrl-C is heard at the same places. Anywhere else it would end the process now and then: on their way back to Python kernels have it
make the types of what they return, and an exception there, or in what the compiler calls, finds nobody who looks at it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

CHUNK_WORK = 2e7  # multiply-adds, or what takes as long, between two looks: some hundredths of a second

_armed = threading.local()


class OutOfTime(Exception):
    """The budget of seconds was used up within a step; the state before it stands."""


class Deadline:
    """Within, `look_at_clock` raises OutOfTime once `passed` says so.

    >>> with Deadline(lambda: True):
    ...     look_at_clock()
    Traceback (most recent call last):
    ...
    rectilinear.flow.deadline.OutOfTime
    """

    def __init__(self, passed: Callable[[], bool]) -> None:
        self.passed = passed

    def __enter__(self) -> None:
        self.before, _armed.passed = getattr(_armed, "passed", None), self.passed

    def __exit__(self, *error: object) -> None:
        _armed.passed = self.before


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Within, Ctrl-C waits for the next look at the clock; a second one is heard at once.

    Where it is somebody else's, or Python hears it in another thread, nothing changes.

    >>> with interrupts_held():
    ...     signal.raise_signal(signal.SIGINT)
    ...     try:
    ...         look_at_clock()
    ...     except KeyboardInterrupt:
    ...         print("heard")
    heard
    """

    def hold(number: int, frame: object) -> None:
        _armed.pressed = not _armed.pressed
        if not _armed.pressed:
            raise KeyboardInterrupt

    python_hears = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not python_hears or threading.current_thread() is not threading.main_thread():
        yield
        return
    _armed.pressed = False
    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _armed.pressed = False


def look_at_clock() -> None:
    """Raise OutOfTime if the budget of the run is used up, KeyboardInterrupt if one was held; nothing otherwise."""
    if getattr(_armed, "pressed", False):
        _armed.pressed = False
        raise KeyboardInterrupt
    passed = getattr(_armed, "passed", None)
    if passed is not None and passed():
        raise OutOfTime


def chunks(count: int, work: float) -> Iterator[slice]:
    """`count` things in slices, with a look at the clock before each; `work` is what all of them take.

    >>> [(part.start, part.stop) for part in chunks(5, 2 * CHUNK_WORK)]
    [(0, 3), (3, 5)]
    """
    number = max(1, min(count, int(-(-work // CHUNK_WORK))))
    size = -(-count // number)
    for begin in range(0, count, max(size, 1)):
        look_at_clock()
        yield slice(begin, min(begin + size, count))
