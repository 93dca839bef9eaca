"""Nearly orthogonal data, second layer fixed at +-1/m (Kou, Chen & Gu, NeurIPS 2023): where the first layer's direction ends.

Once no neuron switches any more the output is linear in W_1, so that the direction of W_1 ends at the hard-margin SVM of the
features that the frozen patterns give: the shortest W_1 with y_i f(x_i) >= 1,

    w_h = sum_i mu_i y_i a_h xi_hi,   mu_i >= 0,   xi_hi = sigma'_hi (x_i without the normals of kinks that hold neuron h).

For leaky ReLU all neurons of one sign end with one pattern, active on their own class only. So W_+ and W_- have rank one, and
the margins are equal if and only if every sample is a support vector, which near-orthogonality ensures. For ReLU the final
pattern depends on the start; given it, the same program gives the limit and its stable ranks.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..conditions import Finding, both_classes, falling_loss, first_layer_only, nearly_orthogonal, no_decay, two_class_layer
from ..problem import Problem
from ..reduced.frozen_limit import class_pattern, frozen_limit
from ..reduced.stable_rank import stable_rank_of
from .stated_error import computed_error
from .theorem import WITHIN_WINDOW, Solution, Theorem, limit_only


def hypotheses(problem: Problem) -> list[Finding]:
    return [
        first_layer_only(problem),
        two_class_layer(problem),
        falling_loss(problem),
        no_decay(problem),
        both_classes(problem.data),
        nearly_orthogonal(problem.data),
    ]


def solve(problem: Problem, times: Array) -> Solution:
    """At infinity the loss is zero; for leaky ReLU the limit of the direction gives stable ranks and margins."""
    statistics: dict[str, float] = {}
    if problem.network.alpha > 0:
        limit = frozen_limit(problem, class_pattern(problem))
        positive = problem.weights[1][0] > 0
        statistics = {
            "certificate": limit.certificate,
            "stable rank of W_+": stable_rank_of(limit.first[positive]),
            "stable rank of W_-": stable_rank_of(limit.first[~positive]),
            "stable rank of W": stable_rank_of(limit.first),
        }
    loss = np.zeros(len(times))
    return Solution(loss=loss, loss_error=computed_error(problem, loss), statistics=statistics)


LOW_RANK_BIAS = Theorem(
    name="low_rank_bias",
    title="on nearly orthogonal data the classes' weight matrices end with low stable rank and all margins equal",
    source="Kou, Chen & Gu, NeurIPS 2023, arXiv:2310.18935",
    strength=80,
    hypotheses=hypotheses,
    breaks={
        "first_layer_only": "the second layer grows along, the loss falls like 1/(t ln t) and sizes of neurons diverge",
        "two_class_layer": "neurons of one class move at different speeds",
        "falling_loss": "training ends at finite weights, not at a direction",
        "no_decay": "weights stay finite, and margins need not become equal",
        "both_classes": "one of the two matrices is never trained to be active",
        "nearly_orthogonal": "a sample may be fitted by the others: it is then no support vector and has a larger margin",
        WITHIN_WINDOW: "there is no limit to speak of; simulate the problem, or see fixed_layer for orthogonal data",
    },
    solve=solve,
    window=limit_only,
    essential=("first_layer_only", "falling_loss", WITHIN_WINDOW),
)
