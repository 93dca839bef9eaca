"""What |w_h|^2 - a_h^2, which the flow conserves, says of neurons near the saddle w = a = 0.

A neuron with |w| <= |a| at the start never changes the sign of a, and one with |w| = |a| never gets to w = a = 0: it shrinks there as
long as it is driven to it. Rounding and the errors of steps know neither, so both are restored as a neuron shrinks.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Indices
from ...problem import Problem
from ..state import neurons_of
from ..tolerances import BALANCED, VANISHED


class Balance:
    """|w_h|^2 - a_h^2 of every neuron at the start, and the sign of a_h where that cannot change."""

    def __init__(self, problem: Problem) -> None:
        theta = neurons_of(problem.weights)
        incoming, outgoing = np.sum(theta[:, :-1] ** 2, axis=1), theta[:, -1] ** 2
        apart = incoming - outgoing
        self.holds = all(problem.network.trainable_layers)
        self.start = np.where(np.abs(apart) <= BALANCED * (incoming + outgoing), 0.0, apart)
        self.signs_a = np.where(self.start <= 0.0, np.sign(theta[:, -1]), 0.0)
        self.decay = 2.0 * problem.l2

    def restored(self, neurons: Indices, theta: Array, t: float) -> Array:
        """These neurons (chosen, inputs + 1) at time t, moved by the least that gives them back what they conserve."""
        if not self.holds:
            return theta
        squares = theta**2
        size = squares.sum(axis=1)
        apart = np.exp(-self.decay * t) * self.start[neurons] - (size - 2.0 * squares[:, -1])
        shift = 0.5 * apart / np.where(size > 0.0, size, 1.0)
        signs = np.where(self.signs_a[neurons] != 0.0, self.signs_a[neurons], np.sign(theta[:, -1]))
        w, a = theta[:, :-1] * (1.0 + shift)[:, None], signs * np.abs(theta[:, -1]) * (1.0 - shift)
        kept = np.concatenate([w, a[:, None]], axis=1)
        return np.asarray(np.where(np.sqrt(size)[:, None] > VANISHED, kept, 0.0))
