"""Items of work done side by side, by a crew of processes that take one after the other."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Generic, TypeVar

from ..flow.threads import SETTING

Item = TypeVar("Item")
Result = TypeVar("Result")

THREADS = (SETTING, "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
ONE_THREAD = dict.fromkeys(THREADS, "1")


def side_by_side(
    work: Callable[[Item], Result], items: Sequence[Item], jobs: int, lost: Callable[[Item], Result]
) -> Iterator[tuple[Item, Result | None]]:
    """(item, None) when its work begins and (item, result) when it is done; `lost(item)` if the process doing it died.

    `work`, items and results travel between processes, so they must be picklable. Each process computes on one thread: cores are
    used by processes, and results do not depend on how many there are. The processes end with the generator, and with the process
    that runs it.
    """
    waiting = list(items)
    idle: list[_Worker[Item, Result]] = [_Worker(work) for _ in range(min(jobs, len(items)))]
    busy: list[_Worker[Item, Result]] = []
    try:
        while waiting or busy:
            while waiting and idle:
                worker = idle.pop()
                busy.append(worker)
                worker.begin(waiting.pop(0))
                yield worker.item, None
            ready = wait([worker.connection for worker in busy])
            for worker in [worker for worker in busy if worker.connection in ready]:
                busy.remove(worker)
                try:
                    result = worker.connection.recv()
                    idle.append(worker)
                except (EOFError, OSError):
                    result = lost(worker.item)
                    idle.append(_Worker(work))
                yield worker.item, result
    finally:
        for worker in (*idle, *busy):
            worker.stop()


class _Worker(Generic[Item, Result]):
    """A process that does `work` on what it is sent; it ends when nobody holds the other end of its connection."""

    item: Item

    def __init__(self, work: Callable[[Item], Result]) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would copy locks of threads that do not exist in it
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(work, theirs), daemon=True)
        with one_thread():
            self.process.start()
        theirs.close()

    def begin(self, item: Item) -> None:
        self.item = item
        with suppress(OSError):  # it died while idle: found out where the result is read
            self.connection.send(item)

    def stop(self) -> None:
        self.process.terminate()
        self.process.join()
        self.connection.close()


def _serve(work: Callable[[Item], Result], connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all processes; the first one decides
    with suppress(EOFError, ConnectionError):  # who gave the work is gone, before or while it was done
        while True:
            connection.send(work(connection.recv()))


@contextmanager
def one_thread() -> Iterator[None]:
    """Processes started within compute on one thread: libraries read that once, when they are loaded."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
