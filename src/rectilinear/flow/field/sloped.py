"""The field of a network of any depth whose slopes sigma'(z) are given: smooth, and with the normals of its kinks.

A kink is the place z = 0 of one neuron at one sample. Kinks are numbered layer after layer, sample after sample, neuron after
neuron, and so are heights z, slopes, and the signals c that come back to sigma(z): flat vectors (kinks,). The field is

    F = sum over the kinks k of a layer of s_k c_k dz_k/dW of that layer,   s_k the slope,

so that changing the slope of one kink where z_k = 0 adds (change) c_k grad z_k, grad with respect to all weights below.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...arrays import Array, Indices, Mask
from ...network import Weights
from ...problem import Problem
from ..state import unflatten
from .deep import deep_rows
from .sloped_kernels import pull_back, sloped_backward, sloped_forward


@dataclass
class SlopedPass:
    """One forward and backward pass; its arrays are used again by the next one that is written to it."""

    z: Array  # (kinks,)
    slopes: Array  # (kinks,)
    active: Array  # (kinks,): slope times z, zero where held
    signals: Array  # (kinks,)
    velocity: Array  # flat
    theta: Array = field(default_factory=lambda: np.empty(0))
    layers: Weights = ()
    objective: float = 0.0


@dataclass(frozen=True)
class Normals:
    """grad z of some kinks, (kinks, size) as outer products layer by layer: rows `back[l]` (kinks, out) times `below[l]` (kinks, in)."""

    back: list[Array]
    below: list[Array]

    def of(self, chosen: Mask) -> Normals:
        """Those of some of the kinks."""
        return Normals([b[chosen] for b in self.back], [x[chosen] for x in self.below])

    def gram(self) -> Array:
        """Inner products (kinks, kinks)."""
        return np.asarray(sum((b @ b.T) * (x @ x.T) for b, x in zip(self.back, self.below, strict=True)))

    def squares(self) -> Array:
        """|grad z|^2 (kinks,)."""
        return np.asarray(
            sum(
                np.einsum("ki,ki->k", b, b) * np.einsum("ki,ki->k", x, x) for b, x in zip(self.back, self.below, strict=True)
            )
        )

    def along(self, parts: Weights) -> Array:
        """grad z . v for a direction v given layer by layer."""
        return np.asarray(
            sum(np.einsum("ki,ki->k", b @ v, x) for b, x, v in zip(self.back, self.below, parts[:-1], strict=True))
        )

    def combine(self, amounts: Array, parts: Weights) -> None:
        """Add sum_k amount_k grad z_k to `parts`."""
        for b, x, part in zip(self.back, self.below, parts[:-1], strict=True):
            part[...] += (amounts[:, None] * b).T @ x


class SlopedField:
    """Passes with given slopes, or with those of the weights themselves."""

    def __init__(self, problem: Problem) -> None:
        self.problem, network = problem, problem.network
        self.shapes, self.alpha = network.shapes, network.alpha
        self.size = sum(out * into for out, into in self.shapes)
        self.widths = np.array(network.widths)
        self.starts = np.concatenate([[0], np.cumsum(problem.data.samples * self.widths)])
        self.count = int(self.starts[-1])
        self.net = deep_rows(problem)
        self._moving = network.trainable_layers
        self._pushed = np.empty(self.count)  # room for a pass
        self.passes = 0.0  # made so far, in units of a forward and a backward one
        self._spare = self.new_pass()

    def new_pass(self) -> SlopedPass:
        z, slopes, active, signals = (np.empty(self.count) for _ in range(4))
        return SlopedPass(z, slopes, active, signals, np.empty(self.size))

    def by_layer(self, values: Array) -> list[Array]:
        """Views (samples, neurons) of a value for every kink."""
        return [
            values[a:b].reshape(self.problem.data.samples, -1)
            for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)
        ]

    def places(self, kinks: Indices) -> tuple[Indices, Indices, Indices]:
        """Layer, sample and neuron of kinks."""
        layer = np.searchsorted(self.starts, kinks, side="right") - 1
        sample, neuron = np.divmod(kinks - self.starts[layer], self.widths[layer])
        return layer, sample, neuron

    def heights(self, theta: Array, slopes: Array, held: Indices, frozen: bool) -> Array:
        """z of every kink, as in `run`; valid until the next call."""
        self._forward(theta, slopes, held, frozen, self._spare)
        return self._spare.z

    def _forward(self, theta: Array, slopes: Array, held: Indices, frozen: bool, into: SlopedPass) -> None:
        into.theta, into.layers = theta, unflatten(theta, self.shapes)
        sloped_forward(self.net, theta, slopes, held, frozen, into.z, into.slopes, into.active)
        self.passes += 1 / 3

    def run(self, theta: Array, into: SlopedPass, slopes: Array, held: Indices, frozen: bool) -> SlopedPass:
        """The field at theta with given `slopes` if `frozen`, or else with those of the weights themselves, except where z = 0.

        Kinks `held` (ascending) keep their slopes and pass nothing on: their z is zero, whatever rounding has made of it.
        """
        self._forward(theta, slopes, held, frozen, into)
        into.objective = sloped_backward(
            self.net, theta, into.slopes, into.active, self._pushed, into.signals, into.velocity
        )
        self.passes += 2 / 3
        if self.problem.l2:
            into.objective += self.problem.l2 * self.problem.network.penalty(into.layers)
            for speed, layer, moves in zip(unflatten(into.velocity, self.shapes), into.layers, self._moving, strict=True):
                speed -= self.problem.l2 * layer * moves
        return into

    def push(self, at: SlopedPass, amounts: Array) -> Array:
        """sum_k amount_k grad z_k over all kinks, flat: one backward pass, which uses up `amounts`."""
        out = np.zeros(self.size)
        pull_back(self.net, at.theta, at.slopes, at.active, amounts, True, self._pushed, out)
        self.passes += 2 / 3
        return out

    def normals(self, at: SlopedPass, kinks: Indices) -> Normals:
        layer, sample, neuron = self.places(kinks)
        slopes, below = self.by_layer(at.slopes), [self.net.x, *self.by_layer(at.active)[:-1]]
        back = [np.zeros((len(kinks), width)) for width in self.widths]
        for depth in range(len(back) - 1, -1, -1):
            here = np.flatnonzero(layer == depth)
            back[depth][here, neuron[here]] = 1.0
            if depth:
                above = np.flatnonzero(layer >= depth)
                back[depth - 1][above] = (back[depth][above] @ at.layers[depth]) * slopes[depth - 1][sample[above]]
        moving = [b * moves for b, moves in zip(back, self._moving[:-1], strict=True)]
        return Normals(moving, [x[sample] for x in below])
