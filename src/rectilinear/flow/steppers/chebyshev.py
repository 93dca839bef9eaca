"""Explicit steps whose stability grows with the square of their stages: for late phases, when fast directions have long settled.

Runge-Kutta-Chebyshev, order 2 (Sommeijer, Shampine & Verwer, J. Comput. Appl. Math. 88, 1997). Gradient flow is made for it: the
Jacobian is minus a Hessian, so its spectrum is real. With s stages the stable step is about 0.65 s^2 / |lambda|, 0.65 s a gradient,
where the method of order 8 has 0.5: no matrix is formed, so any depth and any number of samples will do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ...arrays import Array
from ..compiled import fast_kernel
from ..deadline import look_at_clock
from .dense_output import DenseOutput
from .step_size import StepControl, up_to

DAMPING = 2.0 / 13.0
MOST_STAGES = 200
STABILISED_CONTROL = StepControl(order=3, safety=0.8, shrink=0.1)
STEPS_PER_RADIUS = 25  # steps after which the spectral radius is estimated anew
ROOM = 1.1  # over the estimate, which comes from below
POWER_STEPS, SETTLED_RADIUS = 50, 1e-2  # of the power iteration
PLAIN_PROGRESS = 0.5  # time a gradient, in units of 1/|lambda|, of the method of order 8 at the limit of its stability
# The defect of a cubic is largest at (3 - sqrt 3)/6 of the step, sqrt 3/72 of the fourth derivative; its error is 1/384 of that.
CUBIC_DEFECT_AT, CUBIC_DEFECT_SHARE = (3 - np.sqrt(3.0)) / 6, 72 / (384 * np.sqrt(3.0))
PROBE = 1e-7  # of |y|: how far the field is probed for the radius


@lru_cache(maxsize=MOST_STAGES)
def coefficients(stages: int) -> tuple[float, Array]:
    """mu~_1, and rows (mu, nu, mu~, gamma~) for the stages j = 2..s (Eqs. 2.5 to 2.8 of the paper)."""
    w0 = 1.0 + DAMPING / stages**2
    t, d, dd = np.zeros(stages + 1), np.zeros(stages + 1), np.zeros(stages + 1)  # T_j, T_j', T_j'' at w0
    t[0], t[1], d[1] = 1.0, w0, 1.0
    for j in range(2, stages + 1):
        t[j] = 2 * w0 * t[j - 1] - t[j - 2]
        d[j] = 2 * t[j - 1] + 2 * w0 * d[j - 1] - d[j - 2]
        dd[j] = 4 * d[j - 1] + 2 * w0 * dd[j - 1] - dd[j - 2]
    w1 = d[stages] / dd[stages]
    b = np.empty(stages + 1)
    b[2:] = dd[2:] / d[2:] ** 2
    b[:2] = b[2]
    a = 1.0 - b * t
    mu, nu = 2 * w0 * b[2:] / b[1:-1], -b[2:] / b[:-2]
    mu_f = 2 * w1 * b[2:] / b[1:-1]
    return float(b[1] * w1), np.stack([mu, nu, mu_f, -a[1:-1] * mu_f], axis=1)


@fast_kernel
def next_stage(y: Array, start: Array, h: float, row: Array, before: Array, now: Array, slope: Array) -> None:
    """Write the stage after `now`, where the slope is `slope`, over the one `before` it."""
    mu, nu, mu_f, gamma_f = row
    base = 1.0 - mu - nu
    for i in range(y.shape[0]):
        before[i] = base * y[i] + mu * now[i] + nu * before[i] + h * (mu_f * slope[i] + gamma_f * start[i])


@fast_kernel
def step_error(y: Array, new: Array, slopes: Array, h: float, sizes: Array) -> float:
    """The estimate 0.8 (y - new) + 0.4 h (sum of the slopes at both ends) of a step's error over `sizes`, root mean square."""
    total = 0.0
    for i in range(y.shape[0]):
        share = (0.8 * (y[i] - new[i]) + 0.4 * h * (slopes[0, i] + slopes[1, i])) / sizes[i]
        total += share * share
    return np.sqrt(total / y.shape[0])


class Cubic:
    """The interpolant of order 3 over a step, by the states and slopes at its ends."""

    def __init__(
        self, stepper: StabilisedStepper, t: float, h: float, y: tuple[Array, Array], slopes: tuple[Array, Array]
    ) -> None:
        self.stepper, self.t, self.h, self.y, self.slopes = stepper, t, h, y, slopes
        change = y[1] - y[0]
        self.change, self.first, self.last = change, h * slopes[0] - change, h * slopes[1] - change

    def at(self, times: Array) -> Array:
        u = ((times - self.t) / self.h)[:, None]
        return np.asarray(self.y[0] + u * (self.change + (1 - u) * ((1 - u) * self.first - u * self.last)))

    def error(self) -> float:
        u, slope = CUBIC_DEFECT_AT, np.empty_like(self.change)
        self.stepper.evaluate(self.at(np.array([self.t + u * self.h]))[0], slope)
        own = self.change + (1 - 4 * u + 3 * u * u) * self.first - (2 * u - 3 * u * u) * self.last
        sizes = self.stepper.size(*self.y)
        return float(CUBIC_DEFECT_SHARE / self.stepper.rtol * np.sqrt(np.mean(((own - self.h * slope) / sizes) ** 2)))

    def halves(self) -> tuple[Cubic, Cubic]:
        h, slope = 0.5 * self.h, np.empty_like(self.change)
        middle = self.stepper.after(self.y[0], self.slopes[0], h)
        self.stepper.evaluate(middle, slope)
        return (
            Cubic(self.stepper, self.t, h, (self.y[0], middle), (self.slopes[0], slope)),
            Cubic(self.stepper, self.t + h, h, (middle, self.y[1]), (slope, self.slopes[1])),
        )


