"""Newton's update of an implicit step with the Jacobian of every stage, where that of the step's start converges in short steps only.

Directions that change outputs are stiff, and turn as neurons move. Where some are 1e6 times as stiff as others, what a turn of the
first by 1e-6 leaves is as large as the others: with the Jacobian kept, steps must be shorter than that.

The arrow matrices B of frozen.py hold nothing stiff and are kept. The field at stage s is j_s q_s, q_s the pulls, less weight decay. With
j = diag(j_1, ..., j_5) and r = A^{-1} stages / h + l2 (theta + stages) Newton's update u of the stages has

    (L + j C j^T) u = j q - r,   L = A^{-1}/h + l2 - B,

where L falls apart by the eigenvalues of A^{-1}. Solved for u by Woodbury's formula, u is a difference of terms h |J| times as large, and
from h |J| = 1e15 on no digit of it is left. So it is solved for the pulls q - C j^T u that the update leads to, as p + dp, where p are
those that the update before has led to (at first none):

    (I + C K) dp = q - p - C j^T L^{-1} (j p - r),   u = L^{-1} (j (p + dp) - r),   K = j^T L^{-1} j.

q - p and j p - r go to zero as Newton converges, and rounding with them. I + C K has 5 n rows (n samples). It is solved in ordinary time
only.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ..apart import apart
from ..collocation import BACK, SLOPES, STAGES, VECTORS
from ..compiled import in_line, part, part_of_its_own
from ..field.frozen import FrozenField, Linearisation, arrow_solve
from ..small_systems import solve_in_place


@part_of_its_own
def solve_stagewise(
    at: Linearisation,
    field: FrozenField,
    h: float,
    curvatures: Array,
    pulls: Array,
    ahead: Array,
    stages: Array,
    update: Array,
) -> None:
    """Write Newton's update of the stages (5, neurons, inputs + 1), where pulls and the diagonals of C (5, samples) are these.

    `ahead` (5, samples) are the pulls that the update before has led to, or zero; they become those that this one leads to.
    """
    samples, (neurons, width) = curvatures.shape[1], at.theta.shape
    left, drives = np.empty_like(stages), np.empty((neurons, width))
    for s in range(STAGES):
        _drives(at.theta, field, stages[s], ahead[s], drives)
        for e in range(neurons):
            for j in range(width):
                slope = 0.0
                for other in range(STAGES):
                    slope += SLOPES[s + 1, other + 1] * stages[other, e, j]
                left[s, e, j] = drives[e, j] - slope / h - field.l2 * (at.theta[e, j] + stages[s, e, j])
    _solve_uncoupled(at, field, left, update)
    matrix, push = np.zeros((STAGES * samples, STAGES * samples)), np.empty((STAGES * samples, 1))
    _add_kernels(at, field, stages, matrix)
    for s in range(STAGES):
        _outputs(at.theta, field, stages[s], update[s], push[s * samples : (s + 1) * samples, 0])
        for i in range(samples):
            row = s * samples + i
            push[row, 0] = pulls[s, i] - ahead[s, i] - curvatures[s, i] * push[row, 0]
            for column in range(matrix.shape[1]):
                matrix[row, column] *= curvatures[s, i]
            matrix[row, row] += 1.0
    solve_in_place(matrix, push)
    for s in range(STAGES):
        _drives(at.theta, field, stages[s], push[s * samples : (s + 1) * samples, 0], drives)
        for i in range(samples):
            ahead[s, i] += push[s * samples + i, 0]
        for e in range(neurons):
            for j in range(width):
                left[s, e, j] += drives[e, j]
    _solve_uncoupled(at, field, left, update)


@part
def _solve_uncoupled(at: Linearisation, field: FrozenField, right: Array, out: Array) -> None:
    """out = L^{-1} right, both (5, neurons, inputs + 1)."""
    neurons, width = at.theta.shape
    mixed, solved = np.empty(width, dtype=np.complex128), np.empty(width, dtype=np.complex128)
    out[:] = 0.0
    for q in range(at.mus.shape[0]):
        twice = 1.0 if q == 0 else 2.0  # for the eigenvalue's conjugate
        for e in range(neurons):
            for j in range(width):
                mixed[j] = 0.0
                for s in range(STAGES):
                    mixed[j] += BACK[q, s] * right[s, e, j]
            arrow_solve(at.mus[q], at.g[field.group[e]], field.train, mixed, solved)
            for s in range(STAGES):
                for j in range(width):
                    out[s, e, j] += twice * (VECTORS[s, q] * solved[j]).real


@part
def _outputs(theta: Array, field: FrozenField, moved: Array, change: Array, out: Array) -> None:
    """Write how outputs (samples,) change with the weights at theta + moved: j^T change."""
    group, seen, (neurons, width) = field.group, field.seen, theta.shape
    for i in range(seen.shape[1]):
        out[i] = 0.0
        for e in range(neurons):
            a = theta[e, width - 1] + moved[e, width - 1]
            for j in range(width - 1):
                w = theta[e, j] + moved[e, j]
                out[i] += seen[group[e], i, j] * (a * change[e, j] + w * change[e, width - 1])


@part
def _drives(theta: Array, field: FrozenField, moved: Array, push: Array, out: Array) -> None:
    """Write what pulls (samples,) do to neurons (neurons, inputs + 1) at theta + moved: j push."""
    group, seen, (neurons, width) = field.group, field.seen, theta.shape
    for e in range(neurons):
        a = theta[e, width - 1] + moved[e, width - 1]
        out[e, width - 1] = 0.0
        for j in range(width - 1):
            drive = 0.0
            for i in range(push.shape[0]):
                drive += push[i] * seen[group[e], i, j]
            out[e, j] = field.train[0] * a * drive
            out[e, width - 1] += field.train[1] * (theta[e, j] + moved[e, j]) * drive


@in_line
def _add_kernels(at: Linearisation, field: FrozenField, stages: Array, kernels: Array) -> None:
    """Add K = j^T L^{-1} j to `kernels` (5 samples, 5 samples).

    A neuron adds a a'/mu X X^T + (p + mu z)(p' + mu z')^T / (mu (mu^2 - |g|^2)), p = a X g and z = X w, primed at the other stage, for
    every eigenvalue mu and as large as this couples both stages; in sums over a group all that depends on mu are four numbers.
    """
    first_trains, second_trains, neurons = field.train[0], field.train[1], at.theta.shape[0]
    groups, samples, d = field.seen.shape
    heights, drive, mixed = np.empty((STAGES, neurons, samples)), np.empty(samples), np.empty((STAGES, STAGES, samples))
    outgoing, shares = np.empty((STAGES, neurons)), np.empty(4)
    first = 0
    for k in range(groups):
        seen, last, size = field.seen[k], first, 0.0
        while last < neurons and field.group[last] == k:
            last += 1
        for j in range(d):
            size += first_trains * at.g[k, j] * at.g[k, j]
        for i in range(samples):
            drive[i] = 0.0
            for j in range(d):
                drive[i] += first_trains * seen[i, j] * at.g[k, j]
        for s in range(STAGES):
            for e in range(first, last):
                outgoing[s, e] = at.theta[e, d] + stages[s, e, d]
                for i in range(samples):
                    heights[s, e, i] = 0.0
                    for j in range(d):
                        heights[s, e, i] += seen[i, j] * (at.theta[e, j] + stages[s, e, j])
        mixed[:] = 0.0
        for s in range(STAGES):
            for other in range(STAGES):
                for e in range(first, last):
                    for i in range(samples):
                        mixed[s, other, i] += outgoing[s, e] * heights[other, e, i]
        for s in range(STAGES):
            for other in range(STAGES):
                square = 0.0
                for e in range(first, last):
                    square += outgoing[s, e] * outgoing[other, e]
                shares[:] = 0.0
                for q in range(at.mus.shape[0]):
                    mu, coupled = at.mus[q], (1.0 if q == 0 else 2.0) * VECTORS[s, q] * BACK[q, other]
                    bent = second_trains * coupled / (mu * (mu * mu - size))
                    shares[0] += first_trains * square * (coupled / mu).real
                    shares[1] += square * bent.real
                    shares[2] += (bent * mu).real
                    shares[3] += (bent * mu * mu).real
                for i in range(samples):
                    for m in range(samples):
                        inputs_product, heights_product = 0.0, 0.0
                        for j in range(d):
                            inputs_product += seen[i, j] * seen[m, j]
                        for e in range(first, last):
                            heights_product += heights[s, e, i] * heights[other, e, m]
                        cross = drive[i] * mixed[s, other, m] + mixed[other, s, i] * drive[m]
                        kernels[s * samples + i, other * samples + m] += (
                            shares[0] * inputs_product
                            + shares[1] * drive[i] * drive[m]
                            + shares[2] * cross
                            + shares[3] * heights_product
                        )
        first = last


solve_stagewise_apart = apart(solve_stagewise, "n")
