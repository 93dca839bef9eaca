"""Small random weights on symmetric data: the network trains as one of width two, whatever its width.

During the early phase every neuron h grows into r1_h (bb, 1), bb = beta/|beta| (Theorem 13 of Zhang et al.), and
proportional neurons act as one for all time. So the neurons with r1_h > 0 merge into one, near |r1+| (bb, 1), those with
r1_h < 0 into one near -|r1-| (bb, 1). The two need not be equal: their difference is the even part that Theorem 5 leaves out.

Where they start: with the unit shares s_h = |r1_h| / |r1+|, the sum of s_h (w_h, a_h) over a group is the part of its neurons
that acts on the function to first order; what is left out of each neuron has no such sum, and does not grow. So the error
of the function is of second order in the starting weights, however wide the network.

With A = a+ w+, B = a- w-, c = (1 + alpha)/2, d = (1 - alpha)/2 the function is f = c (A + B).x + d (|A.x| - |B.x|). For
the square loss sums over samples collapse under Condition 3 to Sigma and beta, up to the few samples in the wedge S where
A.x and B.x differ in sign:

    g+ = c beta - c^2 Sigma (A + B) - d^2 Sigma (A - B) - 2 d^2 <1_S x (x.B)>,   and for g- with A and B swapped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..conditions import Finding, both_signs_grow, even_inputs, odd_target, small_start, two_layers
from ..problem import Problem
from ..reduced.aligned_flow import MAX_EXPONENT, growing_part
from ..reduced.integrate import TOLERANCE, integrate
from ..reduced.linear_loss import linear_loss
from ..reduced.small_network import SmallNetwork
from ..reduced.two_neuron_kernel import SortedSamples, SquareLoss, square_velocity, wedge_means
from .limit import linear_limit
from .stated_error import second_order_error
from .theorem import WITHIN_WINDOW, Solution, Theorem

ABSENT = -400.0  # ln of the size of a neuron that does not exist: its square underflows to zero
NEGLIGIBLE_WEDGE = 5e-9  # share in the loss below which the field may do without the wedge; the error is about that share
NEGLIGIBLE_PASSING = 2e-8  # the same for one sample while the wedge passes over it; the error is at most that share
KINKED_TOLERANCE = 1e-11  # with the wedge the field jumps as samples enter it, and each jump costs steps
ROUGH, FEW_NUMBERS = (
    1e-6,
    64_000,
)  # tolerance, and samples x inputs, for which sums over samples take less time than compiling does
# when to look at the wedge, in units of 1/(growth rate) around the time the loss falls: it opens then, and closes slowly
PROBES = np.concatenate([np.linspace(-4.0, 12.0, 25), np.geomspace(14.0, 1e4, 15)])


def near_samples(problem: Problem, direction: Array) -> SortedSamples:
    """One sample of each mirror pair, sorted by how close it lies to the plane across bb: only close ones can switch."""
    data = problem.data
    pairs, alone = data.mirror_pairs
    kept, weight = (np.arange(data.samples), 1.0) if alone.size else (pairs[:, 0], 2.0)
    x, cosines = data.x[kept], np.abs(data.units[kept] @ direction)
    order = np.argsort(cosines)
    return SortedSamples(x[order], cosines[order], weight / data.samples, direction)


def _wedge(near: SortedSamples, states: Array) -> Array:
    """<1_S (A.x)(B.x)> <= 0 for each state, (t,): 4 d^2 times this is the share of the wedge in <f_even^2>."""
    return np.asarray(wedge_means(*products(states), near))


def _passing(near: SortedSamples, states: Array) -> Array:
    """The share in <f_even^2>, up to 4 d^2, of one sample while the wedge passes over it, at most, for each state, (t,).

    A sample in the wedge is nearer to both planes than the angle between them: |A.x||B.x| <= |A||B||x|^2 sin^2(A, B).
    """
    a, b = products(states)
    lagrange = np.sum(a * a, axis=1) * np.sum(b * b, axis=1) - np.sum(a * b, axis=1) ** 2  # |A|^2 |B|^2 sin^2
    sizes = np.sqrt(np.sum(a * a, axis=1) * np.sum(b * b, axis=1))
    longest = near.weight * float(np.max(np.sum(near.x**2, axis=1), initial=0.0))
    return np.asarray(longest * np.maximum(lagrange, 0.0) / np.where(sizes > 0, sizes, 1.0))


@dataclass(frozen=True, eq=False)
class TwoNeurons:
    """The run of the two neurons: `states` (t, 2, d + 1) as (w, a), the loss (t,), the mean square <f_even^2> (t,)."""

    states: Array
    loss: Array
    even_square: Array

    @property
    def products(self) -> tuple[Array, Array]:
        """A = a+ w+ and B = a- w-, (t, d) each."""
        return products(self.states)


def products(states: Array) -> tuple[Array, Array]:
    return states[:, 0, :-1] * states[:, 0, -1:], states[:, 1, :-1] * states[:, 1, -1:]


def two_neuron_run(problem: Problem, times: Array, tolerance: float = TOLERANCE) -> TwoNeurons:
    """The two-neuron network that small random weights grow into, followed to finite times."""
    r1, direction = growing_part(problem)
    start = _start(problem, r1, direction)
    little = tolerance >= ROUGH and problem.x.size <= FEW_NUMBERS
    if problem.loss.name == "square" and not little:
        return _square_run(problem, direction, start, times, tolerance)
    states = _states(integrate(_sampled_velocity, start, times, (problem,), tolerance))
    loss, even = [], []
    for first, second in ((state[:, :-1], state[None, :, -1]) for state in states):
        loss.append(problem.data_loss((first, second)))
        even.append(np.mean(problem.network.even_part((first, second), problem.data.x) ** 2))
    return TwoNeurons(states, np.array(loss), np.array(even))


def _start(problem: Problem, r1: Array, direction: Array) -> Array:
    """(w, a)/size and ln size of the positive, then of the negative neuron: what their groups act as to first order."""
    neurons = np.column_stack([problem.weights[0], problem.weights[1][0]])
    start = []
    for sign, shares in zip((1.0, -1.0), group_shares(r1).T, strict=True):
        merged = shares @ neurons
        size = float(np.linalg.norm(merged))
        unit = merged / size if size else sign * np.append(direction, 1.0) / np.sqrt(2.0)
        start.append(np.append(unit, np.log(size) if size else ABSENT))
    return np.concatenate(start)


def group_shares(r1: Array) -> Array:
    """|r1_h| / |r1+-| of every neuron in the group of its sign, (h, 2), zero in the other."""
    shares = [np.maximum(sign * r1, 0.0) / (half or 1.0) for sign, half in zip((1.0, -1.0), halves(r1), strict=True)]
    return np.stack(shares, axis=1)


def halves(r1: Array) -> tuple[float, float]:
    """|r1+| and |r1-|."""
    return float(np.linalg.norm(r1[r1 > 0])), float(np.linalg.norm(r1[r1 < 0]))


def _states(path: Array) -> Array:
    neurons = path.reshape(len(path), 2, -1)
    return np.asarray(neurons[:, :, :-1] * np.exp(neurons[:, :, -1:]))


def _square_run(problem: Problem, direction: Array, start: Array, times: Array, tolerance: float) -> TwoNeurons:
    """Without the wedge first; again with it where its share in the loss shows that it matters."""
    data, c = problem.data, problem.network.mean_slope
    d = 1.0 - c
    near = near_samples(problem, direction)

    def states_at(instants: Array, samples: SortedSamples, tolerance: float) -> Array:
        constants = SquareLoss(data.correlation, data.covariance, c, problem.l2), samples
        return _states(integrate(square_velocity, start, instants, constants, tolerance))

    probes = _probe_times(problem, start, float(times[-1]))
    instants = np.union1d(times, probes)
    states = states_at(instants, near._replace(x=near.x[:0], closeness=near.closeness[:0]), tolerance)
    probed = states[np.searchsorted(instants, probes)]
    wedge, passing = (np.abs(share).max(initial=0.0) for share in (_wedge(near, probed), _passing(near, probed)))
    if 2.0 * d * d * wedge > NEGLIGIBLE_WEDGE or 2.0 * d * d * passing > NEGLIGIBLE_PASSING:
        states = states_at(times, near, max(tolerance, KINKED_TOLERANCE))
    else:
        states = states[np.searchsorted(instants, times)]
    a, b = products(states)
    apart = np.sum(((a - b) @ data.covariance) * (a - b), axis=1)
    even_square = d * d * np.maximum(apart + 4.0 * _wedge(near, states), 0.0)
    return TwoNeurons(states, linear_loss(problem, c * (a + b)) + even_square / 2, even_square)


def _probe_times(problem: Problem, start: Array, last: float) -> Array:
    """Times up to `last` at which the wedge may be open: around the time the linear map reaches its final size."""
    c, data = problem.network.mean_slope, problem.data
    rate = c * float(np.linalg.norm(data.correlation)) - problem.l2
    final = float(np.linalg.norm(np.linalg.lstsq(data.covariance, data.correlation, rcond=None)[0]))
    if rate <= 0.0:
        return np.empty(0)  # the weights die out instead of growing
    takeoff = (np.log(final / c) / 2.0 - start.reshape(2, -1)[:, -1].max()) / rate
    probes = takeoff + PROBES / rate
    return np.asarray(probes[(probes > 0) & (probes < last)])


def _sampled_velocity(_: float, state: Array, problem: Problem) -> Array:
    """The velocity of the same state for any loss, by sums over all samples."""
    network, y = problem.network, problem.data.y
    neurons = state.reshape(2, -1)
    top, bottom = neurons[:, :-2], neurons[:, -2]
    hidden = problem.x @ top.T
    outputs = network.activation(hidden) @ (np.exp(np.minimum(2.0 * neurons[:, -1], MAX_EXPONENT)) * bottom)
    fields = (network.slope(hidden) * problem.loss.pull(y, outputs)[:, None]).T @ problem.x / len(y)
    along = np.sum(top * fields, axis=1)
    growth = 2.0 * bottom * along
    change = np.empty_like(neurons)
    change[:, :-2] = bottom[:, None] * fields - growth[:, None] * top
    change[:, -2] = along - growth * bottom
    change[:, -1] = growth - problem.l2
    return change.ravel()


def two_neuron_network(states: Array, r1: Array) -> SmallNetwork:
    """The two neurons as a network; neuron h of the full one is its share |r1_h|/|r1+-| of the neuron it belongs to."""
    return SmallNetwork(np.ascontiguousarray(states[:, :, :-1]), states[:, None, :, -1], group_shares(r1))


def hypotheses(problem: Problem) -> list[Finding]:
    return [two_layers(problem), even_inputs(problem.data), odd_target(problem.data), small_start(problem)]


def _window(problem: Problem) -> tuple[float, float]:
    """All times; where one sign has no growing neuron, until what stands for it would no longer be negligible."""
    if both_signs_grow(problem).holds:
        return 0.0, np.inf
    rate = problem.network.mean_slope * float(np.linalg.norm(problem.data.correlation))
    return 0.0, -ABSENT / (2.0 * rate) if rate else float(np.finfo(np.float64).max)


def solve(problem: Problem, times: Array, tolerance: float = TOLERANCE) -> Solution:
    """The two-neuron run at finite times; at infinity both neurons carry half of the linear limit each.

    `tolerance` is the local error of the integration.
    """
    r1, direction = growing_part(problem)
    finite = times[np.isfinite(times)]
    states, loss = np.empty((0, 2, len(direction) + 1)), np.empty(0)
    if finite.size:
        run = two_neuron_run(problem, finite, tolerance)
        states, loss = run.states, run.loss
    limit = None
    if finite.size < times.size:
        limit = linear_limit(problem)
        states, loss = np.concatenate([states, _limit_state(problem, limit.w)]), np.append(loss, limit.loss)
    return Solution(
        loss=loss,
        linear_map=problem.network.mean_slope * np.sum(states[:, :, :-1] * states[:, :, -1:], axis=1),
        direction=None if limit is None else limit.direction,
        loss_error=second_order_error(problem, loss, _slowness(problem)),
        small=two_neuron_network(states, r1),
    )


def _slowness(problem: Problem) -> float:
    """k >= 1: how much weaker the pull <x pull(y, 0)> on a linear map is than the pulls of all samples, not knowing each other."""
    pulls = problem.loss.pull(problem.y, np.zeros_like(problem.y))
    pull = float(np.linalg.norm(pulls @ problem.data.x)) / len(pulls)
    most = float(np.sqrt(np.mean(pulls**2) * np.mean(np.sum(problem.data.x**2, axis=1))))
    return most / pull if pull else np.inf


def _limit_state(problem: Problem, w: Array) -> Array:
    """(w, a) of both neurons when each gives half of the linear map w: balanced, so a^2 = |w|/(2c)."""
    size = np.linalg.norm(w) / (2.0 * problem.network.mean_slope)
    a = np.sqrt(size)
    row = np.append(w / (2.0 * problem.network.mean_slope * a), a) if a else np.zeros(len(w) + 1)
    return np.asarray([[row, -row]])


TWO_NEURONS = Theorem(
    name="two_neurons",
    title="small random weights on symmetric data train as a network of width two",
    source="Zhang, Saxe & Latham, arXiv:2406.12615, Theorem 13 with the merging of proportional neurons",
    strength=40,
    hypotheses=hypotheses,
    breaks={
        "two_layers": "the early phase is not a linear flow of independent neurons",
        "even_inputs": "neurons grow along the mean of their own half-space of samples, in more than two directions",
        "odd_target": "neurons grow along the mean of their own half-space of samples, in more than two directions",
        "small_start": "neurons are not yet aligned when the loss begins to fall",
        WITHIN_WINDOW: "neurons of one sign only are left, and half of the samples is never learned",
    },
    solve=solve,
    window=_window,
    essential=("two_layers",),
)
