"""The weights of every layer as heat maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..errors import InputError, require_kind
from ..trajectory import Trajectory
from . import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIDE = 2.2  # inches, of a square matrix
BAR = 0.09  # inches, the width of a colour bar beside any matrix


@style.paper
def weight_matrices(
    weights: Trajectory | Sequence[ArrayLike], *, at: int = -1, sort: bool = False, ax: Sequence[Axes] | None = None
) -> Figure:
    """One heat map a layer, red positive and blue negative: rows are neurons out, columns in (the last layer transposed).

    Of a Trajectory the `at`-th saved time is shown, the last by default. With `sort` the hidden neurons are permuted, which
    leaves the function as it is: each layer by falling weight W_L ... W_{l+1} of its neurons on the output (for two layers:
    by a_h), so that neurons of one sign stand together. `ax` takes as many axes to draw on as there are layers.
    """
    if not isinstance(weights, (Trajectory, Sequence)):
        require_kind("weight_matrices", weights, Trajectory, "simulate, descend and predict return")
    layers = (
        weights.weights_at(at) if isinstance(weights, Trajectory) else tuple(np.asarray(w, dtype=float) for w in weights)
    )
    if not layers or any(layer.ndim != 2 for layer in layers):
        raise InputError(
            "weight_matrices needs a matrix for each layer, found "
            f"{[layer.shape for layer in layers] or 'none'}; give a run with weights, or weights at one time."
        )
    if sort:
        layers = sorted_neurons(layers)
    shown = [*layers[:-1], layers[-1].T]  # the output layer as a column: its neurons beside their rows
    shares = [min(max(matrix.shape[1] / matrix.shape[0], 0.12), 1.6) for matrix in shown]
    width = 0.6 + 1.1 * len(shown) + SIDE * sum(shares)
    figure, axes = style.panels(width, 3.0, columns=len(shown), ax=ax, width_ratios=shares)
    for k, (panel, matrix) in enumerate(zip(axes, shown, strict=True), 1):
        last = k == len(shown)
        _draw_matrix(panel, matrix, SIDE * shares[k - 1])
        panel.set_title(rf"$W_{{{k}}}^\top$" if last else rf"$W_{{{k}}}$")
        panel.set_ylabel(f"neuron of layer {k - 1 if last else k}")
        panel.set_xlabel("output" if last else "input" if k == 1 else f"neuron of layer {k - 1}")
    return figure


def _draw_matrix(ax: Axes, matrix: Array, inches: float) -> None:
    largest = float(np.abs(matrix).max()) or 1.0
    image = ax.imshow(matrix, cmap=style.DIVERGING, vmin=-largest, vmax=largest, aspect="auto", interpolation="nearest")
    ax.spines[:].set_visible(True)
    ax.locator_params(integer=True)
    if matrix.shape[1] == 1:
        ax.set_xticks([])
    bar = ax.figure.colorbar(image, ax=ax, fraction=BAR / inches, aspect=SIDE / BAR, pad=BAR / inches)
    bar.ax.tick_params(labelsize=style.TICK_SIZE)


def sorted_neurons(layers: Sequence[Array]) -> tuple[Array, ...]:
    """The same network with the neurons of each hidden layer in order of falling linear weight on the output."""
    arranged = list(layers)
    onward = layers[-1]
    for k in range(len(layers) - 2, -1, -1):
        order = np.argsort(-onward[0], kind="stable")
        onward = onward @ layers[k]
        arranged[k] = arranged[k][order]
        arranged[k + 1] = arranged[k + 1][:, order]
    return tuple(arranged)
