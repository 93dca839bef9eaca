"""The field of a two-layer network whose activation patterns are frozen, and how to solve with its Jacobian.

Neurons are listed by group (one pattern each); group k *sees* the samples as X_k[i] = sigma'_ki Pi_k x_i, where Pi_k projects out
the normals of the kinks the group is held on. Then

    v_k = sum of a_e w_e over the group,   f_i = sum_k v_k . X_k[i],   g_k = sum_i q_i X_k[i],
    dw_e/dt = a_e g_k - l2 w_e,            da_e/dt = g_k . w_e - l2 a_e,

in ordinary time with q_i = -l'_i / P, or in rescaled time with the q_i of `log_domain`.

The Jacobian is one small arrow matrix per neuron minus j C j^T, j_i = df_i/d theta, of rank n (samples): C = diag(l''_i / P) in
ordinary time. So (mu - J) is solved by Woodbury's formula, which needs (I + C K)^{-1} C with K = j^T A^{-1} j, A = mu - (the arrow
matrices): n x n, at a cost linear in the neurons. No matrix of the size of the weights is ever formed. I + C K is factorised, not
inverted: of two nearly parallel samples with h |J| = 1e9 an inverse keeps no digit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Array, Complex, Indices, Mask
from ..apart import apart
from ..compiled import fast_part, in_line, kernel, part_of_its_own
from ..small_systems import factorise, substitute
from .log_domain import normalised_pulls_apart
from .sample_losses import mean_pulls

GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))  # of whose multiples no two are alike


class FrozenField(NamedTuple):
    """What the velocity depends on beside the neurons, which are listed in order of their groups."""

    group: Indices  # (neurons,), rising
    seen: Array  # (groups, samples, inputs)
    y: Array  # (samples,)
    live: Mask  # (samples,): which count in rescaled time
    train: Array  # (2,): 1 for a layer that trains, else 0
    loss: int
    l2: float
    rescaled: bool  # d theta/ds = -grad ln L instead of d theta/dt = -grad L


class Linearisation(NamedTuple):
    """The Jacobian at theta, ready to solve with mu_q - J: drives g (groups, inputs), pulls and the diagonal of C (n,).

    `factors` (mus, n, n) and `order` (mus, n) are I + C K for each mu, factorised.
    """

    theta: Array
    g: Array
    pull: Array
    curvature: Array
    mus: Complex
    factors: Complex
    order: Indices


@fast_part
def velocity(theta: Array, field: FrozenField, out: Array, g: Array, pull: Array, curvature: Array) -> tuple[float, float]:
    """Write d theta/dt (neurons, inputs + 1), the drives g (groups, inputs), pulls q and the diagonal of C (samples,).

    Returns the mean loss, or ln of it in rescaled time, and |d theta/dt|^2.
    """
    neurons, d = theta.shape[0], theta.shape[1] - 1
    groups, samples = field.seen.shape[0], field.seen.shape[1]
    group, seen, train, l2 = field.group, field.seen, field.train, field.l2
    v, f = np.zeros((groups, d)), np.zeros(samples)
    for e in range(neurons):
        for j in range(d):
            v[group[e], j] += theta[e, d] * theta[e, j]
    for k in range(groups):
        for i in range(samples):
            output = 0.0
            for j in range(d):
                output += v[k, j] * seen[k, i, j]
            f[i] += output
    if field.rescaled:
        objective = normalised_pulls_apart(field.loss, field.y, f, field.live, pull, curvature)
    else:
        objective = mean_pulls(field.loss, field.y, f, pull, curvature)
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
            out[e, j] = train[0] * (a * g[k, j] - l2 * theta[e, j])
            energy += out[e, j] * out[e, j]
        out[e, d] = train[1] * (gain - l2 * a)
        energy += out[e, d] * out[e, d]
    return objective, energy


@kernel
def rounding(
    theta: Array, group: Indices, seen: Array, y: Array, pull: Array, bends: Array, share: float
) -> tuple[Array, Array, float, float, bool]:
    """Sizes |theta| (neurons,), drives (groups, inputs) such as rounding makes, the largest drive and output that it can make, and
    whether it may have made all drives.

    It leaves so large a `share` of the terms of a sum; `bends` (samples,) are bounds of dpull/df. Terms are counted one by one: nearly
    parallel samples make weights large where all inputs are small. Sums of different groups round differently, also where these see the
    same: what makes them part changes no output, and nothing brings it back.
    """
    groups, samples, d = seen.shape
    sizes, outputs, products = np.empty(theta.shape[0]), np.abs(y), np.zeros((groups, d))
    for e in range(theta.shape[0]):
        square = theta[e, d] * theta[e, d]
        for j in range(d):
            square += theta[e, j] * theta[e, j]
            products[group[e], j] += abs(theta[e, d] * theta[e, j])
        sizes[e] = np.sqrt(square)
    for k in range(groups):
        for i in range(samples):
            for j in range(d):
                outputs[i] += products[k, j] * abs(seen[k, i, j])
    largest, largest_output, made_all, typical = 0.0, 0.0, True, products
    for k in range(groups):
        noise, drive = 0.0, 0.0
        for j in range(d):
            of_sum, of_outputs, signed, total = 0.0, 0.0, 0.0, 0.0
            for i in range(samples):
                of_sum += abs(seen[k, i, j] * pull[i])
                of_outputs += abs(seen[k, i, j]) * bends[i] * outputs[i]
                signed += (1 - 2 * (i % 2)) * seen[k, i, j] * bends[i] * outputs[i]
                total += pull[i] * seen[k, i, j]
            typical[k, j] = share * (signed + np.cos(GOLDEN_ANGLE * (k * d + j)) * of_sum)
            noise += (share * (of_sum + of_outputs)) ** 2
            drive += total * total
        largest, made_all = max(largest, noise), made_all and drive <= noise
    for i in range(samples):
        largest_output = max(largest_output, outputs[i])
    return sizes, typical, np.sqrt(largest), share * largest_output, made_all


@fast_part
def linearise(theta: Array, field: FrozenField, mus: Complex, g: Array, pull: Array, curvature: Array) -> Linearisation:
    """For mu_q - J, where `velocity` found these drives, pulls and curvatures; `mus` includes the weight decay."""
    factors = np.zeros((mus.shape[0], pull.shape[0], pull.shape[0]), dtype=np.complex128)
    order = np.empty((mus.shape[0], pull.shape[0]), dtype=np.intp)
    _add_kernels(theta, field, mus, g, factors)
    for q in range(mus.shape[0]):
        _couple(field.rescaled, pull, curvature, factors[q])
        factorise(factors[q], order[q])
    return Linearisation(theta, g, pull.copy(), curvature.copy(), mus, factors, order)


@in_line
def _add_kernels(theta: Array, field: FrozenField, mus: Complex, g: Array, kernels: Complex) -> None:
    """Add K = j^T A^{-1} j for each mu to `kernels` (mus, samples, samples).

    A neuron (w, a) that sees the samples as rows of X adds a^2/mu X X^T (first layer trained) and, with p = a X g if both
    layers are trained, else 0, (p + mu X w)(p + mu X w)^T / (mu (mu^2 - |g|^2)). Summed over a group these are real products.
    """
    neurons, d = theta.shape[0], theta.shape[1] - 1
    groups, samples = field.seen.shape[0], field.seen.shape[1]
    group, first_trains, second_trains = field.group, field.train[0], field.train[1]
    heights, drive, mixed = np.empty((samples, neurons)), np.empty(samples), np.empty(samples)
    flat, bent = np.empty_like(mus), np.empty_like(mus)
    first = 0
    for k in range(groups):
        seen = field.seen[k]
        last, square, size = first, 0.0, 0.0
        while last < neurons and group[last] == k:
            square += theta[last, d] * theta[last, d]
            last += 1
        for j in range(d):
            size += first_trains * g[k, j] * g[k, j]
        for q in range(mus.shape[0]):
            flat[q] = first_trains * square / mus[q]
            bent[q] = second_trains / (mus[q] * (mus[q] * mus[q] - size))
        for i in range(samples):
            drive[i], mixed[i] = 0.0, 0.0
            for j in range(d):
                drive[i] += first_trains * seen[i, j] * g[k, j]
            for e in range(first, last):
                heights[i, e] = 0.0
                for j in range(d):
                    heights[i, e] += seen[i, j] * theta[e, j]
                mixed[i] += theta[e, d] * heights[i, e]
        for i in range(samples):
            for other in range(i + 1):
                inputs_product, heights_product = 0.0, 0.0
                for j in range(d):
                    inputs_product += seen[i, j] * seen[other, j]
                for e in range(first, last):
                    heights_product += heights[i, e] * heights[other, e]
                driven = square * drive[i] * drive[other]
                cross = drive[i] * mixed[other] + mixed[i] * drive[other]
                for q in range(mus.shape[0]):
                    product = driven + mus[q] * (cross + mus[q] * heights_product)
                    kernels[q, i, other] += flat[q] * inputs_product + bent[q] * product
        first = last
    for q in range(mus.shape[0]):
        for i in range(samples):
            for other in range(i):
                kernels[q, other, i] = kernels[q, i, other]


@in_line
def _couple(rescaled: bool, pull: Array, curvature: Array, kernel: Complex) -> None:
    """Replace K by I + C K, with C = diag(curvature), in rescaled time less pull pull^T."""
    samples = pull.shape[0]
    for other in range(samples):
        total = 0.0j
        if rescaled:
            for i in range(samples):
                total += pull[i] * kernel[i, other]
        for i in range(samples):
            kernel[i, other] = curvature[i] * kernel[i, other] - pull[i] * total
        kernel[other, other] += 1.0


@in_line
def arrow_solve(mu: complex, g: Array, train: Array, b: Complex, out: Complex) -> None:
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


@part_of_its_own
def solve(at: Linearisation, field: FrozenField, q: int, b: Complex, out: Complex) -> None:
    """out = (mu_q - J)^{-1} b = A^{-1}(b - j (I + C K)^{-1} C j^T A^{-1} b) by Woodbury's formula, b and out (neurons, inputs + 1)."""
    theta, seen, group, train, mu = at.theta, field.seen, field.group, field.train, at.mus[q]
    neurons, d = theta.shape[0], theta.shape[1] - 1
    groups, samples = seen.shape[0], seen.shape[1]
    push, back = np.zeros((groups, d), dtype=np.complex128), np.zeros((groups, d), dtype=np.complex128)
    change, right = np.empty(samples, dtype=np.complex128), np.empty(d + 1, dtype=np.complex128)
    for final in range(2):
        for e in range(neurons):
            k, a, gain = group[e], theta[e, d], 0.0j
            for j in range(d):
                right[j] = b[e, j] - train[0] * a * back[k, j]
                gain += theta[e, j] * back[k, j]
            right[d] = b[e, d] - train[1] * gain
            arrow_solve(mu, at.g[k], train, right, out[e])
            for j in range(d):
                push[k, j] += a * out[e, j] + out[e, d] * theta[e, j]
        if final:
            return
        for i in range(samples):
            change[i] = 0.0
            for k in range(groups):
                for j in range(d):
                    change[i] += push[k, j] * seen[k, i, j]
        total = 0.0j
        if field.rescaled:
            for i in range(samples):
                total += at.pull[i] * change[i]
        for i in range(samples):
            change[i] = at.curvature[i] * change[i] - at.pull[i] * total
        substitute(at.factors[q], at.order[q], change)
        for i in range(samples):
            for k in range(groups):
                for j in range(d):
                    back[k, j] += change[i] * seen[k, i, j]


solve_apart = apart(solve, "n")
