"""The quadratic program of kinks that are met together: impulses within bounds that keep heights at zero where they can."""

from __future__ import annotations

import numba
import numpy as np

from ...arrays import Array

MOST_SWEEPS = 400
EVERY = 10  # sweeps after which the free part is solved at once
SETTLED = 1e-13  # of the largest gradient
RIDGE = 1e-12  # of the diagonal: normals may be parallel


@numba.njit(cache=True, nogil=True)
def box_program(gram: Array, target: Array, low: Array, high: Array) -> Array:
    """The q in [low, high] that minimises q.Gq/2 - target.q, for a positive semidefinite G (m, m).

    Coordinate descent finds which bounds are met; the others are solved for at once. Where q_k is free, (Gq)_k = target_k.
    """
    m = target.shape[0]
    q, slope = np.minimum(np.maximum(np.zeros(m), low), high), -target.copy()
    slope += np.dot(gram, q)
    largest = max(np.max(np.abs(target)), 1e-300)
    for sweep in range(MOST_SWEEPS):
        change = 0.0
        for k in range(m):
            if gram[k, k] <= 0.0:
                continue
            new = min(max(q[k] - slope[k] / gram[k, k], low[k]), high[k])
            step = new - q[k]
            if step != 0.0:
                slope += step * gram[k]
                q[k] = new
                change = max(change, abs(step) * gram[k, k])
        if change <= SETTLED * largest:
            break
        if sweep % EVERY == 0:
            free = np.flatnonzero((q > low) & (q < high))
            if len(free):
                part = np.empty((len(free), len(free)))
                for i in range(len(free)):
                    for j in range(len(free)):
                        part[i, j] = gram[free[i], free[j]]
                    part[i, i] *= 1.0 + RIDGE
                step_free = np.linalg.solve(part, -slope[free])
                share = 1.0  # of the way to the solution, as far as bounds allow
                for i in range(len(free)):
                    k = free[i]
                    if q[k] + step_free[i] > high[k]:
                        share = min(share, (high[k] - q[k]) / step_free[i])
                    elif q[k] + step_free[i] < low[k]:
                        share = min(share, (low[k] - q[k]) / step_free[i])
                for i in range(len(free)):
                    q[free[i]] = min(max(q[free[i]] + share * step_free[i], low[free[i]]), high[free[i]])
                slope = np.dot(gram, q) - target
    return q
