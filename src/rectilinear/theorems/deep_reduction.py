"""Aligned deep networks: structure once formed is kept, and the run is that of a deep linear network (Proposition 12).

On the structure of `deep_structure`, f = K u^L r . x, and gradient flow keeps r_1, ..., r_{L-1} while (App. F.2)

    u' = K u^{L-1} r . g,   (u r)' = K u^{L-1} g,   g = <pull x>   (square loss: g = beta - K u^L Sigma r).

With v = K^{1/L} u this is the deep linear network with layer norms v at time K^{2/L} t (ReLU: t/2). Even inputs and an odd
target suffice, for any loss here; linear networks (alpha = 1, K = 1) need neither. L2 enters as 2 l2 for ReLU, in general
l2 / K^{2/L}.
"""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import scipy

from ..arrays import Array
from ..conditions import Finding, deep_aligned_start, even_inputs, every_layer_trains, odd_target
from ..dataset import Dataset
from ..errors import HypothesisError
from ..network import Weights
from ..problem import Problem
from ..reduced.aligned_flow import linear_pull
from ..reduced.deep_structure import DeepStructure, blocks, deep_structure
from ..reduced.integrate import integrate
from .stated_error import computed_error
from .theorem import WITHIN_WINDOW, Solution, Theorem

NULL_INPUTS = 1e-12  # eigenvalues of Sigma below this share of the largest are taken as zero


def structured_velocity(problem: Problem, structure: DeepStructure) -> Weights:
    """Eqs. 43 to 45: dW_l/dt on the structure, for any depth, alpha and loss.

    W_1' = K u^{L-1} r_1 g^T,   W_l' = K u^{L-2} (r . g) W_l,   W_L' = K u^{L-1} (r . g) r_{L-1}^T.
    """
    layers = len(structure.norms)
    gain, u = blocks(layers, structure.alpha).gain, structure.u
    g = linear_pull(problem)(gain * u**layers * structure.r)
    speed = gain * u ** (layers - 2) * float(structure.r @ g)
    first = gain * u ** (layers - 1) * np.outer(structure.hidden[0], g)
    return (first, *(speed * layer for layer in problem.weights[1:]))


def masked_velocity(data: Dataset, weights: Weights) -> Weights:
    """Eq. 42, corrected: dW_l/dt of a deep ReLU network on the structure, from products of its layers (square loss).

    W_l' = B_l * {(W_L ... W_{l+1})^T (beta^T / 2 - W_L ... W_1 Sigma / 4) (W_{l-1} ... W_1)^T}: as printed the last product
    has wrong limits, and the mask is missing: B_l is 1 on the two diagonal blocks of an intermediate layer and 0 elsewhere.
    """
    signals = deep_structure(weights).hidden
    above = list(accumulate(weights[:0:-1], np.matmul, initial=np.ones((1, 1))))[::-1]
    below = list(accumulate(weights, lambda product, layer: layer @ product, initial=np.eye(data.inputs)))
    error = data.correlation / 2 - below[-1][0] @ data.covariance / 4
    velocities = [up.T @ (down @ error)[None, :] for up, down in zip(above, below, strict=False)]
    for k in range(1, len(weights) - 1):
        velocities[k] *= (signals[k][:, None] > 0) == (signals[k - 1][None, :] > 0)
    return tuple(velocities)


def _norms_and_directions(problem: Problem, start: DeepStructure, times: Array) -> tuple[Array, Array]:
    """ln v (t,) and r (t, d) at finite times: (ln v)' = v^{L-2} r . g - decay, r' = v^{L-2} (g - r (r . g))."""
    layers = len(start.norms)
    gain = blocks(layers, start.alpha).gain
    decay = problem.l2 / gain ** (2 / layers)
    pull = linear_pull(problem)

    def field(_: float, state: Array) -> Array:
        log_v, r = state[0], state[1:]
        g = np.exp((layers - 2) * log_v) * pull(np.exp(layers * log_v) * r)
        along = r @ g
        return np.append(along - decay, g - r * along)

    state = np.append(np.log(start.u) + np.log(gain) / layers, start.r)
    instants = times * gain ** (2 / layers)
    path = integrate(field, state, instants)
    return path[:, 0], path[:, 1:] / np.linalg.norm(path[:, 1:], axis=1, keepdims=True)


