"""The output of a network over the plane of two inputs, with its decision boundary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..dataset import Dataset
from ..errors import InputError
from ..network import Network, Weights
from . import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.contour import QuadContourSet
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

GRID = 401  # points a side; odd, so that the origin is one of them


@style.paper
def output_field(
    network: Network,
    weights: tuple[ArrayLike, ...],
    data: Dataset,
    *,
    largest: float | None = None,
    ax: Axes | None = None,
) -> Figure:
    """f(x) in colour (red positive, blue negative), the decision boundary f = 0 in black, the samples coloured by label.

    Samples use the same colours on a scale of their own. Any depth, with or without bias. The darkest colours are
    those of outputs +-`largest`, by default the largest one here; `ax` is drawn on if it is given.
    """
    style.require_plane(data.inputs, "output_field")
    if largest is not None and not 0.0 < largest < np.inf:
        raise InputError(f"largest must be a positive output, found {largest}.")
    side = square_of(data, GRID)
    field = field_on(side, network, network.check_weights(weights))
    figure, (panel,) = style.panels(4.6, 3.8, equal_sides=True, ax=ax)
    draw_field(panel, side, field, largest or float(np.abs(field).max()) or 1.0, data)
    return figure


def square_of(data: Dataset, points: int) -> Array:
    """The coordinates of the square's grid, `points` a side, with room around the samples."""
    reach = 1.3 * (float(np.abs(data.x).max()) or 1.0)
    return np.linspace(-reach, reach, points)


def field_on(side: Array, network: Network, weights: Weights) -> Array:
    """f on the square grid of those coordinates, rows along x_2."""
    x1, x2 = np.meshgrid(side, side)
    return network.output(weights, np.stack([x1.ravel(), x2.ravel()], axis=1)).reshape(x1.shape)


def draw_field(ax: Axes, side: Array, field: Array, largest: float, data: Dataset) -> AxesImage:
    """The field in colours up to +-largest, its boundary, the samples and the colour bar."""
    reach = float(side[-1])
    image = ax.imshow(
        field, cmap=style.DIVERGING, vmin=-largest, vmax=largest, origin="lower", extent=(-reach, reach, -reach, reach)
    )
    draw_boundary(ax, side, field)
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
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.9)
    bar.set_label("output $f(x)$")
    bar.add_lines([0.0], ["black"], [1.4])  # as the boundary is drawn
    bar.ax.tick_params(labelsize=style.TICK_SIZE)
    return image


def draw_boundary(ax: Axes, side: Array, field: Array) -> QuadContourSet | None:
    """f = 0 in black, if the field has both signs."""
    if not field.min() < 0.0 < field.max():
        return None
    return ax.contour(side, side, field, levels=[0.0], colors="black", linewidths=1.4)
