"""A real explorer's server in a thread, for tests of its protocol and of the page in a browser."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rectilinear.explore.server import Server, listen

SECONDS_TO_START = 300.0


@contextmanager
def serving(port: int = 0, token: str | None = None) -> Iterator[Server]:
    """A server that runs until the block ends; `token` brings an earlier one back."""
    server = Server(listen("127.0.0.1", port, exposed=False))
    if token is not None:
        server.token = token
    opened = threading.Event()
    stop: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[None]]] = []

    async def run() -> None:
        task = asyncio.create_task(server.run(lambda address: opened.set()))
        stop.append((asyncio.get_running_loop(), task))
        await asyncio.wait({task})

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        assert opened.wait(SECONDS_TO_START)
        yield server
    finally:
        loop, task = stop[0]
        loop.call_soon_threadsafe(task.cancel)
        thread.join()