def _limit(problem: Problem, start: DeepStructure) -> tuple[float, Array]:
    """(ln v, r) at t = infinity for the square loss without decay, from a start below the loss of f = 0.

    The least squares solution w* plus what the data cannot see: the part of v r in the null space of Sigma never moves, so
    w = w* + v^{L-1} n with n that part at the start, and v^{2L} = |w*|^2 + v^{2L-2} |n|^2.
    """
    layers = len(start.norms)
    v0 = start.u * blocks(layers, start.alpha).gain ** (1 / layers)
    values, vectors = np.linalg.eigh(problem.data.covariance)
    null = vectors[:, values <= NULL_INPUTS * values[-1]]
    fit = np.linalg.lstsq(problem.data.x, problem.data.y, rcond=None)[0]
    unseen = v0 * null @ (null.T @ start.r)
    size, rest = float(fit @ fit), float(unseen @ unseen)
    # v^2 lies between |w*|^{2/L} and |w*|^{2/L} + |n|^2: at the upper end v^{2L} >= |w*|^2 + |n|^2 v^{2L-2}
    low = size ** (1 / layers)
    square = scipy.optimize.brentq(lambda z: z**layers - size - rest * z ** (layers - 1), low, low + rest) if rest else low
    linear_map = fit + square ** ((layers - 1) / 2) * unseen
    return float(np.log(square) / 2), np.asarray(linear_map / np.linalg.norm(linear_map))


def _solve(problem: Problem, times: Array) -> Solution:
    start = deep_structure(problem.weights, problem.network.alpha)
    layers = problem.network.layers
    gain = blocks(layers, start.alpha).gain
    finite = times[np.isfinite(times)]
    log_v, r = _norms_and_directions(problem, start, finite) if finite.size else (np.empty(0), np.empty((0, start.r.size)))
    if finite.size < times.size:
        if _window(problem)[1] < np.inf:  # asked for in spite of another hypothesis, so that nobody has looked at the times
            raise HypothesisError(f"deep_reduction does not know this limit: {DEEP_REDUCTION.breaks[WITHIN_WINDOW]}.")
        last_log_v, last_r = _limit(problem, start)
        log_v, r = np.append(log_v, last_log_v), np.concatenate([r, last_r[None, :]])
    u = np.exp(log_v - np.log(gain) / layers)
    linear_map = np.exp(layers * log_v)[:, None] * r
    later = tuple(u[:, None, None] / start.u * layer for layer in problem.weights[1:])
    weights = (u[:, None, None] * start.hidden[0][None, :, None] * r[:, None, :], *later)
    outputs = linear_map @ problem.data.x.T
    loss = np.mean(problem.loss.value(problem.data.y, outputs), axis=1)
    return Solution(loss=loss, linear_map=linear_map, loss_error=computed_error(problem, loss), weights=weights)


def _hypotheses(problem: Problem) -> list[Finding]:
    findings = [every_layer_trains(problem), deep_aligned_start(problem)]
    if problem.network.alpha < 1:
        findings += [even_inputs(problem.data), odd_target(problem.data)]
    return findings


def _window(problem: Problem) -> tuple[float, float]:
    """The limit is known for the square loss without decay, from a start that cannot fall back to the saddle f = 0."""
    at_zero = float(np.mean(problem.loss.value(problem.data.y, np.zeros(problem.data.samples))))
    known = problem.loss.name == "square" and problem.l2 == 0 and problem.data_loss(problem.weights) < at_zero
    return 0.0, np.inf if known else float(np.finfo(np.float64).max)


DEEP_REDUCTION = Theorem(
    name="deep_reduction",
    title="a deep network with rank-one and rank-two weights is a deep linear network at time K^{2/L} t",
    source="Zhang, Saxe & Latham, arXiv:2406.12615, Appendix F, Eqs. 39-45 (v3: Proposition 12)",
    strength=30,
    hypotheses=_hypotheses,
    breaks={
        "every_layer_trains": "the layers do not keep one norm, and Eqs. 43-45 lose a term",
        "deep_aligned_start": "the function is not linear and the reduced flow starts elsewhere",
        "even_inputs": "the two half-spaces pull differently and the structure is left",
        "odd_target": "the two half-spaces pull differently and the structure is left",
        WITHIN_WINDOW: "the limit is not known in closed form; ask for finite times",
    },
    solve=_solve,
    window=_window,
    essential=("every_layer_trains", WITHIN_WINDOW),
)
