"""Compiled passes with given slopes: all layers in one call. Kinks are numbered as in field/sloped.py."""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Indices
from ..compiled import fast_kernel
from .deep_kernels import DeepRows
from .sample_losses import sample_loss, sample_pull
from .small_products import product_of_columns, product_of_rows


@fast_kernel
def sloped_forward(
    net: DeepRows, theta: Array, given: Array, held: Indices, frozen: bool, z: Array, slopes: Array, active: Array
) -> None:
    """Write z, slopes and what each neuron passes on, of all samples; `held` kinks (ascending) pass nothing on.

    Slopes are the given ones if `frozen`, for held kinks and where z = 0, else those of z.
    """
    samples, at, first, next_held = net.y.shape[0], 0, 0, 0
    below = net.x
    for layer in range(net.shapes.shape[0] - 1):
        out, into = net.shapes[layer]
        last = first + samples * out
        turned = np.ascontiguousarray(theta[at : at + out * into].reshape(out, into).T)
        product_of_rows(below, turned, z[first:last].reshape(samples, out))
        for k in range(first, last):
            slopes[k] = given[k] if frozen or z[k] == 0.0 else (1.0 if z[k] > 0.0 else net.alpha)
            active[k] = slopes[k] * z[k]
        while next_held < held.shape[0] and held[next_held] < last:
            k = held[next_held]
            slopes[k] = given[k]
            active[k] = 0.0
            next_held += 1
        below = active[first:last].reshape(samples, out)
        at, first = at + out * into, last


@fast_kernel
def pull_back(
    net: DeepRows, theta: Array, slopes: Array, active: Array, pushed: Array, own: bool, signals: Array, out: Array
) -> None:
    """The backward pass below the last layer: write what comes back to each neuron to `signals`, and the weights' share to `out`.

    `signals` of the last hidden layer are given. With `own`, kinks are pushed along their own normals by `pushed` instead: it holds
    amounts, and is changed to what moves each z, the amounts of kinks above included; else it is room for slope times signal.
    """
    samples, top = net.y.shape[0], net.shapes.shape[0] - 1
    at, last = theta.shape[0] - net.shapes[top, 1], slopes.shape[0]
    for layer in range(top - 1, -1, -1):
        width, into = net.shapes[layer]
        first, at = last - samples * width, at - width * into
        if not own:
            for k in range(first, last):
                pushed[k] = slopes[k] * signals[k]
        signal = pushed[first:last].reshape(samples, width)
        below = active[first - samples * into : first].reshape(samples, into) if layer else net.x
        part = out[at : at + width * into].reshape(width, into)
        if net.trains[layer]:
            product_of_columns(signal, below, part)
        else:
            part[:] = 0.0
        if layer:
            lower = first - samples * into
            weights = theta[at : at + width * into].reshape(width, into)
            product_of_rows(signal, weights, signals[lower:first].reshape(samples, into))
            if own:
                for k in range(lower, first):
                    pushed[k] += slopes[k] * signals[k]
        last = first


@fast_kernel
def sloped_backward(
    net: DeepRows, theta: Array, slopes: Array, active: Array, pushed: Array, signals: Array, velocity: Array
) -> float:
    """Write the signals that come back to each neuron and -grad <l>; returns <l>."""
    samples, top = net.y.shape[0], net.shapes.shape[0] - 1
    width = net.shapes[top, 1]
    first, at = slopes.shape[0] - samples * width, theta.shape[0] - width
    velocity[at:] = 0.0
    total = 0.0
    for i in range(samples):
        f, start = 0.0, first + i * width
        for h in range(width):
            f += theta[at + h] * active[start + h]
        total += sample_loss(net.loss, net.y[i], f)
        pull = sample_pull(net.loss, net.y[i], f) / samples
        for h in range(width):
            velocity[at + h] += pull * active[start + h]
            signals[start + h] = pull * theta[at + h]
    if not net.trains[top]:
        velocity[at:] = 0.0
    pull_back(net, theta, slopes, active, pushed, False, signals, velocity)
    return total / samples
