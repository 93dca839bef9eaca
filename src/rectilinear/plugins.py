"""Data sets, theorems, measures, claims and papers of other packages, found by their entry points.

A package offers something by an entry point in its `pyproject.toml`, named as the thing itself:

    [project.entry-points."rectilinear.theorems"]
    one_line = "their_package:ONE_LINE"

Groups: `rectilinear.datasets` (generators with a default for every option), `.theorems` (a Theorem), `.measures` (functions),
`.claims` (a Claim) and `.papers` (the Paper that claims come from). Nothing is loaded before someone looks. What cannot be used is
left out with one sentence, a PluginWarning; the rest works on. Names of ours are never replaced.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

Fault = Callable[[str, Any], str]  # (name, what was found under it) -> what is wrong with it, "" if nothing is

_loaded: dict[str, dict[str, Any]] = {}


class PluginWarning(UserWarning):
    """Something that another package offers cannot be used."""


def plugged_in(kind: str, ours: Collection[str], fault: Fault) -> dict[str, Any]:
    """What other packages offer in the group rectilinear.`kind`, by name; looked for once.

    `ours` are the names that are taken; `fault` says why something cannot be used.

    >>> plugged_in("nothing_of_this_kind", (), lambda name, found: "")
    {}
    """
    if kind not in _loaded:
        offers = sorted(entry_points(group=f"rectilinear.{kind}"), key=lambda offer: (offer.name, offer.value))
        _loaded[kind] = _usable(kind, offers, ours, fault)
    return _loaded[kind]


def forget() -> None:
    """Look again at the next question, as after a package was installed."""
    _loaded.clear()


def _usable(kind: str, offers: Iterable[EntryPoint], ours: Collection[str], fault: Fault) -> dict[str, Any]:
    usable: dict[str, Any] = {}
    for offer in offers:
        package = offer.dist.name if offer.dist is not None else "an unnamed package"
        try:
            found = offer.load()
            wrong = "the name is taken" if offer.name in ours or offer.name in usable else fault(offer.name, found)
        except Exception as error:  # whatever their module does
            wrong = f"{type(error).__name__}: {error}"
        if wrong:
            warnings.warn(
                f"{offer.name} in rectilinear.{kind} of {package} is left out ({wrong}); mend or uninstall {package}.",
                PluginWarning,
                stacklevel=4,
            )
        else:
            usable[offer.name] = found
    return usable


def must_be(kind: type, name: str, found: Any) -> str:
    """What is wrong with something that should be of that kind and carry that name.

    >>> must_be(str, "two", 2)
    'expected str, found int'
    """
    if not isinstance(found, kind):
        return f"expected {kind.__name__}, found {type(found).__name__}"
    called = getattr(found, "name", name)
    return "" if called == name else f"it calls itself {called}"
