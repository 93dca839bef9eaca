"""Section 3: what two-layer bias-free networks can express, and what a third layer adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import datasets, measures
from ...arrays import Array
from ...dataset import Dataset
from ...flow import descend
from ...network import Network, odd_nonlinear_network
from ...plots import style
from ...problem import Problem
from ...trajectory import Trajectory
from ..claim import Claim, Evidence, Measurement, Picture, Verdict, at_least, at_most, noted
from ..panels import draw_output
from ..papers import ZHANG

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALPHAS = (0.0, 0.3, 0.9)
ROUNDING = 1e-12


def check_homogeneous(full: bool) -> Evidence:
    rng = np.random.default_rng(0)
    draws = 200 if full else 40
    errors = []
    for draw in range(draws):
        widths = tuple(int(width) for width in rng.integers(4, 9, 1 + draw % 4))
        network = Network(3, widths, ALPHAS[draw % len(ALPHAS)])
        weights, x, factor = network.init(1.0, seed=draw), rng.standard_normal((50, 3)), float(rng.uniform(0.01, 100.0))
        scaled, expected = network.output(weights, factor * x), factor * network.output(weights, x)
        errors.append(np.abs(scaled - expected).max() / np.abs(expected).max())
    biased = Network(3, (8,), bias=True)
    weights, x = biased.init(1.0, seed=0), rng.standard_normal((50, 3))
    far = np.abs(biased.output(weights, 2.0 * x) - 2.0 * biased.output(weights, x)).max()
    return Evidence(
        measurements=(
            at_most("f(ax) against a·f(x), two to five layers, largest relative error", np.max(errors), ROUNDING),
            noted("with biases: the same, absolute, a = 2", far),
        ),
        settings={"random networks": draws, "layers": "2 to 5", "alpha": list(ALPHAS), "seed": 0},
    )


def check_split(full: bool) -> Evidence:
    rng = np.random.default_rng(0)
    draws = 400 if full else 60
    odd, even = [], []
    for draw in range(draws):
        inputs, width = (int(size) for size in rng.integers(1, 12, 2))
        network = Network(inputs, (width,), ALPHAS[draw % len(ALPHAS)])
        weights = network.init(1.0, seed=draw)
        x = rng.standard_normal((50, inputs))
        here, there = network.output(weights, x), network.output(weights, -x)
        size = np.abs(here).max()
        odd.append(np.abs((here - there) / 2 - x @ network.linear_part(weights)).max() / size)
        even.append(np.abs((here + there) / 2 - network.even_part(weights, x)).max() / size)
    return Evidence(
        measurements=(
            at_most("odd part against (α+1)/2 · W₂W₁x, largest relative error", max(odd), ROUNDING),
            at_most("even part against (1−α)/2 · Σ a|w·x|, largest relative error", max(even), ROUNDING),
        ),
        settings={"random networks": draws, "inputs and widths": "1 to 11", "alpha": list(ALPHAS), "seed": 0},
    )


def check_odd_is_linear(full: bool) -> Evidence:
    rng = np.random.default_rng(1)
    residuals = []
    for alpha in ALPHAS:
        network = Network(6, (40,), alpha)
        first, second = Network(6, (20,), alpha).init(1.0, seed=2)
        weights = (np.concatenate([first, -first]), np.concatenate([second, -second], axis=1))  # g(x) - g(-x), odd
        x = rng.standard_normal((200, 6))
        f = network.output(weights, x)
        linear = x @ np.linalg.lstsq(x, f, rcond=None)[0]
        residuals.append(np.abs(f - linear).max() / np.abs(f).max())
    below = [_excess_over_regression(seed) for seed in range(10 if full else 3)]
    return Evidence(
        measurements=(
            at_most("odd two-layer networks against their best linear fit, relative", max(residuals), ROUNDING),
            at_least("loss of wide trained networks above linear regression, smallest", min(below), -ROUNDING),
        ),
        settings={"width of the trained networks": 200, "scale": 1.0, "seeds": len(below)},
        remark="The trained networks start large, far from any theory of their dynamics: on an odd target over even inputs "
        "not even they get below the loss of linear regression.",
    )


def _excess_over_regression(seed: int) -> float:
    data = datasets.sine_teacher(inputs=5, pairs=60, seed=seed)
    network = Network(5, (200,))
    run = descend(Problem(data, network, network.init(3.0, seed)), learning_rate=0.02, steps=600, record_every=100)
    return float(run.loss.min() - measures.linear_fit_loss(data))


def check_three_layers(full: bool) -> Evidence:
    x = np.random.default_rng(0).standard_normal((500, 2))
    measurements: list[Measurement] = []
    for alpha in (0.0, 0.3):
        network, weights = odd_nonlinear_network(alpha)
        at_corners = network.output(weights, [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        bend = at_corners[0] + at_corners[1] - at_corners[2]
        oddness = np.abs(network.output(weights, x) + network.output(weights, -x)).max()
        measurements += [
            at_most(f"α = {alpha:g}: |g(x) + g(−x)|, largest", oddness, ROUNDING),
            at_most(f"α = {alpha:g}: g(e₁) + g(e₂) − g(e₁+e₂) against (1−α)²", abs(bend - (1 - alpha) ** 2), ROUNDING),
        ]
    network, weights = odd_nonlinear_network(0.0)
    half = x[:60]
    data = Dataset(np.concatenate([half, -half]), network.output(weights, np.concatenate([half, -half])), "equation 3")
    shallow, deep = _trained(data, (60,), full), _trained(data, (30, 30), full)
    floor = measures.linear_fit_loss(data)
    return Evidence(
        measurements=(
            *measurements,
            noted("loss of linear regression on g", floor),
            at_least("two layers: loss at the end over that of linear regression", shallow.loss[-1] / floor, 1.0 - ROUNDING),
            at_most("three layers: loss at the end over that of linear regression", deep.loss[-1] / floor, 0.05),
        ),
        settings={"samples": data.samples, "widths": "60; 30, 30", "scale": 2.0, "seed": 0},
        pictures=(Picture("equation_3", CAPTION, _draw(network, weights, shallow, deep, floor)),),
        numbers={"two_layers": ("time", shallow.loss), "three_layers": ("time", deep.loss), "time": ("time", deep.times)},
    )


def _trained(data: Dataset, widths: tuple[int, ...], full: bool) -> Trajectory:
    network = Network(2, widths)
    problem = Problem(data, network, network.init(2.0, seed=0))
    return descend(problem, learning_rate=0.05, steps=20_000 if full else 4_000, record_every=40)


CAPTION = (
    "Left: the odd function g of Eq. 3 over the plane, zero on two sectors and linear on four others. Right: trained on "
    "it, a two-layer network stops at the loss of linear regression (dotted); a three-layer network goes below."
)


@style.paper
def _draw(network: Network, weights: tuple[Array, ...], shallow: Trajectory, deep: Trajectory, floor: float) -> Figure:
    figure, (field, curves) = style.panels(7.4, 3.1, columns=2)
    draw_output(field, network, weights)
    curves.plot(shallow.times, shallow.loss, color=style.colour(0), label="two layers")
    curves.plot(deep.times, deep.loss, color=style.colour(1), label="three layers")
    curves.axhline(floor, color="black", linestyle=":", linewidth=1.2, label="linear regression")
    curves.set(xlabel=style.TIME, ylabel="loss", yscale="log")
    curves.legend()
    return figure


CLAIMS = (
    Claim(
        name="homogeneity",
        title="Bias-free networks scale with their inputs",
        paper=ZHANG,
        source="Section 3",
        statement="Bias-free (leaky) ReLU networks of any depth express only positively homogeneous functions, f(ax) = a f(x) for "
        "a > 0.",
        recorded=Verdict.CONFIRMED,
        check=check_homogeneous,
    ),
    Claim(
        name="theorem_1",
        title="A two-layer network is linear plus even",
        paper=ZHANG,
        source="Theorem 1, Eq. 2",
        statement="Every two-layer bias-free (leaky) ReLU network is the sum of a linear function, (α+1)/2 · W₂W₁x, and an even "
        "function that grows linearly along rays.",
        recorded=Verdict.CONFIRMED,
        check=check_split,
    ),
    Claim(
        name="corollary_2",
        title="Odd two-layer networks are linear",
        paper=ZHANG,
        source="Corollary 2",
        statement="Two-layer bias-free (leaky) ReLU networks express no odd function but the linear ones.",
        recorded=Verdict.CONFIRMED,
        check=check_odd_is_linear,
    ),
    Claim(
        name="equation_3",
        title="A third layer expresses odd functions that are not linear",
        paper=ZHANG,
        source="Section 3.2, Eq. 3",
        statement="σ(σ(x₁)−σ(x₂)) − σ(σ(−x₁)−σ(−x₂)) is odd and not linear, and a three-layer bias-free network: depth "
        "separates what bias-free networks express.",
        recorded=Verdict.CONFIRMED,
        check=check_three_layers,
    ),
)
