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
from ..problem import Problem
from .alignment import nearest_aligned
from .integrate import integrate

BALANCED = 1e-12  # of two variables one may be this share of the other by rounding; it is then taken as zero
MAX_EXPONENT = 100.0  # a trial step may overshoot far beyond any minimum; this keeps it finite until it is rejected


@dataclass(frozen=True, eq=False)
class AlignedStart:
    """Where the aligned flow starts: z = (z_p, z_q) = sqrt(c) (p r, q), and the unit v (h,) that spreads it over neurons."""

    z: Array  # (d + 1,)
    v: Array  # (h,)


def aligned_start(problem: Problem) -> AlignedStart:
    """The start of an aligned network: exact for weights W_1 = p v r^T, W_2 = q v^T, their projection otherwise."""
    found = nearest_aligned(problem.weights)
    return AlignedStart(np.sqrt(problem.network.mean_slope) * np.append(found.p * found.r, found.q), found.v)


def grown_start(problem: Problem) -> AlignedStart:
    """The aligned start that small random weights grow into: r = beta/|beta| and p v = q v = r1 (Theorem 13, Eq. 23)."""
    r1, direction = growing_part(problem)
    size = float(np.linalg.norm(r1))
    return AlignedStart(np.sqrt(problem.network.mean_slope) * size * np.append(direction, 1.0), r1 / size)


def growing_part(problem: Problem) -> tuple[Array, Array]:
    """r1 = (W_1 bb + W_2^T)/2 (h,), the part of the weights that grows, and bb = beta/|beta| (d,)."""
    beta = problem.data.correlation
    size = float(np.linalg.norm(beta))
    direction = beta / size if size else np.zeros_like(beta)
    return (problem.weights[0] @ direction + problem.weights[1][0]) / 2, direction


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
    if problem.data.inputs == 1:
        return _one_input_flow(problem, start, times)
    c = problem.network.mean_slope
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


def _one_input_flow(problem: Problem, start: AlignedStart, times: Array) -> Array:
    """The same for one input, (t, 2): u = (z_p + z_q)/sqrt 2 grows by e^G, v = (z_p - z_q)/sqrt 2 falls by e^{-G}, G' = g.

    So a start with u = 0 falls into the saddle z = 0 for good, where rounding in other variables would find a way out.
    """
    c = problem.network.mean_slope
    decay, pull = problem.l2 / c, linear_pull(problem)
    u, v = float(start.z.sum()) / np.sqrt(2.0), float(start.z[0] - start.z[1]) / np.sqrt(2.0)
    u, v = (part if abs(part) > BALANCED * np.hypot(u, v) else 0.0 for part in (u, v))

    def velocity(time: float, gained: Array) -> Array:
        growth = np.exp(np.clip(2.0 * gained, -MAX_EXPONENT, MAX_EXPONENT))
        return pull((u * u * growth - v * v / growth) * np.exp(-2.0 * decay * time) / 2.0)

    gained = integrate(velocity, np.zeros(1), c * times)
    shrunk = np.exp(-decay * c * times)[:, None]
    up, down = u * np.exp(gained) * shrunk, v * np.exp(-gained) * shrunk
    return np.concatenate([up + down, up - down], axis=1) / np.sqrt(2.0)
