"""The two-layer field of neurons that share a few frozen patterns: smooth across kinks, and cheap.

A pattern g says on which side of every line n_l of the data its neurons are, and with that the slope sigma'_gi at every sample
x_i = c_i n_l. Outputs are f_i = sum_g sigma'_gi c_i (n_l . V_g) with V_g the sum of a_h w_h over the neurons of that pattern, and all of
them are driven by (1/P) sum_i pull_i sigma'_gi x_i: two products of lines and patterns, whatever the width.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Indices
from ...problem import Problem
from ..compiled import fast_kernel
from ..state import unflatten
from .two_layer_kernels import velocity_of_drive
from .weight_decay import add_decay


@fast_kernel
def outputs_of_patterns(w: Array, a: Array, pattern: Indices, normals: Array, line: Indices, reach: Array) -> Array:
    """f (samples,) of neurons w (h, inputs), a (h,); `normals` is (inputs, lines), `reach` (patterns, samples) is sigma'_gi c_i."""
    inputs, lines = normals.shape
    sums, heights, f = np.zeros((len(reach), inputs)), np.zeros(lines), np.zeros(len(line))
    for h in range(len(a)):
        for k in range(inputs):
            sums[pattern[h], k] += a[h] * w[h, k]
    for g in range(len(reach)):
        heights[:] = 0.0
        for k in range(inputs):
            for i in range(lines):
                heights[i] += sums[g, k] * normals[k, i]
        for i in range(len(line)):
            f[i] += reach[g, i] * heights[line[i]]
    return f


@fast_kernel
def drives_of_patterns(pull: Array, normals: Array, line: Indices, reach: Array) -> Array:
    """P g of every pattern (patterns, inputs), given the pulls (samples,)."""
    inputs, lines = normals.shape
    drive, along = np.empty((len(reach), inputs)), np.empty(lines)
    for g in range(len(reach)):
        along[:] = 0.0
        for i in range(len(line)):
            along[line[i]] += reach[g, i] * pull[i]
        for k in range(inputs):
            total = 0.0
            for i in range(lines):
                total += along[i] * normals[k, i]
            drive[g, k] = total
    return drive


class CommonPatterns:
    """-grad L on the flat weights, for neurons of which each has one of a few patterns, `pattern` (neurons,).

    `slopes` (patterns, samples) are theirs; sample i is `lengths[i]` times the normal (lines, inputs) of its `line[i]`.
    """

    def __init__(
        self, problem: Problem, pattern: Indices, slopes: Array, normals: Array, line: Indices, lengths: Array
    ) -> None:
        self.problem, self.pattern, self.line = problem, pattern, line
        self.reach, self.normals = slopes * lengths, np.ascontiguousarray(normals.T)
        self.shapes = problem.network.shapes

    def velocity(self, theta: Array, out: Array) -> float:
        """Write the velocity to `out` and return the loss, regularisation included."""
        problem, trains = self.problem, self.problem.network.trainable_layers
        w, second = unflatten(theta, self.shapes)
        dw, da = unflatten(out, self.shapes)
        a = second[0]
        f = outputs_of_patterns(w, a, self.pattern, self.normals, self.line, self.reach)
        drive = drives_of_patterns(problem.loss.pull(problem.y, f), self.normals, self.line, self.reach)
        velocity_of_drive(drive[self.pattern], len(f), w, a, (trains[0], trains[1]), dw, da[0])
        total = float(np.sum(problem.loss.value(problem.y, f))) / len(f)
        return total + add_decay(problem.l2, (w, second), (dw, da), trains) if problem.l2 else total
