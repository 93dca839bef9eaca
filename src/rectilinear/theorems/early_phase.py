"""The early phase: small weights grow exponentially along beta (Lemma 12, Theorem 13, Eq. 23 of Zhang et al., corrected).

With kappa = c |g0|, g0 = <pull(y, 0) x> (beta, or beta/2 for the logistic loss) and bb = beta/|beta|, the flow linearised at
zero weights is solved by (Eq. 23)

    [W_1^T; W_2](t) = e^{kappa t} [bb; 1] r1^T + e^{-kappa t} [bb; -1] r2^T + [(I - bb bb^T) W_1(0)^T; 0],

r1 = (W_1(0) bb + W_2(0)^T)/2, r2 = (W_1(0) bb - W_2(0)^T)/2. With u0 the larger layer norm, every layer stays below
u0 e^{kappa t} for all times (Lemma 12, sharpened), hence the error is at most (Theorem 13, last term)

    sqrt(2) Tr(Sigma) u0^3 e^{kappa t} (e^{2 kappa t} - 1) / (2 kappa),   a quarter of it for the logistic loss,

which is O(u0) up to t = (2 / (3 kappa)) ln(1/u0).
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..conditions import Finding, lipschitz_loss, no_decay
from ..network import Weights
from ..problem import Problem
from ..reduced.aligned_flow import linear_pull
from .stated_error import first_loss
from .symmetric_data import CONDITION_THREE_BREAKS, condition_three
from .theorem import WITHIN_WINDOW, Solution, Theorem

ROUNDING = 1e-14  # of the loss itself, relative
LIPSCHITZ = {"square": 1.0, "logistic": 0.25}  # of the pull as a function of the output


def growth_rate(problem: Problem) -> float:
    """kappa: small weights grow like e^{kappa t}."""
    return problem.network.mean_slope * float(np.linalg.norm(linear_pull(problem)(np.zeros(problem.data.inputs))))


def start_size(problem: Problem) -> float:
    """u0, the larger norm of the two layers."""
    return float(max(np.linalg.norm(layer) for layer in problem.weights))


def norm_bound(problem: Problem, times: Array) -> Array:
    """Lemma 12, sharpened: no layer's norm exceeds u0 e^{kappa t}, at any time and for any size of the start, (t,)."""
    return np.asarray(start_size(problem) * np.exp(growth_rate(problem) * times))


def error_bound(problem: Problem, times: Array) -> Array:
    """The bound on |W(t) - Eq. 23| over both layers, (t,)."""
    kappa, trace = growth_rate(problem), float(np.trace(problem.data.covariance))
    grown = np.expm1(2.0 * kappa * times) / (2.0 * kappa) if kappa else np.asarray(times)
    cubed = np.sqrt(2.0) * trace * start_size(problem) ** 3
    return np.asarray(LIPSCHITZ[problem.loss.name] * cubed * np.exp(kappa * times) * grown)


def validity_window(problem: Problem) -> tuple[float, float]:
    """From 0 to (2 / (3 kappa)) ln(1/u0), where the bound has come up to O(u0)."""
    kappa, size = growth_rate(problem), start_size(problem)
    if size >= 1.0:
        return 0.0, 0.0
    if kappa == 0.0 or size == 0.0:
        return 0.0, np.inf
    return 0.0, 2.0 / (3.0 * kappa) * float(np.log(1.0 / size))


def early_weights(problem: Problem, times: Array) -> tuple[Array, Array]:
    """Eq. 23 at `times`: W_1 (t, h, d) and W_2 (t, 1, h).

    >>> from rectilinear import Dataset, Network
    >>> net = Network(inputs=2, widths=(4,))
    >>> problem = Problem(Dataset([[1.0, 0.5]], [1.0]).symmetrised(), net, net.init(1e-3, seed=0))
    >>> first, second = early_weights(problem, np.array([0.0]))
    >>> all(np.allclose(*pair, rtol=1e-14) for pair in zip((first[0], second[0]), problem.weights))
    True
    """
    pull = linear_pull(problem)(np.zeros(problem.data.inputs))
    size = float(np.linalg.norm(pull))
    bb = pull / size if size else np.zeros_like(pull)
    first, second = problem.weights[0], problem.weights[1][0]
    along = first @ bb
    rising, falling = (along + second) / 2, (along - second) / 2
    growth = np.exp(growth_rate(problem) * times)[:, None]
    up, down = growth * rising, falling / growth
    if not size:  # without pull nothing moves
        return np.tile(first, (len(times), 1, 1)), np.tile(second, (len(times), 1, 1))
    across = first - np.outer(along, bb)
    return (up + down)[:, :, None] * bb + across, (up - down)[:, None, :]


def loss_error(problem: Problem, times: Array) -> Array:
    """A bound on |L(W(t)) - L(Eq. 23)|, (t,): the outputs differ by |x| e (2 u + e) at most, with e the bound on the weights and
    u = u0 e^{kappa t} that on a layer, and l is Lipschitz between them."""
    e, u = error_bound(problem, times), norm_bound(problem, times)
    off = e * (2.0 * u + e)
    lengths = np.linalg.norm(problem.data.x, axis=1)
    if problem.loss.name == "logistic":
        return np.asarray(off * lengths.mean())
    outputs = u**2 + off  # over |x|, of either network
    return np.asarray(off * (np.mean(lengths * np.abs(problem.y)) + outputs * np.mean(lengths**2)))


def hypotheses(problem: Problem) -> list[Finding]:
    return [*condition_three(problem), lipschitz_loss(problem), no_decay(problem)]


def solve(problem: Problem, times: Array) -> Solution:
    """Eq. 23 with its error bound; the loss is that of the predicted weights."""
    weights = early_weights(problem, times)
    loss = [problem.data_loss(_at(weights, k)) for k in range(len(times))]
    return Solution(
        loss=np.array(loss),
        weights=weights,
        error_bound=error_bound(problem, times),
        loss_error=loss_error(problem, times) + ROUNDING * first_loss(problem),
    )


def _at(weights: tuple[Array, ...], k: int) -> Weights:
    return tuple(layer[k] for layer in weights)


EARLY_PHASE = Theorem(
    name="early_phase",
    title="small weights on symmetric data grow exponentially along one direction",
    source="Zhang, Saxe & Latham, arXiv:2406.12615, Lemma 12, Theorem 13, Eq. 23 (corrected)",
    strength=45,
    hypotheses=hypotheses,
    breaks={
        **CONDITION_THREE_BREAKS,
        "even_inputs": "neurons grow along the mean of their own half-space of samples (Lemma 11 fails)",
        "odd_target": "neurons grow along the mean of their own half-space of samples (Lemma 11 fails)",
        "lipschitz_loss": "the error is not bounded by the size of the weights",
        "no_decay": "growth and bound have other rates",
        WITHIN_WINDOW: "the weights are too large for the linearised flow; two_neurons goes on from there",
    },
    solve=solve,
    window=validity_window,
    essential=("two_layers", "lipschitz_loss"),
    basis="perturbation theory",
)
