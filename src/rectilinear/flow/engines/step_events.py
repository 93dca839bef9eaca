"""What happens to groups within a step: neurons meet kinks, holds end, neurons at w = 0 wake; and what it leads to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array, Indices, Signs
from ...events import Kind
from ..collocation import basis_at, earliest
from ..deadline import look_at_clock
from ..kinks.crossings import all_crossings
from ..kinks.decisions import Decisions
from ..kinks.holds import Holds, side_left
from ..kinks.neuron_groups import Groups
from ..kinks.origin import exit_from_origin
from ..tolerances import ON_KINK_HEIGHT, PAST_KINK_HEIGHT
from .step import Step

WAKING_FOUND = 1e-9  # how exactly, as a share of the step, the moment is found at which a neuron can leave w = 0


@dataclass
class Pending:
    """What is decided at the end of the step: a neuron at a kink, a group whose hold on a line ends, or neurons already followed."""

    neuron: int = -1
    line: int = -1
    group: int = -1
    side: int = 0  # whose function of the hold falls through zero: mostly that to which a released group goes
    leaves: int = 0  # where a released group goes
    away: tuple[float, float] = (0.0, 0.0)  # velocities below and above a kink that comes to repel
    followed: tuple[Indices, Array, Signs] | None = None  # neurons with their weights and patterns at the end of the step
    energy: float = 0.0  # what following them adds to the integral of the squared speed
    waking: float = 0.0  # sign of a of the neurons that can leave w = 0 now


class StepEvents:
    """The events of groups as they are: made anew when groups change."""

    def __init__(self, groups: Groups, decisions: Decisions) -> None:
        self.groups, self.decisions, self.kinks = groups, decisions, groups.kinks
        self.holds = Holds(groups)
        # what is watched are heights over lines, and of those held one more, a itself: columns of a matrix (inputs + 1, watched)
        self.watched, self.watched_signs = self.kinks.turned, groups.patterns
        if len(self.holds):
            self.watched = self.kinks.turned_with_a
            self.watched_signs = np.concatenate([groups.patterns, self.holds.signs_a[:, None]], axis=1)
        self.along_holds = [
            (slice(groups.first[k], groups.first[k] + groups.counts[k]), *self.kinks.along_holds(group.pattern))
            for k, group in enumerate(groups.groups)
            if group.held.size and self.kinks.along_holds(group.pattern)[0].size
        ]
        resting = np.arange(len(groups.theta)) if groups.decays else np.flatnonzero(groups.of_neuron < 0)
        theta = groups.theta[resting]
        asleep = (groups.patterns[resting] == 0).all(axis=1) & ~theta[:, :-1].any(axis=1) & (theta[:, -1] != 0.0)
        self.asleep = resting[asleep]  # held at w = 0

    # ------------------------------------------------------------------ within a step

    def arrivals(self, step: Step) -> tuple[Array, Indices, Indices]:
        """Neurons that reach a kink within the step: times u, neurons and lines."""
        path = step.path(self.groups.carried)
        heights = (path.reshape(-1, path.shape[2]) @ self.watched).reshape(*path.shape[:2], -1)
        for carriers, near, normals in self.along_holds:
            heights[:, carriers, near] = path[:, carriers, :-1] @ normals[near].T
        return all_crossings(heights, self.groups.carrying, self.watched_signs, PAST_KINK_HEIGHT * self.groups.sizes)

    def first_release(self, pulls: Array, band: float, slowest: float) -> tuple[float, Pending] | None:
        """When within a step with pulls (6, samples) at its nodes a hold first ends; speeds below `slowest` end none."""
        found = self.holds.first_end(pulls, band, slowest)
        if found is None:
            return None
        u, group, line, side = found
        leaves, away = side_left(pulls @ self.holds.both(group, line).T, u, side, band)
        return u, Pending(group=group, line=line, side=side, leaves=leaves, away=away)

    def first_waking(self, step: Step) -> tuple[float, Pending] | None:
        """When within the step neurons held at w = 0 can first leave it."""
        if not self.asleep.size:
            return None
        for sign in np.unique(np.sign(self.groups.theta[self.asleep, -1])):

            def wakes(u: float, sign: float = sign) -> bool:
                look_at_clock()
                return exit_from_origin(self.kinks, sign, basis_at(u) @ step.pulls, []) is not None

            if wakes(1.0):
                if wakes(0.0):
                    return 0.0, Pending(waking=sign)
                return earliest(wakes, WAKING_FOUND), Pending(waking=sign)
        return None

    def row(self, pending: Pending, step: Step) -> Array:
        """The event's function at the six nodes; it falls through zero at the event."""
        if pending.group >= 0:
            return np.asarray(step.pulls @ self.holds.row(pending.group, pending.line, pending.side))
        path = self.groups.paths(np.array([pending.neuron]), step.path(self.groups.carried))[:, 0]
        sign = self.watched_signs[pending.neuron, pending.line]
        heights = path[:, :-1] @ self._normal(pending) if pending.line < len(self.kinks) else path[:, -1]
        return np.asarray(sign * heights)

    def _normal(self, pending: Pending) -> Array:
        """The unit normal of a line as a neuron sees it along its holds."""
        return self.kinks.along_holds(self.groups.patterns[pending.neuron])[1][pending.line]

    def side_before(self, pending: Pending) -> int:
        """The side from which a neuron comes to the kink that it has met, 0 if that is not what is decided."""
        met = pending.followed is None and not pending.waking and pending.group < 0 and pending.line < len(self.kinks)
        return int(self.groups.patterns[pending.neuron, pending.line]) if met else 0

    # ------------------------------------------------------------------ at its end

    def decide(self, pending: Pending, pull: Array, s: float, project: bool, soon: Array | None) -> None:
        """Decide what happens at s and group the neurons concerned anew.

        `project` moves a neuron exactly onto its kink: what landing left beyond it does not decay with a neuron that dies, nor go
        away where nothing moves. `soon` are the pulls a little later, where nothing has moved since the last decision.
        """
        if pending.followed is not None:
            self.groups.replace(*pending.followed)
        elif pending.waking:
            self._wake(pending.waking, pull, s)
        elif pending.group >= 0:
            self._release(pending, pull, s)
        else:
            self._settle(pending, pull, s, project, soon)

    def _wake(self, sign: float, pull: Array, s: float) -> None:
        """Neurons held at w = 0 whose outgoing weight has this sign leave."""
        groups = self.groups
        pattern = exit_from_origin(self.kinks, sign, pull, [])
        waking = self.asleep[np.sign(groups.theta[self.asleep, -1]) == sign]
        if pattern is not None:
            for h in waking:
                self.decisions.note(s, h, -1, Kind.ORIGIN, multiplier=self.decisions.share_woken)
            theta = groups.some(waking, groups.carried)  # outgoing weights may have decayed
            groups.replace(waking, theta, np.repeat(pattern[None], len(waking), axis=0))

    def _release(self, pending: Pending, pull: Array, s: float) -> None:
        groups = self.groups
        members = groups.groups[pending.group].members.copy()
        theta = groups.some(members, groups.carried)
        signs = np.array([
            self.decisions.release(h, theta[m], groups.patterns[h], pending.line, pending.leaves, pull, s, pending.away)
            for m, h in enumerate(members)
        ])  # fmt: skip
        groups.replace(members, theta, signs)

    def _settle(self, pending: Pending, pull: Array, s: float, project: bool, soon: Array | None) -> None:
        """Decide the neuron that has arrived, and those that have arrived with it."""
        groups, line = self.groups, pending.line
        arrived = self._arrived_with(pending)
        theta = groups.some(arrived, groups.carried)
        patterns = groups.patterns[arrived]
        for m, h in enumerate(arrived.tolist()):
            if line == len(self.kinks):
                patterns[m], theta[m] = self.decisions.turn(h, theta[m], patterns[m], pull, s)
                continue
            if project:
                normal = self._normal(pending)
                theta[m, :-1] -= (normal @ theta[m, :-1]) * normal
            patterns[m], theta[m] = self._settled(h, theta[m], patterns[m], line, pull, s, soon)
        groups.replace(arrived, theta, patterns)

    def _arrived_with(self, pending: Pending) -> Indices:
        """The neuron h that has arrived, and those of its pattern and direction that are on the line as well, up to rounding.

        What pulls them back after h has crossed may be faster than they are: each by itself, which of them crosses would be rounding's.
        """
        groups, h = self.groups, pending.neuron
        if pending.line == len(self.kinks):
            return np.array([h])
        alike = groups.groups[groups.of_neuron[h]].members
        theta = groups.some(alike, groups.carried)
        on_line = np.abs(theta[:, :-1] @ self._normal(pending)) <= ON_KINK_HEIGHT * groups.sizes[alike]
        same_way = np.sign(theta[:, -1]) == np.sign(theta[alike == h, -1])
        return np.asarray(alike[(alike == h) | (on_line & same_way)])

    def _settled(
        self, h: int, neuron: Array, before: Signs, line: int, pull: Array, s: float, soon: Array | None
    ) -> tuple[Signs, Array]:
        """Pattern and weights of neuron h, which has reached the line.

        Where it has been sent back from there at this very moment, its speeds are rounding: they are what they are about to become.
        """
        held = self.decisions.just_held(h, s)
        for acting in (pull,) if soon is None else (pull, soon):
            with self.decisions.trial() as keep:
                pattern, neuron = self.decisions.settle(h, neuron, before, np.array([line]), acting, s)
                changed = set(np.flatnonzero(pattern != before).tolist())
                turns_back = soon is not None and changed <= held
                if not (turns_back and changed):  # else two lines would hold it and let it go by turns
                    keep()
            if not turns_back:
                return pattern, neuron
        return self.decisions.graze(h, neuron, before, line, pull, s), neuron
