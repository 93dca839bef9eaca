"""Kink-exact flow of networks of three layers and more, for few samples and neurons.

Between events the pattern of signs is frozen, so that no kink is in the way of a step; steps are those of the smooth method, cut
where a preactivation first changes its sign or a hold ends.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...events import Events
from ...problem import Problem
from ..kinks.deep import DeepKinks
from ..state import flatten
from ..tolerances import SAME_TIME_DEEP, SMALLEST_STEP
from .explicit_steps import SmoothEngine

MOST_LANDINGS = 5
GROWTH_AFTER_EVENT = 5.0  # a step is tried with at most this many times the one before it: events come in crowds
NEAR_STEP_END = 1e-3  # an event this near the end of a step, as a share of it, is met exactly


class DeepEngine(SmoothEngine):
    """Smooth steps of a frozen pattern, cut at every event."""

    name = "kink-exact"

    def __init__(self, problem: Problem, rtol: float) -> None:
        self.kinks = DeepKinks(problem, flatten(problem.weights))
        super().__init__(problem, self.kinks, rtol)

    def _floor(self) -> float:
        return 0.0  # no kink is in the way of a step

    @property
    def chattering(self) -> bool:
        return self.stepper.step_size < SMALLEST_STEP * self.t

    def attempt(self, t_end: float) -> bool:
        """Try a step; if it meets an event, land on it, as within a step weights are less exact than at its ends."""
        if not super().attempt(t_end):
            return False
        planned, left = self.stepper.step_size, np.inf
        for _ in range(MOST_LANDINGS):
            start, end = self.stepper.t_old, self.stepper.t_old + self.stepper.h
            self._cut = self.kinks.first_event(lambda t: self._at(t)[:-1], start, end)
            is_exact = self._cut is not None and (self._cut == start or end - self._cut < NEAR_STEP_END * self.stepper.h)
            if is_exact or (self._cut is None and not abs(left) < NEAR_STEP_END * self.stepper.h):
                break
            if not self.stepper.step(end + left if self._cut is None else self._cut):
                return False
            self.stepper.step_size, self._dense = min(planned, GROWTH_AFTER_EVENT * self.stepper.h), None
            self._end_objective = self.objective
            left = self.kinks.time_left(self.stepper.y_new[:-1])
            if abs(left) <= SAME_TIME_DEEP * self.stepper.h:
                self._cut = self.stepper.t_old + self.stepper.h
                break
        self._event = self._cut
        return True

    def _within(self, t: float) -> Array:
        # landing needs one polynomial that ends where the step does, and gets exact by itself
        return self._dense_output().interpolant.at(np.array([t]))[0]

    def _after_event(self, y: Array, t: float) -> Array:
        return self.kinks.apply(y[:-1], t, SAME_TIME_DEEP * self.stepper.h)

    def commit(self) -> tuple[float, float]:
        result = super().commit()
        if len(self.kinks.held):
            self.stepper.y[:-1] = self.kinks.onto_holds(self.stepper.y[:-1])
        return result

    def events(self) -> Events:
        return Events.of_log(self.kinks.log)
