"""How many threads compute, and work shared among them.

One setting serves compiled kernels and BLAS alike: the environment variable RECTILINEAR_THREADS, else what the scheduler gave
(SLURM_CPUS_PER_TASK), else the processors this process may run on.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ..errors import InputError

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")

SETTING = "RECTILINEAR_THREADS"
THREAD_WORK = 2_000_000  # multiply-adds below which handing work to a second thread costs more than it saves
BLAS_WORK = 100_000_000  # the same for one product of BLAS, whose threads wait for each other many times within it

_here = threading.local()  # `sharing` is set in threads that compute a share


def workers() -> int:
    """How many threads share large work."""
    asked = os.environ.get(SETTING, "").strip()
    if asked:
        if not asked.isdecimal() or int(asked) < 1:
            raise InputError(f"{SETTING} must be a positive whole number, found {asked!r}; correct or unset it.")
        return int(asked)
    scheduled = os.environ.get("SLURM_CPUS_PER_TASK", "")
    if scheduled.isdecimal() and int(scheduled) > 0:
        return int(scheduled)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _pool(size: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=size)


def shares(count: int, work: float) -> int:
    """Among how many threads `count` things that take `work` multiply-adds are shared: one within a share of something larger."""
    if work < THREAD_WORK or getattr(_here, "sharing", False):
        return 1
    return max(1, min(workers(), count))


def in_shares(kernel: Callable[[int, int], Result], count: int, work: float) -> list[Result]:
    """kernel(begin, end) of consecutive shares of `count` things, in their order; `work` is what all take, in multiply-adds.

    The kernel has to release the interpreter's lock where it computes.

    >>> in_shares(lambda begin, end: list(range(begin, end)), 3, work=0.0)
    [[0, 1, 2]]
    """
    number = shares(count, work)
    if number == 1:
        return [kernel(0, count)]
    cuts = np.linspace(0, count, number + 1).astype(int).tolist()
    jobs = [_pool(number - 1).submit(_share, kernel, begin, end) for begin, end in pairwise(cuts[1:])]
    return [_share(kernel, 0, cuts[1]), *(job.result() for job in jobs)]


def _share(kernel: Callable[[int, int], Result], begin: int, end: int) -> Result:
    _here.sharing = True
    try:
        return kernel(begin, end)
    finally:
        _here.sharing = False


@cache
def _libraries() -> ThreadpoolController:
    """The BLAS libraries of this process; looking for them takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def blas_threads(work: float) -> Iterator[None]:
    """Within, products of BLAS run on one thread if the largest of them takes less than BLAS_WORK multiply-adds, else on all.

    No more than the library was told to use, by its own setting or its user, and than `workers`.
    """
    libraries = _libraries()
    counts = [library.num_threads for library in libraries.lib_controllers]
    wanted = min(max(counts, default=1), workers()) if work >= BLAS_WORK else 1
    with nullcontext() if set(counts) <= {wanted} else libraries.limit(limits=wanted, user_api="blas"):
        yield
