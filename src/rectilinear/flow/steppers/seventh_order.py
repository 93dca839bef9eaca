"""The dense output of order 7 of a step of Dormand and Prince, and what makes it better where it is not good enough.

It is y + sum_m r_m phi_m(u) at the share u of the step, phi = u, u(1-u), u^2(1-u), u^2(1-u)^2, ... The first three rows r_m are given
by states and slopes at both ends. The others are Hairer's, up to degree 7 (Hairer, Norsett & Wanner, Solving ODEs I, DOP853); their error
is of order h^8. Slopes f(y(u)) along it err by J times that, so the polynomial of degree 8 that has these slopes at five places is
better by about h|J| times what is left of an error that changes its sign within the step.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.integrate import DOP853

from ...arrays import Array
from ..compiled import fast_kernel
from .vector_sums import combined, mean_square

EXTRA_TABLEAU, DENSE = DOP853.A_EXTRA, DOP853.D
END_SLOPE = DOP853.n_stages  # the place of the slope at the end of the step
COMPONENTS_PER_PASS = 512  # components of a pass
INTERPOLANT_ROWS, BY_ENDS = 8, 3  # of the polynomial, and how many of them the ends give


@fast_kernel
def interpolated(base: Array, shares: Array, rows: Array) -> Array:
    """base + sum_m phi_m(u) rows_m for shares u (t,) of the step and rows (8, size), in blocks that stay in the cache."""
    out = np.empty((shares.shape[0], base.shape[0]))
    r0, r1, r2, r3, r4, r5, r6, r7 = rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7]
    for start in range(0, base.shape[0], COMPONENTS_PER_PASS):
        end = min(start + COMPONENTS_PER_PASS, base.shape[0])
        for t in range(shares.shape[0]):
            y, u = out[t], shares[t]
            c0, both = u, u * (1.0 - u)
            c1, c2, c3 = both, u * both, both * both
            c4, c5, c6, c7 = u * c3, both * c3, u * both * c3, c3 * c3
            for i in range(start, end):
                early = c0 * r0[i] + c1 * r1[i] + c2 * r2[i] + c3 * r3[i]
                late = c4 * r4[i] + c5 * r5[i] + c6 * r6[i] + c7 * r7[i]
                y[i] = base[i] + early + late
    return out


def _slopes(u: float) -> Array:
    """phi_m'(u), (8,)."""
    product, found = np.poly1d([1.0]), []
    for i in range(INTERPOLANT_ROWS):
        product = product * np.poly1d([1.0, 0.0] if i % 2 == 0 else [-1.0, 1.0])
        found.append(product.deriv()(u))
    return np.array(found)


LARGEST_DEFECT_AT = 0.7  # of the step, near where the defect is largest
INTERPOLANT_DEFECT_SHARE = 1 / 8  # the error is that of the defect there times the step (measured: 1/9 on smooth problems)
DEFECT_SLOPES = _slopes(LARGEST_DEFECT_AT)
PLACES = (LARGEST_DEFECT_AT, 0.08, 0.26, 0.48, 0.92)  # of the slopes that make it better, nearly those of Lobatto's rule
PLACE_SLOPES = np.array([_slopes(u) for u in PLACES])
BY_SLOPES = np.linalg.inv(PLACE_SLOPES[:, BY_ENDS:])
CHECK_AT = 0.38
CHECK_SLOPES, CHECK_SHARE = _slopes(CHECK_AT), 0.4  # measured: 0.3 in the median, 0.6 in one of twenty
WORTH_MENDING = 1.0
# Tolerances: a larger error is not mended by slopes (measured: in the median they make it 7 times smaller).
WORTH_SLOPES = 8.0


class Stepper(Protocol):
    """What steps from one state to another."""

    rtol: float

    def evaluate(self, y: Array, out: Array) -> None: ...

    def size(self, old: Array, new: Array) -> Array: ...

    def stages(self, y: Array, h: float, k: Array) -> Array: ...


class SeventhOrder:
    """The interpolant over a step from y to `new`, with slopes (16, size) of which the last three are to be found."""

    def __init__(self, stepper: Stepper, t: float, h: float, y: Array, new: Array, slopes: Array) -> None:
        self.stepper, self.t, self.h, self.y, self.slopes = stepper, t, h, y, slopes
        for s, row in enumerate(EXTRA_TABLEAU, END_SLOPE + 1):
            stepper.evaluate(combined(y, h, row[:s], slopes), slopes[s])
        change, nothing = new - y, np.zeros_like(y)
        self.rows = np.zeros((INTERPOLANT_ROWS, y.size))
        self.rows[0] = change
        self.rows[1] = h * slopes[0] - change
        self.rows[2] = 2 * change - h * (slopes[END_SLOPE] + slopes[0])
        self.rows[BY_ENDS:-1] = [combined(nothing, h, row, slopes) for row in DENSE]

    def at(self, times: Array) -> Array:
        return np.asarray(interpolated(self.y, (times - self.t) / self.h, self.rows))

    def error(self) -> float:
        slope = self._slope_at(LARGEST_DEFECT_AT)
        found = INTERPOLANT_DEFECT_SHARE * self._defect(slope, DEFECT_SLOPES)
        if not WORTH_MENDING < found <= WORTH_SLOPES:
            return found
        self._take_slopes(slope)
        return CHECK_SHARE * self._defect(self._slope_at(CHECK_AT), CHECK_SLOPES)

    def _slope_at(self, u: float) -> Array:
        """h f(y(u))."""
        slope = np.empty_like(self.y)
        self.stepper.evaluate(interpolated(self.y, np.array([u]), self.rows)[0], slope)
        return self.h * slope

    def _defect(self, slope: Array, own: Array) -> float:
        """How far the polynomial's own slope is off, in tolerances."""
        defect, sizes = combined(-slope, 1.0, own, self.rows), self.stepper.size(self.y, self.y + self.rows[0])
        return float(np.sqrt(mean_square(defect, sizes))) / self.stepper.rtol

    def _take_slopes(self, first: Array) -> None:
        """The polynomial of degree 8 with the slopes of this one at `PLACES`, of which the first is known."""
        slopes = np.array([first, *(self._slope_at(u) for u in PLACES[1:])])
        left = slopes - PLACE_SLOPES[:, :BY_ENDS] @ self.rows[:BY_ENDS]
        self.rows[BY_ENDS:] = BY_SLOPES @ left

    def halves(self) -> tuple[SeventhOrder, SeventhOrder]:
        h, slopes = 0.5 * self.h, (np.empty_like(self.slopes), np.empty_like(self.slopes))
        slopes[0][0] = self.slopes[0]
        middle = self.stepper.stages(self.y, h, slopes[0])
        slopes[1][0] = slopes[0][END_SLOPE]
        first = SeventhOrder(self.stepper, self.t, h, self.y, middle, slopes[0])
        end = self.stepper.stages(middle, h, slopes[1])
        return first, SeventhOrder(self.stepper, self.t + h, h, middle, end, slopes[1])
