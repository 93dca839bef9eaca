"""Symmetric data: a two-layer network is its linear twin in slower time (Condition 3, Theorem 5 of Zhang et al.; v3: 8).

From aligned weights (Assumption 4) and with c = (alpha + 1)/2,

    W(t) = c^{-1/2} W_lin(c t),   f(x; t) = f_lin(x; c t),

where the linear network starts from sqrt(c) W(0) and, under weight decay l2, decays with l2/c. It holds for every loss whose
pull changes sign with label and output (square, logistic, exponential), for the flow and, step by step, for gradient descent
with rate eta against c eta, on all data or on mirrored mini-batches.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..conditions import Finding, even_inputs, odd_target, rank_one_start, two_layers
from ..network import Network
from ..problem import Problem
from ..reduced.aligned_flow import AlignedStart, aligned_flow, aligned_start, grown_start
from ..reduced.linear_loss import linear_loss
from ..reduced.small_network import SmallNetwork
from .limit import Limit, limit_state, linear_limit
from .stated_error import computed_error
from .theorem import Solution, Theorem
from .two_neurons import two_neuron_run


def linear_twin(problem: Problem) -> Problem:
    """The linear network whose run at time c t is this one's at time t, weights times sqrt(c) (Theorem 5).

    For gradient descent: the twin with learning rate c eta takes the same steps as the network with eta.

    >>> from rectilinear import Dataset
    >>> net = Network(inputs=1, widths=(2,), alpha=0.0)
    >>> data = Dataset([[1.0]], [2.0]).symmetrised()
    >>> linear_twin(Problem(data, net, net.init(0.1, seed=0, start="rank_one"), l2=0.1)).l2
    0.2
    """
    network, c = problem.network, problem.network.mean_slope
    linear = Network(network.inputs, network.widths, 1.0, network.bias, network.trainable)
    weights = tuple(np.sqrt(c) * layer for layer in problem.weights)
    return Problem(problem.data, linear, weights, problem.loss, problem.l2 / c)


def start_of(problem: Problem) -> AlignedStart:
    """The aligned start: exact where the weights are aligned, else the one that small random weights grow into."""
    return aligned_start(problem) if rank_one_start(problem).holds else grown_start(problem)


def aligned_solution(
    problem: Problem, start: AlignedStart, states: Array, limit: Limit | None, neglected: Array | None
) -> Solution:
    """The solution of a run z(t) of the aligned flow at finite times, `states` (t, d + 1), with its limit if asked for."""
    maps = states[:, :-1] * states[:, -1:]
    loss = linear_loss(problem, maps)
    if limit is not None:
        states = np.concatenate([states, limit_state(problem, start, limit.w)[None]])
        maps, loss = np.concatenate([maps, limit.w[None]]), np.append(loss, limit.loss)
        neglected = None if neglected is None else np.append(neglected, 0.0)
    return Solution(
        loss=loss,
        linear_map=maps,
        direction=None if limit is None else limit.direction,
        neglected=neglected,
        loss_error=computed_error(problem, loss),
        small=_two_halves(states / np.sqrt(problem.network.mean_slope), start.v),
    )


def _two_halves(states: Array, v: Array) -> SmallNetwork:
    """The network W_1 = v z_p^T, W_2 = z_q v^T as two neurons: its positive and its negative half."""
    halves = np.stack([np.maximum(v, 0.0), np.maximum(-v, 0.0)], axis=1)
    sizes = np.linalg.norm(halves, axis=0)
    signed = sizes * np.array([1.0, -1.0])
    first, second = states[:, None, :-1] * signed[:, None], states[:, None, -1:] * signed
    return SmallNetwork(first, second, halves / np.where(sizes, sizes, 1.0))


def neglected_even_part(problem: Problem, finite: Array) -> Array | None:
    """rms over the data of the even part that the aligned theory leaves out, (t,): none for aligned weights.

    For other starts it is that of the two-neuron network which small random weights grow into.
    """
    if rank_one_start(problem).holds:
        return None
    return np.sqrt(two_neuron_run(problem, finite).even_square) if finite.size else np.empty(0)


def condition_three(problem: Problem) -> list[Finding]:
    """Two trained layers without bias, even inputs, odd target."""
    return [two_layers(problem), even_inputs(problem.data), odd_target(problem.data)]


CONDITION_THREE_BREAKS = {
    "two_layers": "the network is not linear plus even (Theorem 1), and its halves need not agree",
    "even_inputs": "half-space averages differ from full ones (Lemma 10), so positive and negative neurons diverge",
    "odd_target": "half-space averages differ from full ones (Lemma 10), so positive and negative neurons diverge",
}


def hypotheses(problem: Problem) -> list[Finding]:
    return [*condition_three(problem), rank_one_start(problem)]


def solve(problem: Problem, times: Array) -> Solution:
    """The aligned flow at finite times, Corollary 6 at infinity."""
    finite = times[np.isfinite(times)]
    start = start_of(problem)
    states = aligned_flow(problem, start, finite) if finite.size else np.empty((0, len(start.z)))
    limit = linear_limit(problem, start) if finite.size < times.size else None
    return aligned_solution(problem, start, states, limit, neglected_even_part(problem, finite))


SYMMETRIC_DATA = Theorem(
    name="symmetric_data",
    title="on symmetric data an aligned two-layer network is a linear network in slower time",
    source="Zhang, Saxe & Latham, arXiv:2406.12615, Theorem 5 (v3: Theorem 8), Eqs. 4-5",
    strength=50,
    hypotheses=hypotheses,
    breaks={
        **CONDITION_THREE_BREAKS,
        "rank_one_start": "the function has an even part; from small random weights it follows the two_neurons theorem",
    },
    solve=solve,
    essential=("two_layers",),
)
