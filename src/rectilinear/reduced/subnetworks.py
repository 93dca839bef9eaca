"""A network as a few linear sub-networks: each acts on the samples of its own active set.

After the early phase the small neurons of one sign and one active set A point in one direction and act as one neuron. Its
contribution to the output is sign e^eta q . x on A (alpha times that elsewhere), with

    eta' = 2 q . g,   q' = g - q (q . g),   g = sign <slope pull x>,   |q| = 1,

slope 1 on A and alpha elsewhere, pull = -dl/df. Where no two sub-networks share a sample and q is an eigendirection, the
margins have closed forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from ..arrays import Array, Mask
from ..dataset import Dataset
from ..problem import Problem
from .integrate import integrate, integrate_until
from .small_network import SmallNetwork
from .small_neurons import Settled, settle_all

CONVERGED = 1e-12  # pulls below this share of the largest label end the flow to t = infinity
LONGEST = 1e6  # of the flow to t = infinity, in units of the slowest early growth time


@dataclass(frozen=True, eq=False)
class SubNetworks:
    """k sub-networks at the end of the early phase, extrapolated back to t = 0.

    `signs` (k,), `active` (k, n), `directions` (k, d) unit rows, early growth `rates` (k,), `log_sizes` eta(0) (k,), and
    `shares` (h, k) of the full network's neurons in them, with orthonormal columns.
    """

    signs: Array
    active: Mask
    directions: Array
    rates: Array
    log_sizes: Array
    shares: Array

    def __len__(self) -> int:
        return len(self.signs)

    def select(self, kept: list[int]) -> SubNetworks:
        """Some of them only."""
        return SubNetworks(
            self.signs[kept],
            self.active[kept],
            self.directions[kept],
            self.rates[kept],
            self.log_sizes[kept],
            self.shares[:, kept],
        )


def early_subnetworks(problem: Problem) -> SubNetworks:
    """The sub-networks that small starting weights form: neurons follow the residuals of f = 0 until they settle."""
    data = problem.data
    residuals = problem.loss.pull(data.y, np.zeros(data.samples))
    return merged(settle_all(problem.weights[0], problem.weights[1][0], data, residuals, problem.network.alpha), data)


def merged(fates: Sequence[Settled | None], data: Dataset) -> SubNetworks:
    """Neurons that settle with the same sign on the same sides of all lines act as one: its size squared is the sum."""
    groups: dict[tuple[float, bytes], list[int]] = {}
    for h, fate in enumerate(fates):
        if fate is not None:
            groups.setdefault((fate.sign, fate.sides.tobytes()), []).append(h)
    shares, log_sizes, leaders = np.zeros((len(fates), len(groups))), np.empty(len(groups)), []
    for k, neurons in enumerate(groups.values()):
        members = [fate for h in neurons if (fate := fates[h]) is not None]
        sizes = np.array([fate.log_size for fate in members])
        log_sizes[k] = scipy.special.logsumexp(2 * sizes)
        shares[neurons, k] = np.exp(sizes - log_sizes[k] / 2)
        leaders.append(members[0])
    sides = np.array([fate.sides[data.lines.index] for fate in leaders]).reshape(-1, data.samples)
    return SubNetworks(
        signs=np.array([fate.sign for fate in leaders]),
        active=data.lines.lengths * sides > 0,
        directions=np.array([fate.direction for fate in leaders]).reshape(-1, data.inputs),
        rates=np.array([fate.rate for fate in leaders]),
        log_sizes=log_sizes,
        shares=shares,
    )


def flow_of(subnetworks: SubNetworks, problem: Problem, times: Array) -> SmallNetwork:
    """Integrate the sub-networks together; at t = infinity weights are nan for the logistic loss, where they diverge."""
    x, y, loss = problem.data.x, problem.data.y, problem.loss
    count, inputs = subnetworks.directions.shape
    signs = subnetworks.signs
    slopes = np.where(subnetworks.active, 1.0, problem.network.alpha)

    def pull(state: Array) -> Array:
        projections = state[count:].reshape(count, inputs) @ x.T
        return loss.pull(y, (signs * np.exp(state[:count])) @ (projections * slopes))

    def field(_: float, state: Array) -> Array:
        directions = state[count:].reshape(count, inputs)
        g = signs[:, None] * ((slopes * pull(state)) @ x) / len(y)
        along = np.sum(directions * g, axis=1)
        return np.concatenate([2 * along, (g - directions * along[:, None]).ravel()])

    def unfitted(state: Array) -> float:
        return float(np.abs(pull(state)[covered]).max(initial=0.0) - CONVERGED * np.abs(y).max())

    covered = subnetworks.active.any(axis=0)
    state = np.concatenate([subnetworks.log_sizes, subnetworks.directions.ravel()])
    states = np.repeat(state[None, :], len(times), axis=0)
    finite = np.isfinite(times)
    if finite.any():
        states[finite] = integrate(field, state, times[finite])
    if not finite.all():
        longest = LONGEST / subnetworks.rates.min(initial=np.inf)
        states[-1] = integrate_until(field, state, unfitted, longest)[1] if loss.name == "square" else np.nan
    directions = states[:, count:].reshape(len(times), count, inputs)
    directions /= np.linalg.norm(directions, axis=2, keepdims=True)
    return small_network(subnetworks, np.exp(states[:, :count]), directions)


def small_network(subnetworks: SubNetworks, sizes: Array, directions: Array) -> SmallNetwork:
    """One balanced neuron per sub-network: sizes e^eta (t, k), directions q (t, k, d)."""
    norms = np.sqrt(sizes)
    return SmallNetwork(norms[:, :, None] * directions, (subnetworks.signs * norms)[:, None, :], subnetworks.shares)


def predicted_loss(subnetworks: SubNetworks, problem: Problem, times: Array, outputs: Array) -> Array:
    """<l(y, f)> (t,) for outputs (t, n); at t = infinity samples seen by a sub-network are fitted, others keep l(y, 0)."""
    y, loss = problem.data.y, problem.loss
    finite = np.isfinite(times)
    values = np.empty_like(outputs)
    values[finite] = loss.value(y, outputs[finite])
    values[~finite] = np.where(subnetworks.active.any(axis=0), 0.0, loss.value(y, np.zeros_like(y)))
    return np.asarray(values.mean(axis=1))
