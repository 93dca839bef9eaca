"""Panels that several claims draw: outputs over the plane of two inputs, what several starts give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..dataset import Dataset
from ..network import Network, Weights
from ..plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GRID = 301  # points a side; odd, so that the origin is one of them


def draw_output(ax: Axes, network: Network, weights: Weights, data: Dataset | None = None, reach: float = 1.5) -> None:
    """f over the square of half-side `reach` in colour (red positive); with data, f = 0 in black and samples, y > 0 filled."""
    side = np.linspace(-reach, reach, GRID)
    x1, x2 = np.meshgrid(side, side)
    field = network.output(weights, np.stack([x1.ravel(), x2.ravel()], axis=1)).reshape(GRID, GRID)
    largest = float(np.abs(field).max())
    extent = (-reach, reach, -reach, reach)
    image = ax.imshow(field, cmap=style.DIVERGING, vmin=-largest, vmax=largest, origin="lower", extent=extent)
    if data is not None:
        ax.contour(x1, x2, field, levels=[0.0], colors="black", linewidths=1.2)
        for name, face, chosen in (("y > 0", "black", data.y > 0), ("y < 0", "white", data.y < 0)):
            first, second = data.x[chosen].T
            ax.scatter(first, second, c=face, s=42, edgecolors="black", linewidths=1.3, zorder=3, label=name)
    ax.set(xlabel="$x_1$", ylabel="$x_2$", xticks=(-1, 0, 1), yticks=(-1, 0, 1))
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.85)
    bar.ax.tick_params(labelsize=style.TICK_SIZE)


def name_samples(ax: Axes) -> None:
    """Which samples are filled, and which are hollow, below all panels."""
    ax.figure.figure.legend(*ax.get_legend_handles_labels(), loc="outside lower right", ncols=2, handletextpad=0.2)


def draw_starts(ax: Axes, settings: Array, found: Array) -> None:
    """A dot for every start (settings, starts), and a line through the medians of each setting."""
    dots = ax.plot(settings, found, color=style.colour(0), linestyle="", marker="o", markersize=4, clip_on=False)
    dots[0].set_label("one start")
    medians = np.median(settings, axis=1), np.median(found, axis=1)
    ax.plot(*medians, color=style.colour(0), linewidth=1.2, label="median")
