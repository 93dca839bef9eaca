"""Phuong and Lampert: on orthogonally separable data each class is learned by a linear network of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import datasets
from ..arrays import Array
from ..dataset import Dataset
from ..flow import simulate
from ..measures.limit_distance import LimitDistance, limit_distance
from ..network import Network, Weights
from ..plots import style
from ..problem import Problem
from ..reduced.class_limit import class_limit
from ..reduced.max_margin import max_margin
from ..theorems import predict
from .claim import Claim, Evidence, Picture, Verdict, at_least, at_most, between, noted
from .papers import PHUONG_LAMPERT

if TYPE_CHECKING:
    from matplotlib.figure import Figure


LOG_TIMES = np.array([1.0, 2.0, 4.0, 10.0, 1e2, 1e3, 1e4, 1e5, 1e6])
WIDTH = 20


def distances(data: Dataset, scale: float, seed: int) -> list[LimitDistance]:
    """How far the network is from the limit at the times above."""
    network = Network(data.inputs, (WIDTH,))
    run = simulate(Problem(data, network, network.init(scale, seed), "logistic"), log10_times=LOG_TIMES)
    limit = class_limit(data)
    return [limit_distance(run.weights_at(k), data, limit) for k in range(len(run))]


def check_limit(full: bool) -> Evidence:
    draws = range(12 if full else 4)
    found = [distances(datasets.orthogonally_separable(12, 4, seed=seed), 1e-3, seed) for seed in draws]
    first = np.array([[distance.first for distance in row] for row in found])
    norms = np.array([[distance.norms for distance in row] for row in found])
    rate = np.polyfit(np.log(LOG_TIMES[4:]), np.log(np.median(first, axis=0)[4:]), 1)[0]
    return Evidence(
        measurements=(
            at_most("W/|W| against uw₊ᵀ + zw₋ᵀ at t = 10^1000000, largest distance", first[:, -1].max(), 0.01),
            at_most("|u|² = 1/(|w₊|(|w₊|+|w₋|)) and |z|² likewise, largest relative error", norms[:, -1].max(), 1e-4),
            at_most(
                "largest 1 − cos of a neuron to its class's max-margin direction", max(row[-1].angle for row in found), 1e-4
            ),
            between("exponent with which the distance falls as a power of ln t", rate, -1.1, -0.45),
            noted("distance at t = 100, median", np.median(first[:, 1])),
        ),
        settings={"samples": 12, "inputs": 4, "width": WIDTH, "scale": 1e-3, "draws": len(draws)},
        pictures=(Picture("phuong_lampert", CAPTION, _draw(first)),),
        numbers={"distance": (("draw", "time"), first), "log10_time": ("time", LOG_TIMES)},
        remark="The norms of u and z, which the statement leaves open, are determined: both classes reach the same margin. How they "
        "are shared among neurons depends on the start.",
    )


CAPTION = (
    "Distance of the first layer's direction from the limit predicted by the max-margin vectors of the two classes, for random "
    "orthogonally separable data sets. At t = 100 the limit is out of sight; it is reached like a power of ln t."
)


@style.paper
def _draw(first: Array) -> Figure:
    figure, (ax,) = style.panels(4.8, 3.0)
    curves = ax.plot(LOG_TIMES, first.T, color=style.colour(0), linewidth=1.0, marker="o", markersize=3)
    curves[0].set_label("one data set")
    ax.set(xscale="log", yscale="log", xlabel="log₁₀(time / τ)", ylabel="|W/|W| − limit|")
    ax.legend()
    return figure


def check_course(full: bool) -> Evidence:
    errors = []
    for seed in range(4 if full else 2):
        data = datasets.orthogonally_separable(12, 4, seed=seed)
        network = Network(4, (WIDTH,))
        problem = Problem(data, network, network.init(1e-5, seed), "logistic")
        times = np.linspace(0.0, 200.0, 41)
        errors.append(np.abs(simulate(problem, times).loss - predict(problem, times).loss).max())
    return Evidence(
        measurements=(at_most("loss against that of two linear networks, largest error", max(errors), 1e-3),),
        settings={"samples": 12, "inputs": 4, "width": WIDTH, "scale": 1e-5, "draws": len(errors)},
    )


def check_large_start(full: bool) -> Evidence:
    data = datasets.orthogonally_separable(12, 4, seed=0)
    ends = {scale: distances(data, scale, seed=0)[-1] for scale in (1e-3, 1.0, 10.0)}
    return Evidence(
        measurements=(
            *(
                at_most(f"weights of norm {scale:g}: W/|W| against the limit", end.first, 0.01)
                for scale, end in ends.items()
            ),
            noted("weights of norm 10: largest 1 − cos of a single neuron to its direction", ends[10.0].angle),
        ),
        settings={"samples": 12, "inputs": 4, "width": WIDTH, "seed": 0},
        remark="Large weights only take longer. Single neurons may be left behind in other directions, but they do not grow, and "
        "count for nothing in the limit.",
    )


def linearly_separable(seed: int) -> Dataset:
    """Gaussian samples on the two sides of a plane: separable, but not orthogonally."""
    rng = np.random.default_rng(seed)
    x, axis = rng.standard_normal((12, 4)), rng.standard_normal(4)
    return Dataset(x, np.sign(x @ axis), "linearly separable")


def check_not_separable(full: bool) -> Evidence:
    ends = [distances(linearly_separable(seed), 1e-3, seed)[-1].first for seed in range(6 if full else 2)]
    return Evidence(
        measurements=(
            at_least("W/|W| against the limit of the theorem at t = 10^1000000, smallest distance", min(ends), 0.1),
            noted("largest", max(ends)),
        ),
        settings={"samples": 12, "inputs": 4, "width": WIDTH, "scale": 1e-3, "draws": len(ends)},
    )


def check_linear_models(full: bool) -> Evidence:
    times = LOG_TIMES[:-1]
    ends: dict[str, list[tuple[float, float]]] = {"logistic regression": [], "two layers": []}
    for seed in range(6 if full else 2):
        data = linearly_separable(seed)
        best = max_margin(data.y[:, None] * data.x).direction
        single = Network(data.inputs, (1,), alpha=1.0, trainable=(True, False))  # f = w.x
        wide = Network(data.inputs, (WIDTH,), alpha=1.0)
        starts: dict[str, tuple[Network, Weights]] = {
            "logistic regression": (single, (single.init(1e-2, seed)[0], np.ones((1, 1)))),
            "two layers": (wide, wide.init(1e-2, seed)),
        }
        for name, (network, weights) in starts.items():
            run = simulate(Problem(data, network, weights, "logistic"), log10_times=times)
            first = run.final[0] / np.linalg.norm(run.final[0])
            w = run.linear_map[-1]
            off = float(np.linalg.norm(first - np.outer(first @ best, best)))
            ends[name].append((float(1.0 - w @ best / np.linalg.norm(w)), off))
    angle = {name: max(cosine for cosine, _ in rows) for name, rows in ends.items()}
    return Evidence(
        measurements=(
            at_most(
                "logistic regression: 1 − cos of w to the max-margin direction at t = 10^100000",
                angle["logistic regression"],
                1e-4,
            ),
            at_most("two-layer linear network: the same", angle["two layers"], 1e-4),
            at_most("two-layer linear network: W₁/|W₁| off u w_maxᵀ", max(off for _, off in ends["two layers"]), 0.01),
        ),
        settings={"samples": 12, "inputs": 4, "width": WIDTH, "scale": 1e-2, "draws": len(ends["two layers"])},
        remark="Checked for depth one and two. w_max has to be taken of length one, and u then has length one too.",
    )


CLAIMS = (
    Claim(
        name="pl_linear_models",
        title="Before: linear models find the maximum margin",
        paper=PHUONG_LAMPERT,
        source="Previous work, on linear models",
        statement="On linearly separable data logistic regression and deep linear networks converge in direction to the max-margin "
        "vector w_max, and W₁/|W₁| → u w_maxᵀ.",
        recorded=Verdict.CONFIRMED,
        check=check_linear_models,
    ),
    Claim(
        name="pl_limit",
        title="Each class ends at its own maximum margin",
        paper=PHUONG_LAMPERT,
        source="Main result",
        statement="On orthogonally separable data, from near-zero weights, W/|W| → uw₊ᵀ + zw₋ᵀ and a/|a| → u|w₊| − z|w₋| with "
        "u, z ≥ 0 of disjoint support, w₊ and w₋ the max-margin vectors of the two classes.",
        recorded=Verdict.CONFIRMED,
        check=check_limit,
    ),
    Claim(
        name="pl_course",
        title="Two linear networks on the way",
        paper=PHUONG_LAMPERT,
        source="Proof of the main result",
        statement="On orthogonally separable data the network trains as two linear networks, one for each class.",
        recorded=Verdict.CONFIRMED,
        check=check_course,
    ),
    Claim(
        name="pl_large_start",
        title="An assumption broken: large weights at the start",
        paper=PHUONG_LAMPERT,
        source="Assumption 4, near-zero initialisation",
        statement="Near-zero weights are assumed; the limit of W/|W| does not depend on it.",
        recorded=Verdict.CONFIRMED,
        check=check_large_start,
    ),
    Claim(
        name="pl_not_separable",
        title="An assumption broken: linearly, but not orthogonally separable data",
        paper=PHUONG_LAMPERT,
        source="Assumption 1, orthogonal separability",
        statement="Linear separability is not enough: without orthogonal separability the network ends elsewhere.",
        recorded=Verdict.CONFIRMED,
        check=check_not_separable,
    ),
)
