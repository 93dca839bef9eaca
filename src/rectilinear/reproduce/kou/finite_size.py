"""Corrections to the asymptotic stable ranks: how wide a network and how late a time they need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import datasets, measures
from ...arrays import Array
from ...flow import simulate
from ...long_trajectory import LongTrajectory
from ...plots import style
from ...problem import Problem
from ...reduced.stable_rank import stable_rank_of
from ...sweep import sweep
from ...theorems.fixed_layer import logarithmic_rates
from ..claim import Claim, Evidence, Form, Picture, Verdict, at_most, between, noted
from ..papers import KOU
from .networks import LEAK, two_class_problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure


CLASS_SIZE, INPUTS = 5, 20
LATE = 1e4  # log10 of a time at which the limit is reached to 1e-4
TIMES = np.array([2.0, 4.0, 10.0, 30.0, 1e2, 1e3, 1e4])
CLASS_SIZES, WIDE = (2, 5, 20, 100), 1000  # samples and neurons per class of the networks whose limits are averaged


def check_finite_size(full: bool) -> Evidence:
    half_widths = (4, 8, 16, 32, 64, 128) if full else (4, 16, 32)
    seeds = range(6 if full else 2)
    found = sweep(
        _orthogonal, {"half_width": half_widths, "seed": seeds}, [_rank, _limit], jobs=0, run={"log10_times": [LATE]}
    )
    relu, predicted = found["_rank"].values, found["_limit"].values
    wide = {n: _mean_limit(n, WIDE, draws=50) for n in CLASS_SIZES}
    leaky = np.array([_leaky_excess(m) for m in half_widths])
    rates = [np.polyfit(np.log(TIMES[3:]), np.log(row[3:]), 1)[0] for row in leaky]
    return Evidence(
        measurements=(
            between(
                f"ReLU, {half_widths[-1]} neurons and 5 samples per class: stable rank, mean", relu[-1].mean(), 1.9, 2.1
            ),
            at_most(
                "ReLU, all runs: stable rank at t = 10^10000 against its limit in closed form, largest error",
                np.abs(relu - predicted).max(),
                1e-3,
                Form.CORRECTED,
            ),
            at_most(
                "ReLU, 1000 neurons and n samples per class: mean limit against 2n/(n + 1), largest error",
                max(abs(mean - _many_neurons(n)) for n, mean in wide.items()),
                0.02,
                Form.CORRECTED,
            ),
            *(noted(f"ReLU, 1000 neurons and {n} samples per class: mean limit", mean) for n, mean in wide.items()),
            noted("ReLU, 8 neurons and 5 samples per class: mean limit", _mean_limit(CLASS_SIZE, 8, draws=200)),
            between(
                "leaky ReLU, every width: exponent of rank − 1 in ln t, smallest", min(rates), -2.2, -1.8, Form.CORRECTED
            ),
            between("largest", max(rates), -2.2, -1.8, Form.CORRECTED),
        ),
        settings={
            "neurons per class": list(half_widths),
            "samples per class": CLASS_SIZE,
            "inputs": INPUTS,
            "scale": 0.1,
            "leak": LEAK,
            "seeds": len(seeds),
        },
        pictures=(Picture("kou_finite_size", CAPTION, _draw(half_widths, wide, leaky)),),
        numbers={
            "relu_rank": (("width", "seed"), relu),
            "relu_limit": (("width", "seed"), predicted),
            "leaky_excess": (("width", "time"), leaky),
            "width": ("width", np.array(half_widths)),
            "log10_time": ("time", TIMES),
        },
        remark="For ReLU the gap to 2 is no matter of time and little one of width: n samples per class leave 2n/(n + 1), give or take "
        "what the pattern of the start makes of it, and a width of m adds about 1/m of that. For leaky ReLU the width does not "
        "matter; what is left above 1 falls like 1/ln² t, so that it is still visible at any time that can be reached by steps.",
    )


def _many_neurons(class_size: int) -> float:
    return 2.0 * class_size / (class_size + 1.0)


def _orthogonal(half_width: int, seed: int) -> Problem:
    """A ReLU network on orthogonal samples of equal length."""
    return two_class_problem(datasets.orthogonal(2 * CLASS_SIZE, INPUTS, seed=seed), 0.0, 2 * half_width, seed)


def _rank(run: LongTrajectory) -> float:
    """Stable rank of W_+ at the end."""
    return float(measures.stable_rank_by_sign(run)[-1][0])


def _limit(run: LongTrajectory) -> float:
    """The same at infinity, in closed form."""
    return stable_rank_of(logarithmic_rates(run.problem)[run.problem.weights[1][0] > 0])


def _mean_limit(class_size: int, half_width: int, draws: int) -> float:
    """The limit of the stable rank on orthogonal samples of equal length, averaged over starts.

    The limit of w_r.x_i / ln t is 1[active] m / n_active,i, for samples i of the neuron's own class.
    """
    found = []
    for seed in range(draws):
        active = np.random.default_rng(seed).standard_normal((half_width, class_size)) > 0
        found.append(stable_rank_of(active * (half_width / np.maximum(active.sum(axis=0), 1))))
    return float(np.mean(found))


def _leaky_excess(half_width: int) -> Array:
    """Stable rank of W_+ minus one, at the times, of a leaky ReLU network on nearly orthogonal samples."""
    data = datasets.nearly_orthogonal(2 * CLASS_SIZE, 200, seed=1)
    run = simulate(two_class_problem(data, LEAK, 2 * half_width), log10_times=TIMES)
    assert isinstance(run, LongTrajectory)
    return measures.stable_rank_by_sign(run)[:, 0] - 1.0


CAPTION = (
    "How far stable ranks are from their asymptotic values. Left: ReLU on orthogonal samples, mean limit of wide networks (dots) "
    "and 2n/(n + 1) (line): few samples leave less than 2. Right: leaky ReLU, rank minus one over time for several numbers m of "
    "neurons per class: it falls like 1/ln² t (dotted), whatever the width."
)


@style.paper
def _draw(half_widths: tuple[int, ...], wide: dict[int, float], leaky: Array) -> Figure:
    figure, (left, right) = style.panels(7.6, 3.0, columns=2)
    grid = np.geomspace(min(wide), max(wide), 50)
    left.plot(grid, 2.0 * grid / (grid + 1.0), color="black", linewidth=1.2, label="2n/(n + 1)")
    left.plot(list(wide), list(wide.values()), color=style.colour(0), linestyle="", marker="o", markersize=5, label="limit")
    left.set(xscale="log", xlabel="samples per class", ylabel="stable rank, ReLU", ylim=(1.0, 2.1))
    left.set_xticks(list(wide), labels=[str(samples) for samples in wide])
    left.minorticks_off()
    left.legend(loc="lower right")
    for k, (m, excess) in enumerate(zip(half_widths, leaky, strict=True)):
        right.plot(TIMES, excess, color=style.colour(k), marker="o", markersize=3, label=f"m = {m}")
    law = 3.0 * leaky[0, -1] * (TIMES[-1] / TIMES) ** 2
    right.plot(TIMES, law, color="black", linestyle=":", linewidth=1.2, label="1 / ln² t")
    right.set(xscale="log", yscale="log", xlabel="log₁₀(time / τ)", ylabel="stable rank − 1, leaky ReLU")
    style.legend_beside(right)
    return figure


CLAIMS = (
    Claim(
        name="kou_finite_size",
        title="Stable ranks at finite width and time",
        paper=KOU,
        source="Beyond the paper: its main result at finite size",
        statement="Asymptotic stable ranks (1 for leaky ReLU; about 2 for ReLU on orthogonal data) are what finite networks show, up "
        "to corrections.",
        recorded=Verdict.CORRECTED,
        check=check_finite_size,
    ),
)
