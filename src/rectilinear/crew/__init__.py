"""Many items of work, done here, by a crew of processes, or on a cluster; the ledger and sweeps share them out alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from ..flow.threads import workers as cores
from .cluster import Engine, on_cluster
from .processes import side_by_side

Item = TypeVar("Item")
Result = TypeVar("Result")


def share_out(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    lost: Callable[[Item], Result],
    jobs: int = 0,
    engine: Engine | None = None,
    first: Callable[[], object] | None = None,
) -> Iterator[tuple[Item, Result | None]]:
    """(item, None) when its work begins and (item, result) when it is done; `lost(item)` if the process doing it died.

    On the Dask cluster `engine` (a client, or the address of a scheduler) if there is one, else in so many processes of our own
    as `jobs` says, else here, one after the other. `first` is done once on each machine of a cluster, before any item.

    >>> [result for item, result in share_out(abs, [-1, 2], lost=int) if result is not None]
    [1, 2]
    """
    if engine is not None:
        yield from on_cluster(work, items, engine, lost, first)
    elif jobs:
        yield from side_by_side(work, items, jobs, lost)
    else:
        for item in items:
            yield item, None
            yield item, work(item)


__all__ = ["Engine", "cores", "on_cluster", "share_out", "side_by_side"]
