"""v3: XOR and orthogonal inputs, where a ReLU network is several linear networks side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import datasets, measures
from ...arrays import Array
from ...dataset import Dataset
from ...flow import simulate
from ...network import Network
from ...plots import style
from ...prediction import Prediction
from ...problem import Problem
from ...theorems import predict
from ...trajectory import Trajectory
from ..claim import Claim, Evidence, Measurement, Picture, Verdict, at_most, between, noted, written
from ..papers import ZHANG

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Shown = dict[str, tuple[Trajectory, Prediction]]

SCALES = (1e-3, 1e-6)


def _held_against_theory(data: Dataset, network: Network, times: Array, threshold: float) -> tuple[Shown, list[Measurement]]:
    """Simulation and prediction by loss and scale, with the largest distance of their losses."""
    shown: Shown = {}
    measurements: list[Measurement] = []
    for loss in ("square", "logistic"):
        for scale in SCALES:
            problem = Problem(data, network, network.init(scale, seed=0), loss)
            run, predicted = simulate(problem, times), predict(problem, times)
            setting = f"{loss} loss, scale {written(scale)}"
            shown[setting] = run, predicted
            error = np.abs(run.loss - predicted.loss).max()
            measurements.append(at_most(f"{setting}: theory against simulation", error, threshold))
    return shown, measurements


def check_xor(full: bool) -> Evidence:
    data = datasets.xor()
    network = Network(2, (60,))
    times = np.linspace(0.0, 120.0, 121)
    shown, measurements = _held_against_theory(data, network, times, 1e-5)
    run = shown[f"square loss, scale {written(SCALES[-1])}"][0]
    rays = run.final[0][np.linalg.norm(run.final[0], axis=1) > 1e-2]
    cosines = np.abs(rays @ data.x.T) / np.outer(np.linalg.norm(rays, axis=1), np.linalg.norm(data.x, axis=1))
    return Evidence(
        measurements=(
            *measurements,
            at_most("square loss: loss at the end", run.loss[-1], 1e-6),
            between("directions of neurons at the end", measures.distinct_directions(network, run.final), 4, 4),
            at_most(
                "angle of large neurons to the nearest sample, degrees",
                np.degrees(np.arccos(min(1.0, cosines.max(1).min()))),
                0.01,
            ),
        ),
        settings={"width": 60, "scales": list(SCALES), "seed": 0},
        pictures=(Picture("xor", XOR_CAPTION, _draw(shown)),),
        remark="The target is even, not odd, so two layers can learn it. Neurons slide along the kinks onto the rays of the "
        "four samples, where they form four linear networks of one sample each that never interact.",
    )


def check_orthogonal(full: bool) -> Evidence:
    data = datasets.orthogonal(samples=6, inputs=8, seed=0)
    network = Network(8, (60,))
    times = np.linspace(0.0, 300.0, 121)
    shown, measurements = _held_against_theory(data, network, times, 1e-4)
    run = shown[f"square loss, scale {written(SCALES[-1])}"][0]
    return Evidence(
        measurements=(*measurements, at_most("square loss: loss at the end", run.loss[-1], 1e-10), noted("samples", 6)),
        settings={"inputs": 8, "samples": 6, "width": 60, "scales": list(SCALES), "seed": 0},
        pictures=(Picture("orthogonal", ORTHOGONAL_CAPTION, _draw(shown)),),
        remark="Positive neurons learn the positive samples and negative ones the others, without interaction; among them those "
        "that see all samples of their class win the more clearly the smaller the start.",
    )


XOR_CAPTION = (
    "XOR learned by a two-layer bias-free ReLU network: loss simulated through all kinks (colour) and by the theory of four "
    "linear networks of one sample each (dashed)."
)
ORTHOGONAL_CAPTION = (
    "Six orthogonal samples with labels ±1: loss simulated (colour) and by the theory of one linear network for each sign and set "
    "of active samples (dashed)."
)


@style.paper
def _draw(shown: dict[str, tuple[Trajectory, Prediction]]) -> Figure:
    figure, (ax,) = style.panels(5.8, 3.0)
    for k, (name, (run, predicted)) in enumerate(shown.items()):
        ax.plot(run.times, run.loss, color=style.colour(k), label=name)
        dashes = ax.plot(predicted.times, predicted.loss, **style.PREDICTION)
    dashes[0].set_label("theory")
    ax.set(xlabel=style.TIME, ylabel="loss", ylim=(0.0, None))
    style.legend_beside(ax)
    return figure


CLAIMS = (
    Claim(
        name="xor",
        title="XOR: four linear networks",
        paper=ZHANG,
        source="v3, XOR",
        statement="On XOR a two-layer bias-free ReLU network learns a nonlinear solution; its neurons split into groups that "
        "each train as a linear network.",
        recorded=Verdict.CONFIRMED,
        check=check_xor,
    ),
    Claim(
        name="orthogonal_inputs",
        title="Orthogonal inputs: a linear network for each class",
        paper=ZHANG,
        source="v3, orthogonal inputs",
        statement="On orthogonal inputs the network trains as linear networks side by side, those of positive neurons on the "
        "positive samples and those of negative neurons on the negative ones.",
        recorded=Verdict.CONFIRMED,
        check=check_orthogonal,
    ),
)
