"""Singular values of the layers, and the ranks they make."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..errors import InputError
from ..network import Network, Weights
from ..reduced.stable_rank import stable_rank_of
from .calling import measure


@measure
def singular_values(network: Network, weights: Weights, layer: int) -> Array:
    """Singular values of weights[layer], falling; shape (min(out, in),). Layers count from 0.

    >>> from rectilinear import Network, measures
    >>> net = Network(inputs=2, widths=(2,))
    >>> measures.singular_values(net, ([[3.0, 0.0], [0.0, -4.0]], [[1.0, 1.0]]), layer=0).tolist()
    [4.0, 3.0]
    """
    if not 0 <= layer < network.layers:
        raise InputError(f"layer must lie in 0..{network.layers - 1}, found {layer}; layers count from 0.")
    return _singular_values(weights[layer])


@measure
def stable_rank(network: Network, weights: Weights) -> Array:
    """|W_l|_F^2 / |W_l|_2^2 of each layer, shape (layers,): 1 for a rank-one layer, at most its rank; nan for a zero layer.

    >>> from rectilinear import Network, measures
    >>> measures.stable_rank(Network(inputs=2, widths=(2,)), ([[2.0, 0.0], [0.0, -2.0]], [[1.0, 1.0]])).tolist()
    [2.0, 1.0]
    """
    return np.array([stable_rank_of(layer) for layer in weights])


@measure
def stable_rank_by_sign(network: Network, weights: Weights) -> Array:
    """Stable ranks of the first layer's rows with a_h > 0 and with a_h < 0, shape (2,); nan for a class without weights.

    These two matrices are the W_+1 and W_-1 of Kou et al., whose stable ranks tend to 1 for leaky ReLU; that of the whole
    first layer does not. Needs two layers.
    """
    if network.layers != 2:
        raise InputError(
            f"stable_rank_by_sign needs a two-layer network, found {network.layers} layers: "
            "only there does a neuron have one output weight."
        )
    first, second = weights
    return np.array([stable_rank_of(first[second[0] > 0]), stable_rank_of(first[second[0] < 0])])


def _singular_values(matrix: Array) -> Array:
    return np.asarray(np.linalg.svd(matrix, compute_uv=False), dtype=np.float64)
