"""The arrays of this package, named by what they hold. Everything that is measured is float64."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]
Signs = NDArray[np.int8]  # +1 or -1 for the side of a kink, 0 on it


@cache
def random_axis(inputs: int) -> Array:
    """A direction (inputs,) that no data were made for, always the same: rows sorted along it have those like them for neighbours."""
    axis = np.random.default_rng(0).standard_normal(inputs)
    axis.flags.writeable = False
    return axis
