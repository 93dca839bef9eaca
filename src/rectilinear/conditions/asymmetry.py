"""How far a data set is from Condition 3 of Zhang et al., and the nearest data set that satisfies it.

W(p, q) is the distance of optimal transport, -p the mirror image (-x, -y) of the sample p = (x, y). For any symmetric q
W(p, -p) <= W(p, q) + W(q, -p) = 2 W(p, q), and the midpoint of p and -p along the optimal matching is symmetric and half
way: it is the nearest symmetric data set, at distance W(p, -p) / 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from ..arrays import Array, Indices
from ..dataset import Dataset
from ..errors import InputError
from ..problem import Problem
from ..remembered import remembered
from .finding import Finding, measured_finding, true_or_not, undecided
from .symmetry import even_inputs, odd_target

MAX_UNMATCHED = 2000  # samples without an exact mirror image; the matching compares every pair of them
NEARLY_SYMMETRIC = 0.1  # beyond it a perturbation theory around the symmetric data set is not credible


@dataclass(frozen=True, eq=False)
class Asymmetry:
    """`distance` from Condition 3, `partners` (n,) matched to each sample, and the `nearest` symmetric data set.

    The distance is half the root mean square of |x_i + x_j|^2 / <|x|^2> + (y_i + y_j)^2 / <y^2> over matched samples i, j: 0
    for symmetric data. `nearest` holds ((x_i - x_j)/2, (y_i - y_j)/2), and the samples of the inverse matching too where
    partners are not mutual.
    """

    distance: float
    partners: Indices
    nearest: Dataset

    def __repr__(self) -> str:
        return (
            f"Asymmetry: distance {self.distance:.4g} from even inputs with an odd target ({self.nearest.samples} samples)"
        )


@remembered
def asymmetry(data: Dataset) -> Asymmetry:
    """Match every sample with another one so that the data are as near to their mirror image as they can be.

    >>> from rectilinear.datasets import six_points
    >>> found = asymmetry(six_points(delta=0.15))
    >>> round(found.distance, 4), found.partners.tolist(), found.nearest.x[-1].tolist()
    (0.0335, [1, 0, 3, 2, 5, 4], [1.0, 0.075])
    """
    if data.samples < 2:
        raise InputError(f"at least two samples are required to match mirror images, found {data.samples}.")
    partners = _partners(data)
    gaps = np.mean((data.x + data.x[partners]) ** 2) / np.mean(data.x**2)
    gaps += np.mean((data.y + data.y[partners]) ** 2) / (np.mean(data.y**2) or 1.0)
    x, y = data.x - data.x[partners], data.y - data.y[partners]
    if not np.array_equal(partners[partners], np.arange(data.samples)):
        x, y = np.concatenate([x, -x]), np.concatenate([y, -y])
    nearest = Dataset(x / 2, y / 2, f"{data.name} (nearest symmetric)", {"even_inputs", "odd_target"})
    return Asymmetry(float(np.sqrt(gaps)) / 2, partners, nearest)


def nearly_symmetric(data: Dataset) -> Finding:
    """The data are within 0.1 of Condition 3, as `asymmetry` measures it."""
    try:
        distance = asymmetry(data).distance
    except InputError as error:
        return undecided("nearly_symmetric", NEARLY_SYMMETRIC, str(error))
    sentence = f"the data are {distance:.3g} away from even inputs with an odd target ({NEARLY_SYMMETRIC:g} is near)."
    return measured_finding("nearly_symmetric", distance, NEARLY_SYMMETRIC, sentence)


def _partners(data: Dataset) -> Indices:
    partners = np.full(data.samples, -1)
    pairs, _ = data.mirror_pairs
    off = np.abs(data.y[pairs[:, 0]] + data.y[pairs[:, 1]])
    exact = pairs[off <= data.precision.tolerance * np.abs(data.y).max()]
    partners[exact[:, 0]], partners[exact[:, 1]] = exact[:, 1], exact[:, 0]
    rest = np.flatnonzero(partners < 0)
    if rest.size == 1:  # an odd one out has to share somebody's partner
        rest = np.arange(data.samples)
    if rest.size > MAX_UNMATCHED:
        raise InputError(
            f"at most {MAX_UNMATCHED} samples without an exact mirror image can be matched, found {rest.size}; take fewer."
        )
    if rest.size:
        costs = _costs(data.x[rest], data.y[rest], float(np.sum(data.x**2) / (np.sum(data.y**2) or 1.0)))
        np.fill_diagonal(costs, np.inf)
        partners[rest] = rest[scipy.optimize.linear_sum_assignment(costs)[1]]
    return partners


def _costs(x: Array, y: Array, label_weight: float) -> Array:
    """|x_i + x_j|^2 + label_weight (y_i + y_j)^2 for all pairs i, j."""
    squares = np.sum(x**2, axis=1)
    return np.asarray(np.add.outer(squares, squares) + 2 * x @ x.T + label_weight * np.add.outer(y, y) ** 2)


def broken_symmetry(problem: Problem) -> Finding:
    """The data are not exactly symmetric: with Condition 3 nothing grows on the plateau, which is then the limit."""
    holds = not (even_inputs(problem.data).holds and odd_target(problem.data).holds)
    sentence = "the data are not exactly symmetric." if holds else "the data are exactly symmetric: use two_neurons."
    return true_or_not("broken_symmetry", holds, sentence)
