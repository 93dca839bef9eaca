"""The field of a network of any depth whose slopes sigma'(z) are given: smooth, and with the normals of its kinks.

A kink is the place z = 0 of one neuron at one sample. Kinks are numbered layer after layer, sample after sample, neuron after
neuron, and so are heights z, slopes, and the signals c that come back to sigma(z): flat vectors (kinks,). The field is

    F = sum over the kinks k of a layer of s_k c_k dz_k/dW of that layer,   s_k the slope,

so that changing the slope of one kink where z_k = 0 adds (change) c_k grad z_k, grad with respect to all weights below.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numba
import numpy as np

from ...arrays import Array, Indices, Mask
from ...network import Weights
from ...problem import Problem
from ..state import unflatten
from .sample_losses import pulls


@dataclass
class SlopedPass:
    """One forward and backward pass; its arrays are used again by the next one that is written to it."""

    below: list[Array]  # (samples, in) of every layer
    z: Array  # (kinks,)
    slopes: Array  # (kinks,)
    signals: Array  # (kinks,)
    velocity: Array  # flat
    views: list[tuple[Array, Array, Array]]  # z, slopes and signals (samples, neurons) of every hidden layer
    speeds: Weights  # the velocity layer by layer
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
        self._x, self._y = np.ascontiguousarray(problem.x), np.ascontiguousarray(problem.y)
        self._moving = network.trainable_layers
        self.passes = 0.0  # made so far, in units of a forward and a backward one
        self._spare = self.new_pass()

    def new_pass(self) -> SlopedPass:
        below = [self._x, *(np.empty((len(self._y), width)) for width in self.widths)]
        z, slopes, signals = np.empty(self.count), np.empty(self.count), np.empty(self.count)
        views = list(zip(*(self.by_layer(values) for values in (z, slopes, signals)), strict=True))
        velocity = np.empty(self.size)
        return SlopedPass(below, z, slopes, signals, velocity, views, unflatten(velocity, self.shapes))

    def by_layer(self, values: Array) -> list[Array]:
        """Views (samples, neurons) of a value for every kink."""
        return [values[a:b].reshape(len(self._y), -1) for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]

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
        into.slopes[:] = slopes
        bounds = np.searchsorted(held, self.starts)
        for depth, (z, slope, _) in enumerate(into.views):
            np.dot(into.below[depth], into.layers[depth].T, out=z)
            if frozen:
                np.multiply(z, slope, out=into.below[depth + 1])
            else:
                bend(z, self.alpha, into.below[depth + 1], slope)
            here = held[bounds[depth] : bounds[depth + 1]] - self.starts[depth]
            into.below[depth + 1].ravel()[here] = 0.0
        into.slopes[held] = slopes[held]
        self.passes += 1 / 3

    def run(self, theta: Array, into: SlopedPass, slopes: Array, held: Indices, frozen: bool) -> SlopedPass:
        """The field at theta with given `slopes` if `frozen`, or else with those of the weights themselves, except where z = 0.

        Kinks `held` (ascending) keep their slopes and pass nothing on: their z is zero, whatever rounding has made of it.
        """
        self._forward(theta, slopes, held, frozen, into)
        problem, samples, layers = self.problem, len(self._y), into.layers
        pull = np.empty((samples, 1))
        into.objective = pulls(problem.loss.code, self._y, into.below[-1] @ layers[-1][0], pull[:, 0]) / samples
        pull /= samples
        self._backward(into, pull)
        if problem.l2:
            into.objective += problem.l2 * problem.network.penalty(layers)
            for speed, layer, moves in zip(into.speeds, layers, self._moving, strict=True):
                speed -= problem.l2 * layer * moves
        return into

    def _backward(self, into: SlopedPass, signal: Array) -> None:
        for depth in range(len(self.shapes) - 1, -1, -1):
            np.dot(signal.T, into.below[depth], out=into.speeds[depth])
            if not self._moving[depth]:
                into.speeds[depth][:] = 0.0
            if depth:
                _, slopes, signals = into.views[depth - 1]
                np.dot(signal, into.layers[depth], out=signals)
                signal = slopes * signals
        self.passes += 2 / 3

    def push(self, at: SlopedPass, amounts: Array) -> Array:
        """sum_k amount_k grad z_k over all kinks, flat: one backward pass."""
        out = np.zeros(self.size)
        parts, added = unflatten(out, self.shapes), self.by_layer(amounts)
        signal = added[-1]
        for depth in range(len(added) - 1, -1, -1):
            if self._moving[depth]:
                np.dot(signal.T, at.below[depth], out=parts[depth])
            if depth:
                signal = signal @ at.layers[depth]
                signal *= at.views[depth - 1][1]
                signal += added[depth - 1]
        self.passes += 2 / 3
        return out

    def normals(self, at: SlopedPass, kinks: Indices) -> Normals:
        layer, sample, neuron = self.places(kinks)
        back = [np.zeros((len(kinks), width)) for width in self.widths]
        for depth in range(len(back) - 1, -1, -1):
            here = np.flatnonzero(layer == depth)
            back[depth][here, neuron[here]] = 1.0
            if depth:
                above = np.flatnonzero(layer >= depth)
                back[depth - 1][above] = (back[depth][above] @ at.layers[depth]) * at.views[depth - 1][1][sample[above]]
        moving = [b * moves for b, moves in zip(back, self._moving[:-1], strict=True)]
        return Normals(moving, [below[sample] for below in at.below[:-1]])


@numba.njit(cache=True, nogil=True)
def bend(z: Array, alpha: float, sigma: Array, slopes: Array) -> None:
    """Write sigma(z) and sigma'(z); where z = 0 the slope is left as it was, as for samples that activate nothing below."""
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            if z[i, j] != 0.0:
                slopes[i, j] = 1.0 if z[i, j] > 0.0 else alpha
            sigma[i, j] = slopes[i, j] * z[i, j]
