"""One implicit step of a classifier in rescaled time (`field/log_domain.py`), as in `radau`, and the time that passes in it."""

from __future__ import annotations

import numba
import numpy as np

from ...arrays import Array, Complex, Indices, Mask
from ..collocation import BACK, EIGENVALUES, ERROR, STAGES, VECTORS, fall, value_at
from ..field.frozen import solve
from ..field.log_domain import rescaled_velocity, sample_coupling, sample_kernels
from .radau import NEWTON_MAX, NEWTON_TOLERANCE, ROUNDING

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
    sample_kernels(EIGENVALUES / h, theta, group, seen, g0, train, couplings)
    for q in range(kinds):
        couplings[q] = sample_coupling(couplings[q], pulls[0], curvature)

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
            solve(EIGENVALUES[q] / h, theta, group, seen, g0, ones, train, couplings[q], right, update)
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
    solve(EIGENVALUES[0] / h, theta, group, seen, g0, ones, train, couplings[0], right, update)
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
            low = fall(-values, PANEL - top, 0.0, high)[0]
        panel = 0.0
        for j in range(GAUSS.shape[0]):
            panel += GAUSS_WEIGHTS[j] * np.exp(value_at(values, low + (high - low) * GAUSS[j]) - top)
        total = np.logaddexp(total, top + np.log((high - low) * panel))
        high = low
        top = value_at(values, low)
    return float(total)
