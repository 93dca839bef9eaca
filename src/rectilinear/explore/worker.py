"""Processes that compute for the page; of each client only the newest request waits."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import signal
from collections.abc import Awaitable, Callable, Hashable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from time import monotonic
from typing import Any

from ..crew.processes import one_thread
from ..flow.threads import workers as cores
from .documents import LONGEST, Document, Progress
from .messages import Answer, Request, answer_run, answer_theory, refusal
from .warm import warm_up

STOP = "stop"
READY = "ready"
PATIENCE = 5.0  # seconds beyond its budget, or after it was told to stop, that a process may still take
THEORY_YIELDS = 10  # how nice theory is to the exact run, which a drag waits for
MOST_SOLVERS = 2  # processes for exact runs: a drag is answered by them in turns
LOOK_EVERY = 0.1  # seconds between two looks at the deadline

Deliver = Callable[[Hashable, Document], Awaitable[None]]


class Workers:
    """Processes that answer one kind of request. Of each client only the newest request waits.

    Each begins at once where a process is free, beside what is still under way for the same client: while something is dragged, one
    run is computed as the next begins. Where none is free, or the newest is to be the last word, it ends those before. A run is
    also ended when the answer to a newer one is there.
    """

    def __init__(self, answer: Answer, deliver: Deliver, count: int = 1) -> None:
        self.deliver = deliver
        self.processes = [Worker(answer) for _ in range(count)]
        self._waiting: dict[Hashable, Request] = {}
        self._news = asyncio.Event()

    @property
    def ready(self) -> bool:
        """Whether any process has compiled what it needs."""
        return any(process.ready for process in self.processes)

    def ask(self, client: Hashable, request: Request) -> None:
        """Answer this request next for that client, in place of any earlier one."""
        self._waiting.pop(client, None)
        self._waiting[client] = request
        self._news.set()
        running = self._running(client)
        if request.final:
            self._stop(running)
        elif not any(process.is_free for process in self.processes):
            self._stop(running[:1])

    def forget(self, client: Hashable) -> None:
        """The client has gone: nothing of it waits or runs any more."""
        self._waiting.pop(client, None)
        self._stop(self._running(client))

    async def work(self) -> None:
        """Answer requests for ever."""
        async with asyncio.TaskGroup() as tasks:
            for process in self.processes:
                tasks.create_task(self._work(process))

    def close(self) -> None:
        """End the processes and the threads that listen to them."""
        for process in self.processes:
            process.close()

    async def _work(self, process: Worker) -> None:
        while True:
            if not process.ready:
                await process.prepare()
                await self.deliver(None, {"kind": "ready"})
            while not self._waiting:
                self._news.clear()
                await self._news.wait()
            client = next(iter(self._waiting))
            request = self._waiting.pop(client)
            document = await process.compute(client, request)
            if document != STOP:
                self._stop([older for older in self._running(client) if older.number < request.number])
                await self.deliver(client, document)

    def _running(self, client: Hashable) -> list[Worker]:
        """The processes at work for that client, the oldest request first."""
        return sorted(
            (process for process in self.processes if process.client == client), key=lambda process: process.number
        )

    @staticmethod
    def _stop(processes: Iterable[Worker]) -> None:
        for process in processes:
            process.stop()


class Worker:
    """One process: it looks for a word to stop ten times a second, and if it neither stops nor ends within its budget it is replaced."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.ready = False
        self.client: Hashable = None  # for whom it is at work
        self.number = 0  # of the request that it is at
        self._deadline = 0.0
        self._reader = ThreadPoolExecutor(1)  # exactly one reads the pipe, so that no answer goes astray
        self._spawn()

    @property
    def is_free(self) -> bool:
        return self.ready and self.client is None

    async def prepare(self) -> None:
        """Wait until everything is compiled."""
        self.ready = await self._receive() == READY
        if not self.ready:
            raise RuntimeError("the computing process could not start")

    async def compute(self, client: Hashable, request: Request) -> Any:
        """The document that answers the request, or STOP if it was told to."""
        self.client, self.number, self._deadline = client, request.number, monotonic() + LONGEST + PATIENCE
        with suppress(OSError):  # it died while idle: found out where the answer is read
            self._connection.send(request)
        document = await self._receive(watched=True)
        self.client = None
        if document is not None:
            return document
        self._respawn()
        return refusal(request.number, "The computation did not end in time and was stopped; change something to try again.")

    def stop(self) -> None:
        """End what it is at."""
        self._deadline = min(self._deadline, monotonic() + PATIENCE)
        with suppress(OSError):
            self._connection.send(STOP)

    async def _receive(self, watched: bool = False) -> Any:
        """The next answer of the process; None if it died, or had to be killed."""
        answer = asyncio.get_running_loop().run_in_executor(self._reader, self._read, self._connection)
        while not answer.done():
            await asyncio.wait({answer}, timeout=LOOK_EVERY if watched else None)
            if watched and not answer.done() and monotonic() > self._deadline:
                self._process.kill()
        return answer.result()

    @staticmethod
    def _read(connection: Connection) -> Any:
        try:
            return connection.recv()
        except (EOFError, OSError):
            return None

    def _spawn(self) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would copy locks of threads that do not exist in it
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(self.answer, theirs), daemon=True)
        with one_thread():  # small problems: more threads would only wait for each other
            self._process.start()
        theirs.close()

    def _respawn(self) -> None:
        self.close_process()
        self.ready = False
        self._spawn()

    def close_process(self) -> None:
        self._process.kill()
        self._process.join()
        self._connection.close()

    def close(self) -> None:
        """End the process and the thread that listens to it."""
        self.close_process()
        self._reader.shutdown()


def _work(answer: Answer, connection: Connection) -> None:
    """The process: compile, say so, then answer until the other end is closed."""
    if answer is answer_theory and hasattr(os, "nice"):
        os.nice(THEORY_YIELDS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all processes; the first one decides

    def progress(fraction: float, note: str) -> None:
        if connection.poll():
            raise KeyboardInterrupt

    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        warm_up(answer)
        gc.freeze()  # what is loaded and compiled stays: looking through it again takes milliseconds, in the middle of a drag
        connection.send(READY)
        while True:
            request = connection.recv()
            if request != STOP:  # one that came too late to stop anything
                connection.send(_answer(answer, request, progress))


def _answer(answer: Answer, request: Request, progress: Progress) -> Document | str:
    try:
        document = answer(request, progress)
    except KeyboardInterrupt:
        return STOP
    return STOP if document.get("status") == "INTERRUPTED" else document


def workers(deliver: Deliver) -> tuple[Workers, Workers]:
    """Processes for exact runs, and one beside them for theory."""
    return Workers(answer_run, deliver, min(MOST_SOLVERS, cores())), Workers(answer_theory, deliver)
