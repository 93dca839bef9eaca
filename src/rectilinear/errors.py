"""The few ways in which Rectilinear refuses; every message says what was required, what was found and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


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
