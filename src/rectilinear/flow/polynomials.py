"""Short polynomials and rows of matrices, compiled: values, shifts, and the first root that cannot be missed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from .compiled import fast_part

# Row or coefficient 0: for the literal number the compiler would make a copy of each function that gets it.
START: Any = np.intp(0)


@fast_part
def inner(a: Array, i: int, b: Array, j: int) -> float:
    """Row i of a times row j of b."""
    total = 0.0
    for k in range(a.shape[1]):
        total += a[i, k] * b[j, k]
    return total


@fast_part
def add_row(a: Array, i: int, factor: float, b: Array, j: int) -> None:
    """Row i of a plus factor times row j of b."""
    for k in range(a.shape[1]):
        a[i, k] += factor * b[j, k]


@fast_part
def value(c: Array, first: int, last: int, u: float) -> float:
    """sum_j c_j u^(j - first) over j = first ... last."""
    total = c[last]
    for j in range(last - 1, first - 1, -1):
        total = total * u + c[j]
    return total


@fast_part
def slope_and_bend(c: Array, last: int, u: float) -> tuple[float, float]:
    """First and second derivative of sum_j c_j u^j, j = 0 ... last."""
    slope, bend = 0.0, 0.0
    for j in range(last, 0, -1):
        bend = bend * u + slope
        slope = slope * u + j * c[j]
    return slope, bend


@fast_part
def shift(c: Array, last: int, u: float) -> None:
    """Coefficients about 0 become coefficients about u."""
    for i in range(last):
        for j in range(last - 1, i - 1, -1):
            c[j] += u * c[j + 1]


@fast_part
def _bracketed(c: Array, first: int, last: int, low: float, high: float) -> float:
    """The root between low (where the polynomial is positive) and high (where it is not): Newton, kept in the bracket."""
    u = 0.5 * (low + high)
    at_low, at_high = value(c, first, last, low), value(c, first, last, high)
    if at_low > at_high:
        u = (low * -at_high + high * at_low) / (at_low - at_high)
    for _ in range(60):
        here, slope = c[last], 0.0
        for j in range(last - 1, first - 1, -1):
            slope = slope * u + here
            here = here * u + c[j]
        if here > 0.0:
            low = u
        else:
            high = u
        step = here / slope if slope < 0.0 else np.inf
        after = u - step
        if not low < after < high:
            after = 0.5 * (low + high)
        if abs(after - u) <= 4e-16 * high or high - low <= 4e-16 * high:
            return after
        u = after
    return u


@fast_part
def _falls_within(c: Array, first: int, last: int, until: float) -> float:
    """First u in (0, until] where the polynomial, not negative at 0, falls through zero; inf if none, -1 if that is not clear."""
    slope_bound, bend_bound, power = 0.0, 0.0, until
    degree = last - first
    for j in range(2, degree + 1):
        slope_bound += j * abs(c[first + j]) * power
        if j > 2:
            bend_bound += j * (j - 1) * abs(c[first + j]) * power / until
        power *= until
    slope = c[first + 1] if degree >= 1 else 0.0
    bend = 2.0 * c[first + 2] if degree >= 2 else 0.0
    if slope >= slope_bound:
        return np.inf  # rises all the way
    if slope <= -slope_bound or bend + bend_bound < 0.0:  # falls all the way, or bends down: at most one root
        if value(c, first, last, until) >= 0.0:
            return np.inf
        low = 0.0
        if c[first] == 0.0:  # and rises first
            low = until
            while value(c, first, last, low) <= 0.0:
                low *= 0.5
                if low < 1e-30:
                    return 0.0
        return _bracketed(c, first, last, low, until)
    if bend - bend_bound > 0.0:  # bends up: look at its lowest point
        if slope >= 0.0:
            return np.inf
        low, high, u = 0.0, until, min(-slope / bend, until)
        for _ in range(60):
            here, rate = 0.0, 0.0
            for j in range(degree, 0, -1):
                rate = rate * u + here
                here = here * u + j * c[first + j]
            height = value(c, first, last, u)
            if height < 0.0:
                return _bracketed(c, first, last, 0.0, u) if c[first] > 0.0 else 0.0
            if here > 0.0:
                high = u
            else:
                low = u
            if here * here <= 2.0 * (bend - bend_bound) * height or (here <= 0.0 and u == until):
                return np.inf  # it falls by no more than that
            before, u = u, u - here / rate
            if not low < u < high:
                u = 0.5 * (low + high)
            if abs(u - before) <= 1e-9 * until:
                return np.inf
        return np.inf
    return -1.0


@fast_part
def first_fall(c: Array, first: int, last: int, until: float, work: Array) -> float:
    """First u in (0, until] where sum_j c_j u^(j - first), not negative at 0, falls through zero; inf if there is none.

    Signs of derivatives are bounded, so that no pair of roots is missed; where they are not clear the interval is halved.
    """
    if c[first] < 0.0:
        return 0.0
    if until <= 0.0:
        return np.inf
    found = _falls_within(c, first, last, until)
    if found != -1.0:
        return found
    degree = last - first
    for j in range(degree + 1):
        work[j] = c[first + j]
    done, length = 0.0, 0.5 * until
    for _ in range(200):
        found = _falls_within(work, START, degree, length)
        if found == -1.0 and length < 1e-3 * until:
            found = np.inf if value(work, START, degree, length) >= 0.0 else _bracketed(work, START, degree, 0.0, length)
        if found == -1.0:
            length *= 0.5
            continue
        if found < np.inf:
            return done + found
        done += length
        if done >= until * (1.0 - 1e-12):
            return np.inf
        shift(work, degree, length)
        work[0] = max(work[0], 0.0)
        length = min(2.0 * length, until - done)
    return np.inf


@fast_part
def recentre(drive: Array, u: float) -> None:
    """Polynomials (s + 1, inputs) about 0 become polynomials about u."""
    degree = drive.shape[0] - 1
    for i in range(degree):
        for j in range(degree - 1, i - 1, -1):
            add_row(drive, j, u, drive, j + 1)
