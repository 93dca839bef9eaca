"""Order parameters of weights and of whole runs.

One calling convention: a measure is a function of `(network, weights, ...)` and gives a number or an array. A Trajectory may
stand in place of the network and its weights; then the measure gives one value per saved time, as a leading axis (t, ...).
Inputs `x` and labels `y` must be given with a network; with a Trajectory they default to its training data.

>>> import rectilinear as rl
>>> from rectilinear import measures
>>> net = rl.Network(inputs=1, widths=(2,))
>>> weights = ([[1.0], [-1.0]], [[1.0, -1.0]])
>>> round(measures.linear_fraction(net, weights, x=[[1.0], [-1.0]]), 12)
1.0
>>> data = rl.Dataset([[1.0], [-1.0]], [2.0, -2.0])
>>> run = rl.simulate(rl.Problem(data, net, weights), times=[0.0, 1.0, 2.0])
>>> measures.linear_fraction(run).round(12).tolist()
[1.0, 1.0, 1.0]

Measures that depend on the function f alone (first row below, and `margins`) also take predictions that hold a linear map
instead of weights. `activation_flips` compares neighbouring times, so it takes a Trajectory only. A ratio 0/0, as the linear
fraction of a function that is zero, is nan.

- the function: `effective_linear_map`, `linear_fraction`, `even_energy`, `odd_energy`, `even_fraction`,
  `function_distance`
- spectra: `singular_values`, `stable_rank`, `stable_rank_by_sign`
- structure: `rank_one_residual`, `sign_imbalance` (Assumption 4), `layer_imbalance`, `neuron_imbalance`
- neurons: `alignment`, `distinct_directions`, `distinct_neuron_patterns`, `distinct_sample_patterns`, `activation_flips`
- margins: `margins`, `normalised_margin`
- loss curves, of a Trajectory only: `time_to_loss`, `plateau_begin`, `plateau_end`, `plateau_duration`, `plateau_height`, and
  the level of the plateau, `linear_fit_loss` of a data set

Of whole runs, in the words of one paper:

- Kou, Chen & Gu: `decomposition` into data-correlated coefficients, `last_switch`, `loss_slopes`, `increment_ratios`
- Phuong & Lampert: `limit_distance` from the limit of directions, `approach` to it

Measures of other packages (see `rectilinear.plugins`) are found here by their names too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..plugins import plugged_in
from .coefficients import decomposition, increment_ratios, last_switch, loss_slopes
from .curves import linear_fit_loss, plateau_begin, plateau_duration, plateau_end, plateau_height, time_to_loss
from .functions import (
    effective_linear_map,
    even_energy,
    even_fraction,
    function_distance,
    linear_fraction,
    odd_energy,
)
from .limit_distance import approach, limit_distance
from .margins import margins, normalised_margin
from .neurons import activation_flips, alignment, distinct_directions, distinct_neuron_patterns, distinct_sample_patterns
from .spectra import singular_values, stable_rank, stable_rank_by_sign
from .structure import layer_imbalance, neuron_imbalance, rank_one_residual, sign_imbalance

__all__ = [
    "activation_flips",
    "alignment",
    "approach",
    "decomposition",
    "distinct_directions",
    "distinct_neuron_patterns",
    "distinct_sample_patterns",
    "effective_linear_map",
    "even_energy",
    "even_fraction",
    "function_distance",
    "increment_ratios",
    "last_switch",
    "layer_imbalance",
    "limit_distance",
    "linear_fit_loss",
    "linear_fraction",
    "loss_slopes",
    "margins",
    "neuron_imbalance",
    "normalised_margin",
    "odd_energy",
    "plateau_begin",
    "plateau_duration",
    "plateau_end",
    "plateau_height",
    "rank_one_residual",
    "sign_imbalance",
    "singular_values",
    "stable_rank",
    "stable_rank_by_sign",
    "time_to_loss",
]


def plugged_in_measures() -> dict[str, Callable[..., Any]]:
    """The measures of other packages by name."""
    return plugged_in(
        "measures", __all__, lambda name, found: "" if callable(found) else f"{type(found).__name__} is no function"
    )


def __getattr__(name: str) -> Any:
    if not name.startswith("_") and name in (found := plugged_in_measures()):
        return found[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
