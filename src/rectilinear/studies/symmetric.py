"""Symmetric separable data, logistic loss: does a (leaky) ReLU network end at the hard-margin SVM?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..measures import even_fraction
from ..plots import style
from ..reduced.max_margin import max_margin
from .problems import far_run, separable_gaussian, trained_problem
from .study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure


LOG10_TIMES = np.array([2.0, 10.0, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7])
SLOPES = (0.0, 0.3)  # on the negative side
SCALES = (1e-3, 1.0)  # of the starting weights
WIDTH = 20
PROBES = 200  # inputs, other than the samples, on which the even part is measured


def symmetric_margin(seeds: int = 20) -> Study:
    """The direction of the linear part against the hard-margin SVM, and the size of the even part, far out in log t."""
    settings = [(alpha, scale) for alpha in SLOPES for scale in SCALES]
    angles = np.empty((len(settings), seeds, len(LOG10_TIMES)))
    evens = np.empty_like(angles)
    for k, (alpha, scale) in enumerate(settings):
        for seed in range(seeds):
            angles[k, seed], evens[k, seed] = _course(alpha, scale, seed)
    rates = [
        np.polyfit(np.log(LOG10_TIMES[3:]), np.log(np.median(angles[k], axis=0)[3:]), 1)[0] for k in range(len(settings))
    ]
    worst = angles[:, :, -1].max()
    finding = (
        f"On {seeds} random symmetric separable data sets, for slopes {' and '.join(f'{alpha:g}' for alpha in SLOPES)} and starting "
        f"weights of size {' and '.join(f'{scale:g}' for scale in SCALES)}, the linear part of the network is within an angle of "
        f"{worst:.1e} of the hard-margin SVM at t = 10^10,000,000 in all {angles[:, :, 0].size} runs (at t = 100: up to "
        f"{angles[:, :, 0].max():.2f}); the median angle falls like (ln t)^p with p between {min(rates):.2f} and {max(rates):.2f}. "
        f"The even part, which the linear network does not have, goes too: on inputs other than the samples its share of the "
        f"output's size is at most {evens[:, :, -1].max():.1e} in the end, from {evens[:, :, 0].max():.2f} at t = 100, also from "
        "large weights. So, as far as runs can tell, the answer to the open question is yes: the ReLU network ends as the linear "
        "max-margin classifier."
    )
    return Study(
        name="symmetric_margin",
        question="Does a ReLU network on symmetric separable data end at the hard-margin SVM?",
        source="Zhang, Saxe & Latham, arXiv:2406.12615, Corollary 6",
        finding=finding,
        numbers={
            "log10_time": (("time",), LOG10_TIMES),
            "angle": (("setting", "seed", "time"), angles),
            "even_share": (("setting", "seed", "time"), evens),
        },
        draw=partial(_draw, settings, angles, evens),
    )


def _course(alpha: float, scale: float, seed: int) -> tuple[Array, Array]:
    """Angle to the SVM and share of the even part in the output, each (t,)."""
    rng = np.random.default_rng([2, seed])
    inputs, pairs = int(rng.integers(2, 7)), int(rng.integers(4, 16))
    data = separable_gaussian(pairs, inputs, seed).symmetrised()
    run = far_run(trained_problem(data, WIDTH, scale, seed, alpha), LOG10_TIMES)
    goal = max_margin(data.y[:, None] * data.x).direction
    units = run.linear_map / np.linalg.norm(run.linear_map, axis=1, keepdims=True)
    apart = np.linalg.norm(units - goal, axis=1)  # 1 - cos would lose half the digits
    return 2.0 * np.arcsin(apart / 2.0), np.sqrt(even_fraction(run, x=rng.standard_normal((PROBES, inputs))))


@style.paper
def _draw(settings: list[tuple[float, float]], angles: Array, evens: Array) -> Figure:
    figure, (left, right) = style.panels(8.6, 3.0, columns=2)
    for k, (alpha, scale) in enumerate(settings):
        label = f"slope {alpha:g}, start {scale:g}"
        for ax, values in ((left, angles), (right, evens)):
            ax.loglog(LOG10_TIMES, np.median(values[k], axis=0), "o-", markersize=3, color=style.colour(k), label=label)
    left.set(xlabel="log₁₀(time / τ)", ylabel="angle to the SVM, median")
    right.set(xlabel="log₁₀(time / τ)", ylabel="even share, median")
    style.legend_beside(right)
    return figure
