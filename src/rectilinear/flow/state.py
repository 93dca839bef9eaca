"""The weights in the forms they are moved in: layers, neurons (h, inputs + 1), one flat vector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, Signs
from ..network import Weights


def flatten(weights: Weights) -> Array:
    """All layers as one vector, layer after layer, row after row."""
    return np.concatenate([np.asarray(layer, dtype=np.float64).ravel() for layer in weights])


def unflatten(theta: Array, shapes: tuple[tuple[int, int], ...]) -> Weights:
    """Views of `theta` (..., size) as layers (..., out, in)."""
    layers, start = [], 0
    for out, into in shapes:
        layers.append(theta[..., start : start + out * into].reshape(*theta.shape[:-1], out, into))
        start += out * into
    return tuple(layers)


@dataclass
class Start:
    """A state to go on from: time, neurons (h, inputs + 1), patterns (h, lines) and the integral of |grad L|^2."""

    t: float
    theta: Array
    signs: Signs
    energy: float
