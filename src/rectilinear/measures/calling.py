"""The one calling convention of all measures: (network, weights, ...) or (trajectory, ...)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..errors import InputError
from ..network import Network, Weights
from ..trajectory import Trajectory

P = ParamSpec("P")
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)
States = tuple[Network, tuple[Array, ...]]  # a network and its weights at every time, each layer (t, out, in)


class Measure(Protocol[P, Result_co]):
    """What `measure` makes of a function of one network: it takes a trajectory in its place too."""

    @overload
    def __call__(self, run: Trajectory, /, *args: Any, **kwargs: Any) -> Array: ...

    @overload
    def __call__(
        self, network: Network, weights: tuple[ArrayLike, ...], /, *args: P.args, **kwargs: P.kwargs
    ) -> Result_co: ...


def measure(single: Callable[Concatenate[Network, Weights, P], Result]) -> Measure[P, Result]:
    """Let a function of (network, weights, ...) take a Trajectory as well, and then give one value per saved time."""
    return _accepting_runs(single, weights_over_time)


def function_measure(single: Callable[Concatenate[Network, Weights, P], Result]) -> Measure[P, Result]:
    """As `measure`, for what depends on the function f alone: predictions that hold only a linear map can be measured."""
    return _accepting_runs(single, function_over_time)


def weights_over_time(run: Trajectory) -> States:
    """The network of the run and its weights at every saved time."""
    if not run.weights:
        raise InputError(
            "this measure needs the weights of the network, found a prediction without weights; "
            "measure a simulated run instead."
        )
    return run.problem.network, run.weights


def function_over_time(run: Trajectory) -> States:
    """A network and weights that compute the run's function: its own, or the linear network of the predicted linear map."""
    if run.weights:
        return weights_over_time(run)
    stand_in = Network(inputs=run.problem.network.inputs, widths=(1,), alpha=1.0)
    return stand_in, (run.linear_map[:, None, :], np.ones((len(run), 1, 1)))


def _accepting_runs(
    single: Callable[Concatenate[Network, Weights, P], Result], states: Callable[[Trajectory], States]
) -> Measure[P, Result]:
    signature = inspect.signature(single)
    from_data = [name for name in ("x", "y") if name in signature.parameters]

    @functools.wraps(single)
    def call(subject: Network | Trajectory, *args: Any, **kwargs: Any) -> Any:
        if isinstance(subject, Network):
            given = signature.bind(subject, *args, **kwargs).arguments
            return single(**given | {"weights": subject.check_weights(given["weights"])})  # type: ignore[call-arg]
        if not isinstance(subject, Trajectory):
            raise InputError(
                "a measure takes a Network with its weights, or a Trajectory, as its first argument, "
                f"found {type(subject).__name__}."
            )
        network, layers = states(subject)
        given = signature.bind_partial(network, None, *args, **kwargs).arguments
        if not any(name in given for name in from_data):  # fresh inputs never meet training labels
            given |= {name: getattr(subject.problem.data, name) for name in from_data}
        over_time = (tuple(layer[k] for layer in layers) for k in range(len(subject)))
        return np.array([single(**given | {"weights": weights}) for weights in over_time])  # type: ignore[call-arg]

    call.one_value_per_time = True  # type: ignore[attr-defined]
    return cast("Measure[P, Result]", call)
