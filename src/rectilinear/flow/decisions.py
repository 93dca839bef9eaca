"""What a neuron does when it touches kinks, and the log of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..events import Events, Kind
from ..problem import Problem
from .kinks import Kinks, Signs

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

ON_KINK = 1e-12  # |n.w| below this share of the neuron's size is zero up to rounding
AT_ORIGIN = 1e-9  # |w| below this share of the neuron's size when a sliding neuron passes through zero
EXITS = 30  # directions tried for a neuron that leaves the origin


@dataclass
class Start:
    """A state to go on from: time, neurons (h, inputs + 1), patterns (h, lines) and the integral of |grad L|^2."""

    t: float
    theta: Array
    signs: Signs
    energy: float


class Decisions:
    """Decides crossings, holds, releases and passages through the origin, and keeps their certificates.

    `theta` below is one neuron (inputs + 1,): incoming weights w, then the outgoing weight a. `pull` is -dl/df/P at the moment.
    """

    def __init__(self, kinks: Kinks) -> None:
        self.kinks = kinks
        self.log: list[tuple[float, int, int, Kind, float, float, float]] = []

    def note(
        self, t: float, h: int, line: int, kind: Kind, below: float = 0.0, above: float = 0.0, multiplier: float = np.nan
    ) -> None:
        self.log.append((float(t), int(h), int(line), kind, float(below), float(above), float(multiplier)))

    def start(self, theta: Array, pull: Array) -> Signs:
        """Patterns (neurons, lines) of neurons theta (neurons, inputs + 1) at t = 0; those on kinks are decided there."""
        heights = theta[:, :-1] @ self.kinks.normals.T
        sizes = np.linalg.norm(theta, axis=1)
        signs = np.sign(heights).astype(np.int8)
        signs[np.abs(heights) <= ON_KINK * sizes[:, None]] = 0
        for h in np.flatnonzero((signs == 0).any(axis=1) & (sizes > 0)):
            signs[h], _ = self.settle(h, theta[h], signs[h], np.flatnonzero(signs[h] == 0), pull, 0.0)
        return signs

    def settle(self, h: int, theta: Array, signs: Signs, arrived: Indices, pull: Array, t: float) -> tuple[Signs, Array]:
        """New pattern and weights of neuron h, which has reached the lines `arrived` (and may be held on others)."""
        size = np.linalg.norm(theta)
        if np.linalg.norm(theta[:-1]) <= AT_ORIGIN * size:
            return self._leave_origin(h, theta, signs, pull, t), np.append(np.zeros(len(theta) - 1), theta[-1])
        heights = self.kinks.normals @ theta[:-1]
        touching = np.union1d(np.flatnonzero((signs == 0) | (np.abs(heights) <= ON_KINK * size)), arrived).astype(np.intp)
        after = self.decide(h, theta, signs, touching, pull, t)
        held = np.flatnonzero(after == 0)
        if held.size:
            basis = self.kinks.held_basis(held)
            theta = np.append(theta[:-1] - (theta[:-1] @ basis.T) @ basis, theta[-1])
        return after, theta

    def decide(self, h: int, theta: Array, signs: Signs, touching: Indices, pull: Array, t: float) -> Signs:
        """New signs of a neuron that touches these lines."""
        verdict = self.kinks.resolve(signs, touching, self._sign_a(theta, signs, pull), pull)
        after = signs.copy()
        after[touching] = verdict.signs
        for k, line in enumerate(touching):
            if after[line] == signs[line] and (signs[line] != 0 or t > 0.0):
                continue  # turned back without crossing, or held as before
            moved = Kind.RELEASE if signs[line] == 0 and t > 0.0 else Kind.CROSS
            kind = Kind.PIN if after[line] == 0 else moved
            self.note(t, h, line, kind, verdict.below[k], verdict.above[k], verdict.multipliers[k])
        if t > 0.0 and not self.kinks.seen(after).any():
            self.note(t, h, -1, Kind.DEATH)
        return after

    def release(self, h: int, theta: Array, signs: Signs, line: int, side: int, pull: Array, t: float) -> Signs:
        """New signs of a held neuron whose multiplier on `line` has left [0, 1] towards `side`."""
        freed = signs.copy()
        freed[line] = side
        self.note(t, h, line, Kind.RELEASE)
        others = np.flatnonzero(freed == 0)
        if others.size:
            return self.decide(h, theta, freed, others, pull, t)
        if not self.kinks.seen(freed).any():
            self.note(t, h, -1, Kind.DEATH)
        return freed

    def _sign_a(self, theta: Array, signs: Signs, pull: Array) -> float:
        """Sign of a; if a is zero, the sign it is about to take."""
        a = theta[-1]
        if a == 0.0:
            a = theta[:-1] @ ((self.kinks.slopes(signs) * pull) @ self.kinks.x)
        return 1.0 if a >= 0 else -1.0

    def _leave_origin(self, h: int, theta: Array, signs: Signs, pull: Array, t: float) -> Signs:
        """A neuron at w = 0 leaves along a direction v that its own pattern drives: v parallel to a g(v); else it is held there."""
        sign_a = self._sign_a(theta, signs, pull)
        velocity = sign_a * ((self.kinks.slopes(signs) * pull) @ self.kinks.x)
        held = np.flatnonzero(signs == 0)
        if held.size and held.size < len(signs):
            basis = self.kinks.held_basis(held)
            velocity -= (velocity @ basis.T) @ basis
        for _ in range(EXITS):
            speed = np.linalg.norm(velocity)
            if speed == 0.0:
                break
            heights = self.kinks.normals @ velocity / speed
            after = np.sign(heights).astype(np.int8)
            after[np.abs(heights) <= AT_ORIGIN] = 0
            touching = np.flatnonzero(after == 0)
            if touching.size:
                after[touching] = self.kinks.resolve(after, touching, sign_a, pull).signs
            following = sign_a * (self.kinks.seen(after).T @ pull)
            leaving = self.kinks.normals @ following
            leaving[np.abs(leaving) <= AT_ORIGIN * np.linalg.norm(following)] = 0.0
            if following.any() and (after * np.sign(leaving) >= 0).all() and following @ velocity > 0:
                self.note(t, h, -1, Kind.ORIGIN)
                return after
            velocity = following
        self.note(t, h, -1, Kind.DEATH)
        return np.zeros_like(signs)

    def events(self) -> Events:
        """The log as arrays, in order of time."""
        if not self.log:
            return Events()
        columns = [np.array(column) for column in zip(*self.log, strict=True)]
        order = np.argsort(columns[0], kind="stable")
        time, neuron, line, kind, below, above, multiplier = (column[order] for column in columns)
        return Events(time, neuron, line, kind.astype(np.int8), below, above, multiplier)


def first_start(problem: Problem, decisions: Decisions) -> Start:
    """The problem's own start, with neurons on kinks decided."""
    theta = np.concatenate([problem.weights[0], problem.weights[1].T], axis=1)
    pull = np.asarray(problem.loss.pull(problem.y, problem.output(problem.weights))) / len(problem.y)
    return Start(0.0, theta, decisions.start(theta, pull), 0.0)
