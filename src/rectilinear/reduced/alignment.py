"""Aligned two-layer weights (Assumption 4 of Zhang et al.): the nearest ones, and how far they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..network import Weights


@dataclass(frozen=True)
class Alignment:
    """The nearest aligned weights W_1 = p v r^T, W_2 = q v^T with unit v (h,) and r (d,), and the distances from them.

    `residual` is |W_1 - p v r^T| / |W_1|; `halves` is the relative difference of the squared norms of positive and negative
    entries of v.
    """

    v: Array
    r: Array
    p: float
    q: float
    residual: float
    halves: float


def nearest_aligned(weights: Weights) -> Alignment:
    """How far two-layer weights are from W_1 = p v r^T, W_2 = q v^T with v parallel to the second layer."""
    first, second = weights[0], weights[1][0]
    q = float(np.linalg.norm(second))
    v = second / q if q else np.zeros_like(second)
    pr = v @ first
    p = float(np.linalg.norm(pr))
    r = pr / p if p else np.zeros_like(pr)
    size = float(np.linalg.norm(first))
    residual = float(np.linalg.norm(first - np.outer(v, pr))) / size if size else 0.0
    halves = abs(float(np.sum(v * np.abs(v))))
    return Alignment(v, r, p, q, residual, halves)
