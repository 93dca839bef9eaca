"""The same on the workers of a Dask cluster (`pip install rectilinear[cluster]`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from socket import gethostname
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from ..errors import FlowError, InputError
from .processes import ONE_THREAD

if TYPE_CHECKING:
    from distributed import Client

Engine: TypeAlias = "Client | str"  # a client of a Dask cluster, or the address of its scheduler
Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 2  # items handed out per worker: one that runs, one that waits; so memory does not grow with the number of items
SAME = ["rectilinear", "numba", "scipy"]  # packages whose versions must agree, besides those that Dask compares


def on_cluster(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    engine: Engine,
    lost: Callable[[Item], Result],
    first: Callable[[], object] | None = None,
) -> Iterator[tuple[Item, Result | None]]:
    """As `side_by_side`, on the workers of a cluster. Results should be small: what matters is written by the work itself.

    A result is let go as soon as it is told, so that no worker's death makes the cluster compute it again. An item is lost when
    the scheduler gives it up, after the deaths of several workers that held it. `first` is done by one worker of each machine,
    before any item: kernels that it compiles are there for the others.
    """
    with _client(engine) as client:
        from distributed import as_completed

        workers = _checked_workers(client)
        if first is not None:
            client.run(partial(_on_one_thread, first), workers=_one_per_machine(client))
        waiting = iter(items)
        held = {}
        running = as_completed(loop=client.loop)
        task = partial(_on_one_thread, work)

        def hand_out(count: int) -> Iterator[tuple[Item, None]]:
            for item in islice(waiting, count):
                future = client.submit(task, item, pure=False)
                held[future.key] = item
                running.add(future)
                yield item, None

        yield from hand_out(AHEAD * workers)
        for future in running:
            item = held.pop(future.key)
            yield item, _outcome(future, item, lost)
            future.release()
            yield from hand_out(1)


def _on_one_thread(work: Callable[..., Result], *items: Item) -> Result:
    os.environ.update(ONE_THREAD)  # of this worker, however it was started
    return work(*items)


def _outcome(future: object, item: Item, lost: Callable[[Item], Result]) -> Result:
    from distributed import KilledWorker, wait

    while future.status in ("pending", "lost"):  # type: ignore[attr-defined]
        wait(future)  # its worker died before the result was fetched, and it is computed again
    status = future.status  # type: ignore[attr-defined]
    if status == "finished":
        result: Result = future.result()  # type: ignore[attr-defined]
        return result
    error = future.exception() if status == "error" else None  # type: ignore[attr-defined]
    if isinstance(error, KilledWorker):
        return lost(item)
    if error is not None:
        raise error
    raise FlowError(
        "the cluster must stay until the work is done, found it gone; what is finished is kept: start it and run again."
    )


@contextmanager
def _client(engine: Engine) -> Iterator[Client]:
    """The client itself, or one of our own to that address."""
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError(
            "engine needs dask.distributed, which is not installed; pip install rectilinear[cluster], or use jobs."
        ) from error
    if isinstance(engine, Client):
        yield engine
        return
    try:
        client = Client(engine, set_as_default=False, timeout="10s")
    except (OSError, ValueError) as error:
        raise InputError(f"engine must be the address of a Dask scheduler, found {engine!r} ({error}).") from error
    with client:
        yield client


def _one_per_machine(client: Client) -> list[str]:
    """Addresses of workers, one on each host."""
    return list({host: address for address, host in client.run(gethostname).items()}.values())


def _checked_workers(client: Client) -> int:
    """How many workers there are, if they run what runs here, one item at a time."""
    try:
        client.get_versions(check=True, packages=SAME)
    except ValueError as error:
        raise InputError(
            f"workers must run the versions that run here, found others; install the same ones. {error}"
        ) from error
    threads = client.nthreads()
    if not threads:
        raise InputError("the cluster must have a worker at least, found none; start some first.")
    if max(threads.values()) > 1:
        raise InputError(
            f"workers must have one thread each, found one with {max(threads.values())}; start them with --nthreads 1."
        )
    return len(threads)
