"""How far Newton gets with the Jacobian of a step's start: longer steps take that of every stage (`steppers/stagewise.py`)."""

from __future__ import annotations

import numpy as np

SLOWEST_RATE = 0.05  # at which Newton is to converge in the next step; it grows with the step, and one that fails costs two
# Where Newton decides how long so many steps are, and errors would let them grow by more than this, longer ones take the Jacobian of every
# stage: they cost up to ten times as much, and on stiff data are up to a hundred times as long. Where errors let them be less than this
# many times as long, that does not pay. (On 29 problems with rows of lengths 1e-2 to 1e3 and labels of 1e6 there are 1.0 to 7 times
# fewer steps.)
HELD_BACK, FREE_TO_GROW, WORTH_IT = 10, 1.3, 8.0
NEWTON_FAILED = 0.3  # factor by which a step is shortened that could not be solved
FORGIVEN = 2  # of those steps, for each that its error limits: on stiff data rounding makes errors, too


class KeptJacobian:
    """`reach` is the longest step to be made with the Jacobian kept: without bound until that has limited many steps."""

    def __init__(self) -> None:
        self.reach, self._held_back = np.inf, 0

    def growth(self, by_error: float, rate: float) -> float:
        """The factor by which to change a step: as errors allow, but no longer than Newton, which converged at this rate, can make it."""
        return min(by_error, max(1.0, SLOWEST_RATE / rate if rate > 0.0 else np.inf))

    def weigh(self, h: float, solved: bool, by_error: float, rate: float) -> None:
        """A step of length h was solved, or not; its error would let it grow by this factor."""
        if solved and by_error < FREE_TO_GROW:
            self._held_back = max(0, self._held_back - FORGIVEN)
            if h < WORTH_IT * self.reach:
                self.reach = np.inf
        elif not solved or rate * FREE_TO_GROW > SLOWEST_RATE:
            self._held_back += 1
            if self._held_back >= HELD_BACK:
                self.reach = min(self.reach, h if solved else NEWTON_FAILED * h)
