"""Where linear training ends (Corollary 6 of Zhang et al.): least squares, the logistic optimum, or the maximum margin.

The limits are those of the linear function w . x that a two-layer network on symmetric data computes. With weight decay
the limit minimises <l(y, w . x)> + (l2/c)|w|, c = (alpha + 1)/2: the norm, not its square, because |w| is what one
product of two layers costs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..conditions import (
    Finding,
    both_signs_grow,
    either,
    even_inputs,
    odd_target,
    rank_one_start,
    separable,
    small_start,
    two_layers,
)
from ..dataset import Dataset
from ..errors import HypothesisError
from ..losses import Loss
from ..problem import Problem
from ..reduced.aligned_flow import AlignedStart, aligned_flow, aligned_start, linear_pull
from ..reduced.max_margin import max_margin
from .stated_error import computed_error
from .theorem import WITHIN_WINDOW, Solution, Theorem, limit_only

NULL_VALUE = 1e-12  # eigenvalues of Sigma below this fraction of the largest are directions that no sample has
BALANCED = 1e-12  # a relative imbalance below it is rounding
NO_GROWTH = 1e-12  # a growing part below this fraction of the start is rounding
NEWTON_STEPS = 200  # damped Newton on a smooth convex function needs ten to thirty
NEWTON_GRADIENT = 1e-14  # relative gradient norm at which Newton's steps are rounding only
ARMIJO = 1e-4  # share of the slope by which a step must lower the value
ROUNDING = 1e-15  # relative error of a value, which must not make a good step look bad
SHORTEST_STEP = 1e-10


@dataclass(frozen=True, eq=False)
class Limit:
    """The end of a linear run: the map w (d,) and its loss, or, where |w| diverges (w is nan), the direction w/|w|.

    `certificate` is the residual that certifies it: the gradient norm of the convex problem, or the margin's KKT residual.
    """

    w: Array
    direction: Array | None
    loss: float
    certificate: float


def linear_limit(problem: Problem, start: AlignedStart | None = None) -> Limit:
    """Corollary 6: the limit of w . x for aligned training; its part in directions that no sample has comes from `start`.

    >>> from rectilinear import Dataset, Network
    >>> data = Dataset([[1.0, 0.0], [0.0, 2.0]], [1.0, 1.0]).symmetrised()
    >>> net = Network(inputs=2, widths=(4,))
    >>> linear_limit(Problem(data, net, net.init(1e-3, seed=0))).w.round(12).tolist()
    [1.0, 0.5]
    """
    data, loss = problem.data, problem.loss
    if start is not None:
        _require_growth(problem, start)
    if loss.is_classification and not problem.l2 and separable(data).holds:
        found = max_margin(data.y[:, None] * data.x)
        return Limit(np.full(data.inputs, np.nan), found.direction, 0.0, found.kkt_residual)
    w, gradient = _convex_minimum(problem)
    if start is not None and not problem.l2:
        w = w + _unseen_part(problem, start, float(np.linalg.norm(w)))
    return Limit(w, None, float(np.mean(loss.value(data.y, data.x @ w))), gradient)


def limit_state(problem: Problem, start: AlignedStart, w: Array) -> Array:
    """z(infinity) of the aligned flow whose map z_q z_p ends at w: |z_p|^2 - z_q^2 is conserved, or decays to 0 under l2.

    nan where w diverges, and in z_p where both w and z_q end at zero, which leaves its direction open.
    """
    if np.isnan(w).any():
        return np.full(len(w) + 1, np.nan)
    top, bottom = start.z[:-1], start.z[-1]
    imbalance = float(top @ top - bottom**2)
    if problem.l2 or abs(imbalance) <= BALANCED * bottom**2:
        imbalance = 0.0
    square = _positive_root(imbalance, float(np.linalg.norm(w)))
    if square == 0.0:
        return np.append(np.full(len(w), np.nan if imbalance > 0.0 else 0.0), 0.0)
    q = np.sqrt(square) * _final_sign(problem, start)
    return np.append(w / q, q)


def _positive_root(b: float, size: float) -> float:
    """The root q^2 >= 0 of q^4 + b q^2 - size^2 = 0, without cancellation."""
    root = float(np.hypot(b, 2.0 * size))
    return (root - b) / 2.0 if b <= 0 else 2.0 * size**2 / (root + b)


def _final_sign(problem: Problem, start: AlignedStart) -> float:
    """The sign of z_q in the end: it changes only where |z_p| > |z_q|, and then it is seen once the weights have grown."""
    top, bottom = start.z[:-1], start.z[-1]
    if abs(bottom) >= np.linalg.norm(top):
        return float(np.sign(bottom))
    steepness = float(np.linalg.norm(linear_pull(problem)(np.zeros(len(top)))))
    grown = (20.0 - min(0.0, 2.0 * np.log(np.linalg.norm(start.z)))) / (problem.network.mean_slope * steepness)
    return float(np.sign(aligned_flow(problem, start, np.array([grown]))[0, -1]))


def _require_growth(problem: Problem, start: AlignedStart) -> None:
    """Refuse a start without a part along (g, |g|), g the pull at zero: it may end in the saddle w = 0, not at the limit."""
    g = linear_pull(problem)(np.zeros(problem.data.inputs))
    steepness = float(np.linalg.norm(g))
    growing = abs(float(g @ start.z[:-1]) + steepness * start.z[-1])
    if growing <= NO_GROWTH * steepness * float(np.linalg.norm(start.z)) and steepness > 0.0:
        raise HypothesisError(
            "the limit needs weights with a part along the growing direction (beta/|beta|, 1), and these have none: "
            "they run into the saddle w = 0; ask for finite times, or start elsewhere."
        )


def _seen_directions(problem: Problem) -> Array:
    """An orthonormal basis (d, k) of the directions that samples have."""
    values, vectors = np.linalg.eigh(problem.data.covariance)
    return np.asarray(vectors[:, values > NULL_VALUE * values[-1]])


def _unseen_part(problem: Problem, start: AlignedStart, size: float) -> Array:
    """The component of w(infinity) in directions that no sample has: it never moves in z_p, but grows with z_q.

    z_p keeps its unseen part, z_q z_p is the minimum of size `size` on the seen part and |z_p|^2 - z_q^2 is conserved, so
    z_q^2 solves a quadratic equation.
    """
    top, bottom = start.z[:-1], start.z[-1]
    basis = _seen_directions(problem)
    unseen = top - basis @ (basis.T @ top)
    if basis.shape[1] == len(top):
        return np.zeros_like(top)
    square = _positive_root(float(top @ top - bottom**2 - unseen @ unseen), size)
    return np.asarray(np.sqrt(square) * _final_sign(problem, start) * unseen)


def _convex_minimum(problem: Problem) -> tuple[Array, float]:
    """argmin <l(y, w . x)> + (l2/c)|w| among the directions that samples have, and the gradient norm there."""
    data = problem.data
    decay = problem.l2 / problem.network.mean_slope
    basis = _seen_directions(problem)
    seen = Dataset(data.x @ basis, data.y)
    pull = basis.T @ linear_pull(problem)(np.zeros(data.inputs))
    if np.linalg.norm(pull) <= decay:
        return np.zeros(data.inputs), 0.0
    if problem.loss.name == "square" and not decay:
        w = np.linalg.lstsq(seen.x, seen.y, rcond=None)[0]
        return np.asarray(basis @ w), float(np.linalg.norm((seen.y - seen.x @ w) @ seen.x)) / data.samples
    minimum, gradient = _newton(seen, problem.loss, decay, start=1e-3 * pull / np.linalg.norm(pull))
    return np.asarray(basis @ minimum), gradient


def _newton(data: Dataset, loss: Loss, decay: float, start: Array) -> tuple[Array, float]:
    """Damped Newton for <l(y, w . x)> + decay |w| from `start` != 0: the minimum and the gradient norm there."""

    def value(w: Array) -> float:
        return float(np.mean(loss.value(data.y, data.x @ w))) + decay * float(np.linalg.norm(w))

    w = start
    enough = NEWTON_GRADIENT * float(np.linalg.norm(data.correlation))
    for _ in range(NEWTON_STEPS):
        outputs, norm = data.x @ w, float(np.linalg.norm(w))
        gradient = -loss.pull(data.y, outputs) @ data.x / data.samples + decay * w / norm
        steepness = float(np.linalg.norm(gradient))
        if steepness <= enough:
            break
        hessian = (data.x.T * loss.curvature(data.y, outputs)) @ data.x / data.samples
        hessian += decay / norm * (np.eye(len(w)) - np.outer(w, w) / norm**2)
        step = np.linalg.solve(hessian, gradient)
        size, before, slope = 1.0, value(w), float(gradient @ step)
        while value(w - size * step) > before - ARMIJO * size * slope + ROUNDING * abs(before) and size > SHORTEST_STEP:
            size /= 2.0
        w = np.asarray(w - size * step)
    return w, steepness


def hypotheses(problem: Problem) -> list[Finding]:
    return [
        two_layers(problem),
        even_inputs(problem.data),
        odd_target(problem.data),
        either(small_start(problem), rank_one_start(problem)),
        both_signs_grow(problem),
    ]


def solve(problem: Problem, times: Array) -> Solution:
    """The limit of the linear map and the loss there; `certificate` among the statistics."""
    aligned = rank_one_start(problem).holds
    limit = linear_limit(problem, aligned_start(problem) if aligned else None)
    loss = np.full(len(times), limit.loss)
    return Solution(
        loss=loss,
        linear_map=np.tile(limit.w, (len(times), 1)),
        direction=limit.direction,
        loss_error=computed_error(problem, loss),
        statistics={"certificate": limit.certificate},
    )


LIMIT = Theorem(
    name="limit",
    title="training on symmetric data ends at least squares, the logistic optimum or the maximum margin",
    source="Zhang, Saxe & Latham, arXiv:2406.12615, Corollary 6",
    strength=70,
    hypotheses=hypotheses,
    breaks={
        "two_layers": "the limit need not be linear",
        "even_inputs": "the function need not stay odd, and fits more than its linear part",
        "odd_target": "the function need not stay odd, and fits more than its linear part",
        "small_start": "the function keeps an even part from its start, and so may its limit",
        "both_signs_grow": "the other half of the samples is never learned",
        WITHIN_WINDOW: "there is no limit to speak of; symmetric_data and two_neurons predict finite times",
    },
    solve=solve,
    window=limit_only,
    essential=("two_layers", WITHIN_WINDOW),
)
