"""From settings to a problem and from a problem to its run: what a sweep does where no function of the user's does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from .. import datasets
from ..dataset import Dataset
from ..errors import InputError
from ..flow.descend import descend
from ..flow.simulate import simulate
from ..network import Network
from ..problem import Problem
from ..tables import KINDS, kind_of
from ..theorems import predict
from ..trajectory import Trajectory
from .grid import spaced

TABLE = ("target", "drop", "centre", "standardise")  # what is done to a table before it is learned
PROBLEM = ("data", *TABLE, "width", "depth", "alpha", "bias", "scale", "start", "seed", "loss", "l2", "data_seed")
METHODS = ("simulate", "descend", "predict")
UNTIL, POINTS = 1000.0, 201  # the last time and the number of saved ones, unless the sweep says otherwise
KEPT_STATES = 200  # of gradient descent, about
SIMULATE = ("rtol", "stop_loss", "stop_gradient", "max_steps", "max_seconds")
RUN = ("method", "until", "points", "times", "log10_times", *SIMULATE, "learning_rate", "steps", "record_every", "theorem")


def problem_of(
    data: str = "",
    target: str | None = None,
    drop: str | Sequence[str] = (),
    centre: bool = False,
    standardise: bool = False,
    width: int = 100,
    depth: int = 2,
    alpha: float = 0.0,
    bias: bool = False,
    scale: float = 1e-3,
    start: str = "gaussian",
    seed: int = 0,
    loss: str = "square",
    l2: float = 0.0,
    **options: Any,
) -> Problem:
    """The problem with these settings: a named data set with its `options` or a file, a network of `depth` layers, a start.

    Inputs, and labels that are not classes, are centred or standardised where asked for.
    `seed` is that of the starting weights; `data_seed` that of a data set which has one.

    >>> problem_of(data="six_points", delta=0.1, width=20, depth=3)
    Problem: ReLU 2-20-20-1 on six_points (6 samples), square loss
    """
    for name, wanted in (("centre", centre), ("standardise", standardise)):
        if not isinstance(wanted, bool):
            raise InputError(f"{name} must be true or false, found {wanted!r}.")
    left_out = (drop,) if isinstance(drop, str) else tuple(drop)
    samples = _data(data, target, left_out, centre, standardise, tuple(sorted(options.items())))
    if not isinstance(depth, int) or isinstance(depth, bool) or depth < 2:
        raise InputError(f"depth counts the layers of weights, a whole number >= 2, found {depth!r}.")
    network = Network(samples.inputs, (width,) * (depth - 1), alpha, bias)
    return Problem(samples, network, network.init(scale, seed, start), loss, l2)


@lru_cache(maxsize=64)  # so that runs that share data read or make them once
def _data(
    name: str,
    target: str | None,
    drop: tuple[str, ...],
    centre: bool,
    standardise: bool,
    options: tuple[tuple[str, Any], ...],
) -> Dataset:
    data = _as_it_is(name, target, drop, options)
    return data.standardised() if standardise else data.centred() if centre else data


def _as_it_is(name: str, target: str | None, drop: tuple[str, ...], options: tuple[tuple[str, Any], ...]) -> Dataset:
    if name in datasets.names():
        for setting in ("target",) * (target is not None) + ("drop",) * bool(drop):
            raise InputError(f"{setting} belongs to a file, found the named data set {name}; leave it out.")
        known = datasets.options_of(name)
        chosen = {"seed" if option == "data_seed" and "seed" in known else option: value for option, value in options}
        if unknown := [option for option in chosen if option not in known]:
            own = ["data_seed" if option == "seed" else option for option in known]
            raise InputError(f"a setting must be one of {', '.join((*PROBLEM[:-1], *own, *RUN))}, found {unknown[0]!r}.")
        return datasets.make(name, **chosen)
    if options:
        raise InputError(f"a setting must be one of {', '.join((*PROBLEM[:-1], *RUN))}, found {options[0][0]!r}.")
    if kind_of(Path(name)) is None:
        raise InputError(
            f"data must be a file ({', '.join(KINDS)}) or one of {', '.join(datasets.names())}, found {name!r}."
        )
    return Dataset.from_file(name, target, drop)


def run_of(problem: Problem, settings: Mapping[str, Any], rehearsal: bool = False) -> Trajectory:
    """Run the problem as the settings say; a rehearsal stops after a step, which is enough to see whether it can be done."""
    method = settings.get("method", METHODS[0])
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}, found {method!r}.")
    if method == "descend":
        return _descend(problem, settings, rehearsal)
    if method == "predict":
        return predict(problem, times_of(settings), **_chosen(settings, "theorem"))
    horizon = _chosen(settings, "log10_times") or {"times": times_of(settings)}
    options = _chosen(settings, *SIMULATE) | ({"max_steps": 1} if rehearsal else {})
    return simulate(problem, **horizon, **options)


def times_of(settings: Mapping[str, Any]) -> Any:
    """The saved times: those listed, those of a range (and t = 0), or equally spaced ones up to `until`."""
    times = settings.get("times")
    if isinstance(times, Mapping):
        return np.unique([0.0, *spaced("times", times)])
    if times is not None:
        return times
    until, points = settings.get("until", UNTIL), settings.get("points", POINTS)
    if isinstance(until, str) or not 0 < until < np.inf:
        raise InputError(f"until must be a positive time, found {until!r}.")
    if not isinstance(points, int) or points < 2:
        raise InputError(f"points must be a whole number >= 2, the first and the last time, found {points!r}.")
    return np.linspace(0.0, until, points)


def _descend(problem: Problem, settings: Mapping[str, Any], rehearsal: bool) -> Trajectory:
    rate = settings.get("learning_rate")
    if not isinstance(rate, (int, float)) or not rate > 0:
        raise InputError(f"method descend needs a learning_rate, a positive number, found {rate!r}.")
    steps = settings.get("steps", int(np.ceil(settings.get("until", UNTIL) / rate)))
    if rehearsal:
        return descend(problem, rate, 1)
    every = settings.get("record_every", max(1, steps // KEPT_STATES))
    return descend(problem, rate, steps, every, **_chosen(settings, "max_seconds"))


def _chosen(settings: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: settings[name] for name in names if settings.get(name) is not None}
