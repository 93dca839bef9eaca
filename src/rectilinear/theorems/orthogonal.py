"""Orthogonal inputs: one linear sub-network per (sign, active set) (v3 of Zhang et al., section on orthogonal inputs).

With x_i . x_j = 0 a ReLU neuron sees each sample through a coordinate of its own: one that is silent at a sample stays so,
one whose sign opposes the label falls silent there and stays so. So the neurons of one sign fit the samples of that sign
only, and split by the set A of samples at which they stay active. The early growth rate of A is the norm of the pulls over
A, so from very small weights the full class wins and the network is two linear networks, one per class, with closed forms
where all samples of a class have the same length l: `class_amplitude` (square) and `class_margin` (logistic).

Of unequal samples the long ones are learned first and may overshoot their labels for a while. A neuron that fell silent there
lies on the kink and could then wake up: it may or may not, both solve the flow's equations. So could one whose outgoing weight
changed its sign after it fell silent. Here they stay silent; the `statistics` of a prediction tell the largest `overshoot`
f/y - 1, and its stated error counts in those that changed sign.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..conditions import Finding, growing_loss, no_decay, orthogonal_inputs, relu, small_start, two_layers
from ..problem import Problem
from ..reduced.one_margin import logistic_margin, square_margin
from ..reduced.subnetworks import SubNetworks, early_subnetworks, flow_of, predicted_loss
from .stated_error import first_loss, first_order_error
from .theorem import Solution, Theorem


def class_amplitude(times: ArrayLike, amplitude: float, length: float, labels: ArrayLike, samples: int) -> Array:
    """a(t) with f(x_i) = a(t) r . x_i on the samples of one class, r along sum y_i x_i; square loss.

    All samples of the class have the same `length` l; `labels` are theirs, `samples` is the number n of the whole data set.
    a' = 2 a (S - Lam a) with S = (l/n) |y| and Lam = l^2 / n, so that a grows from `amplitude` to S / Lam.

    >>> class_amplitude([0.0, np.inf], 0.1, length=2.0, labels=[3.0, 4.0], samples=8).round(12).tolist()
    [0.1, 2.5]
    """
    pull, curvature = length / samples * float(np.linalg.norm(labels)), length**2 / samples
    limit = pull / curvature
    return limit * square_margin(times, float(np.log(amplitude / limit)), 2 * pull)


def class_margin(times: ArrayLike, margin: float, length: float, members: int, samples: int) -> Array:
    """m(t) = y_i f(x_i), the same for the `members` samples of one class, r along sum y_i x_i; logistic loss, y = +-1.

    m' = (2 l sqrt(members) / n) m / (1 + e^m).
    """
    return logistic_margin(times, float(np.log(margin)), 2 * length * np.sqrt(members) / samples)


def _solve(problem: Problem, times: Array) -> Solution:
    groups = early_subnetworks(problem)
    small = flow_of(groups, problem, times)
    projections = np.swapaxes(small.first, 1, 2)
    outputs = ((problem.data.x @ projections) * groups.active.T * small.second).sum(axis=2)
    loss = predicted_loss(groups, problem, times, outputs)
    overshoot = 0.0
    if problem.loss.name == "square":
        overshoot = max(0.0, float(np.max(outputs[:, problem.y != 0] / problem.y[problem.y != 0], initial=0.0)) - 1)
    return Solution(
        loss=loss,
        loss_error=first_order_error(problem, loss) + first_loss(problem) * _share_that_may_wake(problem, groups),
        small=small,
        statistics={"sub-networks": len(groups), "overshoot": overshoot},
    )


def _share_that_may_wake(problem: Problem, groups: SubNetworks) -> float:
    """The largest share in a sub-network of neurons that changed their sign after they fell silent at a sample of their later
    class: they lie on that kink, and may wake up there or not."""
    if not len(groups):
        return 0.0
    own = groups.shares.argmax(axis=1)
    signs = np.where(groups.shares.any(axis=1), groups.signs[own], 0.0)
    changed = signs * problem.weights[1][0] < 0
    fell_silent = (problem.weights[0] @ problem.data.x.T > 0) & ~groups.active[own] & (np.sign(problem.y) == signs[:, None])
    return float(np.sum(groups.shares[changed & fell_silent.any(axis=1)] ** 2, axis=0).max())


def hypotheses(problem: Problem) -> list[Finding]:
    return [
        two_layers(problem),
        relu(problem),
        growing_loss(problem),
        no_decay(problem),
        small_start(problem),
        orthogonal_inputs(problem.data),
    ]


ORTHOGONAL = Theorem(
    name="orthogonal",
    title="on orthogonal inputs the network is one linear network per sign and active set",
    source="Zhang, Saxe & Latham, arXiv:2406.12615, v3, section on orthogonal inputs",
    strength=70,
    hypotheses=hypotheses,
    breaks={
        "two_layers": "there are no independent neurons to group",
        "relu": "neurons are not silent on the far side, and the classes interact",
        "growing_loss": "the early pulls are not half or whole labels",
        "no_decay": "silent coordinates do not stay where they are",
        "small_start": "neurons of one active set do not yet point in one direction",
        "orthogonal_inputs": "learning one sample moves the others, and active sets change",
    },
    solve=_solve,
    essential=("two_layers", "growing_loss"),
)
