"""Smooth stretches: explicit stepping of the weights themselves, any depth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..problem import Problem
from .explicit import ExplicitStepper
from .field import Field, flatten, unflatten

Array = NDArray[np.float64]

WINDOW = 400  # attempts after which progress is judged
STALL_PROGRESS = 1e-3  # a window that moves the weights by less than this, with many rejections, is chatter
STALL_REJECTIONS = 0.25


class SmoothEngine:
    """The flat weights and the integral of |grad L|^2, moved by `ExplicitStepper`.

    Errors are held to each neuron's own size for two layers, to each layer's for more: the flow of a neuron is linear in its own
    weights, so that is what keeps a neuron of size 1e-8 as exact as one of size 1.
    """

    name = "smooth"

    def __init__(self, problem: Problem, field: Field, rtol: float, horizon: float) -> None:
        self.field, self.horizon = field, horizon
        self.shapes = problem.network.shapes
        self.objective = 0.0
        start = np.append(flatten(problem.weights), 0.0)
        self.stepper = ExplicitStepper(self._rhs, start, 0.0, rtol, self._size)
        self.chattering = False
        self.steps = 0
        self._window = (0, 0, 0.0)  # attempts, rejections and time at the start of the window

    @property
    def t(self) -> float:
        return self.stepper.t

    @property
    def step_end(self) -> float:
        return self.stepper.t_old + self.stepper.h

    def _rhs(self, y: Array, out: Array) -> None:
        velocity = out[:-1]
        self.objective = self.field.velocity(y[:-1], velocity)
        out[-1] = velocity @ velocity

    def _size(self, old: Array, new: Array) -> Array:
        """What each component's error is compared with; the energy integral is carried along uncontrolled."""
        squares = np.maximum(old[:-1] ** 2, new[:-1] ** 2)
        layers = unflatten(squares, self.shapes)
        if len(layers) == 2:
            neurons = layers[0].sum(axis=1) + layers[1][0]
            sizes = [np.repeat(neurons, self.shapes[0][1]), neurons]
        else:
            sizes = [np.full(layer.size, layer.mean()) for layer in layers]
        return np.sqrt(np.maximum(np.append(np.concatenate(sizes), np.inf), np.finfo(float).tiny))

    def attempt(self, t_end: float) -> bool:
        accepted = self.stepper.step(t_end)
        self.steps += 1
        if self.steps - self._window[0] >= WINDOW:
            self._judge_window()
        self._dense_ready = False
        return accepted

    def _judge_window(self) -> None:
        attempts, rejections, since = self._window
        rate = np.linalg.norm(self.stepper.slopes[0][:-1]) / max(np.linalg.norm(self.stepper.y[:-1]), 1e-300)
        slow = (self.t - since) * rate < STALL_PROGRESS and self.t - since < STALL_PROGRESS * self.horizon
        self.chattering = slow and self.stepper.rejected - rejections > STALL_REJECTIONS * (self.steps - attempts)
        self._window = (self.steps, self.stepper.rejected, self.t)

    def state(self, t: float) -> tuple[Array, float]:
        if t == self.t:
            y = self.stepper.y
        elif t == self.step_end:
            y = self.stepper.y_new
        else:
            if not self._dense_ready:
                self.stepper.prepare_dense()
                self._dense_ready = True
            y = self.stepper.dense(t)
        return y[:-1].copy(), float(y[-1])

    def commit(self) -> tuple[float, float]:
        self.stepper.accept()
        return float(np.linalg.norm(self.stepper.slopes[0][:-1])), self.objective

    def statistics(self) -> dict[str, int | float]:
        return {"steps": self.steps, "rejected": self.stepper.rejected, "gradients": self.stepper.evaluations}

    def events(self) -> None:
        return None
