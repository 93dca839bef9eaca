"""A classifier's run far out in log t: how the loss falls, and what becomes of every sample's margin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError, require_kind
from ..long_trajectory import LongTrajectory
from . import style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOG_TIME = "log₁₀(time / τ)"


@style.paper
def long_time(run: LongTrajectory, *, ax: Sequence[Axes] | None = None) -> Figure:
    """ln(1/L) and the normalised margins of all samples (one line each, coloured by label) against log10 t, from t = 1 on.

    `ax` takes two axes to draw on.

    >>> import rectilinear as rl
    >>> from rectilinear import plots
    >>> data, net = rl.datasets.orthogonally_separable(samples=6, inputs=2), rl.Network(inputs=2, widths=(4,))
    >>> problem = rl.Problem(data, net, net.init(1e-3, seed=0), loss="logistic")
    >>> plots.long_time(rl.simulate(problem, log10_times=[1, 10, 100]))
    <Figure size 1125x450 with 2 Axes>
    """
    require_kind("long_time", run, LongTrajectory, "simulate(..., log10_times=...) returns")
    shown = run.log10_times > 0
    if not shown.any():
        raise InputError(
            f"long_time draws times after t = 1, found none in {len(run)} saved times; ask for log10_times above 0."
        )
    log10_times = run.log10_times[shown]
    figure, (left, right) = style.panels(7.5, 3.0, columns=2, ax=ax)
    falls = -run.log_loss[shown]
    left.plot(log10_times, np.where(falls > 0, falls, np.nan), "o-", markersize=3, color=style.colour(0))
    left.set(xlabel=LOG_TIME, ylabel="ln(1 / loss)", xscale="log", yscale="log" if (falls > 0).any() else "linear")
    left.margins(0.05)
    for label, colour in ((1.0, style.POSITIVE), (-1.0, style.NEGATIVE)):
        margins = run.normalised_margins[np.ix_(shown, run.problem.y == label)]
        lines = right.plot(log10_times, margins, "o-", markersize=2, linewidth=0.9, color=colour)
        if lines:
            lines[0].set_label(f"y = {label:+g}")
    right.set(xlabel=LOG_TIME, ylabel="normalised margins", xscale="log")
    right.margins(0.05)
    style.legend_beside(right)
    return figure
