"""v3, Appendices C.4 to C.6: the equivalence under L2 regularisation, from large weights and with large steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import datasets
from ...arrays import Array
from ...dataset import Dataset
from ...flow import descend, simulate
from ...network import Network
from ...plots import style
from ...problem import Problem
from ...theorems import predict
from ...theorems.symmetric_data import linear_twin
from ...trajectory import Trajectory
from ..claim import Claim, Evidence, Measurement, Picture, Verdict, at_most, between, noted
from ..panels import draw_starts
from ..papers import ZHANG
from .equivalence import FLOW, STEPS, aligned, flows_apart, mixed_labels, steps_apart, uneven_data, weights_apart

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check_decay(full: bool) -> Evidence:
    measurements: list[Measurement] = []
    for loss, data in (("square", uneven_data()), ("logistic", mixed_labels())):
        for alpha in (0.0, 0.3):
            problem = aligned(data, alpha, loss, l2=0.02)
            error, run, _ = flows_apart(problem)
            c, clock = problem.network.mean_slope, np.linspace(0.0, 12.0, 25)
            twin = linear_twin(problem)
            same = Problem(twin.data, twin.network, twin.weights, twin.loss, problem.l2)
            naive = weights_apart(run, simulate(same, clock, rtol=1e-11, method="smooth"), c)
            measurements += [
                at_most(f"{loss} loss, α = {alpha:g}: weights, linear twin with λ/c", error, FLOW),
                noted(f"{loss} loss, α = {alpha:g}: the same with λ unchanged", naive),
            ]
    data = uneven_data()
    threshold = 0.5 * float(np.linalg.norm(data.correlation))
    ends = [_end_with_decay(data, factor * threshold) for factor in (0.9, 1.1)]
    return Evidence(
        measurements=(
            *measurements,
            at_most("ReLU, λ 10 % above (α+1)s/2: norm of the linear map at the end", ends[1], 1e-3),
            noted("λ 10 % below: the same", ends[0]),
        ),
        settings={"samples": 120, "width": 40, "scale": 0.1, "l2": 0.02, "seed": 1},
        remark="The equivalence survives, if the linear network is regularised with λ/c = 2λ/(α+1). The network dies, w = 0, "
        "exactly from λ = (α+1)s/2 on.",
    )


def _end_with_decay(data: Dataset, l2: float) -> float:
    run = simulate(aligned(data, 0.0, "square", l2=l2), [400.0], rtol=1e-6, method="smooth")
    return float(np.linalg.norm(run.linear_map[-1]))


def check_large_start(full: bool) -> Evidence:
    data = uneven_data()
    exact = max(flows_apart(aligned(data, 0.0, "square", scale=scale))[0] for scale in (1.0, 3.0))
    scales = np.geomspace(1e-4, 3.0, 10 if full else 4)
    seeds = range(8 if full else 3)
    apart = np.array([[_random_start_apart(data, float(scale), seed) for seed in seeds] for scale in scales])
    typical = np.median(apart, axis=1)
    return Evidence(
        measurements=(
            at_most("aligned weights of norm 1 and 3: largest relative error of the weights", exact, FLOW),
            at_most("random weights of norm 10⁻⁴: largest distance of loss curves, relative", typical[0], 0.05),
            noted("random weights of norm 3: the same", typical[-1]),
        ),
        settings={"samples": 120, "width": 100, "scales": f"{scales[0]:g} to {scales[-1]:g}", "seeds": len(seeds)},
        pictures=(Picture("large_start", LARGE_CAPTION, _draw_scales(scales, apart)),),
        numbers={"distance": (("scale", "seed"), apart), "scale": ("scale", scales)},
        remark="For aligned weights the size does not matter at all. For random weights it does: small ones align while they "
        "grow, large ones keep their even part, and the curves diverge.",
    )


def _random_start_apart(data: Dataset, scale: float, seed: int) -> float:
    """Largest distance of the loss curve of gradient descent from the linear twin's, relative to the largest loss."""
    network = Network(data.inputs, (100,))
    problem = Problem(data, network, network.init(scale, seed))
    run = descend(problem, 0.04, 1200, record_every=10)
    twin = descend(linear_twin(problem), 0.02, 1200, record_every=10)
    return float(np.abs(run.loss - twin.loss).max() / twin.loss.max())


