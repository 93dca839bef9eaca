"""Kink-exact flow of two-layer networks: implicit steps between events, every event located and decided.

Between events all patterns are frozen and the flow is smooth. A step that would carry a neuron over a kink, or a multiplier
out of [0, 1], is cut at that moment and decided there. Where many neurons meet kinks within one step and together weigh too
little to be seen by the others at the tolerance asked for, the step is kept and each of them is followed through it by itself.

The engine is put together from a field (what moves neurons: moving_field.py), a clock (in which time: clock.py), the stepper of
steppers/radau.py and what may happen within its steps (step_events.py). In rescaled time, d theta/ds = -grad ln L, kinks are decided
as in ordinary time: that depends only on ratios of pulls. Where the loss goes to zero, ln(1/L) grows exponentially with s if both
layers train, and linearly if one does; steps in s grow accordingly.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Indices
from ...errors import FlowError
from ...events import Events, Kind
from ...problem import Problem
from ..collocation import STAGES
from ..deadline import look_at_clock
from ..field.frozen import rounding
from ..kinks.balance import Balance
from ..kinks.decisions import Decisions
from ..kinks.neuron_groups import Groups
from ..state import Start, flatten, layers_of
from ..steppers.radau import Nodes, collocation_step
from ..steppers.step_size import StepControl
from ..tolerances import HOLD_BAND, PAST_KINK_HEIGHT, ROUNDED_SUM, SAME_TIME, SMALLEST_STEP, TINY
from .clock import Clock, OrdinaryClock
from .engine import States
from .kept_jacobian import NEWTON_FAILED, KeptJacobian
from .light_neurons import KnownStep, Light
from .moving_field import MovingField, OrdinaryField
from .near_misses import NearMisses
from .step import Step, resting, slope_at_end
from .step_events import Pending, StepEvents

IMPLICIT_CONTROL = StepControl(order=STAGES + 1)
# by which every further refusal in a row shortens the next try: what an event excites in stiff directions looks alike in steps of any
# length that is long for them
IMPATIENCE = 0.5
SHRINKS = 1e-3  # to which share of itself a neuron may shrink in one step
SMALLER = 1e-2  # to which it may shrink before it is no longer carried with those that were as large
# of steps at one moment: what an event excites in the stiffest directions, faster than the clock tells, settles in tens
MOST_TRIES = 2_000
SURELY_MOVED = 10.0  # times as far as by rounding: neurons that the last step moved by more are not at rest
LANDINGS = 6  # attempts to land on an event; each gains several digits
STILL_AT_EVENT = 1e-3  # of where the event's function begins: as far below zero it may end
FAR = 1.5  # times the step that a polynomial is of: it says nothing beyond
DOUBT_GROWTH, MOST_DOUBTS = 2.0, 40  # of what is rounding of holds, by each event beyond two for every group at one moment
FEW = 4  # neurons that may meet kinks in one step before the step is shortened rather than cut at the first of them


class KinkEngine:
    """State: carriers of all groups, patterns of all neurons, the integral of the field's square (in ordinary time |grad L|^2)."""

    def __init__(
        self, problem: Problem, rtol: float, field: MovingField, clock: Clock, decisions: Decisions, start: Start
    ) -> None:
        self.problem, self.rtol, self.field, self.clock = problem, rtol, field, clock
        self.name, self.chattering, self.decisions, self.kinks = clock.name, False, decisions, decisions.kinks
        self.longest_jump = float(np.abs(self.kinks.lengths).max())
        self.reach = float(np.linalg.norm(problem.x, axis=1).mean())
        self.balance, self.near_misses = Balance(problem), NearMisses(self.kinks)
        self.energy, self.estimated_error, self.step_size = start.energy, 0.0, 0.0
        self.steps = self.rejected = self.refused = self.evaluations = self.standing = self.tries = 0
        self.moment = 0.0  # since which steps are tried in vain
        self.groups_over_time: list[tuple[float, int]] = []
        self.kept_jacobian = KeptJacobian()
        self.light_step = np.inf  # the step at which followed neurons would just be seen by the others
        self.groups = Groups(self.kinks, start.theta, start.signs, decays=problem.l2 > 0.0)
        self.field.look_again(self.groups)
        self.clock.stamp(decisions.log)
        self.pull = field.pulls(self.groups.theta)
        self.pending: Pending | None = None
        self.resting: bool | None = None  # known after a look at the present state
        self.last: Step | None = None  # the step that led here, if nothing has happened since
        self.known: Step | None = None  # a step from here that could be solved
        self._prepare()

    def _prepare(self) -> None:
        """What the next steps need to know of the groups."""
        groups = self.groups
        self.groups_over_time.append((self.clock.s, len(groups.groups)))
        self.events_ahead = StepEvents(groups, self.decisions)
        self.frozen = self.field.frozen(groups)
        self.last = None
        self.neuron_sizes = groups.lengths(groups.carried)

    # ------------------------------------------------------------------ steps

    def attempt(self, t_end: float) -> bool:
        self.pending, self.left = None, self.clock.length_to(t_end)
        if self.at_rest():
            self.rests_until = t_end
            self.step = resting(
                self.groups.carried, self.pull, self.field.objective(self.groups.neurons(self.groups.carried))
            )
            return True
        if self.step_size == 0.0:
            self.step_size = self._first_step()
        h = min(self.step_size, self.light_step, self.left)
        self.moment, self.tries = (self.moment, self.tries + 1) if self._stands() else (self.clock.s, 0)
        solved = self._try(h)
        by_error = IMPLICIT_CONTROL.growth(self.step.error) if solved else NEWTON_FAILED
        self.kept_jacobian.weigh(h, solved, by_error, self.newton_rate)
        if not solved or self.step.error > 1.0:
            self.refused += 1
            return self._shorten(h, by_error * IMPATIENCE ** (self.refused - 1))
        self.refused = 0
        self.whole, self.sizes_after = self.step, self.groups.lengths(self.groups.carried + self.step.stages[-1])
        if (self.sizes_after < SHRINKS * self.neuron_sizes).any():
            return self._shorten(h, 0.5)
        growth = self.kept_jacobian.growth(by_error, self.newton_rate)
        self.step_size = max(h * growth, self.step_size if h < self.step_size else 0.0)
        return self._meet_kinks(h)

    def at_rest(self) -> bool:
        """Whether nothing moves any more: rounding may have made all drives, or the last step shows it."""
        if self.resting is None:
            self.resting = not len(self.groups.carried) or self._rests()
        return self.resting

    def _rests(self) -> bool:
        """The same with a look at the present state, which also says how accurate steps can be."""
        groups, problem, pull = self.groups, self.problem, self.pull
        sizes, noises, noise, output_noise, made_all = rounding(
            groups.carried, groups.group, groups.seen, problem.y, pull, self._bends(), ROUNDED_SUM
        )
        sizes = np.maximum(sizes, TINY)
        self.accuracy = self.field.accuracy(sizes, noises, noise, output_noise)
        self.decisions.rounded = self.accuracy.noise
        if made_all and problem.l2 == 0.0:
            return self.accuracy.noise == 0.0 or self._only_rounding_moves(sizes)
        return self.last is not None and self.clock.shows_rest(self.last, sizes)

    def _bends(self) -> Array:
        """Bounds of -dpull/df."""
        pull = self.pull
        return np.full_like(pull, 1.0 / len(pull)) if self.problem.loss.name == "square" else np.abs(pull)

    def _only_rounding_moves(self, sizes: Array) -> bool:
        """Whether a step as long as all that is left moves neurons no further than rounding, most of which acts where all is stiff."""
        if self.last is not None and self.last.moved(sizes) > SURELY_MOVED * self.rounded:
            return False
        return self._try(self.left) and self.step.moved(sizes) <= self.rounded

    def _first_step(self) -> float:
        """A hundredth of the time the fastest neuron needs to change by its own size, or what large weights need to settle the outputs.

        By then neurons may hardly have moved, so that no error of theirs shows that a longer step passes over it.
        """
        drive = np.linalg.norm(self.pull @ self.groups.seen, axis=1).max() + self.problem.l2
        settling = (self.neuron_sizes**2).sum() * (self._bends() * (self.problem.x**2).sum(axis=1)).max()
        return 1.0 / max(100.0 * float(drive), float(settling), TINY)

    def _try(self, h: float) -> bool:
        """Make a step of this length; whether it could be solved."""
        look_at_clock()
        self.steps += 1
        nodes = Nodes(self._guess(h), np.empty(STAGES + 1), np.empty((STAGES + 1, len(self.pull))), np.empty(STAGES + 1))
        stagewise = h > self.kept_jacobian.reach and not self.frozen.rescaled
        error, evaluations, self.newton_rate, self.rounded = collocation_step(
            self.groups.carried, self.frozen, self.accuracy, h, stagewise, nodes
        )
        self.evaluations += evaluations
        self.field.complete(nodes.pulls, nodes.objectives)
        self.step = Step(h, error, *nodes)
        if error >= 0.0:
            self.known = self.step
        return error >= 0.0

    def _guess(self, h: float) -> Array:
        """Stages of a step of this length, guessed by the polynomial of one that is known."""
        if self.known is not None and h <= FAR * self.known.h:
            return self.known.beginning(h)
        if self.last is not None and h <= FAR * self.last.h:
            return self.last.ahead(h)
        return np.zeros((STAGES, *self.groups.carried.shape))

    def _stands(self) -> bool:
        """Whether the time is that at which tries are counted from."""
        return self.clock.s - self.moment <= SMALLEST_STEP * self.clock.s

    def _shorten(self, h: float, factor: float) -> bool:
        self.step_size = factor * h
        self.rejected += 1
        if self.tries > MOST_TRIES or self.step_size == 0.0:
            raise FlowError(
                f"the step shrank to nothing at {self.clock} after {self.steps} steps; loosen rtol (now {self.rtol:g})"
                f"{self.clock.other_way}."
            )
        return False

    # ------------------------------------------------------------------ events within a step

    def _meet_kinks(self, h: float) -> bool:
        """Deal with what happens within the step: nothing, one event to cut at, or many light neurons to follow."""
        ahead, step = self.events_ahead, self.step
        times, neurons, lines = ahead.arrivals(step)
        release = self._first_to_leave(step)
        if not len(times) and release is None:
            self.standing, self.light_step = 0, max(2.0 * h, self.light_step)
            return True
        first = int(np.argmin(times)) if len(times) else -1
        if release is not None and (first < 0 or release[0] <= times[first]):
            return self._cut(release[0], h, release[1])
        # a held neuron whose a changed sign along with another's is past that event: only a cut knows the sign it had
        overdue = bool(np.any((lines == len(self.kinks)) & (times == 0.0)))
        if len(times) > 1 and release is None and not overdue and self._follow(neurons):
            return True
        if len(times) > FEW and times[first] * h > SAME_TIME * self.clock.s:
            return self._shorten(h, min(0.5, self.light_step / h))
        pending = Pending(neuron=int(neurons[first]), line=int(lines[first]))
        return self._cut(times[first], h, pending)

    def _first_to_leave(self, step: Step) -> tuple[float, Pending] | None:
        """When within the step a hold first ends, be it on a kink or at w = 0."""
        ahead, found = self.events_ahead, []
        if len(ahead.holds):  # a neuron that will not get past its kink before the run ends is not released
            # pulls go on through events: what landing on a kink does to large outputs is stiff, gone by the first node, and ends no hold
            pulls = np.concatenate([self.pull[None], step.pulls[1:]])
            found.append(ahead.first_release(pulls, self._hold_band(), PAST_KINK_HEIGHT / self.left))
        if len(ahead.asleep):
            found.append(ahead.first_waking(step))
        return min((leaving for leaving in found if leaving is not None), key=lambda leaving: leaving[0], default=None)

    def _hold_band(self) -> float:
        """What ends a hold falls below zero by more than this: by more than rounding, which large outputs bring to the drive as well.

        Where a kink holds and lets go by turns and no time passes, rounding does more than is known of it.
        """
        largest = float(np.abs(self.step.pulls[0, self.field.live]).max()) * self.longest_jump
        doubts = min(max(0, self.standing - 2 * len(self.groups.groups)), MOST_DOUBTS)
        return max(HOLD_BAND * largest, self.accuracy.noise) * DOUBT_GROWTH**doubts

    def _cut(self, u: float, h: float, pending: Pending) -> bool:
        """Redo the step so that it ends at the event; False if that failed, and shorter ones are to be tried."""
        self.pending = pending
        if pending.waking:
            return (self._try(u * h) or self._shorten(h, 0.5)) if u > 0.0 else self._stand_still()
        tolerance = PAST_KINK_HEIGHT * float(self.groups.sizes[pending.neuron]) if pending.group < 0 else self._hold_band()
        above = self.events_ahead.row(pending, self.step)[0]
        if (above <= tolerance and u == 0.0) or u * h <= SAME_TIME * self.clock.s:
            return self._stand_still()
        landed = self._land(u * h, (0.0, above), (h, -np.inf), pending, tolerance)
        return landed or self._shorten(h if self.step.error < 0.0 else self.step.h, 0.5)

    def _stand_still(self) -> bool:
        """An event at the very start of the step: nothing moves before it is decided."""
        self.step = self.step.standing()
        self.standing += 1
        if self.standing > 10 * len(self.groups.theta) + 100:
            raise FlowError(
                f"events at {self.clock} do not come to an end; the data may be degenerate: perturb it slightly"
                f"{self.clock.other_way}."
            )
        return True

    def _land(
        self, length: float, before: tuple[float, float], after: tuple[float, float], pending: Pending, tolerance: float
    ) -> bool:
        """Steps of nearly this length until one ends at the event, which lies between `before` and `after`: lengths, event's function.

        The polynomial of a long step may dip below zero by its own error. A shorter step that does not get there is kept as it is, and
        nothing is decided at its end. One that ends far beyond the event has passed over what is stiff: False.
        """
        for _ in range(LANDINGS):
            if not self._try(length):
                self.pending = None
                return False
            row = self.events_ahead.row(pending, self.step)
            # at the event all the way: as if no time had passed since it was decided
            self.standing = self.standing + 1 if np.abs(row).max() <= tolerance else 0
            if abs(row[-1]) <= tolerance:
                return True
            slope = slope_at_end(row) / length
            before, after = ((length, row[-1]), after) if row[-1] > 0.0 else (before, (length, row[-1]))
            length -= row[-1] / slope if slope < 0.0 else np.inf
            if not before[0] < length < after[0]:
                length = 0.5 * (before[0] + after[0])
        if row[-1] > tolerance:
            self.pending = None
        return bool(-row[-1] <= max(STILL_AT_EVENT * row[0], tolerance / STILL_AT_EVENT))

    # ------------------------------------------------------------------ light neurons

    def _follow(self, neurons: Indices) -> bool:
        """Follow these neurons through the step by themselves, if the others cannot see the difference at this tolerance."""
        groups = self.groups
        unfollowed = groups.some(neurons, groups.carried + self.step.stages[-1])
        with self.decisions.trial() as keep:
            light, counts = Light.among(groups, neurons), self.reach / self.rtol
            factor, result = self._known().follow_unseen(light, unfollowed, self._bends(), counts)
            self.light_step = factor * self.step.h
            if result is None:
                return False
            keep()
        self.pending = Pending(followed=(neurons, *result[:2]), energy=result[2])
        return True

    def _known(self) -> KnownStep:
        step = self.step
        return KnownStep(self.problem, self.decisions, self.field.train, step.pulls, self.clock.s, step.h)

    # ------------------------------------------------------------------ looking and moving

    @property
    def t(self) -> float:
        return self.clock.t

    @property
    def step_end(self) -> float:
        return self.rests_until if self.resting else self.clock.t_at(self.step, 1.0)

    def states(self, times: Array) -> States:
        groups, here = self.groups, self.clock.t
        if self.resting or not (times != here).any():
            flat = flatten(layers_of(groups.neurons(groups.carried)))
            return States(np.tile(flat, (len(times), 1)), np.full(len(times), self.energy), self.estimated_error)
        shares = np.array([self.clock.share_at(self.step, t) for t in times.tolist()])
        moved, passed = self.step.at(shares)
        theta = groups.all_paths(groups.carried + moved)
        if self.pending is not None and self.pending.followed is not None:
            self._known().follow_up_to(shares, Light.among(groups, self.pending.followed[0]), theta, passed)
        return States(flatten(layers_of(theta)), self.energy + passed, self.estimated_error)

    def commit(self) -> tuple[float, float]:
        step, groups = self.step, self.groups
        if self.resting:
            self.clock.rest(self.rests_until)
            return 0.0, step.objective
        groups.carried = groups.carried + step.stages[-1]
        self.clock.stamp(self.decisions.log, step)
        self.clock.advance(step)
        self.energy += step.energy + (0.0 if self.pending is None else self.pending.energy)
        # rounding moves neurons as well
        self.estimated_error += max(step.error, 0.0) * self.rtol + self.rounded
        self.pull, self.known, self.last = step.pulls[-1], None, step if step.h > 0.0 else None
        if self.pending is not None:
            still = step.h == 0.0
            onto_kink = still or self.problem.l2 > 0.0
            soon = (
                self.whole.pulls_soon_after(step.h) if self.standing > 1 else None
            )  # of the step that would have passed over it
            came_from = self.events_ahead.side_before(self.pending)
            self.events_ahead.decide(self.pending, self.pull, self.clock.s, onto_kink, soon)
            if came_from and groups.patterns[self.pending.neuron, self.pending.line] != came_from:
                self.near_misses.await_others(self.pending.line, came_from, groups, self.pull, self.estimated_error)
        for h, line in self.near_misses.turned_back(groups):
            self.decisions.note(self.clock.s, h, line, Kind.FORK)
        self.clock.stamp(self.decisions.log)
        # a step that led to an event was made anew, and neurons have changed there
        whole = self.pending is None and step is self.whole
        self.neuron_sizes = self.sizes_after if whole else groups.lengths(groups.carried)
        groups.have_grown(self.neuron_sizes)
        self.resting = None
        changed = self._separate_shrunk() or self.pending is not None
        self.energy -= self.field.look_again(groups)
        if changed:
            self._prepare()
        return float(np.sqrt(max(step.energies[-1], 0.0))), step.objective

    def _separate_shrunk(self) -> bool:
        """Carry neurons that have become much smaller with others of their size, exactly balanced; whether there were any.

        Their distances from the kinks that hold them, which are rounding, do not shrink with them: they are put on these again.
        """
        groups = self.groups
        shrunk = np.flatnonzero(self.neuron_sizes < SMALLER * groups.sizes)
        if shrunk.size:
            theta = groups.some(shrunk, groups.carried)
            for m, h in enumerate(shrunk):
                theta[m, :-1] = self.kinks.on_holds(theta[m, :-1], groups.patterns[h])
            theta = self.balance.restored(shrunk, theta, self.clock.s)
            groups.replace(shrunk, theta, groups.patterns[shrunk])
        return bool(shrunk.size)

    def successor(self) -> None:
        return None

    def events(self) -> Events:
        return self.decisions.events()

    def group_counts(self) -> Array:
        return np.array(self.groups_over_time)

    def statistics(self) -> dict[str, int]:
        return {
            "steps": self.steps,
            "rejected": self.rejected,
            "gradients": self.evaluations,
            "groups at most": max(count for _, count in self.groups_over_time),
        }


def kink_exact(problem: Problem, rtol: float, decisions: Decisions, start: Start) -> KinkEngine:
    """The engine in ordinary time."""
    return KinkEngine(problem, rtol, OrdinaryField(problem, rtol), OrdinaryClock(start.t), decisions, start)
