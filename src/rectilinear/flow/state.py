"""The weights in the forms they are moved in: layers, neurons (h, inputs + 1), one flat vector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, Signs
from ..network import Weights


def flatten(weights: Weights) -> Array:
    """All layers (..., out, in) as one vector (..., size), layer after layer, row after row."""
    layers = [np.asarray(layer, dtype=np.float64) for layer in weights]
    return np.concatenate([layer.reshape(*layer.shape[:-2], -1) for layer in layers], axis=-1)


def unflatten(theta: Array, shapes: tuple[tuple[int, int], ...]) -> Weights:
    """Views of `theta` (..., size) as layers (..., out, in)."""
    layers, start = [], 0
    for out, into in shapes:
        layers.append(theta[..., start : start + out * into].reshape(*theta.shape[:-1], out, into))
        start += out * into
    return tuple(layers)


def neurons_of(layers: Weights) -> Array:
    """The neurons (..., h, inputs + 1) of two layers (..., h, inputs) and (..., 1, h): incoming weights, then the outgoing one.

    >>> neurons_of((np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0]]))).tolist()
    [[1.0, 2.0, 5.0], [3.0, 4.0, 6.0]]
    """
    first, second = layers
    return np.concatenate([first, np.swapaxes(second, -1, -2)], axis=-1)


def layers_of(neurons: Array) -> Weights:
    """Views of neurons (..., h, inputs + 1) as two layers: what `neurons_of` takes."""
    return neurons[..., :-1], np.swapaxes(neurons[..., -1:], -1, -2)


def row_lengths(rows: Array) -> Array:
    """The lengths of the rows of a matrix; np.linalg.norm takes three times as long for a few."""
    return np.asarray(np.sqrt(np.einsum("rk,rk->r", rows, rows)))


def root_mean_square(values: Array) -> float:
    """Of all entries of an array.

    >>> root_mean_square(np.array([1.0, 7.0]))
    5.0
    """
    return float(np.sqrt(np.mean(values**2)))


@dataclass
class Start:
    """A state to go on from: time, neurons (h, inputs + 1), patterns (h, lines), the integral of |grad L|^2, and how far neurons are
    estimated to be off already, over their sizes."""

    t: float
    theta: Array
    signs: Signs
    energy: float
    off: float = 0.0
