"""What two-layer bias-free networks can express (Theorem 1, Corollary 2, Eq. 3 of Zhang et al.).

sigma(z) = (1 + alpha)/2 z + (1 - alpha)/2 |z|, so every two-layer network is

    f(x) = v . x + (1 - alpha)/2 sum_h a_h |w_h . x|,   v = (1 + alpha)/2 W_2 W_1:

a linear part, which is all of its odd part, and an even part of degree one. Corollary 2: an odd two-layer network is linear.
Three layers can do more (Eq. 3, `network.odd_nonlinear_network`). What that means for a data set is its `budget`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..dataset import Dataset, find_lines
from ..errors import InputError
from ..network import Network, Weights
from .budget import budget

CANCELLED = 1e-12  # a sum of contributions below this fraction of their sizes is rounding
KINK_SEED = 271_828  # unlike the seeds of data, so that random kinks never coincide with random samples


@dataclass(frozen=True, eq=False)
class ExactLinearity:
    """Whether a two-layer network is a linear function, and how much of it is not.

    Neurons on one line through the origin share |w . x| up to a factor, and distinct lines are independent, so the even part
    vanishes if and only if the contributions `even` (lines,), (1 - alpha)/2 sum_h a_h |w_h| over each line, all cancel.
    """

    is_linear: bool
    linear_map: Array  # (d,)
    normals: Array  # (lines, d), the unit normal of each line
    even: Array  # (lines,), so that f(x) = linear_map . x + sum_k even_k |normal_k . x|

    def even_part(self, x: ArrayLike) -> Array:
        """(f(x) + f(-x))/2 for each row of x (n, d)."""
        return np.asarray(np.abs(np.atleast_2d(np.asarray(x, dtype=np.float64)) @ self.normals.T) @ self.even)

    def largest_even_part(self, x: ArrayLike) -> float:
        """The largest |even part| on the rows of x (n, d)."""
        return float(np.abs(self.even_part(x)).max())

    @property
    def bound(self) -> float:
        """A bound on |even part| over the unit sphere; zero only for a network without even part.

        Contributions of either sign bound it alone: by their sum, and (Cauchy-Schwarz) by |even| times the largest singular
        value of their normals.
        """
        bounds = [0.0]
        for side in (self.even > 0, self.even < 0):
            if side.any():
                sizes = np.abs(self.even[side])
                stretch = float(np.linalg.norm(self.normals[side], ord=2))
                bounds.append(min(float(sizes.sum()), float(np.linalg.norm(sizes)) * stretch))
        return max(bounds)

    def __repr__(self) -> str:
        if self.is_linear:
            return f"ExactLinearity: linear; neurons on {len(self.even)} lines cancel"
        return f"ExactLinearity: not linear; even part up to {self.bound:.3g} |x| from {np.count_nonzero(self.even)} lines"


def exact_linearity(network: Network, weights: Weights) -> ExactLinearity:
    """Decide exactly whether a two-layer network is a linear function of its input.

    >>> net = Network(inputs=2, widths=(2,))
    >>> exact_linearity(net, (np.array([[1.0, 2.0], [-2.0, -4.0]]), np.array([[2.0, -1.0]])))
    ExactLinearity: linear; neurons on 1 lines cancel
    """
    linear_map = network.linear_part(weights)
    first, second = weights[0], weights[1][0]
    alive = np.linalg.norm(first, axis=1) * np.abs(second) > 0
    if not alive.any():
        return ExactLinearity(True, linear_map, np.empty((0, network.inputs)), np.empty(0))
    lines = find_lines(first[alive])
    contributions = (1.0 - network.alpha) / 2.0 * second[alive] * np.abs(lines.lengths)
    even = np.bincount(lines.index, contributions)
    sizes = np.bincount(lines.index, np.abs(contributions))
    left = np.where(np.abs(even) <= CANCELLED * sizes, 0.0, even.astype(np.float64))
    return ExactLinearity(not left.any(), linear_map, lines.normals, left)


def interpolating_network(data: Dataset, alpha: float = 0.0) -> tuple[Network, Weights]:
    """A two-layer network that fits the expressible part of the labels: it reaches the loss floor of `budget(data)`.

    It witnesses that the budget is attained. Neurons (v, a), (-v, -a) give the linear part of the best fit. For the even part,
    each line with normal n gets pairs (w, a), (-w, a) with w = h + e n, h - e n and h, the last with -2a: h lies on the kink
    n . h = 0 and e is so small that no other line's |w . n'| bends between them, so their sum is zero on every other line.

    >>> data = Dataset([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [1.0, 1.0, 2.0])
    >>> net, weights = interpolating_network(data)
    >>> net.output(weights, data.x).round(12).tolist()
    [1.0, 1.0, 2.0]
    """
    if alpha >= 1.0:
        raise InputError(f"interpolation needs alpha < 1, found {alpha:g}: a linear network has no even part.")
    linear_map, even = budget(data).fit
    normals = data.lines.normals
    on_kink = np.random.default_rng(KINK_SEED).standard_normal(normals.shape)
    on_kink -= np.sum(on_kink * normals, axis=1, keepdims=True) * normals
    heights, tilts = np.abs(on_kink @ normals.T), np.abs(normals @ normals.T)
    np.fill_diagonal(tilts, 0.0)
    reach = 0.5 / np.max(tilts / np.where(tilts > 0, heights, 1.0), axis=1, initial=0.5)
    offset = reach[:, None] * normals
    kinks = np.concatenate([on_kink + offset, on_kink - offset, on_kink])
    bumps = np.outer([1.0, 1.0, -2.0], even / (2.0 * reach * (1.0 - alpha))).ravel()
    first = np.concatenate([linear_map[None], -linear_map[None], kinks, -kinks])
    second = np.concatenate([np.array([1.0, -1.0]) / (1.0 + alpha), bumps, bumps])
    network = Network(data.inputs, (len(first),), alpha)
    return network, network.check_weights((first, second[None]))
