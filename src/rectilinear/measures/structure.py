"""How far the weights are from the structures that theorems assume: rank one, equal signs, balanced layers."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from ..arrays import Array
from ..errors import InputError
from ..network import Network, Weights
from .calling import measure


@measure
def rank_one_residual(network: Network, weights: Weights) -> float:
    """min over unit r of |W_1 - W_2^T r^T| / |W_1|: the first half of Assumption 4 of Zhang et al., which holds at 0.

    The best r is W_2 W_1 normalised. Two layers only; nan if W_1 = 0.

    >>> from rectilinear import Network, measures
    >>> net = Network(inputs=2, widths=(2,))
    >>> measures.rank_one_residual(net, ([[0.6, 0.8], [-0.6, -0.8]], [[1.0, -1.0]]))
    0.0
    """
    first, second = _two_layers(network, weights, "rank_one_residual")
    if not first.any():
        return math.nan
    product = second @ first  # (1, inputs)
    size = np.linalg.norm(product)
    r = product / size if size else np.eye(1, first.shape[1])  # where W_2 W_1 = 0 all r are equally good
    return float(np.linalg.norm(first - second.T @ r) / np.linalg.norm(first))


@measure
def sign_imbalance(network: Network, weights: Weights) -> float:
    """(|W_2+| - |W_2-|) / |W_2| of the positive and negative entries of W_2; 0 under Assumption 4 of Zhang et al.

    In [-1, 1]; two layers only; nan if W_2 = 0.

    >>> from rectilinear import Network, measures
    >>> measures.sign_imbalance(Network(inputs=1, widths=(3,)), ([[1.0], [1.0], [1.0]], [[3.0, 0.0, -4.0]]))
    -0.2
    """
    _, second = _two_layers(network, weights, "sign_imbalance")
    if not second.any():
        return math.nan
    positive, negative = np.linalg.norm(np.maximum(second, 0.0)), np.linalg.norm(np.minimum(second, 0.0))
    return float((positive - negative) / np.linalg.norm(second))


@measure
def layer_imbalance(network: Network, weights: Weights) -> Array:
    """|W_l W_l^T - W_{l+1}^T W_{l+1}|_F for each hidden layer, shape (layers - 1,).

    Gradient flow keeps the matrix for linear networks (alpha = 1); for ReLU only its diagonal, see `neuron_imbalance`.
    """
    return np.array([np.linalg.norm(below @ below.T - above.T @ above) for below, above in pairwise(weights)])


@measure
def neuron_imbalance(network: Network, weights: Weights, layer: int = 0) -> Array:
    """|incoming|^2 - |outgoing|^2 of each neuron of a hidden layer, shape (h,): kept by gradient flow for every alpha.

    Hidden layers count from 0. For two layers this is |w_h|^2 - a_h^2.

    >>> from rectilinear import Network, measures
    >>> net = Network(inputs=2, widths=(2,))
    >>> measures.neuron_imbalance(net, ([[3.0, 4.0], [1.0, 0.0]], [[5.0, 2.0]])).tolist()
    [0.0, -3.0]
    """
    if not 0 <= layer < network.layers - 1:
        raise InputError(f"layer must name a hidden layer, 0..{network.layers - 2}, found {layer}; layers count from 0.")
    incoming, outgoing = weights[layer], weights[layer + 1]
    return np.asarray(np.sum(incoming**2, axis=1) - np.sum(outgoing**2, axis=0))


def _two_layers(network: Network, weights: Weights, what: str) -> tuple[Array, Array]:
    if network.layers != 2:
        raise InputError(f"{what} needs a two-layer network (Assumption 4 of Zhang et al.), found {network.layers} layers.")
    first, second = weights
    return first, second
