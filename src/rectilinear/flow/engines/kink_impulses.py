"""Ordinary data at any depth: steps of a frozen pattern, and the impulses of all kinks met on the way.

Within a step the slopes of all kinks are frozen, so that the field is smooth and a method of order 5 sees no jump. Then
all kinks that were passed are accounted for at once. A kink k that was passed adds (change of slope) c_k grad z_k to the field for the
time it was beyond: an impulse along its normal. A kink that pushes back is held: its impulse is the one, between none and that of
a full passage, that leaves z_k = 0, and all of them together solve a small quadratic program. What is left is of second order in the
step: the field at the end differs from what impulses account for, by a remainder R that has grown since the kinks were passed; its
integral is added, and is the estimate of the error.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...arrays import Array, Indices, Mask, Signs
from ...problem import Problem
from ..deadline import look_at_clock
from ..field.sloped import SlopedField, SlopedPass
from ..kinks.box_program import box_program
from ..kinks.passages import passed, shift_paths, times_beyond
from ..state import flatten, unflatten
from ..steppers.tsitouras import ERROR_WEIGHTS, PLAIN_STAGES, PLAIN_TABLEAU, STAGE_TIMES, interpolant, interpolant_slope
from ..steppers.vector_sums import combined
from ..tolerances import TINY
from .engine import States

IMPULSE_SAFETY, IMPULSE_SHRINK, IMPULSE_GROW = 0.9, 0.2, 4.0
SMOOTH_POWER, KINK_POWER = 1 / 5, 2 / 3
REMAINDER = 0.3  # of the second-order correction is left as an error, measured against 32 steps in its place
LARGEST_IMPULSE_ERROR = 3.0  # times the tolerance: kinks are few and heavy or many and light, so that their error is uneven
LEAST_MOTION = 0.1
QUIET = 0.3  # times the tolerance: a correction below this leaves the field as it is
AT_A_BOUND = 1e-9
SHORTEST_OF_IMPULSES = 1e-12  # of the time reached


@dataclass
class Holds:
    """Kinks that are held, with the share of the upper side's slope that holds each, and how fast that changes."""

    kinks: Indices = field(default_factory=lambda: np.empty(0, np.intp))
    shares: Array = field(default_factory=lambda: np.empty(0))
    rates: Array = field(default_factory=lambda: np.empty(0))

    def later(self, time: float) -> Array:
        return np.clip(self.shares + time * self.rates, 0.0, 1.0)


@dataclass
class Meeting:
    """The kinks met in a step: those `passed`, how long, and those that may be held, with bounds of their impulses."""

    kinks: Indices
    beyond: Array  # share of the step for which each was beyond
    late: Array  # the integral of u over that time, u from 0 to 1
    own: Array  # how far its own impulse moves its height
    passing: Array  # 1, or 0 for those that may be held instead
    holdable: Indices
    low: Array
    high: Array


