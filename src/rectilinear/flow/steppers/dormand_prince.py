"""Adaptive explicit stepping of order 8: the pair of Dormand and Prince with its dense output of order 7.

The coefficients are SciPy's (Hairer, Norsett & Wanner, Solving ODEs I, DOP853); the error norm is ours, because weights of
size 1e-8 and of size 1 meet in one run: every neuron is held to its own size.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import DOP853

from ...arrays import Array
from ..compiled import fast_kernel
from ..deadline import look_at_clock
from .dense_output import DenseOutput
from .step_size import StepControl, up_to

EXPLICIT_STAGES = 12
EXPLICIT_TABLEAU, FINAL = DOP853.A[:EXPLICIT_STAGES, :EXPLICIT_STAGES], DOP853.B
EXTRA_TABLEAU, DENSE = DOP853.A_EXTRA, DOP853.D
ERROR_3, ERROR_5 = DOP853.E3, DOP853.E5
EXPLICIT_CONTROL = StepControl(order=8, grow=8.0)
ROWS_PER_TILE = 4  # rows of a pass
COMPONENTS_PER_PASS = 512  # components of a pass
ROWS = 7  # of the dense output
SMOOTH_ORDER = 4  # an error that falls more slowly than this power of the step is not that of a smooth field


@fast_kernel
def combined(base: Array, factor: float, coefficients: Array, rows: Array) -> Array:
    """base + factor sum_s c_s rows_s for rows (stages or more, size): too small a product for the threads of BLAS."""
    whole_tiles = len(coefficients) + ROWS_PER_TILE
    c, place = np.zeros(whole_tiles), np.zeros(whole_tiles, np.intp)
    used = 0
    for s in range(len(coefficients)):
        if coefficients[s] != 0.0:
            c[used], place[used] = factor * coefficients[s], s
            used += 1
    out = np.empty(len(base))
    for i in range(len(out)):
        out[i] = base[i]
    for s in range(0, used, ROWS_PER_TILE):
        c0, c1, c2, c3 = c[s], c[s + 1], c[s + 2], c[s + 3]
        k0, k1, k2, k3 = rows[place[s]], rows[place[s + 1]], rows[place[s + 2]], rows[place[s + 3]]
        for i in range(len(out)):
            out[i] += c0 * k0[i] + c1 * k1[i] + c2 * k2[i] + c3 * k3[i]
    return out


@fast_kernel
def mean_square(values: Array, sizes: Array) -> float:
    """Mean of (v_i/s_i)^2."""
    total = 0.0
    for i in range(values.shape[0]):
        share = values[i] / sizes[i]
        total += share * share
    return total / values.shape[0]


@fast_kernel
def interpolated(base: Array, weights: Array, rows: Array) -> Array:
    """base + weights @ rows, for weights (t, 7) and rows (7, size), in blocks that stay in the cache."""
    out = np.empty((weights.shape[0], base.shape[0]))
    r0, r1, r2, r3, r4, r5, r6 = rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6]
    for start in range(0, base.shape[0], COMPONENTS_PER_PASS):
        end = min(start + COMPONENTS_PER_PASS, base.shape[0])
        for t in range(weights.shape[0]):
            y, c = out[t], weights[t]
            c0, c1, c2, c3, c4, c5, c6 = c[0], c[1], c[2], c[3], c[4], c[5], c[6]
            for i in range(start, end):
                early, late = c0 * r0[i] + c1 * r1[i] + c2 * r2[i], c3 * r3[i] + c4 * r4[i] + c5 * r5[i] + c6 * r6[i]
                y[i] = base[i] + early + late
    return out


def _nested(u: Array) -> Array:
    """The weights (t, 7) of the rows of a dense output at shares u (t,) of the step: products of u and 1 - u in turn."""
    return np.asarray(np.cumprod([u if i % 2 == 0 else 1.0 - u for i in range(ROWS)], axis=0).T, dtype=np.float64)


def _nested_slopes(u: float) -> Array:
    """Their derivatives (7,) at one share of the step."""
    product, found = np.poly1d([1.0]), []
    for i in range(ROWS):
        product = product * np.poly1d([1.0, 0.0] if i % 2 == 0 else [-1.0, 1.0])
        found.append(product.deriv()(u))
    return np.array(found)


LARGEST_DEFECT_AT = 0.7  # of the step, near where the defect is largest
INTERPOLANT_DEFECT_SHARE = (
    1 / 8
)  # the error of the interpolant is that of its defect there times the step (measured: 1/9 on smooth problems)
DEFECT_WEIGHTS, DEFECT_SLOPES = _nested(np.array([LARGEST_DEFECT_AT])), _nested_slopes(LARGEST_DEFECT_AT)


class SeventhOrder:
    """The interpolant of order 7 over a step from y to `new`, with slopes (16, size) of which the last three are to be found."""

    def __init__(self, stepper: ExplicitStepper, t: float, h: float, y: Array, new: Array, slopes: Array) -> None:
        self.stepper, self.t, self.h, self.y, self.slopes = stepper, t, h, y, slopes
        for s, row in enumerate(EXTRA_TABLEAU, EXPLICIT_STAGES + 1):
            stepper.evaluate(combined(y, h, row[:s], slopes), slopes[s])
        change, nothing = new - y, np.zeros_like(y)
        self.rows = np.empty((ROWS, y.size))
        self.rows[0] = change
        self.rows[1] = h * slopes[0] - change
        self.rows[2] = 2 * change - h * (slopes[EXPLICIT_STAGES] + slopes[0])
        self.rows[3:] = [combined(nothing, h, row, slopes) for row in DENSE]

    def at(self, times: Array) -> Array:
        return np.asarray(interpolated(self.y, _nested((times - self.t) / self.h), self.rows))

    def error(self) -> float:
        stepper, slope = self.stepper, np.empty_like(self.y)
        stepper.evaluate(interpolated(self.y, DEFECT_WEIGHTS, self.rows)[0], slope)
        defect = combined(-self.h * slope, 1.0, DEFECT_SLOPES, self.rows)
        return (
            INTERPOLANT_DEFECT_SHARE
            / stepper.rtol
            * float(np.sqrt(mean_square(defect, stepper.size(self.y, self.y + self.rows[0]))))
        )

    def halves(self) -> tuple[SeventhOrder, SeventhOrder]:
        h, slopes = 0.5 * self.h, (np.empty_like(self.slopes), np.empty_like(self.slopes))
        slopes[0][0] = self.slopes[0]
        middle = self.stepper.stages(self.y, h, slopes[0])
        slopes[1][0] = slopes[0][EXPLICIT_STAGES]
        first = SeventhOrder(self.stepper, self.t, h, self.y, middle, slopes[0])
        end = self.stepper.stages(middle, h, slopes[1])
        return first, SeventhOrder(self.stepper, self.t + h, h, middle, end, slopes[1])


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
        """Go on from another state; the step size is kept."""
        self.t, self.y = t, y.copy()
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
        """Hairer's guess: the step over which slope and bend change y by about the tolerance."""
        scale = self.rtol * self.size(self.y, self.y)
        speed = np.sqrt(np.mean((self.slopes[0] / scale) ** 2))
        if speed == 0.0:
            return 1.0
        probe = 0.01 / (self.rtol * speed)
        moved = np.empty_like(self.y)
        self.evaluate(self.y + probe * self.slopes[0], moved)
        bend = np.sqrt(np.mean(((moved - self.slopes[0]) / scale) ** 2)) / probe
        return float(min(100 * probe, (0.01 / max(speed, bend)) ** (1 / 8)))

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
