"""Sums over stages and components, each in one pass: too small for the threads of BLAS."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ..compiled import fast_kernel

ROWS_PER_TILE = 4  # rows of a pass


@fast_kernel
def combined(base: Array, factor: float, coefficients: Array, rows: Array) -> Array:
    """base + factor sum_s c_s rows_s for rows (stages or more, size)."""
    c, place = (
        np.zeros(len(coefficients) + ROWS_PER_TILE),
        np.zeros(len(coefficients) + ROWS_PER_TILE, np.intp),
    )  # whole tiles
    used = 0
    for s in range(len(coefficients)):
        if coefficients[s] != 0.0:
            c[used], place[used] = factor * coefficients[s], s
            used += 1
    out = np.empty(len(base))
    for i in range(len(out)):
        out[i] = base[i]
    for s in range(0, used, ROWS_PER_TILE):
        c0, c1, c2, c3 = c[s], c[s + 1], c[s + 2], c[s + 3]
        k0, k1, k2, k3 = rows[place[s]], rows[place[s + 1]], rows[place[s + 2]], rows[place[s + 3]]
        for i in range(len(out)):
            out[i] += c0 * k0[i] + c1 * k1[i] + c2 * k2[i] + c3 * k3[i]
    return out


@fast_kernel
def mean_square(values: Array, sizes: Array) -> float:
    """Mean of (v_i/s_i)^2."""
    total = 0.0
    for i in range(values.shape[0]):
        share = values[i] / sizes[i]
        total += share * share
    return total / values.shape[0]
