"""The hard-margin SVM through the origin, by least-distance programming, with a certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..errors import InputError

NO_MARGIN = 1e-9  # margins below this fraction of the longest sample are rounding, as in `separable`


@dataclass(frozen=True, eq=False)
class MaxMargin:
    """The shortest w with y_i w . x_i >= 1: the hard-margin SVM through the origin.

    `margin` is 1/|w|, the largest min_i y_i u . x_i over unit u; `kkt_residual` the largest violation of the conditions that
    certify it (constraints, multipliers' signs, stationarity, complementarity), relative to |w|.
    """

    w: Array
    multipliers: Array
    kkt_residual: float

    @property
    def direction(self) -> Array:
        return np.asarray(self.w / np.linalg.norm(self.w))

    @property
    def margin(self) -> float:
        return 1.0 / float(np.linalg.norm(self.w))

    @property
    def support(self) -> tuple[int, ...]:
        """Indices of the samples that hold the margin."""
        return tuple(int(i) for i in np.flatnonzero(self.multipliers > 0))

    def __repr__(self) -> str:
        return (
            f"MaxMargin: margin {self.margin:.6g}, {len(self.support)} support vectors, KKT residual {self.kkt_residual:.1e}"
        )


def max_margin(signed: Array) -> MaxMargin:
    """The shortest w with s_i . w >= 1 for every row s_i = y_i x_i of `signed` (n, d), by least-distance programming.

    The least-distance program min |w|, S w >= 1 is the non-negative least-squares problem min |[S^T; 1^T] u - e|, u >= 0,
    with e the last unit vector; a zero residual there means that no w separates.

    >>> round(max_margin(np.array([[2.0, 0.0], [2.0, 1.0]])).margin, 12)
    2.0
    """
    from scipy.optimize import nnls

    scale = float(np.linalg.norm(signed, axis=1).max())
    rows = signed / scale
    samples, inputs = rows.shape
    goal = np.append(np.zeros(inputs), 1.0)
    u, residual = nnls(np.concatenate([rows.T, np.ones((1, samples))]), goal, maxiter=30 * samples)
    if residual < NO_MARGIN:
        raise InputError(
            "a maximum margin needs labels that some hyperplane through the origin separates, and none does; "
            "the logistic optimum is finite there."
        )
    w, multipliers = _polished(rows, u)
    return MaxMargin(w / scale, multipliers / scale**2, _kkt_residual(rows, w, multipliers))


def _polished(rows: Array, u: Array) -> tuple[Array, Array]:
    """Solve the optimality conditions on the samples that hold the margin, which removes the rounding of the search."""
    support = np.flatnonzero(u > 0)
    gram = rows[support] @ rows[support].T
    multipliers = np.zeros(len(rows))
    multipliers[support] = np.linalg.lstsq(gram, np.ones(len(support)), rcond=None)[0]
    return multipliers @ rows, multipliers


def _kkt_residual(rows: Array, w: Array, multipliers: Array) -> float:
    slack = rows @ w - 1.0
    size = float(w @ w)  # the sum of the multipliers at the optimum
    violations = (
        -slack.min(),
        -multipliers.min() / size,
        float(np.linalg.norm(w - multipliers @ rows)) / np.sqrt(size),
        float(np.abs(multipliers * slack).max()) / size,
    )
    return float(max(0.0, *violations))
