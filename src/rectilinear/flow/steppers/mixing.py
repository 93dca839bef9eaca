"""Anderson's acceleration of an iteration: past rounds tell what a change really does, and the next one is corrected by that.

D. G. Anderson, Iterative procedures for nonlinear integral equations, J. ACM 12 (1965).
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array

REMEMBERED = 4  # rounds
INDEPENDENT = 1e-6  # of the largest singular value


class Mixing:
    """Corrects the changes that rounds of an iteration find.

    >>> slow, x, mixing = np.array([0.9, 0.5]), np.array([1.0, 1.0]), Mixing()
    >>> for _ in range(3):
    ...     (step,) = mixing.corrected((x,), ((slow - 1.0) * x,))
    ...     x = x + step
    >>> bool(np.abs(x).max() < 1e-12)
    True
    """

    def __init__(self) -> None:
        self.before: tuple[tuple[Array, ...], tuple[Array, ...]] | None = None
        self.moves: list[tuple[Array, ...]] = []
        self.answers: list[Array] = []

    def corrected(self, unknowns: tuple[Array, ...], found: tuple[Array, ...]) -> tuple[Array, ...]:
        """The changes to make, for unknowns in several forms that move together; the last form says what is large."""
        if self.before is not None:
            old, last = self.before
            answered = tuple(new - was for new, was in zip(found, last, strict=True))
            moved = tuple(new - was + more for new, was, more in zip(unknowns, old, answered, strict=True))
            self.moves = [*self.moves, moved][-REMEMBERED:]
            self.answers = [*self.answers, answered[-1].ravel()][-REMEMBERED:]
        self.before = (unknowns, found)
        if not self.moves:
            return found
        weights = np.linalg.lstsq(np.array(self.answers).T, found[-1].ravel(), rcond=INDEPENDENT)[0]
        for weight, moved in zip(weights, self.moves, strict=True):
            found = tuple(change - weight * move for change, move in zip(found, moved, strict=True))
        return found
