"""Saved states are as good as steps: an interpolant whose error is looked at, on shorter steps where it is too large.

The error of a step is controlled at its end only; long steps of a high order can be far more exact there than their interpolant is
in between. How well that solves the equation is seen from its defect, y'(t) - rhs(y(t)). Where it is too large, the step is made
once more, as two of half the length.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ...arrays import Array

MOST_REFINEMENTS = 3  # of a step: each makes an interpolant of order 7 a hundred times better


class Interpolant(Protocol):
    """The states within a step from time t that is h long."""

    t: float
    h: float

    def at(self, times: Array) -> Array:
        """States (t, size) at times (t,)."""
        ...

    def error(self) -> float:
        """An estimate of its largest error, in tolerances."""
        ...

    def halves(self) -> tuple[Interpolant, Interpolant]:
        """The same step made as two."""
        ...


class DenseOutput:
    """Looks into a step: by its interpolant where that will do, by those of its halves where not, which are made when needed."""

    def __init__(self, interpolant: Interpolant, halvings: int = MOST_REFINEMENTS) -> None:
        self.interpolant, self.halvings = interpolant, halvings
        self._halves: tuple[DenseOutput, DenseOutput] | None = None
        self._good: bool | None = None

    def at(self, times: Array) -> Array:
        """States (t, size) at rising times (t,) within the step."""
        if self._good is None:
            self._good = self.halvings == 0 or self.interpolant.error() <= 1.0
        if self._good:
            return self.interpolant.at(times)
        if self._halves is None:
            first, second = (DenseOutput(half, self.halvings - 1) for half in self.interpolant.halves())
            self._halves = first, second
        first, second = self._halves
        early = int(np.searchsorted(times, second.interpolant.t))
        parts = [half.at(part) for half, part in ((first, times[:early]), (second, times[early:])) if len(part)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
