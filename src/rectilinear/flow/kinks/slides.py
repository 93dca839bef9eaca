"""Which neurons of a two-layer network are held on kinks while explicit steps move them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from ...arrays import Array, Indices, Mask, Signs
from ...problem import Problem
from ..state import Start
from ..tolerances import SAME_TIME, SMALLEST_STEP
from .decisions import Decisions

ROOT_STEPS = 50
NeuronsAt = Callable[[float], Array]


def _root(function: Callable[..., float], neurons_at: NeuronsAt, about: tuple[int, ...], start: float, end: float) -> float:
    """Where function(neurons, *about), which ends below zero, falls through zero; the start if it begins there."""

    def along(t: float) -> float:
        return function(neurons_at(t), *about)

    if along(start) <= 0.0:
        return start
    return float(brentq(along, start, end, xtol=SAME_TIME * end, rtol=SMALLEST_STEP, maxiter=ROOT_STEPS, disp=False))


class Slides:
    """Which neurons of a two-layer network are held on which kinks, and when that changes."""

    def __init__(self, problem: Problem, decisions: Decisions, start: Start) -> None:
        self.problem, self.decisions, self.kinks = problem, decisions, decisions.kinks
        self.signs = start.signs.copy()
        self.bases = self._held_bases()
        self._event: list[int] = []  # neuron, line and side of the event found last

    def _held_bases(self) -> dict[int, Array]:
        held = np.flatnonzero((self.signs == 0).any(axis=1))
        return {int(h): self.kinks.held_basis(np.flatnonzero(self.signs[h] == 0)) for h in held}

    def project(self, first_layer: Array) -> None:
        """Remove from the velocity of held neurons what would leave their kinks."""
        for h, basis in self.bases.items():
            first_layer[h] -= (first_layer[h] @ basis.T) @ basis

    def first_event(self, neurons_at: NeuronsAt, velocity: Array, start: float, end: float) -> float | None:
        """When within the step a hold begins or ends first; crossings are noted as having happened.

        `velocity` is that of the first layer at the end of the step.
        """
        theta = neurons_at(end)
        pull, crossed = self.kinks.look(theta, self.signs)
        if not len(crossed) and not self.bases:
            return None
        found: list[tuple[float, int, int, int]] = []  # time, neuron, line, side it leaves to (0: it arrives)
        for h, line in crossed[self._stopped(crossed, theta, velocity, pull)]:
            found.append((_root(self._height, neurons_at, (h, line), start, end), int(h), int(line), 0))
        for h in self.bases:
            for line, side in self._leaving(theta[h], self.signs[h], pull):
                found.append((_root(self._hold_left, neurons_at, (h, line, side), start, end), h, line, side))
        if not found:
            self.signs[crossed[:, 0], crossed[:, 1]] *= -1
            return None
        t, *self._event = min(found)
        return t if t > start else float(np.nextafter(start, end))

    def next_catch(self, theta: Array, velocity: Array, within: float) -> tuple[float, float] | None:
        """When the next free neuron will be caught by a kink, if `within` that time, and its height over it, relative to its size."""
        pull, _ = self.kinks.look(theta, self.signs)
        wait, height, h, line = self.kinks.next_catch(theta, velocity, self.signs, pull, within)
        if line < 0:
            return None
        self._event = [h, line, 0]
        return wait, height / float(np.linalg.norm(theta[h]))

    def _height(self, theta: Array, h: int, line: int) -> float:
        return float(self.signs[h, line] * (self.kinks.normals[line] @ theta[h, :-1]))

    def _stopped(self, crossed: Indices, theta: Array, velocity: Array, pull: Array) -> Mask:
        """Of pairs (neuron, line) just crossed, those where both sides push towards the kink, or the neuron is held elsewhere."""
        h, line = crossed.T
        side = -self.signs[h, line]
        here = side * np.einsum("kd,kd->k", velocity[h], self.kinks.normals[line])
        before = here - theta[h, -1] * self.kinks.jumps(pull)[line]  # along the way it was going
        return ((here < 0.0) & (before > 0.0)) | np.isin(h, list(self.bases))

    def _leaving(self, neuron: Array, signs: Signs, pull: Array) -> list[tuple[int, int]]:
        """Held lines whose multiplier is outside [0, 1], each with the side the neuron leaves to."""
        lines = np.flatnonzero(signs == 0)
        share, jump = self.kinks.holds(signs, pull)
        turn = -np.sign(neuron[-1])
        return [(int(line), -1 if turn * s < 0 else 1) for line, s, j in zip(lines, share, jump, strict=True)
                if turn * s < 0 or turn * (j - s) < 0]  # fmt: skip

    def _hold_left(self, theta: Array, h: int, line: int, side: int) -> float:
        """What is left of the hold: falls through zero where the neuron leaves to `side`."""
        at = int(np.searchsorted(np.flatnonzero(self.signs[h] == 0), line))
        share, jump = self.kinks.holds(self.signs[h], self.kinks.pulls(theta))
        return float(-np.sign(theta[h, -1]) * (share[at] if side < 0 else jump[at] - share[at]))

    def apply(self, theta: Array, t: float) -> Array:
        """Decide the event found last, at time t; the neurons as they go on."""
        h, line, side = self._event
        pull, crossed = self.kinks.look(theta, self.signs)
        self.signs[crossed[:, 0], crossed[:, 1]] *= np.where(crossed[:, 0] == h, 1, -1).astype(np.int8)
        if side:
            self.signs[h] = self.decisions.release(h, theta[h], self.signs[h], line, side, pull, t)
        else:
            self.signs[h], theta[h] = self.decisions.settle(h, theta[h], self.signs[h], np.array([line]), pull, t)
        self.bases = self._held_bases()
        return theta