class StabilisedStepper:
    """Steps of y' = rhs(y) with local error below `rtol` of `size(y_old, y_new)`; the members are those of `ExplicitStepper`."""

    def __init__(
        self,
        rhs: Callable[[Array, Array], None],
        y: Array,
        t: float,
        rtol: float,
        size: Callable[[Array, Array], Array],
        h: float,
    ) -> None:
        self.rhs, self.rtol, self.size = rhs, rtol, size
        self.t = self.t_old = t
        self.y = self.y_old = y.copy()
        self.slopes = np.empty((2, y.size))
        self.evaluations = self.rejected = self.unresolved = 0
        self.evaluate(self.y, self.slopes[0])
        self.step_size = h
        self.refused = 0  # steps in a row
        self._controlled = np.isfinite(size(y, y))
        self._fastest = np.where(self._controlled, self.slopes[0], 0.0)
        self.radius, self._age = 0.0, STEPS_PER_RADIUS

    def restart(self, t: float, y: Array) -> None:
        """Go on from another state, maybe of another size; the step size is kept."""
        another = y.size != self.y.size
        self.t, self.y = t, y.copy()
        if another:
            self.slopes = np.empty((2, y.size))
        self.evaluate(self.y, self.slopes[0])
        if another:
            self._controlled = np.isfinite(self.size(y, y))
            self._fastest = np.where(self._controlled, self.slopes[0], 0.0)
        self._age = STEPS_PER_RADIUS

    def evaluate(self, y: Array, out: Array) -> None:
        look_at_clock()
        self.rhs(y, out)
        self.evaluations += 1

    def _spectral_radius(self) -> float:
        """|lambda| of the fastest direction, by power iteration on differences of the field; remembered for some steps."""
        if self._age < STEPS_PER_RADIUS:
            return self.radius
        probe, moved, radius = PROBE * max(float(np.sqrt(np.sum(self.y**2))), PROBE), np.empty_like(self.y), 0.0
        for _ in range(POWER_STEPS):
            length = float(np.sqrt(np.sum(self._fastest**2)))
            if length == 0.0:
                break
            self.evaluate(self.y + probe / length * self._fastest, moved)
            self._fastest = np.where(self._controlled, moved - self.slopes[0], 0.0)
            before, radius = radius, float(np.sqrt(np.sum(self._fastest**2))) / probe
            if abs(radius - before) <= SETTLED_RADIUS * radius:
                break
        self.radius, self._age = ROOM * radius, 0
        return self.radius

    def step(self, t_end: float) -> bool:
        """Try one step that does not pass `t_end`; False if it was rejected (then try again: the step is smaller)."""
        h = up_to(self.step_size, self.t, t_end)
        self.tried = h
        radius = self._spectral_radius()
        stages = 1 + int(np.sqrt(1.0 + 1.54 * h * radius))
        if stages > MOST_STAGES:
            stages, h = MOST_STAGES, (MOST_STAGES**2 - 1) / (1.54 * radius)
        self.stages = max(stages, 2)
        new = self.after(self.y, self.slopes[0], h)
        self.evaluate(new, self.slopes[1])
        error = self._error(new, h)
        if not error <= 1.0:
            self.step_size = h * STABILISED_CONTROL.growth(error)
            self.rejected += 1
            self.refused += 1
            self._age = STEPS_PER_RADIUS
            return False
        self.refused = 0
        self._age += 1
        self.t_old, self.y_old, self.y_new, self.h, self.error = self.t, self.y, new, h, error
        self.step_size = h * STABILISED_CONTROL.growth(error)
        return True

    def after(self, y: Array, start: Array, h: float) -> Array:
        """The state after a step from y, where the slope is `start`."""
        first, rest = coefficients(self.stages)
        slope = np.empty_like(y)
        before, now = y.copy(), y + first * h * start
        for row in rest:
            self.evaluate(now, slope)
            next_stage(y, start, h, row, before, now, slope)
            before, now = now, before
        return now

    def _error(self, new: Array, h: float) -> float:
        with np.errstate(invalid="ignore", over="ignore"):
            return step_error(self.y, new, self.slopes, h, self.size(self.y, new)) / self.rtol

    @property
    def gain(self) -> float:
        """How much further a gradient of the last step went than one of order 8 at the limit of its stability would have."""
        return self.h * self.radius / (self.stages * PLAIN_PROGRESS)

    @property
    def end_slope(self) -> Array:
        """The slope at the end of the step just made."""
        return self.slopes[1]

    def accept(self) -> None:
        """Move on to the end of the step just made."""
        self.t = self.t_old + self.h
        self.y = self.y_new
        self.slopes[0] = self.slopes[1]

    def cubic(self) -> Cubic:
        """The states within the step just made, as exact as the step where kinks limit it."""
        return Cubic(self, self.t_old, self.h, (self.y_old, self.y_new), (self.slopes[0].copy(), self.slopes[1]))

    def dense(self) -> DenseOutput:
        """The states within the step just made."""
        return DenseOutput(self.cubic())
