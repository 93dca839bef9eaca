"""What is measured on each run of a sweep: measures by name, with arguments in brackets, and functions of the user's."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .. import measures
from ..arrays import Array
from ..compare import compare
from ..errors import HypothesisError, InputError
from ..events import Kind
from ..reduced.deep_structure import deep_structure
from ..theorems import predict
from ..trajectory import Trajectory
from .functions import FileFunction, identity

Measure = Callable[[Trajectory], Any]

OFF = 0.01  # relative error of the loss from which on theory and run have diverged, unless said otherwise
AT_REST = 1e-8  # a gradient below which nothing moves any more
AT_THE_END = (
    "linear_fraction",
    "even_energy",
    "odd_energy",
    "even_fraction",
    "stable_rank",
    "stable_rank_by_sign",
    "singular_values",
    "rank_one_residual",
    "sign_imbalance",
    "layer_imbalance",
    "neuron_imbalance",
    "distinct_directions",
    "distinct_neuron_patterns",
    "distinct_sample_patterns",
    "margins",
    "normalised_margin",
)
ON_CURVES = ("time_to_loss", "plateau_begin", "plateau_end", "plateau_duration", "plateau_height")


def final_loss(run: Trajectory) -> float:
    """The loss at the last saved time."""
    return float(run.loss[-1])


def loss_share(run: Trajectory) -> float:
    """What is left of the first loss at the last saved time."""
    return float(run.loss[-1] / run.loss[0])


def loss_at_rest(run: Trajectory) -> float:
    """What is left of the first loss where the flow has come to rest: nan where the gradient is not below 1e-8 at the end."""
    moving = sum(float(np.sum(layer**2)) for layer in run.problem.gradient(run.final)) > AT_REST**2
    return math.nan if moving else loss_share(run)


def loss(run: Trajectory) -> Array:
    """The whole loss curve."""
    return run.loss


def times(run: Trajectory) -> Array:
    """The saved times."""
    return run.times


def events(run: Trajectory, kind: str = "") -> float:
    """How many events at kinks there were, of one kind if asked for; nan where they are not located."""
    if kind and kind.upper() not in Kind.__members__:
        raise InputError(f"events counts {', '.join(name.lower() for name in Kind.__members__)}, found {kind!r}.")
    if run.events is None:
        return math.nan
    return float(run.events.count(Kind[kind.upper()]) if kind else run.events.happened)


def diverges_at(run: Trajectory, tolerance: float = OFF) -> float:
    """The first time at which the loss is off the prediction by that share; infinity if never, nan where no theorem applies."""
    try:
        told = predict(run.problem, run.times)
    except HypothesisError:
        return math.nan
    time = compare(told, run).diverges_at(tolerance)
    return math.inf if time is None else time


def off_structure(run: Trajectory) -> float:
    """Largest share of a layer's |W|^2 off the low-rank structure of deep networks (Zhang et al., Conjecture 11), at the end."""
    return float(max(deep_structure(run.final, run.problem.network.alpha).distances) ** 2)


def _at_the_end(name: str, run: Trajectory, *arguments: float | str) -> Any:
    """The measure of that name at the last saved time."""
    if type(run) is Trajectory:  # other kinds hold more per time, and are short
        run = replace(run, times=run.times[-1:], loss=run.loss[-1:], weights=tuple(layer[-1:] for layer in run.weights))
    return getattr(measures, name)(run, *arguments)[-1]


NAMED: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (final_loss, loss_share, loss_at_rest, loss, times, events, diverges_at, off_structure)
}
NAMED |= {name: getattr(measures, name) for name in ON_CURVES}
NAMED |= {name: partial(_at_the_end, name) for name in AT_THE_END}


@dataclass(frozen=True)
class Named:
    """A measure as text, such as `time_to_loss(0.01)`: one of ours or of another package's."""

    text: str

    def __post_init__(self) -> None:
        self._parts()

    def __call__(self, run: Trajectory) -> Any:
        function, arguments = self._parts()
        return function(run, *arguments)

    @property
    def name(self) -> str:
        return self.text.partition("(")[0].strip()

    def _parts(self) -> tuple[Callable[..., Any], list[float | str]]:
        known = NAMED | {name: _as_named(name, function) for name, function in measures.plugged_in_measures().items()}
        found = re.fullmatch(r"\s*\w+\s*(?:\((.*)\))?\s*", self.text)
        if found is None or self.name not in known:
            raise InputError(
                f"a measure must be a function, FILE.py:NAME or one of {', '.join(known)}, found {self.text!r}."
            )
        return known[self.name], [_argument(part) for part in found[1].split(",")] if found[1] else []


def _as_named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Another package's measure: at the end of the run where it gives one value per time, as it is otherwise."""
    return partial(_at_the_end, name) if getattr(function, "one_value_per_time", False) else function


def _argument(text: str) -> float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.strip()


def named_measures(given: Any, folder: Path) -> dict[str, Measure]:
    """Measures by the name their column gets: from texts, functions, a list of them, or a mapping from names to them."""
    if isinstance(given, str) or callable(given):
        given = [given]
    if isinstance(given, Mapping):
        chosen = {str(name): _measure(measure, folder) for name, measure in given.items()}
    elif isinstance(given, Iterable):
        listed = list(given)
        chosen = {_name(measure): _measure(measure, folder) for measure in listed}
        if len(chosen) < len(listed):
            raise InputError("measures must have different names, found one twice; give a mapping from names to measures.")
    else:
        raise InputError(f"measure must be a name, a function or a list of them, found {given!r}.")
    if not chosen:
        raise InputError("a sweep must measure something, found no measure; try measure=['final_loss'].")
    return chosen


def _measure(given: Any, folder: Path) -> Measure:
    if isinstance(given, str):
        return FileFunction.of(given, folder) if ".py:" in given else Named(given)
    if callable(given):
        measure: Measure = given
        return measure
    raise InputError(f"a measure must be a name or a function, found {given!r}.")


def _name(given: Any) -> str:
    if isinstance(given, str):
        return given.rpartition(":")[2] if ".py:" in given else given
    return str(getattr(given, "__name__", type(given).__name__))


def identity_of(measure: Measure) -> str:
    """What tells one measure from another."""
    if not isinstance(measure, Named):
        return identity(measure)
    plugged_in = measures.plugged_in_measures().get(measure.name)
    return measure.text if plugged_in is None else f"{measure.text} {identity(plugged_in)}"


def numbers_of(run: Trajectory, chosen: Mapping[str, Measure]) -> dict[str, Array]:
    """All measures of a run, each a number or an array of numbers."""
    return {name: _numbers(name, measure(run)) for name, measure in chosen.items()}


def _numbers(name: str, value: Any) -> Array:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"measure {name} must give a number or an array of numbers, found {value!r}.") from error
