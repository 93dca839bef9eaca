"""The share of weight decay in the field."""

from __future__ import annotations

import numpy as np

from ...network import Weights


def add_decay(l2: float, weights: Weights, velocity: Weights, trainable: tuple[bool, ...]) -> float:
    """Add -l2 W to the velocity of the layers that train, and return (l2/2)|W|^2."""
    penalty = 0.0
    for layer, speed, moves in zip(weights, velocity, trainable, strict=True):
        if moves:
            speed -= l2 * layer
            penalty += 0.5 * l2 * float(np.vdot(layer, layer))
    return penalty
