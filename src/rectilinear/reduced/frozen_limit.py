"""Where the direction of W_1 ends once no neuron switches any more, the second layer being fixed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, Signs
from ..network import Weights
from ..problem import Problem
from .max_margin import max_margin

ON_KINK = 1e-11  # cosines between neuron and sample below it are rounding: the neuron is held there


@dataclass(frozen=True, eq=False)
class FrozenLimit:
    """The limit of W_1/ln t under frozen patterns: `first` (h, d), the multipliers mu (n,) and margins y_i f(x_i) (n,) at it.

    `certificate` is the KKT residual of the program; `consistent` tells whether `first` has the pattern it was computed for.
    `shares` (h, n) are the multipliers with which kinks hold moving neurons at the limit, nan where none does: strictly between
    0 and 1 a hold lasts for ever.
    """

    first: Array
    multipliers: Array
    margins: Array
    certificate: float
    consistent: bool
    shares: Array

    @property
    def equal_margins(self) -> bool:
        """Whether every sample is a support vector, so that all normalised margins become equal."""
        return bool((self.multipliers > 0).all())

    @property
    def holds_last(self) -> bool:
        """Whether every kink that holds a neuron goes on to do so."""
        shares = self.shares[~np.isnan(self.shares)]
        return bool(((shares > 0.0) & (shares < 1.0)).all())

    def distance(self, first: Array) -> float:
        """|W/|W|_F - limit/|limit|_F|_F for first-layer weights (h, d)."""
        return float(np.linalg.norm(first / np.linalg.norm(first) - self.first / np.linalg.norm(self.first)))


def patterns(weights: Weights, x: Array) -> Signs:
    """Sides (h, n) of the kinks that neurons are on: +1 active, -1 inactive, 0 held on the kink."""
    first = weights[0]
    sizes = np.outer(np.linalg.norm(first, axis=1), np.linalg.norm(x, axis=1))
    heights = first @ x.T
    return np.where(np.abs(heights) <= ON_KINK * sizes, 0, np.sign(heights)).astype(np.int8)


def class_pattern(problem: Problem) -> Signs:
    """The pattern of Kou et al., (h, n): every neuron active on the class of its sign and on no other."""
    return np.outer(np.sign(problem.weights[1][0]), problem.y).astype(np.int8)


def frozen_limit(problem: Problem, signs: Signs) -> FrozenLimit:
    """Where the direction of W_1 ends if neurons keep the sides `signs` (h, n) of the kinks, 0 where they are held.

    >>> from rectilinear import datasets, Network
    >>> data, net = datasets.nearly_orthogonal(samples=4, inputs=60), Network(60, (6,), alpha=0.2, trainable=(True, False))
    >>> problem = Problem(data, net, net.init(0.1, seed=0, start="two_class"), loss="logistic")
    >>> limit = frozen_limit(problem, class_pattern(problem))
    >>> limit.consistent, limit.equal_margins
    (True, True)
    """
    x, y, a = problem.x, problem.y, problem.weights[1][0]
    features = np.stack([a[h] * y[:, None] * _seen(x, signs[h], problem.network.alpha) for h in range(len(a))])
    gram = np.einsum("hid,hjd->ij", features, features)
    values, vectors = np.linalg.eigh(gram)
    found = max_margin(vectors * np.sqrt(np.maximum(values, 0.0)))  # rows with the same products, in n dimensions
    first = np.einsum("i,hid->hd", found.multipliers, features)
    margins = np.einsum("hid,hd->i", features, first)
    after = patterns((first,), x)
    moved = first.any(axis=1)
    agree = (after == signs) | (after == 0)  # a silent neuron's kinks have no say
    shares = np.where(moved[:, None], _hold_shares(problem, signs, found.multipliers), np.nan)
    return FrozenLimit(first, found.multipliers, margins, found.kkt_residual, bool(agree[moved].all()), shares)


def _seen(x: Array, signs: Signs, alpha: float) -> Array:
    """The samples (n, d) as a neuron of this pattern sees them."""
    rows = np.where(signs > 0, 1.0, alpha)[:, None] * x
    held = np.flatnonzero(signs == 0)
    if held.size:
        basis, _ = np.linalg.qr(x[held].T)
        rows = rows - (rows @ basis) @ basis.T
        rows[held] = 0.0
    return np.asarray(rows)


def _hold_shares(problem: Problem, signs: Signs, multipliers: Array) -> Array:
    """lambda (h, n) of the held pairs where pulls are in the ratio mu_i y_i, as at the limit: the drive has no part along held
    samples, sum_i sigma'_i p_i x_i + (1 - alpha) sum_held lambda_i p_i x_i with sigma' = alpha at the held ones."""
    x, alpha = problem.x, problem.network.alpha
    pulls = multipliers * problem.y
    shares = np.full(signs.shape, np.nan)
    for h in np.flatnonzero((signs == 0).any(axis=1)):
        held = np.flatnonzero(signs[h] == 0)
        drive = (np.where(signs[h] > 0, 1.0, alpha) * pulls) @ x
        needed = np.linalg.lstsq(x[held] @ x[held].T, -x[held] @ drive, rcond=None)[0]
        with np.errstate(divide="ignore", invalid="ignore"):  # a sample that is no support vector holds nothing
            shares[h, held] = needed / ((1.0 - alpha) * pulls[held])
    return shares
