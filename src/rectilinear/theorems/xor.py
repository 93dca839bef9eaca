"""XOR: four independent linear networks of one sample each (v3 of Zhang et al., section on XOR).

Two antipodal pairs +-x (one label sign) and +-x' (the other), x . x' = 0. Small neurons slide onto the ray of one sample x_i
whose label has the sign of a, and stay: the four groups never interact. With m_i = f(x_i) / y_i, l = |x_i| and n = 4,

    square:    m' = (2 l |y| / n) m (1 - m)        logistic:  m' = (2 l / n) m / (1 + e^m).

m_i(0) = (l / |y|) sum of c_h^2 over the group, c_h the size that neuron h has after the early phase, extrapolated to t = 0.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..conditions import Finding, growing_loss, no_decay, relu, small_start, two_layers, xor_samples
from ..problem import Problem
from ..reduced.one_margin import grown_margin
from ..reduced.subnetworks import early_subnetworks, predicted_loss, small_network
from .stated_error import second_order_error
from .theorem import Solution, Theorem


def _solve(problem: Problem, times: Array) -> Solution:
    data = problem.data
    groups = early_subnetworks(problem)
    samples = groups.active.argmax(axis=1)  # each sub-network sees one sample
    lengths = np.linalg.norm(data.x[samples], axis=1)
    labels = np.abs(data.y[samples])
    pull = labels if problem.loss.name == "square" else np.ones_like(labels)
    margins = np.empty((len(times), len(groups)))
    for k in range(len(groups)):
        log_start = groups.log_sizes[k] + np.log(lengths[k] / labels[k])
        margins[:, k] = grown_margin(problem.loss, times, log_start, 2 * lengths[k] * pull[k] / data.samples)
    outputs = np.zeros((len(times), data.samples))
    outputs[:, samples] = data.y[samples] * margins
    sizes = np.where(np.isfinite(margins), margins * labels / lengths, np.nan)
    directions = np.broadcast_to(groups.directions, (len(times), *groups.directions.shape))
    loss = predicted_loss(groups, problem, times, outputs)
    return Solution(
        loss=loss,
        loss_error=second_order_error(problem, loss),
        small=small_network(groups, sizes, directions),
        statistics={"sub-networks": len(groups)},
    )


def hypotheses(problem: Problem) -> list[Finding]:
    return [
        two_layers(problem),
        relu(problem),
        growing_loss(problem),
        no_decay(problem),
        small_start(problem),
        xor_samples(problem.data),
    ]


XOR = Theorem(
    name="xor",
    title="on XOR the network is four linear networks of one sample each",
    source="Zhang, Saxe & Latham, arXiv:2406.12615, v3, section on XOR",
    strength=70,
    hypotheses=hypotheses,
    breaks={
        "two_layers": "there are no independent neurons to group",
        "relu": "neurons are not silent on the far side, and the four groups interact",
        "growing_loss": "the margin has another equation than the two that are solved here",
        "no_decay": "margins stop short of the labels",
        "small_start": "neurons do not reach the rays before they act on each other",
        "xor_samples": "neurons see more than one sample, and the groups interact",
    },
    solve=_solve,
    essential=("two_layers", "growing_loss"),
)
