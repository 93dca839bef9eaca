"""Neurons whose weights are proportional: they stay so, and move as one.

Let theta_h = (w_h, a_h) = c_h theta with c_h > 0. Given the pulls a neuron's flow is linear in its weights, so the theta_h stay
proportional; and sum_h a_h sigma(w_h.x) = (sum_h c_h^2) a sigma(w.x), as if there were only the neuron sqrt(sum_h c_h^2) theta.
By themselves they would reach kinks at moments that rounding parts, where the first to cross may bring the others back.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import Array
from ..dataset import find_lines
from ..events import Events
from .state import row_lengths
from .tolerances import EPS

SAME_DIRECTION = 8 * EPS  # of unit vectors: up to this they are the same, rounded otherwise


class MovingAsOne:
    """Which of the neurons theta (h, inputs + 1) move as one, with what share of it each has.

    >>> pairs = MovingAsOne(np.array([[3.0, 4.0], [6.0, 8.0], [3.0, -4.0]]))
    >>> pairs.theta.round(12).tolist(), pairs.owner.tolist()
    ([[6.708203932499, 8.944271909999], [3.0, -4.0]], [0, 0, 1])
    >>> (pairs.theta[pairs.owner] * pairs.shares[:, None]).round(12).tolist()
    [[3.0, 4.0], [6.0, 8.0], [3.0, -4.0]]
    """

    def __init__(self, theta: Array) -> None:
        sizes = row_lengths(theta)
        lines = find_lines(theta, SAME_DIRECTION)
        names = np.stack([lines.index, np.sign(lines.lengths), np.where(sizes > 0.0, 0, 1 + np.arange(len(theta)))])
        _, first, owner = np.unique(names, axis=1, return_index=True, return_inverse=True)
        order = np.argsort(first)  # of neurons as they come
        self.owner = np.argsort(order)[owner.reshape(-1)]
        together = np.sqrt(np.bincount(self.owner, sizes**2))
        alone = np.bincount(self.owner) == 1
        first = first[order]
        together[alone] = sizes[first[alone]]
        scales = np.divide(together, sizes[first], out=np.ones(len(first)), where=sizes[first] > 0.0)
        self.theta = theta[first] * scales[:, None]
        whole = together[self.owner]
        self.shares = np.divide(sizes, whole, out=np.ones(len(theta)), where=whole > 0.0)

    def __len__(self) -> int:
        return len(self.theta)

    def each(self, theta: Array) -> Array:
        """All neurons (..., h, inputs + 1) from those that they move as."""
        return np.asarray(theta[..., self.owner, :] * self.shares[:, None])

    def events(self, events: Events) -> Events:
        """What happened to each of them. Crossings that are not listed are counted once for neurons that move as one."""
        members = np.argsort(self.owner, kind="stable")
        counts = np.bincount(self.owner)
        repeats = counts[events.neuron]
        row = np.repeat(np.arange(len(events)), repeats)
        place = np.arange(len(row)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        columns = {name: getattr(events, name)[row] for name in events.columns()}
        columns["neuron"] = members[(np.cumsum(counts) - counts)[columns["neuron"]] + place]
        return replace(events, **columns)
