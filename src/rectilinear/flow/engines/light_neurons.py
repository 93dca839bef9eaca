"""Light neurons: followed one by one through a step whose pulls are known, with every decision taken on the way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ...arrays import Array, Indices, Signs
from ...events import Kind
from ...problem import Problem
from ..collocation import ALL_NODES, STAGES, basis_at, first_root
from ..deadline import chunks, look_at_clock
from ..kinks.decisions import Decisions
from ..kinks.holds import first_fall, functions_of, side_left
from ..kinks.neuron_groups import Groups
from ..steppers.step_size import StepControl
from ..threads import in_shares
from ..tolerances import HOLD_BAND, PAST_KINK_HEIGHT
from .light_neuron_kernels import (
    MOST_LIGHT_EVENTS,
    NEEDS_DECISION,
    FreeNeurons,
    KnownPulls,
    collocate_neuron,
    first_kink,
    follow_free,
    land_on_kink,
    pulls_at,
)

FOLLOWED_CONTROL = StepControl(order=3, safety=1.0)  # what others see of followed neurons grows as the cube of the step
NOT_FOLLOWED = 0.3  # of a step through which neurons could not be followed is tried next


class Light(NamedTuple):
    """Neurons (m,) at the start of a step, their weights (m, inputs + 1), patterns (m, lines), and how far past a kink counts as past."""

    neurons: Indices
    theta: Array
    signs: Signs
    bands: Array

    @classmethod
    def among(cls, groups: Groups, neurons: Indices) -> Light:
        """These neurons of groups that begin a step."""
        theta, signs = groups.some(neurons, groups.carried), groups.patterns[neurons].copy()
        return cls(neurons, theta, signs, PAST_KINK_HEIGHT * groups.sizes[neurons])

    def copied(self) -> Light:
        return Light(self.neurons, self.theta.copy(), self.signs.copy(), self.bands)


@dataclass(frozen=True)
class KnownStep:
    """A step of length h from t with pulls (6, samples) at its nodes; neurons are followed up to the share `end` of it."""

    problem: Problem
    decisions: Decisions
    train: Array
    pulls: Array
    t: float
    h: float
    end: float = 1.0

    def follow_unseen(
        self, light: Light, unfollowed: Array, bends: Array, counts: float
    ) -> tuple[float, tuple[Array, Signs, float] | None]:
        """These neurons at the end of the step, and what following them adds to the integral of |d theta/dt|^2; None if others see it.

        They do if h times the change of an output, against neurons `unfollowed` (m, inputs + 1) at the end, exceeds 1/`counts`. `bends`
        (samples,) bound -dpull/df. The factor comes first by which a step would have to be longer to be seen.
        """
        followed = self.follow(*light.copied())
        if followed is None:
            return NOT_FOLLOWED, None
        outputs = self.decisions.kinks.outputs
        change = outputs(*followed) - outputs(unfollowed, light.signs)
        seen = self.h * float(np.abs(change).max()) * counts
        if seen <= 1.0 and not self._pass_alike(light, followed[1], -bends * change):
            return NOT_FOLLOWED, None
        result = (*followed, self.gained(change, followed[0], unfollowed)) if seen <= 1.0 else None
        return FOLLOWED_CONTROL.growth(2.0 * seen), result

    def _pass_alike(self, light: Light, after: Signs, change: Array) -> bool:
        """Whether neurons pass the same kinks that repel if the pulls are changed by `change` (samples,) throughout the step.

        What crossing such a kink does to the pulls is too little to be seen in other weights. Yet it may turn neurons back that come a
        little later, and for good, as paths part there.
        """
        with self.decisions.trial():
            changed = replace(self, pulls=self.pulls + change).follow(*light.copied())
        if changed is None:
            return False
        repels = light.theta[:, -1:] * self.decisions.kinks.jumps(self.pulls[0]) > 0.0
        return not bool((repels & (changed[1] != after)).any())

    def follow_up_to(self, shares: Array, light: Light, theta: Array, passed: Array) -> None:
        """Write these neurons, followed up to each share of the step, into theta (shares, neurons, inputs + 1); what that adds to the
        integral of the squared speed is added to `passed` (shares,)."""
        neurons, outputs = light.neurons, self.decisions.kinks.outputs
        for k in np.flatnonzero(shares):
            step = replace(self, end=float(shares[k]))
            with self.decisions.trial():
                followed = step.follow(*light.copied())
            if followed is not None:  # else as if they had met no kink: the others cannot see the difference
                unfollowed = theta[k, neurons]
                passed[k] += step.gained(outputs(*followed) - outputs(unfollowed, light.signs), followed[0], unfollowed)
                theta[k, neurons] = followed[0]

    def gained(self, change: Array, followed: Array, unfollowed: Array) -> float:
        """What following neurons adds to the integral of |d theta/dt|^2, where it changes the outputs by `change` (samples,).

        Of each neuron that is sum_i pull_i df_i/dt - (l2/2) d|theta|^2/dt, and pulls hardly change in so short a step.
        """
        pulls = 0.5 * (self.pulls[0] + basis_at(self.end) @ self.pulls)
        return float(pulls @ change) - 0.5 * self.problem.l2 * float((followed**2).sum() - (unfollowed**2).sum())

    def follow(self, neurons: Indices, theta: Array, signs: Signs, bands: Array) -> tuple[Array, Signs] | None:
        """Weights (m, inputs + 1) and patterns (m, lines) at the end of neurons that begin the step with these.

        `bands` (m,) is how far past a kink counts as past. None if some neuron meets too many events.
        """
        reached, status = np.zeros(len(neurons)), np.full(len(neurons), NEEDS_DECISION, dtype=np.intp)
        free = np.flatnonzero((signs != 0).all(axis=1))
        work = free.size * 2 * STAGES * self.pulls.size  # the pulls at the stages, mostly, up to an event and from there
        for chunk in chunks(len(free), work):
            some = free[chunk]
            kernel = partial(self._compiled, some, theta, signs, bands)
            for share, part in in_shares(kernel, len(some), work * len(some) / len(free)):
                if part is None:
                    return None
                theta[share], signs[share], reached[share], status[share], events = part
                for n, u, line, below, above, held in events:
                    kind = Kind.CROSS if np.isnan(held) else Kind.HOLD
                    self.decisions.note(self.t + u * self.h, neurons[share[int(n)]], int(line), kind, below, above, held)
        with self.decisions.remembering_exits():
            for n in np.flatnonzero(status == NEEDS_DECISION):
                look_at_clock()
                result = self._deciding(int(neurons[n]), theta[n], signs[n], reached[n], bands[n])
                if result is None:
                    return None
                theta[n], signs[n] = result
        return theta, signs

    def _known_pulls(self) -> KnownPulls:
        return KnownPulls(self.pulls, self.h, self.train, self.problem.l2)

    def _compiled(
        self, some: Indices, theta: Array, signs: Signs, bands: Array, begin: int, end: int
    ) -> tuple[Indices, tuple[Array, Signs, Array, Indices, Array] | None]:
        """This share of the neurons, followed by the kernel: weights, patterns, times reached, statuses and events."""
        kinks, share = self.decisions.kinks, some[begin:end]
        theta, signs, bands = theta[share], signs[share], bands[share]
        reached, status = np.zeros(len(theta)), np.zeros(len(theta), dtype=np.intp)
        events = np.empty((MOST_LIGHT_EVENTS + 4 * len(theta), 6))
        free = FreeNeurons(theta, signs, bands, reached, status)
        count = follow_free(free, kinks.arrays, self._known_pulls(), self.end, events)
        return share, None if count < 0 else (theta, signs, reached, status, events[:count])

    def _deciding(self, h: int, theta: Array, signs: Signs, u: float, band: float) -> tuple[Array, Signs] | None:
        """One neuron from u to the end, through holds and the origin; None if that does not end.

        Nor does it where a neuron that was sent back from a kink, and has not moved since, is beyond it again: it does not go where its
        velocity points, as the rest of the step is too long for its polynomial.
        """
        kinks, step, decided = self.decisions.kinks, self._known_pulls(), -1.0
        path, pull = np.empty((STAGES + 1, len(theta))), np.empty(len(self.problem.y))
        for _ in range(MOST_LIGHT_EVENTS):
            collocate_neuron(theta, kinks.seen(signs), step, u, self.end, path)
            normals = kinks.along_holds(signs)[1]
            when, line = first_kink(path, signs, normals, band)
            turn = first_root(np.sign(theta[-1]) * path[:, -1], 0.0, when) if (signs == 0).any() else 2.0
            leaves, freed, side, away = self._first_release(signs, float(np.sign(theta[-1])), u)
            first = min(when, turn, leaves)
            if first > 1.0:
                return path[-1].copy(), signs
            at = u + first * (self.end - u)
            if at > u:
                if when <= first:
                    at = land_on_kink(theta, kinks.seen(signs), step, (u, at), normals[line], band, path)
                else:
                    collocate_neuron(theta, kinks.seen(signs), step, u, at, path)
                theta, u = path[-1].copy(), at
            elif when <= first:  # beyond its kink by rounding, which would not go away where nothing moves
                theta = np.append(theta[:-1] - (normals[line] @ theta[:-1]) * normals[line], theta[-1])
            pulls_at(self.pulls, u, pull)
            now = self.t + u * self.h
            if when > first and leaves <= turn:
                signs = self.decisions.release(h, theta, signs, freed, side, pull, now, away)
            elif when > first:
                signs, theta = self.decisions.turn(h, theta, signs, pull, now)
            else:
                after, theta = self.decisions.settle(h, theta, signs, np.array([line]), pull, now)
                if u == decided and (after == signs).all():
                    return None
                signs, decided = after, u
        return None

    def _first_release(self, signs: Signs, sign_a: float, u: float) -> tuple[float, int, int, tuple[float, float]]:
        """When between u and the end (0 to 1) a hold of this pattern first ends, on which line, to which side, and velocities if it comes
        to repel; 2.0 if none ends."""
        held, none = np.flatnonzero(signs == 0), (2.0, -1, 0, (0.0, 0.0))
        if not held.size or held.size == len(signs):  # a neuron held at w = 0 is woken elsewhere
            return none
        pulls = np.array([basis_at(u + node * (self.end - u)) for node in ALL_NODES]) @ self.pulls
        band = HOLD_BAND * float(np.abs(self.pulls).max() * np.abs(self.decisions.kinks.lengths).max())
        rows = np.concatenate(functions_of(self.decisions.kinks, signs, sign_a))
        first, found = first_fall(pulls, rows, band, band)
        if found < 0:
            return none
        hold, side = found % held.size, -1 if found < held.size else 1
        return first, int(held[hold]), *side_left(pulls @ rows[[hold, hold + held.size]].T, first, side, band)
