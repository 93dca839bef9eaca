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
from ..kinks.origin import exit_from_origin, highest_potential
from ..tolerances import TINY
from .neuron_path import FOLLOWED_TO_ORIGIN

WAKING_LOCATED = 1e-6  # share of a step within which a neuron's waking is located
WAKING_SEEN = 1e-3  # the same before the way is known by which it leaves
DRIVEN_OUT = 1e-8  # potential out of w = 0 over the largest possible one: less is rounding


class SleepingNeurons:
    """Those of a network whose first layer trains, or not (then none sleeps: nothing would move it)."""

    def __init__(self, kinks: Kinks, lines: SampleLines, first_trains: bool) -> None:
        self.kinks, self.lines, self.first_trains = kinks, lines, first_trains
        self.ways: dict[float, Array] = {}  # the last direction out of w = 0 that was found, for either sign of a

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

            def pulls(u: float, begin: float = begin) -> Array:
                return pulls_at(begin + u * (1.0 - begin))

            first = min(first, begin + self._waking_of(sign, pulls) * (1.0 - begin))
        return first

    def _waking_of(self, sign: float, pulls: Callable[[float], Array]) -> float:
        """The share u in [0, 1] from which on neurons of this sign are awake; inf if they are not at 1.

        An ascent sees roughly when; the way they leave by then says exactly from when on it drives them.
        """

        def awake(u: float) -> bool:
            look_at_clock()
            return highest_potential(self.kinks, sign, pulls(u)) > self._rounding(pulls(u))

        if not awake(1.0):
            return np.inf
        if awake(0.0):
            return 0.0
        roughly = earliest(awake, WAKING_SEEN)
        if self._way_out(sign, pulls(roughly)) is None:
            return roughly
        way = self.ways[sign]
        return roughly * earliest(lambda u: self._drives(sign, way, pulls(u * roughly)), WAKING_LOCATED)

    def _rounding(self, pulls: Array) -> float:
        return DRIVEN_OUT * float(np.abs(pulls) @ self.lines.reaches)

    def _drives(self, sign: float, direction: Array, pulls: Array) -> bool:
        """Whether the pulls drive a neuron of this sign out of w = 0 in this direction: if the sum of pulls and outputs is positive."""
        heights = self.kinks.x @ direction
        outputs = np.where(heights > 0.0, heights, self.kinks.alpha * heights)
        return sign * float(pulls @ outputs) > self._rounding(pulls)

    def _way_out(self, sign: float, pulls: Array) -> Signs | None:
        """The pattern with which neurons of this sign leave w = 0; the direction is kept, and tried first the next time."""
        look_at_clock()
        known = self.ways.get(sign)
        tried = [] if known is None or not self._drives(sign, known, pulls) else [known]
        pattern = exit_from_origin(self.kinks, sign, pulls / self.lines.samples, tried)
        if pattern is not None:
            velocity = sign * (pulls @ self.kinks.seen(pattern))
            self.ways[sign] = velocity / max(float(np.linalg.norm(velocity)), TINY)
        return pattern

    def leave(self, w: Array, a: Array, signs: Signs, heights: NDArray[np.float32], pulls: Array) -> Indices:
        """Let neurons at w = 0 leave it, where some direction drives them away: their rows are written; who they are."""
        asleep = self.among(signs, a)
        woken = [np.empty(0, dtype=np.intp)]
        for sign in np.unique(np.sign(a[asleep])).tolist():
            pattern = self._way_out(sign, pulls)
            if pattern is not None:
                direction, waking = self.ways[sign], asleep[np.sign(a[asleep]) == sign]
                w[waking] = FOLLOWED_TO_ORIGIN * np.abs(a[waking])[:, None] * self.lines.into(direction[None])
                signs[waking] = pattern
                heights[waking] = np.abs(self.kinks.normals @ direction)
                woken.append(waking)
        return np.concatenate(woken)
