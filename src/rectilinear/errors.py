"""The few ways in which Rectilinear refuses; every message says what was required, what was found and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches
from os import PathLike
from pathlib import Path


class RectilinearError(Exception):
    """Base of every error this package raises on purpose."""


class InputError(RectilinearError, ValueError):
    """An argument, a data set or a set of weights that cannot be used as it is."""


class HypothesisError(RectilinearError):
    """A theorem was asked for although one of its hypotheses fails."""


class FlowError(RectilinearError):
    """A simulation that cannot go on."""


class FileError(RectilinearError):
    """A file that cannot be read as what it claims to be."""


def did_you_mean(word: object, choices: Iterable[str], aliases: dict[str, str] | None = None) -> str:
    """The end of a refusal that names the choice meant, if one is near; a full stop otherwise.

    >>> did_you_mean("six_point", ["xor", "six_points"])
    "; did you mean 'six_points'?"
    >>> did_you_mean("banana", ["xor", "six_points"])
    '.'
    """
    known = {choice.lower(): choice for choice in choices} | (aliases or {})
    near = get_close_matches(str(word).lower(), known, n=1, cutoff=0.7)
    return f"; did you mean {known[near[0]]!r}?" if near else "."


def is_number(value: object) -> bool:
    """A single number, of whatever type; texts and lists are none.

    >>> is_number(1), is_number("1"), is_number([1.0])
    (True, False, False)
    """
    with suppress(TypeError, ValueError):
        return hasattr(value, "__float__") and float(value) is not None
    return False


def require_kind(caller: str, value: object, kind: type, makers: str) -> None:
    """Refuse anything but a `kind`, with a sentence that says which functions make one."""
    if not isinstance(value, kind):
        raise InputError(f"{caller} takes a {kind.__name__}, as {makers} it, found {type(value).__name__}.")


def path_of(value: object, what: str) -> Path:
    """`value` as a path; refuse what is none, None above all, with a sentence that says `what` must be one.

    >>> path_of("table.csv", "path").suffix
    '.csv'
    """
    if isinstance(value, (str, PathLike)):
        return Path(value)
    raise InputError(f"{what} must be a text or a pathlib.Path, found {value!r}.")
