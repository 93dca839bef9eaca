"""Explicit steps of order 3 as long as accuracy limits them, stabilised ones of order 2 as soon as stability does.

The pair of order 3(2) of P. Bogacki & L. F. Shampine (Appl. Math. Lett. 2, 1989): three gradients a step, nodes 0, 1/2, 3/4 with weights
that are positive and about as large as the gaps between them, so that a jump of the field within the step is met by its share.
Methods of order 5 have weights of either sign, which make jumps larger.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from .chebyshev import StabilisedStepper
from .step_size import StepControl, up_to
from .vector_sums import combined, mean_square

THIRD_ORDER_STAGES = 3
TO_HALF, TO_THREE_QUARTERS = np.array([0.5]), np.array([0.0, 0.75])
THIRD_ORDER_WEIGHTS = np.array([2 / 9, 1 / 3, 4 / 9])
THIRD_ORDER_ERROR = np.array(
    [-5 / 72, 1 / 12, 1 / 9, -1 / 8]
)  # weights of order 3 less those of order 2, which take the slope at the end too
THIRD_ORDER_CONTROL = StepControl(order=3)
THIRD_ORDER_STABLE = 2.5  # |lambda| h up to which steps of order 3 are stable
STIFF_SHARE = 0.8  # of that, from which a step is called stiff: the estimate of |lambda| comes from below
# In a row, before stabilised steps are taken: on 20 problems that ended while stability had just begun to limit steps, changing after two
# or four took a tenth more gradients than not changing at all.
STIFF_STEPS = 20
WORTH_STABILISING = 1.3  # times further a gradient than steps of order 3 could go, as the order is lower
# Stabilised ones in a row that do not go so far, before those of order 3 are taken again: the first ones are short.
EASY_STEPS = 10


class ThirdOrderStepper(StabilisedStepper):
    """Steps with local error below `rtol` of `size(y_old, y_new)`, of the kind that limits them least."""

    stabilised = False
    _stiff = _easy = 0  # steps in a row
    _patience = STIFF_STEPS

    def step(self, t_end: float) -> bool:
        """Try one step that does not pass `t_end`; False if it was rejected (then try again: the step is smaller)."""
        if not self.stabilised:
            return self._third_order_step(t_end)
        made = super().step(t_end)
        if made:
            further = self.h * self.radius / self.stages / (THIRD_ORDER_STABLE / THIRD_ORDER_STAGES)  # a gradient
            self._easy = self._easy + 1 if further < WORTH_STABILISING else 0
            if self._easy >= EASY_STEPS:  # stability did not limit steps: do not believe so again soon
                self.stabilised, self._stiff, self._patience = False, 0, 2 * self._patience
        return made

    def _third_order_step(self, t_end: float) -> bool:
        h = self.tried = up_to(self.step_size, self.t, t_end)
        slopes = np.empty((THIRD_ORDER_STAGES + 1, self.y.size))
        slopes[0] = self.slopes[0]
        half = combined(self.y, h, TO_HALF, slopes)
        self.evaluate(half, slopes[1])
        last = combined(self.y, h, TO_THREE_QUARTERS, slopes)
        self.evaluate(last, slopes[2])
        new = combined(self.y, h, THIRD_ORDER_WEIGHTS, slopes)
        self.evaluate(new, slopes[3])
        self.slopes[1] = slopes[3]
        with np.errstate(invalid="ignore", over="ignore"):
            wrong = combined(np.zeros_like(new), h / self.rtol, THIRD_ORDER_ERROR, slopes)
            error = float(np.sqrt(mean_square(wrong, self.size(self.y, new))))
        self.step_size = h * THIRD_ORDER_CONTROL.growth(error)
        if not error <= 1.0:
            self.rejected += 1
            self.refused += 1
            return False
        if self.refused:  # what was just too long is so still
            self.step_size = min(self.step_size, h)
        self.refused = 0
        self.t_old, self.y_old, self.y_new, self.h, self.error = self.t, self.y, new, h, error
        self._watch_stability(half - 2 * last + new, slopes[1] - 2 * slopes[2] + slopes[3])
        return True

    def _watch_stability(self, moved: Array, change: Array) -> None:
        """Count steps about as long as stability allows, by second differences of stages and slopes, at 1/2, 3/4 and 1 of the step.

        What moves steadily leaves none; what is about to become unstable leaves |lambda| times as much in slopes.
        """
        stiff = self.h**2 * float(change @ change) > (STIFF_SHARE * THIRD_ORDER_STABLE) ** 2 * float(moved @ moved)
        self._stiff = self._stiff + 1 if stiff else 0
        if self._stiff >= self._patience:
            self.stabilised, self._easy = True, 0
