"""One implicit step of a network whose activation patterns are frozen: Radau IIA collocation with five stages, order 9.

Frozen patterns make the field smooth, in ordinary and in rescaled time; `field/frozen.py` has it, and solves with its Jacobian.
Collocation follows Hairer & Wanner, Solving ODEs II, IV.8.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...arrays import Array
from ..collocation import BACK, EIGENVALUES, ERROR_ROW, SLOPES, STAGES, VECTORS
from ..compiled import in_line, kernel, part
from ..field.frozen import FrozenField, Linearisation, linearise, solve_apart, velocity
from .stagewise import solve_stagewise_apart

REAL: Any = np.intp(0)  # which eigenvalue is real; for a literal number the compiler would make a copy of what takes it
NEWTON_MAX = 12
NEWTON_TOLERANCE = 1e-3  # of the tolerance of the step: what is left in the stages adds up over thousands of steps
# The same for outputs, which hardly add up: where they matter more than weights they are stiff. Rounding may be a tenth of their tolerance.
NEWTON_OUTPUT_TOLERANCE = 0.1
NEWTON_ROUNDING = 2e-15  # the least that can be left
DIVERGING = 0.9  # rate of convergence beyond which Newton is given up
STAGNANT = 0.3  # updates that rounding may have made and that fall no faster are rounding
NOISE = 1e-12  # updates that it may make in rescaled time, where margins of 1e7 carry rounding of that size
# The fastest convergence that is relied on: the first update of a nearly linear step is large, and the second, which is small beside it,
# promises too much. Without this bound stiff steps left 400 times their tolerance (h |J| of 1e5).
FASTEST = 0.1
OUTPUTS_TO_WEIGHTS = NEWTON_TOLERANCE / NEWTON_OUTPUT_TOLERANCE


class Accuracy(NamedTuple):
    """What is asked of a step: errors below `rtol`, relative to the `size` (neurons,) of the weights and to `output_size`.

    `noises` (groups, inputs) are drives such as rounding makes, `noise` is the largest that it can make.
    """

    size: Array
    output_size: float
    rtol: float
    noises: Array
    noise: float


class Nodes(NamedTuple):
    """What a step finds at its nodes 0, c_1, ..., c_5: |d theta/dt|^2 (6,), pulls (6, samples), objectives (6,).

    `stages` (5, neurons, inputs + 1) is Y_j - theta, before the step a guess of it.
    """

    stages: Array
    energies: Array
    pulls: Array
    objectives: Array


@kernel
def collocation_step(
    theta: Array, field: FrozenField, accuracy: Accuracy, h: float, stagewise: bool, nodes: Nodes
) -> tuple[float, int, float, float]:
    """Try a step of length h from `theta` and write what it finds into `nodes`.

    Newton keeps the Jacobian at `theta`, or takes it `stagewise`. Returns the estimated error in units of the tolerance (-1 if Newton
    failed), the evaluations of the field, Newton's last rate of convergence, and by how much rounding may move the weights, relative
    to their size.
    """
    samples = field.seen.shape[1]
    slope, g = np.empty_like(theta), np.empty((field.seen.shape[0], theta.shape[1] - 1))
    curvature, mus = np.empty(samples), np.empty_like(EIGENVALUES)
    nodes.objectives[0], nodes.energies[0] = velocity(theta, field, slope, g, nodes.pulls[0], curvature)
    for q in range(mus.shape[0]):
        mus[q] = EIGENVALUES[q] / h + field.l2
    at = linearise(theta, field, mus, g, nodes.pulls[0], curvature)
    noise = NOISE if field.rescaled else _rounded(at, field, accuracy, h)
    converged, evaluations, rate = _newton(at, field, accuracy, h, stagewise, noise, nodes)
    error, evaluations = -1.0, evaluations + 1
    if not converged:
        return error, evaluations, rate, noise
    _slow_down(nodes, h)
    settled = np.empty_like(theta)
    for settles in range(2):
        error = _error(at, field, accuracy, h, slope, nodes.stages)
        if settles or not error > 1.0:
            break
        # fast directions that the state has not settled in yet seem errors of any step, however short: they settle within it
        # (Hairer & Wanner, Solving ODEs II, IV.8, Eq. 8.20); `slope` holds the error
        for e in range(theta.shape[0]):
            for j in range(theta.shape[1]):
                settled[e, j] = theta[e, j] + slope[e, j]
        velocity(settled, field, slope, np.empty_like(g), np.empty(samples), curvature)
        evaluations += 1
    return error, evaluations, rate, 0.0 if field.rescaled else noise


@in_line
def _rounded(at: Linearisation, field: FrozenField, accuracy: Accuracy, h: float) -> float:
    """By how much rounding may move the weights in a step of length h, relative to their size.

    That is at most h times the largest drive it makes. Where this matters, see how far such drives really move neurons: most of them
    are what errors of outputs make, and directions that change outputs are stiff.
    """
    most = h * accuracy.noise
    if most <= NEWTON_TOLERANCE * accuracy.rtol:
        return max(most, NEWTON_ROUNDING)
    theta, (neurons, width) = at.theta, at.theta.shape
    right, update = np.zeros((neurons, width), dtype=np.complex128), np.empty((neurons, width), dtype=np.complex128)
    moved = np.empty((neurons, width))
    for e in range(neurons):
        drive = accuracy.noises[field.group[e]]
        for j in range(width - 1):
            right[e, j] = field.train[0] * theta[e, width - 1] * drive[j]
            right[e, width - 1] += field.train[1] * theta[e, j] * drive[j]
    solve_apart(at, field, REAL, right, update)
    for e in range(neurons):
        for j in range(width):
            moved[e, j] = update[e, j].real
    weights, outputs = _relative(at, field, accuracy, moved)
    return max(min(most, max(weights, OUTPUTS_TO_WEIGHTS * outputs)), NEWTON_ROUNDING)


@in_line
def _newton(
    at: Linearisation, field: FrozenField, accuracy: Accuracy, h: float, stagewise: bool, noise: float, nodes: Nodes
) -> tuple[bool, int, float]:
    """Solve for the stages; whether that succeeded, evaluations of the field, the last rate of convergence."""
    theta, stages, (neurons, width) = at.theta, nodes.stages, at.theta.shape
    fields, step, curvatures = np.empty_like(stages), np.empty_like(stages), np.empty((STAGES, field.seen.shape[1]))
    ahead = np.zeros_like(curvatures)
    enough = max(NEWTON_TOLERANCE * accuracy.rtol, NEWTON_ROUNDING)
    previous, rate, converged, at_noise = -1.0, 0.0, False, False
    for iteration in range(NEWTON_MAX + 1):
        _evaluate(theta, field, nodes, fields, curvatures)
        if converged or iteration == NEWTON_MAX:
            # the rate at which rounding goes on says nothing of longer steps
            return converged, STAGES * (iteration + 1), 0.0 if at_noise else rate
        if stagewise:
            solve_stagewise_apart(at, field, h, curvatures, nodes.pulls[1:], ahead, stages, step)
        else:
            _solve_for_update(at, field, h, fields, stages, step)
        largest = 0.0
        for s in range(STAGES):
            for e in range(neurons):
                for j in range(width):
                    stages[s, e, j] += step[s, e, j]
            weights, outputs = _relative(at, field, accuracy, step[s])
            largest = max(largest, weights, OUTPUTS_TO_WEIGHTS * outputs)
        rate = largest / previous if previous > 0.0 else 0.0
        at_noise = rate > STAGNANT and largest <= noise
        diverging = rate > DIVERGING and iteration > 2 and largest > 100.0 * noise
        if diverging or not np.isfinite(largest):
            break
        # what is left after this update is about rate/(1 - rate) of it
        left = largest if previous < 0.0 else largest * min(1.0, max(rate, FASTEST) / max(1e-3, 1.0 - rate))
        previous = largest
        converged = at_noise or left <= enough
    return False, STAGES * (iteration + 1), rate


@in_line
def _evaluate(theta: Array, field: FrozenField, nodes: Nodes, fields: Array, curvatures: Array) -> None:
    """Write the field at the stages (5, neurons, inputs + 1), the diagonals of C (5, samples), and what `nodes` keeps of it."""
    here, g, stages = np.empty_like(theta), np.empty((field.seen.shape[0], theta.shape[1] - 1)), nodes.stages
    for s in range(STAGES):
        for e in range(theta.shape[0]):
            for j in range(theta.shape[1]):
                here[e, j] = theta[e, j] + stages[s, e, j]
        nodes.objectives[s + 1], nodes.energies[s + 1] = velocity(
            here, field, fields[s], g, nodes.pulls[s + 1], curvatures[s]
        )


@in_line
def _slow_down(nodes: Nodes, h: float) -> None:
    """Take squared speeds from the polynomial where they are smaller: what Newton left in stiff directions is large in the field."""
    for s in range(STAGES):
        energy = 0.0
        for e in range(nodes.stages.shape[1]):
            for j in range(nodes.stages.shape[2]):
                moved = 0.0
                for other in range(STAGES):
                    moved += SLOPES[s + 1, other + 1] * nodes.stages[other, e, j]
                energy += (moved / h) ** 2
        nodes.energies[s + 1] = min(nodes.energies[s + 1], energy)


@in_line
def _solve_for_update(at: Linearisation, field: FrozenField, h: float, fields: Array, stages: Array, step: Array) -> None:
    """Write Newton's update of the stages, one linear system per eigenvalue of the inverse of Radau's matrix."""
    neurons, width = at.theta.shape
    right, update = np.empty((neurons, width), dtype=np.complex128), np.empty((neurons, width), dtype=np.complex128)
    for q in range(EIGENVALUES.shape[0]):
        mu = EIGENVALUES[q] / h
        for e in range(neurons):
            for j in range(width):
                value = 0.0j
                for s in range(STAGES):
                    value += BACK[q, s] * (fields[s, e, j] - mu * stages[s, e, j])
                right[e, j] = value
        solve_apart(at, field, q, right, update)
        twice = 1.0 if q == 0 else 2.0  # for the eigenvalue's conjugate
        for s in range(STAGES):
            for e in range(neurons):
                for j in range(width):
                    before = step[s, e, j] if q > 0 else 0.0
                    step[s, e, j] = before + twice * (VECTORS[s, q] * update[e, j]).real


@in_line
def _error(at: Linearisation, field: FrozenField, accuracy: Accuracy, h: float, slope: Array, stages: Array) -> float:
    """The error of a step that began with this slope, in units of the tolerance; `slope` becomes the error of the weights.

    It is the larger of two: that of the weights, and what it does to the outputs.
    """
    neurons, width = at.theta.shape
    right, update = np.empty((neurons, width), dtype=np.complex128), np.empty((neurons, width), dtype=np.complex128)
    mu = (EIGENVALUES[0] / h).real
    for e in range(neurons):
        for j in range(width):
            value = slope[e, j]
            for s in range(STAGES):
                value += ERROR_ROW[s] * stages[s, e, j] * mu
            right[e, j] = value
    solve_apart(at, field, REAL, right, update)
    for e in range(neurons):
        for j in range(width):
            slope[e, j] = update[e, j].real
    weights, outputs = _relative(at, field, accuracy, slope)
    return max(weights, outputs) / accuracy.rtol


@part
def _relative(at: Linearisation, field: FrozenField, accuracy: Accuracy, change: Array) -> tuple[float, float]:
    """Root mean squares of a change of the weights (neurons, inputs + 1) and of what it does to the outputs, relative to their sizes."""
    theta, seen, group, size, (neurons, width) = at.theta, field.seen, field.group, accuracy.size, at.theta.shape
    total, push = 0.0, np.zeros((seen.shape[0], width - 1))
    for e in range(neurons):
        k, a = group[e], theta[e, width - 1]
        for j in range(width):
            total += (change[e, j] / size[e]) ** 2
        for j in range(width - 1):
            push[k, j] += a * change[e, j] + theta[e, j] * change[e, width - 1]
    outputs = 0.0
    for i in range(seen.shape[1]):
        output = 0.0
        for k in range(seen.shape[0]):
            for j in range(width - 1):
                output += push[k, j] * seen[k, i, j]
        outputs += output * output
    return np.sqrt(total / theta.size), np.sqrt(outputs / seen.shape[1]) / accuracy.output_size
