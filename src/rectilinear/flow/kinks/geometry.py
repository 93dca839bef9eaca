"""Kinks: where sigma' jumps, and what a neuron sees on each side.

A neuron's pattern is one sign per line of the data: +1 or -1 for the side of the kink n.w = 0 it is on, 0 if it is held there.
Crossing line l from below to above changes the neuron's drive g by D_l n_l, D_l = (1 - alpha)/P sum over the line of |x_i| pull_i.
Held on lines N, the neuron moves with g_below + sum_l lambda_l D_l n_l, lambda_l in [0, 1], such that N g = 0.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import scipy

from ...arrays import Array, Indices, Signs
from ...dataset import find_lines
from ...problem import Problem
from ..field.aligned_neurons import find_split
from ..field.small_products import TILE
from ..field.two_layer_kernels import padded
from ..state import row_lengths
from ..threads import in_shares
from ..tolerances import AT_ORIGIN, INDEPENDENT_NORMALS, INDEPENDENT_NORMALS_GRAM, NEARLY_HELD_NORMAL
from .crossings import look_at_lines, look_at_split, next_catch

FEW_HEIGHTS = 40_000  # neurons x lines
MOST_REMEMBERED = 2**28  # bytes of samples as seen by patterns met before


class KinkArrays(NamedTuple):
    """What compiled code knows of the samples and their kinks: x (samples, inputs), for each its line, its signed length along the
    line's unit normal (lines, inputs), and what its pull adds to the line's jump; and the slope below."""

    x: Array
    line: Indices
    lengths: Array
    weights: Array
    normals: Array
    alpha: float


class Kinks:
    """The kink hyperplanes of a problem's samples."""

    def __init__(self, problem: Problem) -> None:
        lines = find_lines(problem.x)
        self.problem, self.x, self.alpha = problem, problem.x, problem.network.alpha
        self.normals, self.line, self.lengths = lines.normals, lines.index, lines.lengths
        self._turned_normals = padded(self.normals.T, TILE, 1)
        self.weights = (1.0 - self.alpha) * np.abs(self.lengths)
        self._seen: dict[bytes, Array] = {}
        self._holds: dict[bytes, tuple[Array, Array]] = {}
        self._along_holds: dict[bytes, tuple[Indices, Array]] = {}

    def __len__(self) -> int:
        return len(self.normals)

    @cached_property
    def jump_rows(self) -> Array:
        """The matrix (lines, samples) with D = jump_rows @ pull; only for few samples."""
        rows = np.zeros((len(self), len(self.line)))
        rows[self.line, np.arange(len(self.line))] = self.weights
        return rows

    @cached_property
    def turned(self) -> Array:
        """The matrix (inputs + 1, lines) that makes heights n.w of neurons (h, inputs + 1)."""
        return np.concatenate([self.normals.T, np.zeros((1, len(self)))])

    @cached_property
    def turned_with_a(self) -> Array:
        """The same with one more column, for the outgoing weight."""
        return np.concatenate([self.turned, np.eye(len(self.turned))[:, -1:]], axis=1)

    @cached_property
    def arrays(self) -> KinkArrays:
        return KinkArrays(self.x, self.line, self.lengths, self.weights, self.normals, self.alpha)

    @cached_property
    def dead_cone(self) -> bool:
        """Whether weights of some open cone activate no sample: all x_i.w < 0, which by Gordan is so unless some mean of them is zero."""
        units = (np.sign(self.lengths)[:, None] * self.normals[self.line])[self.lengths != 0.0]
        _, apart = scipy.optimize.nnls(np.vstack([units.T, np.ones(len(units))]), np.append(np.zeros(units.shape[1]), 1.0))
        return bool(self.alpha == 0.0 and apart > AT_ORIGIN)

    def jumps(self, pull: Array) -> Array:
        """D_l of every line, (lines,)."""
        return np.asarray(np.bincount(self.line, weights=self.weights * pull, minlength=len(self)), dtype=np.float64)

    def pulls(self, theta: Array) -> Array:
        """-dl/df/P on the samples for neurons theta (h, inputs + 1)."""
        return self.look(theta, np.zeros((len(theta), len(self)), dtype=np.int8))[0]

    def look(self, theta: Array, signs: Signs) -> tuple[Array, Indices]:
        """The pulls -dl/df/P on the samples, and the pairs (neuron, line) that are beyond a kink on which they are not held.

        sigma(z) = c z + e |z| makes one product per line serve all samples on it.
        """
        w, a = np.ascontiguousarray(theta[:, :-1]), theta[:, -1].copy()
        split = find_split(w, a, self._turned_normals, np.ones(len(self)))
        seen = look_at_split(split, w, a, self._turned_normals, signs) if split is not None else None
        odd, even, crossed = seen if seen is not None else self._look_at_all(theta, signs)
        c, e = 0.5 * (1.0 + self.alpha), 0.5 * (1.0 - self.alpha)
        f = c * self.lengths * odd[self.line] + e * np.abs(self.lengths) * even[self.line]
        return np.asarray(self.problem.loss.pull(self.problem.y, f)) / len(f), crossed

    def _look_at_all(self, theta: Array, signs: Signs) -> tuple[Array, Array, Indices]:
        """`look_at_lines` of all neurons: shared among threads where they are many, and not worth compiling where they are few."""
        if theta.shape[0] * len(self) <= FEW_HEIGHTS:
            heights, a = theta @ self.turned, theta[:, -1]
            crossed = np.argwhere(heights * signs < 0.0)
            return a @ heights, a @ np.abs(heights), crossed
        parts = in_shares(partial(look_at_lines, theta, self._turned_normals, signs), len(theta), theta.size * len(self))
        odd, even = (np.sum([part[k] for part in parts], axis=0) for k in range(2))
        return odd, even, np.concatenate([part[2] for part in parts])

    def next_catch(
        self, theta: Array, velocity: Array, signs: Signs, pull: Array, within: float
    ) -> tuple[float, float, int, int]:
        """When within that time the first free neuron is caught, its height, itself and the line (-1 if there is none)."""
        return next_catch(theta, np.ascontiguousarray(velocity), self._turned_normals, signs, self.jumps(pull), within)

    def slopes(self, signs: Signs) -> Array:
        """sigma' at each sample for a pattern (..., lines) -> (..., samples); held lines count as below."""
        side = signs[..., self.line] * np.sign(self.lengths)
        below = (signs[..., self.line] == 0) & (self.lengths < 0)  # n.w < 0 there, so samples along -n are active
        return np.where((side > 0) | below, 1.0, self.alpha)

    def outputs(self, theta: Array, signs: Signs) -> Array:
        """What neurons theta (h, inputs + 1) of these patterns (h, lines) add to the outputs (samples,)."""
        return np.asarray(np.einsum("h,hi,hi->i", theta[:, -1], self.slopes(signs), theta[:, :-1] @ self.x.T))

    def seen(self, signs: Signs) -> Array:
        """The samples as a group of this pattern sees them, (samples, inputs): slope times the part off the held normals."""
        key = signs.tobytes()
        if key not in self._seen:
            if len(self._seen) * self.x.nbytes > MOST_REMEMBERED:
                self._seen.clear()
            self._seen[key] = self._compute_seen(signs)
        return self._seen[key]

    def _compute_seen(self, signs: Signs) -> Array:
        rows = self.slopes(signs)[:, None] * self.x
        held = np.flatnonzero(signs == 0)
        if held.size:
            basis = self.held_basis(held)
            rows = off_span(rows, basis)
            rows[np.isin(self.line, held)] = 0.0
            if len(basis) == rows.shape[1]:
                rows[:] = 0.0
        return rows

    def held_basis(self, held: Indices) -> Array:
        """Orthonormal rows that span the normals of these lines."""
        if len(held) == 1:
            return self.normals[held]
        _, sizes, rows = np.linalg.svd(self.normals[held], full_matrices=False)
        return rows[sizes > INDEPENDENT_NORMALS * sizes[0]]

    def on_holds(self, w: Array, signs: Signs) -> Array:
        """Incoming weights w (inputs,) of a neuron with these signs, put exactly on the kinks that hold it."""
        held = np.flatnonzero(signs == 0)
        if not held.size:
            return w
        basis = self.held_basis(held)
        return off_span(w, basis)

    def along_holds(self, signs: Signs) -> tuple[Indices, Array]:
        """Free lines whose normals nearly lie in the span of those that hold a neuron, and normals (lines, inputs) with theirs replaced.

        Along its holds such a neuron gets over these lines so slowly that the rounding of n.w would decide when: what it sees of them
        there are kinks whose normals are the unit vectors of what lies off the span.
        """
        key = signs.tobytes()
        if key not in self._along_holds:
            self._along_holds[key] = self._compute_along_holds(signs)
        return self._along_holds[key]

    def _compute_along_holds(self, signs: Signs) -> tuple[Indices, Array]:
        held = np.flatnonzero(signs == 0)
        if not held.size:
            return held, self.normals
        basis = self.held_basis(held)
        off = off_span(self.normals, basis)
        sizes = row_lengths(off)
        near = np.flatnonzero((signs != 0) & (sizes > INDEPENDENT_NORMALS) & (sizes < NEARLY_HELD_NORMAL))
        if not near.size:
            return near, self.normals
        normals = self.normals.copy()
        normals[near] = off[near] / sizes[near, None]
        return near, normals

    def holds(self, signs: Signs, pull: Array) -> tuple[Array, Array]:
        """For a held pattern, D_l lambda_l and D_l of each held line."""
        held = np.flatnonzero(signs == 0)
        normals = self.normals[held]
        drive = (self.slopes(signs) * pull) @ self.x
        return -np.linalg.pinv(normals @ normals.T, rcond=INDEPENDENT_NORMALS_GRAM) @ (normals @ drive), self.jumps(pull)[
            held
        ]

    def hold_rows(self, signs: Signs) -> tuple[Array, Array]:
        """For a held pattern, linear maps (held, samples) from pulls to D_l lambda_l and to D_l."""
        key = signs.tobytes()
        if key not in self._holds:
            self._holds[key] = self._compute_holds(signs)
        return self._holds[key]

    def _compute_holds(self, signs: Signs) -> tuple[Array, Array]:
        held = np.flatnonzero(signs == 0)
        normals = self.normals[held]
        gram_inverse = np.linalg.pinv(normals @ normals.T, rcond=INDEPENDENT_NORMALS_GRAM)
        below = self.slopes(signs)[:, None] * self.x
        return -gram_inverse @ normals @ below.T, self.jump_rows[held]


def off_span(rows: Array, basis: Array) -> Array:
    """Rows (..., inputs) less their part in the span of the orthonormal rows of `basis` (k, inputs).

    Taken off twice: where rows nearly lie in the span, what rounding leaves along it would not be small against the rest, and neurons
    would leave the kinks that hold them.
    """
    once = rows - (rows @ basis.T) @ basis
    return np.asarray(once - (once @ basis.T) @ basis)
