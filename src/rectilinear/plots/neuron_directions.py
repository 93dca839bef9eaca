"""First-layer neurons in the plane of two inputs, among the rays and kink lines of the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..dataset import Dataset
from ..errors import InputError
from ..network import Network
from . import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RIM = 1.12  # where the data's directions are marked; the longest neuron has length 1
MANY_LINES = 40  # from here on rays and kink lines are drawn fainter


@style.paper
def neuron_directions(
    network: Network,
    weights: tuple[ArrayLike, ...],
    data: Dataset,
    *,
    unit: float | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Each neuron w_h as a ray from the origin, coloured by the sign of a_h, in units of the longest |w_h|.

    Grey rays lead to the samples, marked on the rim by the sign of their labels. Dotted lines are the kinks w.x_i = 0, at
    right angles to the samples: they cut the plane into the sectors within which a neuron's activation pattern is constant.
    Two layers, two inputs, no bias. With `unit` a neuron of that length is drawn with length 1, whatever the longest one is, so
    that pictures of several times can be compared; `ax` is drawn on if it is given.
    """
    style.require_plane(data.inputs, "neuron_directions")
    if network.layers != 2 or network.bias:
        raise InputError(
            "neuron_directions needs a two-layer network without bias, "
            f"found {network.layers} layers{' with bias' if network.bias else ''}."
        )
    first, second = network.check_weights(weights)
    if unit is not None and not 0.0 < unit < np.inf:
        raise InputError(f"unit must be a positive length, found {unit}.")
    figure, (panel,) = style.panels(5.6, 3.9, equal_sides=True, ax=ax)
    draw_data(panel, data)
    points = first / (unit or np.linalg.norm(first, axis=1).max() or 1.0)
    _draw_neurons(panel, points[second[0] > 0], style.POSITIVE, "neurons, $a_h > 0$")
    _draw_neurons(panel, points[second[0] < 0], style.NEGATIVE, "neurons, $a_h < 0$")
    frame(panel, "longest $|w_h|$" if unit is None else f"{unit:.3g}")
    style.legend_beside(panel)
    return figure


def frame(ax: Axes, unit: str) -> None:
    """The square in which neurons of up to length 1 are seen; `unit` is what 1 means."""
    ax.set_aspect("equal")
    ax.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), xlabel=rf"$w_1$ / {unit}", ylabel=rf"$w_2$ / {unit}")
    ax.set(xticks=(-1, 0, 1), yticks=(-1, 0, 1))


def draw_data(ax: Axes, data: Dataset) -> None:
    """Rays to the samples, their marks on the rim, and their kinks."""
    from matplotlib.collections import LineCollection

    lines = data.lines
    faint = 0.25 if len(lines) > MANY_LINES else 1.0
    rim = RIM * data.units
    rays = LineCollection(
        list(np.stack([np.zeros_like(rim), rim], axis=1)), colors="0.82", linewidths=1.0, alpha=faint, zorder=1
    )
    across = 2.0 * np.stack([-lines.normals[:, 1], lines.normals[:, 0]], axis=1)
    kinks = LineCollection(
        list(np.stack([-across, across], axis=1)), colors="0.55", linewidths=0.9, linestyles=":", alpha=faint, zorder=1
    )
    kinks.set_label("kinks $w\\cdot x_i = 0$")
    ax.add_collection(rays, autolim=False)
    ax.add_collection(kinks, autolim=False)
    for name, chosen, marker in (("y > 0", data.y > 0, "^"), ("y < 0", data.y < 0, "v"), ("y = 0", data.y == 0, "o")):
        if chosen.any():
            ax.scatter(
                rim[chosen, 0],
                rim[chosen, 1],
                marker=marker,
                s=34,
                color="0.35",
                linewidths=0,
                zorder=3,
                label=f"samples, ${name}$",
            )


def _draw_neurons(ax: Axes, points: Array, colour: str, label: str) -> None:
    from matplotlib.collections import LineCollection

    if not len(points):
        return
    rays = list(np.stack([np.zeros_like(points), points], axis=1))
    ax.add_collection(LineCollection(rays, colors=colour, linewidths=0.8, alpha=0.5, zorder=2), autolim=False)
    ax.scatter(points[:, 0], points[:, 1], s=14, color=colour, linewidths=0, alpha=0.85, zorder=4, label=label)
