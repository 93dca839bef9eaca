"""One implicit step of a classifier in rescaled time: d theta/ds = -grad ln L, dt/ds = 1/L (frozen patterns, as in `radau`).

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
from numpy.typing import NDArray

from .interpolation import value_at
from .kernels import EXPONENTIAL, FAST
from .radau import BACK, EIGENVALUES, ERROR, NEWTON_MAX, NEWTON_TOLERANCE, ROUNDING, STAGES, VECTORS, _solve

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

FAR_MARGIN = 30.0  # beyond it ln(1 + e^{-m}) equals e^{-m} to double precision
NOISE, STAGNANT = (
    1e-12,
    0.3,
)  # margins of 1e7 carry the rounding of that size: updates this small that stop falling are noise
FASTEST = 0.03  # rate of convergence of Newton's updates, with its Jacobian frozen, that can be relied on
PANEL = 4.0  # rise of ln(1/L) over one panel of the integral dt = ds/L; ten Gauss points are exact to rounding there
NEGLIGIBLE = 40.0  # e^-40 of the integral is rounding
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(10)
GAUSS, GAUSS_WEIGHTS = (1.0 + _POINTS) / 2.0, _WEIGHTS / 2.0


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
def _sample_kernels(
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
def _sample_coupling(kernel: Complex, pull: Array, curvature: Array) -> Complex:
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


@numba.njit(cache=True, nogil=True)
def _add(weights: Complex, vectors: Array, shift: complex, others: Array, out: Complex) -> None:
    """out += sum_s weights_s (vectors_s - shift others_s), each vector (neurons, inputs + 1)."""
    for s in range(weights.shape[0]):
        for e in range(out.shape[0]):
            for j in range(out.shape[1]):
                out[e, j] += weights[s] * (vectors[s, e, j] - shift * others[s, e, j])


@numba.njit(cache=True, nogil=True)
def rescaled_step(
    theta: Array,
    group: Indices,
    seen: Array,
    y: Array,
    live: Mask,
    loss: int,
    train: Array,
    size: Array,
    rtol: float,
    h: float,
    stages: Array,
    energies: Array,
    log_losses: Array,
    pulls: Array,
) -> tuple[float, int]:
    """Try a step of length h in s from `theta`; the arguments are those of `radau.collocation_step`, neurons in order of groups.

    `live` (samples,) tells which samples count. `log_losses` (6,) gets ln L at the nodes 0, c_1, ..., c_5, where `energies`
    (6,) gets -d ln L/ds. Returns the estimated error in units of the tolerance (-1 if Newton failed) and the field evaluations.
    """
    neurons, width = theta.shape
    samples, kinds = seen.shape[1], EIGENVALUES.shape[0]
    g0, g = np.empty((seen.shape[0], width - 1)), np.empty((seen.shape[0], width - 1))
    slope0, fields, here = np.empty_like(theta), np.empty((STAGES, neurons, width)), np.empty_like(theta)
    curvature, unused, ones = np.empty(samples), np.empty(samples), np.ones(samples)
    log_losses[0], energies[0] = rescaled_velocity(theta, group, seen, y, live, loss, train, slope0, g0, pulls[0], curvature)
    couplings = np.empty((kinds, samples, samples), dtype=np.complex128)
    _sample_kernels(EIGENVALUES / h, theta, group, seen, g0, train, couplings)
    for q in range(kinds):
        couplings[q] = _sample_coupling(couplings[q], pulls[0], curvature)

    right, update = np.empty((neurons, width), dtype=np.complex128), np.empty((neurons, width), dtype=np.complex128)
    step = np.empty((STAGES, neurons, width))
    previous, evaluations, converged = -1.0, 1, False
    for iteration in range(NEWTON_MAX + 1):
        for s in range(STAGES):
            for e in range(neurons):
                for j in range(width):
                    here[e, j] = theta[e, j] + stages[s, e, j]
            log_losses[s + 1], energies[s + 1] = rescaled_velocity(
                here, group, seen, y, live, loss, train, fields[s], g, pulls[s + 1], unused
            )
        evaluations += STAGES
        if converged:
            break
        if iteration == NEWTON_MAX:
            return -1.0, evaluations
        step[:] = 0.0
        for q in range(kinds):
            right[:] = 0.0
            _add(BACK[q], fields, EIGENVALUES[q] / h, stages, right)
            _solve(EIGENVALUES[q] / h, theta, group, seen, g0, ones, train, couplings[q], right, update)
            twice = 1.0 if q == 0 else 2.0
            for s in range(STAGES):
                for e in range(neurons):
                    for j in range(width):
                        step[s, e, j] += twice * (VECTORS[s, q] * update[e, j]).real
        largest = 0.0
        for s in range(STAGES):
            total = 0.0
            for e in range(neurons):
                for j in range(width):
                    stages[s, e, j] += step[s, e, j]
                    total += (step[s, e, j] / size[e]) ** 2
            largest = max(largest, np.sqrt(total / theta.size))
        rate = largest / previous if previous > 0.0 else 0.0
        at_noise = rate > STAGNANT and largest <= NOISE
        if not np.isfinite(largest) or (rate > 0.9 and iteration > 2 and not at_noise):
            return -1.0, evaluations
        # what is left after this update is about rate/(1 - rate) of it; the first update of a nearly linear step promises too much
        left = largest if previous < 0.0 else largest * min(1.0, max(rate, FASTEST) / max(1e-3, 1.0 - rate))
        previous = largest
        converged = at_noise or left <= max(NEWTON_TOLERANCE * rtol, ROUNDING)

    right[:] = slope0
    _add(ERROR * (EIGENVALUES[0] / h), stages, 0.0j, stages, right)
    _solve(EIGENVALUES[0] / h, theta, group, seen, g0, ones, train, couplings[0], right, update)
    total = 0.0
    for e in range(neurons):
        for j in range(width):
            total += (update[e, j].real / size[e]) ** 2
    return np.sqrt(total / theta.size) / rtol, evaluations


@numba.njit(cache=True, nogil=True)
def log_integral(values: Array, end: float) -> float:
    """ln of the integral from 0 to `end` of e^p, p the (rising) polynomial through `values` (6,) at the step's nodes.

    Panels are taken from the end backwards, over each of which p rises by at most PANEL; those that lie NEGLIGIBLE below
    the end do not count.
    """
    highest = value_at(values, end)
    total, high, top = -np.inf, end, highest
    while high > 0.0 and top > highest - NEGLIGIBLE:
        low = 0.0
        if values[0] < top - PANEL:
            above = high
            for _ in range(60):
                middle = 0.5 * (low + above)
                if value_at(values, middle) < top - PANEL:
                    low = middle
                else:
                    above = middle
        panel = 0.0
        for j in range(GAUSS.shape[0]):
            panel += GAUSS_WEIGHTS[j] * np.exp(value_at(values, low + (high - low) * GAUSS[j]) - top)
        total = np.logaddexp(total, top + np.log((high - low) * panel))
        high = low
        top = value_at(values, low)
    return float(total)
