"""How long the next step is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class StepControl:
    """The next step from the error of the last one, which falls like the step to the power `order`."""

    order: int
    safety: float = 0.9  # below the step that would just do: the error is only estimated
    shrink: float = 0.2  # at most by this factor at a time
    grow: float = 5.0  # likewise

    def growth(self, error: float) -> float:
        """The factor by which to change a step whose error was this many tolerances.

        >>> StepControl(order=8).growth(1.0), StepControl(order=8).growth(np.inf), StepControl(order=8).growth(0.0)
        (0.9, 0.2, 5.0)
        """
        return growth(error, self.order, self.safety, self.shrink, self.grow)


def growth(error: float, order: int, safety: float, shrink: float, grow: float) -> float:
    """The same for kernels, which compile it."""
    if not np.isfinite(error):
        return shrink
    if error == 0.0:
        return grow
    return float(min(grow, max(shrink, safety * error ** (-1 / order))))


def restrained(growth: float, error_ratio: float, length_ratio: float, order: float) -> float:
    """The growth of a step where errors rise: less if the last error grew by more than the last step did, which it will do again.

    Both ratios are those of the last two steps. A step is not made shorter for this (Gustafsson's predictive controller would).

    >>> restrained(2.0, 32.0, 2.0, order=5), restrained(2.0, 64.0, 1.0, order=6), restrained(0.5, 64.0, 1.0, order=6)
    (2.0, 1.0, 0.5)
    """
    return max(min(growth, 1.0), growth * min(1.0, length_ratio / error_ratio ** (1.0 / order)))


def up_to(step: float, t: float, t_end: float) -> float:
    """A step from t that does not pass `t_end`; two equal ones rather than a full one and a sliver.

    >>> up_to(2.0, 0.0, 10.0), up_to(2.0, 0.0, 3.0), up_to(2.0, 0.0, 1.5)
    (2.0, 1.5, 1.5)
    """
    step = min(step, t_end - t)
    return (t_end - t) / 2 if t + 2 * step > t_end > t + step else step
