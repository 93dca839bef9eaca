"""Functions of the user's that travel to other processes, and an identity that changes when their source does."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import InputError


@dataclass(frozen=True)
class FileFunction:
    """A function of a Python file, written `path.py:name`; other processes load the file themselves."""

    path: str
    name: str

    @classmethod
    def of(cls, text: str, folder: Path) -> FileFunction:
        """The function that `text` names, in a file relative to `folder`."""
        file, _, name = text.rpartition(":")
        path = (folder / file).absolute()
        if not path.is_file():
            raise InputError(f"a function must be given as FILE.py:NAME, found {text!r}, and {path} is no file.")
        found = cls(str(path), name)
        if not callable(getattr(_loaded(found.path), name, None)):
            raise InputError(f"{file} must define a function {name!r}, found none; check its name.")
        return found

    @property
    def function(self) -> Callable[..., Any]:
        loaded: Callable[..., Any] = getattr(_loaded(self.path), self.name)
        return loaded

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


@cache
def _loaded(path: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    try:
        specification.loader.exec_module(module)
    except Exception as error:  # whatever the user's file does
        raise InputError(
            f"{path} must be a Python file that can be loaded, found {type(error).__name__}: {error}."
        ) from error
    return module


def identity(function: Callable[..., Any]) -> str:
    """Name and source of a function, so that a changed function makes new runs; what it calls is not looked into."""
    if isinstance(function, partial):
        return f"{identity(function.func)} with {function.args} {sorted(function.keywords.items())}"
    if isinstance(function, FileFunction):
        return f"{Path(function.path).name}:{function.name} {_digest(Path(function.path).read_bytes())}"
    name = f"{function.__module__}.{getattr(function, '__qualname__', type(function).__qualname__)}"
    try:
        return f"{name} {_digest(inspect.getsource(function).encode())}"
    except (OSError, TypeError):
        return name  # typed into an interpreter, or compiled


def require_portable(what: str, function: Callable[..., Any]) -> None:
    """Refuse a function that another process could not find."""
    try:
        pickle.dumps(function)
        typed_in = getattr(function, "__module__", "") == "__main__" and not hasattr(sys.modules["__main__"], "__file__")
    except (pickle.PicklingError, AttributeError, TypeError):
        typed_in = True
    if typed_in:
        raise InputError(
            f"{what} must be a function that other processes can import, found one that lives in this process alone; "
            "write it in a file, or use jobs=0 to run here."
        )


def _digest(contents: bytes) -> str:
    return hashlib.sha256(contents).hexdigest()[:16]
