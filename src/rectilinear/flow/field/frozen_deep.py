"""The field of a deep network whose pattern of signs is frozen: smooth, and with normals and jumps of every kink.

A kink is a place where the preactivation z of one neuron vanishes at one sample; samples on one ray (in the first layer: on one
line) share it. The field F = -grad L contains, through that neuron, the sum over those samples of c_i sigma'(z_i) grad z_i, where
c_i is the signal that comes back to the neuron. So crossing z = 0 upwards adds D grad z to it, D = (1 - alpha) sum |x_i|/|x| c_i, as in
two layers, where grad z is the sample itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Indices, Signs
from ...dataset import find_lines
from ...network import Weights
from ...problem import Problem
from ..state import unflatten


@dataclass(frozen=True)
class LayerKinks:
    """The kinks of one hidden layer: (places, neurons), a place being a line of the data or, above the first layer, a ray."""

    index: Indices  # (samples,) the place of each sample
    signs: Array  # (samples,) +1 if the sample points as the place's first one does, -1 if it points the other way
    scales: Array  # (samples,) its length over that of the first one
    first: Indices  # (places,) the first sample of each place
    start: int  # of this layer's kinks among all
    width: int


def layer_kinks(problem: Problem) -> list[LayerKinks]:
    """The kinks of every hidden layer. A sample of zeros has none of its own: it is put with the first other one, at length 0."""
    lines = find_lines(problem.x)
    lengths, seen = np.abs(lines.lengths), np.flatnonzero(lines.lengths)
    directions = np.where(lengths > 0.0, np.sign(lines.lengths), np.sign(lines.lengths[seen[0]]))
    _, rays = np.unique(np.stack([lines.index, directions]), axis=1, return_inverse=True)
    found: list[LayerKinks] = []
    start = 0
    for depth, (width, _) in enumerate(problem.network.shapes[:-1]):
        places = lines.index if depth == 0 else rays.ravel()
        first = seen[np.unique(places[seen], return_index=True)[1]]
        reference = first[places]
        found.append(
            LayerKinks(places, directions * directions[reference], lengths / lengths[reference], first, start, width)
        )
        start += len(first) * width
    return found


@dataclass(frozen=True)
class Pass:
    """One forward and backward pass: what kinks are asked about afterwards."""

    layers: Weights
    below: list[Array]  # (samples, in) of every layer
    z: list[Array]  # (samples, neurons) of every hidden layer
    signals: list[Array]  # (samples, neurons): what comes back to sigma(z), in the field
    velocity: Array  # flat -grad L
    objective: float


class DeepPattern:
    """Signs of all kinks, 0 where one is held with a share in [0, 1] of its jump, and the field that they make."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.network = problem, problem.network
        self.shapes, self.alpha = problem.network.shapes, problem.network.alpha
        self.size = sum(out * into for out, into in self.shapes)
        self.tables = layer_kinks(problem)
        self.count = self.tables[-1].start + len(self.tables[-1].first) * self.tables[-1].width
        self.signs: Signs = np.full(self.count, -1, dtype=np.int8)
        self.shares = np.zeros(self.count)
        self._moving = np.concatenate(
            [np.full(out * into, float(moves)) for (out, into), moves in zip(self.shapes, self.network.trainable_layers, strict=True)]
        )  # fmt: skip
        self.refresh()

    def refresh(self) -> None:
        """Take note that signs or shares were changed."""
        above = np.where(self.signs > 0, 1.0, np.where(self.signs < 0, 0.0, self.shares))
        self.slopes: list[Array] = []  # sigma'(z), (samples, neurons) of every hidden layer
        self.gains: list[Array] = []  # sigma(z)/z: held kinks have z = 0, whatever rounding has made of it
        for table in self.tables:
            shares = self._of_layer(above, table)[table.index]
            self.slopes.append(self.alpha + (1.0 - self.alpha) * np.where(table.signs[:, None] > 0, shares, 1.0 - shares))
            self.gains.append(self.slopes[-1] * (self._of_layer(self.signs, table)[table.index] != 0))

    @staticmethod
    def _of_layer(values: NDArray[np.generic], table: LayerKinks) -> Array:
        size = len(table.first) * table.width
        return np.asarray(values[table.start : table.start + size].reshape(-1, table.width), dtype=np.float64)

    def _at_places(self, z: list[Array]) -> Array:
        return np.concatenate([values[table.first].ravel() for values, table in zip(z, self.tables, strict=True)])

    def place(self, kink: int) -> tuple[int, int, int]:
        """Layer, place and neuron of a kink."""
        layer = max(k for k, table in enumerate(self.tables) if table.start <= kink)
        place, neuron = divmod(kink - self.tables[layer].start, self.tables[layer].width)
        return layer, place, neuron

    def name(self, kink: int) -> tuple[int, int]:
        """The neuron, counted through all hidden layers, and the first sample that has this kink."""
        layer, place, neuron = self.place(kink)
        return neuron + sum(table.width for table in self.tables[:layer]), int(self.tables[layer].first[place])

    def heights(self, theta: Array) -> tuple[Array, Array]:
        """z of every kink, and the size that it could have: |w| times that of the inputs, if nothing cancelled."""
        below, z, sizes = self.problem.x, [], []
        reach = np.linalg.norm(below, axis=1)
        layers = unflatten(theta, self.shapes)
        for layer, gains in zip(layers[:-1], self.gains, strict=True):
            z.append(below @ layer.T)
            sizes.append(np.outer(reach, np.linalg.norm(layer, axis=1)))
            reach = np.linalg.norm(sizes[-1], axis=1)
            below = gains * z[-1]
        return self._at_places(z), self._at_places(sizes)

    def run(self, theta: Array) -> Pass:
        """The field at theta with this pattern."""
        problem, layers = self.problem, unflatten(theta, self.shapes)
        below, z = [problem.x], []
        for layer, gains in zip(layers[:-1], self.gains, strict=True):
            z.append(below[-1] @ layer.T)
            below.append(gains * z[-1])
        f = below[-1] @ layers[-1][0]
        signal = np.asarray(problem.loss.pull(problem.y, f))[:, None] / len(f)
        velocity, signals = np.empty(self.size), list[Array]()
        for depth, speed in reversed(list(enumerate(unflatten(velocity, self.shapes)))):
            speed[...] = signal.T @ below[depth] - problem.l2 * layers[depth]
            if depth:
                signals.insert(0, signal @ layers[depth])
                signal = self.slopes[depth - 1] * signals[0]
        objective = float(np.mean(problem.loss.value(problem.y, f)))
        if problem.l2:
            objective += problem.l2 * self.network.penalty(layers)
        return Pass(layers, below, z, signals, velocity * self._moving, objective)

    def normal(self, found: Pass, kink: int) -> Array:
        """grad z of a kink with respect to the weights that train, flat."""
        layer, place, neuron = self.place(kink)
        sample, normal = self.tables[layer].first[place], np.zeros(self.size)
        parts, signal = unflatten(normal, self.shapes), np.eye(self.shapes[layer][0])[neuron]
        for depth in range(layer, -1, -1):
            parts[depth][...] = np.outer(signal, found.below[depth][sample])
            if depth:
                signal = self.slopes[depth - 1][sample] * (signal @ found.layers[depth])
        return normal * self._moving

    def jump(self, found: Pass, kink: int) -> float:
        """D: crossing the kink upwards adds D grad z to the field."""
        layer, place, neuron = self.place(kink)
        table = self.tables[layer]
        here = table.index == place
        return (1.0 - self.alpha) * float(table.scales[here] @ found.signals[layer][here, neuron])

    def speeds(self, found: Pass, velocity: Array) -> Array:
        """dz/dt of every kink while the weights move with a flat velocity."""
        rising, moving = [], np.zeros_like(found.below[0])
        parts = unflatten(velocity, self.shapes)
        for depth, gains in enumerate(self.gains):
            rising.append(found.below[depth] @ parts[depth].T + moving @ found.layers[depth].T)
            moving = gains * rising[-1]
        return self._at_places(rising)
