"""What followed neurons did, as it happens: all of it, or of very many crossings the last of every neuron."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...events import Events

MOST_LISTED = 1_000_000  # events: 56 MB


class EventLog:
    """Rows (neuron, time, line, kind, velocity below, velocity above, multiplier) of steps one after the other.

    Unless `every` one is to be listed, the older crossings go once there are more than MOST_LISTED; the rest is seldom.

    >>> log = EventLog(neurons=1, every=False)
    >>> log.add(np.array([[0.0, 0.5, 2.0, 0.0, 1.0, 1.0, np.nan]]))
    >>> log.events().line.tolist()
    [2]
    """

    def __init__(self, neurons: int, every: bool) -> None:
        self.neurons, self.every = neurons, every
        self.listed, self.happened = Events(), 0
        self.new: list[Array] = []

    def add(self, rows: Array) -> None:
        self.happened += len(rows)
        self.new.append(rows)
        if not self.every and len(self.listed) + sum(map(len, self.new)) > MOST_LISTED:
            self.listed = self.events().with_last_crossings(max(1, MOST_LISTED // (2 * self.neurons)))

    def events(self) -> Events:
        """Those listed, in order of time."""
        if self.new:
            rows = np.concatenate(self.new)
            neuron, time, line, kind, below, above, multiplier = rows[np.argsort(rows[:, 1], kind="stable")].T.copy()
            whole = (neuron.astype(np.intp), line.astype(np.intp), kind.astype(np.int8))
            self.listed = self.listed.followed_by(Events(time, *whole, below, above, multiplier), 0.0)
            self.new = []
        return self.listed
