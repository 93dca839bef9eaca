"""Measure once what never changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

Frozen = TypeVar("Frozen")
Measured = TypeVar("Measured")


def remembered(measure: Callable[[Frozen], Measured]) -> Callable[[Frozen], Measured]:
    """Measure each data set or problem once: they never change, and several theorems ask the same question.

    They are held weakly: whoever lets go of one frees what was measured on it.
    """
    known: WeakKeyDictionary[Frozen, Measured] = WeakKeyDictionary()

    @wraps(measure)
    def recalled(subject: Frozen) -> Measured:
        if subject not in known:
            known[subject] = measure(subject)
        return known[subject]

    return recalled
