"""The compiled velocity of the two-neuron network under the square loss; `two_neurons` has the formula."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..kept_kernels import kept
from .aligned_flow import MAX_EXPONENT

# Parts have no way in from Python: each takes the compiler's time.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}
kernel, part = kept(**OPTIONS), kept(**OPTIONS, no_cpython_wrapper=True)


class SquareLoss(NamedTuple):
    """beta = <y x> and Sigma = <x x^T> of the data, the mean slope c of the activation, and the weight decay."""

    beta: Array
    covariance: Array
    c: float
    decay: float


class SortedSamples(NamedTuple):
    """Samples (n', d) that count `weight` each in an average over all, by rising |cos| (n',) of their angle to a unit direction."""

    x: Array
    closeness: Array
    weight: float
    direction: Array


@kernel
def square_velocity(_: float, state: Array, mean: SquareLoss, near_samples: SortedSamples) -> Array:
    """d/dt of (w, a)/size and ln size of the positive, then of the negative neuron.

    Of the samples only those ahead of the larger sine of the neurons' angles to the direction can lie between their planes.
    """
    (beta, covariance, c, decay), (x, closeness, weight, direction) = mean, near_samples
    inputs = len(beta)
    products, fields = np.empty((2, inputs)), np.empty((2, inputs))
    for k in range(2):
        offset = k * (inputs + 2)
        size = np.exp(min(2.0 * state[offset + inputs + 1], MAX_EXPONENT)) * state[offset + inputs]
        for j in range(inputs):
            products[k, j] = size * state[offset + j]
            fields[k, j] = c * beta[j]
    square = (1.0 - c) ** 2  # d = 1 - c
    for i in range(inputs):  # Sigma is symmetric: its rows are added, which takes several numbers at once
        common, even = c * c * (products[0, i] + products[1, i]), square * (products[0, i] - products[1, i])
        for j in range(inputs):
            fields[0, j] -= covariance[i, j] * (common + even)
            fields[1, j] -= covariance[i, j] * (common - even)
    bound = 0.0
    for k in range(2):
        bound = max(bound, sine(products, k, direction))
    for i in range(count_within(closeness, bound)):
        xa, xb = 0.0, 0.0  # in a loop, as products and views of arrays take seconds to compile
        for j in range(inputs):
            xa += x[i, j] * products[0, j]
            xb += x[i, j] * products[1, j]
        if xa * xb < 0.0:
            for j in range(inputs):
                fields[0, j] -= 2.0 * square * weight * xb * x[i, j]
                fields[1, j] -= 2.0 * square * weight * xa * x[i, j]
    change = np.empty(2 * (inputs + 2))
    for k in range(2):
        offset = k * (inputs + 2)
        bottom, along = state[offset + inputs], 0.0
        for j in range(inputs):
            along += state[offset + j] * fields[k, j]
        growth = 2.0 * bottom * along
        for j in range(inputs):
            change[offset + j] = bottom * fields[k, j] - growth * state[offset + j]
        change[offset + inputs] = along - growth * bottom
        change[offset + inputs + 1] = growth - decay
    return change


@kernel
def wedge_means(a: Array, b: Array, samples: SortedSamples) -> Array:
    """<1_S (A.x)(B.x)> <= 0 for each row A of `a` and B of `b` (t, d), S the samples where the two differ in sign, (t,)."""
    x, closeness, weight, direction = samples
    means = np.empty(len(a))
    for k in range(len(a)):
        means[k] = 0.0
        for i in range(count_within(closeness, max(sine(a, k, direction), sine(b, k, direction)))):
            xa, xb = 0.0, 0.0
            for j in range(x.shape[1]):
                xa += x[i, j] * a[k, j]
                xb += x[i, j] * b[k, j]
            means[k] += weight * min(xa * xb, 0.0)
    return means


@part
def sine(rows: Array, k: int, direction: Array) -> float:
    """The sine of the angle between a row and a unit direction; 1 beyond a right angle, 0 for the zero vector."""
    along, square, across = 0.0, 0.0, 0.0
    for j in range(len(direction)):
        along += rows[k, j] * direction[j]
        square += rows[k, j] * rows[k, j]
    if along < 0.0:
        return 1.0
    if square == 0.0:
        return 0.0
    for j in range(len(direction)):
        across += (rows[k, j] - along * direction[j]) ** 2
    return float(np.sqrt(across / square) * (1.0 + 1e-9))  # rounding must not hide a sample between the planes


@part
def count_within(rising: Array, bound: float) -> int:
    """How many of the rising numbers are at most `bound`."""
    first, last = 0, len(rising)
    while first < last:
        middle = (first + last) // 2
        if rising[middle] <= bound:
            first = middle + 1
        else:
            last = middle
    return first
