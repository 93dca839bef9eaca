"""The expressivity budget of a data set: what two-layer bias-free networks can and cannot fit (Zhang et al., Theorem 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..dataset import Dataset
from ..remembered import remembered

SAME_POINT = 1e-12  # relative distance below which two samples of one ray are the same
NO_CONFLICT = 1e-12  # share of <y^2> below which labels of one input differ by rounding


@dataclass(frozen=True)
class Unfitted:
    """Why two layers without bias miss a share of <y^2>: three shares that add up to what they miss.

    Two-layer bias-free functions are positively homogeneous (as those of any depth are), and those are functions: each class is
    contained in the next, so that what the best fit misses falls from one to the next, and each difference has a cause.
    `odd_nonlinear`: odd and not linear (Theorem 1), which a third layer fits. `not_homogeneous`: not proportional to |x| along
    rays, which no bias-free network fits at any depth. `conflicting`: one input with several labels, which nothing fits;
    `conflict` names two such samples, whose labels are far apart.
    """

    odd_nonlinear: float
    not_homogeneous: float
    conflicting: float
    conflict: tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class Budget:
    """The target y = linear + even + inexpressible on the samples, three orthogonal vectors (n,).

    Any two-layer network without bias is v . x plus an even function of degree one (Theorem 1). On samples x_i = l_i n_k of
    the line with unit normal n_k it takes the values l_i v . n_k + |l_i| e_k. Every choice of v and of one e_k per line is
    reached by a wide enough network with alpha < 1: as functions of w, the |w . n_k| have their kinks on distinct
    hyperplanes, so they are independent and some sum of |w_h . x| interpolates any e_k. Hence `linear` is the best linear
    fit, `even` what the best two-layer fit adds to it, and `inexpressible` its residual, all exact for the sample. On
    mirrored data `even` is the even part itself. A line that holds samples on one side only is fitted whatever the target:
    unmirrored data with one sample per line are interpolated, which says nothing about new samples.
    """

    linear: Array
    even: Array
    inexpressible: Array
    linear_map: Array  # (d,), the best linear fit
    fit: tuple[Array, Array]  # v (d,) and e_k (lines,) of the best two-layer fit
    unfitted: Unfitted  # what is inexpressible, by cause

    @property
    def fractions(self) -> tuple[float, float, float]:
        """Shares of <y^2> of the three parts; they sum to one. All zero for y = 0."""
        squares = [float(np.mean(part**2)) for part in (self.linear, self.even, self.inexpressible)]
        total = sum(squares) or 1.0
        return squares[0] / total, squares[1] / total, squares[2] / total

    @property
    def loss_floor(self) -> float:
        """The lowest square loss <(y - f)^2>/2 that a two-layer network of any width reaches."""
        return float(np.mean(self.inexpressible**2)) / 2

    def __repr__(self) -> str:
        linear, even, rest = (round(100 * share, 10) for share in self.fractions)  # what rounding leaves reads as 0
        return (
            f"Budget: {linear:.4g} % linear, {even:.4g} % even, {rest:.4g} % beyond every two-layer bias-free network; "
            f"square loss floor {round(self.loss_floor, 15):.6g}"
        )


@remembered
def budget(data: Dataset) -> Budget:
    """Split the labels into linear, even and inexpressible parts; cost linear in the samples.

    >>> budget(Dataset([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], [1.0, 1.0, 2.0, -2.0]))
    Budget: 80 % linear, 20 % even, 0 % beyond every two-layer bias-free network; square loss floor 0
    """
    lines = data.lines
    lengths = np.abs(lines.lengths)
    mass = np.bincount(lines.index, lengths**2)

    def without_even(values: Array) -> Array:
        """The part of `values` orthogonal, line by line, to |l_i| e_k."""
        per_line = np.bincount(lines.index, lengths * values) / mass
        return np.asarray(values - lengths * per_line[lines.index])

    linear_map = _least_squares(data.x, data.y)
    linear = data.x @ linear_map
    design = without_even(lines.lengths)[:, None] * lines.normals[lines.index]
    left = without_even(data.y)
    v = _least_squares(design, left)
    inexpressible = left - design @ v
    per_line = np.bincount(lines.index, lengths * (data.y - data.x @ v)) / mass
    even = data.y - linear - inexpressible
    return Budget(linear, even, inexpressible, linear_map, (v, per_line), _unfitted(data, inexpressible))


def _unfitted(data: Dataset, inexpressible: Array) -> Unfitted:
    lines, y = data.lines, data.y
    lengths = np.abs(lines.lengths)
    rays = np.unique(2 * lines.index + (lines.lengths > 0), return_inverse=True)[1]
    mass = np.bincount(rays, lengths**2)
    slopes = np.bincount(rays, lengths * y) / np.where(mass > 0.0, mass, 1.0)
    beyond_rays = y - lengths * slopes[rays]
    order = np.lexsort((lengths, rays))
    apart = (np.diff(rays[order]) > 0) | (np.diff(lengths[order]) > SAME_POINT * lengths[order][1:])
    points = np.empty(len(y), dtype=np.intp)
    points[order] = np.append(0, np.cumsum(apart))
    counts = np.bincount(points)
    conflict = y - (np.bincount(points, y) / counts)[points]
    total = float(np.mean(y**2)) or 1.0
    misses = [float(np.mean(part**2)) / total for part in (inexpressible, beyond_rays, conflict)]
    witness = None
    if misses[2] > NO_CONFLICT:
        i = int(np.argmax(np.abs(conflict)))
        same = np.flatnonzero(points == points[i])
        j = int(same[np.argmax(np.abs(y[same] - y[i]))])
        witness = min(i, j), max(i, j)
    return Unfitted(max(0.0, misses[0] - misses[1]), max(0.0, misses[1] - misses[2]), misses[2], witness)


def _least_squares(design: Array, values: Array) -> Array:
    return np.asarray(np.linalg.lstsq(design, values, rcond=None)[0])
