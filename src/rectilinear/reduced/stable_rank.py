"""The stable rank of a matrix."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Array


def stable_rank_of(matrix: Array) -> float:
    """|M|_F^2 / |M|_2^2: 1 for rank one, at most the rank; nan for a zero matrix.

    >>> stable_rank_of(np.diag([2.0, -2.0, 0.0]))
    2.0
    """
    if not matrix.any():
        return math.nan
    values = np.linalg.svd(matrix, compute_uv=False)
    return float(np.sum((values / values[0]) ** 2))
