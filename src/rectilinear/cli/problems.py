"""The options that describe a problem, and the problem they describe."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from .. import datasets
from ..dataset import Dataset
from ..errors import InputError
from ..losses import LOSSES
from ..network import Network
from ..problem import Problem
from ..starts import STARTS

Command = Callable[..., None]

PROBLEM_OPTIONS = (
    click.option("--data", "source", required=True, help="A named data set, or a .csv or .npz file."),
    click.option(
        "--set", "settings", multiple=True, metavar="NAME=VALUE", help="An option of the named data set; repeatable."
    ),
    click.option("--target", help="The label column of a .csv file, by name or position; the last one by default."),
    click.option(
        "--width", "widths", type=int, multiple=True, default=(100,), help="Neurons; repeat it for deeper networks."
    ),
    click.option("--alpha", type=float, default=0.0, help="Slope on the negative side: 0 is ReLU, 1 is linear."),
    click.option("--bias", is_flag=True, help="Give the first layer biases."),
    click.option("--scale", type=float, default=1e-3, help="Size of the starting weights."),
    click.option("--start", type=click.Choice(list(STARTS)), default="gaussian", help="Kind of starting weights."),
    click.option("--seed", type=int, default=0, help="Seed of the starting weights (of the data: --set seed=1)."),
    click.option("--loss", type=click.Choice(list(LOSSES)), default="square", help="Loss."),
    click.option("--l2", type=float, default=0.0, help="Strength of L2 regularisation."),
)


def taking(options: tuple[Callable[[Command], Command], ...]) -> Callable[[Command], Command]:
    """Add shared options to a command."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def problem_from(
    source: str,
    settings: tuple[str, ...],
    target: str | None,
    widths: tuple[int, ...],
    alpha: float,
    bias: bool,
    scale: float,
    start: str,
    seed: int,
    loss: str,
    l2: float,
) -> Problem:
    data = dataset_from(source, settings, target)
    network = Network(data.inputs, widths, alpha, bias)
    return Problem(data, network, network.init(scale, seed, start), loss, l2)


def dataset_from(source: str, settings: tuple[str, ...], target: str | None) -> Dataset:
    if source in datasets.NAMES:
        if target is not None:
            raise InputError(f"--target belongs to a .csv file, found the named data set {source}; drop it.")
        return datasets.make(source, **dict(_setting(text) for text in settings))
    kind = Path(source).suffix.lower()
    if kind not in (".csv", ".npz"):
        raise InputError(f"--data must be a .csv or .npz file or one of {', '.join(datasets.NAMES)}, found {source!r}.")
    if settings:
        raise InputError(f"--set belongs to a named data set, found the file {source}; drop it.")
    if kind == ".csv":
        return Dataset.from_csv(source, -1 if target is None else target)
    if target is not None:
        raise InputError(f"--target belongs to a .csv file, found {source}, whose labels are its array y; drop it.")
    return Dataset.from_npz(source)


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(f"--set must read NAME=VALUE, found {text!r}.")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value  # a word, which the data set may know or refuse
