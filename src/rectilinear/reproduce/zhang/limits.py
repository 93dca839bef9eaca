"""Corollaries 6 and 14: where aligned networks end, and their whole course in closed form on white inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import datasets
from ...arrays import Array
from ...dataset import Dataset
from ...flow import simulate
from ...network import Network
from ...plots import style
from ...problem import Problem
from ...reduced.max_margin import max_margin
from ...theorems import predict
from ..claim import Claim, Evidence, Form, Picture, Verdict, at_least, at_most, between, noted
from ..papers import ZHANG
from .equivalence import aligned, mixed_labels, uneven_data

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check_regression(full: bool) -> Evidence:
    data = uneven_data()
    solution = np.linalg.solve(data.covariance, data.correlation)
    errors = []
    for alpha in (0.0, 0.3):
        run = simulate(aligned(data, alpha, "square"), [400.0], rtol=1e-10, method="smooth")
        errors.append(np.abs(run.linear_map[-1] - solution).max())
    mixed = Dataset(datasets.sine_teacher(inputs=5, pairs=60).x, mixed_labels(pairs=60).y)
    run = simulate(aligned(mixed, 0.0, "logistic"), [400.0], rtol=1e-10, method="smooth")
    slope = np.abs(mixed.x.T @ run.problem.loss.pull(mixed.y, mixed.x @ run.linear_map[-1]) / mixed.samples).max()
    return Evidence(
        measurements=(
            at_most("square loss: w(∞) against Σ⁻¹β, largest error", max(errors), 1e-6),
            at_most("logistic loss, labels not separable: gradient of logistic regression at w(∞)", slope, 1e-6),
            at_most("seen by singular inputs only: w(∞) against Σ⁻¹β on them", _singular(1e-3)[0], 1e-6),
            noted("and what stays of the start in the directions no sample has", _singular(1e-3)[1]),
        ),
        settings={"samples": data.samples, "width": 40, "scale": 0.1, "alpha": [0.0, 0.3], "seed": 1},
        remark="Where Σ is singular, a part of the start survives in the directions that no sample has: w(∞) is the solution of "
        "least squares up to the order of the starting weights.",
    )


def _singular(scale: float) -> tuple[float, float]:
    """Error of w(inf) within the span of the inputs, and its size outside of it."""
    data = datasets.sine_teacher(inputs=5, pairs=3, seed=7)
    run = simulate(aligned(data, 0.0, "square", scale=scale), [800.0], rtol=1e-10, method="smooth")
    solution = np.linalg.lstsq(data.x, data.y, rcond=None)[0]
    basis = np.linalg.svd(data.x, full_matrices=False)[2][: np.linalg.matrix_rank(data.x)]
    apart = run.linear_map[-1] - solution
    inside = basis.T @ (basis @ apart)
    return float(np.abs(inside).max()), float(np.abs(apart - inside).max())


def separable_pairs() -> Dataset:
    """Symmetric data with labels +-1 that a linear function separates."""
    data = datasets.orthogonally_separable(samples=12, inputs=3, seed=2)
    return Dataset(data.x, data.y, "separable").symmetrised()


def check_max_margin(full: bool) -> Evidence:
    data = separable_pairs()
    best = max_margin(data.y[:, None] * data.x)
    network = Network(data.inputs, (40,))
    problem = Problem(data, network, network.init(0.1, seed=1, start="rank_one"), "logistic")
    log_times = np.array([2.0, 10.0, 1e2, 1e3, 1e4, 1e5] + ([1e6] if full else []))
    run = simulate(problem, log10_times=log_times)
    maps = run.linear_map
    cosine = maps @ best.direction / np.linalg.norm(maps, axis=1)
    angles = np.arccos(np.minimum(cosine, 1.0))
    margins = np.min(data.y * (maps @ data.x.T), axis=1) / np.linalg.norm(maps, axis=1)
    rate = np.polyfit(np.log(log_times[2:]), np.log(angles[2:]), 1)[0]
    return Evidence(
        measurements=(
            at_most(f"angle to the max-margin direction at t = 10^{log_times[-1]:g}, in radians", angles[-1], 0.02),
            at_least("margin over the largest possible one, at that time", margins[-1] / best.margin, 0.999),
            between("exponent of the angle as a power of ln t", rate, -1.1, -0.4),
            noted("norm of w at that time", np.linalg.norm(maps[-1])),
        ),
        settings={"samples": data.samples, "inputs": data.inputs, "width": 40, "scale": 0.1, "seed": 1},
        pictures=(Picture("max_margin", MARGIN_CAPTION, _draw_margin(log_times, angles, 1 - margins / best.margin)),),
        numbers={"angle": ("time", angles), "margin": ("time", margins), "log10_time": ("time", log_times)},
        remark="w itself diverges; only its direction converges, and so slowly that times far beyond floating-point range are "
        "needed to see it.",
    )


MARGIN_CAPTION = (
    "A ReLU network on separable symmetric data with logistic loss, followed to times far beyond the range of floating-point "
    "numbers: its direction tends to that of the support vector machine like a power of ln t."
)


@style.paper
def _draw_margin(log_times: Array, angles: Array, shortfall: Array) -> Figure:
    figure, (ax,) = style.panels(4.6, 3.0)
    ax.plot(log_times, angles, color=style.colour(0), marker="o", markersize=4, label="angle (radians)")
    ax.plot(
        log_times, shortfall, color=style.colour(1), marker="o", markersize=4, label="margin short of the largest, relative"
    )
    ax.set(xscale="log", yscale="log", xlabel="log₁₀(time / τ)", ylabel="distance from the limit")
    ax.legend()
    return figure


def shifted_classes() -> Dataset:
    """Two classes in the plane that a line separates, but none through the origin."""
    rng = np.random.default_rng(0)
    centres = np.repeat([[3.0, 1.0], [1.0, 2.0]], 6, axis=0)
    return Dataset(centres + 0.4 * rng.standard_normal((12, 2)), np.repeat([1.0, -1.0], 6), "shifted classes")


def check_stacked(full: bool) -> Evidence:
    data = shifted_classes()
    with_ones = Dataset(np.column_stack([data.x, np.ones(data.samples)]), data.y, "stacked").symmetrised()
    stacked = max_margin(with_ones.y[:, None] * with_ones.x)
    # y (w.x + b) >= 1 for some b if and only if w.(x - x')/2 >= 1 for all x of one class and x' of the other
    pairs = (data.x[data.y > 0][:, None] - data.x[data.y < 0][None]).reshape(-1, 2) / 2.0
    original = max_margin(pairs)
    network = Network(3, (40,))
    problem = Problem(with_ones, network, network.init(0.1, seed=1, start="rank_one"), "logistic")
    found = simulate(problem, log10_times=[1e5]).linear_map[-1]
    apart = _angle(stacked.w[:2], original.w)
    widths = [float(np.min(data.y * (data.x @ w[:2] + w[2])) / np.linalg.norm(w[:2])) for w in (stacked.w, found)]
    return Evidence(
        measurements=(
            at_most(
                "network on [x, 1]: angle to the max-margin solution of [x, 1], radians", _angle(found, stacked.w), 0.02
            ),
            at_least("its boundary against that of the original data's max-margin solution, radians", apart, 0.05),
            at_most("margin in the plane over the widest possible one", max(widths) / original.margin, 0.95),
        ),
        settings={"samples": data.samples, "inputs": 2, "width": 40, "scale": 0.1, "seed": 1},
        remark="The appended one is regularised like any input, so that boundaries near the origin are preferred to wide margins.",
    )


def _angle(one: Array, other: Array) -> float:
    return float(np.arccos(np.clip(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)), -1.0, 1.0)))


def check_time_course(full: bool) -> Evidence:
    data = datasets.sine_teacher(inputs=5, pairs=60, white=True, seed=0)
    printed, corrected = [], []
    for alpha in (0.0, 0.3):
        problem = aligned(data, alpha, "square", scale=0.05)
        times = np.linspace(0.0, 30.0, 61)
        run = simulate(problem, times, rtol=1e-11, method="smooth")
        corrected.append(np.abs(predict(problem, times, "time_course").linear_map - run.linear_map).max())
        # U = c |W|^2 is |W_1(0)|^2, as printed, for weights larger by 1/sqrt(c)
        larger = problem.with_weights(tuple(layer / np.sqrt(problem.network.mean_slope) for layer in problem.weights))
        printed.append(np.abs(predict(larger, times, "time_course").linear_map - run.linear_map).max())
    random = _random_start(data)
    return Evidence(
        measurements=(
            at_most("aligned weights: Eq. 38 as printed (u₀² = |W₁(0)|²) against simulation", max(printed), 1e-7),
            at_most("with u₀² = (α+1)/2 · |W₁(0)|²", max(corrected), 1e-7, Form.CORRECTED),
            noted("random small weights: loss error with u₀ = |W₁(0)|", random[0]),
            at_most("with u₀ = |r₁|, linear network", random[1], 1e-4, Form.CORRECTED),
        ),
        settings={"inputs": 5, "samples": data.samples, "width": 40, "scale": 0.05, "alpha": [0.0, 0.3], "seed": 1},
        remark="For random small weights the curve needs r = β̄ and the growing part r₁ of the start, as in Figure 1; for ReLU "
        "networks even then the imbalance of halves remains, which the two-neuron theory takes into account.",
    )


def _random_start(data: Dataset) -> tuple[float, float]:
    """Largest loss errors for a small random start of a linear network: u0 = |W_1(0)|, and u0 = |r1|."""
    network = Network(data.inputs, (100,), alpha=1.0)
    problem = Problem(data, network, network.init(1e-4, seed=0))
    times = np.linspace(0.0, 20.0, 81)
    run = simulate(problem, times, rtol=1e-9, method="smooth")
    grown = predict(problem, times, "time_course", force=True)
    size = float(np.linalg.norm(problem.weights[0]))
    start = network.init(size, seed=0, start="rank_one", direction=data.correlation)
    whole = predict(problem.with_weights(start), times, "time_course")
    return float(np.abs(whole.loss - run.loss).max()), float(np.abs(grown.loss - run.loss).max())


CLAIMS = (
    Claim(
        name="corollary_6_square",
        title="The network ends as linear regression",
        paper=ZHANG,
        source="Corollary 6, square loss",
        statement="Under the conditions of Theorem 5 the network converges to w*·x, with square loss to the least-squares "
        "solution Σ⁻¹β, which is the global minimum.",
        recorded=Verdict.CONFIRMED,
        check=check_regression,
    ),
    Claim(
        name="corollary_6_logistic",
        title="The network ends as a support vector machine",
        paper=ZHANG,
        source="Corollary 6, logistic loss",
        statement="On linearly separable symmetric data with logistic loss, the network converges to the max-margin classifier.",
        recorded=Verdict.CONFIRMED,
        check=check_max_margin,
    ),
    Claim(
        name="stacked_inputs",
        title="A bias is not an input that is always one",
        paper=ZHANG,
        source="Appendix B, implication of bias removal",
        statement="On inputs [x, 1] the network still converges to a max-margin solution, but that of the stacked inputs is not that "
        "of the original data: results on max margins do not extend to networks with bias this way.",
        recorded=Verdict.CONFIRMED,
        check=check_stacked,
    ),
    Claim(
        name="corollary_14",
        title="The time course in closed form",
        paper=ZHANG,
        source="Corollary 14, Eq. 38",
        statement="With white inputs and square loss, w(t) is given in closed form by the starting direction r, s, β̄ and u₀ = "
        "|W₁(0)|.",
        recorded=Verdict.CORRECTED,
        check=check_time_course,
    ),
)
