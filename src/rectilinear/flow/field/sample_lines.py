"""Samples gathered on their lines through the origin, and the products with neurons' patterns that a flow over whole steps needs.

With x_i = len_i n_l(i), c = (1 + alpha)/2 and e = (1 - alpha)/2,

    f_i = c len_i sum_h a_h n.w_h + e |len_i| sum_h a_h |n.w_h|,
    g_h = (1/P) [ c sum_i len_i r_i n_l(i) + e sum_l sgn(n_l.w_h) B_l n_l ],   B_l = sum over the line of |len_i| r_i,

so that both are products with the matrix of signs (neurons, lines), which is kept in single bytes and multiplied block by block.
Blocks have fixed sizes, so that sums do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Signs
from ...dataset import find_lines
from ...problem import Problem
from ..threads import in_shares
from ..tolerances import VANISHED

INPUTS_PER_TILE = 4  # inputs are padded to whole tiles
NEURONS_PER_BLOCK, LINES_PER_BLOCK = 64, 512


class SampleLines:
    """The lines of a problem's samples; normals (lines, inputs) are padded with zeros to whole tiles.

    >>> import rectilinear as rl
    >>> net = rl.Network(inputs=2, widths=(3,))
    >>> problem = rl.Problem(rl.datasets.six_points(), net, net.init(scale=1.0, seed=0))
    >>> lines = SampleLines(problem)
    >>> w, a = lines.into(problem.weights[0]), problem.weights[1][0]
    >>> bool(np.allclose(lines.outputs(w, a), problem.output(problem.weights)))
    True
    """

    def __init__(self, problem: Problem) -> None:
        lines = find_lines(problem.x)
        self.inputs = problem.x.shape[1]
        self.normals = self.into(lines.normals)
        self.index, self.lengths, self.reaches = lines.index, lines.lengths, np.abs(lines.lengths)
        self.c, self.e = 0.5 * (1.0 + problem.network.alpha), 0.5 * (1.0 - problem.network.alpha)
        self.samples = len(problem.x)
        self.sided = np.zeros((len(self), 2), dtype=bool)  # whether samples lie against and along the normal
        self.sided[self.index[self.lengths < 0], 0] = True
        self.sided[self.index[self.lengths > 0], 1] = True
        self._one_each = np.argsort(self.index) if len(self) == self.samples else None

    def __len__(self) -> int:
        return len(self.normals)

    def into(self, vectors: Array) -> Array:
        """Vectors (m, d), padded with zeros."""
        padded = np.zeros((len(vectors), -(-self.inputs // INPUTS_PER_TILE) * INPUTS_PER_TILE))
        padded[:, : self.inputs] = vectors
        return padded

    def back(self, padded: Array) -> Array:
        """Vectors (..., d) without their padding."""
        return padded[..., : self.inputs]

    def gather(self, values: Array) -> Array:
        """Sums over each line, values (samples, k) -> (lines, k)."""
        if self._one_each is not None:
            return values[self._one_each]
        out = np.zeros((len(self), values.shape[1]))
        np.add.at(out, self.index, values)
        return out

    def drives(self, signs: Signs, pulls: Array) -> Array:
        """g_h for pulls (samples, k) -> (neurons, k, inputs); held lines (sign 0) count half."""
        neurons, columns, width = len(signs), pulls.shape[1], self.normals.shape[1]
        linear = self.gather(self.c * self.lengths[:, None] * pulls).T @ self.normals
        even = self.gather(self.e * self.reaches[:, None] * pulls)
        out = np.zeros((neurons, columns * width))
        for first in range(0, len(self), LINES_PER_BLOCK):
            part = slice(first, first + LINES_PER_BLOCK)
            right = (even[part, :, None] * self.normals[part, None, :]).reshape(-1, columns * width)

            def add(rows: slice, part: slice = part, right: Array = right) -> None:
                out[rows] += signs[rows, part].astype(np.float64) @ right

            _in_blocks(add, neurons, NEURONS_PER_BLOCK, neurons * right.size)
        out = out.reshape(neurons, columns, width)
        out += linear
        out /= self.samples
        return out

    def jumps(self, pulls: Array) -> Array:
        """What crossing a line upwards adds to g along it, (lines, k)."""
        return self.gather(2.0 * self.e / self.samples * self.reaches[:, None] * pulls)

    def outputs_of(self, signs: Signs, products: Array, corrections: Array | float = 0.0) -> Array:
        """f (samples, k) from a w (neurons, k, inputs) of neurons with these signs; `corrections` (lines, k) to sum_h sgn a n.w."""
        neurons, columns, width = products.shape
        even = np.empty((len(self), columns))
        flat = products.reshape(neurons, -1)

        def write(rows: slice) -> None:
            sums = signs[:, rows].T.astype(np.float64) @ flat
            even[rows] = np.einsum("lkd,ld->lk", sums.reshape(-1, columns, width), self.normals[rows])

        _in_blocks(write, len(self), LINES_PER_BLOCK, len(self) * flat.size)
        return self._at_samples(self.normals @ products.sum(axis=0).T, even - corrections)

    def outputs(self, w: Array, a: Array, heights: NDArray[np.float32] | None = None) -> Array:
        """f (samples,) of neurons w (neurons, inputs), a (neurons,); |n.w|/|w| go to `heights` (neurons, lines)."""
        even = np.empty(len(self))
        scale = 1.0 / np.maximum(np.linalg.norm(w, axis=1), VANISHED)

        def write(rows: slice) -> None:
            sizes = np.abs(self.normals[rows] @ w.T)
            even[rows] = sizes @ a
            if heights is not None:
                heights[:, rows] = (sizes * scale).T

        _in_blocks(write, len(self), LINES_PER_BLOCK, len(self) * w.size)
        return self._at_samples((self.normals @ (a @ w))[:, None], even[:, None])[:, 0]

    def _at_samples(self, odd: Array, even: Array) -> Array:
        """f from its odd and even parts on the lines (lines, k)."""
        return self.c * self.lengths[:, None] * odd[self.index] + self.e * self.reaches[:, None] * even[self.index]


def _in_blocks(task: Callable[[slice], None], count: int, size: int, work: float) -> None:
    """Call `task` with slices of `size` that cover 0 ... count, shared among threads."""
    blocks = [slice(first, min(first + size, count)) for first in range(0, count, size)]

    def share(begin: int, end: int) -> None:
        for rows in blocks[begin:end]:
            task(rows)

    in_shares(share, len(blocks), work)
