"""Orthogonally separable data: two linear networks, each ending at its class's maximum margin (Phuong & Lampert, ICLR 2021).

Let x_i . x_j > 0 within a class and <= 0 across. The drive of a neuron with a_h > 0 raises its activation on every positive
sample and lowers it on every negative one, and conversely for a_h < 0. So a neuron that is active on one sample of the class
of its sign is soon active on all of that class and on no other: the network is one linear network per class, and neurons
that reach no sample of their class die. With w+ (w-) the shortest w such that w . x_i >= 1 on the positive (negative) class,

    W/|W|_F -> u w+^T + z w-^T,   a/|a| -> |w+| u - |w-| z,   u, z >= 0,   u_h z_h = 0,
    |u|^2 = 1/(|w+| (|w+| + |w-|)),   |z|^2 = 1/(|w-| (|w+| + |w-|)).

The last line is missing in the paper: both classes reach the same margin, ln t. How |u|^2 is shared depends on the start. The
angle falls like (ln t)^(-1/2), norms and margins like 1/ln t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array
from ..conditions import Finding, measured_finding, no_decay, orthogonally_separable, small_start, true_or_not, two_layers
from ..dataset import Dataset
from ..errors import InputError
from ..long_trajectory import LongTrajectory
from ..network import Weights
from ..problem import Problem
from .max_margin import MaxMargin, max_margin
from .small_neurons import settle_all
from .subnetworks import early_subnetworks, flow_of
from .theorem import Solution, Theorem
from .xor import relu

ON_KINK = 1e-10  # cosines below it are rounding: a neuron that died on a kink is not active there


@dataclass(frozen=True)
class LimitDistance:
    """How far weights are from the limit: `first` |W/|W|_F - u w+^T - z w-^T|_F with u and z read off a/|a|; `norms` the larger
    of the relative errors of |u| and |z|; `angle` the largest 1 - cos of a surviving neuron to the direction of its class."""

    first: float
    norms: float
    angle: float


@dataclass(frozen=True, eq=False)
class ClassLimit:
    """The limit of directions on orthogonally separable data, from the maximum margins of either class."""

    positive: MaxMargin
    negative: MaxMargin

    @property
    def lengths(self) -> tuple[float, float]:
        """|w+| and |w-|."""
        return 1.0 / self.positive.margin, 1.0 / self.negative.margin

    @property
    def shares(self) -> tuple[float, float]:
        """|u| and |z|."""
        plus, minus = self.lengths
        return 1.0 / math.sqrt(plus * (plus + minus)), 1.0 / math.sqrt(minus * (plus + minus))

    @property
    def normalised_margin(self) -> float:
        """The limit of min_i y_i f(x_i) / |theta|^2, theta both layers: 1/(2 (|w+| + |w-|))."""
        return 0.5 / sum(self.lengths)

    def directions(self, signs: Array) -> Array:
        """The unit direction of each neuron's class, (h, d), for signs (h,) of a_h."""
        return np.where(signs[:, None] > 0, self.positive.direction, self.negative.direction)

    def distance(self, weights: Weights, data: Dataset) -> LimitDistance:
        """How far two-layer weights are from the limit; neurons that are active on no sample count as dead."""
        first, second = weights[0], weights[1][0]
        outgoing = second / np.linalg.norm(second)
        plus, minus = self.lengths
        u, z = np.maximum(outgoing, 0.0) / plus, np.maximum(-outgoing, 0.0) / minus
        goal = np.outer(u, self.positive.w) + np.outer(z, self.negative.w)
        norms = [np.linalg.norm(part) / share - 1.0 for part, share in zip((u, z), self.shares, strict=True)]
        sizes = np.outer(np.linalg.norm(first, axis=1), np.linalg.norm(data.x, axis=1))
        alive = (first @ data.x.T > ON_KINK * sizes).any(axis=1)
        cosines = np.sum(first[alive] * self.directions(second[alive]), axis=1) / np.linalg.norm(first[alive], axis=1)
        return LimitDistance(
            first=float(np.linalg.norm(first / np.linalg.norm(first) - goal)),
            norms=float(np.abs(norms).max()),
            angle=float(np.max(1.0 - cosines, initial=0.0)),
        )


