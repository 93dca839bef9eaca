"""The network as a function: its linear map, its odd and even energy, its distance from another function.

Averages <.> are means over the inputs x that are given; nothing is centred.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..network import Network, Weights
from .calling import function_measure


@function_measure
def effective_linear_map(network: Network, weights: Weights, x: ArrayLike) -> Array:
    """The linear map nearest to the network on x: v = argmin <(f(x) - v.x)^2>, of least norm; shape (inputs,).

    Where the inputs are symmetric (x and -x alike) and span the space, the fit of a two-layer network is its exact linear
    part (1 + alpha)/2 W_2 W_1, since even functions are orthogonal to linear ones (Zhang et al., Theorem 1).

    >>> from rectilinear import Network, measures
    >>> relu = Network(inputs=1, widths=(1,))
    >>> measures.effective_linear_map(relu, ([[1.0]], [[3.0]]), [[2.0], [-2.0]]).round(12).tolist()
    [1.5]
    """
    return _linear_fit(np.atleast_2d(np.asarray(x, dtype=np.float64)), network.output(weights, x))


@function_measure
def linear_fraction(network: Network, weights: Weights, x: ArrayLike) -> float:
    """Fraction of the output's variance <f^2> that its best linear fit v.x explains: <(v.x)^2> / <f^2>, in [0, 1].

    1 for a function that is linear on x; nan where f vanishes on all of x.

    >>> from rectilinear import Network, measures
    >>> relu = Network(inputs=1, widths=(1,))
    >>> round(measures.linear_fraction(relu, ([[1.0]], [[3.0]]), [[2.0], [-2.0]]), 12)
    0.5
    """
    x = np.atleast_2d(np.asarray(x, dtype=np.float64))
    f = network.output(weights, x)
    return _ratio(float(np.sum((x @ _linear_fit(x, f)) ** 2)), float(f @ f))


@function_measure
def even_energy(network: Network, weights: Weights, x: ArrayLike) -> float:
    """<f_e^2> of the even part f_e(x) = (f(x) + f(-x))/2; zero for an odd function, at any depth.

    >>> from rectilinear import Network, measures
    >>> measures.even_energy(Network(inputs=1, widths=(1,)), ([[1.0]], [[3.0]]), [[2.0]])
    9.0
    """
    return float(np.mean(_parts(network, weights, x)[0] ** 2))


@function_measure
def odd_energy(network: Network, weights: Weights, x: ArrayLike) -> float:
    """<f_o^2> of the odd part f_o(x) = (f(x) - f(-x))/2, which for two layers is linear (Zhang et al., Theorem 1)."""
    return float(np.mean(_parts(network, weights, x)[1] ** 2))


@function_measure
def even_fraction(network: Network, weights: Weights, x: ArrayLike) -> float:
    """<f_e^2> / (<f_e^2> + <f_o^2>), in [0, 1]; nan where f vanishes on x and -x."""
    even, odd = (float(part @ part) for part in _parts(network, weights, x))
    return _ratio(even, even + odd)


@function_measure
def function_distance(network: Network, weights: Weights, reference: tuple[Network, Weights], x: ArrayLike) -> float:
    """Relative distance |f - g| / |g| in L2 over x from the function g of `reference`, a pair (network, weights).

    It knows nothing of the loss, of labels or of the order of neurons. nan where g vanishes on all of x.

    >>> from rectilinear import Network, measures
    >>> net = Network(inputs=1, widths=(1,))
    >>> measures.function_distance(net, ([[1.0]], [[3.0]]), (net, ([[1.0]], [[2.0]])), [[1.0], [5.0]])
    0.5
    """
    other, other_weights = reference
    g = other.output(other.check_weights(other_weights), x)
    return _ratio(float(np.linalg.norm(network.output(weights, x) - g)), float(np.linalg.norm(g)))


def _linear_fit(x: Array, f: Array) -> Array:
    return np.asarray(np.linalg.lstsq(x, f, rcond=None)[0], dtype=np.float64)


def _parts(network: Network, weights: Weights, x: ArrayLike) -> tuple[Array, Array]:
    """The even and the odd part of f on x."""
    x = np.asarray(x, dtype=np.float64)
    here, mirrored = network.output(weights, x), network.output(weights, -x)
    return (here + mirrored) / 2.0, (here - mirrored) / 2.0


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
