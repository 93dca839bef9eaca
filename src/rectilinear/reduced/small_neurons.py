"""Neurons too small to act on each other: each moves alone in a fixed field of residuals, exactly, kink by kink.

While a neuron (w, a) does not change the residuals rho_i = -dl/df(x_i), it obeys w' = a g, a' = g . w with
g = <sigma'(w . x) rho x>. Let n_k be the unit normals of the lines through the origin that hold the samples. Then

    g = c <rho x> + (1/2) sum_k s_k d_k n_k,   s_k = sign(n_k . w),   d_k = (1 - alpha) <|x| rho over line k>,

is constant in each cell, where e = g / |g| gives e.w(t) = e.w cosh Gt + a sinh Gt, a(t) = a cosh Gt + e.w sinh Gt, G = |g|,
and the rest of w stays. At a line the neuron crosses, or is *held* if both sides push it back (a d_k < 0): s_k then takes
the value in [-1, 1] that makes g . n_k = 0 (Filippov). In the end no line lies ahead and the neuron grows like e^{Gt} along
its direction: an extremal direction of <sigma(u . x) rho> on the unit sphere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy

from ..arrays import Array, Mask
from ..dataset import Dataset
from ..errors import FlowError

ZERO_PUSH = 1e-12  # pushes below this share of the field's size are rounding: the line neither attracts nor repels
PARALLEL = 1e-13  # cosines below it are rounding: the line is never met
ON_LINE = 1e-13  # distances from a line below this share of |w| are rounding: the neuron lies on it
AT_ORIGIN = 1e-10  # |w| below this share of |a|: the neuron passes through the origin, where all lines meet
MAX_EVENTS = 100  # per line; a neuron that needs more is going round in circles


@dataclass(frozen=True, eq=False)
class PullField:
    """g as a function of the sides s_k of the lines: `base` (d,), `jumps` d_k (k,), `normals` (k, d)."""

    base: Array
    jumps: Array
    normals: Array

    @classmethod
    def of(cls, data: Dataset, residuals: Array, alpha: float) -> PullField:
        lines = data.lines
        weighted = np.abs(lines.lengths) * residuals / data.samples
        jumps = (1 - alpha) * np.bincount(lines.index, weighted, minlength=len(lines))
        return cls((1 + alpha) / 2 * residuals @ data.x / data.samples, np.asarray(jumps), lines.normals)

    @cached_property
    def rounding(self) -> float:
        return ZERO_PUSH * float(np.abs(self.jumps).max() + np.linalg.norm(self.base))

    def pull(self, sides: Array) -> Array:
        return np.asarray(self.base + (sides * self.jumps) @ self.normals / 2)


@dataclass(frozen=True, eq=False)
class Settled:
    """Where a small neuron ends: w -> e^{rate t + log_size} direction, a -> sign |w|; `sides` of the lines, 0 where held."""

    sign: float
    direction: Array
    rate: float
    log_size: float
    sides: Array


@dataclass(eq=False)
class SmallNeuron:
    """One neuron (w, a) with the side of each line it is on and the lines that hold it, with their s_k."""

    w: Array
    a: float
    sides: Array
    held: list[int] = field(default_factory=list)
    shares: Array = field(default_factory=lambda: np.empty(0))

    @classmethod
    def at(cls, w: Array, a: float, normals: Array) -> SmallNeuron:
        return cls(np.array(w), float(a), np.where(normals @ w > 0, 1.0, -1.0))

    def advance(self, field: PullField, duration: float) -> None:
        """Move for `duration` in a constant field."""
        left = duration
        for g, time, line in self._stretches(field):
            self._move(g, min(time, left))
            if time >= left:
                return
            left -= time
            self._meet(field, g, line)

    def settle(self, field: PullField) -> Settled | None:
        """Follow the neuron until no kink lies ahead; None if it stops growing there. Time starts at the call."""
        clock = 0.0
        for g, time, line in self._stretches(field):
            if time == np.inf:
                break
            self._move(g, time)
            clock += time
            self._meet(field, g, line)
        rate = float(np.linalg.norm(g))
        size = float(g @ self.w) / rate + self.a if rate > field.rounding else 0.0
        if size == 0:
            return None
        sides = self.sides.copy()
        sides[self.held] = 0.0
        return Settled(
            float(np.sign(size)), np.sign(size) * g / rate, rate, float(np.log(abs(size) / 2)) - rate * clock, sides
        )

    def _stretches(self, field: PullField) -> Iterator[tuple[Array, float, int | None]]:
        """Pull, time to the next event and its line, again and again; whoever asks moves the neuron in between."""
        for _ in range(MAX_EVENTS * (len(field.jumps) + 1)):
            g = self._pull(field)
            yield g, *self._next_event(field, g)
        raise FlowError("a small neuron must settle after finitely many kinks, but it keeps meeting them; simulate instead.")

    def _pull(self, field: PullField) -> Array:
        """g where the neuron is. Lines it lies on with a d_k < 0 attract: their s_k in [-1, 1] make |g| least (Clarke).

        That is the one choice in which a line is left towards s_k = +-1 only if the motion goes there, and held otherwise.
        """
        on_line = np.abs(field.normals @ self.w) <= ON_LINE * np.linalg.norm(self.w)
        on_line[self.held] = True
        contact = np.flatnonzero(on_line & (self.a * field.jumps < 0))
        if not contact.size:
            self.held = []
            return field.pull(self.sides)
        sides = self.sides.copy()
        sides[contact] = 0.0
        g = field.pull(sides)
        steps = field.normals[contact].T * field.jumps[contact] / 2
        chosen = _box_least_squares(steps, -g)
        inside = np.abs(chosen) < 1 - ZERO_PUSH
        self.held, self.shares = contact[inside].tolist(), chosen[inside]
        self.sides[contact[~inside]] = np.sign(chosen[~inside])
        return np.asarray(g + steps @ np.where(inside, chosen, np.sign(chosen)))

    def _next_event(self, field: PullField, g: Array) -> tuple[float, int | None]:
        """Time to the next line ahead and its number; number None: a changes sign, so that held lines let go."""
        speed = float(np.linalg.norm(g))
        if speed <= field.rounding:
            return np.inf, None
        along = float(g @ self.w) / speed
        cosines = field.normals @ g / speed
        cosines[self.held] = 0.0
        cosines[np.abs(cosines) < PARALLEL] = 0.0
        growing, decaying = cosines * (along + self.a) / 2, cosines * (along - self.a) / 2
        distances = field.normals @ self.w
        on_line = self.sides * distances <= ON_LINE * np.linalg.norm(self.w)  # or beyond it, by rounding
        factors = _smallest_root_above_one(growing, distances - cosines * along, decaying, on_line)
        motion = self.a or along
        factors[on_line & (self.sides * cosines * motion * speed < -abs(motion) * field.rounding)] = 1.0
        line = int(np.argmin(factors))
        best: tuple[float, int | None] = (factors[line], line)
        if self.held and abs(self.a) < abs(along) and self.a * along < 0:
            turning = float(np.sqrt((along - self.a) / (along + self.a)))
            if turning < best[0]:
                best = (turning, None)
        return float(np.log(best[0])) / speed, best[1]

    def _move(self, g: Array, time: float) -> None:
        speed = float(np.linalg.norm(g))
        if time == 0 or speed == 0:
            return
        along, a = float(g @ self.w) / speed, self.a
        cosh, sinh = np.cosh(speed * time), np.sinh(speed * time)
        self.w = self.w + (along * (cosh - 1) + a * sinh) * g / speed
        self.a = float(a * cosh + along * sinh)

    def _meet(self, field: PullField, g: Array, line: int | None) -> None:
        """At a line that attracts `_pull` decides; any other is crossed.

        Where a changes sign held lines come to repel, and both sides lead away: descent with small steps is mostly left where the
        line pushes less, on the side that s_k is nearer to.
        """
        if line is None:
            self.a = 0.0
            self.sides[self.held] = np.where(self.shares > 0, 1.0, -1.0)
        elif np.linalg.norm(self.w) <= AT_ORIGIN * abs(self.a):
            # all lines at once: those that attract are `_pull`'s again, the others are left in the direction of motion
            self.w = np.zeros_like(self.w)
            ahead = np.where(self.a * field.normals @ g > 0, 1.0, -1.0)
            self.sides = np.where(self.a * field.jumps < 0, self.sides, ahead)
        else:
            self.w = self.w - (field.normals[line] @ self.w) * field.normals[line]
            if self.a * field.jumps[line] >= 0:
                self.sides[line] = -self.sides[line]


def settle_all(w: Array, a: Array, data: Dataset, residuals: Array, alpha: float) -> list[Settled | None]:
    """The fate of each small neuron (rows of w, entries of a) in the field of these residuals."""
    pulls = PullField.of(data, residuals, alpha)
    return [SmallNeuron.at(row, out, pulls.normals).settle(pulls) for row, out in zip(w, a, strict=True)]


def _box_least_squares(columns: Array, goal: Array) -> Array:
    """The s in [-1, 1]^k with the least |columns s - goal|."""
    if columns.shape[1] == 1:
        column = columns[:, 0]
        return np.clip([column @ goal / (column @ column)], -1.0, 1.0)
    return np.asarray(scipy.optimize.lsq_linear(columns, goal, bounds=(-1.0, 1.0), method="bvls").x)


def _smallest_root_above_one(a: Array, b: Array, c: Array, at_one: Mask) -> Array:
    """Per line the smallest root E > 1 of a E^2 + b E + c = 0, infinity if none; E = 1 is a known root where `at_one`."""
    roots = np.full((2, len(a)), np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        discriminant = b**2 - 4 * a * c
        q = -(b + np.copysign(np.sqrt(discriminant), b)) / 2
        roots[0], roots[1] = q / a, c / q
        roots[:, at_one] = (c / a)[at_one]
    roots[~(roots > 1)] = np.inf
    return np.asarray(roots.min(axis=0))
