"""Another way to go on, and when it is the cheaper one after all.

Nobody knows beforehand how many steps following takes. So it goes on until it has cost what the other way is estimated to cost in all:
the run then takes no more than twice as long as with the better of the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import NamedTuple

from ..state import Start
from .engine import Engine

MANY_STEPS = 500  # from here on, steps with fewer events than steps are no gain over stopping at each event
PIECE_WORK = 1e4  # multiply-adds that following a neuron to its next event costs: 5 microseconds


class Alternative(NamedTuple):
    """`engine` makes the one that goes on from a state; `work` is what it takes for a whole run, in multiply-adds.

    That is infinite where following was asked for although the other way is cheaper: then it is due only where following cannot go on.
    """

    engine: Callable[[Start], Engine]
    work: float

    def is_due(self, counts: Mapping[str, int], events: int, gradient_work: float) -> bool:
        """Whether steps, gradients and pieces so far, in which so many events happened, were spent in vain.

        >>> never = Alternative(lambda start: None, work=1e9)
        >>> never.is_due({"steps": 100, "gradients": 1_000, "pieces": 90_000}, events=50, gradient_work=1e4)
        False
        >>> never.is_due({"steps": 100, "gradients": 11_000, "pieces": 90_000}, events=50, gradient_work=1e4)
        True
        """
        spent = counts["gradients"] * gradient_work + counts["pieces"] * PIECE_WORK
        in_vain = counts["steps"] >= MANY_STEPS and events < counts["steps"]
        return spent > self.work or (in_vain and isfinite(self.work))
