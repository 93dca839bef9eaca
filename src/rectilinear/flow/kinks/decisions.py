"""What a neuron does when it touches kinks, and the log of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from math import sqrt

import numpy as np

from ...arrays import Array, Indices, Mask, Signs
from ...errors import FlowError
from ...events import Events, Kind
from ...problem import Problem
from ..state import Start, neurons_of
from ..tolerances import AT_ORIGIN, LARGEST_PRODUCT, LEANING, NEAR_ORIGIN, ON_KINK_HEIGHT, STRONGEST_PULL
from .contact import resolve
from .geometry import Kinks
from .origin import exit_from_origin, way_of_descent

Log = list[tuple[float, int, int, Kind, float, float, float]]  # time, neuron, line, kind, both sides' velocities, multiplier
Sides = tuple[float, float]

MOST_REMEMBERED_WAYS = 1_000  # ways out of the origin that are remembered


class Decisions:
    """Decides crossings, holds, releases and passages through the origin, and keeps their certificates.

    `theta` below is one neuron (inputs + 1,): incoming weights w, then the outgoing weight a. `pull` is -dl/df/P at the moment.
    """

    def __init__(self, kinks: Kinks) -> None:
        self.kinks = kinks
        self.rounded = 0.0  # drive that rounding may make: velocities within it are noted as zero
        self.log: Log = []
        self._together: list[Events] = []  # of many neurons at once, which a list of each would take long to make
        self.exits: dict[tuple[float, bytes], tuple[Signs | None, int]] | None = (
            None  # ways out of the origin, while they may be remembered
        )
        self._ways: dict[tuple[float, bytes, bytes], tuple[Signs | None, int]] = {}  # out of the origin, for the pulls met

    @contextmanager
    def trial(self) -> Iterator[Callable[[], None]]:
        """What is noted within is forgotten, unless the function that this gives is called."""
        noted, kept = len(self.log), False

        def keep() -> None:
            nonlocal kept
            kept = True

        try:
            yield keep
        finally:
            if not kept:
                del self.log[noted:]

    @contextmanager
    def remembering_exits(self) -> Iterator[None]:
        """Within, for a single step, neurons that come to w = 0 alike leave alike."""
        self.exits = {}
        try:
            yield
        finally:
            self.exits = None

    def note(
        self, t: float, h: int, line: int, kind: Kind, below: float = 0.0, above: float = 0.0, multiplier: float = np.nan
    ) -> None:
        below, above = (0.0 if abs(speed) <= self.rounded else float(speed) for speed in (below, above))
        self.log.append((float(t), int(h), int(line), kind, below, above, float(multiplier)))

    def note_crossings(self, times: Array, neurons: Indices, lines: Indices, below: Array, above: Array) -> None:
        """Crossings of many neurons."""
        kinds = np.full(len(times), Kind.CROSS, dtype=np.int8)
        self.note_events(Events(times, neurons, lines, kinds, below, above, np.full(len(times), np.nan)))

    def note_events(self, events: Events) -> None:
        """Events as arrays."""
        self._together.append(events)

    def just_held(self, h: int, t: float) -> set[int]:
        """The lines that have begun to hold neuron h at this very moment."""
        at_once = takewhile(lambda event: event[0] == t, reversed(self.log))
        return {event[2] for event in at_once if event[1] == h and event[3] is Kind.HOLD}

    def start(self, theta: Array, pull: Array) -> Signs:
        """Patterns (neurons, lines) of neurons theta (neurons, inputs + 1) at t = 0; those on kinks are decided, in place."""
        heights = theta[:, :-1] @ self.kinks.normals.T
        sizes = np.linalg.norm(theta, axis=1)
        signs = np.sign(heights).astype(np.int8)
        signs[np.abs(heights) <= ON_KINK_HEIGHT * sizes[:, None]] = 0
        for h in np.flatnonzero((signs == 0).any(axis=1) & (sizes > 0)):
            signs[h], theta[h] = self.settle(int(h), theta[h], signs[h], np.flatnonzero(signs[h] == 0), pull, 0.0)
        return signs

    def settle(self, h: int, theta: Array, signs: Signs, arrived: Indices, pull: Array, t: float) -> tuple[Signs, Array]:
        """New pattern and weights of neuron h, which has reached the lines `arrived` (and may be held on others)."""
        w = theta[:-1]
        size = sqrt(theta @ theta)
        length = sqrt(w @ w)
        if length <= AT_ORIGIN * size or (length <= NEAR_ORIGIN * size and self._meet_at_zero(signs, arrived)):
            after = self._pass_origin(h, theta, signs, pull, t)
            return after, np.append(np.zeros(len(theta) - 1), theta[-1])
        touches = self._touches(theta, signs)
        touches[arrived] = True
        after = self.decide(h, theta, signs, np.flatnonzero(touches), pull, t)
        if (after == 0).any():
            theta = np.append(self.kinks.on_holds(w, after), self._leaning(theta, signs, pull))
        return after, theta

    def _meet_at_zero(self, signs: Signs, arrived: Indices) -> bool:
        """Whether the lines that hold a neuron and those it has reached meet only at w = 0: it is there, however exactly it landed."""
        together = np.union1d(np.flatnonzero(signs == 0), arrived)
        inputs = self.kinks.x.shape[1]
        return len(together) >= max(inputs, 2) and len(self.kinks.held_basis(together)) == inputs

    def _touches(self, theta: Array, signs: Signs) -> Mask:
        """Which lines hold a neuron or have it on them."""
        on_kink = np.abs(self.kinks.normals @ theta[:-1]) <= ON_KINK_HEIGHT * sqrt(theta @ theta)
        return np.asarray((signs == 0) | on_kink)

    def turn(self, h: int, theta: Array, signs: Signs, pull: Array, t: float) -> tuple[Signs, Array]:
        """New pattern and weights of a held neuron whose outgoing weight passes through zero: what attracted now repels."""
        theta = np.append(theta[:-1], 0.0)
        after = self.decide(h, theta, signs, np.flatnonzero(self._touches(theta, signs)), pull, t)
        theta[-1] = self._leaning(theta, signs, pull)
        return after, theta

    def _leaning(self, theta: Array, signs: Signs, pull: Array) -> float:
        """The outgoing weight; if zero, a nothing of the sign it is about to take, so that holds know which way it pushes."""
        a = float(theta[-1])
        return a if a != 0.0 else self._sign_a(theta, signs, pull) * LEANING * float(np.linalg.norm(theta))

    def decide(self, h: int, theta: Array, signs: Signs, touching: Indices, pull: Array, t: float) -> Signs:
        """New signs of a neuron that touches these lines."""
        if len(touching) > 1:  # holds first: they go on where normals depend on each other
            touching = touching[np.argsort(signs[touching] != 0, kind="stable")]
        sign_a = self._sign_a(theta, signs, pull)
        came_from = signs if t > 0.0 else self._first_sides(theta, signs, touching, sign_a * pull)
        verdict = resolve(self.kinks, came_from, touching, sign_a, pull)
        after = signs.copy()
        after[touching] = verdict.signs
        for k, line in enumerate(touching):
            if after[line] == signs[line] and (signs[line] != 0 or t > 0.0):
                continue  # turned back without crossing, or held as before
            kind = Kind.HOLD if after[line] == 0 else Kind.RELEASE if signs[line] == 0 else Kind.CROSS
            if verdict.left is not None and verdict.below[k] < 0.0 < verdict.above[k]:
                kind = Kind.RELEASE  # holds kept it on this line too
            self.note(t, h, line, kind, verdict.below[k], verdict.above[k], verdict.multipliers[k])
        if verdict.left is not None:
            line, below, above = verdict.left
            self.note(t, h, line, Kind.RELEASE, below, above)
        if t > 0.0 and not self.kinks.seen(after).any():
            self.note(t, h, -1, Kind.DEATH)
        return after

    def _first_sides(self, theta: Array, signs: Signs, touching: Indices, push: Array) -> Signs:
        """Signs of a neuron that starts on these lines, with the sides to which descent's first step takes it, for lines that repel.

        At zero no sample is active, so that step may be none.
        """
        kinks, sides = self.kinks, signs.copy()
        slopes = np.where(np.isin(kinks.line, touching), kinks.alpha, kinks.slopes(signs))
        first = kinks.normals[touching] @ ((slopes * push) @ kinks.x)
        heights = kinks.normals[touching] @ theta[:-1]
        sides[touching] = np.sign(np.where(heights != 0.0, heights, first)).astype(np.int8)
        return sides

    def graze(self, h: int, theta: Array, signs: Signs, line: int, pull: Array, t: float) -> Signs:
        """New signs of a neuron that was sent back from a line and yet goes beyond it: its speed there is zero up to rounding.

        The line holds it if it attracts, and lets it through otherwise.
        """
        others = self._touches(theta, signs)
        others[line] = False
        touching = np.append(line, np.flatnonzero(others))
        sign_a = self._sign_a(theta, signs, pull)
        verdict = resolve(self.kinks, signs, touching, sign_a, pull)
        after = signs.copy()
        after[line] = 0 if sign_a * self.kinks.jumps(pull)[line] < 0.0 else -signs[line]
        below, above = verdict.below[0], verdict.above[0]
        if after[line] == 0:
            self.note(t, h, line, Kind.HOLD, max(below, 0.0), min(above, 0.0), verdict.multipliers[0])
        else:
            self.note(t, h, line, Kind.CROSS, below, above, verdict.multipliers[0])
        return after

    def release(
        self, h: int, theta: Array, signs: Signs, line: int, side: int, pull: Array, t: float, away: Sides = (0.0, 0.0)
    ) -> Signs:
        """New signs of a held neuron whose multiplier on `line` has left [0, 1] towards `side`.

        Where the line has come to repel, `away` are the velocities below and above it.
        """
        freed = signs.copy()
        freed[line] = side
        self.note(t, h, line, Kind.RELEASE, *away)
        others = self._touches(theta, freed)
        others[line] = False
        if others.any():
            return self.decide(h, theta, freed, np.flatnonzero(others), pull, t)
        if not self.kinks.seen(freed).any():
            self.note(t, h, -1, Kind.DEATH)
        return freed

    def _sign_a(self, theta: Array, signs: Signs, pull: Array) -> float:
        """Sign of a; if a is zero, the sign it is about to take."""
        a = theta[-1]
        if a == 0.0:
            a = theta[:-1] @ ((self.kinks.slopes(signs) * pull) @ self.kinks.x)
        return 1.0 if a >= 0 else -1.0

    def _pass_origin(self, h: int, theta: Array, signs: Signs, pull: Array, t: float) -> Signs:
        """A neuron has come to w = 0: it goes on along a direction that its own pattern drives, or is held there."""
        sign_a = self._sign_a(theta, signs, pull)
        key = (sign_a, signs.tobytes())
        if self.exits is not None and key in self.exits:
            after, ways = self.exits[key]
        else:
            after, ways = self._way_out(sign_a, signs, pull)
            if self.exits is not None:
                self.exits[key] = after, ways
        self.note(
            t, h, -1, Kind.DEATH if after is None else Kind.ORIGIN, multiplier=1.0 / ways if after is not None else np.nan
        )
        if after is not None:
            for line in np.flatnonzero((signs == 0) != (after == 0)):
                self.note(t, h, int(line), Kind.HOLD if after[line] == 0 else Kind.RELEASE)
        return np.zeros_like(signs) if after is None else after.copy()

    def _way_out(self, sign_a: float, signs: Signs, pull: Array) -> tuple[Signs | None, int]:
        """The pattern with which a neuron leaves w = 0, None if it is held there, and how many ways there are.

        Where there are several, it is the one of descent with small steps.
        """
        key = (sign_a, signs.tobytes(), pull.tobytes())
        if key not in self._ways:
            if len(self._ways) >= MOST_REMEMBERED_WAYS:
                self._ways.clear()
            self._ways[key] = self._find_way_out(sign_a, signs, pull)
        return self._ways[key]

    def _find_way_out(self, sign_a: float, signs: Signs, pull: Array) -> tuple[Signs | None, int]:
        coming = sign_a * (pull @ self.kinks.seen(signs))
        after = exit_from_origin(self.kinks, sign_a, pull, [coming] if coming.any() else [])
        if after is None or not coming.any() or len(coming) == 1:
            return after, 1
        chosen, ways = way_of_descent(self.kinks, sign_a, pull, coming)
        return (after, 1) if ways <= 1 or chosen is None else (chosen, ways)

    @property
    def share_woken(self) -> float:
        """One over the ways of neurons that wake at w = 0: descents that get near it may also end where no sample activates them."""
        return 0.5 if self.kinks.dead_cone else 1.0

    def events(self) -> Events:
        """The log as arrays, in order of time."""
        return Events.of_log(self.log).merged(self._together)


def first_start(problem: Problem, decisions: Decisions) -> Start:
    """The problem's own start, with neurons on kinks decided."""
    theta = neurons_of(problem.weights)
    pull = decisions.kinks.pulls(theta)
    size = float(np.abs(problem.y).max() * np.abs(problem.x).max())
    if size > 0.0 and not 1.0 / LARGEST_PRODUCT < size < LARGEST_PRODUCT:
        raise FlowError(
            f"inputs times labels must lie between {1 / LARGEST_PRODUCT:g} and {LARGEST_PRODUCT:g}, whose powers still are "
            f"numbers, found {size:.3g}; rescale x or y."
        )
    if not np.abs(pull).max() * max(1.0, float(np.abs(problem.x).max())) ** 2 < STRONGEST_PULL:
        margin = float(np.min(problem.y * problem.output(problem.weights)))
        raise FlowError(
            f"the gradient must be finite at the start, found a margin of {margin:.3g} where the {problem.loss} loss exceeds "
            "the range of numbers; start from smaller weights or use the logistic loss."
        )
    return Start(0.0, theta, decisions.start(theta, pull), 0.0)
