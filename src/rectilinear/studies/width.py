"""What finite width does to statements about wide networks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..datasets import orthogonal, orthogonally_separable
from ..plots import style
from ..reduced.class_limit import neuron_classes
from ..reduced.stable_rank import stable_rank_of
from ..theorems.fixed_layer import logarithmic_rates, sample_clocks
from .problems import far_run, fixed_layer_problem, trained_problem
from .study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure


HALVES = (1, 2, 4, 8, 16, 32, 64)  # neurons of either sign
SAMPLES, INPUTS = 10, 20  # orthogonal data
ENOUGH = 0.2  # share of a class's neurons that must see a sample, for the paper's bound on increments


def finite_width(draws: int = 60) -> Study:
    """Stable rank, samples that too few neurons see, and classes without a neuron, against the width."""
    ranks, unseen, barely, missed = (np.empty((len(HALVES), draws)) for _ in range(4))
    for k, half in enumerate(HALVES):
        for seed in range(draws):
            data = orthogonal(SAMPLES, INPUTS, seed=seed)
            problem = fixed_layer_problem(data, 0.0, half, seed=seed)
            first, positive = logarithmic_rates(problem), problem.weights[1][0] > 0
            ranks[k, seed] = stable_rank_of(first[positive]) if first[positive].any() else np.nan
            seeing = np.array([np.mean(clock.slopes(np.inf)[clock.gains > 0]) for clock in sample_clocks(problem)])
            unseen[k, seed], barely[k, seed] = (seeing == 0).any(), (seeing < ENOUGH).any()
            separable = trained_problem(orthogonally_separable(12, 4, seed=seed), 2 * half, 1e-3, seed)
            classes = neuron_classes(separable)
            missed[k, seed] = not (classes > 0).any() or not (classes < 0).any()
    means = np.nanmean(ranks, axis=1)
    formula = 2.0 / (1.0 + 2.0 / SAMPLES + 1.0 / np.array(HALVES))
    checked = _simulated_error()
    row = HALVES.index(16)
    finding = (
        f"Kou et al., exactly orthogonal data, ReLU: the stable rank of W_+ at infinity is {means[0]:.2f} on average for one neuron "
        f"a class and {means[-1]:.2f} for {HALVES[-1]}, {np.nanmin(ranks[-1]):.2f} to {np.nanmax(ranks[-1]):.2f} by the start; "
        f"2/(1 + 1/n + 1/m) describes the means within {np.abs(means - formula)[3:].max():.2f} from {HALVES[3]} neurons on (the "
        f"closed limit agrees with the flow at t = 10^1000 within {checked:.0e}). The theory asks for a fifth of a class's neurons "
        f"to see every sample: of {draws} starts this fails in {100 * barely[2].mean():.0f} % for {HALVES[2]} neurons per class, in "
        f"{100 * barely[row].mean():.1f} % for {HALVES[row]} and in {100 * barely[-1].mean():.1f} % for {HALVES[-1]}; some sample "
        f"has no neuron at all, and keeps its loss for ever, in {100 * unseen[2].mean():.0f}, {100 * unseen[row].mean():.1f} and "
        f"{100 * unseen[-1].mean():.1f} %. Phuong and Lampert's limit only needs a neuron for either class; with 2, "
        f"{2 * HALVES[2]} and {2 * HALVES[row]} neurons it is missed in {100 * missed[0].mean():.0f}, {100 * missed[2].mean():.1f} "
        f"and {100 * missed[row].mean():.1f} % of the starts."
    )
    return Study(
        name="finite_width",
        question="How wide is wide enough for the asymptotic statements?",
        source="Kou, Chen & Gu 2023; Phuong & Lampert 2021",
        finding=finding,
        numbers={
            "neurons_a_class": (("width",), np.array(HALVES)),
            "stable_rank": (("width", "draw"), ranks),
            "some_sample_unseen": (("width",), unseen.mean(axis=1)),
            "some_sample_barely_seen": (("width",), barely.mean(axis=1)),
            "some_class_missed": (("width",), missed.mean(axis=1)),
        },
        draw=partial(_draw, ranks, formula, (unseen.mean(axis=1), barely.mean(axis=1), missed.mean(axis=1))),
    )


def _simulated_error() -> float:
    """The closed limit of the stable rank against the flow at t = 10^1000."""
    problem = fixed_layer_problem(orthogonal(SAMPLES, INPUTS, seed=0), 0.0, 8, seed=0)
    positive = problem.weights[1][0] > 0
    run = far_run(problem, [1000.0])
    return abs(stable_rank_of(run.final[0][positive]) / stable_rank_of(logarithmic_rates(problem)[positive]) - 1.0)


@style.paper
def _draw(ranks: Array, formula: Array, shares: tuple[Array, Array, Array]) -> Figure:
    figure, (left, right) = style.panels(9.0, 3.0, columns=2)
    left.fill_between(HALVES, *np.nanquantile(ranks, (0.1, 0.9), axis=1), color=style.colour(0), alpha=0.25, linewidth=0)
    left.plot(HALVES, np.nanmean(ranks, axis=1), "o-", markersize=3, color=style.colour(0))
    left.plot(HALVES, formula, **style.PREDICTION)
    left.set(xscale="log", xlabel="neurons per class", ylabel="stable rank of W₊ at infinity")
    labels = ("some sample unseen", "seen by less than a fifth", "some class without neuron")
    for k, (share, label) in enumerate(zip(shares, labels, strict=True)):
        right.plot(HALVES, share, "o-", markersize=3, color=style.colour(k), label=label)
    right.set(xscale="log", xlabel="neurons per class", ylabel="share of starts")
    style.legend_beside(right)
    return figure
