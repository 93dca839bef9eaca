"""XOR: four independent linear networks of one sample each (v3 of Zhang et al., section on XOR).

Two antipodal pairs +-x (one label sign) and +-x' (the other), x . x' = 0. Small neurons slide onto the ray of one sample x_i
whose label has the sign of a, and stay: the four groups never interact. With m_i = f(x_i) / y_i, l = |x_i| and n = 4,

    square:    m' = (2 l |y| / n) m (1 - m)        logistic:  m' = (2 l / n) m / (1 + e^m).

m_i(0) = (l / |y|) sum of c_h^2 over the group, c_h the size that neuron h has after the early phase, extrapolated to t = 0.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..conditions import Finding, measured_finding, no_decay, small_start, true_or_not, two_layers
from ..dataset import Dataset
from ..problem import Problem
from .margins import grown_margin
from .subnetworks import early_subnetworks, predicted_loss, small_network
from .theorem import Solution, Theorem

ROUNDING = 1e-10  # cosines and relative label differences below it are floating-point arithmetic


def xor_samples(data: Dataset) -> Finding:
    """Two antipodal pairs on orthogonal lines, labels equal within a pair and of opposite sign across pairs.

    `measured` is the larger of the cosine between the lines and the relative difference of labels within a pair.
    """
    pairs, alone = data.mirror_pairs
    required = "two antipodal pairs with equal labels, of opposite sign across the pairs, on orthogonal lines, are required"
    if len(pairs) != 2 or alone.size or data.y[pairs[0, 0]] * data.y[pairs[1, 0]] >= 0:
        return measured_finding("xor_samples", np.inf, ROUNDING, f"{required}; found {data}.")
    units = data.x[pairs[:, 0]] / np.linalg.norm(data.x[pairs[:, 0]], axis=1, keepdims=True)
    cosine = abs(float(units[0] @ units[1]))
    labels = float(np.abs(np.diff(data.y[pairs], axis=1)).max() / np.abs(data.y).max())
    sentence = f"{required}; the lines' cosine is {cosine:.2g}, labels within a pair differ by {labels:.2g}."
    return measured_finding("xor_samples", max(cosine, labels), ROUNDING, sentence)


def relu(problem: Problem) -> Finding:
    """The network is a ReLU network, alpha = 0: the negative side of a neuron is silent."""
    return measured_finding(
        "relu", problem.network.alpha, 0.0, f"alpha = 0 is required; alpha is {problem.network.alpha:g}."
    )


def growing_loss(problem: Problem) -> Finding:
    """The loss is the square or the logistic loss, whose margins have closed forms."""
    holds = problem.loss.name in ("square", "logistic")
    sentence = f"the square or the logistic loss is required; the loss is {problem.loss}."
    return true_or_not("growing_loss", holds, sentence)


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
    return Solution(
        loss=predicted_loss(groups, problem, times, outputs),
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
    source="Zhang, Saxe & Latham (v3), XOR",
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
