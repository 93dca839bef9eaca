"""Compiled kernels of the two-layer field; `tests/naive.py` has the plain-loop twins.

With c = (1 + alpha)/2 and e = (1 - alpha)/2, sigma(z) = c z + e |z| and sigma'(z) = c + e sgn(z), with sgn(0) = 0. So

    f(+-x) = +- c v.x + e sum_h a_h |w_h.x|,     v = sum_h a_h w_h,
    g_h    = (1/P) [ c sum_i p_i x_i + e sum_i sgn(w_h.x_i) q_i x_i ],

where r+, r- are the pulls -dl/df at x and -x, p = r+ - r-, q = r+ + r-. A sample and its mirror image therefore cost one
matrix row instead of two, and the linear part costs nothing per neuron. A row without mirror image has r- = 0.
The field is dw_h/dt = a_h g_h, da_h/dt = g_h . w_h.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Array, Mask
from ..compiled import fast_kernel, fast_part, in_line
from ..tolerances import TINY
from .sample_losses import pair_pulls, sample_loss
from .small_products import DOUBLE_LANES, TILE, add_row_products, product_of_rows

SAMPLES_PER_PASS = 128  # preactivations of a few hundred neurons then stay in the second-level cache


class FoldedRows(NamedTuple):
    """Samples folded by their mirror images, one column of `rows` (inputs, rows) per sample or pair: their lengths, y at x and at -x,
    and which have a mirror image (rows,); with the slope below kinks, and the loss."""

    rows: Array
    lengths: Array
    labels: Array
    mirror_labels: Array
    mirrored: Mask
    alpha: float
    loss: int


@in_line
def even_block(samples: int) -> int:
    """The size of blocks of at most SAMPLES_PER_PASS that cover all samples with little padding."""
    blocks = max(1, -(-samples // SAMPLES_PER_PASS))
    return min(SAMPLES_PER_PASS, -(-samples // (blocks * DOUBLE_LANES)) * DOUBLE_LANES)


@fast_kernel
def drive_of_rows(folded: FoldedRows, w: Array, a: Array, v: Array, first: int, last: int, drive: Array) -> float:
    """Add the share of rows first..last-1 to P g_h in `drive` (neurons, inputs), and return their summed loss.

    `w` (neurons, inputs) and the rows are padded with zeros to whole tiles, v = sum_h a_h w_h.
    """
    rows, _, labels, mirror_labels, mirrored, alpha, loss = folded
    inputs, neurons = rows.shape[0], w.shape[0]
    c, e = 0.5 * (1.0 + alpha), 0.5 * (1.0 - alpha)
    block = even_block(last - first)
    z = np.empty((neurons, block))
    x = np.zeros((inputs, block))
    linear, even, odd_pull, even_pull = np.empty(block), np.empty(block), np.empty(block), np.empty(block)
    common = np.zeros(inputs)
    total = 0.0
    for start in range(first, last, block):
        size = min(block, last - start)
        for k in range(inputs):
            for i in range(size):
                x[k, i] = rows[k, start + i]
            for i in range(size, block):
                x[k, i] = 0.0
        for i in range(block):
            even[i] = 0.0
        product_of_rows(w, x, z)
        for h in range(neurons):
            for i in range(block):
                even[i] += a[h] * abs(z[h, i])
        for i in range(block):
            linear[i], odd_pull[i], even_pull[i] = 0.0, 0.0, 0.0
            even[i] *= e
        for k in range(inputs):
            for i in range(block):
                linear[i] += c * v[k] * x[k, i]
        here = slice(start, start + size)
        total += pair_pulls(
            loss, linear[:size], even[:size], labels[here], mirror_labels[here], mirrored[here], odd_pull[:size], even_pull[:size]
        )  # fmt: skip
        for k in range(inputs):
            for i in range(block):
                common[k] += odd_pull[i] * x[k, i]
        if e == 0.0:
            continue
        for h in range(neurons):
            for i in range(block):
                q = e * even_pull[i]
                z[h, i] = q if z[h, i] > 0.0 else (-q if z[h, i] < 0.0 else 0.0)
        add_row_products(z, x, 1.0, drive)
    for h in range(neurons):
        for k in range(inputs):
            drive[h, k] += c * common[k]
    return total


@fast_kernel
def losses_of_rows(folded: FoldedRows, states: Array, inputs: int, first: int, stride: int, found: Array) -> None:
    """Write the summed losses of every stride-th state (t, weights) to `found` (t,) where that is nan: a product for each and each block
    of samples."""
    rows, _, labels, mirror_labels, mirrored, alpha, loss = folded
    neurons, count = states.shape[1] // (inputs + 1), rows.shape[1]
    c, e = 0.5 * (1.0 + alpha), 0.5 * (1.0 - alpha)
    block, whole = even_block(count), -(-(neurons + 1) // TILE) * TILE
    w, z, x = np.zeros((whole, inputs)), np.empty((whole, block)), np.empty((inputs, block))
    even, todo = np.empty(block), np.isnan(found)
    for start in range(0, count, block):
        size = min(block, count - start)
        for k in range(inputs):
            for i in range(size):
                x[k, i] = rows[k, start + i]
            for i in range(size, block):
                x[k, i] = 0.0
        for t in range(first, states.shape[0], stride):
            if not todo[t]:
                continue
            a = states[t, neurons * inputs :]
            for k in range(inputs):
                w[neurons, k] = 0.0  # v = sum_h a_h w_h, one more row
            for h in range(neurons):
                for k in range(inputs):
                    w[h, k] = states[t, h * inputs + k]
                    w[neurons, k] += a[h] * w[h, k]
            product_of_rows(w, x, z)
            for i in range(block):
                even[i] = 0.0
            for h in range(neurons):
                for i in range(block):
                    even[i] += a[h] * abs(z[h, i])
            total = 0.0 if start == 0 else found[t]
            for i in range(size):
                total += sample_loss(loss, labels[start + i], e * even[i] + c * z[neurons, i])
                if mirrored[start + i]:
                    total += sample_loss(loss, mirror_labels[start + i], e * even[i] - c * z[neurons, i])
            found[t] = total


@fast_kernel
def velocity_of_drive(
    drive: Array, samples: int, w: Array, a: Array, trains: tuple[bool, bool], dw: Array, da: Array
) -> None:
    """Write dw_h/dt = a_h g_h and da_h/dt = g_h . w_h, zero for a layer that does not train; `drive` (neurons, inputs) is P g_h."""
    first, second = trains
    for h in range(w.shape[0]):
        along = 0.0
        for k in range(w.shape[1]):
            g = drive[h, k] / samples
            along += g * w[h, k]
            dw[h, k] = a[h] * g if first else 0.0
        da[h] = along if second else 0.0


@fast_part
def reach_and_sum(w: Array, a: Array) -> tuple[float, Array]:
    """sum_h |a_h| |w_h|, which bounds |f(x)|/|x|, and v = sum_h a_h w_h."""
    reach, v = 0.0, np.zeros(w.shape[1])
    for h in range(w.shape[0]):
        square = 0.0
        for k in range(w.shape[1]):
            square += w[h, k] * w[h, k]
            v[k] += a[h] * w[h, k]
        reach += abs(a[h]) * np.sqrt(square)
    return reach, v


@fast_kernel
def neuron_sizes(old: Array, new: Array, neurons: int, inputs: int, sizes: Array) -> None:
    """Write to each of the neurons' weights in `sizes` (flat, first layer and then second) the larger |(w_h, a_h)| of old and new.

    The larger of the two is taken component by component.
    """
    for h in range(neurons):
        last, square = neurons * inputs + h, 0.0
        for k in range(h * inputs, (h + 1) * inputs):
            square += max(old[k] * old[k], new[k] * new[k])
        square += max(old[last] * old[last], new[last] * new[last])
        size = np.sqrt(max(square, TINY))
        for k in range(h * inputs, (h + 1) * inputs):
            sizes[k] = size
        sizes[last] = size


@fast_kernel
def restore_balance(states: Array, inputs: int, balance: Array) -> None:
    """Scale w_h and a_h of every neuron in states (t, weights and more) so that |w_h|^2 - a_h^2 is `balance` (t, neurons)."""
    neurons = balance.shape[1]
    for t in range(states.shape[0]):
        state = states[t]
        for h in range(neurons):
            last, incoming = neurons * inputs + h, 0.0
            for k in range(h * inputs, (h + 1) * inputs):
                incoming += state[k] * state[k]
            outgoing = state[last] * state[last]
            shift = 0.5 * (balance[t, h] - (incoming - outgoing)) / max(incoming + outgoing, TINY)
            for k in range(h * inputs, (h + 1) * inputs):
                state[k] *= 1.0 + shift
            state[last] *= 1.0 - shift


@fast_kernel
def square_length(vector: Array) -> float:
    """|v|^2, without the threads of a BLAS product, which would cost more than it."""
    total = 0.0
    for k in range(vector.shape[0]):
        total += vector[k] * vector[k]
    return total


def padded(array: Array, rows: int, columns: int) -> Array:
    """The array with zeros appended, up to multiples of `rows` and `columns`."""
    height, width = array.shape
    wanted = (-(-height // rows) * rows, -(-width // columns) * columns)
    if wanted == array.shape:
        return np.ascontiguousarray(array)
    out = np.zeros(wanted)
    out[:height, :width] = array
    return out
