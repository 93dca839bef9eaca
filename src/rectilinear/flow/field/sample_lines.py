"""Samples gathered on their lines through the origin, and the products with neurons' patterns that a flow over whole steps needs.

With x_i = len_i n_l(i) in an orthonormal basis of the samples' span, c = (1 + alpha)/2 and e = (1 - alpha)/2,

    f_i = c len_i sum_h a_h n.w_h + e |len_i| sum_h a_h |n.w_h|,
    g_h = (1/P) [ c sum_i len_i r_i n_l(i) + e sum_l sgn(n_l.w_h) B_l n_l ],   B_l = sum over the line of |len_i| r_i,

so that both are products with the matrix of signs (neurons, lines), which is kept in single bytes and multiplied block by block.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...dataset import find_lines
from ...problem import Problem
from ..threads import threads, workers

Array = NDArray[np.float64]
Signs = NDArray[np.int8]

TILE = 4  # inputs are padded to whole tiles
NEURONS, LINES = 64, 512  # of a block: the blocks, and so the sums, do not depend on the number of threads
IN_SPAN = 1e-12  # singular values of the inputs, over the largest, below which a direction is rounding


class SampleLines:
    """The lines of a problem's samples; normals (lines, inputs) are in coordinates of the samples' span, padded with zeros."""

    def __init__(self, problem: Problem) -> None:
        x = problem.x
        self.basis = _span(x)
        lines = find_lines(x)
        self.inputs = len(self.basis)
        width = -(-self.inputs // TILE) * TILE
        self.normals = np.zeros((len(lines.normals), width))
        self.normals[:, : self.inputs] = lines.normals @ self.basis.T
        self.index, self.lengths = lines.index, lines.lengths
        self.c, self.e = 0.5 * (1.0 + problem.network.alpha), 0.5 * (1.0 - problem.network.alpha)
        self.samples = len(x)
        self.simple = len(self.normals) == self.samples
        self._order = np.argsort(self.index) if self.simple else None

    def __len__(self) -> int:
        return len(self.normals)

    def gather(self, weights: Array, values: Array) -> Array:
        """Sums over each line of weights_i values_i, values (samples, k) -> (lines, k)."""
        weighted = weights[:, None] * values
        if self._order is not None:
            return weighted[self._order]
        out = np.zeros((len(self), values.shape[1]))
        np.add.at(out, self.index, weighted)
        return out

    def drives(self, signs: Signs, pulls: Array) -> Array:
        """g_h for pulls (samples, k) -> (neurons, k, inputs); held lines (sign 0) count half."""
        columns, width = pulls.shape[1], self.normals.shape[1]
        linear = self.c * np.einsum("lk,ld->kd", self.gather(self.lengths, pulls), self.normals)
        jumps = self.e * self.gather(np.abs(self.lengths), pulls)
        out = np.zeros((len(signs), columns * width))
        for first in range(0, len(self), LINES):
            part = slice(first, first + LINES)
            right = (jumps[part, :, None] * self.normals[part, None, :]).reshape(-1, columns * width)
            in_blocks(len(signs), NEURONS, lambda rows, part=part, right=right: _add(out, rows, signs[rows, part], right))
        return (out.reshape(len(signs), columns, width) + linear) / self.samples

    def jumps(self, pulls: Array) -> Array:
        """What crossing a line upwards adds to g along it, (lines, k)."""
        return 2.0 * self.e / self.samples * self.gather(np.abs(self.lengths), pulls)

    def outputs_of_moments(self, signs: Signs, moments: Array, corrections: Array) -> Array:
        """Moments of f (samples, k) from moments of a w (neurons, k, inputs); corrections (lines, k) for changes of sign on the way."""
        neurons, columns, width = moments.shape
        even = np.empty((len(self), columns))
        flat = moments.reshape(neurons, -1)

        def block(rows: slice) -> None:
            product = signs[:, rows].T.astype(np.float64) @ flat
            even[rows] = np.einsum("lkd,ld->lk", product.reshape(-1, columns, width), self.normals[rows])

        in_blocks(len(self), LINES, block)
        odd = self.normals @ moments.sum(axis=0).T
        return self._at_samples(odd, even - corrections)

    def outputs(self, w: Array, a: Array, heights: NDArray[np.float32] | None = None) -> Array:
        """f (samples,) of neurons w (neurons, inputs), a (neurons,); |n.w|/|w| go to `heights` (neurons, lines)."""
        even = np.empty(len(self))
        scale = 1.0 / np.maximum(np.linalg.norm(w, axis=1), np.finfo(float).tiny)

        def block(rows: slice) -> None:
            product = np.abs(self.normals[rows] @ w.T)
            even[rows] = product @ a
            if heights is not None:
                heights[:, rows] = (product * scale).T

        in_blocks(len(self), LINES, block)
        return self._at_samples((self.normals @ (a @ w))[:, None], even[:, None])[:, 0]

    def _at_samples(self, odd: Array, even: Array) -> Array:
        """f from its odd and even parts on the lines (lines, k)."""
        return self.c * self.lengths[:, None] * odd[self.index] + self.e * np.abs(self.lengths)[:, None] * even[self.index]


def _span(x: Array) -> Array:
    """Orthonormal rows that span the rows of x; the axes themselves where these are all there."""
    square = x.T @ x if len(x) >= x.shape[1] else None
    if square is not None:
        sizes = np.linalg.eigvalsh(square)
        if sizes[0] > 1e-8 * sizes[-1]:
            return np.eye(x.shape[1])
    _, sizes, rows = np.linalg.svd(x, full_matrices=False)
    rows = rows[sizes > IN_SPAN * sizes[0]]
    return np.eye(x.shape[1]) if len(rows) == x.shape[1] else rows


def _add(out: Array, rows: slice, signs: Signs, right: Array) -> None:
    out[rows] += signs.astype(np.float64) @ right


def in_blocks(count: int, size: int, task: Callable[[slice], None]) -> None:
    """Call `task` with slices of `size` that cover 0 ... count, in threads where there are several."""
    blocks = [slice(first, min(first + size, count)) for first in range(0, count, size)]
    if len(blocks) == 1 or workers() == 1:
        for rows in blocks:
            task(rows)
        return
    for job in [threads().submit(task, rows) for rows in blocks]:
        job.result()
