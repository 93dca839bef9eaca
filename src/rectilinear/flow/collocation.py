"""Radau IIA collocation with five stages: nodes and matrices, and the polynomial of a step between its nodes 0, c_1, ..., c_5.

Matrices are computed rather than tabulated (Hairer & Wanner, Solving ODEs II, IV.8).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Array, Complex
from .compiled import kernel, part

STAGES = 5
END_ORDER = 2 * STAGES - 1
# (1 + z)/2 at the roots z of the Jacobi polynomial (1, 0) of degree 4, and 1: as SciPy has them, which takes long to import
NODES = np.array([0.057104196114517725, 0.2768430136381238, 0.5835904323689168, 0.8602401356562195, 1.0])


def _collocation(c: Array) -> tuple[Array, Complex, Complex, Complex, Array]:
    """With these nodes: matrix A (its last row holds the weights b), eigenvalues of A^{-1} and embedded error.

    Of the eigenvalues the real one and one of each conjugate pair are kept, with the matching columns of the eigenvectors and
    rows of their inverse.
    """
    powers = np.arange(1, STAGES + 1)
    vandermonde = c[:, None] ** (powers - 1)
    a = (c[:, None] ** powers / powers) @ np.linalg.inv(vandermonde)
    inverse = np.linalg.inv(a)
    values, vectors = np.linalg.eig(inverse)
    order = np.argsort(np.abs(values.imag))
    real = order[0]
    upper = [k for k in order[1:] if values[k].imag > 0]
    kept = [real, *upper]
    arranged = np.concatenate([[real], upper, [int(np.argmin(np.abs(values - values[k].conj()))) for k in upper]]).astype(
        int
    )
    back = np.linalg.inv(vectors[:, arranged])
    # embedded quadrature with the extra node 0, whose weight is the inverse of the real eigenvalue
    gamma = 1.0 / values[real].real
    moments = 1.0 / powers
    moments[0] -= gamma
    embedded = np.linalg.solve(vandermonde.T, moments)
    error = (embedded - a[-1]) @ inverse
    return a, values[kept], vectors[:, kept].copy(), back[: len(kept)].copy(), error


MATRIX, EIGENVALUES, VECTORS, BACK, ERROR_ROW = _collocation(NODES)
WEIGHTS = MATRIX[-1].copy()
ALL_NODES = np.append(0.0, NODES)  # the collocation polynomial passes through these
BARYCENTRIC = 1.0 / np.prod(ALL_NODES[:, None] - ALL_NODES[None, :] + np.eye(STAGES + 1), axis=1)
# integral from 0 to u of the polynomial through values at the stage nodes: powers of u times this matrix
ANTIDERIVATIVE = np.linalg.inv(NODES[:, None] ** np.arange(STAGES)) / np.arange(1, STAGES + 1)[:, None]
# slopes at the nodes of the polynomial through values at them (6, 6)
SLOPES = BARYCENTRIC[None, :] / BARYCENTRIC[:, None] / (ALL_NODES[:, None] - ALL_NODES[None, :] + np.eye(STAGES + 1))
SLOPES -= np.diag(SLOPES.sum(axis=1))
DIP = 0.7  # of the range of its values at the nodes: no polynomial through them falls farther below the lowest
TERNARY = 50  # looks at a minimum between nodes
ROOT_HALVINGS = 60  # of an interval within a step: what is left is rounding
SMALLEST_GAP = 1e-12  # of the step: how soon after leaving a kink a neuron may come back to it


@kernel
def basis(u: float, out: Array) -> None:
    """Write the values at u of the Lagrange polynomials of the six nodes."""
    total = 0.0
    for j in range(ALL_NODES.shape[0]):
        gap = u - ALL_NODES[j]
        if gap == 0.0:
            out[:] = 0.0
            out[j] = 1.0
            return
        out[j] = BARYCENTRIC[j] / gap
        total += out[j]
    for j in range(ALL_NODES.shape[0]):
        out[j] /= total


def basis_at(u: float) -> Array:
    """Values at u of the Lagrange polynomials of the nodes, (6,)."""
    out = np.empty(STAGES + 1)
    basis(u, out)
    return out


@kernel
def stages_at(stages: Array, shares: Array) -> Array:
    """The polynomial through 0 at 0 and `stages` (5, rows, columns) at the nodes, at each share (u, rows, columns)."""
    out, weights = np.zeros((len(shares), *stages.shape[1:])), np.empty(STAGES + 1)
    for k in range(len(shares)):
        basis(shares[k], weights)
        for s in range(STAGES):
            for row in range(stages.shape[1]):
                for column in range(stages.shape[2]):
                    out[k, row, column] += weights[s + 1] * stages[s, row, column]
    return out


@kernel
def integrals_to(values: Array, shares: Array) -> Array:
    """The integrals (u,) from 0 to each share, in units of the step, of the polynomial through `values` (5,) at the stage nodes."""
    out = np.zeros(len(shares))
    for k in range(len(shares)):
        for power in range(STAGES - 1, -1, -1):
            coefficient = 0.0
            for s in range(STAGES):
                coefficient += ANTIDERIVATIVE[power, s] * values[s]
            out[k] = (out[k] + coefficient) * shares[k]
    return out


@part
def value_at(values: Array, u: float) -> float:
    """The polynomial through `values` (6,) at the nodes, at u."""
    top = bottom = 0.0
    for j in range(ALL_NODES.shape[0]):
        gap = u - ALL_NODES[j]
        if gap == 0.0:
            return values[j]
        term = BARYCENTRIC[j] / gap
        top += term * values[j]
        bottom += term
    return top / bottom


@part
def dip(values: Array, j: int) -> float:
    """Where between the nodes j - 1 and j the polynomial through `values` (6,) is lowest, if that may be below zero; else the node j."""
    low, high, left, right = ALL_NODES[j - 1], ALL_NODES[j], 0.0, 0.0
    for k in range(ALL_NODES.shape[0]):
        left += SLOPES[j - 1, k] * values[k]
        right += SLOPES[j, k] * values[k]
    if not left < 0.0 < right:
        return high
    # where both tangents meet they are below what is convex in between
    if values[j - 1] + left * (values[j] - values[j - 1] - right * (high - low)) / (left - right) > 0.0:
        return high
    for _ in range(TERNARY):
        third = (high - low) / 3.0
        if value_at(values, low + third) < value_at(values, high - third):
            high -= third
        else:
            low += third
    return 0.5 * (low + high)


@part
def may_fall(values: Array, band: float) -> bool:
    """Whether the polynomial through `values` (6,) may be below -band somewhere."""
    lowest, highest = values[0], values[0]
    for j in range(1, values.shape[0]):
        lowest, highest = min(lowest, values[j]), max(highest, values[j])
    return lowest - DIP * (highest - lowest) < -band


@kernel
def first_root(values: Array, band: float, before: float) -> float:
    """Where the polynomial through `values` (6,) first falls below -band, if before `before`; 2.0 if it does not.

    It may do so between two nodes and be back at the second.
    """
    for j in range(1, ALL_NODES.shape[0]):
        if ALL_NODES[j - 1] >= before:
            return 2.0
        low, high = ALL_NODES[j - 1], ALL_NODES[j]
        if values[j] >= -band and values[j - 1] > band:
            high = dip(values, j)
        if value_at(values, high) < -band:
            if values[j - 1] <= 0.0:
                # it starts on the kink itself: has it been above in between?
                gap, above = high - low, False
                while gap > SMALLEST_GAP and not above:
                    gap *= 0.5
                    above = value_at(values, ALL_NODES[j - 1] + gap) > 0.0
                if not above:
                    return ALL_NODES[j - 1]
                low = ALL_NODES[j - 1] + gap
            return fall(values, 0.0, low, high)[1]
    return 2.0


@part
def fall(values: Array, level: float, low: float, high: float) -> tuple[float, float]:
    """Neighbours between `low` and `high` where the polynomial through `values` (6,) falls from above `level` to it or below."""
    for _ in range(ROOT_HALVINGS):
        middle = 0.5 * (low + high)
        if value_at(values, middle) > level:
            low = middle
        else:
            high = middle
    return low, high


def earliest(happened: Callable[[float], bool], tolerance: float) -> float:
    """The share u of a step, up to the tolerance, from which on `happened(u)`; it has at 1.

    >>> earliest(lambda u: u > 0.25, 1e-3)
    0.2509765625
    """
    low, high = 0.0, 1.0
    while high - low > tolerance:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if happened(middle) else (middle, high)
    return high
