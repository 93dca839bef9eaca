"""Which kinks are passed within a step, and how long each is spent beyond: compiled, for all kinks of a network at once.

Heights over a step are the cubics through their values at shares 0, 1/3, 2/3 and 1 of it.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Indices, Signs
from ..compiled import in_line, kernel

PIECES = 8  # of a step, in each of which at most one root is looked for
MOST_ROOT_STEPS, SAME_PASSAGE = 60, 1e-15  # of a root; shares of the step that are one


@kernel
def passed(signs: Signs, heights: Array) -> Indices:
    """Kinks with a sign whose height (4, kinks) may leave that side: those with a Bernstein coefficient on the other."""
    found = np.empty(signs.shape[0], np.intp)
    count = 0
    for k in range(signs.shape[0]):
        sign = signs[k]
        if sign == 0:
            continue
        a, b, c, d = heights[0, k], heights[1, k], heights[2, k], heights[3, k]
        first, second = (-5 * a + 18 * b - 9 * c + 2 * d) / 6, (2 * a - 9 * b + 18 * c - 5 * d) / 6
        if sign * a < 0.0 or sign * d < 0.0 or sign * first < 0.0 or sign * second < 0.0:
            found[count] = k
            count += 1
    return found[:count]


@kernel
def shift_paths(heights: Array, shift: Array, shifted: Array) -> None:
    """Write heights (4, kinks) of paths whose ends are shifted, like the square of the time, to `shifted`."""
    for k in range(shift.shape[0]):
        shifted[0, k] = heights[0, k]
        shifted[1, k] = heights[1, k] + shift[k] / 9
        shifted[2, k] = heights[2, k] + shift[k] * 4 / 9
        shifted[3, k] = heights[3, k] + shift[k]


@in_line
def _height(a: float, b: float, c: float, d: float, u: float) -> float:
    """The cubic through a, b, c, d at 0, 1/3, 2/3, 1."""
    v, w, x = u - 1 / 3, u - 2 / 3, u - 1.0
    return -4.5 * v * w * x * a + 13.5 * u * w * x * b - 13.5 * u * v * x * c + 4.5 * u * v * w * d


@in_line
def _height_slope(a: float, b: float, c: float, d: float, u: float) -> float:
    """Its slope."""
    v, w, x = u - 1 / 3, u - 2 / 3, u - 1.0
    first, second = -4.5 * (v * w + v * x + w * x) * a, 13.5 * (u * w + u * x + w * x) * b
    return first + second - 13.5 * (u * v + u * x + v * x) * c + 4.5 * (u * v + u * w + v * w) * d


@kernel
def times_beyond(signs: Signs, heights: Array, kinks: Indices, until: float) -> tuple[Array, Array]:
    """Integrals of chi and of u chi over u in [0, until], chi = 1 while a kink's height is beyond zero, for each of `kinks`."""
    whole, first = np.zeros(kinks.shape[0]), np.zeros(kinks.shape[0])
    for n in range(kinks.shape[0]):
        k = kinks[n]
        sign = signs[k]
        a, b, c, d = heights[0, k], heights[1, k], heights[2, k], heights[3, k]
        before = sign * a
        for piece in range(PIECES):
            start, end = until * piece / PIECES, until * (piece + 1) / PIECES
            after = sign * _height(a, b, c, d, end)
            low, high = start, end
            if before * after < 0.0:
                u = low + (high - low) * before / (before - after)
                for _ in range(MOST_ROOT_STEPS):  # Newton's, or halvings where those leave the bracket
                    height = _height(a, b, c, d, u)
                    if before * height * sign < 0.0:
                        high = u
                    else:
                        low = u
                    slope = _height_slope(a, b, c, d, u)
                    by_slope = height / slope if slope != 0.0 else np.inf
                    if abs(by_slope) <= SAME_PASSAGE:  # before brackets are looked at: a root found is an end of its own
                        break
                    moved = u - by_slope
                    if not low < moved < high:
                        moved = 0.5 * (low + high)
                    if abs(moved - u) <= SAME_PASSAGE:
                        break
                    u = moved
                low = high = u
                if before < 0.0:
                    low = start
                else:
                    high = end
            elif before < 0.0 or after < 0.0:
                low, high = start, end
            else:
                high = low
            whole[n] += high - low
            first[n] += 0.5 * (high * high - low * low)
            before = after
    return whole, first
