"""Closed time courses of one margin m(t) that grows from almost nothing: what a balanced linear sub-network does."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ..arrays import Array
from ..losses import Loss

HIGHEST_MARGIN = 700.0  # beyond it e^m leaves the float range; reached only after a time of e^700 / rate


def grown_margin(loss: Loss, times: ArrayLike, log_start: float, rate: float) -> Array:
    """The margin under that loss (square or logistic), (t,)."""
    return (square_margin if loss.name == "square" else logistic_margin)(times, log_start, rate)


def square_margin(times: ArrayLike, log_start: float, rate: float) -> Array:
    """m' = rate m (1 - m): m = 1 / (1 + (1/m0 - 1) e^{-rate t}) with ln m0 = `log_start` < 0; 1 at infinity.

    >>> square_margin([0.0, np.inf], np.log(0.25), rate=2.0).round(12).tolist()
    [0.25, 1.0]
    """
    logit = log_start - np.log(-np.expm1(log_start))
    return np.asarray(scipy.special.expit(logit + rate * np.asarray(times, dtype=np.float64)))


def logistic_margin(times: ArrayLike, log_start: float, rate: float) -> Array:
    """m' = rate m / (1 + e^m): ln m + Ei(m) = ln m0 + Ei(m0) + rate t, solved for ln m; infinity at infinity.

    >>> logistic_margin([0.0, np.inf], np.log(0.25), rate=2.0).round(12).tolist()
    [0.25, inf]
    """

    def progress(log_margin: float) -> float:
        return float(log_margin + scipy.special.expi(np.exp(log_margin)))

    start, highest = progress(log_start), np.log(HIGHEST_MARGIN)

    def at(time: float) -> float:
        target = start + rate * time
        if target >= progress(highest):
            return np.inf
        if time == 0:
            return float(np.exp(log_start))
        return float(
            np.exp(scipy.optimize.brentq(lambda log_margin: progress(log_margin) - target, log_start, highest, xtol=1e-14))
        )

    return np.array([at(float(time)) for time in np.atleast_1d(np.asarray(times, dtype=np.float64))])
