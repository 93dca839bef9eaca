"""Plain Runge-Kutta steps that leave every kink to the error control: for loose tolerances.

Where some per mille are enough, paying for every crossing does not pay: a step of order 5 over many light kinks is as good. Sliding
neurons chatter across their kinks within the tolerance, and where one leaves is decided by it.

Where the tolerance allows it the field's large products are made in single precision, which takes less than half the time: as long as
rounding, of 6e-8, changes pulls by less than ROUNDING_SHARE of the tolerance and the gradient by less than a tenth of itself. Both are
measured at the end of every step, and a fit that leaves little to pull at, or a gradient that vanishes, goes on in double precision.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ...arrays import Array
from ...problem import Problem
from ..deadline import look_at_clock
from ..field.single_precision import UNIT, Rounding, Rows, unit_blocks
from ..field.two_layer import TwoLayerField
from ..field.two_layer_kernels import INPUT_TILE, NEURON_TILE, square_length
from ..state import flatten
from ..steppers import tsitouras
from ..steppers.step_size import StepControl, up_to
from ..threads import in_shares, shares
from .plain_step_kernels import StageSlopes, all_stages, drive_share, relative_error, stage, velocity

PLAIN_CONTROL = StepControl(order=5, grow=10.0)
RTOL_SHARE_OF_STEP = 0.3  # of the tolerance, for one step: errors of steps add up, those at kinks are estimated too small
ROUNDING_SHARE = 0.1  # of the tolerance, that single precision may change the pulls by
CLEAR_GRADIENT = 10.0  # times its rounding that a gradient in single precision must be
SINGLE_WORK = 0.4  # time of a multiply-add in single precision, of one in double
FIRST_STEP = 0.1  # of the time in which neurons change by their own size


class Slopes(Protocol):
    """Where weights move, in the form `start` that suits the machine."""

    start: Array

    def slope(self, y: Array, out: Array) -> tuple[float, float]:
        """Write -grad L to `out`; returns |grad L|^2 and the loss without regularisation."""
        ...

    def quick_stages(self, y: Array, slopes: Array, squares: Array, h: float, new: Array) -> float | None:
        """All stages of a step at once; returns the loss at its end, None where they are better made one by one."""
        ...

    def relative(self, y: Array, new: Array, slopes: Array, weights: Array) -> float:
        """sum_s weights_s slopes_s over the size of the weights, the larger of y's and new's (root mean square)."""
        ...

    def watch_rounding(self, y: Array, square: float, rtol: float) -> None:
        """Leave single precision if it does not suffice at y, where |grad L|^2 is `square` and the last slope was taken."""
        ...

    def flat(self, y: Array) -> Array:
        """Flat weights (t, size) of y (t, ...)."""
        ...


class TwoLayerSlopes:
    """Two layers, flat and padded with zeros to whole tiles, which stay zero: each slope is one fused pass over the samples."""

    def __init__(self, problem: Problem, field: TwoLayerField) -> None:
        network = problem.network
        folded, (first, second) = field.folded, network.trainable_layers
        blocks = unit_blocks(folded.rows, folded.lengths)
        self.field = Rows(folded, problem.data.samples, (first, second), problem.l2, blocks)
        self.single, self.rounding = True, Rounding(0.0, 0.0, 0.0)
        self.neurons, self.inputs = network.shapes[0]
        self.rows = -(-self.neurons // NEURON_TILE) * NEURON_TILE
        self.columns = -(-self.inputs // INPUT_TILE) * INPUT_TILE
        self.drive = np.empty((self.rows, self.columns))
        padded = np.zeros((self.rows, self.columns))
        padded[: self.neurons, : self.inputs] = problem.weights[0]
        self.start = np.concatenate([padded.ravel(), problem.weights[1][0], np.zeros(self.rows - self.neurons)])
        self.count = len(self.field.blocks)

    @property
    def work(self) -> float:
        """Of a slope, in multiply-adds of double precision."""
        return SINGLE_WORK**self.single * float(self.field.folded.rows.shape[1] * self.drive.size)

    def slope(self, y: Array, out: Array) -> tuple[float, float]:
        def share(first: int, last: int) -> tuple[Array, float, Rounding]:
            drive = np.empty_like(self.drive)
            return drive, *drive_share(self.field, y, first, last, self.single, True, drive)

        (drive, total, self.rounding), *others = in_shares(share, self.count, self.work)
        for more, part, rounding in others:
            drive += more
            total += part
            self.rounding = Rounding(*(one + other for one, other in zip(self.rounding, rounding, strict=True)))
        return velocity(self.field, y, drive, out), total / self.field.samples

    def quick_stages(self, y: Array, slopes: Array, squares: Array, h: float, new: Array) -> float | None:
        if shares(self.count, self.work) > 1:
            return None
        total, self.rounding = all_stages(
            self.field, y, StageSlopes(slopes, squares), tsitouras.TABLE, h, self.single, new, self.drive
        )
        return total / self.field.samples

    def watch_rounding(self, y: Array, square: float, rtol: float) -> None:
        wrong, squares, reach = self.rounding
        pulls_kept = UNIT * np.sqrt(wrong + squares) <= ROUNDING_SHARE * rtol * np.sqrt(squares)
        gradient_kept = CLEAR_GRADIENT * UNIT * reach * np.sqrt(square_length(y)) <= self.field.samples * np.sqrt(square)
        self.single = self.single and bool(pulls_kept and gradient_kept)

    def relative(self, y: Array, new: Array, slopes: Array, weights: Array) -> float:
        return relative_error(y, new, slopes, weights, self.neurons, self.rows)

    def flat(self, y: Array) -> Array:
        cut = self.rows * self.columns
        w = y[:, :cut].reshape(-1, self.rows, self.columns)[:, : self.neurons, : self.inputs]
        return flatten((w, y[:, None, cut : cut + self.neurons]))


class PlainSteps:
    """The engine."""

    name = "plain steps"
    chattering = False

    def __init__(self, slopes: Slopes, rtol: float, t: float = 0.0, energy: float = 0.0) -> None:
        self.field, self.rtol = slopes, rtol
        self.t, self.energy, self.estimated_error = t, energy, 0.0
        self.y = slopes.start
        self.new = np.empty_like(self.y)
        self.slopes, self.squares = np.empty((tsitouras.PLAIN_STAGES, self.y.size)), np.empty(tsitouras.PLAIN_STAGES)
        self.counts = {"steps": 0, "rejected": 0, "gradients": 1}
        self.squares[0], self.end_loss = self.field.slope(self.y, self.slopes[0])
        self.field.watch_rounding(self.y, self.squares[0], rtol)
        speed = self.field.relative(self.y, self.y, self.slopes[:1], np.ones(1))
        self.step_size = FIRST_STEP / max(speed, np.finfo(float).tiny)
        self.h = 0.0

    @property
    def step_end(self) -> float:
        return self.t + self.h

    def attempt(self, t_end: float) -> bool:
        h, self.h = up_to(self.step_size, self.t, t_end), 0.0
        with np.errstate(over="ignore", invalid="ignore"):  # a stage too far out: the step will be refused
            loss = self.field.quick_stages(self.y, self.slopes, self.squares, h, self.new)
            for s in range(1, tsitouras.PLAIN_STAGES if loss is None else 1):
                look_at_clock()
                stage(self.y, self.slopes, tsitouras.TABLE[s, :s], h, self.new)
                self.squares[s], loss = self.field.slope(self.new, self.slopes[s])
            self.step_error = h * self.field.relative(self.y, self.new, self.slopes, tsitouras.ERROR_WEIGHTS)
        assert loss is not None
        self.end_loss = loss
        error = self.step_error / (RTOL_SHARE_OF_STEP * self.rtol)
        self.counts["gradients"] += tsitouras.PLAIN_STAGES - 1
        self.step_size = h * PLAIN_CONTROL.growth(error)
        accepted = error <= 1.0
        self.h = h if accepted else 0.0
        self.counts["steps" if accepted else "rejected"] += 1
        return accepted

    def states(self, times: Array) -> tuple[Array, Array]:
        if not self.h:
            return self.field.flat(self.y[None]), np.full(len(times), self.energy)
        weights = self.h * tsitouras.interpolant((times - self.t) / self.h)
        return self.field.flat(self.y + weights @ self.slopes), self.energy + weights @ self.squares

    def commit(self) -> tuple[float, float]:
        self.t += self.h
        self.estimated_error += self.step_error
        self.energy += self.h * float(tsitouras.TABLE[-1] @ self.squares)
        self.h = 0.0
        self.y, self.new = self.new, self.y
        self.slopes[0], self.squares[0] = self.slopes[-1], self.squares[-1]
        self.field.watch_rounding(self.y, self.squares[0], self.rtol)
        return float(np.sqrt(self.squares[0])), self.end_loss

    def successor(self) -> None:
        return None

    def statistics(self) -> dict[str, int]:
        return dict(self.counts)

    def events(self) -> None:
        return None

    def group_counts(self) -> None:
        return None


def plain_steps(problem: Problem, field: TwoLayerField, rtol: float, t: float = 0.0, energy: float = 0.0) -> PlainSteps:
    """The engine for a problem of two layers whose weights are those at time t."""
    return PlainSteps(TwoLayerSlopes(problem, field), rtol, t, energy)
