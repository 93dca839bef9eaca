"""Old names that go on working for one release, with a warning that says the new one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def warn_renamed(old: str, new: str) -> None:
    """Warn whoever uses the `old` name; two frames up is the user's line."""
    warnings.warn(f"{old} is called {new} now; the old name works in this release only.", DeprecationWarning, stacklevel=3)


def renamed(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module some of whose `names` moved: old name -> "module.new_name" within the package.

    >>> find = renamed("rectilinear.conditions", {"alignment": "conditions.nearest_aligned"})
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     find("alignment").__name__
    'nearest_aligned'
    """

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        place, _, new = f"rectilinear.{names[name]}".rpartition(".")
        warn_renamed(f"{module}.{name}", f"{place}.{new}")
        return getattr(import_module(place), new)

    return find
