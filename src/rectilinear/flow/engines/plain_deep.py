"""Plain steps of deep networks that leave every kink to the error control: for loose tolerances.

Steps of order 3 (steppers/third_order.py), with three gradients each: higher orders lose at kinks what they win between them. Late,
when stability limits steps, stabilised ones take over (steppers/chebyshev.py): the flow is a gradient's, so its spectrum is real.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...problem import Problem
from ..field.deep import DeepField
from ..field.deep_kernels import layer_sizes
from ..field.two_layer_kernels import square_length
from ..state import flatten
from ..steppers.third_order import ThirdOrderStepper
from ..tolerances import TINY
from .engine import States

RTOL_SHARE_OF_DEEP_STEP = 0.5  # errors of steps add up, those at kinks are estimated too small
FIRST_DEEP_STEP = 0.1  # cbrt(rtol) of the time in which layers change by their own size, as a step's error is of order 3


class PlainDeepSteps:
    """The engine."""

    name = "plain steps"
    chattering = False

    def __init__(self, problem: Problem, field: DeepField, rtol: float) -> None:
        self.field, self.step_rtol = field, RTOL_SHARE_OF_DEEP_STEP * rtol
        self.energy = self.estimated_error = self.loss = 0.0
        self.sizes = np.empty(field.size)
        self.stepper = ThirdOrderStepper(self._slope, flatten(problem.weights), 0.0, self.step_rtol, self._sizes, 1.0)
        start = self.stepper.y
        speed = float(np.sqrt(np.mean((self.stepper.slopes[0] / self._sizes(start, start)) ** 2)))
        self.stepper.step_size = FIRST_DEEP_STEP * np.cbrt(self.step_rtol) / max(speed, TINY)
        self.steps, self.made = 0, False

    def _slope(self, theta: Array, out: Array) -> None:
        _, self.loss = self.field.slope(theta, out)

    def _sizes(self, old: Array, new: Array) -> Array:
        """The size of each weight's layer."""
        layer_sizes(self.field.net.shapes, old, new, self.sizes)
        return self.sizes

    @property
    def t(self) -> float:
        return self.stepper.t

    @property
    def step_end(self) -> float:
        return self.stepper.t + self.stepper.h

    def attempt(self, t_end: float) -> bool:
        with np.errstate(over="ignore", invalid="ignore"):  # a stage too far out: the step will be refused
            self.made = self.stepper.step(t_end)
        return self.made

    def _gain(self) -> float:
        """The integral of |dtheta/dt|^2 = -grad L.dtheta/dt over the step.

        The second form, as grad L itself jumps to and fro where neurons slide along kinks.
        """
        first, last = self.stepper.slopes
        return 0.5 * float((self.stepper.y_new - self.stepper.y) @ (first + last))

    def states(self, times: Array) -> States:
        if not self.made:
            return States(self.stepper.y[None].copy(), np.full(len(times), self.energy), self.estimated_error)
        shares = (times - self.stepper.t) / self.stepper.h
        return States(self.stepper.cubic().at(times), self.energy + shares * self._gain(), self.estimated_error)

    def commit(self) -> tuple[float, float]:
        self.energy += self._gain()
        self.estimated_error += self.step_rtol * self.stepper.error
        self.stepper.accept()
        self.steps, self.made = self.steps + 1, False
        return float(np.sqrt(square_length(self.stepper.slopes[0]))), self.loss

    def successor(self) -> None:
        return None

    def statistics(self) -> dict[str, int]:
        return {"steps": self.steps, "rejected": self.stepper.rejected, "gradients": self.stepper.evaluations}

    def events(self) -> None:
        return None

    def group_counts(self) -> None:
        return None
