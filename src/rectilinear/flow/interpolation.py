"""The collocation polynomial of a step: values, integrals and roots between its nodes 0, c_1, ..., c_5."""

from __future__ import annotations

from itertools import pairwise

import numba
import numpy as np
from numpy.typing import NDArray

from .parallel import threads, workers
from .radau import ALL_NODES, NODES, STAGES

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

BARYCENTRIC = 1.0 / np.prod(ALL_NODES[:, None] - ALL_NODES[None, :] + np.eye(STAGES + 1), axis=1)
# integral from 0 to u of the polynomial through values at the stage nodes: powers of u times this matrix
ANTIDERIVATIVE = np.linalg.inv(NODES[:, None] ** np.arange(STAGES)) / np.arange(1, STAGES + 1)[:, None]
FEW_NEURONS = 1_000  # up to here every node of the step is looked at, beyond every other one
MANY_NEURONS = 20_000  # beyond, threads share them
SMALLEST_GAP = 1e-12  # of the step: how soon after leaving a kink a neuron may come back to it


@numba.njit(cache=True, nogil=True)
def basis(u: float, out: Array) -> None:
    """Write the values at u of the Lagrange polynomials of the six nodes."""
    total = 0.0
    for j in range(ALL_NODES.shape[0]):
        gap = u - ALL_NODES[j]
        if gap == 0.0:
            out[:] = 0.0
            out[j] = 1.0
            return
        out[j] = BARYCENTRIC[j] / gap
        total += out[j]
    for j in range(ALL_NODES.shape[0]):
        out[j] /= total


def basis_at(u: float) -> Array:
    """Values at u of the Lagrange polynomials of the nodes, (6,)."""
    out = np.empty(STAGES + 1)
    basis(u, out)
    return out


def integral_weights(u: float) -> Array:
    """Weights (5,) of stage values in the integral from 0 to u, in units of the step."""
    return np.asarray(u ** np.arange(1, STAGES + 1) @ ANTIDERIVATIVE)


@numba.njit(cache=True, nogil=True)
def value_at(values: Array, u: float) -> float:
    """The polynomial through `values` (6,) at the nodes, at u."""
    top = bottom = 0.0
    for j in range(ALL_NODES.shape[0]):
        gap = u - ALL_NODES[j]
        if gap == 0.0:
            return values[j]
        term = BARYCENTRIC[j] / gap
        top += term * values[j]
        bottom += term
    return top / bottom


@numba.njit(cache=True, nogil=True)
def first_root(values: Array, band: float, before: float) -> float:
    """Where the polynomial through `values` (6,) first falls below -band, if before `before`; 2.0 if it does not."""
    for j in range(1, ALL_NODES.shape[0]):
        if ALL_NODES[j - 1] >= before:
            return 2.0
        if values[j] < -band:
            low, high = ALL_NODES[j - 1], ALL_NODES[j]
            if values[j - 1] <= 0.0:
                # it starts on the kink itself: has it been above in between?
                gap, above = high - low, False
                while gap > SMALLEST_GAP and not above:
                    gap *= 0.5
                    above = value_at(values, ALL_NODES[j - 1] + gap) > 0.0
                if not above:
                    return ALL_NODES[j - 1]
                low = ALL_NODES[j - 1] + gap
            for _ in range(60):
                middle = 0.5 * (low + high)
                if value_at(values, middle) > 0.0:
                    low = middle
                else:
                    high = middle
            return high
    return 2.0


@numba.njit(cache=True, nogil=True)
def crossings(
    heights: Array,
    of_neuron: Indices,
    first: Indices,
    counts: Indices,
    mix: Array,
    signs: NDArray[np.int8],
    bands: Array,
    begin: int,
    end: int,
) -> tuple[Array, Indices, Indices]:
    """Every neuron of begin..end-1 that reaches a kink within the step, with the first time u and the line: arrays (u, neuron, line).

    `heights` (6, carriers, lines) is n.w of every carrier at the nodes; `bands` (neurons,) is how far below zero a height counts
    as zero. Lines with sign 0 are not looked at.
    """
    found, capacity = 0, 16
    times, who, where = np.empty(capacity), np.empty(capacity, np.intp), np.empty(capacity, np.intp)
    nodes, lines = heights.shape[0], signs.shape[1]
    stride = 1 if signs.shape[0] <= FEW_NEURONS else 2
    values = np.empty(nodes)
    for h in range(begin, end):
        k = of_neuron[h]
        if k < 0:
            continue
        best, line_of_best = 2.0, -1
        for line in range(lines):
            side = signs[h, line]
            if side == 0:
                continue
            lowest = 0.0
            for j in range(nodes - 1, -1, -stride):
                height = 0.0
                for r in range(counts[k]):
                    height += mix[h, r] * heights[j, first[k] + r, line]
                values[j] = side * height
                lowest = min(lowest, values[j])
            if lowest < -bands[h]:
                for j in range(nodes):
                    height = 0.0
                    for r in range(counts[k]):
                        height += mix[h, r] * heights[j, first[k] + r, line]
                    values[j] = side * height
                u = first_root(values, bands[h], best)
                if u < best:
                    best, line_of_best = u, line
        if line_of_best >= 0:
            if found == capacity:
                capacity *= 2
                grown, grown_who, grown_where = np.empty(capacity), np.empty(capacity, np.intp), np.empty(capacity, np.intp)
                grown[:found], grown_who[:found], grown_where[:found] = times, who, where
                times, who, where = grown, grown_who, grown_where
            times[found], who[found], where[found] = best, h, line_of_best
            found += 1
    return times[:found], who[:found], where[:found]


def all_crossings(
    heights: Array, of_neuron: Indices, first: Indices, counts: Indices, mix: Array, signs: NDArray[np.int8], bands: Array
) -> tuple[Array, Indices, Indices]:
    """`crossings` of all neurons, shared among threads where they are many."""
    total = len(signs)
    shares = workers() if total > MANY_NEURONS else 1
    cuts = np.linspace(0, total, shares + 1).astype(int)
    jobs = [
        threads().submit(crossings, heights, of_neuron, first, counts, mix, signs, bands, int(lo), int(hi))
        for lo, hi in pairwise(cuts[1:])
    ]
    parts = [
        crossings(heights, of_neuron, first, counts, mix, signs, bands, 0, int(cuts[1])),
        *(job.result() for job in jobs),
    ]
    times, neurons, lines = (np.concatenate(column) for column in zip(*parts, strict=True))
    return times, neurons, lines
