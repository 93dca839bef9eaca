"""Compiled passes of the deep field over blocks of samples: forward, pulls and backward in one call; `tests/naive.py` has the twin.

Products are made in tiles (see small_products.py); the rest is fused. A block's activations stay in the cache between the two directions.
With three layers and more sigma'(0) = alpha, so that the slope is told by the sign of sigma(z), and z itself is not kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Array, Indices, Mask
from ..compiled import fast_kernel, in_line, kernel
from ..tolerances import TINY
from .sample_losses import sample_loss, sample_pull
from .small_products import product_of_columns, product_of_rows

DEEP_SAMPLES_PER_PASS = 256  # activations and signals of some hundred neurons then stay in the second-level cache


class DeepRows(NamedTuple):
    """What moves the weights: the samples and the network's settings. Passes are made in the precision of `x`."""

    x: Array  # (samples, inputs)
    y: Array
    shapes: Indices  # (layers, 2): out, in
    trains: Mask
    alpha: float
    loss: int
    l2: float


@in_line
def block_of(first: int, last: int) -> int:
    """The size of blocks of at most DEEP_SAMPLES_PER_PASS, all about as large, that cover samples first..last-1."""
    blocks = max(1, -(-(last - first) // DEEP_SAMPLES_PER_PASS))
    return max(1, -(-(last - first) // blocks))


@kernel
def room_for(net: DeepRows) -> Array:
    """Memory for a pass: two layers of signals that come back, the activations of all layers, and one layer's drive."""
    widest, widths, largest = 0, 0, 0
    for layer in range(net.shapes.shape[0] - 1):
        widest = max(widest, net.shapes[layer, 0])
        widths += net.shapes[layer, 0]
        largest = max(largest, net.shapes[layer, 0] * net.shapes[layer, 1])
    return np.empty(min(DEEP_SAMPLES_PER_PASS, net.y.shape[0]) * (widths + 2 * widest) + largest)


@in_line
def activate(z: Array, alpha: float) -> None:
    """Write sigma(z) over z."""
    for i in range(z.shape[0]):
        z[i] = z[i] if z[i] > 0.0 else alpha * z[i]


@in_line
def times_slope(signal: Array, sigma: Array, alpha: float) -> None:
    """Multiply by sigma'(z), which the sign of sigma(z) tells."""
    for i in range(signal.shape[0]):
        signal[i] = signal[i] if sigma[i] > 0.0 else alpha * signal[i]


@in_line
def last_layer(net: DeepRows, a: Array, below: Array, start: int, signal: Array, drive: Array) -> float:
    """Outputs a.sigma of a block that begins with sample `start`, its summed loss, a's drive, and the signal pull sigma' a back."""
    total = 0.0
    for i in range(below.shape[0]):
        f = 0.0
        for h in range(a.shape[0]):
            f += a[h] * below[i, h]
        y = net.y[start + i]
        total += sample_loss(net.loss, y, f)
        pull = sample_pull(net.loss, y, f)
        low = net.alpha * pull
        for h in range(a.shape[0]):
            drive[h] += pull * below[i, h]
            signal[i, h] = a[h] * (pull if below[i, h] > 0.0 else low)
    return total


@fast_kernel
def drive_of_samples(net: DeepRows, theta: Array, first: int, last: int, backward: bool, room: Array, drive: Array) -> float:
    """Write the share of samples first..last-1 of -P grad <l> to `drive` (flat), and return their summed loss.

    Without `backward` only the loss is computed, and `drive` is of no use.
    """
    top, block, total = net.shapes.shape[0] - 1, block_of(first, last), 0.0
    widest = 0
    for layer in range(top):
        widest = max(widest, net.shapes[layer, 0])
    drive[:] = 0.0
    for start in range(first, last, block):
        count = min(block, last - start)
        signals, others = room[: block * widest], room[block * widest : 2 * block * widest]
        below, at, place = net.x[start : start + count], 0, 2 * block * widest
        for layer in range(top):
            out, into = net.shapes[layer]
            above = room[place : place + count * out]
            turned = np.ascontiguousarray(theta[at : at + out * into].reshape(out, into).T)
            product_of_rows(below, turned, above.reshape(count, out))
            activate(above, net.alpha)
            below, at, place = above.reshape(count, out), at + out * into, place + count * out
        out = net.shapes[top, 1]
        total += last_layer(net, theta[at:], below, start, signals[: count * out].reshape(count, out), drive[at:])
        if not backward:
            continue
        place -= count * out
        for layer in range(top - 1, -1, -1):
            out, into = net.shapes[layer]
            at -= out * into
            signal = signals[: count * out].reshape(count, out)
            if layer:
                place -= count * into
                below = room[place : place + count * into].reshape(count, into)
            else:
                below = net.x[start : start + count]
            added = room[room.shape[0] - out * into :]
            product_of_columns(signal, below, added.reshape(out, into))
            for i in range(out * into):
                drive[at + i] += added[i]
            if layer:
                weights = theta[at : at + out * into].reshape(out, into)
                product_of_rows(signal, weights, others[: count * into].reshape(count, into))
                times_slope(others[: count * into], room[place : place + count * into], net.alpha)
                signals, others = others, signals
    return total


@fast_kernel
def velocity_of_drive(net: DeepRows, theta: Array, drive: Array, slope: Array) -> float:
    """Write -grad L to `slope` from P times its part that samples make, zero for layers that do not train; returns |grad L|^2."""
    at, square, share = 0, 0.0, 1.0 / net.y.shape[0]
    for layer in range(net.shapes.shape[0]):
        size = net.shapes[layer, 0] * net.shapes[layer, 1]
        for i in range(at, at + size):
            slope[i] = share * drive[i] - net.l2 * theta[i] if net.trains[layer] else 0.0
            square += slope[i] * slope[i]
        at += size
    return square


@fast_kernel
def layer_sizes(shapes: Indices, old: Array, new: Array, sizes: Array) -> None:
    """Write the root mean square of each layer's weights to all of them, of the larger of old and new component by component."""
    at = 0
    for layer in range(shapes.shape[0]):
        count, square = shapes[layer, 0] * shapes[layer, 1], 0.0
        for i in range(at, at + count):
            square += max(old[i] * old[i], new[i] * new[i])
        sizes[at : at + count] = np.sqrt(max(square / count, TINY))
        at += count
