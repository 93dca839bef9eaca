"""Neurons that are about to meet a kink as another one meets it: where that turns them back, errors decide who came first.

A neuron that crosses a kink, or comes to be held there, changes the pulls, and so may bring back those right behind it; had one of these
been first, the others might have stayed. How near they were is known up to the error of the run only.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ..kinks.geometry import Kinks
from ..kinks.neuron_groups import Groups
from ..state import row_lengths

# Times the estimated error of the run, in which a neuron is as near as the first: it does not count what the flow makes of errors, five
# times as much in the run that this was found by.
AS_NEAR = 10.0
FAR_AGAIN = 10.0  # times that: it has turned back


class NearMisses:
    """Those that are awaited at a kink: by neuron and line, the side that they come from and how near they were."""

    def __init__(self, kinks: Kinks) -> None:
        self.kinks = kinks
        self.awaited: dict[tuple[int, int], tuple[int, float]] = {}

    def await_others(self, line: int, side: int, groups: Groups, pull: Array, error: float) -> None:
        """A neuron that came from that side has met a line: who else comes from there, as near as it?"""
        theta, normal, near = groups.neurons(groups.carried), self.kinks.normals[line], AS_NEAR * error
        heights = side * (theta[:, :-1] @ normal)
        for h in np.flatnonzero((groups.patterns[:, line] == side) & (heights <= near * row_lengths(theta))).tolist():
            drive = pull @ self.kinks.seen(groups.patterns[h])
            if side * theta[h, -1] * (normal @ drive) < 0.0:
                self.awaited[h, line] = side, near

    def turned_back(self, groups: Groups) -> list[tuple[int, int]]:
        """Neurons and lines that are not awaited any more, as they have turned back."""
        back = []
        for (h, line), (side, near) in list(self.awaited.items()):
            (theta,) = groups.some(np.array([h]), groups.carried)
            height = side * (self.kinks.normals[line] @ theta[:-1])
            turned = height > FAR_AGAIN * near * np.sqrt(theta @ theta)
            if turned:
                back.append((h, line))
            if turned or groups.patterns[h, line] != side:
                del self.awaited[h, line]
        return back
