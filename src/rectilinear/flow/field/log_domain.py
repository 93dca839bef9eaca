"""The field of a classifier in rescaled time, d theta/ds = -grad ln L with dt/ds = 1/L (frozen patterns, as in `frozen`).

L counts the *live* samples only, those that some moving neuron sees: the loss of the others does not change, and would hide
the fall of the rest. Everything is held in the log domain: with S the sum of the live losses the normalised pulls
q_i = -l'_i / S are ratios of exponentials, and margins of 1e7 neither over- nor underflow. With j_i = df_i/d theta the field
is sum_i q_i j_i and its Jacobian is the arrow matrices of the neurons minus j C j^T, where

    C = diag(l''_i / S) - q q^T

now couples the samples. Woodbury's formula needs (I + C K)^{-1} C with K = j^T A^{-1} j, an n x n matrix.
"""

from __future__ import annotations

import numba
import numpy as np

from ...arrays import Array, Complex, Indices, Mask
from ..fast_math import FAST
from .sample_losses import EXPONENTIAL

FAR_MARGIN = 30.0  # beyond it ln(1 + e^{-m}) equals e^{-m} to double precision


@numba.njit(cache=True, nogil=True)
def normalised_pulls(loss: int, y: Array, f: Array, live: Mask, pull: Array, curvature: Array) -> float:
    """Write -l'_i / S and l''_i / S, S the sum of the live losses, for outputs f (samples,); return ln(S / samples).

    Samples that are not live get zeros.
    """
    samples = y.shape[0]
    logs = np.full(samples, -np.inf)
    for i in range(samples):
        if not live[i]:
            continue
        margin = y[i] * f[i]
        if loss == EXPONENTIAL or margin > FAR_MARGIN:
            logs[i] = -margin
        else:
            logs[i] = np.log(np.log1p(np.exp(-abs(margin))) + max(-margin, 0.0))
    highest = logs.max()
    log_sum = highest + np.log(np.sum(np.exp(logs - highest)))
    for i in range(samples):
        pull[i], curvature[i] = 0.0, 0.0
        if not live[i]:
            continue
        margin = y[i] * f[i]
        if loss == EXPONENTIAL:
            size, bend = np.exp(-margin - log_sum), 1.0
        else:
            small = np.log1p(np.exp(-abs(margin)))
            size = np.exp(-max(margin, 0.0) - small - log_sum)
            bend = np.exp(min(margin, 0.0) - small)
        pull[i] = y[i] * size
        curvature[i] = size * bend
    return log_sum - np.log(samples)


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def rescaled_velocity(
    theta: Array,
    group: Indices,
    seen: Array,
    y: Array,
    live: Mask,
    loss: int,
    train: Array,
    out: Array,
    g: Array,
    pull: Array,
    curvature: Array,
) -> tuple[float, float]:
    """Write d theta/ds (neurons, inputs + 1), the drives g (groups, inputs), pulls and curvatures (samples,).

    Returns ln L and |d theta/ds|^2.
    """
    neurons, d = theta.shape[0], theta.shape[1] - 1
    groups, samples = seen.shape[0], seen.shape[1]
    v = np.zeros((groups, d))
    for e in range(neurons):
        for j in range(d):
            v[group[e], j] += theta[e, d] * theta[e, j]
    f = np.zeros(samples)
    for k in range(groups):
        for i in range(samples):
            total = 0.0
            for j in range(d):
                total += v[k, j] * seen[k, i, j]
            f[i] += total
    log_loss = normalised_pulls(loss, y, f, live, pull, curvature)
    for k in range(groups):
        for j in range(d):
            g[k, j] = 0.0
        for i in range(samples):
            for j in range(d):
                g[k, j] += pull[i] * seen[k, i, j]
    energy = 0.0
    for e in range(neurons):
        a, k, gain = theta[e, d], group[e], 0.0
        for j in range(d):
            gain += g[k, j] * theta[e, j]
            out[e, j] = train[0] * a * g[k, j]
            energy += out[e, j] * out[e, j]
        out[e, d] = train[1] * gain
        energy += out[e, d] * out[e, d]
    return log_loss, energy


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def sample_kernels(
    mus: Complex, theta: Array, group: Indices, seen: Array, g: Array, train: Array, kernels: Complex
) -> None:
    """Write K = j^T A^{-1} j for each mu, (mus, samples, samples).

    A neuron (w, a) that sees the samples as rows of X adds a^2/mu X X^T (first layer trained) and, with p = a X g if both
    layers are trained, else 0, (p + mu X w)(p + mu X w)^T / (mu (mu^2 - |g|^2)). Summed over a group these are real products.
    """
    neurons, d = theta.shape[0], theta.shape[1] - 1
    groups, samples = seen.shape[0], seen.shape[1]
    heights, drive, mixed = np.empty((samples, neurons)), np.empty(samples), np.empty(samples)
    kernels[:] = 0.0
    first = 0
    for k in range(groups):
        last, square, size = first, 0.0, 0.0
        while last < neurons and group[last] == k:
            square += theta[last, d] * theta[last, d]
            last += 1
        for j in range(d):
            size += train[0] * g[k, j] * g[k, j]
        for i in range(samples):
            drive[i], mixed[i] = 0.0, 0.0
            for j in range(d):
                drive[i] += train[0] * seen[k, i, j] * g[k, j]
            for e in range(first, last):
                heights[i, e] = 0.0
                for j in range(d):
                    heights[i, e] += seen[k, i, j] * theta[e, j]
                mixed[i] += theta[e, d] * heights[i, e]
        for i in range(samples):
            for other in range(i + 1):
                inputs_product, heights_product = 0.0, 0.0
                for j in range(d):
                    inputs_product += seen[k, i, j] * seen[k, other, j]
                for e in range(first, last):
                    heights_product += heights[i, e] * heights[other, e]
                driven = square * drive[i] * drive[other]
                cross = drive[i] * mixed[other] + mixed[i] * drive[other]
                for q in range(mus.shape[0]):
                    mu = mus[q]
                    kernels[q, i, other] += train[0] * square * inputs_product / mu
                    kernels[q, i, other] += (
                        train[1] * (driven + mu * cross + mu * mu * heights_product) / (mu * (mu * mu - size))
                    )
        first = last
    for i in range(samples):
        for other in range(i):
            for q in range(mus.shape[0]):
                kernels[q, other, i] = kernels[q, i, other]


@numba.njit(cache=True, nogil=True)
def sample_coupling(kernel: Complex, pull: Array, curvature: Array) -> Complex:
    """(I + C K)^{-1} C with C = diag(curvature) - pull pull^T."""
    samples = pull.shape[0]
    matrix = np.empty((samples, samples), dtype=np.complex128)
    for other in range(samples):
        total = 0.0j
        for i in range(samples):
            total += pull[i] * kernel[i, other]
        for i in range(samples):
            matrix[i, other] = curvature[i] * kernel[i, other] - pull[i] * total
        matrix[other, other] += 1.0
    inverse = np.linalg.inv(matrix)
    for i in range(samples):
        total = 0.0j
        for other in range(samples):
            total += inverse[i, other] * pull[other]
        for other in range(samples):
            matrix[i, other] = inverse[i, other] * curvature[other] - total * pull[other]
    return matrix
