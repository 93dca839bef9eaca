"""Beyond nearly orthogonal data: when balance breaks, and that the correlation of gradients tells."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ... import measures
from ...arrays import Array
from ...dataset import Dataset
from ...datasets.separable import near_orthogonality
from ...flow import simulate
from ...long_trajectory import LongTrajectory
from ...network import Weights
from ...plots import style
from ...problem import Problem
from ..claim import Claim, Evidence, Picture, Verdict, at_least, at_most
from ..papers import KOU
from .networks import LEAK, SAMPLES, SETTINGS, balance, two_class_problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure


TIMES = (1.0, 2.0, 10.0, 1e3)  # log10


def gaussian_classes(inputs: int, seed: int) -> Dataset:
    """Gaussian samples in few or many dimensions, so more or less correlated, with labels in turn."""
    x = np.random.default_rng(seed).standard_normal((SAMPLES, inputs)) / np.sqrt(inputs)
    return Dataset(x, np.where(np.arange(SAMPLES) % 2, -1.0, 1.0), f"{inputs} Gaussian inputs")


@cache
def _runs(full: bool) -> list[LongTrajectory]:
    found = []
    for inputs in _sizes(full):
        for seed in range(4 if full else 2):
            run = simulate(two_class_problem(gaussian_classes(inputs, seed), LEAK), log10_times=TIMES)
            assert isinstance(run, LongTrajectory)
            found.append(run)
    return found


def _sizes(full: bool) -> tuple[int, ...]:
    return (2000, 500, 100, 40, 20, 10) if full else (500, 40, 10)


def check_correlated(full: bool) -> Evidence:
    rows = []
    for run in _runs(full):
        values = run.problem.y * run.outputs()[-1]
        rank = measures.stable_rank_by_sign(run)[-1].max()
        rows.append((near_orthogonality(run.problem.x), rank, values.max() / values.min(), balance(run)[-1]))
    constant, ranks, margins, balances = np.array(rows).T
    near, far = constant >= 0.3, constant < 0.02
    return Evidence(
        measurements=(
            at_most("C ≥ 0.3: stable rank of W₊ and W₋, largest", ranks[near].max(), 1.001),
            at_most("C ≥ 0.3: largest margin over smallest", margins[near].max(), 1.01),
            at_most("C ≥ 0.3: largest over smallest coefficient", balances[near].max(), 3.0),
            at_least("C < 0.02: largest margin over smallest, largest", margins[far].max(), 1.5),
            at_least("C < 0.02: largest over smallest coefficient, largest", balances[far].max(), 100.0),
        ),
        settings={**SETTINGS, "inputs": list(_sizes(full)), "draws": len(rows)},
        pictures=(Picture("kou_correlated", CORRELATED_CAPTION, _draw_correlated(constant, ranks, margins, balances)),),
        numbers={
            "runs": (("run", "column"), np.array(rows)),
            "column": ("column", ["constant", "rank", "margins", "balance"]),
        },
        remark="Near-orthogonality asks for a large C. For leaky ReLU the results hold well below C = 1. They break when samples "
        "are fitted by others: those stop being support vectors, their coefficients stay behind and their margins ahead.",
    )


CORRELATED_CAPTION = (
    "Leaky ReLU on ten Gaussian samples in fewer and fewer dimensions, against the constant C of near-orthogonality they satisfy: "
    "stable rank, margins and coefficients at t = 10¹⁰⁰⁰. From about C = 0.3 up all is as the theory has it."
)


@style.paper
def _draw_correlated(constant: Array, ranks: Array, margins: Array, balances: Array) -> Figure:
    figure, axes = style.panels(9.0, 2.7, columns=3)
    names = ("stable rank of a class", "largest / smallest margin", "largest / smallest coefficient")
    for ax, values, name in zip(axes, (ranks, margins, balances), names, strict=True):
        ax.plot(constant, values, color=style.colour(0), linestyle="", marker="o", markersize=4, label="one data set")
        ax.set(xscale="log", xlabel="constant C", ylabel=name, xlim=(constant.min() / 1.4, constant.max() * 1.4))
    axes[2].set_yscale("log")
    axes[0].legend(loc="upper right")
    return figure


def gradient_cosines(problem: Problem, weights: Weights) -> Array:
    """Cosines between the gradients of the samples' margins y_i f(x_i) with respect to the first layer, (n, n)."""
    first, second = weights
    pulls = problem.y[:, None] * second[0] * problem.network.slope(problem.x @ first.T)
    gram = (pulls @ pulls.T) * (problem.x @ problem.x.T)
    sizes = np.sqrt(np.diag(gram))
    return np.asarray(gram / np.outer(sizes, sizes))