LARGE_CAPTION = (
    "Largest distance between the loss curves of a ReLU network and of its linear twin, for random starts of different size. "
    "From small weights it is set by the imbalance of positive and negative neurons, from large ones by the even part that "
    "they have from the beginning."
)


@style.paper
def _draw_scales(scales: Array, apart: Array) -> Figure:
    figure, (ax,) = style.panels(5.6, 3.0)
    draw_starts(ax, np.broadcast_to(scales[:, None], apart.shape), 100.0 * apart)
    ax.set(xscale="log", yscale="log", xlabel="norm of the starting weights", ylabel="distance of the loss curves (%)")
    ax.set_ylim(0.05, 20.0)
    ax.set_yticks((0.1, 1.0, 10.0), ("0.1", "1", "10"))
    style.legend_beside(ax)
    return figure


def check_large_rate(full: bool) -> Evidence:
    data = datasets.sine_teacher(inputs=20, pairs=200)
    network = Network(20, (100,))
    problem = Problem(data, network, network.init(1e-3, seed=0))
    sharpest = 2.0 / (2.0 * float(np.linalg.norm(data.correlation)))  # where the minimum loses its stability, roughly
    rates = [0.004, 0.1 * sharpest, 0.5 * sharpest, 0.9 * sharpest]
    exact = [steps_apart(aligned(data, 0.0, "square"), rate, steps=200) for rate in rates]
    runs = {rate: descend(problem, rate, int(np.ceil(40.0 / rate)), record_every=1) for rate in rates[1:]}
    limit = predict(problem, [np.inf]).loss[-1]
    excess = [run.loss[-1] - limit for run in runs.values()]
    return Evidence(
        measurements=(
            *(
                at_most(f"aligned weights, rate {rate:.3g}: largest relative error", error, STEPS)
                for rate, error in zip(rates, exact, strict=True)
            ),
            at_most("random small weights, three large rates: loss at the end above its limit", max(excess), 1e-4),
            between("largest rate in units of 1/s", rates[-1] * float(np.linalg.norm(data.correlation)), 0.5, 1.0),
        ),
        settings={"inputs": 20, "samples": data.samples, "width": 100, "learning rates": rates, "seed": 0},
        pictures=(Picture("large_rate", RATE_CAPTION, _draw_rates(problem, runs)),),
        remark="From aligned weights the equivalence is an identity of each step, so it holds at any rate at which gradient "
        "descent itself does not blow up.",
    )


RATE_CAPTION = (
    "Gradient descent from small random weights at large learning rates (dots, in units of 1/s), against gradient flow "
    "(black). Large steps lag behind in the exponential growth, and end in the same place."
)


@style.paper
def _draw_rates(problem: Problem, runs: dict[float, Trajectory]) -> Figure:
    s = float(np.linalg.norm(problem.data.correlation))
    figure, (ax,) = style.panels(5.0, 3.0)
    times = np.linspace(0.0, 40.0, 161)
    ax.plot(times, predict(problem, times).loss, color="black", linewidth=1.2, label="flow (theory)")
    for k, (rate, run) in enumerate(runs.items()):
        look: dict[str, Any] = {"color": style.colour(k), "marker": "o", "markersize": 3.0, "linewidth": 0.8}
        ax.plot(run.times, run.loss, **look, label=f"rate {rate * s:.2g}/s", markevery=max(1, len(run) // 60))
    ax.set(xlabel=style.TIME, ylabel="loss", ylim=(0.0, None), xlim=(0.0, 40.0))
    style.legend_beside(ax)
    return figure


CLAIMS = (
    Claim(
        name="l2_regularisation",
        title="L2 regularisation",
        paper=ZHANG,
        source="v3, Appendix C.4",
        statement="The equivalence survives L2 regularisation.",
        recorded=Verdict.CONFIRMED,
        check=check_decay,
    ),
    Claim(
        name="large_start",
        title="Large initialisation",
        paper=ZHANG,
        source="v3, Appendix C.5",
        statement="The equivalence survives large weights at the start.",
        recorded=Verdict.CONFIRMED,
        check=check_large_start,
    ),
    Claim(
        name="large_rate",
        title="Moderately large learning rates",
        paper=ZHANG,
        source="v3, Appendix C.6",
        statement="The equivalence survives learning rates far from those of gradient flow.",
        recorded=Verdict.CONFIRMED,
        check=check_large_rate,
    ),
)
