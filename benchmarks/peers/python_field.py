"""-grad L for solvers that call it from Python, counted."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

import rectilinear as rl
from rectilinear.flow.field import make_field
from rectilinear.flow.state import flatten, unflatten

from ..attempts import Array

LARGE = 10_000  # samples x neurons from which the package's compiled kernel beats a few NumPy calls


class PythonField:
    """The field of a problem as f(t, theta), by whichever of NumPy and our own kernel is the faster (ours for three layers and more).

    So peers are compared by how they step, not by how well their gradient was written.
    """

    def __init__(self, problem: rl.Problem) -> None:
        self.problem = problem
        self.start = flatten(problem.weights)
        self.calls = 0
        large = problem.data.samples * problem.network.widths[0] > LARGE
        self._kernel = make_field(problem) if large or problem.network.layers > 2 else None

    def __call__(self, t: float, theta: Array) -> Array:
        out = np.empty_like(theta)
        self.write(t, theta, out)
        return out

    def write(self, t: float, theta: Array, out: Array) -> None:
        """Write the field at theta to `out`."""
        self.calls += 1
        if self._kernel is not None:
            self._kernel.velocity(theta, out)
            return
        (w, second), (dw, da) = (unflatten(flat, self.problem.network.shapes) for flat in (theta, out))
        problem, y = self.problem, self.problem.y
        z = problem.x @ w.T
        slope = np.where(z > 0, 1.0, problem.network.alpha)
        z *= slope
        f = z @ second[0]
        pull = (y - f if problem.loss.name == "square" else y * expit(-y * f)) / len(y)
        slope *= pull[:, None]
        np.multiply(slope.T @ problem.x, second.T, out=dw)
        np.matmul(pull, z, out=da[0])
