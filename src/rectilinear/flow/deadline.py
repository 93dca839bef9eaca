"""A budget of seconds that holds within steps: whatever takes long looks at the clock on its way.

`run.drive` arms a deadline for the thread it runs in. Engines call `look_at_clock` between parts of their work, as long as nothing
that a run keeps is half changed: between evaluations of the field, neurons or decisions of an attempted step. Compiled kernels that
may run for seconds are called for `chunks` of their work, so that an interrupt is heard between them as well.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

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


def look_at_clock() -> None:
    """Raise OutOfTime if the budget of the run is used up; nothing where there is none."""
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
