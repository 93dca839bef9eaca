"""Margins become equal, the loss falls like 1/t, and orthogonal data can be followed in closed form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import datasets
from ...arrays import Array
from ...flow import simulate
from ...long_trajectory import LongTrajectory
from ...measures.coefficients import increment_ratios, loss_slopes
from ...network import Network
from ...plots import style
from ...problem import Problem
from ...theorems import predict
from ..claim import Claim, Evidence, Measurement, Picture, Verdict, at_least, at_most, between, noted
from ..papers import KOU
from .networks import KINDS, LEAK, LOG_TIMES, SETTINGS, data_of, descent, long_run, two_class_problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check_margins(full: bool) -> Evidence:
    measurements: list[Measurement] = []
    ratios: dict[str, Array] = {}
    for kind in KINDS:
        for name, alpha in (("leaky ReLU", LEAK), ("ReLU", 0.0)):
            run = long_run(kind, alpha)
            margins = run.problem.y * run.outputs()
            ratio = margins.max(axis=1) / margins.min(axis=1)
            ratios[f"{name}, {kind}"] = ratio - 1.0
            gaps = margins.max(axis=1) - margins.min(axis=1)
            measurements += [
                at_most(f"{name}, {kind}: largest margin over smallest at t = 10^10000", ratio[-1], 1.001),
                noted(f"{name}, {kind}: the same at t = 10⁴", ratio[5]),
                at_most(f"{name}, {kind}: their difference, t = 10^10000 over t = 10⁶", gaps[-1] / gaps[6], 1.5),
            ]
    return Evidence(
        measurements=tuple(measurements),
        settings=SETTINGS,
        pictures=(Picture("kou_margins", MARGIN_CAPTION, _draw_margins(ratios)),),
        numbers={
            "log10_time": ("time", LOG_TIMES),
            **{name.replace(" ", "_"): ("time", ratio) for name, ratio in ratios.items()},
        },
        remark="Differences stay bounded while margins grow like ln t, so that ratios tend to one, like 1/ln t.",
    )


MARGIN_CAPTION = (
    "The largest margin over the smallest, minus one: it falls like 1/ln t, or faster, on every kind of data and network."
)


@style.paper
def _draw_margins(ratios: dict[str, Array]) -> Figure:
    figure, (ax,) = style.panels(6.0, 3.0)
    for k, (name, ratio) in enumerate(ratios.items()):
        ax.plot(LOG_TIMES[1:], np.maximum(ratio[1:], 1e-12), color=style.colour(k), marker="o", markersize=3, label=name)
    ax.set(xscale="log", yscale="log", xlabel="log₁₀(time / τ)", ylabel="margin ratio − 1", ylim=(1e-8, 10.0))
    style.legend_beside(ax)
    return figure


def check_direction(full: bool) -> Evidence:
    measurements: list[Measurement] = []
    for kind in KINDS:
        for name, alpha in (("leaky ReLU", LEAK), ("ReLU", 0.0)):
            run = long_run(kind, alpha)
            directions = run.weights[0] / np.linalg.norm(run.weights[0], axis=(1, 2), keepdims=True)
            apart = np.linalg.norm(directions[:-1] - directions[-1], axis=(1, 2))
            rate = np.polyfit(np.log(LOG_TIMES[6:-1]), np.log(apart[6:]), 1)[0]
            measurements += [
                at_most(f"{name}, {kind}: W/|W|, t = 10^1000 against t = 10^10000", apart[-1], 0.01),
                between(f"{name}, {kind}: exponent of that distance as a power of ln t", rate, -1.5, -0.7),
            ]
    return Evidence(
        measurements=tuple(measurements),
        settings=SETTINGS,
        remark="The paper leaves it open for ReLU. In these runs the direction converges like 1/ln t for both activation functions; "
        "on orthogonal data its limit is known in closed form.",
    )


def check_loss_rate(full: bool) -> Evidence:
    worst = {
        f"{name}, {kind}": np.abs(loss_slopes(long_run(kind, alpha))[-4:] + 1.0).max()
        for kind in KINDS
        for name, alpha in (("leaky ReLU", LEAK), ("ReLU", 0.0))
    }
    early = loss_slopes(long_run("nearly orthogonal", LEAK))[3]
    network = Network(4, (20,))
    data = datasets.orthogonally_separable(8, 4, seed=0)
    trained = simulate(Problem(data, network, network.init(1e-3, seed=0), "logistic"), log10_times=[100.0, 1000.0, 1e4])
    assert isinstance(trained, LongTrajectory)
    excess = np.diff(trained.log_loss + trained.log10_times * np.log(10.0)) / np.diff(np.log(trained.log10_times))
    return Evidence(
        measurements=(
            *(at_most(f"{name}: d ln L / d ln t + 1 for t > 100, largest", error, 0.02) for name, error in worst.items()),
            noted("leaky ReLU, nearly orthogonal: d ln L / d ln t at t = 10² to 10³", early),
            between("both layers trained: d ln(L t) / d ln ln t", excess[-1], -1.05, -0.95),
        ),
        settings=SETTINGS,
        remark="With both layers trained, which the paper does not treat, the loss falls faster, like 1/(t ln t).",
    )


def check_increments(full: bool) -> Evidence:
    ratios = {
        f"{name}, {kind}": increment_ratios(descent(kind, alpha))
        for kind in KINDS
        for name, alpha in (("leaky ReLU", LEAK), ("ReLU", 0.0))
    }
    return Evidence(
        measurements=tuple(
            measurement
            for name, ratio in ratios.items()
            for measurement in (
                at_least(f"{name}: smallest increment in units of η|ℓ′||x|²/nm", ratio.min(), 0.2),
                at_most(f"{name}: largest", ratio.max(), 3.0),
            )
        ),
        settings={**SETTINGS, "learning rate": "5 and 0.5", "steps": 1500},
        remark="The lower bound is read as η/(5nm); it needs a fifth of the neurons of a class to see each sample.",
    )


def check_closed_form(full: bool) -> Evidence:
    measurements = []
    for name, alpha in (("leaky ReLU", LEAK), ("ReLU", 0.0)):
        problem = two_class_problem(data_of("orthogonal"), alpha)
        times = np.array([1.0, 10.0, 100.0, 1000.0, 1e5])
        run, predicted = simulate(problem, times), predict(problem, times)
        measurements += [
            at_most(
                f"{name}: loss against its closed form, largest relative error",
                np.abs(run.loss / predicted.loss - 1).max(),
                1e-6,
            ),
            at_most(f"{name}: weights, largest error", np.abs(run.weights[0] - predicted.weights[0]).max(), 1e-5),
        ]
    return Evidence(
        measurements=tuple(measurements),
        settings=SETTINGS,
        remark="On orthogonal data every sample runs by a clock of its own, and the whole run is known.",
    )


CLAIMS = (
    Claim(
        name="kou_margins",
        title="All samples get the same margin",
        paper=KOU,
        source="Main result",
        statement="All training samples have the same normalised margin in the limit; differences of margins stay bounded.",
        recorded=Verdict.CONFIRMED,
        check=check_margins,
    ),
    Claim(
        name="kou_direction",
        title="The weights converge in direction",
        paper=KOU,
        source="Beyond the paper: what its main result leaves open",
        statement="The weight matrix W/|W| converges, for ReLU networks too.",
        recorded=Verdict.CONFIRMED,
        check=check_direction,
    ),
    Claim(
        name="kou_loss_rate",
        title="The loss falls like 1/t",
        paper=KOU,
        source="Main result",
        statement="The training loss converges to zero at the rate 1/t.",
        recorded=Verdict.CONFIRMED,
        check=check_loss_rate,
    ),
    Claim(
        name="kou_increments",
        title="Margins of all samples grow alike",
        paper=KOU,
        source="Proof of the main result, bound on increments",
        statement="In each step a margin grows by η/(5nm) to 3η/(nm), times |ℓ′||x|².",
        recorded=Verdict.CONFIRMED,
        check=check_increments,
    ),
    Claim(
        name="kou_orthogonal",
        title="Orthogonal data in closed form",
        paper=KOU,
        source="Appendix on orthogonal data",
        statement="On exactly orthogonal data the run can be followed sample by sample.",
        recorded=Verdict.CONFIRMED,
        check=check_closed_form,
    ),
)
