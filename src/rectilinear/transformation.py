"""Shifts and scales that were applied to data, kept so that they can be applied to new samples and undone on outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array


@dataclass(frozen=True, eq=False)
class Transformation:
    """x -> (x - shift) / scale column by column, y -> (y - label_shift) / label_scale; `name` says what was done.

    >>> done = Transformation("standardised", np.array([1.0]), np.array([2.0]), 10.0, 5.0)
    >>> done.inputs([[3.0]]).tolist(), done.original_labels([0.0, 1.0]).tolist()
    ([[1.0]], [10.0, 15.0])
    """

    name: str
    shift: Array  # (d,)
    scale: Array  # (d,)
    label_shift: float = 0.0
    label_scale: float = 1.0

    def inputs(self, x: ArrayLike) -> Array:
        """New inputs (n, d) as the network sees them."""
        return np.asarray((np.asarray(x, dtype=np.float64) - self.shift) / self.scale)

    def labels(self, y: ArrayLike) -> Array:
        """New labels (n,) as the network is trained on them."""
        return np.asarray((np.asarray(y, dtype=np.float64) - self.label_shift) / self.label_scale)

    def original_labels(self, f: ArrayLike) -> Array:
        """Outputs of the network (n,) in the units of the labels as they were."""
        return np.asarray(self.label_shift + self.label_scale * np.asarray(f, dtype=np.float64))
