"""The two-layer field of neurons that share a few frozen patterns: smooth across kinks, at a cost that does not depend on the width.

With the samples x_i as pattern g sees them, x_gi = sigma'_gi x_i, outputs are f_i = sum_g x_gi . V_g with V_g the sum of a_h w_h over
the neurons of that pattern, and all of them are driven by (1/P) sum_i pull_i x_gi.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Indices
from ...problem import Problem
from ..state import unflatten
from .two_layer_kernels import velocity_of_drive
from .weight_decay import add_decay


class CommonPatterns:
    """-grad L on the flat weights, for neurons of patterns `pattern` (neurons,) that see the samples as `seen` (patterns, n, inputs)."""

    def __init__(self, problem: Problem, pattern: Indices, seen: Array) -> None:
        self.problem, self.pattern = problem, pattern
        self.shapes = problem.network.shapes
        count, samples, inputs = seen.shape
        self.rows = np.ascontiguousarray(seen.transpose(1, 0, 2)).reshape(samples, count * inputs)
        self.members = (pattern == np.arange(count)[:, None]).astype(np.float64)

    def velocity(self, theta: Array, out: Array) -> float:
        """Write the velocity to `out` and return the loss, regularisation included."""
        problem, trains = self.problem, self.problem.network.trainable_layers
        w, second = unflatten(theta, self.shapes)
        dw, da = unflatten(out, self.shapes)
        sums = (self.members * second[0]) @ w
        f = self.rows @ sums.ravel()
        drive = (problem.loss.pull(problem.y, f) @ self.rows).reshape(sums.shape)
        velocity_of_drive(drive[self.pattern], len(f), w, second[0], (trains[0], trains[1]), dw, da[0])
        total = float(problem.loss.value(problem.y, f).mean())
        return total + add_decay(problem.l2, (w, second), (dw, da), trains) if problem.l2 else total
