"""Stable rank: one for leaky ReLU, bounded for ReLU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import measures
from ...long_trajectory import LongTrajectory
from ...plots import style
from ...reduced.stable_rank import stable_rank_of
from ...theorems.fixed_layer import logarithmic_rates
from ..claim import Claim, Evidence, Form, Measurement, Picture, Verdict, at_most, between, noted
from ..papers import KOU
from .networks import KINDS, LEAK, LOG_TIMES, SETTINGS, long_run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check_leaky_rank(full: bool) -> Evidence:
    measurements: list[Measurement] = []
    for kind in KINDS:
        run = long_run(kind, LEAK)
        ranks = measures.stable_rank_by_sign(run)[-1]
        distances = [_neurons_apart(run, k) for k in (3, -1)]
        measurements += [
            at_most(f"{kind}: stable rank of W₊ and W₋ at t = 10^10000, larger", ranks.max(), 1.0001),
            noted(f"{kind}: stable rank of both together", measures.stable_rank(run)[-1][0]),
            at_most(
                f"{kind}: distance between neurons of a class, t = 10^10000 over t = 100", distances[1] / distances[0], 2.0
            ),
        ]
    together = measures.stable_rank(long_run("orthogonal", LEAK))[-1][0]
    predicted = 2.0 * (1.0 + LEAK**2) / (1.0 + LEAK) ** 2
    return Evidence(
        measurements=(
            *measurements,
            at_most("orthogonal: stable rank of both together against 2(1+α²)/(1+α)²", abs(together - predicted), 1e-3),
        ),
        settings=SETTINGS,
        pictures=(Picture("kou_stable_rank", RANK_CAPTION, _draw_ranks()),),
        remark="Rank one is meant for the matrix of each class. The whole first layer keeps two directions and tends to a stable "
        "rank between one and two.",
    )


def _neurons_apart(run: LongTrajectory, k: int) -> float:
    """Largest distance between two neurons of one class at the k-th saved time."""
    first, second = run.weights_at(k)
    apart = [
        np.linalg.norm(side[:, None] - side[None], axis=2).max() for side in (first[second[0] > 0], first[second[0] < 0])
    ]
    return float(max(apart))


RANK_CAPTION = (
    "Stable rank of the weight matrix of each class (solid and dashed) over times far beyond floating-point range. Leaky ReLU: it "
    "falls to one. ReLU: it settles at values that depend on the activation pattern at the start; on orthogonal data they are known "
    "in closed form (dotted)."
)


@style.paper
def _draw_ranks() -> Figure:
    figure, axes = style.panels(7.6, 3.0, columns=2, sharey=True)
    for ax, kind in zip(axes, KINDS, strict=True):
        for k, (name, alpha) in enumerate((("leaky ReLU", LEAK), ("ReLU", 0.0))):
            ranks = measures.stable_rank_by_sign(long_run(kind, alpha))
            ax.plot(LOG_TIMES, ranks[:, 0], color=style.colour(k), label=f"{name}, W₊")
            ax.plot(LOG_TIMES, ranks[:, 1], color=style.colour(k), linestyle="--", label=f"{name}, W₋")
        ax.set(xscale="log", xlabel="log₁₀(time / τ)", title=f"{kind} data", ylim=(0.9, 2.3))
    for rank in _orthogonal_limits():
        axes[0].axhline(rank, color="black", linestyle=":", linewidth=1.2)
    axes[0].set_ylabel("stable rank")
    axes[1].plot([], [], color="black", linestyle=":", linewidth=1.2, label="closed form")
    style.legend_beside(axes[1])
    return figure


def _orthogonal_limits() -> tuple[float, float]:
    """The stable ranks of W_+ and W_- at infinity on orthogonal data, ReLU."""
    problem = long_run("orthogonal", 0.0).problem
    rates, positive = logarithmic_rates(problem), problem.weights[1][0] > 0
    return stable_rank_of(rates[positive]), stable_rank_of(rates[~positive])


def check_relu_rank(full: bool) -> Evidence:
    ranks = measures.stable_rank_by_sign(long_run("orthogonal", 0.0))[-1]
    near = measures.stable_rank_by_sign(long_run("nearly orthogonal", 0.0))
    return Evidence(
        measurements=(
            at_most("nearly orthogonal: stable rank of W₊ and W₋, largest at any time", near.max(), 3.0),
            between("orthogonal, 5 samples per class: stable rank of W₊ at t = 10^10000", ranks[0], 1.9, 2.1),
            at_most("the same against its closed form", np.abs(ranks - _orthogonal_limits()).max(), 1e-3, Form.CORRECTED),
        ),
        settings=SETTINGS,
        remark="The limit on orthogonal data depends on which neurons see which sample at the start, and is known in closed form. It "
        "is near 2 only for many samples and neurons (see the correction for finite size below). So other values than 2 do occur.",
    )


CLAIMS = (
    Claim(
        name="kou_leaky_rank",
        title="Leaky ReLU: stable rank one",
        paper=KOU,
        source="Main result",
        statement="On nearly orthogonal data gradient descent finds a leaky ReLU network whose weight matrices W₊ and W₋ have a "
        "stable rank that converges to 1, as neurons of a class stay at bounded distance.",
        recorded=Verdict.CONFIRMED,
        check=check_leaky_rank,
    ),
    Claim(
        name="kou_relu_rank",
        title="ReLU: bounded stable rank, about two on orthogonal data",
        paper=KOU,
        source="Main result; appendix on orthogonal data",
        statement="For ReLU networks the stable rank stays bounded; on exactly orthogonal data it converges to about 2.",
        recorded=Verdict.CORRECTED,
        check=check_relu_rank,
    ),
)
