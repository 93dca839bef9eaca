"""What the explorer can be asked for: a State, read from a message field by field, and the problem it describes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..dataset import Dataset
from ..errors import InputError
from ..losses import LOSSES
from ..network import Network, Weights
from ..problem import Problem
from ..starts import STARTS

MOST_POINTS = 60
WIDEST, DEEPEST, WIDEST_DEEP = 500, 3, 30  # neurons; hidden layers; neurons of each hidden layer where there are several
LARGEST = 100.0  # of a coordinate or a label
LATEST, LATEST_LOG10 = 1e7, 1e7  # times, and their logarithms for classifiers
LONGEST_TEXT = 300
OWN = "own"  # the start of a run whose weights are given, not drawn

Point = tuple[float, float, float]


@dataclass(frozen=True)
class State:
    """One training run of the plane: points (x1, x2, y), the network, its start, the loss and how far to go.

    `far` runs (classification, one hidden layer) go to t = 10^`until`; all others to t = `until`. `note` tells where the points come
    from. Where `start` is "own" it is `weights`, which no message carries: the host of the page keeps them.

    >>> State(points=((1.0, 0.0, 1.0), (0.0, 1.0, -1.0))).problem()
    Problem: ReLU 2-20-1 on data (2 samples), square loss
    """

    points: tuple[Point, ...]
    width: int = 20
    depth: int = 1
    alpha: float = 0.0
    scale: float = 1e-3
    start: str = "gaussian"
    seed: int = 0
    loss: str = "square"
    until: float = 3000.0
    far: bool = False
    name: str = "data"
    note: str = ""
    weights: Weights | None = field(default=None, compare=False, repr=False)

    def problem(self) -> Problem:
        """The problem that is simulated, as `Problem` checks it."""
        table = np.array(self.points)
        network = Network(2, (self.width,) * self.depth, self.alpha)
        data = Dataset(table[:, :2], table[:, 2], self.name)
        return Problem(data, network, self._start(network), self.loss)

    def _start(self, network: Network) -> Weights:
        if self.start != OWN:
            return network.init(self.scale, self.seed, self.start)
        given = () if self.weights is None else self.weights
        if [layer.shape for layer in given] != list(network.shapes):
            raise InputError(f"the start {OWN!r} belongs to another network; choose one that is drawn.")
        return tuple(given)

    def to_json(self) -> dict[str, Any]:
        """The state as plain values; `read_state` reads them back."""
        return {known.name: getattr(self, known.name) for known in fields(self) if known.name != "weights"}


def read_state(values: object) -> State:
    """The state that a message describes; every field is checked, and a sentence says what is wrong.

    >>> read_state({"points": [[1, 0, 1]], "width": 4}).width
    4
    """
    if not isinstance(values, Mapping):
        raise InputError(f"a state must be an object with named fields, found {type(values).__name__}.")
    unknown = [name for name in values if name not in READERS]
    if unknown:
        raise InputError(f"a state's fields must be among {', '.join(READERS)}, found {str(unknown[0])[:40]!r}.")
    if "points" not in values:
        raise InputError("a state must have points, found none; give a list of [x1, x2, y].")
    state = State(**{name: READERS[name](name, value) for name, value in values.items()})
    if state.depth > 1 and state.width > WIDEST_DEEP:
        raise InputError(
            f"width must be at most {WIDEST_DEEP} with several hidden layers, found {state.width}; take a narrower network."
        )
    latest = LATEST_LOG10 if state.far else LATEST
    if not 0.0 < state.until <= latest:
        raise InputError(f"until must lie above 0 and at most {latest:g}, found {state.until:g}.")
    if state.far and (state.loss == "square" or state.depth > 1):
        raise InputError(
            "far times need a logistic or exponential loss and one hidden layer; choose those, or an ordinary time."
        )
    return state


def _number(low: float, high: float) -> Callable[[str, object], float]:
    def read(name: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise InputError(f"{name} must be a number from {low:g} to {high:g}, found {_shown(value)}.")
        return float(value)

    return read


def _whole(low: int, high: int) -> Callable[[str, object], int]:
    def read(name: str, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise InputError(f"{name} must be a whole number from {low} to {high}, found {_shown(value)}.")
        return value

    return read


def _choice(*choices: str) -> Callable[[str, object], str]:
    def read(name: str, value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            raise InputError(f"{name} must be one of {', '.join(choices)}, found {_shown(value)}.")
        return value

    return read


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise InputError(f"{name} must be a text of at most {LONGEST_TEXT} characters, found {_shown(value)}.")
    return value


def _switch(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{name} must be true or false, found {_shown(value)}.")
    return value


def _points(name: str, value: object) -> tuple[Point, ...]:
    if not isinstance(value, (list, tuple)) or not 1 <= len(value) <= MOST_POINTS:
        found = f"{len(value)}" if isinstance(value, (list, tuple)) else _shown(value)
        raise InputError(f"{name} must be a list of 1 to {MOST_POINTS} points, found {found}.")
    return tuple(_point(point) for point in value)


def _point(value: object) -> Point:
    if not isinstance(value, (list, tuple)) or len(value) != 3:
        raise InputError(f"a point must be [x1, x2, y], found {_shown(value)}.")
    read = _number(-LARGEST, LARGEST)
    x1, x2, y = (read(name, number) for name, number in zip(("x1", "x2", "y"), value, strict=True))
    return x1, x2, y


def _shown(value: object) -> str:
    return repr(value)[:40]


READERS: dict[str, Callable[[str, object], Any]] = {
    "points": _points,
    "width": _whole(1, WIDEST),
    "depth": _whole(1, DEEPEST),
    "alpha": _number(0.0, 1.0),
    "scale": _number(1e-12, 10.0),
    "start": _choice(*STARTS, OWN),
    "seed": _whole(0, 2**31 - 1),
    "loss": _choice(*LOSSES),
    "until": _number(0.0, math.inf),
    "far": _switch,
    "name": _text,
    "note": _text,
}


def state_of(problem: Problem, until: float | None = None, **start: Any) -> State:
    """The state nearest to a problem: its data in the plane, its network's shape, slope, loss and starting weights.

    Data of more than two inputs are seen along their first two principal axes, with the weights, and one input gets a second that is
    zero; `note` says so. Of more points than the page takes, the first are shown. Starting weights are drawn from `start` if it is
    given (`scale`, `seed`, `start`), or where the page cannot hold the problem's own, which `note` says.
    """
    axes, note = plane_of(problem.data)
    points = np.column_stack([problem.data.x @ axes.T, problem.data.y])
    size = max(1.0, float(np.abs(points).max()) / LARGEST)
    if len(points) > MOST_POINTS:
        note += f" The first {MOST_POINTS} of {len(points)} samples are shown."
    if size > 1.0:
        note += f" Divided by {size:.3g}, to fit the page."
    if problem.l2 or not all(problem.network.trainable_layers):
        note += " Here all layers train, without weight decay."
    widths = problem.network.widths
    depth = min(len(widths), DEEPEST)
    width = min(widths[0], WIDEST if depth == 1 else WIDEST_DEEP)
    weights = None
    if not start and widths == (width,) * depth and not problem.network.bias:
        weights, start = (problem.weights[0] @ axes.T, *problem.weights[1:]), {"start": OWN}
    elif not start:
        note += " Starting weights are drawn anew: the page cannot hold those of the problem."
    fields_given: dict[str, Any] = {
        "points": (points[:MOST_POINTS] / size).tolist(),
        "width": width,
        "depth": depth,
        "alpha": problem.network.alpha,
        "loss": problem.loss.name,
        "name": problem.data.name[:LONGEST_TEXT],
        "note": note.strip(),
        **({} if until is None else {"until": until}),
        **start,
    }
    return replace(read_state(fields_given), weights=weights)


def plane_of(data: Dataset) -> tuple[Array, str]:
    """Two axes (2, d) along which samples are seen, and a sentence that says how; empty for data of the plane."""
    if data.inputs == 2:
        return np.eye(2), ""
    if data.inputs == 1:
        return np.array([[1.0], [0.0]]), "One input; the second coordinate is zero."
    _, sizes, axes = np.linalg.svd(
        data.x, full_matrices=False
    )  # about the origin: a network without bias has no other centre
    share = float(np.sum(sizes[:2] ** 2) / np.sum(sizes**2)) if sizes[0] else 1.0
    note = f"{data.inputs} inputs, seen along their first two principal axes ({100.0 * share:.0f} % of their size)."
    return np.concatenate([axes, np.zeros((1, data.inputs))])[:2], note  # one sample has one axis
