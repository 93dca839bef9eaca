"""The networks of Kou et al. on orthogonal and nearly orthogonal data, followed to infinity and by gradient descent."""

from __future__ import annotations

from functools import cache

import numpy as np

from ... import datasets
from ...arrays import Array, Mask
from ...dataset import Dataset
from ...flow import descend, simulate
from ...long_trajectory import LongTrajectory
from ...measures.coefficients import decomposition
from ...network import Network
from ...problem import Problem
from ...trajectory import Trajectory

LEAK = 0.3
SAMPLES, WIDTH = 10, 40
LOG_TIMES = np.array([0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 30.0, 1e2, 1e3, 1e4])
SETTINGS = {"samples": SAMPLES, "width": WIDTH, "scale": 0.1, "leak": LEAK, "seeds": "data 1, weights 0"}
KINDS = ("orthogonal", "nearly orthogonal")


def data_of(kind: str) -> Dataset:
    if kind == "orthogonal":
        return datasets.orthogonal(SAMPLES, 2 * SAMPLES, seed=1)
    return datasets.nearly_orthogonal(SAMPLES, 500, seed=1)


def two_class_problem(data: Dataset, alpha: float, width: int = WIDTH, seed: int = 0) -> Problem:
    """The networks of Kou et al.: second layer fixed at +-1/m, logistic loss."""
    network = Network(data.inputs, (width,), alpha, trainable=(True, False))
    return Problem(data, network, network.init(0.1, seed, "two_class"), "logistic")


@cache
def long_run(kind: str, alpha: float) -> LongTrajectory:
    run = simulate(two_class_problem(data_of(kind), alpha), log10_times=LOG_TIMES)
    assert isinstance(run, LongTrajectory)
    return run


@cache
def descent(kind: str, alpha: float) -> Trajectory:
    """Gradient descent with every step kept; the rate makes the first steps about equal on both kinds of data."""
    rate = 5.0 if kind == "orthogonal" else 0.5
    return descend(two_class_problem(data_of(kind), alpha), rate, 1500, record_every=1)


def own_class(run: Trajectory) -> Mask:
    """Pairs (neuron, sample) of one sign."""
    return np.asarray(np.sign(run.problem.weights[1][0])[:, None] == run.problem.y)


def balance(run: Trajectory) -> Array:
    """Largest over smallest coefficient of a sample, at every saved time."""
    return decomposition(run).balance(run.problem.weights[1][0], run.problem.y)