def help_from_others(run: LongTrajectory) -> float:
    """The largest sum over other samples of |cos| between gradients, over samples and times."""
    cosines = np.array([np.abs(gradient_cosines(run.problem, run.weights_at(k))) for k in range(len(run))])
    return float((cosines.sum(axis=2) - 1.0).max())


def check_gradients(full: bool) -> Evidence:
    runs = _runs(full)
    helped = np.array([help_from_others(run) for run in runs])
    balances = np.array([balance(run)[-1] for run in runs])
    apart, together = helped < 1.0, helped > 2.0
    return Evidence(
        measurements=(
            at_most("sum of |cosines| below 1: largest over smallest coefficient", balances[apart].max(), 3.0),
            at_least("sum of |cosines| above 2: the same, largest", balances[together].max(), 100.0),
            at_least("rank correlation between that sum and the balance", _rank_correlation(helped, balances), 0.7),
        ),
        settings={**SETTINGS, "inputs": list(_sizes(full)), "draws": len(runs), "log10 of times": list(TIMES)},
        pictures=(Picture("kou_gradients", GRADIENT_CAPTION, _draw_gradients(helped, balances)),),
        numbers={"cosine_sum": ("run", helped), "balance": ("run", balances)},
        remark="While the gradient of each sample outweighs what it gets from the gradients of all others, every sample has to be "
        "learned by its own coefficient, and these stay balanced. Beyond, some samples are learned by the others.",
    )


def _rank_correlation(one: Array, other: Array) -> float:
    first, second = (np.argsort(np.argsort(values)).astype(np.float64) for values in (one, other))
    return float(np.corrcoef(first, second)[0, 1])


GRADIENT_CAPTION = (
    "Ratio of the largest to the smallest coefficient at t = 10¹⁰⁰⁰ against how much the gradients of different samples overlap "
    "during training: the largest sum of |cosines| of one sample's gradient with those of the others. Left of 1 coefficients are "
    "balanced, far beyond they are not."
)


@style.paper
def _draw_gradients(helped: Array, balances: Array) -> Figure:
    figure, (ax,) = style.panels(4.8, 2.9)
    ax.plot(helped, balances, color=style.colour(0), linestyle="", marker="o", markersize=4, label="one data set")
    ax.axvline(1.0, color="black", linestyle=":", linewidth=1.2, label="overlap 1")
    ax.set(xscale="log", yscale="log", xlabel="overlap of gradients", ylabel="largest / smallest coefficient")
    ax.xaxis.set_minor_formatter("")
    ax.set_xticks((0.3, 1.0, 3.0), ("0.3", "1", "3"))
    style.legend_beside(ax)
    return figure


CLAIMS = (
    Claim(
        name="kou_correlated",
        title="Beyond nearly orthogonal data",
        paper=KOU,
        source="Beyond the paper: its main result on correlated data",
        statement="The decomposition, and with it the results for leaky ReLU, survive some correlation between the samples, and break "
        "under strong correlation.",
        recorded=Verdict.CONFIRMED,
        check=check_correlated,
    ),
    Claim(
        name="kou_gradients",
        title="Correlated gradients and the end of automatic balance",
        paper=KOU,
        source="Beyond the paper: its main result on correlated data",
        statement="Automatic balance breaks down where the gradients of different samples are strongly correlated during training.",
        recorded=Verdict.CONFIRMED,
        check=check_gradients,
    ),
)
