"""Plain Runge-Kutta steps of two layers that leave every kink to the error control: for loose tolerances.

Where some per mille are enough, paying for every crossing does not pay: a step of order 5 over many light kinks is as good. Sliding
neurons chatter across their kinks within the tolerance, and where one leaves is decided by it. Each stage is one fused pass over the
samples (field/two_layer_kernels.py); small networks take all stages of a step in one compiled call.
"""

from __future__ import annotations

import time

import numpy as np

from ...arrays import Array
from ...problem import Problem
from ..field.two_layer import TwoLayerField
from ..field.two_layer_kernels import INPUT_TILE, NEURON_TILE
from ..state import flatten
from ..steppers import tsitouras
from ..steppers.step_size import StepControl, up_to
from ..threads import in_shares, shares
from .engine import OutOfTime
from .plain_step_kernels import Rows, all_stages, drive_share, relative_error, stage, velocity

CONTROL = StepControl(order=5, grow=10.0)
STEP_SHARE = 0.3  # of the tolerance, for one step: errors of steps add up, those at kinks are estimated too small
FIRST = 0.1  # of the time in which neurons change by their own size


class PlainSteps:
    """The engine: w (neurons, inputs) and a, flat and padded with zeros to whole tiles, which stay zero."""

    name = "plain steps"
    chattering = False

    def __init__(self, problem: Problem, field: TwoLayerField, rtol: float) -> None:
        self.problem, self.rtol = problem, rtol
        network = problem.network
        self.field = Rows(
            field.rows, field.labels, field.mirror_labels, field.mirrored, network.alpha, problem.loss.code,
            problem.data.samples, (network.trainable_layers[0], network.trainable_layers[1]), problem.l2,
        )  # fmt: skip
        self.neurons, self.inputs = network.shapes[0]
        self.rows = -(-self.neurons // NEURON_TILE) * NEURON_TILE
        self.columns = -(-self.inputs // INPUT_TILE) * INPUT_TILE
        self.drive = np.empty((self.rows, self.columns))
        self.t, self.energy, self.estimated_error = 0.0, 0.0, 0.0
        padded = np.zeros((self.rows, self.columns))
        padded[: self.neurons, : self.inputs] = problem.weights[0]
        self.y = np.concatenate([padded.ravel(), problem.weights[1][0], np.zeros(self.rows - self.neurons)])
        self.new = np.empty_like(self.y)
        self.slopes, self.squares = np.empty((tsitouras.STAGES, self.y.size)), np.empty(tsitouras.STAGES)
        self.counts = {"steps": 0, "rejected": 0, "gradients": 1}
        self.end_loss = self._evaluate(self.y, 0)
        speed = relative_error(self.y, self.y, self.slopes[:1], np.ones(1), 1.0, self.neurons)
        self.step_size = FIRST / max(speed, np.finfo(float).tiny)
        self.h = 0.0

    def _evaluate(self, y: Array, s: int) -> float:
        """Slope s, at y, by threads; returns the summed loss."""

        def share(first: int, last: int) -> tuple[Array, float]:
            drive = np.empty_like(self.drive)
            return drive, drive_share(self.field, y, first, last, drive)

        count = self.field.rows.shape[1]
        (drive, total), *others = in_shares(share, count, count * self.drive.size)
        for more, part in others:
            drive += more
            total += part
        self.squares[s] = velocity(self.field, y, drive, self.slopes[s])
        return total

    @property
    def step_end(self) -> float:
        return self.t + self.h

    def attempt(self, t_end: float, deadline: float = np.inf) -> bool:
        h = up_to(self.step_size, self.t, t_end)
        count = self.field.rows.shape[1]
        with np.errstate(over="ignore", invalid="ignore"):  # a stage too far out: the step will be refused
            if shares(count, count * self.drive.size) == 1:
                self.end_loss = all_stages(
                    self.field, self.y, self.slopes, self.squares, tsitouras.TABLE, h, self.new, self.drive
                )
            else:
                for s in range(1, tsitouras.STAGES):
                    if time.perf_counter() > deadline:
                        self.h = 0.0
                        raise OutOfTime
                    stage(self.y, self.slopes, tsitouras.TABLE[s, :s], h, self.new)
                    self.end_loss = self._evaluate(self.new, s)
            error = relative_error(self.y, self.new, self.slopes, tsitouras.ERROR, h, self.neurons)
        self.step_error, error = error, error / (STEP_SHARE * self.rtol)
        self.counts["gradients"] += tsitouras.STAGES - 1
        self.step_size = h * CONTROL.growth(error)
        self.h = h if error <= 1.0 else 0.0
        self.counts["steps" if self.h else "rejected"] += 1
        return bool(self.h)

    def states(self, times: Array) -> tuple[Array, Array]:
        if not self.h:
            return self._flat(self.y[None]), np.full(len(times), self.energy)
        weights = self.h * tsitouras.interpolant((times - self.t) / self.h)
        return self._flat(self.y + weights @ self.slopes), self.energy + weights @ self.squares

    def _flat(self, y: Array) -> Array:
        """Flat weights (t, size) without padding."""
        cut = self.rows * self.columns
        w = y[:, :cut].reshape(-1, self.rows, self.columns)[:, : self.neurons, : self.inputs]
        return flatten((w, y[:, None, cut : cut + self.neurons]))

    def commit(self) -> tuple[float, float]:
        self.t += self.h
        self.estimated_error += self.step_error
        self.energy += self.h * float(tsitouras.TABLE[-1] @ self.squares)
        self.h = 0.0
        self.y, self.new = self.new, self.y
        self.slopes[0], self.squares[0] = self.slopes[-1], self.squares[-1]
        return float(np.sqrt(self.squares[0])), self.end_loss / self.problem.data.samples

    def successor(self) -> None:
        return None

    def statistics(self) -> dict[str, int]:
        return dict(self.counts)

    def events(self) -> None:
        return None

    def group_counts(self) -> None:
        return None
