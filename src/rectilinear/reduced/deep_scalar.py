"""Closed time courses of an aligned deep network: one number, the layer norm v, on one line of inputs.

Where r = beta / s and Sigma r = lam r, the deep linear network of L layers obeys v' = v^{L-1} (s - lam v^L): growth from v0
to v_inf = (s / lam)^{1/L} in a time that is known in closed form. An aligned (leaky) ReLU network has v = K^{1/L} u and the
same course at time K^{2/L} t (Zhang et al., App. F, in the form of a time course), with the gain K of `blocks`.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ..arrays import Array
from ..errors import InputError

CLOSEST = 1e-12  # relative distance from v_inf down to which a norm differs from its limit


def time_to_reach(v: float, v0: float, layers: int, s: float, lam: float) -> float:
    """The time at which the layer norm reaches v from v0: the integral of dv / (v^{L-1} (s - lam v^L)).

    The antiderivatives are, with k = (lam / s)^{1/L} and x = k v,

        L = 2:  ln(x^2 / (1 - x^2)) / (2 s)
        L = 3:  (k / s) [-1/x + ln((1 + x + x^2) / (1 - x)^2) / 6 - arctan((2x + 1) / sqrt 3) / sqrt 3]
        L = 4:  (k^2 / 2s) [-1/x^2 + artanh(x^2)]
        L > 2:  v^{2-L} 2F1(1, (2-L)/L; 2/L; x^L) / (s (2-L))

    >>> round(time_to_reach(0.9, 1e-2, layers=3, s=1.0, lam=1.0), 6)
    99.537764
    """
    _check(layers, s, lam, v, v0)
    return _antiderivative(v, layers, s, lam) - _antiderivative(v0, layers, s, lam)


def layer_norm(times: ArrayLike, v0: float, layers: int, s: float, lam: float) -> Array:
    """v at `times` (t,), the inverse of `time_to_reach`; infinity gives (s / lam)^{1/L}.

    >>> layer_norm([0.0, np.inf], 0.01, layers=3, s=8.0, lam=1.0).tolist()
    [0.01, 2.0]
    """
    _check(layers, s, lam, v0)
    limit = float((s / lam) ** (1 / layers))
    highest = limit * (1 - CLOSEST)
    start, last = (_antiderivative(v, layers, s, lam) for v in (v0, highest))

    def at(time: float) -> float:
        if time == 0:
            return v0
        if start + time >= last:
            return limit
        low, high = np.log(v0), np.log(highest)
        log_v = scipy.optimize.brentq(
            lambda z: _antiderivative(float(np.exp(z)), layers, s, lam) - start - time, low, high, xtol=1e-14
        )
        return float(np.exp(log_v))

    return np.array([at(float(time)) for time in np.atleast_1d(np.asarray(times, dtype=np.float64))])


def _antiderivative(v: float, layers: int, s: float, lam: float) -> float:
    k = (lam / s) ** (1 / layers)
    x = k * v
    if layers == 2:
        return float(np.log(x**2 / ((1 - x) * (1 + x))) / (2 * s))
    if layers == 3:
        logarithm = np.log((1 + x + x**2) / (1 - x) ** 2) / 6
        return float(k / s * (-1 / x + logarithm - np.arctan((2 * x + 1) / np.sqrt(3)) / np.sqrt(3)))
    if layers == 4:
        return float(k**2 / (2 * s) * (np.arctanh(x**2) - 1 / x**2))
    return float(
        v ** (2 - layers) * scipy.special.hyp2f1(1, (2 - layers) / layers, 2 / layers, x**layers) / (s * (2 - layers))
    )


def _check(layers: int, s: float, lam: float, *norms: float) -> None:
    if layers < 2:
        raise InputError(f"layers must be 2 at least, found {layers}.")
    if not (s > 0 and lam > 0):
        raise InputError(f"s and lam must be positive, found {s!r} and {lam!r}.")
    limit = (s / lam) ** (1 / layers)
    for v in norms:
        if not 0 < v < limit:
            raise InputError(f"a layer norm must lie between 0 and its limit (s / lam)^(1/L) = {limit:g}, found {v!r}.")
