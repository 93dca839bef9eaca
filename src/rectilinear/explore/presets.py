"""The runs that the page offers: the papers' figures in the plane."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .. import datasets
from ..dataset import Dataset
from .state import State


def presets() -> tuple[State, ...]:
    """Figure 2 first, which the page opens with.

    >>> [state.name for state in presets()][:2]
    ['Six points (Figure 2)', 'Even data (δ = 0)']
    """
    return (
        _state(
            "Six points (Figure 2)",
            datasets.six_points(0.15),
            "One coordinate of 0.15 breaks the symmetry: a long linear plateau, then escape (Zhang, Saxe and Latham, Figure 2).",
        ),
        _state(
            "Even data (δ = 0)",
            datasets.six_points(0.0),
            "Every point has its mirror image with the opposite label: the network learns what linear regression learns, for ever.",
        ),
        _state(
            "A stuck seed",
            datasets.six_points(0.15),
            "The data of Figure 2 from another start: no neuron is left where one is needed, and the loss never reaches zero.",
            seed=STUCK_SEED,
        ),
        _state("XOR", datasets.xor(), "Even inputs, even target: no linear part to learn first.", until=1000.0),
        _state(
            "Orthogonal",
            Dataset([[1.2, 0.0], [0.0, 0.8]], [1.0, -1.0]),
            "Orthogonal points are learned one after the other, independently.",
            until=300.0,
        ),
        _state(
            "To t = 10^1,000,000",
            datasets.orthogonally_separable(samples=8, inputs=2, seed=3),
            "Orthogonally separable classes: two groups of neurons turn to the maximum margin of their class, in log-log time "
            "(Phuong and Lampert).",
            loss="logistic",
            until=1e6,
            far=True,
        ),
        _state(
            "Figure 1 in the plane",
            _rounded(datasets.sine_teacher(inputs=2, pairs=12, seed=1)),
            "A sine teacher with mirror images: a two-neuron network predicts the whole run (Zhang, Saxe and Latham, Figure 1).",
            scale=1e-6,
            until=300.0,
        ),
        _state(
            "A deep network",
            datasets.six_points(0.0),
            "Even data that no network with one hidden layer can fit: two hidden layers express odd functions that are not linear.",
            width=8,
            depth=2,
            scale=1.0,
            seed=1,
            until=40.0,
        ),
    )


STUCK_SEED = 3
WIDE = 100  # where neurons are so many that light ones are followed apart


def small_runs() -> tuple[State, ...]:
    """Quick runs that need every compiled part: kinks, far times, several layers, each theory."""
    shapes: dict[str, dict[str, Any]] = {
        "Six points (Figure 2)": {},
        "Even data (δ = 0)": {},
        "XOR": {},
        "To t = 10^1,000,000": {},
        "A deep network": {"width": 3, "until": 3.0},
    }
    small = tuple(replace(state, **shapes[state.name]) for state in presets() if state.name in shapes)
    return (*small, replace(small[0], width=WIDE))


def _state(name: str, data: Dataset, note: str, **settings: Any) -> State:
    points = tuple((float(a), float(b), float(y)) for (a, b), y in zip(data.x, data.y, strict=True))
    return State(points, name=name, note=note, **settings)


def _rounded(data: Dataset) -> Dataset:
    """To three digits, which keeps mirror images exact and addresses short."""
    return Dataset(np.round(data.x, 3), np.round(data.y, 3), data.name)
