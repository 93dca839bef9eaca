"""Bias-free (leaky) ReLU networks: the readable NumPy definition of output, loss gradient and Theorem 1's split.

Notation: samples n, inputs d, neurons h, layers l. Weights of layer l have shape (neurons out, neurons in); the last layer
has one output.
"""

from __future__ import annotations

from collections.abc import Iterable, Sized
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from . import starts
from .arrays import Array
from .errors import InputError
from .losses import Loss

Weights = tuple[Array, ...]

MOST_WEIGHTS = 10**9  # 8 GB


@dataclass(frozen=True)
class Network:
    """f(x) = W_L sigma(... sigma(W_1 x)) with sigma(z) = max(z, alpha z), no activation on the output (Zhang et al., Eq. 1).

    `widths` are the sizes of the hidden layers: `widths=(500,)` is the two-layer network. `alpha` = 0 is ReLU, 1 is linear.
    `trainable[l]` tells whether layer l moves (Kou et al. fix the second one). With `bias=True` the first layer sees one
    more input, the constant 1: its weights have shape (h, inputs + 1), the last column being the biases.

    >>> net = Network(inputs=2, widths=(4,))
    >>> weights = net.init(scale=1.0, seed=0)
    >>> [w.shape for w in weights]
    [(4, 2), (1, 4)]
    >>> net.output(weights, [[1.0, 2.0]]).shape
    (1,)
    """

    inputs: int
    widths: tuple[int, ...]
    alpha: float = 0.0
    bias: bool = False
    trainable: tuple[bool, ...] | None = None

    def __post_init__(self) -> None:
        widths = tuple(self.widths) if isinstance(self.widths, Iterable) else (self.widths,)
        object.__setattr__(self, "widths", widths)
        for name, size in [("inputs", self.inputs), *((f"widths[{k}]", width) for k, width in enumerate(widths))]:
            if not isinstance(size, (int, np.integer)) or isinstance(size, bool) or size < 1:
                raise InputError(f"{name} must be a positive whole number, found {size!r}.")
        if not widths:
            raise InputError("widths must name at least one hidden layer, found none; for a linear network use alpha=1.")
        if not isinstance(self.alpha, (int, float, np.number)) or not 0.0 <= self.alpha <= 1.0:
            raise InputError(f"alpha must lie in [0, 1] (0 is ReLU, 1 is linear), found {self.alpha!r}.")
        if (size := sum(out * into for out, into in self.shapes)) > MOST_WEIGHTS:
            raise InputError(f"a network must have {MOST_WEIGHTS:.0e} weights at most, to fit in memory, found {size:.3g}.")
        trainable = (True,) * self.layers if self.trainable is None else tuple(bool(t) for t in self.trainable)
        if len(trainable) != self.layers or not any(trainable):
            raise InputError(
                f"trainable must hold {self.layers} truth values, one per layer, with one true at least, found {trainable}."
            )
        object.__setattr__(self, "trainable", trainable)

    @property
    def layers(self) -> int:
        return len(self.widths) + 1

    @property
    def trainable_layers(self) -> tuple[bool, ...]:
        """`trainable` without its None."""
        return cast("tuple[bool, ...]", self.trainable)

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """The shape (out, in) of each layer's weights."""
        sizes = (self.inputs + self.bias, *self.widths, 1)
        return tuple((out, into) for into, out in pairwise(sizes))

    @property
    def mean_slope(self) -> float:
        """c = (1 + alpha)/2, the mean of the activation's two slopes."""
        return (1.0 + self.alpha) / 2.0

    @property
    def slope_at_zero(self) -> float:
        """sigma'(0): (1 + alpha)/2 for two layers, alpha for deeper networks.

        The first is the only value for which Lemma 11 of Zhang et al. is exact with samples on a neuron's hyperplane; the
        second keeps the low-rank structure of Eq. 40 invariant.
        """
        return self.mean_slope if self.layers == 2 else self.alpha

    def init(self, scale: float, seed: int, start: str = "gaussian", direction: ArrayLike | None = None) -> Weights:
        """Starting weights; `start` is one of gaussian, balanced, rank_one, antisymmetric, two_class (see `starts`).

        `direction` (inputs,) is the common direction of the neurons for `rank_one`; random if not given.

        >>> import numpy as np
        >>> first, second = Network(inputs=3, widths=(6,)).init(scale=1e-3, seed=1, start="balanced")
        >>> bool(np.allclose(np.linalg.norm(first, axis=1), np.abs(second[0])))
        True
        """
        return starts.make(start, self.shapes, scale, seed, direction)

    def check_weights(self, weights: tuple[ArrayLike, ...]) -> Weights:
        """The weights as frozen float64 arrays of this network's shapes, or a sentence saying what is wrong."""
        if not isinstance(weights, Sized) or len(weights) != self.layers:
            found = len(weights) if isinstance(weights, Sized) else repr(weights)
            raise InputError(f"weights must hold {self.layers} arrays, one per layer, found {found}.")
        checked = []
        for k, (layer, shape) in enumerate(zip(weights, self.shapes, strict=True)):
            try:
                array = np.array(layer, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise InputError(f"weights[{k}] must be an array of numbers ({error}).") from error
            if array.shape != shape:
                raise InputError(f"weights[{k}] must have shape {shape} (neurons out, neurons in), found {array.shape}.")
            if not np.isfinite(array).all():
                raise InputError(f"weights[{k}] must be finite, found nan or inf; start from finite weights.")
            array.flags.writeable = False
            checked.append(array)
        return tuple(checked)

    def seen(self, x: ArrayLike) -> Array:
        """The inputs (n, d) as the first layer sees them: with a column of ones if there are biases."""
        x = np.atleast_2d(np.asarray(x, dtype=np.float64))
        if x.shape[1] != self.inputs:
            raise InputError(f"inputs must have shape (samples, {self.inputs}), found {x.shape}.")
        return np.concatenate([x, np.ones((len(x), 1))], axis=1) if self.bias else x

    def activation(self, z: Array) -> Array:
        """sigma(z) = max(z, alpha z)."""
        return np.maximum(z, self.alpha * z)

    def slope(self, z: Array) -> Array:
        """sigma'(z), with `slope_at_zero` at z = 0."""
        return np.where(z > 0, 1.0, np.where(z < 0, self.alpha, self.slope_at_zero))

    def preactivations(self, weights: Weights, x: ArrayLike) -> list[Array]:
        """h_1, ..., h_L, each (samples, neurons of that layer); the last is the output."""
        hidden = [self.seen(x) @ weights[0].T]
        for layer in weights[1:]:
            hidden.append(self.activation(hidden[-1]) @ layer.T)
        return hidden

    def output(self, weights: Weights, x: ArrayLike) -> Array:
        """f(x) for each sample, shape (n,)."""
        return self.preactivations(weights, x)[-1][:, 0]

    def loss(self, weights: Weights, x: ArrayLike, y: Array, loss: Loss, l2: float = 0.0) -> float:
        """<l(y, f)> + (l2/2) sum of |W|^2 over the trainable layers."""
        return float(np.mean(loss.value(y, self.output(weights, x)))) + l2 * self.penalty(weights)

    def penalty(self, weights: Weights) -> float:
        """Half the sum of |W|^2 over the trainable layers."""
        return 0.5 * sum(float(np.sum(w * w)) for w, moves in zip(weights, self.trainable_layers, strict=True) if moves)

    def gradient(self, weights: Weights, x: ArrayLike, y: Array, loss: Loss, l2: float = 0.0) -> Weights:
        """Gradient of `loss`, layer by layer; zero for layers that do not train (Zhang et al., Eqs. 6, 7, 11, corrected).

        dL/dW_l = -<(df/dh_l)^T pull sigma(h_{l-1})^T> with pull = -dl/df and sigma(h_0) = x.
        """
        hidden = self.preactivations(weights, x)
        samples = len(hidden[0])
        below = [self.seen(x), *(self.activation(h) for h in hidden[:-1])]
        signal = -loss.pull(y, hidden[-1][:, 0])[:, None] / samples
        gradients: list[Array] = []
        for layer in range(self.layers - 1, -1, -1):
            moves = self.trainable_layers[layer]
            gradients.append(signal.T @ below[layer] + l2 * weights[layer] if moves else np.zeros_like(weights[layer]))
            if layer:
                signal = (signal @ weights[layer]) * self.slope(hidden[layer - 1])
        return tuple(reversed(gradients))

    def linear_part(self, weights: Weights) -> Array:
        """The vector v with (f(x) - f(-x))/2 = v . x for every x: v = (1 + alpha)/2 W_2 W_1 (Theorem 1), shape (inputs,)."""
        self._require_two_layers("linear_part")
        return np.asarray((1.0 + self.alpha) / 2.0 * (weights[1] @ weights[0])[0])

    def even_part(self, weights: Weights, x: ArrayLike) -> Array:
        """(f(x) + f(-x))/2 = (1 - alpha)/2 sum_h a_h |w_h . x|, shape (n,) (Theorem 1)."""
        self._require_two_layers("even_part")
        return np.asarray((1.0 - self.alpha) / 2.0 * (np.abs(self.seen(x) @ weights[0].T) @ weights[1][0]))

    def _require_two_layers(self, what: str) -> None:
        if self.layers != 2 or self.bias:
            raise InputError(
                f"{what} needs a two-layer network without bias (Theorem 1), "
                f"found {self.layers} layers{' with bias' if self.bias else ''}."
            )

    def __str__(self) -> str:
        kind = {0.0: "ReLU", 1.0: "linear"}.get(self.alpha, f"leaky ReLU (alpha {self.alpha:g})")
        sizes = "-".join(str(size) for size in (self.inputs, *self.widths, 1))
        fixed = [str(k + 1) for k, moves in enumerate(self.trainable_layers) if not moves]
        return f"{kind} {sizes}{' with bias' if self.bias else ''}" + (f", layer {', '.join(fixed)} fixed" if fixed else "")


def odd_nonlinear_network(alpha: float = 0.0) -> tuple[Network, Weights]:
    """Zhang et al., Eq. 3: a three-layer network whose function is odd and not linear, which no two-layer one can express.

    g(x) = sigma(sigma(x1) - sigma(x2)) - sigma(sigma(-x1) - sigma(-x2)); g(e1) + g(e2) - g(e1 + e2) = (1 - alpha)^2.

    >>> net, weights = odd_nonlinear_network()
    >>> net.output(weights, [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.0]]).tolist()
    [1.0, 0.0, 0.0, -1.0]
    """
    first = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    second = np.array([[1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0]])
    return Network(inputs=2, widths=(4, 2), alpha=alpha), (first, second, np.array([[1.0, -1.0]]))
