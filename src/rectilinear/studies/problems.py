"""Problems and runs that several studies share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..dataset import Dataset
from ..errors import FlowError
from ..flow import simulate
from ..long_trajectory import LongTrajectory
from ..network import Network
from ..problem import Problem
from ..trajectory import Status


def far_run(problem: Problem, log10_times: ArrayLike) -> LongTrajectory:
    """The flow at t = 10^log10_times, all of them."""
    run = simulate(problem, log10_times=log10_times)
    assert isinstance(run, LongTrajectory)
    if run.status is not Status.FINISHED:
        raise FlowError(f"a study needs runs to the last time, but one on {problem.data.name} ended early: {run!r}.")
    return run


def trained_problem(data: Dataset, width: int, scale: float, seed: int, alpha: float = 0.0) -> Problem:
    """Both layers trained from a Gaussian start, logistic loss."""
    network = Network(data.inputs, (width,), alpha=alpha)
    return Problem(data, network, network.init(scale, seed=seed), loss="logistic")


def fixed_layer_problem(data: Dataset, alpha: float, half: int, scale: float = 0.1, seed: int = 0) -> Problem:
    """The networks of Kou et al.: `half` neurons of either sign, second layer fixed at +-1/half, logistic loss."""
    network = Network(data.inputs, (2 * half,), alpha=alpha, trainable=(True, False))
    return Problem(data, network, network.init(scale, seed=seed, start="two_class"), loss="logistic")


def separable_gaussian(samples: int, inputs: int, seed: int) -> Dataset:
    """Gaussian samples with the labels sign(w . x) of a random w, both present."""
    rng = np.random.default_rng(seed)
    while True:
        x, w = rng.standard_normal((samples, inputs)), rng.standard_normal(inputs)
        y = np.sign(x @ w)
        if len(np.unique(y)) == 2:
            return Dataset(x, y, "linearly separable")
