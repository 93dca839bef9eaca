"""The output of a network over the plane of two inputs, with its decision boundary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..dataset import Dataset
from ..network import Network
from . import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GRID = 401  # points a side; odd, so that the origin is one of them


@style.paper
def output_field(network: Network, weights: tuple[ArrayLike, ...], data: Dataset) -> Figure:
    """f(x) in colour (red positive, blue negative), the decision boundary f = 0 in black, the samples coloured by label.

    Samples use the same colours on a scale of their own. Any depth, with or without bias.
    """
    style.require_plane(data.inputs, "output_field")
    layers = network.check_weights(weights)
    reach = 1.3 * float(np.abs(data.x).max())
    side = np.linspace(-reach, reach, GRID)
    x1, x2 = np.meshgrid(side, side)
    field = network.output(layers, np.stack([x1.ravel(), x2.ravel()], axis=1)).reshape(GRID, GRID)
    largest = float(np.abs(field).max()) or 1.0

    figure, (ax,) = style.panels(4.6, 3.8, equal_sides=True)
    image = ax.imshow(
        field, cmap=style.DIVERGING, vmin=-largest, vmax=largest, origin="lower", extent=(-reach, reach, -reach, reach)
    )
    if field.min() < 0.0 < field.max():
        ax.contour(x1, x2, field, levels=[0.0], colors="black", linewidths=1.4)
    label_size = 1.35 * float(np.abs(data.y).max()) or 1.0  # short of the darkest colours, where red and blue look alike
    ax.scatter(
        data.x[:, 0],
        data.x[:, 1],
        c=data.y,
        cmap=style.DIVERGING,
        vmin=-label_size,
        vmax=label_size,
        s=46,
        edgecolors="black",
        linewidths=1.0,
    )
    ax.set(xlabel="$x_1$", ylabel="$x_2$", xlim=(-reach, reach), ylim=(-reach, reach))
    bar = figure.colorbar(image, ax=ax, shrink=0.9)
    bar.set_label("output $f(x)$")
    bar.ax.tick_params(labelsize=style.TICK_SIZE)
    return figure