def class_limit(data: Dataset) -> ClassLimit:
    """The maximum margins w+ and w- of either class by itself, and the limit of directions they give.

    >>> limit = class_limit(Dataset([[2.0, 0.0], [0.0, -1.0]], [1.0, -1.0]))
    >>> limit.positive.w.tolist(), limit.negative.w.tolist()
    ([0.5, 0.0], [0.0, -1.0])
    >>> [round(share, 12) for share in limit.shares]
    [1.154700538379, 0.816496580928]
    """
    if (missing := _missing_class(data)) is not None:
        raise InputError(f"the limit needs samples of both classes, found none with label {missing}; add some.")
    return ClassLimit(max_margin(data.x[data.y > 0]), max_margin(data.x[data.y < 0]))


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

    >>> from rectilinear import Network, datasets, simulate
    >>> data, net = datasets.orthogonally_separable(samples=6, inputs=3), Network(3, (10,))
    >>> run = simulate(Problem(data, net, net.init(1e-3, seed=0), loss="logistic"), log10_times=[1e3, 1e4, 1e5])
    >>> {name: round(power, 1) for name, power in approach(run).exponents.items()}
    {'angle': -0.5, 'first': -0.5, 'norms': -1.0, 'margin': -1.0}
    """
    data = run.problem.data
    limit = class_limit(data)
    distances = [limit.distance(run.weights_at(k), data) for k in range(len(run))]
    return Approach(
        log_t=run.log10_times * math.log(10.0),
        angle=np.sqrt(2.0 * np.array([distance.angle for distance in distances])),
        first=np.array([distance.first for distance in distances]),
        norms=np.array([distance.norms for distance in distances]),
        margin=1.0 - run.normalised_margins.min(axis=1) / limit.normalised_margin,
    )


def _missing_class(data: Dataset) -> str | None:
    if not np.isin(data.y, (-1.0, 1.0)).all():
        strange = data.y[~np.isin(data.y, (-1.0, 1.0))][0]
        raise InputError(f"labels must be -1 or +1, found {strange:g}; recode them.")
    return next((f"{label:+.0f}" for label in (1.0, -1.0) if label not in data.y), None)


def neuron_classes(problem: Problem) -> Array:
    """The class that each neuron joins from small weights, (h,): +1, -1, or 0 if it dies.

    Neurons follow the pulls at f = 0, exactly and one by one, until they have settled.
    """
    data = problem.data
    residuals = problem.loss.pull(data.y, np.zeros(data.samples))
    fates = settle_all(problem.weights[0], problem.weights[1][0], data, residuals, problem.network.alpha)
    return np.array([0.0 if fate is None else fate.sign for fate in fates])


def certain_classes(problem: Problem) -> Array:
    """The class that is certain from the start alone, (h,), whatever the size of the weights; nan where it is not.

    sign(a_h) never changes if |a_h| >= |w_h|. Then a neuron that is active on a sample of that class stays so and joins it,
    and one that is active on no sample at all is dead (0). Needs orthogonally separable data and a ReLU network.
    """
    first, second = problem.weights[0], problem.weights[1][0]
    active = first @ problem.x.T > 0
    on_own_class = (active & (np.sign(second)[:, None] == problem.y)).any(axis=1)
    fixed_sign = np.abs(second) >= np.linalg.norm(first, axis=1)
    known = np.where(fixed_sign & on_own_class, np.sign(second), np.nan)
    return np.where(active.any(axis=1), known, 0.0)


def both_classes(data: Dataset) -> Finding:
    """Samples of both classes; `measured` is the size of the smaller class."""
    smaller = int(min(np.sum(data.y > 0), np.sum(data.y < 0)))
    sentence = f"the smaller class has {smaller} sample(s); at least one is required."
    return measured_finding("both_classes", smaller, 1.0, sentence, direction="at_least")


def neurons_for_both(problem: Problem) -> Finding:
    """A neuron that joins each class; `measured` is how many join the class with fewer."""
    classes = neuron_classes(problem)
    fewer = int(min(np.sum(classes > 0), np.sum(classes < 0)))
    sentence = f"{fewer} neuron(s) join the class with fewer of them; at least one is required."
    return measured_finding("neurons_for_both", fewer, 1.0, sentence, direction="at_least")


def falling_loss(problem: Problem) -> Finding:
    """The logistic or the exponential loss: it falls for ever on separable data."""
    sentence = f"the logistic or the exponential loss is required; the loss is {problem.loss}."
    return true_or_not("falling_loss", problem.loss.is_classification, sentence)


def hypotheses(problem: Problem) -> list[Finding]:
    findings = [
        two_layers(problem),
        relu(problem),
        falling_loss(problem),
        no_decay(problem),
        small_start(problem),
        both_classes(problem.data),
        orthogonally_separable(problem.data),
    ]
    if all(finding.holds for finding in findings):
        findings.append(neurons_for_both(problem))
    return findings


def solve(problem: Problem, times: Array) -> Solution:
    """Two linear networks at finite times; at infinity the loss is zero and the margins certify the limit."""
    data = problem.data
    finite = times[np.isfinite(times)]
    groups = early_subnetworks(problem)
    small = flow_of(groups, problem, finite)
    outputs = (np.maximum(small.first @ data.x.T, 0.0) * np.swapaxes(small.second, 1, 2)).sum(axis=1)
    loss = problem.loss.value(data.y, outputs).mean(axis=1)
    limit = class_limit(data)
    beyond = ((0, times.size - finite.size), (0, 0), (0, 0))  # weights diverge
    return Solution(
        loss=np.concatenate([loss, np.zeros(times.size - finite.size)]),
        small=replace(
            small,
            first=np.pad(small.first, beyond, constant_values=np.nan),
            second=np.pad(small.second, beyond, constant_values=np.nan),
        ),
        statistics={
            "sub-networks": len(groups),
            "certificate": max(limit.positive.kkt_residual, limit.negative.kkt_residual),
            "normalised margin at infinity": limit.normalised_margin,
        },
    )


CLASS_MAX_MARGIN = Theorem(
    name="class_max_margin",
    title="on orthogonally separable data the network is one linear network per class, each ending at its maximum margin",
    source="Phuong & Lampert 2021",
    strength=60,
    hypotheses=hypotheses,
    breaks={
        "two_layers": "neurons have no single outgoing sign that decides their class",
        "relu": "neurons of one class also see the other, and their limit is not its maximum margin",
        "falling_loss": "training ends at finite weights, not at a direction",
        "no_decay": "weights stay finite, and so does the margin",
        "small_start": "the two networks start with more than one direction each",
        "both_classes": "there is no second network",
        "orthogonally_separable": "learning one class moves the activations of the other, and neurons may leave their class",
        "neurons_for_both": "a class without a neuron is never learned",
    },
    solve=solve,
    essential=("two_layers", "relu", "falling_loss", "both_classes"),
)
