"""A process that computes for the page, one request after another; of each client only the newest one waits."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from time import monotonic
from typing import Any

from ..crew.processes import ONE_THREAD
from .documents import LONGEST, Document, Progress
from .messages import Answer, Request, answer_run, answer_theory, refusal
from .warm import warm_up

STOP = "stop"
READY = "ready"
PATIENCE = 5.0  # seconds beyond its budget, or after it was told to stop, that a process may still take
THEORY_YIELDS = 10  # how nice theory is to the exact run, which a drag waits for
LOOK_EVERY = 0.1  # seconds between two looks at the deadline

Deliver = Callable[[Hashable, Document], Awaitable[None]]


class Worker:
    """Keeps one process at work. A newer request of the same client ends the run that is under way.

    The process looks for a word to stop ten times a second. One that neither finishes within its budget nor stops is killed, and
    another takes its place.
    """

    def __init__(self, answer: Answer, deliver: Deliver) -> None:
        self.answer, self.deliver = answer, deliver
        self.ready = False
        self._waiting: dict[Hashable, Request] = {}
        self._client: Hashable = None
        self._deadline = 0.0
        self._news = asyncio.Event()
        self._reader = ThreadPoolExecutor(1)  # exactly one reads the pipe, so that no answer goes astray
        self._spawn()

    def ask(self, client: Hashable, request: Request) -> None:
        """Answer this request next for that client, in place of any earlier one."""
        self._waiting.pop(client, None)
        self._waiting[client] = request
        self._news.set()
        if client == self._client:
            self._stop_running()

    def forget(self, client: Hashable) -> None:
        """The client has gone: nothing of it waits or runs any more."""
        self._waiting.pop(client, None)
        if client == self._client:
            self._stop_running()

    async def work(self) -> None:
        """Answer requests for ever."""
        while True:
            if not self.ready:
                self.ready = await self._receive() == READY
                if not self.ready:
                    raise RuntimeError("the computing process could not start")
                await self.deliver(None, {"kind": "ready"})
            while not self._waiting:
                self._news.clear()
                await self._news.wait()
            client = next(iter(self._waiting))
            await self._serve(client, self._waiting.pop(client))

    async def _serve(self, client: Hashable, request: Request) -> None:
        self._client, self._deadline = client, monotonic() + LONGEST + PATIENCE
        with suppress(OSError):  # it died while idle: found out where the answer is read
            self._connection.send(request)
        document = await self._receive(watched=True)
        self._client = None
        if document is None:
            self._respawn()
            document = refusal(
                request.number, "The computation did not end in time and was stopped; change something to try again."
            )
        if document != STOP:
            await self.deliver(client, document)

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

    def _stop_running(self) -> None:
        self._deadline = min(self._deadline, monotonic() + PATIENCE)
        with suppress(OSError):
            self._connection.send(STOP)

    def _spawn(self) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would copy locks of threads that do not exist in it
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(self.answer, theirs), daemon=True)
        for name, one in ONE_THREAD.items():
            os.environ.setdefault(name, one)  # small problems: more threads would only wait for each other
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


def workers(deliver: Deliver) -> tuple[Worker, Worker]:
    """One process for exact runs and one for theory, side by side."""
    return Worker(answer_run, deliver), Worker(answer_theory, deliver)
