"""What bias and symmetry have to do with it: biases restored, augmentation, real data, symmetry relaxed step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import datasets, measures
from ...arrays import Array
from ...conditions import asymmetry
from ...dataset import Dataset
from ...flow import descend, simulate
from ...network import Network
from ...plots import style
from ...problem import Problem
from ...theorems.symmetric_data import linear_twin
from ...trajectory import Trajectory
from ..claim import Claim, Evidence, Measurement, Picture, Verdict, at_least, at_most, noted
from ..panels import draw_output, draw_starts, name_samples
from ..papers import ZHANG

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check_bias(full: bool) -> Evidence:
    data = datasets.six_points(delta=0.0)
    runs = []
    for bias in (False, True):
        network = Network(2, (50,), bias=bias)
        problem = Problem(data, network, network.init(0.1, seed=0))
        runs.append(simulate(problem, np.linspace(0.0, 400.0, 201)))
    without, with_bias = runs
    return Evidence(
        measurements=(
            at_least(
                "without bias: loss at the end over linear regression",
                without.loss[-1] / measures.linear_fit_loss(data),
                1 - 1e-9,
            ),
            at_most("with bias: loss at the end", with_bias.loss[-1], 1e-9),
            noted("with bias: time at which that is reached", measures.time_to_loss(with_bias, 1e-9)),
        ),
        settings={"width": 50, "scale": 0.1, "seed": 0},
        pictures=(Picture("bias", BIAS_CAPTION, _draw_bias(without, with_bias)),),
    )


BIAS_CAPTION = (
    "The six points of Figure 2 at δ = 0, perfectly symmetric. Left: without bias the loss stays at that of linear regression for "
    "good; with biases in the first layer it goes to zero. Middle and right: what the two have learned."
)


@style.paper
def _draw_bias(without: Trajectory, with_bias: Trajectory) -> Figure:
    figure, (curves, left, right) = style.panels(10.2, 3.1, columns=3)
    for k, (name, run) in enumerate((("without bias", without), ("with bias", with_bias))):
        curves.plot(run.times, run.loss, color=style.colour(k), label=name)
    curves.set(xlabel=style.TIME, ylabel="loss", ylim=(0.0, None), xlim=(0.0, 200.0))
    curves.legend()
    for ax, run, title in ((left, without, "without bias"), (right, with_bias, "with bias")):
        draw_output(ax, run.problem.network, run.final, run.problem.data)
        ax.set_title(title)
    name_samples(right)
    return figure


def check_augmentation(full: bool) -> Evidence:
    data = datasets.gaussian_teacher(inputs=5, samples=60, neurons=3, seed=1)
    network = Network(5, (60,))
    runs = [
        descend(Problem(chosen, network, network.init(0.1, seed=0)), 0.05, 20_000 if full else 6_000, record_every=10)
        for chosen in (data, data.symmetrised())
    ]
    plain, augmented = runs
    floor = measures.linear_fit_loss(augmented.problem.data)
    return Evidence(
        measurements=(
            at_most(
                "data as they are: loss at the end over linear regression",
                plain.loss[-1] / measures.linear_fit_loss(data),
                0.01,
            ),
            at_least("with (−x, −y) added: the same", augmented.loss[-1] / floor, 1 - 1e-9),
            at_least(
                "with (−x, −y) added: share of the output that is linear", measures.linear_fraction(augmented)[-1], 0.9999
            ),
        ),
        settings={"inputs": 5, "samples": data.samples, "width": 60, "scale": 0.1, "seed": 0},
        pictures=(Picture("augmentation", AUGMENTATION_CAPTION, _draw_augmentation(plain, augmented)),),
        remark="Adding mirror images doubles the data and makes the task impossible: it is the right thing to do only if the truth "
        "is linear.",
    )


AUGMENTATION_CAPTION = (
    "A ReLU teacher learned from 60 samples, and from the same samples with their mirror images (−x, −y): after augmentation the "
    "network stops at linear regression (dotted)."
)


@style.paper
def _draw_augmentation(plain: Trajectory, augmented: Trajectory) -> Figure:
    figure, (ax,) = style.panels(5.2, 2.9)
    for k, (name, run) in enumerate((("as they are", plain), ("augmented", augmented))):
        ax.plot(run.times, run.loss, color=style.colour(k), label=name)
    floor = measures.linear_fit_loss(augmented.problem.data)
    ax.axhline(floor, color="black", linestyle=":", linewidth=1.2, label="linear regression")
    ax.set(xlabel=style.TIME, ylabel="loss", yscale="log")
    style.legend_beside(ax)
    return figure


def check_real(full: bool) -> Evidence:
    measurements: list[Measurement] = []
    shown: dict[str, list[Trajectory]] = {}
    for name in ("digits", "breast_cancer", "diabetes"):
        data = datasets.make(name)
        shown[name] = []
        for chosen in (data, data.symmetrised()):
            network = Network(chosen.inputs, (50,))
            problem = Problem(chosen, network, network.init(1e-3, seed=0))
            steps = 3000 if full else 500
            run, twin = descend(problem, 0.04, steps, 5), descend(linear_twin(problem), 0.02, steps, 5)
            apart = float(np.abs(run.loss - twin.loss).max() / run.loss[0])
            shown[name] += [run, twin]
            if chosen is data:
                measurements += [
                    noted(f"{name}: distance of the data from symmetry", asymmetry(data).distance),
                    noted(f"{name}: largest distance from the linear network's loss curve, relative", apart),
                    noted(f"{name}: share of the output at the end that is linear", measures.linear_fraction(run)[-1]),
                ]
            else:
                linear = measures.linear_fraction(run)[-1]
                measurements.append(at_least(f"{name}, symmetrised: share of the output that is linear", linear, 0.999))
    return Evidence(
        measurements=tuple(measurements),
        settings={"width": 50, "scale": 1e-3, "learning rate": 0.04, "seed": 0},
        pictures=(Picture("real_data", REAL_CAPTION, _draw_real(shown)),),
        remark="Centred real data are far from symmetric (1/√2 is the distance of data without any mirror image), and still what "
        "the network learns first is mostly linear; once mirror images are added it is all there is.",
    )


REAL_CAPTION = (
    "Two handwritten digits, tumours, and diabetes, all centred: loss of a ReLU network (colour) and of its linear twin (dashed), "
    "on the data as they are (blue) and with mirror images added (orange), against the linear network's time."
)


@style.paper
def _draw_real(shown: dict[str, list[Trajectory]]) -> Figure:
    figure, axes = style.panels(10.8, 2.8, columns=3)
    for ax, (name, (plain, plain_twin, symmetric, symmetric_twin)) in zip(axes, shown.items(), strict=True):
        for k, (label, run, twin) in enumerate(
            (("as they are", plain, plain_twin), ("mirrored", symmetric, symmetric_twin))
        ):
            ax.plot(twin.times, run.loss, color=style.colour(k), label=label)
            dashes = ax.plot(twin.times, twin.loss, **style.PREDICTION)
        ax.set(xlabel="(α + 1)/2 · time / τ", title=name.replace("_", " "), ylim=(0.0, None))
    axes[0].set_ylabel("loss")
    dashes[0].set_label("linear twin")
    style.legend_beside(axes[2])
    return figure


def nearly_mirrored(epsilon: float, seed: int) -> Dataset:
    """50 inputs and their mirror images moved by epsilon times Gaussian noise, with an odd target."""
    rng = np.random.default_rng(seed)
    half, w, noise = rng.standard_normal((50, 5)), rng.uniform(-0.75, 0.75, 5), rng.standard_normal((50, 5))
    x = np.concatenate([half, -half + epsilon * noise])
    return Dataset(x, x @ w + np.sin(4.0 * x @ w), f"mirrored up to {epsilon:g}")


def check_relaxed(full: bool) -> Evidence:
    epsilons = np.array([0.0, 0.1, 0.2, 0.4, 0.8, 1.6])
    seeds = range(8 if full else 3)
    gains, distances = np.empty((len(epsilons), len(seeds))), np.empty((len(epsilons), len(seeds)))
    for i, epsilon in enumerate(epsilons):
        for seed in seeds:
            data = nearly_mirrored(float(epsilon), seed)
            network = Network(5, (100,))
            run = descend(Problem(data, network, network.init(1e-2, seed)), 0.05, 8_000 if full else 2_000, record_every=500)
            gains[i, seed] = 1.0 - run.loss[-1] / measures.linear_fit_loss(data)
            distances[i, seed] = asymmetry(data).distance
    gain, distance = np.median(gains, axis=1), np.median(distances, axis=1)
    return Evidence(
        measurements=(
            at_most("ε = 0: loss below linear regression, relative", gain[0], 1e-9),
            at_most("ε = 0.1: the same", gain[1], 0.02),
            at_least("ε = 0.8: the same", gain[4], 0.1),
            noted("distance from symmetry where it first exceeds 5 %", distance[np.argmax(gain > 0.05)]),
        ),
        settings={"inputs": 5, "samples": 100, "width": 100, "scale": 1e-2, "seeds": len(seeds)},
        pictures=(Picture("relaxed_symmetry", RELAXED_CAPTION, _draw_relaxed(distances, gains)),),
        numbers={
            "gain": (("epsilon", "seed"), gains),
            "distance": (("epsilon", "seed"), distances),
            "epsilon": ("epsilon", epsilons),
        },
    )


RELAXED_CAPTION = (
    "Symmetry relaxed step by step: mirror images are moved by ε times Gaussian noise. How far below linear regression the network "
    "gets by a fixed time, against the distance of the data from symmetry: nothing at zero, little while the distance is small, "
    "much beyond."
)


@style.paper
def _draw_relaxed(distances: Array, gains: Array) -> Figure:
    figure, (ax,) = style.panels(5.6, 2.9)
    draw_starts(ax, distances, 100.0 * gains)
    ax.set(xlabel="distance of the data from symmetry", ylabel="below linear regression (%)", ylim=(0.0, None))
    style.legend_beside(ax)
    return figure


CLAIMS = (
    Claim(
        name="bias_restored",
        title="Biases restored",
        paper=ZHANG,
        source="Discussion",
        statement="Bias terms are essential for nonlinear tasks: symmetric data that a bias-free two-layer network cannot fit are "
        "learned once biases are trained.",
        recorded=Verdict.CONFIRMED,
        check=check_bias,
    ),
    Claim(
        name="augmentation",
        title="A pitfall of data augmentation",
        paper=ZHANG,
        source="Section 1.1, on augmented data",
        statement="Adding the mirror image (−x, −y) of every sample makes a two-layer bias-free network behave like a linear one, "
        "also on data that it would have learned.",
        recorded=Verdict.CONFIRMED,
        check=check_augmentation,
    ),
    Claim(
        name="real_data",
        title="Real data with approximate symmetry",
        paper=ZHANG,
        source="Beyond the paper: its Condition 3 on real data",
        statement="On centred real data, which satisfy the symmetry at best approximately, the network behaves like a linear one "
        "to the extent that they do.",
        recorded=Verdict.CONFIRMED,
        check=check_real,
    ),
    Claim(
        name="relaxed_symmetry",
        title="Symmetry relaxed until nonlinear dynamics emerge",
        paper=ZHANG,
        source="Beyond the paper: its Condition 3 relaxed",
        statement="As the symmetry of the data is relaxed, nonlinear solutions emerge gradually.",
        recorded=Verdict.CONFIRMED,
        check=check_relaxed,
    ),
)
