"""PyTorch models in and out: Sequential(Linear, ReLU or LeakyReLU, ..., Linear) and (Network, weights) are one function.

torch is not a dependency: it is imported when one of these functions is called.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array
from .errors import InputError
from .network import Network, Weights

if TYPE_CHECKING:
    import torch


WAY_OUT = ", or measure the model as it is by linearity(model, x)"


def from_torch(module: torch.nn.Module, output: int | None = None) -> tuple[Network, Weights]:
    """The network and weights of a torch Sequential(Linear, ReLU or LeakyReLU, Linear, ..., Linear) with one output.

    Sequentials may be nested; Flatten, Identity and, in eval mode, Dropout change nothing and are left out. Linear layers have
    no bias, but for the first one, which gives `Network(bias=True)`, and biases that are zero and stay so; all slopes are the
    same. Of several outputs `output` chooses one. Weights are copied as float64, which is exact for narrower types; layers with
    requires_grad=False become fixed ones. What is not of this form can still be measured: `linearity(model, x)`.
    """
    torch = _imported()
    if not isinstance(module, torch.nn.Sequential):
        raise InputError(
            f"a torch.nn.Sequential is required, found {_described(module)}; put its layers into a Sequential{WAY_OUT}."
        )
    layers = list(_unnested(torch, module))
    _check_kinds(torch, layers)
    linears, activations = layers[0::2], layers[1::2]
    _check_sizes(linears, output)
    network = Network(
        inputs=int(linears[0].in_features),
        widths=tuple(int(layer.out_features) for layer in linears[:-1]),
        alpha=_common_slope(torch, activations),
        bias=_has_first_bias(linears),
        trainable=tuple(_is_trained(position, layer) for position, layer in enumerate(linears)),
    )
    weights = [_matrix(layer, network.bias and k == 0) for k, layer in enumerate(linears)]
    weights[-1] = weights[-1][[output or 0]]
    return network, network.check_weights(tuple(weights))


def to_torch(network: Network, weights: tuple[ArrayLike, ...]) -> torch.nn.Sequential:
    """The same function as a torch Sequential in double precision; layers that do not train get requires_grad=False.

    For alpha = 0 activations are ReLU, else LeakyReLU. Their slope at exactly 0 is torch's (alpha), not `slope_at_zero`.
    """
    torch = _imported()
    layers: list[Any] = []
    for k, (matrix, moves) in enumerate(zip(network.check_weights(weights), network.trainable_layers, strict=True)):
        has_bias = network.bias and k == 0
        values = torch.tensor(np.array(matrix))
        linear = torch.nn.Linear(matrix.shape[1] - has_bias, matrix.shape[0], bias=has_bias, dtype=torch.float64)
        with torch.no_grad():
            linear.weight.copy_(values[:, :-1] if has_bias else values)
            if has_bias:
                linear.bias.copy_(values[:, -1])
        layers += [linear.requires_grad_(moves), torch.nn.LeakyReLU(network.alpha) if network.alpha else torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def _imported() -> Any:
    try:
        import torch
    except ImportError as error:
        raise InputError("torch is required for PyTorch models and is not installed; install torch.") from error
    return torch


def _unnested(torch: Any, module: Any) -> Iterator[Any]:
    """The layers that compute something, in order."""
    for layer in module:
        if isinstance(layer, torch.nn.Sequential):
            yield from _unnested(torch, layer)
        elif isinstance(layer, torch.nn.Dropout) and layer.training and layer.p:
            raise InputError("Dropout is random while a model trains; call model.eval() first.")
        elif not isinstance(layer, (torch.nn.Flatten, torch.nn.Identity, torch.nn.Dropout)):
            yield layer


def _check_kinds(torch: Any, layers: Sequence[Any]) -> None:
    """Linear and activation in turns, beginning and ending with Linear; subclasses may compute something else."""
    for position, layer in enumerate(layers):
        activation_due = position % 2 == 1
        known = (torch.nn.ReLU, torch.nn.LeakyReLU) if activation_due else (torch.nn.Linear,)
        if type(layer) not in known:
            required = "ReLU or LeakyReLU" if activation_due else "Linear"
            raise InputError(
                f"layers must be Linear, activation, Linear, ..., Linear: a {required} is required at position {position}, "
                f"found {_described(layer)}{WAY_OUT}."
            )
    if len(layers) < 3 or len(layers) % 2 == 0:
        raise InputError(
            "layers must be Linear, activation, Linear, ..., Linear, with one hidden layer at least, "
            f"found {len(layers)}: {', '.join(map(_described, layers)) or 'none'}."
        )


def _check_sizes(linears: Sequence[Any], output: int | None) -> None:
    for k, (lower, upper) in enumerate(pairwise(linears)):
        if lower.out_features != upper.in_features:
            raise InputError(
                f"each Linear must take what the one before gives, found {lower.out_features} outputs of the one at "
                f"position {2 * k} and {upper.in_features} inputs of the next."
            )
    outputs = int(linears[-1].out_features)
    if output is None and outputs != 1:
        raise InputError(
            f"the last Linear must have one output, found {outputs}; choose one by output=0, or for two classes train one output "
            "on labels -1 and +1."
        )
    if output is not None and not 0 <= output < outputs:
        raise InputError(f"output must be one of the {outputs} outputs, counted from 0, found {output!r}.")


def _common_slope(torch: Any, activations: Sequence[Any]) -> float:
    slopes = [float(layer.negative_slope) if type(layer) is torch.nn.LeakyReLU else 0.0 for layer in activations]
    if len(set(slopes)) > 1:
        raise InputError(
            f"all activations must have the same slope on the negative side, found {', '.join(map(str, slopes))}."
        )
    return slopes[0]


def _has_first_bias(linears: Sequence[Any]) -> bool:
    """Whether the first layer has biases; in any other layer they must be zero and stay so."""
    for k, layer in enumerate(linears[1:], start=1):
        if layer.bias is not None and (layer.bias.requires_grad or bool(layer.bias.any())):
            raise InputError(
                f"only the first Linear may have a bias (a Network's biases are a constant input), found one at position "
                f"{2 * k}; build it with bias=False{WAY_OUT}."
            )
    return linears[0].bias is not None


def _is_trained(position: int, layer: Any) -> bool:
    if position == 0 and layer.bias is not None and layer.bias.requires_grad != layer.weight.requires_grad:
        raise InputError(
            f"weight and bias of a Linear must train together, found requires_grad {layer.weight.requires_grad} and "
            f"{layer.bias.requires_grad} at position {2 * position}."
        )
    return bool(layer.weight.requires_grad)


def _matrix(layer: Any, with_bias: bool) -> Array:
    """Weights (out, in) of a Linear, its biases as a last column."""
    tensors = [layer.weight, layer.bias[:, None]] if with_bias else [layer.weight]
    return np.concatenate([tensor.detach().cpu().double().numpy() for tensor in tensors], axis=1)


def _described(thing: object) -> str:
    return type(thing).__name__
