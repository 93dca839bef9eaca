"""One implicit step of a network whose activation patterns are frozen: Radau IIA collocation with five stages, order 9.

Frozen patterns make the field smooth. Neurons are listed by group (one pattern each); group k *sees* the samples as
X_k[i] = sigma'_ki Pi_k x_i, where Pi_k projects out the normals of the kinks the group is held on. Then

    v_k = sum of a_e w_e over the group,   f_i = sum_k v_k . X_k[i],   g_k = (1/P) sum_i pull_i X_k[i],
    dw_e/dt = a_e g_k - l2 w_e,            da_e/dt = g_k . w_e - l2 a_e.

The Jacobian is one small arrow matrix per neuron minus a term of rank n (samples), so that (mu - J) is solved by Woodbury's
formula at a cost linear in the neurons: no matrix of the size of the weights is ever formed.
Collocation follows Hairer & Wanner, Solving ODEs II, IV.8; nodes and matrices are computed here rather than tabulated.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_jacobi

from .kernels import sample_curvature, sample_loss, sample_pull

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

STAGES = 5
ORDER = 2 * STAGES - 1
NEWTON_MAX = 12
NEWTON_TOLERANCE = 1e-5  # of the tolerance of the step: what is left in the stages adds up over thousands of steps
ROUNDING = 2e-15  # the least that can be left


def _collocation() -> tuple[Array, Array, Complex, Complex, Complex, Array]:
    """Nodes c, matrix A (its last row holds the weights b), eigenvalues of A^{-1} and embedded error.

    Of the eigenvalues the real one and one of each conjugate pair are kept, with the matching columns of the eigenvectors and
    rows of their inverse.
    """
    inner, _ = roots_jacobi(STAGES - 1, 1.0, 0.0)
    c = np.append((1 + inner) / 2, 1.0)
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
    return c, a, values[kept], vectors[:, kept].copy(), back[: len(kept)].copy(), error


NODES, MATRIX, EIGENVALUES, VECTORS, BACK, ERROR = _collocation()
WEIGHTS = MATRIX[-1].copy()
ALL_NODES = np.append(0.0, NODES)  # the collocation polynomial passes through these


@numba.njit(cache=True, nogil=True)
def velocity(
    theta: Array,
    group: NDArray[np.intp],
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
def _capacitance(
    mu: complex, theta: Array, group: NDArray[np.intp], seen: Array, g: Array, root: Array, train: Array
) -> Complex:
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
def _solve(
    mu: complex,
    theta: Array,
    group: NDArray[np.intp],
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


@numba.njit(cache=True, nogil=True)
def collocation_step(
    theta: Array,
    group: NDArray[np.intp],
    seen: Array,
    y: Array,
    loss: int,
    l2: float,
    train: Array,
    size: Array,
    rtol: float,
    h: float,
    stages: Array,
    energies: Array,
    pulls: Array,
) -> tuple[float, int, float, float]:
    """Try a step of length h from `theta`.

    `stages` (5, neurons, inputs + 1) holds a guess of Y_j - theta on entry and the solution on exit; `energies` (6,) gets
    |d theta/dt|^2 and `pulls` (6, samples) the -dl/df/P at the nodes 0, c_1, ..., c_5; `size` (neurons,) is what errors are
    relative to. Returns the estimated error in units of the tolerance (-1 if Newton failed), field evaluations, the objective's
    data part at the end, and Newton's last rate of convergence.
    """
    neurons, width = theta.shape
    samples, kinds = seen.shape[1], EIGENVALUES.shape[0]
    f, g0, g = np.empty(samples), np.empty((seen.shape[0], width - 1)), np.empty((seen.shape[0], width - 1))
    slope0, slope = np.empty_like(theta), np.empty_like(theta)
    _, energies[0] = velocity(theta, group, seen, y, loss, l2, train, slope0, g0, f, pulls[0])
    root = np.empty(samples)
    for i in range(samples):
        root[i] = np.sqrt(sample_curvature(loss, y[i], f[i]) / samples)
    inverses = np.empty((kinds, samples, samples), dtype=np.complex128)
    for q in range(kinds):
        inverses[q] = _capacitance(EIGENVALUES[q] / h + l2, theta, group, seen, g0, root, train)

    fields = np.empty((STAGES, neurons, width))
    here = np.empty_like(theta)
    right, update = np.empty((neurons, width), dtype=np.complex128), np.empty((neurons, width), dtype=np.complex128)
    step = np.empty((STAGES, neurons, width))
    previous, rate, evaluations, data_loss = -1.0, 0.0, 1, 0.0
    converged = False
    for iteration in range(NEWTON_MAX):
        for s in range(STAGES):
            for e in range(neurons):
                for j in range(width):
                    here[e, j] = theta[e, j] + stages[s, e, j]
            data_loss, energies[s + 1] = velocity(here, group, seen, y, loss, l2, train, slope, g, f, pulls[s + 1])
            fields[s] = slope
        evaluations += STAGES
        step[:] = 0.0
        for q in range(kinds):
            mu = EIGENVALUES[q] / h
            for e in range(neurons):
                for j in range(width):
                    value = 0.0j
                    for s in range(STAGES):
                        value += BACK[q, s] * (fields[s, e, j] - mu * stages[s, e, j])
                    right[e, j] = value
            _solve(mu + l2, theta, group, seen, g0, root, train, inverses[q], right, update)
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
            largest = max(largest, np.sqrt(total / (neurons * width)))
        if not np.isfinite(largest):
            return -1.0, evaluations, data_loss, 10.0
        if previous > 0.0:
            rate = largest / previous
            if rate > 0.9 and iteration > 2 and largest > 100.0 * ROUNDING:
                return -1.0, evaluations, data_loss, rate
        # what is left after this update is about rate/(1 - rate) of it
        left = largest if previous < 0.0 else largest * min(1.0, rate / max(1e-3, 1.0 - rate))
        previous = largest
        if left <= max(NEWTON_TOLERANCE * rtol, ROUNDING):
            converged = True
            break
    if not converged:
        return -1.0, evaluations, data_loss, rate
    for s in range(STAGES):
        for e in range(neurons):
            for j in range(width):
                here[e, j] = theta[e, j] + stages[s, e, j]
        data_loss, energies[s + 1] = velocity(here, group, seen, y, loss, l2, train, slope, g, f, pulls[s + 1])
    evaluations += STAGES

    mu = EIGENVALUES[0] / h
    for e in range(neurons):
        for j in range(width):
            value = slope0[e, j]
            for s in range(STAGES):
                value += ERROR[s] * stages[s, e, j] * mu.real
            right[e, j] = value
    _solve(mu + l2, theta, group, seen, g0, root, train, inverses[0], right, update)
    total = 0.0
    for e in range(neurons):
        for j in range(width):
            total += (update[e, j].real / size[e]) ** 2
    return np.sqrt(total / (neurons * width)) / rtol, evaluations, data_loss, rate
