"""The two-layer field of neurons that share a few frozen patterns: smooth across kinks, and cheap, whatever the width.

A pattern g says on which side of every line n_l of the data its neurons are, and with that the slope sigma'_gi at every sample
x_i = c_i n_l. All its neurons u_h = (w_h, a_h) are moved by one matrix, du_h/dt = A_g u_h, so they stay what they were in terms of a
few that move likewise: u_h(t) = s_h sum_k Q_hk c_k(t). These carriers c_k are the principal axes of the directions u_h/s_h, s_h = |u_h| at
the start, as long as they matter: Q has orthonormal columns, so that an error of a carrier is as large as those that it makes in
neurons, relative to their sizes. Outputs are f_i = sum_g sigma'_gi c_i (n_l . V_g) with V_g = sum_h a_h w_h = sum_kj m_kj a_k w_j over
carriers (w_k, a_k), m = Q' diag(s^2) Q.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Array, Indices
from ...problem import Problem
from ..compiled import fast_kernel
from ..state import row_lengths
from ..tolerances import TINY
from .sample_losses import sample_loss, sample_pull

SHORTEST_CARRIER = 1e-8  # of the longest one: what is shorter is known to rounding only
OUTGROWN = 2.0  # factor by which a neuron changes its size more than others before carriers are made anew, as its errors are measured by it


class Patterns(NamedTuple):
    """What compiled code knows of patterns and samples: `first` (patterns + 1,) says which carriers belong to a pattern, `masses`
    (carriers, most of a pattern) is m, `reach` (patterns, samples) is sigma'_gi c_i, `normals` is (inputs, lines)."""

    first: Indices
    masses: Array
    reach: Array
    normals: Array
    line: Indices
    labels: Array
    loss: int
    l2: tuple[float, float]  # of each layer


@fast_kernel
def velocity_of_carriers(
    patterns: Patterns, trains: tuple[bool, bool], carriers: Array, velocity: Array
) -> tuple[float, float]:
    """The loss, regularisation included, and the squared velocity of all neurons; that of the carriers goes to `velocity`."""
    first, masses, reach, normals, line, labels, loss, l2 = patterns
    inputs, lines = normals.shape
    samples, count = len(line), len(first) - 1
    along, pull = np.empty(lines), np.zeros(samples)
    weighted = np.empty(masses.shape[1])
    summed = np.empty(inputs)
    for g in range(count):
        begin, held = first[g], first[g + 1] - first[g]
        for k in range(held):
            weighted[k] = 0.0
            for j in range(held):
                weighted[k] += masses[begin + k, j] * carriers[begin + j, inputs]
        summed[:] = 0.0
        for k in range(held):
            for i in range(inputs):
                summed[i] += weighted[k] * carriers[begin + k, i]
        along[:] = 0.0
        for k in range(inputs):
            for i in range(lines):
                along[i] += summed[k] * normals[k, i]
        for i in range(samples):
            pull[i] += reach[g, i] * along[line[i]]
    objective = 0.0
    for i in range(samples):
        f = pull[i]
        objective += sample_loss(loss, labels[i], f)
        pull[i] = sample_pull(loss, labels[i], f) / samples
    objective /= samples
    square = 0.0
    for g in range(count):
        begin, end = first[g], first[g + 1]
        along[:] = 0.0
        for i in range(samples):
            along[line[i]] += reach[g, i] * pull[i]
        for k in range(inputs):
            total = 0.0
            for i in range(lines):
                total += along[i] * normals[k, i]
            summed[k] = total if trains[0] else 0.0
            for c in range(begin, end):
                velocity[c, k] = carriers[c, inputs] * summed[k] - l2[0] * carriers[c, k]
            summed[k] = total
        for c in range(begin, end):
            total = 0.0
            for k in range(inputs):
                total += summed[k] * carriers[c, k]
            velocity[c, inputs] = (total if trains[1] else 0.0) - l2[1] * carriers[c, inputs]
        for c in range(begin, end):
            for j in range(begin, end):
                speeds = weights = 0.0
                for k in range(inputs):
                    speeds += velocity[c, k] * velocity[j, k]
                    weights += carriers[c, k] * carriers[j, k]
                speeds += velocity[c, inputs] * velocity[j, inputs]
                square += masses[c, j - begin] * speeds
                weights = l2[0] * weights + l2[1] * carriers[c, inputs] * carriers[j, inputs]
                objective += 0.5 * masses[c, j - begin] * weights
    return objective, square


