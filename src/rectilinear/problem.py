"""A Problem: data, network, starting weights and loss; what theorems are asked about and flows start from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array
from .dataset import Dataset
from .errors import InputError, is_number
from .losses import Loss, named_loss
from .network import Network, Weights
from .precision import FLOAT64, Precision
from .wording import of_number


@dataclass(frozen=True, eq=False)
class Problem:
    """Train `network` on `data` from `weights` by gradient flow on L = <l(y, f)> + (l2/2)|W|^2, time unit tau = 1.

    Without `weights` it starts from `network.init(scale=1e-3, seed=0)`: small Gaussian ones, each layer of norm about 0.001.

    >>> import rectilinear as rl
    >>> data = rl.Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0])
    >>> net = rl.Network(inputs=2, widths=(8,))
    >>> problem = rl.Problem(data, net, net.init(scale=1e-3, seed=0), loss="logistic")
    >>> round(problem.objective(problem.weights), 6)
    0.693147
    """

    data: Dataset
    network: Network
    weights: Weights
    loss: Loss
    l2: float = 0.0

    def __init__(
        self,
        data: Dataset,
        network: Network,
        weights: tuple[ArrayLike, ...] | None = None,
        loss: str | Loss = "square",
        l2: float = 0.0,
    ) -> None:
        loss = named_loss(loss)
        if not isinstance(data, Dataset) or not isinstance(network, Network):
            found = f"{type(data).__name__} and {type(network).__name__}"
            raise InputError(
                f"a Problem takes a Dataset and a Network, in this order, found {found}; "
                "write Problem(Dataset(x, y), Network(inputs, widths))."
            )
        if data.inputs != network.inputs:
            raise InputError(
                f"the network must have as many inputs as the data, found {network.inputs} and {data.inputs}; "
                f"use Network(inputs={data.inputs}, ...)."
            )
        if not is_number(l2) or not np.isfinite(l2) or l2 < 0:
            raise InputError(f"l2 must be a number >= 0, found {l2!r}.")
        if loss.is_classification and not np.isin(data.y, (-1.0, 1.0)).all():
            odd_one = data.y[~np.isin(data.y, (-1.0, 1.0))][0]
            raise InputError(
                f"labels must be -1 or +1 for the {loss} loss, found {odd_one:g}; "
                "recode them, e.g. y = np.where(y > 0, 1, -1)."
            )
        object.__setattr__(self, "data", data)
        object.__setattr__(self, "network", network)
        object.__setattr__(self, "weights", network.check_weights(_default_start(network) if weights is None else weights))
        object.__setattr__(self, "loss", loss)
        object.__setattr__(self, "l2", float(l2))

    def __reduce__(self) -> tuple[type[Problem], tuple[Dataset, Network, Weights, Loss, float]]:
        return Problem, (self.data, self.network, self.weights, self.loss, self.l2)  # made anew, so that it is frozen too

    def with_weights(self, weights: tuple[ArrayLike, ...]) -> Problem:
        """The same problem from other weights."""
        return Problem(self.data, self.network, weights, self.loss, self.l2)

    @cached_property
    def x(self) -> Array:
        """The inputs as the first layer sees them: (samples, inputs), plus a column of ones if there are biases."""
        return np.ascontiguousarray(self.network.seen(self.data.x))

    @cached_property
    def start_precision(self) -> Precision:
        """How exact the starting weights are: they may have gone through float32."""
        found = FLOAT64
        for layer in self.weights:
            found = found.coarser(Precision.of(layer))
        return found

    @property
    def y(self) -> Array:
        return self.data.y

    def output(self, weights: Weights) -> Array:
        """f on the data, (samples,)."""
        return self.network.output(weights, self.data.x)

    def data_loss(self, weights: Weights) -> float:
        """<l(y, f)>, without regularisation."""
        return self.network.loss(weights, self.data.x, self.y, self.loss)

    def objective(self, weights: Weights) -> float:
        """<l(y, f)> + (l2/2)|W|^2: what gradient flow descends."""
        return self.network.loss(weights, self.data.x, self.y, self.loss, self.l2)

    def gradient(self, weights: Weights) -> Weights:
        """Gradient of `objective` (the plain NumPy definition; the flow has compiled kernels)."""
        return self.network.gradient(weights, self.data.x, self.y, self.loss, self.l2)

    def __repr__(self) -> str:
        l2 = f", l2 {self.l2:g}" if self.l2 else ""
        return (
            f"Problem: {self.network} on {self.data.name} ({of_number(self.data.samples, 'sample')}), {self.loss} loss{l2}"
        )


DEFAULT_SCALE = 1e-3  # small enough for neurons to align before the loss falls


def _default_start(network: Network) -> Weights:
    return network.init(DEFAULT_SCALE, seed=0)


def require_problem(caller: str, problem: object) -> None:
    """Refuse anything but a Problem with a sentence that says how to make one."""
    if not isinstance(problem, Problem):
        raise InputError(
            f"{caller} takes a Problem (data, network, weights, loss), found {type(problem).__name__}; "
            "make one, e.g. Problem(data, Network(data.inputs, widths=(100,)))."
        )
