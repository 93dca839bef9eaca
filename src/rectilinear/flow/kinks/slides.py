"""Which neurons of a two-layer network are held on kinks while explicit steps move them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy

from ...arrays import Array, Indices, Mask, Signs
from ...problem import Problem
from ..field.common_patterns import CommonPatterns
from ..state import Start, row_lengths
from ..tolerances import NEAR_BOUND, PAST_KINK_HEIGHT, SAME_TIME, SMALLEST_STEP, TINY
from .decisions import Decisions
from .impulses import SIXTHS, Impulses

ROOT_STEPS = 50


class Path(NamedTuple):
    """Where neurons are within a step."""

    neurons: Callable[[float | Array], Array]  # all of them (..., h, inputs + 1) at a time, or at rising ones
    neuron: Callable[[float, int], Array]  # one of them (inputs + 1,), which may cost much less


def _root(along: Callable[[float], float], start: float, end: float) -> float:
    """Where a function of time, which ends below zero, falls through zero; the start if it begins there."""
    if along(start) <= 0.0:
        return start
    return float(
        scipy.optimize.brentq(along, start, end, xtol=SAME_TIME * end, rtol=SMALLEST_STEP, maxiter=ROOT_STEPS, disp=False)
    )


class Slides:
    """Which neurons of a two-layer network are held on which kinks, and when that changes."""

    def __init__(self, problem: Problem, decisions: Decisions, start: Start) -> None:
        self.problem, self.decisions, self.kinks = problem, decisions, decisions.kinks
        self.signs = start.signs.copy()
        self.bases = self._held_bases()
        self._event: list[int] = []  # neuron, line and side of the event found last
        self._names = np.random.default_rng(0).integers(-(2**62), 2**62, len(self.kinks))  # of lines, to tell patterns apart
        self._keys: Indices | None = None  # of the neurons' patterns, while known
        self._jumps = np.zeros(len(self.kinks))  # |D| of every line when last looked at

    def _held_bases(self) -> dict[int, Array]:
        held = np.flatnonzero((self.signs == 0).any(axis=1))
        return {int(h): self.kinks.held_basis(np.flatnonzero(self.signs[h] == 0)) for h in held}

    def project(self, first_layer: Array) -> None:
        """Remove from the velocity of held neurons what would leave their kinks."""
        for h, basis in self.bases.items():
            first_layer[h] -= (first_layer[h] @ basis.T) @ basis

    def common_patterns(self, most: int) -> tuple[Indices, Signs] | None:
        """Which of a few patterns each neuron has (neurons,), and these patterns (patterns, lines); None where they are more."""
        _, first, index = np.unique(self._known_keys(), return_index=True, return_inverse=True)
        return (index, self.signs[first]) if len(first) <= most else None

    def _known_keys(self) -> Indices:
        """A number for each neuron, the same for equal patterns."""
        if self._keys is None:
            self._keys = self.signs @ self._names
        return self._keys

    def _flip(self, pairs: Indices) -> None:
        """These neurons are on the other side of these lines."""
        h, line = pairs.T
        if self._keys is not None:
            np.subtract.at(self._keys, h, 2 * self.signs[h, line] * self._names[line])
        self.signs[h, line] *= -1

    def look(self, path: Path, start: float, end: float, frozen: bool) -> float:
        """Look at who is beyond a kink after a step: by which share of their size crossing changes neurons within it.

        Where the field goes by the patterns (`frozen`) and not by the sides that neurons are on, rounding takes nobody across.
        """
        self._theta, self._frozen = path.neurons(end), frozen
        self._pull, self._crossed = self.kinks.look(self._theta, self.signs)
        if frozen and len(self._crossed):
            heights, sizes = np.abs(self._along_normals(self._theta[:, :-1], self._crossed)), row_lengths(self._theta)
            self._crossed = self._crossed[heights > PAST_KINK_HEIGHT * sizes[self._crossed[:, 0]]]
        jumps = np.abs(self.kinks.jumps(self._pull))
        effect = self._effect(self._crossed, self._theta, np.maximum(jumps, self._jumps), end - start)
        self._jumps = jumps
        return effect

    def first_event(self, path: Path, velocity: Array, start: float, end: float) -> float | None:
        """When within the step just looked at a hold begins or ends first; `velocity` is that of the first layer at its end."""
        theta, pull, crossed = self._theta, self._pull, self._crossed
        if not len(crossed) and not self.bases:
            return None
        found: list[tuple[float, int, int, int]] = []  # time, neuron, line, side it leaves to (0: it arrives)
        first = end
        for h, line in crossed[self._stopped(crossed, theta, velocity, pull)]:
            if self._height(path, int(h), int(line), first) < 0.0:  # else it arrives after another
                first = self._arrival(path, int(h), int(line), start, first)
                found.append((first, int(h), int(line), 0))
        for h in self.bases:
            for line, side in self._leaving(theta[h], self.signs[h], pull):
                found.append((self._departure(path, h, line, side, start, end), h, line, side))
        if not found:
            return None
        t, *self._event = min(found)
        return t if t > start else float(np.nextafter(start, end))

    def pass_all(self) -> bool:
        """Note that all are on the other side who are beyond a kink after the step just looked at; whether there were any."""
        self._flip(self._crossed)
        return bool(len(self._crossed))

    def impulses(self, field: CommonPatterns, path: Path, start: float, end: float) -> Impulses:
        """What those missed who crossed kinks in the step just looked at, whose field is that of their patterns."""
        thetas = path.neurons(start + (end - start) * SIXTHS)
        return Impulses(field, self.kinks, self._crossed, self.signs, thetas, start, end - start)

    def cross(self, impulses: Impulses, t: float) -> None:
        """Those who crossed kinks by time t are on the other side."""
        across = np.flatnonzero(impulses.start + impulses.time < t)
        h, line, side = impulses.neuron[across], impulses.line[across], impulses.side[across]
        since, speed, a, jump = (
            column[across] for column in (impulses.time, impulses.speed, impulses.outgoing, impulses.jump)
        )
        here = speed / np.maximum(np.abs(a), TINY)
        beyond = here - side * np.where(a >= 0.0, jump, -jump)
        below, above = np.where(side > 0, beyond, here), np.where(side > 0, here, beyond)
        self.decisions.note_crossings(impulses.start + since, h, line, below, above)
        self._flip(np.stack([h, line], axis=1))

    def _along_normals(self, rows: Array, pairs: Indices) -> Array:
        """n_l.v_h of pairs (neuron, line), for rows v (h, inputs); many neurons cross few lines."""
        crossed = np.bincount(pairs[:, 1], minlength=len(self.kinks)) > 0
        place = np.cumsum(crossed)[pairs[:, 1]] - 1
        return np.asarray((rows @ self.kinks.normals[crossed].T)[pairs[:, 0], place])

    def _effect(self, crossed: Indices, theta: Array, jumps: Array, length: float) -> float:
        """By which share of its size crossing would change a neuron within the step: root mean square over all neurons."""
        h, line = crossed.T
        changes = length * np.abs(theta[h, -1]) * jumps[line]
        shares = np.bincount(h, changes, len(theta)) / np.maximum(row_lengths(theta), TINY)
        return float(np.sqrt(np.mean(shares**2)))

    def next_catch(self, theta: Array, velocity: Array, within: float) -> tuple[float, float] | None:
        """When the next free neuron will be caught by a kink, if `within` that time, and its height over it, relative to its size."""
        pull, _ = self.kinks.look(theta, self.signs)
        wait, height, h, line = self.kinks.next_catch(theta, velocity, self.signs, pull, within)
        if line < 0:
            return None
        self._event = [h, line, 0]
        return wait, height / float(np.linalg.norm(theta[h]))

    def _arrival(self, path: Path, h: int, line: int, start: float, end: float) -> float:
        """When neuron h, now beyond this line, was on it."""
        return _root(lambda t: self._height(path, h, line, t), start, end)

    def _height(self, path: Path, h: int, line: int, t: float) -> float:
        """How far neuron h is from the line, on the side it came from."""
        return float(self.signs[h, line] * (self.kinks.normals[line] @ path.neuron(t, h)[:-1]))

    def _departure(self, path: Path, h: int, line: int, side: int, start: float, end: float) -> float:
        """When this line ceased to hold neuron h, which leaves it to `side`."""
        return _root(lambda t: self._hold_left(path.neurons(t), h, line, side), start, end)

    def _stopped(self, crossed: Indices, theta: Array, velocity: Array, pull: Array) -> Mask:
        """Of pairs (neuron, line) just crossed, those where both sides push towards the kink, or the neuron is held elsewhere."""
        h, line = crossed.T
        side = -self.signs[h, line]
        here = side * self._along_normals(velocity, crossed)
        jump = theta[h, -1] * self.kinks.jumps(pull)[line]  # along the way it was going
        here, before = (here + jump, here) if self._frozen else (here, here - jump)
        return ((here < 0.0) & (before > 0.0)) | np.isin(h, list(self.bases))

    def _leaving(self, neuron: Array, signs: Signs, pull: Array) -> list[tuple[int, int]]:
        """Held lines whose multiplier is outside [0, 1], or that have come to repel, each with the side the neuron leaves to."""
        lines = np.flatnonzero(signs == 0)
        share, jump = self.kinks.holds(signs, pull)
        turn = -np.sign(neuron[-1])
        below, above = turn * share < 0, turn * (jump - share) < 0
        less_below = ~above | (np.abs(share) < np.abs(jump - share))  # where a line that repels does less
        sides = np.where(below & less_below, -1, 1)
        return list(zip(lines[below | above].tolist(), sides[below | above].tolist(), strict=True))

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
            at = int(np.searchsorted(np.flatnonzero(self.signs[h] == 0), line))
            share, jump = (float(row[at]) for row in self.kinks.holds(self.signs[h], pull))
            repels = jump != 0.0 and NEAR_BOUND < share / jump < 1.0 - NEAR_BOUND
            away = (-abs(share), abs(jump - share)) if repels else (0.0, 0.0)
            self.signs[h] = self.decisions.release(h, theta[h], self.signs[h], line, side, pull, t, away)
        else:
            self.signs[h], theta[h] = self.decisions.settle(h, theta[h], self.signs[h], np.array([line]), pull, t)
        self.bases, self._keys = self._held_bases(), None
        return theta
