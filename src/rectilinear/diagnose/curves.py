"""Loss curves that are alike: by how much their times differ, and their losses besides."""

from __future__ import annotations

import numpy as np

from ..arrays import Array


def apart(times: Array, one: Array, other: Array) -> tuple[float, Array]:
    """By which factor `other` is later than `one`, judged by when half of the fall is done, and what they differ by besides, (t,).

    >>> t = np.linspace(0, 10, 101)
    >>> factor, differences = apart(t, np.exp(-t), np.exp(-t / 1.2))
    >>> round(factor, 2), bool(differences.max() < 0.01)
    (1.2, True)
    """
    factor = 1.0
    level = (one[0] + other[0] + one.min() + other.min()) / 4.0
    first, second = (np.flatnonzero(curve <= level) for curve in (one, other))
    if first.size and second.size and first[0] and second[0]:
        factor = when(times, other, level, int(second[0])) / when(times, one, level, int(first[0]))
    return factor, np.abs(np.interp(factor * times, times, other) - one)


def when(times: Array, curve: Array, level: float, k: int) -> float:
    """The time before times[k] at which the curve falls to `level`."""
    return float(np.interp(-level, -curve[k - 1 : k + 1], times[k - 1 : k + 1]))


def outside(times: Array, seen: Array, expected: Array, time_error: float) -> Array:
    """How far `seen` (t,) is from what is `expected` at times that may be off by that share of themselves, (t,)."""
    near = [np.interp(times * factor, times, expected) for factor in np.linspace(1.0 - time_error, 1.0 + time_error, 21)]
    low, high = np.min(near, axis=0), np.max(near, axis=0)
    return np.asarray(np.maximum(low - seen, 0.0) + np.maximum(seen - high, 0.0))
