"""From orthogonal to correlated data along a path: where do stable rank, equal margins and frozen patterns break?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..dataset import Dataset
from ..datasets.separable import near_orthogonality
from ..flow import descend
from ..measures import activation_flips, stable_rank_by_sign
from ..plots import style
from .problems import far_run, fixed_layer_problem
from .study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure


CORRELATIONS = np.array([0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
SLOPES = (0.1, 0.0)
NAMES = ("leaky 0.1", "ReLU")
LOG10_TIMES = (1e3, 1e4)
SAMPLES, SHARED, HALF = 8, 3, 12
LEARNING_RATE, STEPS = 10.0, 1200  # up to t = 12,000, where margins are about 5
RANK_BREAKS, MARGINS_BREAK = 1.01, 0.05  # stable rank; relative spread of margins at t = 10^10,000


def correlated_data(correlation: float, seed: int) -> Dataset:
    """Unit samples x_i = sqrt(1 - c) e_i + sqrt(c) g_i with orthonormal e_i and random unit g_i in three common dimensions.

    Cosines are c g_i . g_j: orthogonal at c = 0, in three dimensions at c = 1.
    """
    rng = np.random.default_rng([4, seed])
    g = rng.standard_normal((SAMPLES, SHARED))
    g /= np.linalg.norm(g, axis=1, keepdims=True)
    x = np.concatenate([np.sqrt(1 - correlation) * np.eye(SAMPLES), np.sqrt(correlation) * g], axis=1)
    return Dataset(x, rng.permutation(np.where(np.arange(SAMPLES) % 2, -1.0, 1.0)), "from orthogonal to correlated")


def correlation_path(seeds: int = 6, correlations: Array = CORRELATIONS) -> Study:
    """Ranks, margins, late switches of descent and last events of the flow along the path."""
    shape = (len(SLOPES), len(correlations), seeds)
    ranks, spreads, switching, last = (np.empty(shape) for _ in range(4))
    constants = np.empty(shape[1:])
    for k, correlation in enumerate(correlations):
        for seed in range(seeds):
            data = correlated_data(correlation, seed)
            constants[k, seed] = near_orthogonality(data.x)
            for j, alpha in enumerate(SLOPES):
                problem = fixed_layer_problem(data, alpha, HALF, seed=seed)
                run = far_run(problem, LOG10_TIMES)
                margins = run.normalised_margins[-1]
                ranks[j, k, seed] = stable_rank_by_sign(run)[-1].max()
                spreads[j, k, seed] = np.ptp(margins) / margins.mean()
                steps = descend(problem, LEARNING_RATE, STEPS)
                switching[j, k, seed] = activation_flips(steps)[-STEPS // 3 :].any()
                last[j, k, seed] = run.events.time.max(initial=-np.inf) if run.events is not None else -np.inf
    rank, leaky_margins, margins_equal = (
        _kept(correlations, broken.mean(axis=1))
        for broken in (ranks[0] > RANK_BREAKS, spreads[0] > MARGINS_BREAK, spreads[1] > MARGINS_BREAK)
    )
    leaky_switches, switches = (_kept(correlations, switched.mean(axis=1)) for switched in switching)
    smallest = constants.min(axis=1)
    shown = ", ".join(f"{smallest[k]:.2g} at c = {correlations[k]:g}" for k in _spread_out(len(correlations)))
    finding = (
        f"{SAMPLES} unit samples with cosines up to the correlation c, {seeds} draws each; their constant C of Kou et al. is at least "
        f"{shown}. Leaky ReLU: the stable ranks of W_+ and W_- stay below {RANK_BREAKS:g} {rank}, and margins stay equal "
        f"{leaky_margins}. ReLU: margins stay equal {margins_equal}; the larger stable rank is {ranks[1, 0].mean():.2f} on average "
        f"for orthogonal samples and {ranks[1, -1].mean():.2f} at c = {correlations[-1]:g}. The last third of {STEPS} steps of "
        f"gradient descent is free of switches {leaky_switches} for leaky ReLU and {switches} for ReLU, while the flow, "
        f"which holds neurons on kinks instead, has its last event at t = 10^{last[0].max():.0f} (leaky) and 10^{last[1].max():.0f} "
        "(ReLU) at the latest, of 10^10,000."
    )
    return Study(
        name="correlation_path",
        question="At which correlation between samples do low rank, equal margins and frozen patterns break?",
        source="Kou, Chen & Gu 2023, main results on less orthogonal data",
        finding=finding,
        numbers={
            "correlation": (("correlation",), correlations),
            "near_orthogonality": (("correlation", "draw"), constants),
            "stable_rank": (("network", "correlation", "draw"), ranks),
            "margin_spread": (("network", "correlation", "draw"), spreads),
            "late_switches": (("network", "correlation", "draw"), switching),
            "last_event_log10_time": (("network", "correlation", "draw"), last),
        },
        draw=partial(_draw, correlations, ranks, spreads, switching),
    )


def _kept(correlations: Array, broken: Array) -> str:
    """Up to which correlation something holds in all draws, and in which share of them it fails beyond."""
    if not broken.any():
        return f"up to c = {correlations[-1]:g}"
    k = int(np.argmax(broken > 0))
    before = f"up to c = {correlations[k - 1]:g}" if k else "nowhere"
    ends = (
        f"in {100 * broken[k]:.0f} % of the draws no longer at {correlations[k]:g}, in {100 * broken[-1]:.0f} % at the end"
    )
    return f"{before} ({ends})"


def _spread_out(count: int) -> list[int]:
    """Four places among `count`, without the first."""
    return sorted({int(k) for k in np.linspace(1, count - 1, 4)})


@style.paper
def _draw(correlations: Array, ranks: Array, spreads: Array, switching: Array) -> Figure:
    figure, axes = style.panels(10.4, 2.8, columns=3)
    names = ("stable rank, larger class", "relative spread of margins", "share that still switches")
    for ax, values, name in zip(axes, (ranks, spreads, switching), names, strict=True):
        for k, label in enumerate(NAMES):
            shown = values[k].mean(axis=1) if values is switching else values[k]
            ax.plot(correlations, shown, "o-" if values is switching else "o", markersize=3, color=style.colour(k))
            ax.plot([], [], "o", markersize=3, color=style.colour(k), label=label)
        ax.set(xlabel="correlation c", ylabel=name)
    axes[1].set_yscale("log")
    style.legend_beside(axes[2])
    return figure
