"""Threads for kernels that release the interpreter's lock."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache

THREAD_WORK = 2_000_000  # multiply-adds below which handing work to a second thread costs more than it saves


def workers() -> int:
    """How many threads share large kernels."""
    return os.cpu_count() or 1


@cache
def threads() -> ThreadPoolExecutor:
    """The pool that they run in."""
    return ThreadPoolExecutor(max_workers=workers())
