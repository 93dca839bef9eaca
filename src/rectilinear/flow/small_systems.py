"""Small linear systems and principal axes in plain loops: below some tens of unknowns as fast as LAPACK, and compiled in a tenth of
the time, which the first run after an install waits for."""

from __future__ import annotations

import numpy as np

from ..arrays import Array, Complex, Indices
from .compiled import fast_part, part

SWEEPS = 30  # of rotations; convergence is quadratic, five or six are the rule
EPSILON = np.finfo(float).eps
ROUNDED_PIVOT = 10.0 * EPSILON  # times the unknowns and the largest pivot: one that rounding leaves of zero


@part
def solve_in_place(matrix: Array, right: Array) -> None:
    """right (n, m) becomes matrix^{-1} right, by elimination with row pivots; the matrix (n, n) is used up."""
    size, columns = right.shape
    for c in range(size):
        pivot = c
        for r in range(c + 1, size):
            if abs(matrix[r, c]) > abs(matrix[pivot, c]):
                pivot = r
        for k in range(c, size):
            matrix[c, k], matrix[pivot, k] = matrix[pivot, k], matrix[c, k]
        for k in range(columns):
            right[c, k], right[pivot, k] = right[pivot, k], right[c, k]
        for r in range(c + 1, size):
            factor = matrix[r, c] / matrix[c, c]
            for k in range(c + 1, size):
                matrix[r, k] -= factor * matrix[c, k]
            for k in range(columns):
                right[r, k] -= factor * right[c, k]
    for r in range(size - 1, -1, -1):
        for k in range(columns):
            for c in range(r + 1, size):
                right[r, k] -= matrix[r, c] * right[c, k]
            right[r, k] /= matrix[r, r]


@fast_part
def factorise(matrix: Complex, order: Indices) -> None:
    """The matrix (n, n) becomes its factors L U, L below and U on and above the diagonal; `order` (n,) are the rows its pivots are from.

    Unlike an inverse, factors solve stiff systems with errors that are small in every direction.
    """
    size = order.shape[0]
    for c in range(size):
        pivot = c
        for r in range(c + 1, size):
            if abs(matrix[r, c]) > abs(matrix[pivot, c]):
                pivot = r
        order[c] = pivot
        for k in range(size):
            matrix[c, k], matrix[pivot, k] = matrix[pivot, k], matrix[c, k]
        for r in range(c + 1, size):
            matrix[r, c] /= matrix[c, c]
            for k in range(c + 1, size):
                matrix[r, k] -= matrix[r, c] * matrix[c, k]


@fast_part
def substitute(factors: Complex, order: Indices, right: Complex) -> None:
    """right (n,) becomes matrix^{-1} right."""
    size = order.shape[0]
    for r in range(size):
        right[r], right[order[r]] = right[order[r]], right[r]
    for r in range(size):
        for c in range(r):
            right[r] -= factors[r, c] * right[c]
    for r in range(size - 1, -1, -1):
        for c in range(r + 1, size):
            right[r] -= factors[r, c] * right[c]
        right[r] /= factors[r, r]


@part
def solve_dependent(matrix: Array, right: Array, rounding: float) -> None:
    """right (n,) becomes x with matrix x = right, by elimination with the largest pivots; the matrix, a Gram matrix (n, n), is used up.

    Where its vectors depend on each other, those that lie in the span of others get no share: their x is zero. If they only nearly do,
    more than `rounding` of `right` is left over, and the x that makes it is large: then it points in the right direction.
    """
    size, rank = right.shape[0], 0
    order = np.empty(size, np.intp)
    for k in range(size):
        order[k] = k
    smallest = 0.0
    for c in range(size):
        pivot = c
        for r in range(c + 1, size):
            if matrix[order[r], order[r]] > matrix[order[pivot], order[pivot]]:
                pivot = r
        order[c], order[pivot] = order[pivot], order[c]
        i = order[c]
        if c == 0:
            smallest = ROUNDED_PIVOT * size * matrix[i, i]
        if matrix[i, i] <= smallest:
            break
        rank += 1
        for r in range(c + 1, size):
            factor = matrix[order[r], i] / matrix[i, i]
            for k in range(c + 1, size):
                matrix[order[r], order[k]] -= factor * matrix[i, order[k]]
            right[order[r]] -= factor * right[i]
    if rank < size:
        most = rank
        for r in range(rank + 1, size):
            if abs(right[order[r]]) > abs(right[order[most]]):
                most = r
        order[rank], order[most] = order[most], order[rank]
        i = order[rank]
        if abs(right[i]) > rounding:
            matrix[i, i] = smallest
            rank += 1
    for c in range(size - 1, -1, -1):
        i = order[c]
        for k in range(c + 1, rank):
            right[i] -= matrix[i, order[k]] * right[order[k]]
        right[i] = right[i] / matrix[i, i] if c < rank else 0.0


@part
def principal_axes(moments: Array) -> Array:
    """Orthonormal eigenvectors of a symmetric matrix (n, n), one a row, in no order; the matrix is used up.

    Jacobi's rotations: each makes one pair of axes orthogonal in the sense of `moments`, until all are, up to rounding.
    """
    size = moments.shape[0]
    axes = np.zeros((size, size))
    for k in range(size):
        axes[k, k] = 1.0
    for _ in range(SWEEPS):
        turned = False
        for p in range(size):
            for q in range(p + 1, size):
                slant = moments[p, q]
                if abs(slant) <= EPSILON * np.sqrt(abs(moments[p, p] * moments[q, q])):
                    continue
                turned = True
                ratio = (moments[q, q] - moments[p, p]) / (2.0 * slant)
                tangent = (1.0 if ratio >= 0.0 else -1.0) / (abs(ratio) + np.sqrt(1.0 + ratio * ratio))
                cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
                sine = tangent * cosine
                for k in range(size):
                    a, b = moments[k, p], moments[k, q]
                    moments[k, p], moments[k, q] = cosine * a - sine * b, sine * a + cosine * b
                for k in range(size):
                    a, b = moments[p, k], moments[q, k]
                    moments[p, k], moments[q, k] = cosine * a - sine * b, sine * a + cosine * b
                    a, b = axes[p, k], axes[q, k]
                    axes[p, k], axes[q, k] = cosine * a - sine * b, sine * a + cosine * b
        if not turned:
            break
    return axes
