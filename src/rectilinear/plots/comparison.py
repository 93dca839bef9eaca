"""A prediction and a simulation of one problem, and the error between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..compare import Comparison
from ..errors import require_kind
from . import style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@style.paper
def comparison(
    comparison: Comparison, *, log_time: bool = False, log_loss: bool = False, ax: Sequence[Axes] | None = None
) -> Figure:
    """Both loss curves above (simulation solid, prediction dashed), the relative errors of loss and function below.

    Errors that are exactly zero cannot be shown on the logarithmic axis and are left out.
    `ax` takes two axes to draw on.
    """
    require_kind("comparison", comparison, Comparison, "compare returns")
    figure, (curves, errors) = style.panels(5.0, 4.4, rows=2, sharex=True, height_ratios=(1.5, 1.0), ax=ax)
    shown = style.showable(comparison.times, log_time)
    times = comparison.times[shown]
    curves.plot(times, comparison.run.loss[: len(shown)][shown], color=style.colour(0), label="simulation")
    curves.plot(times, comparison.prediction.loss[: len(shown)][shown], **style.PREDICTION, label="prediction")
    curves.set_ylabel("loss")
    if log_loss:
        curves.set_yscale("log")
    else:
        style.from_zero(curves)

    for k, (label, error) in enumerate(
        [("loss", comparison.relative_loss_error), ("function on the data", comparison.relative_function_error)], start=1
    ):
        if error is not None:
            errors.plot(times, np.where(error > 0, error, np.nan)[shown], color=style.colour(k), label=label)
    errors.set(xlabel=style.TIME, ylabel="relative error", yscale="log")
    if log_time:
        errors.set_xscale("log")
    for panel in (curves, errors):
        style.legend_beside(panel)
    return figure
