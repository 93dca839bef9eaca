"""The limit of directions on orthogonally separable data, and the class that each neuron joins (Phuong & Lampert, ICLR 2021)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..dataset import Dataset
from ..errors import InputError
from ..problem import Problem
from .max_margin import MaxMargin, max_margin
from .small_neurons import settle_all


@dataclass(frozen=True, eq=False)
class ClassLimit:
    """The limit of directions on orthogonally separable data, from the maximum margins of either class."""

    positive: MaxMargin
    negative: MaxMargin

    @property
    def lengths(self) -> tuple[float, float]:
        """|w+| and |w-|."""
        return 1.0 / self.positive.margin, 1.0 / self.negative.margin

    @property
    def shares(self) -> tuple[float, float]:
        """|u| and |z|."""
        plus, minus = self.lengths
        return 1.0 / math.sqrt(plus * (plus + minus)), 1.0 / math.sqrt(minus * (plus + minus))

    @property
    def normalised_margin(self) -> float:
        """The limit of min_i y_i f(x_i) / |theta|^2, theta both layers: 1/(2 (|w+| + |w-|))."""
        return 0.5 / sum(self.lengths)

    def directions(self, signs: Array) -> Array:
        """The unit direction of each neuron's class, (h, d), for signs (h,) of a_h."""
        return np.where(signs[:, None] > 0, self.positive.direction, self.negative.direction)


def class_limit(data: Dataset) -> ClassLimit:
    """The maximum margins w+ and w- of either class by itself, and the limit of directions they give.

    >>> limit = class_limit(Dataset([[2.0, 0.0], [0.0, -1.0]], [1.0, -1.0]))
    >>> limit.positive.w.tolist(), limit.negative.w.tolist()
    ([0.5, 0.0], [0.0, -1.0])
    >>> [round(share, 12) for share in limit.shares]
    [1.154700538379, 0.816496580928]
    """
    if (missing := _missing_class(data)) is not None:
        raise InputError(f"the limit needs samples of both classes, found none with label {missing}; add some.")
    return ClassLimit(max_margin(data.x[data.y > 0]), max_margin(data.x[data.y < 0]))


def _missing_class(data: Dataset) -> str | None:
    if not np.isin(data.y, (-1.0, 1.0)).all():
        strange = data.y[~np.isin(data.y, (-1.0, 1.0))][0]
        raise InputError(f"labels must be -1 or +1, found {strange:g}; recode them.")
    return next((f"{label:+.0f}" for label in (1.0, -1.0) if label not in data.y), None)


def neuron_classes(problem: Problem) -> Array:
    """The class that each neuron joins from small weights, (h,): +1, -1, or 0 if it dies.

    Neurons follow the pulls at f = 0, exactly and one by one, until they have settled.
    """
    data = problem.data
    residuals = problem.loss.pull(data.y, np.zeros(data.samples))
    fates = settle_all(problem.weights[0], problem.weights[1][0], data, residuals, problem.network.alpha)
    return np.array([0.0 if fate is None else fate.sign for fate in fates])


def certain_classes(problem: Problem) -> Array:
    """The class that is certain from the start alone, (h,), whatever the size of the weights; nan where it is not.

    sign(a_h) never changes if |a_h| >= |w_h|. Then a neuron that is active on a sample of that class stays so and joins it,
    and one that is active on no sample at all is dead (0). Needs orthogonally separable data and a ReLU network.
    """
    first, second = problem.weights[0], problem.weights[1][0]
    active = first @ problem.x.T > 0
    on_own_class = (active & (np.sign(second)[:, None] == problem.y)).any(axis=1)
    fixed_sign = np.abs(second) >= np.linalg.norm(first, axis=1)
    known = np.where(fixed_sign & on_own_class, np.sign(second), np.nan)
    return np.where(active.any(axis=1), known, 0.0)
