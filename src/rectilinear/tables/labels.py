"""Labels that are classes: two words, True and False, 0 and 1, or 1 and 2 become -1 and +1, with a sentence that says which is which."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError

SHOWN = 4  # classes that a refusal lists
CLASSES = ((0, 1), (1, 2))  # numbers that are read as classes


def classes_from_words(file: str, column: str, words: Sequence[str]) -> tuple[NDArray[np.float64], str]:
    """Two words as -1 and +1, in alphabetical order, and the sentence that says so.

    >>> classes_from_words("pets.csv", "pet", ["dog", "cat", "dog"])[1]
    "labels in column 'pet': 'cat' is -1, 'dog' is +1"
    """
    classes = sorted(set(words))
    if len(classes) != 2:
        listed = ", ".join(map(repr, classes[:SHOWN])) + (", ..." if len(classes) > SHOWN else "")
        raise FileError(
            f"{file}, column {column!r}: labels must be numbers or words of two kinds, found {len(classes)}: {listed}; "
            "keep the rows of two classes, or write numbers."
        )
    low, high = classes
    return np.where(np.array(words) == high, 1.0, -1.0), _sentence(column, repr(low), repr(high))


def classes_from_numbers(column: str, y: NDArray[np.generic]) -> tuple[NDArray[np.generic], str | None]:
    """Labels 0 and 1, 1 and 2, or False and True as -1 and +1, and the sentence that says so; all others as they are."""
    values = np.unique(y)
    if y.dtype != np.bool_ and not any(np.array_equal(values, classes) for classes in CLASSES):
        return y, None
    low, high = ("False", "True") if y.dtype == np.bool_ else (f"{value:g}" for value in values)
    return np.where(y == values[-1], 1.0, -1.0), _sentence(column, low, high)


def _sentence(column: str, low: str, high: str) -> str:
    return f"labels in column {column!r}: {low} is -1, {high} is +1"
