"""The field of two layers for small problems: a few products of matrices, and nothing to compile."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...problem import Problem
from ..state import unflatten
from .weight_decay import add_decay

# Samples x neurons: up to there a step takes at most 1.3 times as long as compiled, some 50 microseconds more.
MOST_OUTPUTS = 64_000


class FewProducts:
    """dw_h/dt = a_h g_h, da_h/dt = g_h . w_h with g_h = (1/P) sum_i sigma'(w_h.x_i) pull_i x_i (Zhang et al., Eqs. 6, 7).

    >>> import rectilinear as rl
    >>> from rectilinear.flow.state import flatten
    >>> net = rl.Network(inputs=2, widths=(3,))
    >>> problem = rl.Problem(rl.datasets.xor(), net, net.init(scale=1.0, seed=0))
    >>> field, out = FewProducts(problem), np.empty(9)
    >>> loss = field.velocity(flatten(problem.weights), out)
    >>> bool(np.allclose(out, -flatten(problem.gradient(problem.weights))))
    True
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, self.shapes = problem, problem.network.shapes
        self.size = sum(out * into for out, into in self.shapes)
        self._rows = problem.x
        self._columns = np.ascontiguousarray(self._rows.T)

    @classmethod
    def suits(cls, problem: Problem) -> bool:
        """Whether the problem is as small as that."""
        return problem.network.layers == 2 and problem.data.samples * problem.network.widths[0] <= MOST_OUTPUTS

    def velocity(self, theta: Array, out: Array) -> float:
        problem, network = self.problem, self.problem.network
        w, second = unflatten(theta, self.shapes)
        dw, da = unflatten(out, self.shapes)
        hidden = w @ self._columns
        slopes = np.sign(hidden)
        slopes *= 1.0 - network.mean_slope
        slopes += network.mean_slope  # also at zero
        hidden *= slopes
        f = second[0] @ hidden
        pulls = problem.loss.pull(problem.y, f) / problem.data.samples
        trains = network.trainable_layers
        np.multiply(float(trains[0]) * second.T, slopes @ (pulls[:, None] * self._rows), out=dw)
        np.multiply(float(trains[1]), hidden @ pulls, out=da[0])
        total = float(np.mean(problem.loss.value(problem.y, f)))
        if not problem.l2:
            return total
        return total + add_decay(problem.l2, (w, second), (dw, da), trains)

    def losses(self, states: Array) -> Array:
        problem, alpha = self.problem, self.problem.network.alpha
        outputs, found = len(self._rows) * self.shapes[0][0], np.empty(len(states))
        together = max(1, MOST_OUTPUTS // outputs)
        for first in range(0, len(states), together):
            some = slice(first, first + together)
            w, second = unflatten(states[some], self.shapes)
            hidden = w @ self._columns
            np.maximum(hidden, alpha * hidden, out=hidden)
            found[some] = problem.loss.value(problem.y, (second @ hidden)[:, 0]).mean(axis=1)
        return found
