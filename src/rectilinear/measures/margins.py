"""Margins of a classifier, plain and normalised by the size of the weights."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..errors import InputError
from ..network import Network, Weights
from .calling import function_measure, measure


@function_measure
def margins(network: Network, weights: Weights, x: ArrayLike, y: ArrayLike) -> Array:
    """y f(x) of each sample, shape (n,); positive where the sign of f is right.

    >>> from rectilinear import Network, measures
    >>> measures.margins(Network(inputs=1, widths=(1,)), ([[1.0]], [[3.0]]), x=[[1.0], [2.0]], y=[1.0, -1.0]).tolist()
    [3.0, -6.0]
    """
    f, labels = network.output(weights, x), np.asarray(y, dtype=np.float64)
    if labels.shape != f.shape:
        raise InputError(f"y must have shape {f.shape}, one label per row of x, found {labels.shape}.")
    return labels * f


@measure
def normalised_margin(network: Network, weights: Weights, x: ArrayLike, y: ArrayLike) -> float:
    """min over samples of y f(x; theta) / |theta|^L, with theta the weights that train and L the number of their layers.

    It does not change when all of theta is multiplied by one number, and is computed at |theta| = 1, so that it neither
    over- nor underflows. nan if theta = 0.

    >>> from rectilinear import Network, measures
    >>> net = Network(inputs=1, widths=(1,))
    >>> round(measures.normalised_margin(net, ([[30.0]], [[40.0]]), x=[[1.0], [2.0]], y=[1.0, 1.0]), 12)
    0.48
    """
    moves = network.trainable_layers
    trained = [w for w, trains in zip(weights, moves, strict=True) if trains]
    largest = max(float(np.abs(w).max()) for w in trained)
    if not largest:
        return math.nan
    relative_size = math.hypot(*(np.linalg.norm(w / largest) for w in trained))
    unit = tuple(w / largest / relative_size if trains else w for w, trains in zip(weights, moves, strict=True))
    return float(margins(network, unit, x, y).min())
