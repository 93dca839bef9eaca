"""Plain Runge-Kutta steps that leave every kink to the error control: for loose tolerances.

Where some per mille are enough, paying for every crossing does not pay: a step of order 5 over many light kinks is as good. Sliding
neurons chatter across their kinks within the tolerance, and where one leaves is decided by it.

Where the tolerance allows it the field's large products are made in single precision, which takes less than half the time: as long as
rounding, of 6e-8, changes pulls by less than ROUNDING_SHARE of the tolerance and the gradient by less than a tenth of itself. Both are
measured at the end of every step, and a fit that leaves little to pull at, or a gradient that vanishes, goes on in double precision.
"""

from __future__ import annotations

from dataclasses import astuple
from math import sqrt

import numpy as np

from ...arrays import Array
from ...problem import Problem
from ..deadline import CHUNK_WORK, look_at_clock
from ..field.single_precision import Rounding, Rows, unit_blocks
from ..field.small_products import TILE
from ..field.two_layer import DRIVE_WORK, TwoLayerField
from ..state import flatten
from ..steppers import tsitouras
from ..steppers.step_size import StepControl, up_to
from ..threads import in_shares, shares
from .engine import States
from .plain_step_kernels import (
    Control,
    Kept,
    Layout,
    Moment,
    StageSlopes,
    drive_share,
    keep_step,
    relative_error,
    single_suffices,
    stage,
    steps_ahead,
    velocity,
)

PLAIN_CONTROL = StepControl(order=5, grow=10.0)
COMPILED_CONTROL = astuple(PLAIN_CONTROL)
RTOL_SHARE_OF_STEP = 0.3  # of the tolerance, for one step: errors of steps add up, those at kinks are estimated too small
SINGLE_WORK = 0.6  # time of a multiply-add of a drive in single precision, of one in double
FIRST_STEP = 0.1  # of the time in which neurons change by their own size
MOST_AHEAD = 32  # steps of one call


