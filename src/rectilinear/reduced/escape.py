"""Nearly symmetric data, second act: the small neurons that survive the rise grow and end the plateau."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from ..arrays import Array
from ..problem import Problem
from .integrate import integrate, integrate_until
from .rise import Rise
from .subnetworks import SubNetworks

TOLERANCE = 1e-9  # of ln A
LONGEST = 1e6  # of the escape, in units of the fastest escape time; what takes longer counts as never


@dataclass(frozen=True, eq=False)
class Escape:
    """The Lotka-Volterra system: `features` M phi_k (n, k), `goal` M y (n,), and ln A_k at the start of the plateau."""

    features: Array
    goal: Array
    log_start: Array

    @classmethod
    def of(cls, problem: Problem, rise: Rise) -> Escape:
        features = survivor_features(problem, rise.survivors)
        fitted = rise.design @ np.linalg.lstsq(rise.design, features, rcond=None)[0]
        return cls(features - fitted, rise.residuals, rise.survivors.log_sizes)

    def loss(self, sizes: Array) -> float:
        return float(np.mean((self.goal - self.features @ sizes) ** 2)) / 2

    def course(self, times: Array) -> Array:
        """A (t, k) at rising finite times > 0 after the plateau's beginning."""
        if not len(self.log_start) or not times.size:
            return np.empty((len(times), len(self.log_start)))
        return np.exp(integrate(self._velocity, self.log_start, times, tolerance=TOLERANCE))

    def time_to(self, target: float) -> float:
        """When the loss falls below `target`; infinity if the best non-negative sizes, to which A tends, stay above it."""
        if not len(self.log_start) or self.loss(scipy.optimize.nnls(self.features, self.goal)[0]) >= target:
            return np.inf

        def above(log_sizes: Array) -> float:
            return self.loss(np.exp(log_sizes)) - target

        rates = self.features.T @ self.goal / len(self.goal)
        return integrate_until(self._velocity, self.log_start, above, LONGEST / float(rates.max()), TOLERANCE)[0]

    def _velocity(self, _: float, log_sizes: Array) -> Array:
        left = self.goal - self.features @ np.exp(log_sizes)
        return np.asarray(2 * left @ self.features / len(left))


def survivor_features(problem: Problem, survivors: SubNetworks) -> Array:
    """phi_k = s_k sigma(u_k . x) on the samples, (n, k)."""
    return np.asarray(problem.network.activation(problem.data.x @ survivors.directions.T) * survivors.signs)
