"""The flow of aligned weights on symmetric data: a linear network of one neuron, in variables that cannot underflow.

With c = (alpha + 1)/2, aligned weights W_1 = p v r^T, W_2 = q v^T with equal positive and negative halves of v act as one
linear neuron z = sqrt(c) (p r, q) in time c t (Theorem 5 of Zhang et al.; p != q allowed): with w = z_q z_p and
g = <pull(y, w . x) x>,

    z' = [[0, g], [g^T, 0]] z - (l2/c) z.

Its state is ln|z| and z/|z|, so a start of size 1e-8 costs no accuracy (the general form of the (ln norm, direction) flow).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..conditions import Finding, alignment, measured_finding
from ..conditions.finding import Direction
from ..errors import FlowError
from ..problem import Problem

TOLERANCE = 1e-12  # local error of the reduced flow; its global error stays below 1e-10
MAX_STEPS = 100_000  # between two saved times; reduced flows need a few hundred in all
MAX_EXPONENT = 100.0  # a trial step may overshoot far beyond any minimum; this keeps it finite until it is rejected


@dataclass(frozen=True, eq=False)
class AlignedStart:
    """Where the aligned flow starts: z = (z_p, z_q) = sqrt(c) (p r, q), and the unit v (h,) that spreads it over neurons."""

    z: Array  # (d + 1,)
    v: Array  # (h,)


def aligned_start(problem: Problem) -> AlignedStart:
    """The start of an aligned network: exact for weights W_1 = p v r^T, W_2 = q v^T, their projection otherwise."""
    found = alignment(problem.weights)
    return AlignedStart(np.sqrt(slope_mean(problem)) * np.append(found.p * found.r, found.q), found.v)


def grown_start(problem: Problem) -> AlignedStart:
    """The aligned start that small random weights grow into: r = beta/|beta| and p v = q v = r1 (Theorem 13, Eq. 23)."""
    r1, direction = growing_part(problem)
    size = float(np.linalg.norm(r1))
    return AlignedStart(np.sqrt(slope_mean(problem)) * size * np.append(direction, 1.0), r1 / size)


def growing_part(problem: Problem) -> tuple[Array, Array]:
    """r1 = (W_1 bb + W_2^T)/2 (h,), the part of the weights that grows, and bb = beta/|beta| (d,)."""
    beta = problem.data.correlation
    size = float(np.linalg.norm(beta))
    direction = beta / size if size else np.zeros_like(beta)
    return (problem.weights[0] @ direction + problem.weights[1][0]) / 2, direction


def both_signs_grow(problem: Problem) -> Finding:
    """Neurons of both signs grow: a group of one sign is silent on a half-space. `measured` is the smaller share of |r1|^2.

    A linear network (alpha = 1) has no silent side and needs one sign only.
    """
    if problem.network.layers != 2 or problem.network.bias:
        sentence = f"it is defined for two layers without bias, found {problem.network}."
        return measured_finding("both_signs_grow", 0.0, 0.0, sentence, direction="above")
    squares = growing_part(problem)[0]
    squares = squares * np.abs(squares)
    smaller = float(min(squares[squares > 0].sum(), -squares[squares < 0].sum()) / (np.abs(squares).sum() or 1.0))
    sentence = f"neurons of the weaker sign have {smaller:.3g} of the growing weights; some are required."
    direction: Direction = "at_least" if problem.network.alpha == 1.0 else "above"
    return measured_finding("both_signs_grow", smaller, 0.0, sentence, direction=direction)


def slope_mean(problem: Problem) -> float:
    """c = (alpha + 1)/2, the mean slope of the activation."""
    return (1.0 + problem.network.alpha) / 2.0


def linear_pull(problem: Problem) -> Callable[[Array], Array]:
    """The field w -> g(w) = <pull(y, w . x) x> of a linear function w . x; beta - Sigma w for the square loss."""
    data = problem.data
    if problem.loss.name == "square":
        beta, covariance = data.correlation, data.covariance
        return lambda w: beta - covariance @ w
    x, y, pull = data.x, data.y, problem.loss.pull
    return lambda w: pull(y, x @ w) @ x / len(y)


def aligned_flow(problem: Problem, start: AlignedStart, times: Array) -> Array:
    """z(t) at finite times, (t, d + 1)."""
    c = slope_mean(problem)
    decay = problem.l2 / c
    pull = linear_pull(problem)
    inputs = problem.data.inputs

    def velocity(_: float, state: Array) -> Array:
        size, top, bottom = np.exp(min(2.0 * state[-1], MAX_EXPONENT)), state[:inputs], state[inputs]
        g = pull(size * bottom * top)
        along = top @ g
        growth = 2.0 * bottom * along
        change = np.empty_like(state)
        change[:inputs] = bottom * g - growth * top
        change[inputs] = along - growth * bottom
        change[-1] = growth - decay
        return change

    norm = float(np.linalg.norm(start.z))
    state = np.append(start.z / norm, np.log(norm))
    path = integrate(velocity, state, c * times)
    return np.asarray(path[:, :-1] * np.exp(path[:, -1:]))


def integrate(
    velocity: Callable[..., Array],
    start: Array,
    times: Array,
    constants: tuple[object, ...] = (),
    tolerance: float = TOLERANCE,
) -> Array:
    """Solve state' = velocity(t, state, *constants) from t = 0 by LSODA; the states at `times` (t, state)."""
    from scipy.integrate import odeint

    if times[-1] == 0.0:
        return start[None]
    instants = times if times[0] == 0.0 else np.concatenate([[0.0], times])
    path, report = odeint(
        velocity, start, instants, constants, tfirst=True, full_output=True, rtol=tolerance, atol=tolerance, mxstep=MAX_STEPS
    )
    if report["message"] != "Integration successful." or not np.isfinite(path).all():
        raise FlowError(
            f"the reduced flow could not be followed to t = {times[-1]:g} ({report['message']}); simulate instead."
        )
    return np.asarray(path[len(instants) - len(times) :])
