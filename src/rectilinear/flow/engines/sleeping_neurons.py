"""Neurons held at w = 0 while all others are followed: when the pulls wake them, and how they leave."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Indices, Signs
from ..collocation import earliest
from ..deadline import look_at_clock
from ..field.sample_lines import SampleLines
from ..kinks.geometry import Kinks
from ..kinks.origin import exit_from_origin
from ..tolerances import TINY
from .neuron_path import FOLLOWED_TO_ORIGIN

WAKING_LOCATED = 1e-6  # share of a step within which a neuron's waking is located


class SleepingNeurons:
    """Those of a network whose first layer trains, or not (then none sleeps: nothing would move it)."""

    def __init__(self, kinks: Kinks, lines: SampleLines, first_trains: bool) -> None:
        self.kinks, self.lines, self.first_trains = kinks, lines, first_trains

    def among(self, signs: Signs, a: Array) -> Indices:
        """Neurons held at w = 0."""
        return np.flatnonzero((signs == 0).all(axis=1) & (a != 0.0)) if self.first_trains else np.empty(0, dtype=np.intp)

    def first_waking(self, since: Array, a: Array, signs_at_end: Signs, pulls_at: Callable[[float], Array]) -> float:
        """The share of a step after which a neuron that sleeps to its end would wake; inf if none does.

        `since` (neurons,) is the share of the step from which on each sleeps.
        """
        asleep = self.among(signs_at_end, a)
        first = np.inf
        for sign in np.unique(np.sign(a[asleep])).tolist():
            begin = float(since[asleep[np.sign(a[asleep]) == sign]].min())

            def wakes(u: float, sign: float = sign, begin: float = begin) -> bool:
                return self._way_out(sign, pulls_at(begin + u * (1.0 - begin))) is not None

            if wakes(1.0):
                at = begin + (0.0 if wakes(0.0) else earliest(wakes, WAKING_LOCATED)) * (1.0 - begin)
                first = min(first, at)
        return first

    def _way_out(self, sign: float, pulls: Array) -> Signs | None:
        look_at_clock()
        return exit_from_origin(self.kinks, sign, pulls / self.lines.samples, [])

    def leave(self, w: Array, a: Array, signs: Signs, heights: NDArray[np.float32], pulls: Array) -> Indices:
        """Let neurons at w = 0 leave it, where some direction drives them away: their rows are written; who they are."""
        asleep = self.among(signs, a)
        woken = [np.empty(0, dtype=np.intp)]
        for sign in np.unique(np.sign(a[asleep])).tolist():
            pattern = self._way_out(sign, pulls)
            if pattern is not None:
                velocity = sign * (pulls @ self.kinks.seen(pattern))
                direction = velocity / max(float(np.linalg.norm(velocity)), TINY)
                waking = asleep[np.sign(a[asleep]) == sign]
                w[waking] = FOLLOWED_TO_ORIGIN * np.abs(a[waking])[:, None] * self.lines.into(direction[None])
                signs[waking] = pattern
                heights[waking] = np.abs(self.kinks.normals @ direction)
                woken.append(waking)
        return np.concatenate(woken)
