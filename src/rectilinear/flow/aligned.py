"""The two-layer field when most neurons point along one line: exact, at a cost that hardly depends on the samples times neurons.

After the early phase neurons lie within a small angle of +-r. A sample whose angle to the hyperplane of r is larger than that is
on the same side of every one of them, so its even part sum_h a_h |w_h.x| is sgn(r.x) V.x with one vector V = sum_h s_h a_h w_h,
s_h = sgn(w_h.r). Only samples near that hyperplane, and neurons far from r, need the product of samples and neurons.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from .kernels import FAST, pair_pulls

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

QUANTILES = (1.0, 0.98, 0.95, 0.9, 0.8, 0.6)  # shares of the neurons tried as the aligned ones
ROUNDING = 1e-12  # added to the sine, so that a sample is never put on a side it only nearly is on
SLACK = 1.3  # a split made with some room fits the neurons for a while
ROOM = 0.006  # share of the samples that may count as near for the sake of more room
SMALLEST_SINE = 1e-6  # 1 - cos^2 knows no smaller angles
SQUARE_ROUNDING = 1e-15  # of 1 - cos^2
REFINEMENTS = 3


class Split(NamedTuple):
    """Which neurons are aligned with the line `r`, and which samples are near its hyperplane."""

    sides: Array  # (neurons,) sgn(w_h.r) of the aligned neurons, 0 for the others
    others: Indices
    near: Indices
    far_sides: Array  # (rows,) sgn(r.x) of the samples that are not near, 0 for the others
    r: Array
    sine: float  # the aligned neurons must stay within this of the line


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def fits(split: Split, w: Array) -> bool:
    """Whether the split is still exact for other neurons w (h, d): the aligned ones are within the angle, on their sides."""
    limit = (split.sine - ROUNDING) ** 2 - SQUARE_ROUNDING
    for h in range(w.shape[0]):
        if split.sides[h] == 0.0:
            continue
        along = square = 0.0
        for k in range(w.shape[1]):
            along += w[h, k] * split.r[k]
            square += w[h, k] * w[h, k]
        if not (along * split.sides[h] > 0.0 and square - along * along <= limit * square):
            return False
    return True


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def _angles(w: Array, v: Array, units: Array) -> tuple[Array, Array, Array, Array]:
    """A line r near +-w_h for most h (zero if there is none), cosine and sine of every neuron to it, and r.x of the samples."""
    neurons, inputs = w.shape
    directions, cosines, sines = np.empty((neurons, inputs)), np.zeros(neurons), np.zeros(neurons)
    heights, r = np.zeros(units.shape[0]), np.zeros(inputs)
    length = np.sqrt(np.sum(v * v))
    if length == 0.0:
        return r, cosines, sines, heights
    for h in range(neurons):
        square = 0.0
        for k in range(inputs):
            square += w[h, k] * w[h, k]
        if square == 0.0:
            return r, cosines, sines, heights
        for k in range(inputs):
            directions[h, k] = w[h, k] / np.sqrt(square)
    r = v / length
    for _ in range(REFINEMENTS):
        folded = np.zeros(inputs)
        for h in range(neurons):
            along = 0.0
            for k in range(inputs):
                along += directions[h, k] * r[k]
            for k in range(inputs):
                folded[k] += np.sign(along) * directions[h, k]
        r = folded / max(np.sqrt(np.sum(folded * folded)), 1e-300)
    for h in range(neurons):
        along = square = 0.0
        for k in range(inputs):
            along += directions[h, k] * r[k]
        for k in range(inputs):  # |sin| from the part off the line: 1 - cos^2 would lose half the digits
            off = directions[h, k] - along * r[k]
            square += off * off
        cosines[h], sines[h] = along, np.sqrt(square)
    for i in range(units.shape[0]):
        for k in range(inputs):
            heights[i] += units[i, k] * r[k]
    return r, cosines, sines, heights


@numba.njit(cache=True, nogil=True)
def find_split(w: Array, a: Array, units: Array, worthwhile: float) -> Split | None:
    """The cheapest split for neurons w (h, d), a (h,) and unit samples (rows, d).

    None if none costs less than the share `worthwhile` of the full product.
    """
    v = np.zeros(w.shape[1])
    for h in range(w.shape[0]):
        for k in range(w.shape[1]):
            v[k] += a[h] * w[h, k]
    r, cosines, sines, heights = _angles(w, v, units)
    if not r.any():
        return None
    distances = np.abs(heights)
    ordered_heights, ordered_sines = np.sort(distances), np.sort(sines)
    count, rows = len(w), len(units)
    best, cutoff = worthwhile * count * rows, -1.0
    for share in QUANTILES:
        inside = max(1, int(share * count))
        sine = SLACK * ordered_sines[inside - 1] + SMALLEST_SINE
        cost = float((count - inside) * rows + inside * np.searchsorted(ordered_heights, sine, side="right"))
        if cost < best:
            best, cutoff = cost, sine
    if cutoff < 0.0:
        return None
    cutoff = max(cutoff, ordered_heights[int(ROOM * rows)])
    is_aligned, is_near = sines + ROUNDING <= cutoff, distances <= cutoff
    return Split(
        np.where(is_aligned, np.sign(cosines), 0.0),
        np.flatnonzero(~is_aligned),
        np.flatnonzero(is_near),
        np.where(is_near, 0.0, np.sign(heights)),
        r,
        cutoff,
    )


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def drive_of_split(
    split: Split,
    rows: Array,
    labels: Array,
    mirror_labels: Array,
    mirrored: NDArray[np.bool_],
    w: Array,
    a: Array,
    alpha: float,
    loss: int,
    backward: bool,
    drive: Array,
) -> float:
    """Write P g_h of every neuron to `drive` (neurons, inputs) and return the summed loss, as `kernels.drive_of_rows` would.

    `rows` (inputs or more, rows) holds one column per sample or mirrored pair. Without `backward` only the loss is computed.
    """
    neurons, inputs = w.shape
    count = rows.shape[1]
    c, e = 0.5 * (1.0 + alpha), 0.5 * (1.0 - alpha)
    turned = w.T.copy()
    linear, even = np.zeros(count), np.zeros(count)
    for k in range(inputs):
        v = folded = 0.0
        for h in range(neurons):
            v += a[h] * turned[k, h]
            folded += split.sides[h] * a[h] * turned[k, h]
        for i in range(count):
            linear[i] += c * v * rows[k, i]
            even[i] += e * folded * rows[k, i]
    for i in range(count):
        even[i] *= split.far_sides[i]
    near, others = np.zeros((len(split.near), neurons)), np.zeros((len(split.others), count))
    for j in range(len(split.near)):
        i, z, summed = split.near[j], near[j], 0.0
        for k in range(inputs):
            for h in range(neurons):
                z[h] += turned[k, h] * rows[k, i]
        for h in range(neurons):
            summed += abs(split.sides[h]) * a[h] * abs(z[h])
        even[i] += e * summed
    for j in range(len(split.others)):
        h, z = split.others[j], others[j]
        for k in range(inputs):
            for i in range(count):
                z[i] += turned[k, h] * rows[k, i]
        for i in range(count):
            even[i] += e * a[h] * abs(z[i])
    odd_pull, even_pull = np.empty(count), np.empty(count)
    total = pair_pulls(loss, linear, even, labels, mirror_labels, mirrored, odd_pull, even_pull)
    if not backward:
        return total
    for k in range(inputs):
        common = aside = 0.0
        for i in range(count):
            common += c * odd_pull[i] * rows[k, i]
            aside += e * even_pull[i] * split.far_sides[i] * rows[k, i]
        out = turned[k]  # done with as weights
        for h in range(neurons):
            out[h] = common + split.sides[h] * aside
        for j in range(len(split.near)):
            q = e * even_pull[split.near[j]] * rows[k, split.near[j]]
            for h in range(neurons):
                out[h] += abs(split.sides[h]) * np.sign(near[j, h]) * q
        for j in range(len(split.others)):
            summed = 0.0
            for i in range(count):
                summed += np.sign(others[j, i]) * even_pull[i] * rows[k, i]
            out[split.others[j]] += e * summed
    drive[:] = turned.T
    return total
