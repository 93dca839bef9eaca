"""Neurons as directions and as switches: alignment, distinct directions, activation patterns and their flips.

Directions are those of the first layer's rows w_h. A hidden neuron is active on a sample if its preactivation is positive.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, Mask
from ..errors import InputError
from ..network import Network, Weights
from ..trajectory import Trajectory
from .calling import measure, weights_over_time

Pattern = Mask


@measure
def alignment(network: Network, weights: Weights, direction: ArrayLike) -> Array:
    """Cosine of the angle between each first-layer neuron w_h and `direction`, shape (h,); nan for a neuron w_h = 0.

    >>> from rectilinear import Network, measures
    >>> net = Network(inputs=2, widths=(3,))
    >>> measures.alignment(net, ([[3.0, 4.0], [0.0, 2.0], [0.0, -1.0]], [[1.0, 1.0, 1.0]]), [0.0, 7.0]).tolist()
    [0.8, 1.0, -1.0]
    """
    target = np.asarray(direction, dtype=np.float64)
    columns = weights[0].shape[1]
    if target.shape != (columns,) or not np.isfinite(target).all() or not target.any():
        raise InputError(
            f"direction must be a finite non-zero vector of shape ({columns},), one entry per column of the first layer, "
            f"found shape {target.shape}{'' if target.shape != (columns,) else ' with zeros or non-finite numbers'}."
        )
    return np.clip(_units(weights[0]) @ (target / np.linalg.norm(target)), -1.0, 1.0)


@measure
def distinct_directions(network: Network, weights: Weights, within_degrees: float = 1.0) -> int:
    """Number of groups of first-layer neurons that share a direction: no two of a group are over `within_degrees` apart.

    Groups come from complete linkage, so their number does not depend on the order of the neurons (ties of angles apart).
    Neurons w_h = 0 have no direction and are not counted; w and -w are two directions.

    >>> from rectilinear import Network, measures
    >>> net = Network(inputs=2, widths=(3,))
    >>> measures.distinct_directions(net, ([[1.0, 0.0], [5.0, 0.001], [-1.0, 0.0]], [[1.0, 1.0, 1.0]]))
    2
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    if not 0.0 <= within_degrees <= 180.0:
        raise InputError(f"within_degrees must be an angle in [0, 180], found {within_degrees}.")
    units = _units(weights[0][weights[0].any(axis=1)])
    if len(units) < 2:
        return len(units)
    chord = 2.0 * math.sin(math.radians(within_degrees) / 2.0)  # unit vectors at that angle are this far apart
    return int(fcluster(linkage(units, method="complete"), chord, criterion="distance").max())


@measure
def distinct_neuron_patterns(network: Network, weights: Weights, x: ArrayLike) -> int:
    """Number of different sets of samples on which first-layer neurons are active: neurons of one set share one gradient.

    >>> from rectilinear import Network, measures
    >>> net = Network(inputs=1, widths=(3,))
    >>> measures.distinct_neuron_patterns(net, ([[1.0], [2.0], [-1.0]], [[1.0, 1.0, 1.0]]), [[1.0], [-1.0]])
    2
    """
    return _distinct_rows(network.preactivations(weights, x)[0].T > 0)


@measure
def distinct_sample_patterns(network: Network, weights: Weights, x: ArrayLike) -> int:
    """Number of different sets of hidden neurons (of all layers) that samples activate: linear pieces of f that x visits."""
    return _distinct_rows(_active(network, weights, x))


def activation_flips(run: Trajectory, x: ArrayLike | None = None) -> Array:
    """Flips per unit of time between neighbouring saved times, shape (t - 1,).

    Counts the pairs (sample, hidden neuron of any layer) that are active at one of the two times and not at the other, and
    divides by the time between; a pair that switches and returns between two saved times is not seen. On the training inputs
    unless `x` is given.
    """
    network, layers = weights_over_time(run)
    inputs = run.problem.data.x if x is None else x
    flips = np.empty(max(len(run) - 1, 0))
    before: Pattern | None = None
    for k in range(len(run)):
        now = _active(network, tuple(layer[k] for layer in layers), inputs)
        if before is not None:
            flips[k - 1] = np.count_nonzero(now != before)
        before = now
    return flips / np.diff(run.times)


def _active(network: Network, weights: Weights, x: ArrayLike) -> Pattern:
    """Which hidden neurons are active on which samples, (samples, hidden neurons of all layers)."""
    active: Pattern = np.concatenate(network.preactivations(weights, x)[:-1], axis=1) > 0
    return active


def _distinct_rows(pattern: Pattern) -> int:
    return len(np.unique(np.packbits(pattern, axis=1), axis=0))


def _units(rows: Array) -> Array:
    """The rows divided by their norms; nan for zero rows."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, np.nan))
