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

from dataclasses import replace

import numpy as np

from ..arrays import Array
from ..conditions import (
    Finding,
    both_classes,
    falling_loss,
    neurons_for_both,
    no_decay,
    orthogonally_separable,
    relu,
    small_start,
    two_layers,
)
from ..problem import Problem
from ..reduced.class_limit import class_limit
from ..reduced.subnetworks import early_subnetworks, flow_of
from .stated_error import first_order_error
from .theorem import Solution, Theorem


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
    loss = np.append(problem.loss.value(data.y, outputs).mean(axis=1), np.zeros(times.size - finite.size))
    limit = class_limit(data)
    beyond = ((0, times.size - finite.size), (0, 0), (0, 0))  # weights diverge
    return Solution(
        loss=loss,
        small=replace(
            small,
            first=np.pad(small.first, beyond, constant_values=np.nan),
            second=np.pad(small.second, beyond, constant_values=np.nan),
        ),
        loss_error=first_order_error(problem, loss),
        statistics={
            "sub-networks": len(groups),
            "certificate": max(limit.positive.kkt_residual, limit.negative.kkt_residual),
            "normalised margin at infinity": limit.normalised_margin,
        },
    )


CLASS_MAX_MARGIN = Theorem(
    name="class_max_margin",
    title="on orthogonally separable data the network is one linear network per class, each ending at its maximum margin",
    source="Phuong & Lampert, ICLR 2021, Theorem 1",
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
