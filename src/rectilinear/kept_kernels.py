"""Compiled kernels, kept on disk for as long as nothing that they are made of changes.

Numba keeps a kernel by the contents of the file that it stands in. What it calls and compares with may stand in other files, and is
compiled into it: here all of that counts. Where Numba's insides are others than those of 0.61 and later, its own rule holds; where no
folder can be written, every process compiles for itself, and says so.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numba
import numpy as np
from numba.core.caching import FunctionCache, IndexDataCacheFile

from . import kernel_passes as passes
from . import linked_once as linking
from .linked_once import LinkingCompiler, linked_once

HINT = "set NUMBA_CACHE_DIR to a folder that can be written"
CONSTANTS = (bool, int, float, complex, str, tuple, np.generic)
_unkept: list[str] = []  # why kernels of this process are not on disk


def kept(**options: Any) -> Callable[[Any], Any]:
    """`numba.njit` with these options, whose compiled code is kept on disk."""
    compiled = numba.njit(**{"pipeline_class": LinkingCompiler, **options})

    def decorate(function: Any) -> Any:
        kernel = compiled(function)
        if kernel is not function:  # Numba may be switched off
            _keep(kernel)
        return kernel

    return decorate


def why_not_kept() -> str:
    """Why compiled kernels of this process cannot be kept for later ones; empty if they can."""
    return _unkept[0] if _unkept else ""


def made_of(function: FunctionType) -> dict[str, bytes]:
    """All that the compiled code of a function depends on: by name, the contents of files as digests, and constants.

    Files are those of the function, of the kernels it calls, directly or not, and of the classes that it makes.
    """
    found: dict[str, bytes] = {}
    for place, value in _reached(function, set()):
        if isinstance(value, FunctionType):
            found[place] = _digest(value.__code__.co_filename)
        elif isinstance(value, np.ndarray):
            found[place] = repr((value.dtype.str, value.shape)).encode() + value.tobytes()
        elif isinstance(value, CONSTANTS):
            found[place] = repr(value).encode()
        elif isinstance(value, type) and issubclass(value, tuple):
            found[place] = repr(getattr(value, "_fields", ())).encode()
        elif hasattr(value, "by_address"):
            found[place] = value.by_address.encode()
    return found


def _reached(function: FunctionType, seen: set[str]) -> Iterator[tuple[str, Any]]:
    """A function and the kernels that it calls, directly or not, each followed by what its names stand for."""
    place = f"{function.__module__}.{function.__qualname__}"
    if place in seen:
        return
    seen.add(place)
    yield place, function
    for name in _names(function.__code__):
        value: Any = function.__globals__.get(name)
        if hasattr(value, "py_func"):
            yield from _reached(value.py_func, seen)
        elif not isinstance(value, FunctionType):
            yield f"{place}:{name}", value


def _names(code: CodeType) -> set[str]:
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*(_names(other) for other in inner))


@cache
def _digest(path: str) -> bytes:
    """Of a file as it is when it is first asked for, which is when kernels are defined: later it may have been edited."""
    return hashlib.sha256(Path(path).read_bytes()).digest()


class _KernelCache(FunctionCache):
    """Numba's cache of one kernel, with all that the kernel is made of for its stamp."""

    def __init__(self, function: FunctionType) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._places = {"cache_path": self._cache_path, "filename_base": self._impl.filename_base}
        self._function, self._stamped = function, False
        _digest(function.__code__.co_filename)

    def _stamp(self) -> None:
        """Once a kernel is called all that it calls is defined."""
        if not self._stamped:
            how = (linking.IS_KNOWN, passes.ARE_KNOWN, _digest(linking.__file__), _digest(passes.__file__))
            parts = [*how, *sorted(made_of(self._function).items())]
            stamp = hashlib.sha256(repr(parts).encode()).hexdigest()
            self._cache_file = IndexDataCacheFile(**self._places, source_stamp=stamp)  # type: ignore[no-untyped-call]
            self._stamped = True

    def load_overload(self, signature: Any, target: Any) -> Any:
        self._stamp()
        with linked_once(target.codegen()):
            return super().load_overload(signature, target)  # type: ignore[no-untyped-call]

    def save_overload(self, signature: Any, compiled: Any) -> None:
        self._stamp()
        try:
            super().save_overload(signature, compiled)  # type: ignore[no-untyped-call]
        except OSError as error:  # a full disk, a folder that is gone
            if not _unkept:
                sys.stderr.write(
                    f"rectilinear: every process compiles kernels anew, as {self.cache_path} cannot take them; {HINT}\n"
                )
            _unkept.append(f"{self.cache_path}: {error.strerror}")


def _keep(kernel: Any) -> None:
    try:
        kernel._cache = _KernelCache(kernel.py_func)
    except RuntimeError:
        _unkept.append("no folder for them can be written")
    except (AttributeError, TypeError, OSError):  # another Numba inside, or no file to read
        with suppress(RuntimeError):
            kernel.enable_caching()
