"""How far a run on orthogonally separable data is from the limit of Phuong & Lampert (ICLR 2021), and how it comes there."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..dataset import Dataset
from ..long_trajectory import LongTrajectory
from ..network import Weights
from ..reduced.class_limit import ClassLimit, class_limit

ON_KINK = 1e-10  # cosines below it are rounding: a neuron that died on a kink is not active there


@dataclass(frozen=True)
class LimitDistance:
    """How far weights are from the limit: `first` |W/|W|_F - u w+^T - z w-^T|_F with u and z read off a/|a|; `norms` the larger
    of the relative errors of |u| and |z|; `angle` the largest 1 - cos of a surviving neuron to the direction of its class."""

    first: float
    norms: float
    angle: float


def limit_distance(weights: Weights, data: Dataset, limit: ClassLimit) -> LimitDistance:
    """How far two-layer weights are from the limit; neurons that are active on no sample count as dead."""
    first, second = weights[0], weights[1][0]
    outgoing = second / np.linalg.norm(second)
    plus, minus = limit.lengths
    u, z = np.maximum(outgoing, 0.0) / plus, np.maximum(-outgoing, 0.0) / minus
    goal = np.outer(u, limit.positive.w) + np.outer(z, limit.negative.w)
    norms = [np.linalg.norm(part) / share - 1.0 for part, share in zip((u, z), limit.shares, strict=True)]
    sizes = np.outer(np.linalg.norm(first, axis=1), np.linalg.norm(data.x, axis=1))
    alive = (first @ data.x.T > ON_KINK * sizes).any(axis=1)
    cosines = np.sum(first[alive] * limit.directions(second[alive]), axis=1) / np.linalg.norm(first[alive], axis=1)
    return LimitDistance(
        first=float(np.linalg.norm(first / np.linalg.norm(first) - goal)),
        norms=float(np.abs(norms).max()),
        angle=float(np.max(1.0 - cosines, initial=0.0)),
    )


@dataclass(frozen=True, eq=False)
class Approach:
    """A run's distances to the limit against `log_t` = ln t, each (t,): `angle` of the worst surviving neuron in radians, `first`
    and `norms` as in `LimitDistance`, and by which share the smallest normalised `margin` falls short of its limit."""

    log_t: Array
    angle: Array
    first: Array
    norms: Array
    margin: Array

    @property
    def exponents(self) -> dict[str, float]:
        """The powers of ln t with which they fall, fitted; theory: -1/2 for angle and first, -1 for norms and margin."""
        names = ("angle", "first", "norms", "margin")
        return {name: float(np.polyfit(np.log(self.log_t), np.log(getattr(self, name)), 1)[0]) for name in names}


def approach(run: LongTrajectory) -> Approach:
    """How a run on orthogonally separable data comes to its limit.

    >>> from rectilinear import Network, Problem, datasets, simulate
    >>> data, net = datasets.orthogonally_separable(samples=6, inputs=3), Network(3, (10,))
    >>> run = simulate(Problem(data, net, net.init(1e-3, seed=0), loss="logistic"), log10_times=[1e3, 1e4, 1e5])
    >>> {name: round(power, 1) for name, power in approach(run).exponents.items()}
    {'angle': -0.5, 'first': -0.5, 'norms': -1.0, 'margin': -1.0}
    """
    data = run.problem.data
    limit = class_limit(data)
    distances = [limit_distance(run.weights_at(k), data, limit) for k in range(len(run))]
    return Approach(
        log_t=run.log10_times * math.log(10.0),
        angle=np.sqrt(2.0 * np.array([distance.angle for distance in distances])),
        first=np.array([distance.first for distance in distances]),
        norms=np.array([distance.norms for distance in distances]),
        margin=1.0 - run.normalised_margins.min(axis=1) / limit.normalised_margin,
    )
