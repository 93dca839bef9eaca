"""What moves neurons between events: the gradient of the loss, or in rescaled time that of its logarithm."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ...arrays import Array, Mask
from ...problem import Problem
from ..field.frozen import FrozenField
from ..field.log_domain import normalised_pulls
from ..kinks.neuron_groups import Groups
from ..state import layers_of
from ..steppers.radau import Accuracy
from ..tolerances import TINY

LARGEST_LOG_PULL = 14.0  # ln of a pull that outweighs all live ones; beyond it only its sign matters


class MovingField(Protocol):
    """The field as its engine sees it: `live` (samples,) are the samples that count in its objective, `train` (2,) is 1 for a
    layer that trains."""

    live: Mask
    train: Array

    def pulls(self, theta: Array) -> Array:
        """Of all samples, for neurons theta (h, inputs + 1)."""
        ...

    def objective(self, theta: Array) -> float: ...

    def frozen(self, groups: Groups) -> FrozenField:
        """While these groups keep their patterns."""
        ...

    def accuracy(self, sizes: Array, noises: Array, noise: float, output_noise: float) -> Accuracy:
        """What is asked of a step from carriers of these sizes, where rounding makes such drives, at most as large, and errors of
        outputs."""
        ...

    def complete(self, pulls: Array, objectives: Array) -> None:
        """Write the pulls (6, samples) at a step's nodes of samples that are not live."""
        ...

    def look_again(self, groups: Groups) -> float:
        """Groups have moved or changed. By how much the objective jumps because other samples count in it."""
        ...


class OrdinaryField:
    """d theta/dt = -grad L; every sample counts."""

    def __init__(self, problem: Problem, rtol: float) -> None:
        self.problem, self.rtol = problem, rtol
        self.train = np.array(problem.network.trainable_layers, dtype=np.float64)
        self.live = np.ones(len(problem.y), dtype=np.bool_)
        # the change of the outputs that makes all of the first loss: errors of the loss are relative to that
        pull = np.asarray(problem.loss.pull(problem.y, problem.output(problem.weights)))
        self.first_residual = 2.0 * problem.data_loss(problem.weights) / max(float(np.sqrt(np.mean(pull**2))), TINY)

    def pulls(self, theta: Array) -> Array:
        f = self.problem.output(layers_of(theta))
        return np.asarray(self.problem.loss.pull(self.problem.y, f)) / len(f)

    def objective(self, theta: Array) -> float:
        return self.problem.data_loss(layers_of(theta))

    def frozen(self, groups: Groups) -> FrozenField:
        problem = self.problem
        return FrozenField(groups.group, groups.seen, problem.y, self.live, self.train, problem.loss.code, problem.l2, False)

    def accuracy(self, sizes: Array, noises: Array, noise: float, output_noise: float) -> Accuracy:
        # rounding of the outputs must not exceed the tolerance
        return Accuracy(sizes, max(self.first_residual, 10.0 * output_noise / self.rtol, TINY), self.rtol, noises, noise)

    def complete(self, pulls: Array, objectives: Array) -> None:
        """All samples are live."""

    def look_again(self, groups: Groups) -> float:
        return 0.0


class RescaledField:
    """d theta/ds = -grad ln L, L the loss of the samples that neurons see (`field/log_domain.py`)."""

    def __init__(self, problem: Problem, rtol: float) -> None:
        self.problem, self.rtol = problem, rtol
        self.train = np.array(problem.network.trainable_layers, dtype=np.float64)
        self.everyone = np.ones(len(problem.y), dtype=np.bool_)
        self.live = self.everyone

    def normalised(self, theta: Array, live: Mask) -> tuple[Array, float]:
        """Pulls over the loss of these samples, and its logarithm."""
        problem, samples = self.problem, len(self.problem.y)
        pull = np.empty(samples)
        outputs = problem.output(layers_of(theta))
        log_loss = normalised_pulls(problem.loss.code, problem.y, outputs, live, pull, np.empty(samples))
        return pull, log_loss

    def pulls(self, theta: Array) -> Array:
        return self.normalised(theta, self.everyone)[0]

    def objective(self, theta: Array) -> float:
        return self.normalised(theta, self.live)[1]

    def frozen(self, groups: Groups) -> FrozenField:
        problem = self.problem
        return FrozenField(groups.group, groups.seen, problem.y, self.live, self.train, problem.loss.code, 0.0, True)

    def accuracy(self, sizes: Array, noises: Array, noise: float, output_noise: float) -> Accuracy:
        # margins grow without bound, so errors of the outputs are relative to nothing; steps get too long for a bound of noise
        return Accuracy(sizes, np.inf, self.rtol, noises, 0.0)

    def complete(self, pulls: Array, objectives: Array) -> None:
        """The output is zero where no neuron sees a sample: its pull grows in weight as the live losses fall."""
        problem, unseen = self.problem, ~self.live
        at_zero = float(np.abs(problem.loss.pull(np.ones(1), np.zeros(1)))[0])
        sizes = np.minimum(np.log(at_zero / len(problem.y)) - objectives, LARGEST_LOG_PULL)
        pulls[:, unseen] = np.exp(sizes)[:, None] * problem.y[unseen]

    def look_again(self, groups: Groups) -> float:
        theta = groups.neurons(groups.carried)
        groups.sizes = np.linalg.norm(theta, axis=1)  # they grow without bound
        seen = np.asarray(groups.seen.any(axis=(0, 2)))
        seen = seen if seen.any() else self.everyone
        if (seen == self.live).all():
            return 0.0
        before, self.live = self.live, seen
        return self.normalised(theta, seen)[1] - self.normalised(theta, before)[1]