class TwoLayerSlopes:
    """Two layers, flat and padded with zeros to whole tiles, which stay zero: each slope is one fused pass over the samples."""

    def __init__(self, problem: Problem, field: TwoLayerField) -> None:
        network = problem.network
        folded, (first, second) = field.folded, network.trainable_layers
        blocks = unit_blocks(folded.rows, folded.lengths)
        self.field = Rows(folded, problem.data.samples, (first, second), problem.l2, blocks)
        self.single, self.rounding = True, Rounding(0.0, 0.0, 0.0)
        neurons, inputs = network.shapes[0]
        rows, columns = -(-neurons // TILE) * TILE, -(-inputs // TILE) * TILE
        self.layout = Layout(neurons, inputs, rows, columns)
        self.drive = np.empty((rows, columns))
        padded = np.zeros((rows, columns))
        padded[:neurons, :inputs] = problem.weights[0]
        self.start = np.concatenate([padded.ravel(), problem.weights[1][0], np.zeros(rows - neurons)])
        self.count = len(self.field.blocks)

    @property
    def work(self) -> float:
        """Of a slope, in multiply-adds as threads count them."""
        return DRIVE_WORK * SINGLE_WORK**self.single * float(self.field.folded.rows.shape[1] * self.drive.size)

    @property
    def shared(self) -> bool:
        """Whether a slope is shared out among threads."""
        return shares(self.count, self.work) > 1

    def slope(self, y: Array, out: Array) -> tuple[float, float]:
        """Write -grad L to `out`; returns |grad L|^2 and the loss without regularisation."""

        def share(first: int, last: int) -> tuple[Array, float, Rounding]:
            drive = np.empty_like(self.drive)
            return drive, *drive_share(self.field, y, first, last, self.single, True, drive)

        (drive, total, self.rounding), *others = in_shares(share, self.count, self.work)
        for more, part, rounding in others:
            drive += more
            total += part
            self.rounding = Rounding(*(one + other for one, other in zip(self.rounding, rounding, strict=True)))
        return velocity(self.field, y, drive, out), total / self.field.samples

    def watch_rounding(self, y: Array, square: float, rtol: float) -> None:
        """Leave single precision if it does not suffice at y, where |grad L|^2 is `square` and the last slope was taken."""
        self.single = self.single and single_suffices(self.field, y, self.rounding, square, rtol)

    def relative(self, y: Array, new: Array, slopes: Array, weights: Array) -> float:
        """sum_s weights_s slopes_s over the size of the weights, the larger of y's and new's (root mean square)."""
        return relative_error(y, new, slopes, weights, self.layout.neurons, self.layout.rows)

    def flat(self, y: Array) -> Array:
        """Flat weights (t, size) of y (t, ...)."""
        neurons, inputs, rows, columns = self.layout
        w = y[:, : rows * columns].reshape(-1, rows, columns)[:, :neurons, :inputs]
        return flatten((w, y[:, None, rows * columns : rows * columns + neurons]))


class PlainSteps:
    """The engine, asked for states at `times`. Where a slope takes no second thread it makes many steps at one call, unless they are
    asked for `one_by_one`."""

    name = "plain steps"
    chattering = False

    def __init__(
        self,
        slopes: TwoLayerSlopes,
        rtol: float,
        times: Array,
        t: float = 0.0,
        energy: float = 0.0,
        one_by_one: bool = False,
    ) -> None:
        self.field, self.rtol, self.times, self.one_by_one = slopes, rtol, times, one_by_one
        self.control = Control(RTOL_SHARE_OF_STEP * rtol, rtol, COMPILED_CONTROL)
        y, stages = slopes.start, tsitouras.PLAIN_STAGES
        self.stages = StageSlopes(np.empty((stages, y.size)), np.empty(stages))
        self.counts = {"steps": 0, "rejected": 0, "gradients": 1}
        square, loss = self.field.slope(y, self.stages.slopes[0])
        self.stages.squares[0] = square
        self.field.watch_rounding(y, square, rtol)
        speed = self.field.relative(y, y, self.stages.slopes[:1], np.ones(1))
        self.step_size = FIRST_STEP / max(speed, np.finfo(float).tiny)
        self.now = self.next = Moment(t, y, energy, 0.0, square, loss)

    @property
    def t(self) -> float:
        return self.now.t

    @property
    def estimated_error(self) -> float:
        return self.now.error

    @property
    def step_end(self) -> float:
        return self.next.t

    def attempt(self, t_end: float) -> bool:
        look_at_clock()
        times = self.times[np.searchsorted(self.times, self.t, side="right") :]
        neurons, inputs = self.field.layout[:2]
        weights = np.empty((len(times), neurons * (inputs + 1)))  # memory is taken as it fills
        self.kept = Kept(times, weights, np.empty(len(times)), np.empty(len(times)))
        made = self._step(t_end) if self.field.shared else self._steps_ahead(t_end)
        self.counts["steps"] += made
        return made > 0

    def _steps_ahead(self, t_end: float) -> int:
        field, steps = self.field, CHUNK_WORK / (self.field.work * tsitouras.PLAIN_STAGES)
        most = 1 if self.one_by_one else max(1, min(int(steps), MOST_AHEAD))
        self.next, made, refused, self.step_size, field.single = steps_ahead(
            field.field,
            field.layout,
            self.now,
            self.stages,
            self.step_size,
            t_end,
            most,
            self.control,
            field.single,
            self.kept,
            field.drive,
        )
        self._count(made + refused, refused)
        return made

    def _step(self, t_end: float) -> int:
        """One step, with the stages in Python, which shares them out."""
        h, (slopes, squares), (t, y, _, errors, _, _) = up_to(self.step_size, self.t, t_end), self.stages, self.now
        new, loss = np.empty_like(y), 0.0
        with np.errstate(over="ignore", invalid="ignore"):  # a stage too far out: the step will be refused
            for s in range(1, tsitouras.PLAIN_STAGES):
                look_at_clock()
                stage(y, slopes, tsitouras.TABLE[s, :s], h, new)
                squares[s], loss = self.field.slope(new, slopes[s])
            error = h * self.field.relative(y, new, slopes, tsitouras.ERROR_WEIGHTS)
        self.step_size = h * PLAIN_CONTROL.growth(error / self.control.allowed)
        made = int(error <= self.control.allowed)
        self._count(1, 1 - made)
        if made:
            _, energy = keep_step(self.field.layout, self.now, self.stages, h, self.kept, 0)
            self.next = Moment(t + h, new, energy, errors + error, squares[-1], loss)
            slopes[0], squares[0] = slopes[-1], squares[-1]
            self.field.watch_rounding(new, squares[0], self.rtol)
        return made

    def _count(self, tried: int, refused: int) -> None:
        self.counts["gradients"] += tried * (tsitouras.PLAIN_STAGES - 1)
        self.counts["rejected"] += refused

    def states(self, times: Array) -> States:
        if times[0] <= self.t:
            return States(self.field.flat(self.now.y[None]), np.full(len(times), self.now.energy), self.now.error)
        first = int(self.kept.times.searchsorted(times[0]))
        found = slice(first, first + len(times))
        return States(self.kept.weights[found], self.kept.energies[found], self.kept.errors[found])

    def commit(self) -> tuple[float, float]:
        self.now = self.next
        return sqrt(self.now.square), self.now.loss

    def successor(self) -> None:
        return None

    def statistics(self) -> dict[str, int]:
        return dict(self.counts)

    def events(self) -> None:
        return None

    def group_counts(self) -> None:
        return None


def plain_steps(
    problem: Problem,
    field: TwoLayerField,
    rtol: float,
    times: Array,
    t: float = 0.0,
    energy: float = 0.0,
    one_by_one: bool = False,
) -> PlainSteps:
    """The engine for a problem of two layers whose weights are those at time t."""
    return PlainSteps(TwoLayerSlopes(problem, field), rtol, times, t, energy, one_by_one)
