"""The drive of two layers with its two large products in single precision: twice as many numbers at a time.

Only preactivations and the sums over samples are rounded to single precision, and everything that enters them is brought to size one
before: samples and neurons by their lengths, pulls by the largest. So tiny weights keep their signs, whatever their size. Weights,
the linear part of outputs, losses, pulls and sums over blocks stay in double precision. See two_layer_kernels.py for the formulas.

What rounding does is measured on the way: outputs err by about UNIT sum_h |a_h| |w_h.x|, the drive by about UNIT sum_i |q_i| |x_i|.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Array
from ..compiled import fast_kernel
from .sample_losses import sample_curvature, sample_loss, sample_pull
from .small_products import SINGLE_LANES, Single, add_row_products, product_of_rows
from .two_layer_kernels import FoldedRows

SAMPLES_PER_PRODUCT = 368  # samples of one product: on nine shapes 240 and 256 take up to 1.17 times as long, 496 as long
ZERO = np.float32(0.0)  # a double one would widen what it is compared with
UNIT = 2.0**-24  # rounding of a single number


class Rows(NamedTuple):
    """What moves the weights: folded samples, how many there were, what trains, and the samples once more.

    `blocks` (blocks, inputs, size) holds them scaled to length one and padded with zeros.
    """

    folded: FoldedRows
    samples: int
    trains: tuple[bool, bool]
    l2: float
    blocks: Single


class Rounding(NamedTuple):
    """Sums over samples: squares of what rounding does to pulls over UNIT, squares of pulls, and |q| |x|."""

    pull_squares: float
    squares: float
    reach: float


def unit_blocks(rows: Array, lengths: Array) -> Single:
    """`blocks` of rows (inputs, rows) of these lengths."""
    inputs, count = rows.shape
    number = -(-count // SAMPLES_PER_PRODUCT)
    size = -(-count // (number * SINGLE_LANES)) * SINGLE_LANES
    blocks = np.zeros((number, inputs, size), dtype=np.float32)
    for block, begin in zip(blocks, range(0, count, size), strict=False):
        here = slice(begin, min(begin + size, count))
        block[:, : here.stop - begin] = rows[:, here] / np.where(lengths[here] > 0.0, lengths[here], 1.0)
    return blocks


@fast_kernel
def unit_neurons(w: Array, a: Array) -> tuple[Single, Single, float, Array]:
    """w_h / |w_h| and a_h |w_h| / s in single precision, the largest a_h |w_h| s, and v = sum_h a_h w_h."""
    neurons, inputs = w.shape
    directions, strengths = np.empty((neurons, inputs), np.float32), np.empty(neurons, np.float32)
    sizes, v, largest = np.empty(neurons), np.zeros(inputs), 0.0
    for h in range(neurons):
        top, square = 0.0, 0.0
        for k in range(inputs):
            top = max(top, abs(w[h, k]))
            v[k] += a[h] * w[h, k]
        scale = 1.0 / top if top > 0.0 else 0.0
        for k in range(inputs):
            square += (scale * w[h, k]) ** 2
        sizes[h] = top * np.sqrt(square)
        scale = 1.0 / sizes[h] if sizes[h] > 0.0 else 0.0
        for k in range(inputs):
            directions[h, k] = scale * w[h, k]
        largest = max(largest, abs(a[h]) * sizes[h])
    for h in range(neurons):
        strengths[h] = a[h] * sizes[h] / largest if largest > 0.0 else 0.0
    return directions, strengths, largest, v


@fast_kernel
def single_drive(
    field: Rows, w: Array, a: Array, first: int, last: int, measured: bool, drive: Array
) -> tuple[float, Rounding]:  # fmt: skip
    """Write the share of blocks first..last-1 to P g_h in `drive` (neurons, inputs); returns their summed loss, and the rounding.

    Those are zero unless they are to be `measured`.
    """
    rows, lengths, labels, mirror_labels, mirrored, alpha, loss = field.folded
    (_, inputs, size), (neurons, count) = field.blocks.shape, (w.shape[0], lengths.shape[0])
    c, e = 0.5 * (1.0 + alpha), 0.5 * (1.0 - alpha)
    directions, strengths, largest, v = unit_neurons(w, a)
    z, even = np.empty((neurons, size), np.float32), np.empty(size, np.float32)
    around, pull_part = np.empty(size, np.float32), np.empty(size, np.float32)
    linear, odd_pull, even_pull, common = np.empty(size), np.empty(size), np.empty(size), np.zeros(inputs)
    total, pull_squares, squares, reach = 0.0, 0.0, 0.0, 0.0
    drive[:] = 0.0
    for b in range(first, last):
        start = b * size
        here = min(size, count - start)
        product_of_rows(directions, field.blocks[b], z)
        even[:] = 0.0
        around[:] = 0.0
        linear[:] = 0.0
        for h in range(neurons):
            strength, weight = strengths[h], abs(strengths[h])
            for i in range(size):
                even[i] += strength * abs(z[h, i])
            if measured:
                for i in range(size):
                    around[i] += weight * abs(z[h, i])
        for k in range(inputs):
            row = rows[k, start : start + here]
            for i in range(here):
                linear[i] += v[k] * row[i]
        top = 0.0
        for i in range(size):
            odd_pull[i], even_pull[i] = 0.0, 0.0
        for i in range(here):
            scale = e * largest * lengths[start + i]
            y, f = labels[start + i], c * linear[i] + scale * even[i]
            pull = sample_pull(loss, y, f)
            if measured:
                wrong = scale * around[i] * sample_curvature(loss, y, f)
                total += sample_loss(loss, y, f)
                pull_squares += wrong * wrong
                squares += pull * pull
            odd_pull[i] = pull
            even_pull[i] = pull
        for i in range(here):  # apart, as most have no mirror image
            if mirrored[start + i]:
                y, f = mirror_labels[start + i], e * largest * lengths[start + i] * even[i] - c * linear[i]
                pull = sample_pull(loss, y, f)
                if measured:
                    total += sample_loss(loss, y, f)
                    squares += pull * pull
                odd_pull[i] -= pull
                even_pull[i] += pull
        for i in range(here):
            even_pull[i] *= e * lengths[start + i]
            top = max(top, abs(even_pull[i]))
            reach += abs(even_pull[i])
        for k in range(inputs):
            row = rows[k, start : start + here]
            for i in range(here):
                common[k] += odd_pull[i] * row[i]
        if top == 0.0:
            continue
        for i in range(size):
            pull_part[i] = even_pull[i] / top
        for h in range(neurons):
            for i in range(size):
                q = pull_part[i]
                z[h, i] = q if z[h, i] > ZERO else (-q if z[h, i] < ZERO else ZERO)
        add_row_products(z, field.blocks[b], top, drive)
    for h in range(neurons):
        for k in range(inputs):
            drive[h, k] += c * common[k]
    return total, Rounding(pull_squares, squares, reach)
