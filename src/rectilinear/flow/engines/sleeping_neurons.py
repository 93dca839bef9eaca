"""Neurons held at w = 0 while all others are followed: when the pulls wake them, and how they leave."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Indices, Signs
from ..collocation import earliest
from ..field.sample_lines import SampleLines
from ..kinks.ways_out import WaysOut
from .neuron_path import FOLLOWED_TO_ORIGIN

WAKING_LOCATED = 1e-4  # share of a step within which a neuron's waking is located


class SleepingNeurons:
    """Those of a network whose first layer trains, or not (then none sleeps: nothing would move it)."""

    def __init__(self, lines: SampleLines, first_trains: bool) -> None:
        self.lines, self.first_trains = lines, first_trains

    @cached_property
    def ways_out(self) -> WaysOut:
        return WaysOut(self.lines)

    def among(self, signs: Signs, a: Array) -> Indices:
        """Neurons held at w = 0."""
        return np.flatnonzero((signs == 0).all(axis=1) & (a != 0.0)) if self.first_trains else np.empty(0, dtype=np.intp)

    def first_waking(self, signs: Signs, a: Array, signs_at_end: Signs, pulls_at: Callable[[float], Array]) -> float:
        """The share of a step after which a neuron that sleeps through it would wake; inf if none does."""
        asleep = self.among(signs, a)
        asleep = asleep[(signs_at_end[asleep] == 0).all(axis=1)]
        kinds = set(np.sign(a[asleep]).tolist())

        def wakes(tau: float) -> bool:
            return not kinds.isdisjoint(self.ways_out.driven(pulls_at(tau)))

        if not kinds or not wakes(1.0):
            return np.inf
        return earliest(wakes, WAKING_LOCATED)

    def leave(self, w: Array, a: Array, signs: Signs, heights: NDArray[np.float32], pulls: Array) -> Indices:
        """Let neurons at w = 0 leave it, where some direction drives them away: their rows are written; who they are."""
        asleep = self.among(signs, a)
        woken = [np.empty(0, dtype=np.intp)]
        if asleep.size:
            for sign, way in self.ways_out.driven(pulls).items():
                direction = self.ways_out.directions[way]
                waking = asleep[np.sign(a[asleep]) == sign]
                height = self.lines.normals @ direction
                w[waking] = FOLLOWED_TO_ORIGIN * np.abs(a[waking])[:, None] * direction
                signs[waking] = np.where(height > 0.0, 1, -1)
                heights[waking] = np.abs(height)
                woken.append(waking)
        return np.concatenate(woken)
