"""Adaptive explicit stepping of order 8: the pair of Dormand and Prince.

The coefficients are SciPy's (Hairer, Norsett & Wanner, Solving ODEs I, DOP853); the error norm is ours, because weights of
size 1e-8 and of size 1 meet in one run: every neuron is held to its own size.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import DOP853

from ...arrays import Array
from ..deadline import look_at_clock
from .dense_output import DenseOutput
from .seventh_order import SeventhOrder
from .step_size import StepControl, up_to
from .vector_sums import combined, mean_square

EXPLICIT_STAGES = 12
EXPLICIT_TABLEAU, FINAL = DOP853.A[:EXPLICIT_STAGES, :EXPLICIT_STAGES], DOP853.B
ERROR_3, ERROR_5 = DOP853.E3, DOP853.E5
EXPLICIT_CONTROL = StepControl(order=8, grow=8.0)
# Of h^8 max(|y'|, |y''|), in tolerances, at the first step. The error of order 8 is some 1e-8 of that: Hairer's 0.01 makes it 1e-10.
FIRST_ERROR = 1e4
SMOOTH_ORDER = 4  # an error that falls more slowly than this power of the step is not that of a smooth field


class ExplicitStepper:
    """Steps of y' = rhs(y), with local error below `rtol` of `size(y_old, y_new)`.

    Kinks that are not located make the error estimate jump, and steps would shrink to nothing. So below `floor()` (a time) a
    step is also accepted with a larger local error, up to `forgiven`; such steps are counted.

    `size` gives the scale that each component is compared with. After a step, `t_old`, `t`, `y` and `dense()` are valid.
    """

    def __init__(
        self,
        rhs: Callable[[Array, Array], None],
        y: Array,
        t: float,
        rtol: float,
        size: Callable[[Array, Array], Array],
        floor: Callable[[], float],
    ) -> None:
        self.rhs, self.rtol, self.size, self.floor = rhs, rtol, size, floor
        self.forgiven = 0.1 * rtol ** (2 / 3)
        self.t = self.t_old = t
        self.y = y.copy()
        self.y_old = self.y
        self.slopes = np.empty((EXPLICIT_STAGES + 4, y.size))
        self.evaluations = 0
        self.evaluate(self.y, self.slopes[0])
        self.step_size = self._first_step()
        self.rejected = self.unresolved = 0
        self._refused: tuple[float, float] | None = None  # length and error of the step refused just before

    def restart(self, t: float, y: Array) -> None:
        """Go on from another state, maybe of another size; the step size is kept."""
        self.t, self.y = t, y.copy()
        if y.size != self.slopes.shape[1]:
            self.slopes = np.empty((EXPLICIT_STAGES + 4, y.size))
        self.evaluate(self.y, self.slopes[0])

    def _rough(self, h: float, error: float) -> bool:
        """Whether the error fell much more slowly than the order of the method when the step was shortened: there is a kink."""
        if self._refused is None:
            return False
        longer, larger = self._refused
        return bool(np.isfinite(larger) and larger < error * (longer / h) ** SMOOTH_ORDER)

    def evaluate(self, y: Array, out: Array) -> None:
        look_at_clock()
        self.rhs(y, out)
        self.evaluations += 1

    def _first_step(self) -> float:
        """Hairer's guess: the step over which slope and bend change y by what order 8 makes of them."""
        scale = self.rtol * self.size(self.y, self.y)
        speed = np.sqrt(np.mean((self.slopes[0] / scale) ** 2))
        if speed == 0.0:
            return 1.0
        probe = 0.01 / (self.rtol * speed)
        moved = np.empty_like(self.y)
        self.evaluate(self.y + probe * self.slopes[0], moved)
        bend = np.sqrt(np.mean(((moved - self.slopes[0]) / scale) ** 2)) / probe
        return float(min(100 * probe, (FIRST_ERROR / max(speed, bend)) ** (1 / 8)))

    def step(self, t_end: float) -> bool:
        """Try one step that does not pass `t_end`; False if it was rejected (then try again: the step is smaller)."""
        h = up_to(self.step_size, self.t, t_end)
        self.tried = h
        k = self.slopes
        new = self._before_end(self.y, h, k)
        error = self._error(new, h)
        kinked = error > 1.0 and h <= self.floor() and error * self.rtol <= self.forgiven and self._rough(h, error)
        if not np.isfinite(error) or (error > 1.0 and not kinked):
            self._refused = (h, error)
            self.step_size = h * EXPLICIT_CONTROL.growth(error)
            self.rejected += 1
            return False
        self.unresolved += int(kinked)
        self._refused = None
        self.evaluate(new, k[EXPLICIT_STAGES])
        self.t_old, self.y_old, self.y_new, self.h, self.error = self.t, self.y, new, h, error
        self.step_size = h if kinked else h * EXPLICIT_CONTROL.growth(error)
        return True

    def _before_end(self, y: Array, h: float, k: Array) -> Array:
        """The state after a step from y whose first slope is known; the other slopes but that at its end are written to k."""
        for s in range(1, EXPLICIT_STAGES):
            self.evaluate(combined(y, h, EXPLICIT_TABLEAU[s, :s], k), k[s])
        return np.asarray(combined(y, h, FINAL, k))

    def stages(self, y: Array, h: float, k: Array) -> Array:
        """The same, with the slope at its end."""
        new = self._before_end(y, h, k)
        self.evaluate(new, k[EXPLICIT_STAGES])
        return new

    @property
    def stiffness(self) -> float:
        """h |lambda| of the step just made, from the difference of its two slopes at the end; stability ends near 6."""
        k, last = self.slopes, EXPLICIT_STAGES - 1
        apart = self.y_new - combined(self.y_old, self.h, EXPLICIT_TABLEAU[last, :last], k)
        controlled = np.where(np.isfinite(self._sizes), 1.0, np.inf)
        gap = mean_square(apart, controlled)
        return self.h * float(np.sqrt(mean_square(k[EXPLICIT_STAGES] - k[last], controlled) / gap)) if gap > 0.0 else 0.0

    @property
    def end_slope(self) -> Array:
        """The slope at the end of the step just made."""
        return self.slopes[EXPLICIT_STAGES]

    def accept(self) -> None:
        """Move on to the end of the step just made."""
        self.t = self.t_old + self.h
        self.y = self.y_new
        self.slopes[0] = self.slopes[EXPLICIT_STAGES]

    def _error(self, new: Array, h: float) -> float:
        self._sizes, nothing = self.size(self.y, new), np.zeros_like(new)
        fifth, third = (
            mean_square(combined(nothing, 1.0, e[:EXPLICIT_STAGES], self.slopes), self._sizes) for e in (ERROR_5, ERROR_3)
        )
        return h / self.rtol * fifth / float(np.sqrt(fifth + 0.01 * third)) if fifth else 0.0

    def dense(self) -> DenseOutput:
        """The states within the step just made."""
        return DenseOutput(SeventhOrder(self, self.t_old, self.h, self.y_old, self.y_new, self.slopes))
