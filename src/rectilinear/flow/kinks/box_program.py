"""The quadratic program of kinks that are met together: impulses within bounds that keep heights at zero where they can.

Hundreds of kinks of a deep network are in it at once, so that it is solved by sweeps, to the tolerance of a step. `answers.box_problem`
is for the few lines that one neuron touches, and solves theirs to rounding by active sets, cubic in their number.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ..compiled import in_line, kernel
from ..tolerances import TINY

MOST_BOX_SWEEPS = 400
EVERY = 5  # sweeps after which the free part is solved at once
SETTLED_TARGET = 1e-9  # of the largest target
RIDGE = 1e-12  # of the diagonal: normals may be parallel


@in_line
def _toward_free_solution(gram: Array, slope: Array, q: Array, low: Array, high: Array) -> None:
    """Move the components within bounds to where their slopes vanish, or as far as bounds allow."""
    free = np.flatnonzero((q > low) & (q < high))
    if len(free) == 0:
        return
    part = np.empty((len(free), len(free)))
    for i in range(len(free)):
        for j in range(len(free)):
            part[i, j] = gram[free[i], free[j]]
        part[i, i] = part[i, i] * (1.0 + RIDGE) + TINY
    step = np.linalg.solve(part, -slope[free])
    share = 1.0  # of the way
    for i in range(len(free)):
        k = free[i]
        if q[k] + step[i] > high[k]:
            share = min(share, (high[k] - q[k]) / step[i])
        elif q[k] + step[i] < low[k]:
            share = min(share, (low[k] - q[k]) / step[i])
    for i in range(len(free)):
        q[free[i]] = min(max(q[free[i]] + share * step[i], low[free[i]]), high[free[i]])


@kernel
def box_program(gram: Array, target: Array, low: Array, high: Array) -> Array:
    """The q in [low, high] that minimises q.Gq/2 - target.q, for a positive semidefinite G (m, m).

    Coordinate descent finds which bounds are met; the others are solved for at once. Where q_k is free, (Gq)_k = target_k.

    >>> import numpy as np
    >>> gram, target = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([3.0, 9.0])
    >>> box_program(gram, target, np.zeros(2), np.full(2, np.inf)).round(6).tolist()
    [0.0, 4.5]
    """
    m = target.shape[0]
    q = np.minimum(np.maximum(np.zeros(m), low), high)
    slope = np.dot(gram, q) - target
    largest = SETTLED_TARGET * max(np.max(np.abs(target)), TINY)
    for sweep in range(MOST_BOX_SWEEPS):
        if sweep % EVERY == 0:
            _toward_free_solution(gram, slope, q, low, high)
            slope = np.dot(gram, q) - target
        change = 0.0
        for k in range(m):
            if gram[k, k] <= 0.0:
                continue
            new = min(max(q[k] - slope[k] / gram[k, k], low[k]), high[k])
            step = new - q[k]
            if abs(step) * gram[k, k] > 0.1 * largest:
                slope += step * gram[k]
                q[k] = new
                change = max(change, abs(step) * gram[k, k])
        if change <= largest:
            break
    return q