class CommonPatterns:
    """-grad L of neurons theta (h, inputs + 1) of which each has one of a few patterns, `pattern` (h,), seen by their carriers.

    `slopes` (patterns, samples) are theirs; sample i is `lengths[i]` times the normal (lines, inputs) of its `line[i]`.
    """

    def __init__(
        self, problem: Problem, theta: Array, pattern: Indices, slopes: Array, normals: Array, line: Indices, lengths: Array
    ) -> None:
        self.problem, self.pattern = problem, pattern
        self.trains = (problem.network.trainable_layers[0], problem.network.trainable_layers[1])
        self.neuron_count, self._width = theta.shape
        self._size = np.maximum(row_lengths(theta), TINY)
        self._membership = (pattern == np.arange(len(slopes))[:, None]).astype(float)
        self._members = [np.flatnonzero(pattern == g) for g in range(len(slopes))]
        axes = [_carriers(theta[own] / self._size[own, None]) for own in self._members]
        self._first = np.cumsum([0, *(len(carriers) for carriers, _ in axes)])
        self._mix = np.zeros((len(theta), self._first[-1]))
        masses = np.zeros((self._first[-1], max(len(carriers) for carriers, _ in axes)))
        for own, (_, shares), begin, end in zip(self._members, axes, self._first, self._first[1:], strict=False):
            mix = self._size[own, None] * shares
            self._mix[own, begin:end], masses[begin:end, : end - begin] = mix, mix.T @ mix
        carriers = np.concatenate([carriers for carriers, _ in axes])
        self.start = carriers.ravel()
        self._lengths = self._of_patterns(self.start)
        self.l2 = (problem.l2 * self.trains[0], problem.l2 * self.trains[1])
        reach, self.normals, self._reaches = slopes * lengths, np.ascontiguousarray(normals.T), lengths
        self._patterns = Patterns(self._first, masses, reach, self.normals, line, problem.y, problem.loss.code, self.l2)

    def follow(self, pattern: Indices, slopes: Array) -> bool:
        """Go on with other patterns and the same carriers, if neurons that shared a pattern still do and no others."""
        now = pattern[[own[0] for own in self._members]]
        same = len(slopes) == len(now) and bool(np.array_equal(now[self.pattern], pattern))
        if same:
            self._patterns = self._patterns._replace(reach=slopes[now] * self._reaches)
        return same

    def velocity(self, carriers: Array, out: Array) -> tuple[float, float]:
        """Write the velocity to `out`, and return the loss, regularisation included, and |grad L|^2."""
        rows, speeds = carriers.reshape(-1, self._width), out.reshape(-1, self._width)
        objective, square = velocity_of_carriers(self._patterns, self.trains, rows, speeds)
        return objective, square

    def outputs(self, theta: Array) -> Array:
        """f on the samples, for neurons theta (h, inputs + 1)."""
        along = (self.products(theta, theta[:, :-1]) @ self.normals)[:, self._patterns.line]
        return np.asarray(np.einsum("gi,gi->i", self._patterns.reach, along))

    def products(self, theta: Array, incoming: Array) -> Array:
        """sum_h a_h w_h of every pattern (patterns, inputs), with incoming weights (h, inputs)."""
        return np.asarray((self._membership * theta[:, -1]) @ incoming)

    def pulls(self, f: Array) -> Array:
        """-dl/df/P where outputs are f."""
        return np.asarray(self.problem.loss.pull(self.problem.y, f)) / len(f)

    def drives(self, pull: Array) -> Array:
        """g of every pattern (patterns, inputs) where pulls are these."""
        return self._by_line(self._patterns.reach * pull) @ self.normals.T

    def _by_line(self, values: Array) -> Array:
        """Sums over the samples of each line, (..., samples) -> (..., lines)."""
        line, lines = self._patterns.line, self.normals.shape[1]
        rows = values.reshape(-1, len(line))
        return np.array([np.bincount(line, row, lines) for row in rows], dtype=float).reshape(*values.shape[:-1], lines)

    def bends(self, bend: Array, weights: Array) -> tuple[Array, Array]:
        """How the pulls of lines, as patterns see them, change with what patterns put out along their normals, (patterns, patterns,
        lines), and with other outputs, `weights` on the samples, (patterns, lines); pulls change by `bend` times outputs."""
        reach = self._patterns.reach
        return self._by_line(bend * reach[:, None] * reach), self._by_line(bend * weights * reach)

    def moved(self, theta: Array, drives: Array) -> Array:
        """The velocities (a g, g.w) that drives give to neurons."""
        of_each, found = drives[self.pattern], np.empty_like(theta)
        np.multiply(theta[:, -1:], of_each, out=found[:, :-1])
        np.einsum("hi,hi->h", of_each, theta[:, :-1], out=found[:, -1])
        for layer, trains in ((found[:, :-1], self.trains[0]), (found[:, -1:], self.trains[1])):
            if not trains:
                layer[:] = 0.0
        return found

    def decay(self, theta: Array) -> Array | float:
        """The velocity by regularisation."""
        return -np.append(np.full(self._width - 1, self.l2[0]), self.l2[1]) * theta if any(self.l2) else 0.0

    def neurons(self, carriers: Array) -> Array:
        """The neurons (..., h, inputs + 1) that belong to carriers (..., size)."""
        return np.asarray(self._mix @ carriers.reshape(*carriers.shape[:-1], -1, self._width))

    def neuron(self, carriers: Array, h: int) -> Array:
        """One of them (inputs + 1,)."""
        return np.asarray(self._mix[h] @ carriers.reshape(-1, self._width))

    def outgrown(self, neurons: Array) -> bool:
        """Whether some neuron has changed its size so much more than others of its pattern that its errors are no longer measured by it."""
        growth = row_lengths(neurons) / self._size
        common = np.sqrt(self._membership @ growth**2 / self._membership.sum(axis=1))[self.pattern]
        return bool(np.any((growth > OUTGROWN * common) | (growth < common / OUTGROWN)))

    def sizes(self, old: Array, new: Array, room: int) -> Array:
        """What errors of carriers are compared with, so that their mean square over the carriers' weights and `room` others is that
        over all neurons' weights and as many others, relative to the sizes of neurons."""
        larger = np.maximum(self._of_patterns(old), self._of_patterns(new)) / self._lengths
        share = np.sqrt((self.neuron_count * self._width + room) / (len(old) + room))
        return np.asarray(np.repeat(share * larger, np.diff(self._first) * self._width))

    def _of_patterns(self, carriers: Array) -> Array:
        """Root of the summed squares of each pattern's carriers."""
        return np.sqrt(np.maximum(np.add.reduceat(carriers * carriers, self._first[:-1] * self._width), TINY))


def _carriers(directions: Array) -> tuple[Array, Array]:
    """Carriers (k, inputs + 1) and the mix (neurons, k) of them that gives rows of length 1."""
    if len(directions) <= directions.shape[1]:
        return directions, np.eye(len(directions))
    squares, axes = np.linalg.eigh(directions.T @ directions)
    lengths = np.sqrt(np.maximum(squares, SHORTEST_CARRIER**2 * squares[-1]))
    return lengths[:, None] * axes.T, (directions @ axes) / lengths
