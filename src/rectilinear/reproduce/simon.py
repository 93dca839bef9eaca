"""Monomials of Gaussian inputs: odd orders above one are out of reach of two layers, not of three."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import datasets, measures
from ..dataset import Dataset
from ..flow import descend
from ..network import Network
from ..plots import style
from ..problem import Problem
from ..trajectory import Trajectory
from .claim import Claim, Evidence, Measurement, Picture, Verdict, at_least, at_most, noted
from .papers import SIMON

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ORDERS = (1, 2, 3, 4, 5)
INPUTS = 5


def scaled_monomial(order: int, samples: int) -> Dataset:
    """The monomial of that order with labels of unit mean square."""
    data = datasets.monomial(order=order, inputs=INPUTS, samples=samples, seed=0)
    return Dataset(data.x, data.y / np.sqrt(np.mean(data.y**2)), data.name, data.promises)


def check_monomials(full: bool) -> Evidence:
    samples, steps = (400, 20_000) if full else (200, 4_000)
    runs: dict[int, tuple[Trajectory, Trajectory]] = {}
    measurements: list[Measurement] = []
    for order in ORDERS:
        data = scaled_monomial(order, samples)
        shallow, deep = _trained(data, (200,), 2.0, steps), _trained(data, (60, 60), 3.0, steps)
        runs[order] = shallow, deep
        floor = measures.linear_fit_loss(data)
        if order in (3, 5):
            measurements += [
                at_least(
                    f"order {order}, two layers: loss over that of linear regression", shallow.loss[-1] / floor, 1 - 1e-9
                ),
                at_most(f"order {order}, three layers: the same", deep.loss[-1] / floor, 0.25),
            ]
        else:
            measurements += [
                at_most(
                    f"order {order}, two layers: loss at the end, in units of the first",
                    shallow.loss[-1] / shallow.loss[0],
                    0.2,
                ),
                noted(f"order {order}, three layers: the same", deep.loss[-1] / deep.loss[0]),
            ]
    return Evidence(
        measurements=tuple(measurements),
        settings={
            "inputs": INPUTS,
            "samples": samples,
            "widths": "200; 60, 60",
            "learning rate": 0.02,
            "steps": steps,
            "seed": 0,
        },
        pictures=(Picture("monomials", CAPTION, _draw(runs)),),
    )


def _trained(data: Dataset, widths: tuple[int, ...], scale: float, steps: int) -> Trajectory:
    network = Network(data.inputs, widths)
    return descend(Problem(data, network, network.init(scale, seed=0)), 0.02, steps, record_every=40)


CAPTION = (
    "Products of 1 to 5 Gaussian inputs on mirrored samples, learned by bias-free ReLU networks of two (left) and three (right) "
    "layers. Two layers learn orders 1, 2 and 4; at orders 3 and 5 they stop at linear regression, which explains next to nothing. "
    "Three layers learn them all."
)


@style.paper
def _draw(runs: dict[int, tuple[Trajectory, Trajectory]]) -> Figure:
    figure, axes = style.panels(7.8, 3.0, columns=2, sharey=True)
    for order, pair in runs.items():
        for ax, run in zip(axes, pair, strict=True):
            ax.plot(run.times, run.loss / run.loss[0], color=style.colour(order - 1), label=f"order {order}")
    for ax, title in zip(axes, ("two layers", "three layers"), strict=True):
        ax.set(xlabel=style.TIME, yscale="log", title=title, ylim=(1e-3, 2.0))
    axes[0].set_ylabel("loss / first loss")
    style.legend_beside(axes[1])
    return figure


CLAIMS = (
    Claim(
        name="monomials",
        title="Odd monomials need three layers",
        paper=SIMON,
        source="Observation, 2025",
        statement="Shallow bias-free ReLU networks cannot learn monomials of odd order three and more; three-layer networks can.",
        recorded=Verdict.CONFIRMED,
        check=check_monomials,
    ),
)
