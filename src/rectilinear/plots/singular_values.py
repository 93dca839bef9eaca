"""Singular values of every layer over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import measures
from ..errors import InputError, require_kind
from ..trajectory import Trajectory
from . import style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@style.paper
def singular_values(
    run: Trajectory,
    *,
    largest: int = 10,
    log_time: bool = False,
    log_values: bool = False,
    ax: Axes | Sequence[Axes] | None = None,
) -> Figure:
    """A panel for each layer: its `largest` singular values against time, the first dark and the others lighter.

    `ax` takes as many axes to draw on as there are layers.
    """
    if largest < 1:
        raise InputError(f"largest must be a whole number of singular values >= 1, found {largest}.")
    require_kind("singular_values", run, Trajectory, "simulate, descend and predict return")
    layers = run.problem.network.layers
    values = [measures.singular_values(run, layer=layer)[:, :largest] for layer in range(layers)]
    shown = style.showable(run.times, log_time)
    figure, axes = style.panels(1.9 + 2.3 * layers, 2.8, columns=layers, sharex=True, sharey=True, ax=ax)
    for k, (panel, layer) in enumerate(zip(axes, values, strict=True), 1):
        for rank in range(layer.shape[1] - 1, -1, -1):
            panel.plot(
                run.times[shown], layer[shown, rank], color=style.shade(rank, layer.shape[1]), label=f"number {rank + 1}"
            )
        panel.set_title(rf"$W_{{{k}}}$")
        panel.set_xlabel(style.TIME)
        if log_time:
            panel.set_xscale("log")
        if log_values:
            panel.set_yscale("log")
        else:
            style.from_zero(panel)
    axes[0].set_ylabel("singular values")
    most = max(range(layers), key=lambda k: values[k].shape[1])
    style.legend_beside(axes[-1], axes[most].lines[::-1])
    return figure
