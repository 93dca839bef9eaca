"""The field of a two-layer network whose activation patterns are frozen, and how to solve with its Jacobian.

Neurons are listed by group (one pattern each); group k *sees* the samples as X_k[i] = sigma'_ki Pi_k x_i, where Pi_k projects out
the normals of the kinks the group is held on. Then

    v_k = sum of a_e w_e over the group,   f_i = sum_k v_k . X_k[i],   g_k = (1/P) sum_i pull_i X_k[i],
    dw_e/dt = a_e g_k - l2 w_e,            da_e/dt = g_k . w_e - l2 a_e.

The Jacobian is one small arrow matrix per neuron minus a term of rank n (samples), so that (mu - J) is solved by Woodbury's
formula at a cost linear in the neurons: no matrix of the size of the weights is ever formed.
"""

from __future__ import annotations

import numba
import numpy as np

from ...arrays import Array, Complex, Indices
from .sample_losses import sample_loss, sample_pull


@numba.njit(cache=True, nogil=True)
def velocity(
    theta: Array,
    group: Indices,
    seen: Array,
    y: Array,
    loss: int,
    l2: float,
    train: Array,
    out: Array,
    g: Array,
    f: Array,
    pull: Array,
) -> tuple[float, float]:
    """Write d theta/dt (neurons, inputs + 1), the drives g (groups, inputs), outputs f and pulls -dl/df/P (samples).

    Returns the mean loss and |d theta/dt|^2.
    """
    neurons, d = theta.shape[0], theta.shape[1] - 1
    groups, samples = seen.shape[0], seen.shape[1]
    v = np.zeros((groups, d))
    for e in range(neurons):
        a = theta[e, d]
        for j in range(d):
            v[group[e], j] += a * theta[e, j]
    total = 0.0
    for k in range(groups):
        for j in range(d):
            g[k, j] = 0.0
    for i in range(samples):
        output = 0.0
        for k in range(groups):
            for j in range(d):
                output += v[k, j] * seen[k, i, j]
        f[i] = output
        total += sample_loss(loss, y[i], output)
        pull[i] = sample_pull(loss, y[i], output) / samples
        for k in range(groups):
            for j in range(d):
                g[k, j] += pull[i] * seen[k, i, j]
    speed = 0.0
    for e in range(neurons):
        a, k = theta[e, d], group[e]
        gain = 0.0
        for j in range(d):
            gain += g[k, j] * theta[e, j]
            out[e, j] = train[0] * (a * g[k, j] - l2 * theta[e, j])
            speed += out[e, j] * out[e, j]
        out[e, d] = train[1] * (gain - l2 * a)
        speed += out[e, d] * out[e, d]
    return total / samples, speed


@numba.njit(cache=True, nogil=True)
def _arrow_solve(mu: complex, g: Array, train: Array, b: Complex, out: Complex) -> None:
    """Solve [[mu, -g], [-g^T, mu]] out = b for one neuron; coordinates that do not train stay zero."""
    d = g.shape[0]
    if train[0] > 0.0 and train[1] > 0.0:
        size, along = 0.0, 0.0j
        for j in range(d):
            size += g[j] * g[j]
            along += g[j] * b[j]
        top = (mu * b[d] + along) / (mu * mu - size)
        for j in range(d):
            out[j] = (b[j] + g[j] * top) / mu
        out[d] = top
    elif train[0] > 0.0:
        for j in range(d):
            out[j] = b[j] / mu
        out[d] = 0.0
    else:
        for j in range(d):
            out[j] = 0.0
        out[d] = b[d] / mu


@numba.njit(cache=True, nogil=True)
def capacitance(mu: complex, theta: Array, group: Indices, seen: Array, g: Array, root: Array, train: Array) -> Complex:
    """Inverse of I + R (j^T A^{-1} j) R, the n x n matrix of Woodbury's formula; `root` is sqrt(curvature/P) per sample."""
    neurons, d = theta.shape[0], theta.shape[1] - 1
    groups, samples = seen.shape[0], seen.shape[1]
    inner = np.zeros((groups, d, d), dtype=np.complex128)
    both = train[0] > 0.0 and train[1] > 0.0
    for e in range(neurons):
        k, a = group[e], theta[e, d]
        if both:
            size = 0.0
            for j in range(d):
                size += g[k, j] * g[k, j]
            scale = 1.0 / (mu * (mu * mu - size))
            for j in range(d):
                inner[k, j, j] += a * a / mu
                left = (a * g[k, j] + mu * theta[e, j]) * scale
                for m in range(d):
                    inner[k, j, m] += left * (a * g[k, m] + mu * theta[e, m])
        elif train[0] > 0.0:
            for j in range(d):
                inner[k, j, j] += a * a / mu
        else:
            for j in range(d):
                for m in range(d):
                    inner[k, j, m] += theta[e, j] * theta[e, m] / mu
    matrix = np.zeros((samples, samples), dtype=np.complex128)
    image = np.empty(d, dtype=np.complex128)
    for k in range(groups):
        for i in range(samples):
            for j in range(d):
                image[j] = 0.0
                for m in range(d):
                    image[j] += inner[k, j, m] * seen[k, i, m]
            for other in range(i + 1):
                value = 0.0j
                for j in range(d):
                    value += seen[k, other, j] * image[j]
                matrix[i, other] += value
    for i in range(samples):
        for other in range(i + 1):
            value = root[i] * root[other] * matrix[i, other]
            matrix[i, other] = value
            matrix[other, i] = value
        matrix[i, i] += 1.0
    return np.linalg.inv(matrix)  # type: ignore[return-value]


@numba.njit(cache=True, nogil=True)
def solve(
    mu: complex,
    theta: Array,
    group: Indices,
    seen: Array,
    g: Array,
    root: Array,
    train: Array,
    inverse: Complex,
    b: Complex,
    out: Complex,
) -> None:
    """out = (mu - J)^{-1} b by Woodbury's formula."""
    neurons, d = theta.shape[0], theta.shape[1] - 1
    groups, samples = seen.shape[0], seen.shape[1]
    push = np.zeros((groups, d), dtype=np.complex128)
    for e in range(neurons):
        k, a = group[e], theta[e, d]
        _arrow_solve(mu, g[k], train, b[e], out[e])
        for j in range(d):
            push[k, j] += a * out[e, j] + out[e, d] * theta[e, j]
    change = np.zeros(samples, dtype=np.complex128)
    for i in range(samples):
        value = 0.0j
        for k in range(groups):
            for j in range(d):
                value += push[k, j] * seen[k, i, j]
        change[i] = root[i] * value
    answer = inverse @ change
    push[:] = 0.0
    for i in range(samples):
        value = root[i] * answer[i]
        for k in range(groups):
            for j in range(d):
                push[k, j] += value * seen[k, i, j]
    right, correction = np.empty(d + 1, dtype=np.complex128), np.empty(d + 1, dtype=np.complex128)
    for e in range(neurons):
        k, a = group[e], theta[e, d]
        gain = 0.0j
        for j in range(d):
            right[j] = train[0] * a * push[k, j]
            gain += theta[e, j] * push[k, j]
        right[d] = train[1] * gain
        _arrow_solve(mu, g[k], train, right, correction)
        for j in range(d + 1):
            out[e, j] -= correction[j]
