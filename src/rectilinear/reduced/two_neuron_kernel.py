"""The compiled velocity of the two-neuron network under the square loss; `two_neurons` has the formula."""

from __future__ import annotations

import numpy as np
from numba import njit

from ..arrays import Array
from .aligned_flow import MAX_EXPONENT


@njit(cache=True)
def square_velocity(
    _: float,
    state: Array,
    beta: Array,
    covariance: Array,
    direction: Array,
    x: Array,
    closeness: Array,
    weight: float,
    c: float,
    decay: float,
) -> Array:
    """d/dt of (w, a)/size and ln size of the positive, then of the negative neuron.

    Samples `x` (n', d) count `weight` each; they are sorted by `closeness`, the |cos| of their angle to the unit
    `direction`, so that only those ahead of the larger sine of the neurons' angles to it can lie between the two neurons'
    planes.
    """
    inputs = len(beta)
    positive, negative = state[: inputs + 2], state[inputs + 2 :]
    a = np.exp(min(2.0 * positive[-1], MAX_EXPONENT)) * positive[inputs] * positive[:inputs]
    b = np.exp(min(2.0 * negative[-1], MAX_EXPONENT)) * negative[inputs] * negative[:inputs]
    square = (1.0 - c) ** 2  # d = 1 - c
    common = c * beta - c * c * (covariance @ (a + b))
    even = square * (covariance @ (a - b))
    fields = np.stack((common - even, common + even))
    near = np.searchsorted(closeness, max(sine(a, direction), sine(b, direction)), side="right")
    for i in range(near):
        xa, xb = 0.0, 0.0
        for j in range(inputs):
            xa += x[i, j] * a[j]
            xb += x[i, j] * b[j]
        if xa * xb < 0.0:
            for j in range(inputs):
                fields[0, j] -= 2.0 * square * weight * xb * x[i, j]
                fields[1, j] -= 2.0 * square * weight * xa * x[i, j]
    change = np.empty_like(state)
    for k in range(2):
        offset = k * (inputs + 2)
        top, bottom = state[offset : offset + inputs], state[offset + inputs]
        along = top @ fields[k]
        growth = 2.0 * bottom * along
        change[offset : offset + inputs] = bottom * fields[k] - growth * top
        change[offset + inputs] = along - growth * bottom
        change[offset + inputs + 1] = growth - decay
    return change


@njit(cache=True)
def wedge_means(a: Array, b: Array, direction: Array, x: Array, closeness: Array, weight: float) -> Array:
    """<1_S (A.x)(B.x)> <= 0 for each row A of `a` and B of `b` (t, d), S the samples where the two differ in sign, (t,)."""
    means = np.zeros(len(a))
    for k in range(len(a)):
        near = np.searchsorted(closeness, max(sine(a[k], direction), sine(b[k], direction)), side="right")
        for i in range(near):
            xa, xb = 0.0, 0.0
            for j in range(len(direction)):
                xa += x[i, j] * a[k, j]
                xb += x[i, j] * b[k, j]
            means[k] += weight * min(xa * xb, 0.0)
    return means


@njit(cache=True)
def sine(vector: Array, direction: Array) -> float:
    """The sine of the angle between a vector and a unit direction; 1 beyond a right angle, 0 for the zero vector."""
    along = vector @ direction
    size = np.sqrt(vector @ vector)
    if along < 0.0:
        return 1.0
    if size == 0.0:
        return 0.0
    across = vector - along * direction
    return float(np.sqrt(across @ across) / size * (1.0 + 1e-9))  # rounding must not hide a sample between the planes
