"""The time that passes in a step of rescaled time, dt = ds / L: an integral of exponentials, taken in the log domain."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ..collocation import fall, value_at
from ..compiled import kernel

PANEL = 4.0  # rise of ln(1/L) over one panel of the integral dt = ds/L; ten Gauss points are exact to rounding there
NEGLIGIBLE_EXPONENT = 40.0  # e^-40 of the integral is rounding
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(10)
GAUSS, GAUSS_WEIGHTS = (1.0 + _POINTS) / 2.0, _WEIGHTS / 2.0


@kernel
def log_integral(values: Array, end: float) -> float:
    """ln of the integral from 0 to `end` of e^p, p the (rising) polynomial through `values` (6,) at the step's nodes.

    Panels are taken from the end backwards, over each of which p rises by at most PANEL; those that lie NEGLIGIBLE_EXPONENT below
    the end do not count.
    """
    highest = value_at(values, end)
    total, high, top = -np.inf, end, highest
    while high > 0.0 and top > highest - NEGLIGIBLE_EXPONENT:
        low = 0.0
        if values[0] < top - PANEL:
            low = fall(-values, PANEL - top, 0.0, high)[0]
        panel = 0.0
        for j in range(GAUSS.shape[0]):
            panel += GAUSS_WEIGHTS[j] * np.exp(value_at(values, low + (high - low) * GAUSS[j]) - top)
        total = np.logaddexp(total, top + np.log((high - low) * panel))
        high = low
        top = value_at(values, low)
    return float(total)
