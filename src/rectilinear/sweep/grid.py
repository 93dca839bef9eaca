"""The grid of a sweep: named axes with values, and every combination of them by number, without a list of all."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError

Value = bool | int | float | str
Point = dict[str, Value]

RANGE = ("from", "to", "points", "spacing")
SPACINGS = ("linear", "log")


@dataclass(frozen=True)
class Grid:
    """Every combination of the axes' values, the last axis changing fastest.

    >>> grid = Grid.of({"delta": {"from": 0.01, "to": 1.0, "points": 3, "spacing": "log"}, "seed": range(4)})
    >>> grid.shape, grid.size, grid.point(5)
    ((3, 4), 12, {'delta': 0.1, 'seed': 1})
    """

    axes: Mapping[str, tuple[Value, ...]]

    @classmethod
    def of(cls, axes: Mapping[str, Any]) -> Grid:
        """From lists of values, or from ranges `{"from": a, "to": b, "points": n, "spacing": "linear" or "log"}`."""
        if not isinstance(axes, Mapping) or not axes:
            raise InputError(f"grid must map one axis at least to its values, found {axes!r}.")
        return cls({str(name): _values(str(name), values) for name, values in axes.items()})

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(values) for values in self.axes.values())

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def indices(self, number: int) -> tuple[int, ...]:
        """Where on its axes that combination lies."""
        found = []
        for length in reversed(self.shape):
            number, index = divmod(number, length)
            found.append(index)
        return tuple(reversed(found))

    def number(self, indices: Iterable[int]) -> int:
        """The inverse of `indices`."""
        number = 0
        for length, index in zip(self.shape, indices, strict=True):
            number = number * length + index
        return number

    def point(self, number: int) -> Point:
        """The values of that combination."""
        chosen = zip(self.axes.items(), self.indices(number), strict=True)
        return {name: values[index] for (name, values), index in chosen}

    def __str__(self) -> str:
        return f"{' x '.join(f'{len(values)} {name}' for name, values in self.axes.items())} = {self.size} runs"


@dataclass(frozen=True)
class Shard:
    """Part `part` of `parts` of a sweep, counted from 1: every so many-th run, so that parts cost about the same.

    >>> list(Shard.of("2/3").share(range(8)))
    [1, 4, 7]
    """

    part: int = 1
    parts: int = 1

    @classmethod
    def of(cls, text: str) -> Shard:
        found = re.fullmatch(r"(\d+)/(\d+)", text)
        part, parts = (int(number) for number in found.groups()) if found else (0, 0)
        if not 1 <= part <= parts:
            raise InputError(f"a shard must read I/N with 1 <= I <= N, as in 3/64, found {text!r}.")
        return cls(part, parts)

    def share(self, numbers: range) -> range:
        return numbers[self.part - 1 :: self.parts]


def _values(name: str, given: Any) -> tuple[Value, ...]:
    if isinstance(given, Mapping):
        given = spaced(f"axis {name}", given)
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(
            f"axis {name} must be a list of values or a range, found {given!r}; fixed settings go beside the grid."
        )
    values = tuple(plain(f"axis {name}", value) for value in given)
    if not values:
        raise InputError(f"axis {name} must have one value at least, found none.")
    kinds = {str if isinstance(value, str) else bool if isinstance(value, bool) else float for value in values}
    if len(kinds) > 1:
        raise InputError(f"axis {name} must have values of one type, found {', '.join(map(repr, values[:4]))}.")
    if len(set(values)) < len(values):
        repeated = next(value for k, value in enumerate(values) if value in values[:k])
        raise InputError(f"axis {name} must have each value once, found {repeated!r} twice.")
    return values


def plain(what: str, value: Any) -> Value:
    """A text, a truth value or a finite number, as Python knows it."""
    if isinstance(value, (np.generic, np.ndarray)) and np.ndim(value) == 0:
        value = value.item()
    if not isinstance(value, (bool, int, float, str)) or (isinstance(value, float) and not math.isfinite(value)):
        raise InputError(f"{what} must have finite numbers, texts or truth values, found {value!r}.")
    return value


def spaced(what: str, given: Mapping[str, Any]) -> list[float] | list[int]:
    """The values of a range: whole numbers if its ends are and no number of points is asked for."""
    unknown = [key for key in given if key not in RANGE]
    if unknown or "from" not in given or "to" not in given:
        found = f"unknown {unknown[0]!r}" if unknown else f"only {', '.join(given) or 'nothing'}"
        raise InputError(f"{what}: a range has from and to, and may have points and spacing; found {found}.")
    low, high, points, spacing = given["from"], given["to"], given.get("points"), given.get("spacing", "linear")
    if not all(isinstance(end, (int, float)) and not isinstance(end, bool) and math.isfinite(end) for end in (low, high)):
        raise InputError(f"{what}: from and to must be finite numbers, found {low!r} and {high!r}.")
    if spacing not in SPACINGS or (spacing == "log" and not min(low, high) > 0):
        raise InputError(
            f"{what}: spacing must be linear, or log between positive numbers, found {spacing!r} from {low} to {high}."
        )
    if points is None and isinstance(low, int) and isinstance(high, int) and spacing == "linear":
        return list(range(low, high + 1))
    if not isinstance(points, int) or isinstance(points, bool) or points < 1:
        raise InputError(f"{what}: points must be a positive whole number, found {points!r}.")
    values = np.geomspace(low, high, points) if spacing == "log" else np.linspace(low, high, points)
    return [float(value) for value in values]
