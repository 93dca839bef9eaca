"""The options that describe a problem, and the problem they describe."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from .. import datasets
from ..dataset import Dataset
from ..errors import InputError, did_you_mean
from ..losses import ALIASES, LOSSES
from ..network import Network
from ..problem import Problem
from ..starts import STARTS
from ..tables import KINDS, kind_of
from .group import NamedChoice

Command = Callable[..., None]
Option = Callable[[Command], Command]

PROBLEM_OPTIONS = (
    click.argument("source", metavar="DATA", required=False),
    click.option("--data", "named", metavar="DATA", help="The same as DATA, by name."),
    click.option(
        "--set", "settings", multiple=True, metavar="NAME=VALUE", help="An option of the named data set; repeatable."
    ),
    click.option("--target", help="The label column of a table, by name or position; the last one by default."),
    click.option("--drop", multiple=True, metavar="COLUMN", help="A column of a table to leave out; repeatable."),
    click.option(
        "--precision",
        type=float,
        help="How exact the numbers of a table are, over the largest of a column; looked for by default.",
    ),
    click.option("--centre", is_flag=True, help="Subtract the mean of every input, and of labels that are not classes."),
    click.option("--standardise", is_flag=True, help="The same, and divide by the standard deviations."),
    click.option(
        "--width", "widths", type=int, multiple=True, default=(100,), help="Neurons; repeat it for deeper networks."
    ),
    click.option("--alpha", type=float, default=0.0, help="Slope on the negative side: 0 is ReLU, 1 is linear."),
    click.option("--bias", is_flag=True, help="Give the first layer biases."),
    click.option("--scale", type=float, default=1e-3, help="Size of the starting weights."),
    click.option("--start", type=NamedChoice(list(STARTS)), default="gaussian", help="Kind of starting weights."),
    click.option("--seed", type=int, default=0, help="Seed of the starting weights (of the data: --set seed=1)."),
    click.option("--loss", type=NamedChoice(list(LOSSES), ALIASES), default="square", help="Loss."),
    click.option("--l2", type=float, default=0.0, help="Strength of L2 regularisation."),
)


def taking(options: tuple[Option, ...]) -> Option:
    """Add shared options to a command."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def of_a_problem(command: Command) -> Command:
    """Give a command DATA, a named data set or a file, and the options that describe a problem."""

    @wraps(command)
    def called(source: str | None, named: str | None, **chosen: Any) -> None:
        command(source=_one_of(source, named), **chosen)

    return taking(PROBLEM_OPTIONS)(called)


def _one_of(source: str | None, named: str | None) -> str:
    """The data, given as an argument or as --data."""
    found = [name for name in (source, named) if name is not None]
    if len(found) != 1:
        raise InputError(
            f"one data set or file must be named, found {' and '.join(found) or 'none'}; "
            "write table.csv or six_points after the command ('rectilinear datasets' lists what has a name)."
        )
    return found[0]


def problem_from(
    source: str,
    settings: tuple[str, ...],
    target: str | None,
    drop: tuple[str, ...],
    precision: float | None,
    centre: bool,
    standardise: bool,
    widths: tuple[int, ...],
    alpha: float,
    bias: bool,
    scale: float,
    start: str,
    seed: int,
    loss: str,
    l2: float,
) -> Problem:
    data = dataset_from(source, settings, target, drop, precision)
    for note in data.notes:
        click.echo(f"{data.name}: {note}", err=True)
    if standardise:
        data = data.standardised()
    elif centre:
        data = data.centred()
    network = Network(data.inputs, widths, alpha, bias)
    return Problem(data, network, network.init(scale, seed, start), loss, l2)


def dataset_from(
    source: str, settings: tuple[str, ...], target: str | None, drop: tuple[str, ...], precision: float | None = None
) -> Dataset:
    if source in datasets.names():
        given = {"--target": target is not None, "--drop": bool(drop), "--precision": precision is not None}
        for option in (name for name, is_given in given.items() if is_given):
            raise InputError(f"{option} belongs to a file, found the named data set {source}; drop it.")
        return datasets.make(source, **dict(named_value("--set", text) for text in settings))
    if kind_of(Path(source)) is None:
        raise InputError(
            f"the data must be a file ({', '.join(KINDS)}) or one of {', '.join(datasets.names())}, found {source!r}"
            f"{did_you_mean(source, datasets.names())}"
        )
    if settings:
        raise InputError(f"--set belongs to a named data set, found the file {source}; drop it.")
    return Dataset.from_file(source, target, drop, precision)


def named_value(option: str, text: str) -> tuple[str, Any]:
    """What `NAME=VALUE`, given to an option, says: a number, list or truth value as JSON has it, or else a word."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(f"{option} must read NAME=VALUE, found {text!r}.")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
