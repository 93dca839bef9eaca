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
        """These neurons (chosen, inputs + 1) at time t, given back what they conserve: |w| + |a|, which errors hardly change, is kept.

        It decides |w| and |a|, as (|w| + |a|)(|w| - |a|) is known, whatever errors near w = a = 0 have made of their difference.
        """
        if not self.holds:
            return theta
        apart = np.exp(-self.decay * t) * self.start[neurons]
        incoming, outgoing = np.linalg.norm(theta[:, :-1], axis=1), np.abs(theta[:, -1])
        size = np.maximum(incoming + outgoing, np.sqrt(np.abs(apart)))
        kept = size > VANISHED
        size = np.where(kept, size, 1.0)
        signs = np.where(self.signs_a[neurons] != 0.0, self.signs_a[neurons], np.sign(theta[:, -1]))
        w = theta[:, :-1] * (0.5 * (size + apart / size) / np.where(incoming > 0.0, incoming, 1.0))[:, None]
        whole = np.concatenate([w, (0.5 * signs * (size - apart / size))[:, None]], axis=1)
        return np.asarray(np.where(kept[:, None], whole, 0.0))
