"""Compiled losses of single samples, with their first and second derivatives."""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Mask
from ...losses import LOSSES
from ..compiled import fast_part, in_line

SQUARE, EXPONENTIAL = LOSSES["square"].code, LOSSES["exponential"].code


@in_line
def sample_loss(loss: int, y: float, f: float) -> float:
    """l(y, f), stable for every margin."""
    if loss == SQUARE:
        return 0.5 * (y - f) * (y - f)
    margin = y * f
    if loss == EXPONENTIAL:
        return np.exp(-margin)
    return np.log1p(np.exp(-abs(margin))) + max(-margin, 0.0)


@in_line
def sample_pull(loss: int, y: float, f: float) -> float:
    """-dl/df, stable for every margin."""
    if loss == SQUARE:
        return y - f
    margin = y * f
    if loss == EXPONENTIAL:
        return y * np.exp(-margin)
    if margin > 0.0:
        small = np.exp(-margin)
        return y * small / (1.0 + small)
    return y / (1.0 + np.exp(margin))


@in_line
def sample_curvature(loss: int, y: float, f: float) -> float:
    """d2l/df2, stable for every margin."""
    if loss == SQUARE:
        return 1.0
    margin = y * f
    if loss == EXPONENTIAL:
        return np.exp(-margin)
    small = np.exp(-abs(margin))
    return small / ((1.0 + small) * (1.0 + small))


@fast_part
def pair_pulls(
    loss: int,
    linear: Array,
    even: Array,
    labels: Array,
    mirror_labels: Array,
    mirrored: Mask,
    odd_pull: Array,
    even_pull: Array,
) -> float:
    """Write r+ - r- and r+ + r- of every row, where f(+-x) = even +- linear, and return the summed loss."""
    total = 0.0
    for i in range(linear.shape[0]):
        pull = sample_pull(loss, labels[i], even[i] + linear[i])
        total += sample_loss(loss, labels[i], even[i] + linear[i])
        odd_pull[i] = pull
        even_pull[i] = pull
        if mirrored[i]:
            pull = sample_pull(loss, mirror_labels[i], even[i] - linear[i])
            total += sample_loss(loss, mirror_labels[i], even[i] - linear[i])
            odd_pull[i] -= pull
            even_pull[i] += pull
    return total


@in_line
def mean_pulls(loss: int, y: Array, f: Array, pull: Array, curvature: Array) -> float:
    """Write -l'_i / P and l''_i / P of P samples, and return the mean loss."""
    samples, total = y.shape[0], 0.0
    for i in range(samples):
        total += sample_loss(loss, y[i], f[i])
        pull[i] = sample_pull(loss, y[i], f[i]) / samples
        curvature[i] = sample_curvature(loss, y[i], f[i]) / samples
    return total / samples
