"""Kink-exact flow of two-layer networks: implicit steps between events, every event located and decided.

Between events all patterns are frozen and the flow is smooth. A step that would carry a neuron over a kink, or a multiplier
out of [0, 1], is cut at that moment and decided there. Where many neurons meet kinks within one step and together weigh too
little to be seen by the others at the tolerance asked for, the step is kept and each of them is followed through it by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array, Indices, Signs
from ...errors import FlowError
from ...events import Events, Kind
from ...problem import Problem
from ..collocation import NODES, STAGES, WEIGHTS, bases_at, basis_at, earliest, integral_weights
from ..deadline import look_at_clock
from ..field.frozen import FrozenField
from ..kinks.balance import Balance
from ..kinks.crossings import all_crossings
from ..kinks.decisions import Decisions, first_start
from ..kinks.geometry import Kinks
from ..kinks.holds import Holds
from ..kinks.neuron_groups import Groups
from ..kinks.origin import exit_from_origin
from ..state import Start, flatten, layers_of
from ..steppers.radau import Accuracy, Nodes, collocation_step
from ..steppers.step_size import StepControl
from ..tolerances import HOLD_BAND, PAST_KINK_HEIGHT, ROUNDED_SUM, SAME_TIME, SMALLEST_STEP, TINY
from .light_neurons import KnownStep

CONTROL = StepControl(order=STAGES + 1)
FOLLOWED = StepControl(
    order=3, safety=1.0
)  # what others see of neurons followed by themselves grows as the cube of the step
SHRINKS = 1e-3  # to which share of itself a neuron may shrink in one step
SMALLER = 1e-2  # to which it may shrink before it is no longer carried with those that were as large
WAKING = 1e-9  # how exactly, as a share of the step, the moment is found at which a neuron can leave w = 0
LANDINGS = 6  # attempts to land on an event; each gains several digits
FAR = 1.5  # times the step that a polynomial is of: it says nothing beyond
FEW = 4  # neurons that may meet kinks in one step before the step is shortened rather than cut at the first of them


@dataclass
class Pending:
    """What is decided at the end of the step: a neuron at a kink, a group whose hold on a line ends, or neurons already followed."""

    neuron: int = -1
    line: int = -1
    group: int = -1
    side: int = 0  # where a released group goes
    followed: tuple[Indices, Array, Signs] | None = None  # neurons with their weights and patterns at the end of the step
    waking: float = 0.0  # sign of a of the neurons that can leave w = 0 now


class KinkEngine:
    """State: carriers of all groups, patterns of all neurons, the integral of |grad L|^2."""

    name = "kink-exact"

    def __init__(
        self, problem: Problem, rtol: float, decisions: Decisions | None = None, start: Start | None = None
    ) -> None:
        self.problem, self.rtol = problem, rtol
        self.decisions = decisions or Decisions(Kinks(problem))
        self.kinks = self.decisions.kinks
        start = start or first_start(problem, self.decisions)
        self.live = np.ones(len(problem.y), dtype=np.bool_)
        self.train = np.array(problem.network.trainable_layers, dtype=np.float64)
        self.reach = float(np.linalg.norm(problem.x, axis=1).mean())
        self.now, self.energy, self.h = start.t, start.energy, 0.0
        self.chattering = False
        self.estimated_error = 0.0
        self.steps = self.rejected = self.evaluations = self.standing = 0
        self.groups_over_time: list[tuple[float, int]] = []
        self.groups = Groups(self.kinks, start.theta, start.signs, decays=problem.l2 > 0.0)
        self.balance = Balance(problem)
        self.step_size = 0.0
        self.light_step = np.inf  # the step at which followed neurons would just be seen by the others
        self.pull = self._pulls(self.groups.theta)
        self.first_residual = self._first_residual()
        self._prepare()

    def _pulls(self, theta: Array) -> Array:
        f = self.problem.output(layers_of(theta))
        return np.asarray(self.problem.loss.pull(self.problem.y, f)) / len(f)

    def _first_residual(self) -> float:
        """The change of the outputs that makes all of the first loss: errors of the loss are relative to that."""
        problem = self.problem
        f = problem.output(problem.weights)
        pull = np.asarray(problem.loss.pull(problem.y, f))
        return 2.0 * problem.data_loss(problem.weights) / max(float(np.sqrt(np.mean(pull**2))), TINY)

    def _output_size(self) -> float:
        """What errors of the outputs are relative to, such that rounding does not exceed the tolerance."""
        return max(self.first_residual, 10.0 * self.output_noise / self.rtol, TINY)

    def _prepare(self) -> None:
        """What the next steps need to know of the groups: above all when holds end, and when a held neuron's a changes sign."""
        groups = self.groups
        self.groups_over_time.append((self.now, len(groups.groups)))
        self.holds = Holds(groups)
        # one more "line" for those held, whose height is a itself
        self.watched_signs = groups.patterns
        if len(self.holds):
            self.watched_signs = np.concatenate([groups.patterns, self.holds.signs_a[:, None]], axis=1)
        self._guess: tuple[float, Array] | None = None
        self._resting: bool | None = None  # known after a look at the present state
        self.neuron_sizes = groups.lengths(groups.carried)
        self.reaches = np.linalg.norm(groups.seen, axis=2)  # (groups, samples)
        resting = np.arange(len(groups.theta)) if groups.decays else np.flatnonzero(groups.of_neuron < 0)
        theta = groups.theta[resting]
        asleep = (groups.patterns[resting] == 0).all(axis=1) & ~theta[:, :-1].any(axis=1) & (theta[:, -1] != 0.0)
        self.asleep = resting[asleep]  # held at w = 0

    # ------------------------------------------------------------------ steps

    def attempt(self, t_end: float) -> bool:
        self.pending: Pending | None = None
        self.left = t_end - self.now
        carried = self.groups.carried
        if self._resting is None:
            self._resting = not len(carried) or self._at_rest()
        if self._resting:
            return self._nothing_moves(t_end)
        if self.step_size == 0.0:
            self.step_size = self._first_step()
        h = min(self.step_size, self.light_step, t_end - self.now)
        solved = self._try(h, self._predicted(h))
        if not solved or self.error > 1.0:
            return self._shorten(h, 0.3 if not solved else CONTROL.growth(self.error))
        if (self.groups.lengths(carried + self.stages[-1]) < SHRINKS * self.neuron_sizes).any():
            return self._shorten(h, 0.5)
        self.step_size = max(h * CONTROL.growth(self.error), self.step_size if h < self.step_size else 0.0)
        return self._meet_kinks(h)

    def _at_rest(self) -> bool:
        """Whether rounding alone drives every group; the largest drive that rounding can make is kept as `noise`."""
        groups, pull = self.groups, self.pull
        sizes = np.abs(groups.carried[:, -1]) * np.linalg.norm(groups.carried[:, :-1], axis=1)
        outputs = np.abs(self.problem.y) + sizes @ self.reaches[groups.group]
        bends = 1.0 / len(pull) if self.problem.loss.name == "square" else np.abs(pull)  # bounds of dpull/df
        noise = ROUNDED_SUM * (self.reaches @ (np.abs(pull) + bends * outputs))
        self.noise, self.output_noise = float(noise.max()), ROUNDED_SUM * float(outputs.max())
        drives = np.linalg.norm(pull @ groups.seen, axis=1)
        return bool(self.problem.l2 == 0.0 and (drives <= noise).all())

    def _nothing_moves(self, t_end: float) -> bool:
        theta = self.groups.neurons(self.groups.carried)
        self.h, self.error = t_end - self.now, 0.0
        self.stages, self.energies = np.zeros((STAGES, *self.groups.carried.shape)), np.zeros(STAGES + 1)
        self.pulls = np.repeat(self.pull[None], STAGES + 1, axis=0)
        self.objective = self.problem.data_loss(layers_of(theta))
        return True

    def _shorten(self, h: float, factor: float) -> bool:
        self.step_size = factor * h
        self.rejected += 1
        if h < SMALLEST_STEP * self.now or h == 0.0:
            raise FlowError(
                f"the step shrank to nothing at t = {self.now:.17g} after {self.steps} steps; loosen rtol (now {self.rtol:g}), "
                "or use method='smooth'."
            )
        return False

    def _first_step(self) -> float:
        """A hundredth of the time the fastest neuron needs to change by its own size."""
        drive = np.linalg.norm(self.pull @ self.groups.seen, axis=1).max() + self.problem.l2
        return 0.01 / max(float(drive), TINY)

    def _predicted(self, h: float) -> Array:
        """Stages guessed by the last step's polynomial, if nothing has happened since."""
        if self._guess is None or h > FAR * self._guess[0]:
            return np.zeros((STAGES, *self.groups.carried.shape))
        length, stages = self._guess
        ahead = bases_at(1.0 + NODES * h / length)[:, 1:]
        return np.asarray(np.einsum("sj,jek->sek", ahead, stages) - stages[-1])

    def _try(self, h: float, guess: Array) -> bool:
        look_at_clock()
        self.steps += 1
        groups, problem = self.groups, self.problem
        nodes = Nodes(guess, np.empty(STAGES + 1), np.empty((STAGES + 1, len(problem.y))), np.empty(STAGES + 1))
        sizes = np.maximum(np.linalg.norm(groups.carried, axis=1), TINY)
        accuracy = Accuracy(sizes, self._output_size(), self.rtol, self.noise)
        field = FrozenField(
            groups.group, groups.seen, problem.y, self.live, self.train, problem.loss.code, problem.l2, False
        )
        self.error, evaluations = collocation_step(groups.carried, field, accuracy, h, nodes)
        self.stages, self.energies, self.pulls, objectives = nodes
        self.objective = float(objectives[-1])
        self.evaluations += evaluations
        self.h = h
        return self.error >= 0.0

    # ------------------------------------------------------------------ events within a step

    def _meet_kinks(self, h: float) -> bool:
        """Deal with what happens within the step: nothing, one event to cut at, or many light neurons to follow."""
        times, neurons, lines = self._arrivals()
        leaving = [found for found in (self._first_release(), self._first_waking()) if found is not None]
        release = min(leaving, key=lambda found: found[0], default=None)
        if not len(times) and release is None:
            self.standing, self.light_step = 0, max(2.0 * self.h, self.light_step)
            return True
        first = int(np.argmin(times)) if len(times) else -1
        if release is not None and (first < 0 or release[0] <= times[first]):
            return self._cut(release[0], h, release[1]) or self._shorten(h, 0.5)
        # a held neuron whose a changed sign along with another's is past that event: only a cut knows the sign it had
        overdue = bool(np.any((lines == len(self.kinks)) & (times == 0.0)))
        if len(times) > 1 and release is None and not overdue and self._follow(neurons):
            return True
        if len(times) > FEW and times[first] > 0.0:
            return self._shorten(h, min(0.5, self.light_step / h))
        pending = Pending(neuron=int(neurons[first]), line=int(lines[first]))
        return self._cut(times[first], h, pending) or self._shorten(h, 0.5)

    def _arrivals(self) -> tuple[Array, Indices, Indices]:
        """Neurons that reach a kink within the step: times u, neurons and lines."""
        groups = self.groups
        nodes = np.concatenate([groups.carried[None], groups.carried + self.stages])
        heights = nodes[:, :, :-1] @ self.kinks.normals.T
        if self.watched_signs.shape[1] > heights.shape[2]:
            heights = np.concatenate([heights, nodes[:, :, -1:]], axis=2)
        return all_crossings(
            heights,
            groups.of_neuron,
            groups.first,
            groups.counts,
            groups.mix,
            self.watched_signs,
            PAST_KINK_HEIGHT * groups.sizes,
        )

    def _first_release(self) -> tuple[float, Pending] | None:
        # a neuron that will not get past its kink before the run ends is not released
        found = self.holds.first_end(self.pulls, self._hold_band(), PAST_KINK_HEIGHT / self.left)
        return None if found is None else (found[0], Pending(group=found[1], line=found[2], side=found[3]))

    def _first_waking(self) -> tuple[float, Pending] | None:
        """When within the step neurons held at w = 0 can first leave it."""
        if not self.asleep.size:
            return None
        for sign in np.unique(np.sign(self.groups.theta[self.asleep, -1])):

            def wakes(u: float, sign: float = sign) -> bool:
                look_at_clock()
                return exit_from_origin(self.kinks, sign, basis_at(u) @ self.pulls, []) is not None

            if wakes(1.0):
                if wakes(0.0):
                    return 0.0, Pending(waking=sign)
                return earliest(wakes, WAKING), Pending(waking=sign)
        return None

    def _hold_band(self) -> float:
        return HOLD_BAND * float(np.abs(self.pulls[0]).max() * np.abs(self.kinks.lengths).max())

    def _cut(self, u: float, h: float, pending: Pending) -> bool:
        """Redo the step so that it ends at the event; False if that failed."""
        self.pending = pending
        if pending.waking:
            if u == 0.0:
                self._stand_still()
                return True
            return self._try(u * h, self._shortened(u * h))
        tolerance = self._tolerance(pending)
        if (self._event_row(pending)[0] <= tolerance and u == 0.0) or u * h <= SAME_TIME * self.now:
            self._stand_still()
            return True
        return self._land(u * h, h, pending, tolerance)

    def _tolerance(self, pending: Pending) -> float:
        """How far from zero an event's function may be at the event."""
        return self._hold_band() if pending.group >= 0 else PAST_KINK_HEIGHT * float(self.groups.sizes[pending.neuron])

    def _land(self, length: float, h: float, pending: Pending, tolerance: float) -> bool:
        """Steps of nearly this length until one ends at the event.

        The polynomial of a long step may dip below zero by its own error. A shorter step that does not get there is kept as it is, and
        nothing is decided at its end.
        """
        before, after = (0.0, self._event_row(pending)[0]), (h, -np.inf)  # the event lies between these lengths
        for _ in range(LANDINGS):
            if not self._try(length, self._shortened(length)):
                self.pending = None
                return False
            self.standing = 0
            row = self._event_row(pending)
            if abs(row[-1]) <= tolerance:
                return True
            slope = (row[-1] - basis_at(1.0 - 1e-4) @ row) / (1e-4 * length)
            before, after = ((length, row[-1]), after) if row[-1] > 0.0 else (before, (length, row[-1]))
            length -= row[-1] / slope if slope < 0.0 else np.inf
            if not before[0] < length < after[0]:
                length = 0.5 * (before[0] + after[0])
        if row[-1] > tolerance:
            self.pending = None
        return True

    def _shortened(self, length: float) -> Array:
        """Stages of a step of another length, guessed by the polynomial of the step just made."""
        if length > FAR * self.h:
            return np.zeros_like(self.stages)
        within = bases_at(NODES * length / self.h)[:, 1:]
        return np.asarray(np.einsum("sj,jek->sek", within, self.stages))

    def _stand_still(self) -> None:
        """An event at the very start of the step: nothing moves before it is decided."""
        self.h = 0.0
        self.stages = np.zeros((STAGES, *self.groups.carried.shape))
        self.pulls[:] = self.pulls[0]
        self.energies[:] = self.energies[0]
        self.standing += 1
        if self.standing > 10 * len(self.groups.theta) + 100:
            raise FlowError(
                f"events at t = {self.now:.17g} do not come to an end; the data may be degenerate: perturb it slightly, "
                "or use method='smooth'."
            )

    def _event_row(self, pending: Pending) -> Array:
        """The event's function at the six nodes; it falls through zero at the event."""
        if pending.group >= 0:
            return np.asarray(self.pulls @ self.holds.row(pending.group, pending.line, pending.side))
        groups, h = self.groups, pending.neuron
        path = groups.one(h, np.concatenate([groups.carried[None], groups.carried + self.stages]))
        if pending.line == len(self.kinks):
            return np.asarray(self.watched_signs[h, -1] * path[:, -1])
        return np.asarray(self.watched_signs[h, pending.line] * (path[:, :-1] @ self.kinks.normals[pending.line]))

    # ------------------------------------------------------------------ light neurons

    def _follow(self, neurons: Indices) -> bool:
        """Follow these neurons through the step by themselves, if the others cannot see the difference at this tolerance."""
        groups = self.groups
        with self.decisions.trial() as keep:
            followed = self._followed(neurons, 1.0)
            if followed is None:
                self.light_step = 0.3 * self.h
            else:
                unfollowed = groups.some(neurons, groups.carried + self.stages[-1])
                change = self._outputs(*followed) - self._outputs(unfollowed, groups.patterns[neurons])
                seen = self.h * float(np.abs(change).max()) * self.reach / self.rtol
                self.light_step = self.h * FOLLOWED.growth(2.0 * seen)
                if seen <= 1.0:
                    keep()
                    self.pending = Pending(followed=(neurons, *followed))
                    return True
        return False

    def _outputs(self, theta: Array, signs: Signs) -> Array:
        """What these neurons add to the output on the samples."""
        return np.asarray(np.einsum("h,hi,hi->i", theta[:, -1], self.kinks.slopes(signs), theta[:, :-1] @ self.kinks.x.T))

    def _followed(self, neurons: Indices, end: float) -> tuple[Array, Signs] | None:
        """Weights and patterns of these neurons at `end` (1 is the whole step); None if that takes too many events."""
        groups = self.groups
        step = KnownStep(self.problem, self.decisions, self.train, self.pulls, self.now, self.h, end)
        theta, signs = groups.some(neurons, groups.carried), groups.patterns[neurons].copy()
        return step.follow(neurons, theta, signs, PAST_KINK_HEIGHT * groups.sizes[neurons])

    # ------------------------------------------------------------------ looking and moving

    @property
    def t(self) -> float:
        return self.now

    @property
    def step_end(self) -> float:
        return self.now + self.h

    def states(self, times: Array) -> tuple[Array, Array]:
        states, energies = zip(*(self._state(float(t)) for t in times), strict=True)
        return np.array(states), np.array(energies)

    def _state(self, t: float) -> tuple[Array, float]:
        carried, energy = self.groups.carried, self.energy
        if t != self.now:
            u = min(1.0, (t - self.now) / self.h)
            carried = carried + np.einsum("j,jek->ek", basis_at(u)[1:], self.stages)
            energy = energy + self.h * float(integral_weights(u) @ self.energies[1:])
        theta = self.groups.neurons(carried)
        if t != self.now and self.pending is not None and self.pending.followed is not None:
            neurons = self.pending.followed[0]
            with self.decisions.trial():
                part = self._followed(neurons, u)
            if part is not None:  # else as if they had met no kink: the others cannot see the difference
                theta[neurons] = part[0]
        return flatten(layers_of(theta)), energy

    def commit(self) -> tuple[float, float]:
        self.groups.move(self.groups.carried + self.stages[-1])
        self.energy += self.h * float(WEIGHTS @ self.energies[1:])
        self.now += self.h
        self.estimated_error += max(self.error, 0.0) * self.rtol
        self.pull = self.pulls[-1]
        self._guess = (self.h, self.stages) if self.h > 0 else None
        if self.pending is not None:
            self._apply(self.pending)
        self.neuron_sizes, self._resting = self.groups.lengths(self.groups.carried), None
        if self._separate_shrunk() or self.pending is not None:
            self._prepare()
        return float(np.sqrt(max(self.energies[-1], 0.0))), self.objective

    def _separate_shrunk(self) -> bool:
        """Carry neurons that have become much smaller with others of their size, exactly balanced; whether there were any."""
        groups = self.groups
        shrunk = np.flatnonzero(self.neuron_sizes < SMALLER * groups.sizes)
        if shrunk.size:
            theta = self.balance.restored(shrunk, groups.some(shrunk, groups.carried), self.t)
            groups.replace(shrunk, theta, groups.patterns[shrunk])
        return bool(shrunk.size)

    def _apply(self, pending: Pending) -> None:
        """Decide what happens at the end of the step and group the neurons concerned anew."""
        groups, pull = self.groups, self.pulls[-1]
        if pending.followed is not None:
            groups.replace(*pending.followed)
            return
        if pending.waking:
            self._wake(pending.waking, pull)
            return
        if pending.group >= 0:
            members = groups.groups[pending.group].members.copy()
            theta = groups.some(members, groups.carried)
            signs = np.array([
                self.decisions.release(h, theta[m], groups.patterns[h], pending.line, pending.side, pull, self.now)
                for m, h in enumerate(members)
            ])  # fmt: skip
            groups.replace(members, theta, signs)
            return
        h = pending.neuron
        neuron = groups.some(np.array([h]), groups.carried)[0]
        if pending.line == len(self.kinks):
            pattern, neuron = self.decisions.turn(h, neuron, groups.patterns[h], pull, self.now)
        else:
            # what landing left beyond the kink does not decay with a neuron that dies, nor go away where nothing moves
            if self.problem.l2 or self.h == 0.0:
                normal = self.kinks.normals[pending.line]
                neuron[:-1] -= (normal @ neuron[:-1]) * normal
            pattern, neuron = self.decisions.settle(h, neuron, groups.patterns[h], np.array([pending.line]), pull, self.now)
            if self.standing > 1 and (pattern == groups.patterns[h]).all():
                pattern = self.decisions.graze(h, neuron, pattern, pending.line, pull, self.now)
        groups.replace(np.array([h]), neuron[None], pattern[None])

    def _wake(self, sign: float, pull: Array) -> None:
        """Neurons held at w = 0 whose outgoing weight has this sign leave."""
        groups = self.groups
        pattern = exit_from_origin(self.kinks, sign, pull, [])
        waking = self.asleep[np.sign(groups.theta[self.asleep, -1]) == sign]
        if pattern is not None:
            for h in waking:
                self.decisions.note(self.now, h, -1, Kind.ORIGIN)
            groups.replace(waking, groups.theta[waking], np.repeat(pattern[None], len(waking), axis=0))

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
            "most groups": max(count for _, count in self.groups_over_time),
        }
