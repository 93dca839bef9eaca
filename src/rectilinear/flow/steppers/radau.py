"""One implicit step of a network whose activation patterns are frozen: Radau IIA collocation with five stages, order 9.

Frozen patterns make the field smooth; `field/frozen.py` has it, and solves with its Jacobian. Collocation follows Hairer & Wanner,
Solving ODEs II, IV.8.
"""

from __future__ import annotations

import numba
import numpy as np

from ...arrays import Array, Indices
from ..collocation import BACK, EIGENVALUES, ERROR, STAGES, VECTORS
from ..field.frozen import capacitance, solve, velocity
from ..field.sample_losses import sample_curvature

NEWTON_MAX = 12
NEWTON_TOLERANCE = 1e-5  # of the tolerance of the step: what is left in the stages adds up over thousands of steps
ROUNDING = 2e-15  # the least that can be left


@numba.njit(cache=True, nogil=True)
def collocation_step(
    theta: Array,
    group: Indices,
    seen: Array,
    y: Array,
    loss: int,
    l2: float,
    train: Array,
    size: Array,
    rtol: float,
    output_size: float,
    noise: float,
    h: float,
    stages: Array,
    energies: Array,
    pulls: Array,
) -> tuple[float, int, float, float]:
    """Try a step of length h from `theta`.

    `stages` (5, neurons, inputs + 1) holds a guess of Y_j - theta on entry and the solution on exit; `energies` (6,) gets
    |d theta/dt|^2 and `pulls` (6, samples) the -dl/df/P at the nodes 0, c_1, ..., c_5; `size` (neurons,) is what errors are
    relative to, and `output_size` those of the outputs; `noise` is the largest drive that rounding can make. Returns the estimated
    error in units of the tolerance (-1 if Newton failed), field evaluations, the objective's data part at the end, and Newton's last
    rate of convergence.
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
        inverses[q] = capacitance(EIGENVALUES[q] / h + l2, theta, group, seen, g0, root, train)

    fields = np.empty((STAGES, neurons, width))
    here = np.empty_like(theta)
    right, update = np.empty((neurons, width), dtype=np.complex128), np.empty((neurons, width), dtype=np.complex128)
    step = np.empty((STAGES, neurons, width))
    previous, rate, evaluations, data_loss = -1.0, 0.0, 1, 0.0
    converged, least = False, max(ROUNDING, h * noise)
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
            solve(mu + l2, theta, group, seen, g0, root, train, inverses[q], right, update)
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
            if rate > 0.9 and iteration > 2 and largest > 100.0 * least:
                return -1.0, evaluations, data_loss, rate
        # what is left after this update is about rate/(1 - rate) of it
        left = largest if previous < 0.0 else largest * min(1.0, rate / max(1e-3, 1.0 - rate))
        previous = largest
        if left <= max(NEWTON_TOLERANCE * rtol, least):
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
    error, scratch = 0.0, np.empty(samples)
    for look in range(2):
        for e in range(neurons):
            for j in range(width):
                value = slope0[e, j]
                for s in range(STAGES):
                    value += ERROR[s] * stages[s, e, j] * mu.real
                right[e, j] = value
        solve(mu + l2, theta, group, seen, g0, root, train, inverses[0], right, update)
        error = _size_of_error(theta, group, seen, update.real, size, output_size) / rtol
        if look == 1 or not error > 1.0:
            break
        # fast directions that the state has not settled in yet seem errors of any step, however short: they settle within it
        # (Hairer & Wanner, Solving ODEs II, IV.8, Eq. 8.20)
        for e in range(neurons):
            for j in range(width):
                here[e, j] = theta[e, j] + update[e, j].real
        velocity(here, group, seen, y, loss, l2, train, slope0, g, f, scratch)
        evaluations += 1
    return error, evaluations, data_loss, rate


@numba.njit(cache=True, nogil=True)
def _size_of_error(theta: Array, group: Indices, seen: Array, update: Array, size: Array, output_size: float) -> float:
    """The larger of two: the error of the weights relative to `size`, and what it does to the outputs relative to `output_size`."""
    neurons, width = theta.shape
    groups, samples = seen.shape[0], seen.shape[1]
    total, push = 0.0, np.zeros((groups, width - 1))
    for e in range(neurons):
        k, a = group[e], theta[e, width - 1]
        for j in range(width):
            total += (update[e, j] / size[e]) ** 2
        for j in range(width - 1):
            push[k, j] += a * update[e, j] + theta[e, j] * update[e, width - 1]
    outputs = 0.0
    for i in range(samples):
        change = 0.0
        for k in range(groups):
            for j in range(width - 1):
                change += push[k, j] * seen[k, i, j]
        outputs += change * change
    return max(np.sqrt(total / (neurons * width)), np.sqrt(outputs / samples) / output_size)