class ImpulseEngine:
    """Steps of order 5 with the impulses of all kinks met."""

    name = "kink impulses"

    def __init__(self, problem: Problem, rtol: float) -> None:
        self.problem, self.rtol = problem, rtol
        self.field = SlopedField(problem)
        self.jump = 1.0 - problem.network.alpha
        self.holds = Holds()
        self.t = self.energy = 0.0
        self.theta = flatten(problem.weights)
        self.start, self.end, self.stage, *self.spare = (self.field.new_pass() for _ in range(5))
        self.heights, self.shifted = np.empty((4, self.field.count)), np.empty((4, self.field.count))
        self.velocities = np.empty((PLAIN_STAGES, self.field.size))
        self.estimated_error = self.step_error = 0.0
        self.counts = {"steps": 0, "rejected": 0, "crossings": 0, "holds": 0, "releases": 0}
        below = np.full(self.field.count, problem.network.alpha)
        self.velocity = self.field.run(self.theta, self.start, below, self.holds.kinks, False).velocity.copy()
        self.step_size = self._first_step()

    def _first_step(self) -> float:
        """The step in which the weights of a layer move by a hundredth of their size."""
        speed = self._norm(self.velocity, self.theta)
        return 0.01 / speed if speed > 0.0 else 1.0

    def _norm(self, change: Array, theta: Array) -> float:
        """Root mean square of a change of the weights, each relative to the size of its layer."""
        total = 0.0
        for part, layer in zip(unflatten(change, self.field.shapes), unflatten(theta, self.field.shapes), strict=True):
            total += part.size * float(np.vdot(part, part)) / max(float(np.vdot(layer, layer)), TINY)
        return float(np.sqrt(total / len(change)))

    @property
    def step_end(self) -> float:
        return self.t + self.h

    @property
    def chattering(self) -> bool:
        return self.step_size < SHORTEST_OF_IMPULSES * self.t

    def attempt(self, t_end: float) -> bool:
        self.counts["steps"] += 1
        h = min(self.step_size, t_end - self.t)
        if self.t + 2 * h > t_end > self.t + h:
            h = (t_end - self.t) / 2  # two equal steps rather than a full one and a sliver
        self.h = h
        smooth = self._free_step(h) / self.rtol
        kinks = self._meet_kinks(h) / self.rtol if smooth <= 1.0 else 0.0
        if smooth <= 1.0 and self._woken():
            smooth, kinks = self._free_step(h) / self.rtol, self._meet_kinks(h) / self.rtol
        growth = IMPULSE_GROW
        for error, power in ((smooth, SMOOTH_POWER), (kinks, KINK_POWER)):
            if not np.isfinite(error):
                growth = IMPULSE_SHRINK
            elif error > 0.0:
                growth = min(growth, max(IMPULSE_SHRINK, IMPULSE_SAFETY * error**-power))
        self.step_size, self.step_error = h * growth, self.rtol * (smooth + kinks)
        if not (smooth <= 1.0 and kinks <= LARGEST_IMPULSE_ERROR):
            self.counts["rejected"] += 1
            return False
        return True

    def _slopes(self, time: float) -> Array:
        """The frozen slopes, those of held kinks as their shares go on changing."""
        if len(self.holds.kinks):
            self.frozen[self.holds.kinks] = self.problem.network.alpha + self.jump * self.holds.later(time)
        return self.frozen

    def _free_step(self, h: float) -> float:
        """A step with frozen slopes, up to `end`; the error of its method."""
        k, self.frozen = self.velocities, self.start.slopes.copy()
        k[0] = self.velocity
        with np.errstate(over="ignore", invalid="ignore"):  # a stage too far out: the step will be refused
            for s in range(1, PLAIN_STAGES):
                look_at_clock()
                at = combined(self.theta, h, PLAIN_TABLEAU[s], k)
                into = self.end if s == PLAIN_STAGES - 1 else self.stage
                k[s] = self.field.run(at, into, self._slopes(STAGE_TIMES[s] * h), self.holds.kinks, True).velocity
            return self._norm(combined(np.zeros_like(at), h, ERROR_WEIGHTS, k), at)

    def _meet_kinks(self, h: float) -> float:
        """Account for all kinks met in the step: `new` weights and their velocity; the estimated error of it."""
        signs = np.where(self.start.slopes > 0.5 * (1.0 + self.problem.network.alpha), 1, -1).astype(np.int8)
        signs[self.holds.kinks] = 0
        self._find_paths(h)
        met = self._meeting(h, signs, self.heights)
        self.signs, self.met = signs, met
        impulse = self._impulse(h, met.kinks, met.beyond, met.late, met.passing)
        touched = np.concatenate([self.holds.kinks, met.kinks[met.holdable]])
        landed, caught = self._hold(self.end.theta + impulse, touched, met.low, met.high)
        before = self.holds
        lost = np.setdiff1d(before.kinks, caught)
        self.after = Holds(caught, self._carried(before, caught, h), np.zeros(len(caught)))
        self.released = len(lost)
        self.new_velocity, self.found = self._settle(landed, self.spare[0])
        correction = self._remainder(h, met, touched, self.new_velocity, self.found)
        self.new, self.impulse = landed + correction, impulse
        motion = max(self._norm(self.new - self.theta, self.new), LEAST_MOTION)
        error = REMAINDER * self._norm(correction, self.new) / motion
        if error > QUIET * self.rtol:
            self.new_velocity, self.found = self._settle(self.new, self.spare[1])
        known = np.isin(self.after.kinks, before.kinks)
        old = dict(zip(before.kinks.tolist(), before.shares.tolist(), strict=True))
        began = np.array([old.get(k, 0.0) for k in self.after.kinks.tolist()])
        self.after.rates = np.where(known, (self.after.shares - began) / h, 0.0)
        self.caught = int(np.sum(~known))
        return error

    def _woken(self) -> bool:
        """Whether samples that activated nothing below have woken up; then slopes above them are what they will be."""
        start, slopes = self.start, self.found.slopes
        woken = np.flatnonzero((start.z == 0.0) & (self.found.z != 0.0) & (start.slopes != slopes))
        if len(woken):
            start.slopes[woken] = slopes[woken]
            self.field.run(self.theta, start, start.slopes.copy(), self.holds.kinks, True)
        return len(woken) > 0

    def _find_paths(self, h: float) -> None:
        """Heights (4, kinks) along the frozen step, at shares 0, 1/3, 2/3 and 1 of it."""
        self.heights[0], self.heights[3] = self.start.z, self.end.z
        for row, u in ((1, 1 / 3), (2, 2 / 3)):
            at = combined(self.theta, h, interpolant(u), self.velocities)
            self.heights[row] = self.field.heights(at, self._slopes(u * h), self.holds.kinks, True)

    def _meeting(self, h: float, signs: Signs, heights: Array) -> Meeting:
        kinks = passed(signs, heights)
        if len(kinks) and kinks[-1] >= self.field.starts[1]:  # above a sample that falls asleep z is zero: nothing is passed
            kinks = kinks[self.field.heights(self.end.theta, self.end.slopes, self.holds.kinks, False)[kinks] != 0.0]
        beyond, late = times_beyond(signs, heights, kinks, 1.0)
        kinks, beyond, late = kinks[beyond > 0.0], beyond[beyond > 0.0], late[beyond > 0.0]
        change = -signs[kinks] * self.jump * self.end.signals[kinks]  # of the field along grad z, when passed
        own = h * beyond * change * self.field.normals(self.end, kinks).squares()
        holdable = np.flatnonzero((change * signs[kinks] > 0.0) & (signs[kinks] * (self.end.z[kinks] + own) > 0.0))
        passing = np.ones(len(kinks))
        passing[holdable] = 0.0
        full = h * beyond[holdable] * change[holdable]
        whole, shares = h * self.jump * self.end.signals[self.holds.kinks], self.holds.later(0.5 * h)
        ends = self.holds.later(h)  # a hold that ends on the way has nothing left to give on that side
        less, more = np.where(ends > 0.0, -shares * whole, 0.0), np.where(ends < 1.0, (1.0 - shares) * whole, 0.0)
        low = np.concatenate([np.minimum(less, more), np.minimum(full, 0.0)])
        high = np.concatenate([np.maximum(less, more), np.maximum(full, 0.0)])
        return Meeting(kinks, beyond, late, own, passing, holdable, low, high)

    def _impulse(self, h: float, kinks: Indices, beyond: Array, late: Array, share: Array) -> Array:
        """The integral of (change of slope) c grad z over the time beyond, c grad z linear in time from the start to the end."""
        early_amounts, late_amounts = np.zeros(self.field.count), np.zeros(self.field.count)
        change = -h * self.jump * self.signs[kinks] * share
        early_amounts[kinks] = change * (beyond - late) * self.start.signals[kinks]
        late_amounts[kinks] = change * late * self.end.signals[kinks]
        return self.field.push(self.start, early_amounts) + self.field.push(self.end, late_amounts)

    def _hold(self, theta: Array, touched: Indices, low: Array, high: Array) -> tuple[Array, Indices]:
        """Weights with the heights of touched kinks at zero, as far as the bounds of impulses allow, and the kinks that are held so."""
        if not len(touched):
            return theta, touched
        normals = self.field.normals(self.end, touched)
        heights = self.field.heights(theta, self.end.slopes, self.holds.kinks, False)
        impulses = box_program(normals.gram(), -heights[touched], low, high)
        landed = theta.copy()
        normals.combine(impulses, unflatten(landed, self.field.shapes))
        margin = AT_A_BOUND * (high - low)
        return landed, np.sort(touched[(impulses > low + margin) & (impulses < high - margin)])

    def _carried(self, before: Holds, kinks: Indices, h: float) -> Array:
        """Shares to begin with: those of before where kinks were held already."""
        old = dict(zip(before.kinks.tolist(), before.later(h).tolist(), strict=True))
        return np.array([old.get(k, 0.5) for k in kinks.tolist()])

    def _settle(self, theta: Array, into: SlopedPass) -> tuple[Array, SlopedPass]:
        """The velocity at theta with shares that keep held kinks at zero; those whose share comes to 0 or 1 are released."""
        found = self._run_held(theta, into)
        repelling = found.signals[self.after.kinks] >= 0.0
        if repelling.any():
            self._release(repelling)
            self._run_held(theta, found)
        held, shares = self.after.kinks, self.after.shares
        if not len(held):
            return found.velocity, found
        normals, velocity = self.field.normals(found, held), found.velocity.copy()
        parts, gram, whole = unflatten(velocity, self.field.shapes), normals.gram(), self.jump * found.signals[held]
        amounts = box_program(gram, -normals.along(parts), (1.0 - shares) * whole, -shares * whole)  # attracting: whole < 0
        normals.combine(amounts, parts)
        self.after.shares = shares + np.where(whole < 0.0, amounts / np.where(whole < 0.0, whole, 1.0), 0.0)
        ends = (self.after.shares < AT_A_BOUND) | (self.after.shares > 1.0 - AT_A_BOUND)
        self.after.shares[ends] = self.after.shares[ends].round()
        found.slopes[held] = self.problem.network.alpha + self.jump * self.after.shares
        self._release(ends)
        self.normals, self.gram = normals.of(~ends), gram[np.ix_(~ends, ~ends)]
        return velocity, found

    def _run_held(self, theta: Array, into: SlopedPass) -> SlopedPass:
        slopes = self.end.slopes.copy()
        slopes[self.after.kinks] = self.problem.network.alpha + self.jump * self.after.shares
        return self.field.run(theta, into, slopes, self.after.kinks, False)

    def _release(self, ends: Mask) -> None:
        holds, self.released = self.after, self.released + int(ends.sum())
        self.after = Holds(holds.kinks[~ends], holds.shares[~ends], holds.rates[~ends])

    def _remainder(self, h: float, met: Meeting, touched: Indices, velocity: Array, found: SlopedPass) -> Array:
        """What is left to second order: the growth of the field's difference since kinks were passed, and passages shifted by others'."""
        end = self.end
        weights = np.abs(end.signals[met.kinks]) * met.beyond
        share = 0.5 * float(weights @ met.beyond) / max(float(weights.sum()), TINY)  # of the step: exact for one kink
        shift = found.z - end.z
        shift[met.kinks] -= met.own
        shift[touched] = 0.0
        shift_paths(self.heights, shift, self.shifted)
        kinks = passed(self.signs, self.shifted)
        kinks = kinks[found.z[kinks] != 0.0]
        longer = np.zeros(self.field.count)
        longer[kinks] = times_beyond(self.signs, self.shifted, kinks, 1.0)[0]
        longer[met.kinks] -= met.beyond
        longer[touched] = 0.0
        longer[self.after.kinks] = 0.0
        grown = share * (found.slopes - end.slopes) + self.jump * self.signs * longer
        amounts = -grown * end.signals
        correction = h * (share * (velocity - end.velocity) + self.field.push(end, amounts))
        if len(self.after.kinks):
            self._off(correction, found.z[self.after.kinks])
        return correction

    def _off(self, change: Array, heights: Array) -> None:
        """Let `change` take the heights of held kinks to zero."""
        parts, limit = unflatten(change, self.field.shapes), np.full(len(heights), np.inf)
        target = -self.normals.along(parts) - heights
        self.normals.combine(box_program(self.gram, target, -limit, limit), parts)

    def states(self, times: Array) -> States:
        if len(times) == 1 and times[0] == self.t:
            return States(self.theta[None].copy(), np.array([self.energy]), self.estimated_error)
        rest = self.new - self.end.theta - self.impulse
        shares = (times - self.t) / self.h
        states = np.array([self._within(u, rest) if u < 1.0 else self.new for u in shares.tolist()])
        first, last = self.h * (self.velocities[0] @ self.velocities[0]), self.h * (self.new_velocity @ self.new_velocity)
        gain = self._energy_gain()
        bend = (1 - shares) * (first - gain) - shares * (last - gain)  # the cubic through both ends and their slopes
        return States(states, self.energy + shares * (gain + (1 - shares) * bend), self.estimated_error)

    def _within(self, u: float, rest: Array) -> Array:
        """Weights at a share u of the step: impulses as far as they have come, and the rest, which grows from zero."""
        part, late = times_beyond(self.signs, self.heights, self.met.kinks, u)
        impulse = self._impulse(self.h, self.met.kinks, part, late, self.met.passing)
        return np.asarray(combined(self.theta, self.h, interpolant(u), self.velocities) + impulse + u * u * rest)

    def _energy_gain(self) -> float:
        """The integral of |dtheta/dt|^2 over the step: Simpson's rule, and for impulses the mean of before and after."""
        middle = interpolant_slope(0.5) @ self.velocities
        first, last = self.velocities[0] @ self.velocities[0], self.end.velocity @ self.end.velocity
        impulse = self.new - self.end.theta
        return float(self.h / 6 * (first + 4 * (middle @ middle) + last) + (self.end.velocity + self.new_velocity) @ impulse)

    def commit(self) -> tuple[float, float]:
        self.energy += self._energy_gain()
        self.counts["crossings"] += len(self.met.kinks) - self.caught
        self.counts["holds"] += self.caught
        self.counts["releases"] += self.released
        self.t += self.h
        self.estimated_error += self.step_error
        self.spare = [kept for kept in (self.start, *self.spare) if kept is not self.found]
        self.theta, self.velocity, self.start, self.holds = self.new, self.new_velocity, self.found, self.after
        penalty = self.problem.l2 * self.problem.network.penalty(self.start.layers)
        return float(np.sqrt(self.velocity @ self.velocity)), self.start.objective - penalty

    def successor(self) -> None:
        return None

    def statistics(self) -> dict[str, int]:
        return self.counts | {"gradients": round(self.field.passes)}

    def events(self) -> None:
        return None

    def group_counts(self) -> None:
        return None
