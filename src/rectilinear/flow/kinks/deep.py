"""Kinks of networks of three layers and more: when the next one is met, and whether it is crossed or held.

The velocities of the preactivation on both sides decide. Held kinks are projected out of the field, whose jump there is along
their normals, until the share of the jump that holds them leaves [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy

from ...arrays import Array, Indices, Mask
from ...errors import FlowError
from ...events import Kind
from ...problem import Problem
from ..field.frozen_deep import DeepPattern, Pass
from ..tolerances import (
    INDEPENDENT_NORMALS_DEEP,
    LEFT_BOUNDS,
    NEAR_BOUND,
    NO_KINK_SPEED_DEEP,
    ON_KINK_HEIGHT_DEEP,
    PAST_KINK_HEIGHT_DEEP,
    SAME_TIME,
    SMALLEST_STEP,
    TINY,
)
from .contact import multiplier

Event = tuple[int, int]  # a kink, and 0 if it is met, +-1 if its hold ends to that side

LOOKS = (0.2, 0.4, 0.6, 0.8, 1.0)  # shares of a step at which signs are looked at
DEEP_EVENT_HALVINGS = 40
MOST_MULTIPLIER_ROUNDS = 20
MOST_DECISIONS = 20  # for each kink that is touched at once
MOST_AT_ONCE = 200  # events without any progress in time
REMEDY = "the data may be degenerate: perturb it slightly, or use method='smooth'."


class DeepKinks:
    """The field with holds, and the decisions at kinks."""

    def __init__(self, problem: Problem, theta: Array) -> None:
        self.pattern = DeepPattern(problem)
        self.log: list[tuple[float, int, int, Kind, float, float, float]] = []
        self.size = self.pattern.size
        self._event: Event = (-1, 0)  # the one found last
        self._decided = (-1.0, 0, -1)  # when the last one was decided, how many were at that time, and its kink
        self._start(theta)

    def _start(self, theta: Array) -> None:
        """Signs layer by layer, as those below decide what a layer sees; neurons on kinks begin as inactive and are then decided."""
        for _ in self.pattern.tables:
            z, sizes = self.pattern.heights(theta)
            self.pattern.signs = np.where(z > ON_KINK_HEIGHT_DEEP * sizes, 1, -1).astype(np.int8)
            self.pattern.refresh()
        z, sizes = self.pattern.heights(theta)
        self._settle(theta, np.flatnonzero(np.abs(z) <= ON_KINK_HEIGHT_DEEP * sizes), 0.0)

    @property
    def held(self) -> Indices:
        return np.flatnonzero(self.pattern.signs == 0)

    def velocity(self, theta: Array, out: Array) -> float:
        """Write the velocity of the flow to `out` and return the objective."""
        found, out[:], _ = self._move(theta)
        return found.objective

    def _move(self, theta: Array) -> tuple[Pass, Array, Array]:
        """The pass at theta, the field with held kinks projected out, and how much of their normals that takes (as `held`).

        Shares make no difference to it: what a held kink contributes is in the span of the normals, whatever they are.
        """
        found = self.pattern.run(theta)
        if not len(self.held):
            return found, found.velocity, np.empty(0)
        normals = self._normals(found)
        if not (np.isfinite(found.velocity).all() and np.isfinite(normals).all()):
            return found, np.full(self.size, np.nan), np.zeros(len(normals))  # a stage too far out: the step will be refused
        missing = -np.asarray(
            np.linalg.lstsq(normals.T, found.velocity, rcond=INDEPENDENT_NORMALS_DEEP)[0], dtype=np.float64
        )
        return found, found.velocity + missing @ normals, missing

    def _normals(self, found: Pass) -> Array:
        """Normals (held, size) of the held kinks."""
        return np.array([self.pattern.normal(found, k) for k in self.held])

    def _resting_on_holds(self, found: Pass, kinks: Indices) -> Indices:
        """Those of these kinks that are free and whose normals lie in the span of those of the held ones.

        So it is where no neuron of a layer is active on a sample and holds keep that so: all above it have z = 0 there.
        """
        free = kinks[self.pattern.signs[kinks] != 0]
        if not (len(self.held) and len(free)):
            return free[:0]
        held, normals = self._normals(found), np.array([self.pattern.normal(found, k) for k in free])
        along = np.linalg.lstsq(held.T, normals.T, rcond=INDEPENDENT_NORMALS_DEEP)[0]
        left, sizes = (np.linalg.norm(rows, axis=1) for rows in (normals - along.T @ held, normals))
        return np.asarray(free[left <= INDEPENDENT_NORMALS_DEEP * sizes])

    def _find_shares(self, theta: Array, found: Pass, missing: Array) -> tuple[Array, Mask]:
        """The shares of their jumps that hold the held kinks, and whether the jumps attract.

        From the last layer down, as what comes back to a layer depends on the shares above it.
        """
        held, pattern = self.held, self.pattern
        layers = np.array([pattern.place(k)[0] for k in held], dtype=np.intp)
        before, shares, attracting = pattern.shares.copy(), np.empty(len(held)), np.empty(len(held), dtype=np.bool_)
        for layer in np.unique(layers)[::-1]:
            these = np.flatnonzero(layers == layer)
            jumps = np.array([pattern.jump(found, k) for k in held[these]])
            known = jumps != 0.0  # where there is none, the share is what it was
            shares[these] = pattern.shares[held[these]] + known * missing[these] / np.where(known, jumps, 1.0)
            attracting[these] = jumps <= 0.0
            if layer > layers.min():
                pattern.shares[held[these]] = shares[these]
                pattern.refresh()
                found = pattern.run(theta)
        pattern.shares = before
        pattern.refresh()
        return shares, attracting

    def onto_holds(self, theta: Array) -> Array:
        """theta with the small heights that steps leave over held kinks removed."""
        held = self.held
        if not len(held):
            return theta
        normals, heights = self._normals(self.pattern.run(theta)), self.pattern.heights(theta)[0][held]
        return np.asarray(theta - np.linalg.lstsq(normals, heights, rcond=INDEPENDENT_NORMALS_DEEP)[0])

    def _heights(self, theta: Array) -> Array:
        """Each kink's z on its side, relative to its size: what must stay above zero."""
        z, sizes = self.pattern.heights(theta)
        return np.asarray(self.pattern.signs * z / np.maximum(sizes, TINY))

    def _margins(self, theta: Array) -> Array:
        """How far shares are from 0 and from 1, (held, 2): what must stay above zero as well."""
        if not len(self.held):
            return np.empty((0, 2))
        found, _, missing = self._move(theta)
        shares, attracting = self._find_shares(theta, found, missing)
        return np.where(attracting[:, None], np.stack([shares, 1.0 - shares], axis=1), -1.0)

    def first_event(self, state_at: Callable[[float], Array], start: float, end: float) -> float | None:
        """When within a step the first kink is met or the first hold ends."""
        begins = state_at(start)
        heights, margins = self._heights(begins), self._margins(begins)

        def beyond_at(t: float) -> dict[Event, float]:
            """Past events; within the step, what begins at zero may be past by the error of interpolation only."""
            found = self._beyond(state_at(t))
            tolerances = {event: LEFT_BOUNDS if event[1] else ON_KINK_HEIGHT_DEEP for event in found}
            return {
                event: past
                for event, past in found.items()
                if t == end or abs(self._value(event, heights, margins)) > tolerances[event]
            }

        for look in LOOKS:
            t = start + look * (end - start) if look < 1.0 else end
            beyond = beyond_at(t)
            if beyond:
                break
        else:
            return None
        for _ in range(MOST_MULTIPLIER_ROUNDS):  # the one that seems the first, until no other is before it
            ahead = {event: max(self._value(event, heights, margins), 0.0) for event in beyond}
            event = min(beyond, key=lambda event: ahead[event] / (ahead[event] - beyond[event]))
            t = self._root(state_at, event, start, t)
            beyond = {other: value for other, value in beyond_at(t).items() if other != event}
            if not beyond or t == start:
                break
        self._event = event
        return t

    def _beyond(self, theta: Array) -> dict[Event, float]:
        """The events that are already past, each with how far."""
        heights, margins = self._heights(theta), self._margins(theta)
        met = {(int(k), 0): float(heights[k]) for k in np.flatnonzero(heights < -PAST_KINK_HEIGHT_DEEP)}
        ended = np.argwhere(margins < -LEFT_BOUNDS)
        return met | {(int(self.held[k]), 1 if side else -1): float(margins[k, side]) for k, side in ended}

    def _value(self, event: Event, heights: Array, margins: Array) -> float:
        kink, side = event
        return float(heights[kink] if side == 0 else margins[np.searchsorted(self.held, kink), max(side, 0)])

    def _ahead(self, event: Event, theta: Array) -> float:
        """What is left until the event: zero there."""
        return self._value(event, self._heights(theta), self._margins(theta) if event[1] else np.empty((0, 2)))

    def time_left(self, theta: Array) -> float:
        """How long at the present speed to the event found last; infinite if that cannot be said or another one is past."""
        kink, side = self._event
        if self._beyond(theta).keys() - {self._event}:
            return np.inf
        if side:
            return 0.0 if abs(self._ahead(self._event, theta)) <= LEFT_BOUNDS else np.inf
        found, velocity, _ = self._move(theta)
        z, speed = self.pattern.heights(theta)[0][kink], self.pattern.speeds(found, velocity)[kink]
        return float(-z / speed) if speed * self.pattern.signs[kink] < 0.0 else np.inf

    def _root(self, state_at: Callable[[float], Array], event: Event, start: float, end: float) -> float:
        """When the event is; the start if it is past from there on."""

        def margin(t: float) -> float:
            return self._ahead(event, state_at(t))

        if margin(start) <= 0.0:  # it begins on the kink: has it been above in between?
            gap = end - start
            for _ in range(DEEP_EVENT_HALVINGS):
                gap *= 0.5
                if margin(start + gap) > 0.0:
                    break
                end = start + gap
            else:
                return start
            start += gap
        if margin(end) >= 0.0:  # a matter of rounding
            return end
        return float(
            scipy.optimize.brentq(margin, start, end, xtol=SAME_TIME * max(end, TINY), rtol=SMALLEST_STEP, disp=False)
        )

    def apply(self, theta: Array, t: float, soon: float) -> Array:
        """Decide the event found last at time t; the weights as they go on. Kinks met within the time `soon` are decided too."""
        kink, side = self._event
        last, times, before = self._decided
        self._decided = (t, times + 1 if t == last else 0, kink)
        if times > MOST_AT_ONCE and t == last:
            raise FlowError(f"events at t = {t:g} do not end; {REMEDY}")
        z, sizes = self.pattern.heights(theta)
        signs = self.pattern.signs.copy()
        found, velocity, missing = self._move(theta)
        leaving = np.array([kink] if side else [], dtype=np.intp)
        if side:
            # what the ending hold kept in place leaves at zero speed as it does, whose sign says nothing
            at_rest = self._resting_on_holds(found, np.flatnonzero(np.abs(z) <= ON_KINK_HEIGHT_DEEP * sizes))
            leaving = np.append(leaving, at_rest)
            share = self._find_shares(theta, found, missing)[0][np.searchsorted(self.held, kink)]
            self._release(kink, float(share), t)
            found, velocity, _ = self._move(theta)
        near = np.maximum(ON_KINK_HEIGHT_DEEP * sizes, soon * np.abs(self.pattern.speeds(found, velocity)))
        touching = np.flatnonzero((np.abs(z) <= near) | (self.pattern.signs == 0))
        self._settle(theta, np.setdiff1d(touching, leaving) if side else np.union1d(touching, [kink]), t)
        if np.array_equal(signs, self.pattern.signs):  # it goes beyond although its speed is zero up to rounding
            self._graze(theta, kink, t, again=before == kink and t == last)
        return self.onto_holds(theta)

    def _settle(self, theta: Array, touching: Indices, t: float) -> None:
        """Change signs until no kink that is touched is left the wrong way, all at once or else one at a time."""
        if self._pass_together(theta, touching, t):
            return
        for _ in range(MOST_DECISIONS * (len(touching) + 1)):
            found, velocity, missing = self._move(theta)
            if len(missing):
                shares, attracting = self._find_shares(theta, found, missing)
                beyond = np.flatnonzero((np.abs(shares - 0.5) > 0.5 + LEFT_BOUNDS) | ~attracting)
                if len(beyond):
                    self._release(int(self.held[beyond[0]]), float(shares[beyond[0]]), t)
                    continue
                self.pattern.shares[self.held] = shares
                self.pattern.refresh()
            wrong = touching[self.pattern.signs[touching] * self.pattern.speeds(found, velocity)[touching] < 0.0]
            if not any(self._decide(theta, int(k), t) for k in wrong):
                return
        raise FlowError(f"the kinks met at t = {t:g} could not be decided; {REMEDY}")

    def _pass_together(self, theta: Array, touching: Indices, t: float) -> bool:
        """Let all kinks that are touched be passed as the weights move now, if the weights then still move so."""
        pattern, before = self.pattern, self.pattern.signs.copy()
        free = touching[before[touching] != 0]
        found, velocity, missing = self._move(theta)
        for _ in pattern.tables:  # what a layer sees depends on the signs below it
            speeds = pattern.speeds(found, velocity)
            moving = free[np.abs(speeds[free]) > NO_KINK_SPEED_DEEP * np.abs(speeds).max()]
            pattern.signs[moving] = np.sign(speeds[moving])
            pattern.refresh()
        after, changed_velocity, changed_missing = self._move(theta)
        then = pattern.speeds(after, changed_velocity)
        shares, attracting = (
            self._find_shares(theta, after, changed_missing) if len(missing) else (missing, np.ones(0, bool))
        )
        slowest = NO_KINK_SPEED_DEEP * np.abs(then).max()
        holding = attracting & (np.abs(shares - 0.5) <= 0.5 + LEFT_BOUNDS)
        if np.all(pattern.signs[free] * then[free] >= -slowest) and holding.all():
            pattern.shares[self.held] = shares
            for k in np.flatnonzero(pattern.signs != before):
                below, above = (speeds[k], then[k]) if pattern.signs[k] > 0 else (then[k], speeds[k])
                self._note(int(k), Kind.CROSS, t, float(below), float(above))
            pattern.refresh()
            return True
        pattern.signs = before
        pattern.refresh()
        return False

    def _sides(self, theta: Array, kink: int) -> tuple[float, float, float]:
        """dz/dt below and above a free kink, and what is rounding in them."""
        sign, speeds, slowest = self.pattern.signs[kink], [0.0, 0.0], 0.0
        for side in (-1, 1):
            self.pattern.signs[kink] = side
            self.pattern.refresh()
            found, velocity, _ = self._move(theta)
            normal = self.pattern.normal(found, kink)
            speeds[max(side, 0)] = float(normal @ velocity)
            slowest = max(slowest, NO_KINK_SPEED_DEEP * float(np.linalg.norm(normal) * np.linalg.norm(found.velocity)))
        self.pattern.signs[kink] = sign
        self.pattern.refresh()
        return speeds[0], speeds[1], slowest

    def _decide(self, theta: Array, kink: int, t: float) -> bool:
        """Cross or hold a kink that is left the wrong way; False if that is only rounding."""
        below, above, slowest = self._sides(theta, kink)
        sign = int(self.pattern.signs[kink])
        if -sign * (above if sign > 0 else below) <= slowest:
            return False
        share = multiplier(below, above)
        if np.isnan(share):
            self._change(kink, -sign, Kind.CROSS, t, below, above)
        else:
            self._change(kink, 0, Kind.HOLD, t, below, above, share)
        return True

    def _graze(self, theta: Array, kink: int, t: float, again: bool) -> None:
        """Decide a kink that is gone beyond although the speed there is zero: hold it if the other side pushes back, or did just now."""
        below, above, slowest = self._sides(theta, kink)
        sign = int(self.pattern.signs[kink])
        if again or sign * (below if sign > 0 else above) > slowest:
            self._change(kink, 0, Kind.HOLD, t, max(below, 0.0), min(above, 0.0), 0.5 * (1 + sign))
        else:
            self._change(kink, -sign, Kind.CROSS, t)

    def _release(self, kink: int, share: float, t: float) -> None:
        """End a hold where its share leaves [0, 1]; if its kink comes to repel, where that pushes less, as in two layers."""
        repels = NEAR_BOUND < share < 1.0 - NEAR_BOUND
        below, above = (-share, 1.0 - share) if repels else (0.0, 0.0)  # over the jump, which is zero at this moment
        self._change(kink, 1 if share > 0.5 else -1, Kind.RELEASE, t, below, above)

    def _change(
        self, kink: int, sign: int, kind: Kind, t: float, below: float = 0.0, above: float = 0.0, share: float = np.nan
    ) -> None:
        self.pattern.signs[kink] = sign
        self.pattern.shares[kink] = 0.0 if np.isnan(share) else share
        self.pattern.refresh()
        self._note(kink, kind, t, below, above, share)

    def _note(self, kink: int, kind: Kind, t: float, below: float, above: float, share: float = np.nan) -> None:
        neuron, sample = self.pattern.name(kink)
        self.log.append((float(t), neuron, sample, kind, below, above, share))
