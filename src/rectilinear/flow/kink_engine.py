"""Kink-exact flow of two-layer networks: implicit steps between events, every event located and decided.

Between events all patterns are frozen and the flow is smooth. A step that would carry a neuron over a kink, or a multiplier
out of [0, 1], is cut at that moment; there `Kinks.resolve` decides and the neurons are grouped anew.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import FlowError
from ..events import Events, Kind
from ..problem import Problem
from .grouped import BARYCENTRIC, Groups, basis_at, first_crossing, first_root, integral_weights, make_groups
from .kinks import Kinks, Signs
from .radau import ALL_NODES, NODES, STAGES, WEIGHTS, collocation_step

Array = NDArray[np.float64]

ON_KINK = 1e-12  # |n.w| below this share of the neuron's size is zero up to rounding
AT_ORIGIN = 1e-9  # |w| below this share of the neuron's size when a sliding neuron passes through zero
BELOW = 1e-13  # how far past a kink a height must be to count
SAFETY, SHRINK, GROW = 0.9, 0.2, 5.0
LANDINGS = 6  # attempts to land on an event; each gains several digits
EXITS = 30  # directions tried for a neuron that leaves the origin


@dataclass
class Pending:
    """An event at the end of the step: a neuron at a kink, or a group whose hold on a line ends."""

    neuron: int = -1
    line: int = -1
    group: int = -1
    side: int = 0  # where a released group goes


class KinkEngine:
    """State: carriers of all groups, patterns of all neurons, the integral of |grad L|^2."""

    name = "kink-exact"

    def __init__(self, problem: Problem, rtol: float) -> None:
        self.problem, self.rtol = problem, rtol
        self.kinks = Kinks(problem)
        self.train = np.array(problem.network.trainable_layers, dtype=np.float64)
        self.resting = np.concatenate([problem.weights[0], problem.weights[1].T], axis=1)
        self.t = self.energy = 0.0
        self.chattering = False
        self.steps = self.rejected = self.evaluations = 0
        self.log: list[tuple[float, int, int, Kind, float, float, float]] = []
        self.groups_over_time: list[tuple[float, int]] = []
        self.patterns = self._first_patterns()
        self.step_size = 0.0
        self._regroup(self.resting)

    # ------------------------------------------------------------------ patterns

    def _pulls(self, theta: Array) -> Array:
        d = theta.shape[1] - 1
        f = self.problem.output((theta[:, :d], theta[:, d:].T))
        return np.asarray(self.problem.loss.pull(self.problem.y, f)) / len(f)

    def _first_patterns(self) -> Signs:
        """Signs at the start; neurons that start on kinks are decided there."""
        theta = self.resting
        heights = theta[:, :-1] @ self.kinks.normals.T
        sizes = np.linalg.norm(theta, axis=1)
        signs = np.sign(heights).astype(np.int8)
        signs[np.abs(heights) <= ON_KINK * sizes[:, None]] = 0
        pull = self._pulls(theta)
        for h in np.flatnonzero((signs == 0).any(axis=1) & (sizes > 0)):
            if np.linalg.norm(theta[h, :-1]) <= AT_ORIGIN * sizes[h]:
                signs[h] = self._leave_origin(h, theta, signs[h], pull, 0.0)
            else:
                touching = np.flatnonzero(signs[h] == 0)
                signs[h] = self._decide(h, theta, signs[h], touching, pull, 0.0)
        return signs

    def _sign_a(self, theta: Array, h: int, signs: Signs, pull: Array) -> float:
        """Sign of a_h; if a_h is zero, the sign it is about to take."""
        a = theta[h, -1]
        if a == 0.0:
            a = theta[h, :-1] @ ((self.kinks.slopes(signs) * pull) @ self.kinks.x)
        return 1.0 if a >= 0 else -1.0

    def _decide(self, h: int, theta: Array, signs: Signs, touching: NDArray[np.intp], pull: Array, t: float) -> Signs:
        """New signs of a neuron that touches these lines; holds and crossings are logged."""
        verdict = self.kinks.resolve(signs, touching, self._sign_a(theta, h, signs, pull), pull)
        after = signs.copy()
        after[touching] = verdict.signs
        for k, line in enumerate(touching):
            if after[line] == signs[line] and signs[line] != 0:
                kind = None  # turned back without crossing
            elif after[line] == 0:
                kind = Kind.PIN if signs[line] != 0 or t == 0.0 else None
            else:
                kind = Kind.RELEASE if signs[line] == 0 and t > 0.0 else Kind.CROSS
            if kind is not None:
                self._log(t, h, line, kind, verdict.below[k], verdict.above[k], verdict.multipliers[k])
        if t > 0.0 and not self.kinks.seen(after).any():
            self._log(t, h, -1, Kind.DEATH)
        return after

    def _leave_origin(self, h: int, theta: Array, signs: Signs, pull: Array, t: float) -> Signs:
        """A neuron at w = 0 leaves along a direction v that its own pattern drives: v parallel to a g(v); else it is held there."""
        sign_a = self._sign_a(theta, h, signs, pull)
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
            reached = np.linalg.norm(following)
            if reached > 0 and (after * np.sign(self.kinks.normals @ following) >= 0).all() and following @ velocity > 0:
                self._log(t, h, -1, Kind.ORIGIN)
                return after
            velocity = following
        self._log(t, h, -1, Kind.DEATH)
        return np.zeros_like(signs)

    def _log(
        self, t: float, h: int, line: int, kind: Kind, below: float = 0.0, above: float = 0.0, multiplier: float = np.nan
    ) -> None:
        self.log.append((t, int(h), int(line), kind, float(below), float(above), float(multiplier)))

    def _regroup(self, theta: Array) -> None:
        self.resting = theta
        self.groups: Groups = make_groups(self.kinks, theta, self.patterns)
        self.sizes = np.linalg.norm(theta, axis=1)
        self.groups_over_time.append((self.t, len(self.groups.first)))
        holds = [(k, *self.kinks.hold_rows(p)) for k, p in enumerate(self.groups.patterns) if (p == 0).any()]
        samples = len(self.problem.y)
        flip = [-self.groups.sign_a[k] for k, rows, _ in holds for _ in rows]
        self.hold_group = np.array([k for k, rows, _ in holds for _ in rows], dtype=np.intp)
        self.hold_line = np.concatenate([np.flatnonzero(self.groups.patterns[k] == 0) for k, _, _ in holds] or [[]]).astype(
            np.intp
        )
        shares = np.concatenate([rows for _, rows, _ in holds] or [np.empty((0, samples))])
        jumps = np.concatenate([rows for _, _, rows in holds] or [np.empty((0, samples))])
        signs = np.array(flip).reshape(-1, 1)
        # both must stay >= 0: the multiplier times the jump, and what is left of the jump
        self.hold_rows = np.concatenate([signs * shares, signs * (jumps - shares)])
        self._guess: tuple[float, Array] | None = None

    # ------------------------------------------------------------------ steps

    def attempt(self, t_end: float) -> bool:
        self.pending: Pending | None = None
        carried = self.groups.carried
        if not len(carried):
            self.h = t_end - self.t
            self.stages, self.energies = np.zeros((STAGES, 0, carried.shape[1])), np.zeros(STAGES + 1)
            self.objective = self.problem.data_loss(self._layers(self.resting))
            return True
        if self.step_size == 0.0:
            self.step_size = self._first_step()
        h = min(self.step_size, t_end - self.t)
        if not self._try(h, self._predicted(h)):
            self.step_size = 0.3 * h
            self.rejected += 1
            return self._shrunk_to_nothing(h)
        if self.error > 1.0:
            self.step_size = h * max(SHRINK, SAFETY * self.error ** (-1 / (STAGES + 1)))
            self.rejected += 1
            return self._shrunk_to_nothing(h)
        growth = GROW if self.error == 0.0 else min(GROW, max(SHRINK, SAFETY * self.error ** (-1 / (STAGES + 1))))
        self.step_size = max(h * growth, self.step_size if h < self.step_size else 0.0)
        self._cut_at_event(h)
        return True

    def _shrunk_to_nothing(self, h: float) -> bool:
        if h < 1e-14 * max(self.t, 1e-300) or h == 0.0:
            raise FlowError(
                f"the step shrank to nothing at t = {self.t:.17g} after {self.steps} steps; loosen rtol (now {self.rtol:g}), "
                "or use method='smooth'."
            )
        return False

    def _first_step(self) -> float:
        """A hundredth of the time the fastest neuron needs to change by its own size."""
        pull = self._pulls(self.resting)
        drive = np.linalg.norm(np.einsum("i,kid->kd", pull, self.groups.seen), axis=1).max() + self.problem.l2
        return 0.01 / max(drive, 1e-300)

    def _predicted(self, h: float) -> Array:
        """Stages guessed by the last step's polynomial, if nothing has happened since."""
        carried = self.groups.carried
        if self._guess is None or h > 1.5 * self._guess[0]:
            return np.zeros((STAGES, *carried.shape))
        length, stages = self._guess
        ahead = np.array([basis_at(1.0 + c * h / length)[1:] for c in NODES])
        return np.einsum("sj,jek->sek", ahead, stages) - stages[-1]

    def _try(self, h: float, guess: Array) -> bool:
        self.steps += 1
        groups, problem = self.groups, self.problem
        self.stages, self.energies = guess, np.empty(STAGES + 1)
        self.pulls = np.empty((STAGES + 1, len(problem.y)))
        sizes = np.maximum(np.linalg.norm(groups.carried, axis=1), np.finfo(float).tiny)
        self.error, evaluations, self.objective, _ = collocation_step(
            groups.carried, groups.group, groups.seen, problem.y, problem.loss.code, problem.l2, self.train,
            sizes, self.rtol, h, self.stages, self.energies, self.pulls,
        )  # fmt: skip
        self.evaluations += evaluations
        self.h = h
        return self.error >= 0.0

    def _cut_at_event(self, h: float) -> None:
        """If something happens within the step, redo the step so that it ends there."""
        u, pending = self._first_event()
        if pending is None:
            return
        self.pending = pending
        length, last = u * h, (0.0, 0.0)
        tolerance = self._event_scale(pending)
        for _ in range(LANDINGS):
            if length <= 4e-16 * self.t or length <= 1e-15 * h:
                self._stand_still()
                return
            if not self._try(length, np.zeros_like(self.stages)):
                raise FlowError(
                    f"no step could be made to the event at t = {self.t + length:.17g}; loosen rtol (now {self.rtol:g})."
                )
            value = self._event_value(pending)
            if abs(value) <= tolerance:
                return
            slope = (value - last[1]) / (length - last[0]) if last[0] not in (0.0, length) else self._event_slope(pending)
            if slope == 0.0:
                return
            last = (length, value)
            length = float(np.clip(length - value / slope, 0.0, h))

    def _stand_still(self) -> None:
        """An event at the very start of the step: nothing moves before it is decided."""
        self.h = 0.0
        self.stages = np.zeros((STAGES, *self.groups.carried.shape))
        self.pulls[:] = self.pulls[0]
        self.energies[:] = self.energies[0]

    def _first_event(self) -> tuple[float, Pending | None]:
        groups = self.groups
        nodes = np.concatenate([groups.carried[None], groups.carried + self.stages])[:, :, :-1]
        u, neuron, line = first_crossing(
            nodes @ self.kinks.normals.T, groups.of_neuron, groups.first, groups.counts, groups.mix,
            self.patterns, BELOW * self.sizes, ALL_NODES, BARYCENTRIC,
        )  # fmt: skip
        pending = Pending(neuron=neuron, line=line) if neuron >= 0 else None
        if len(self.hold_rows):
            values = np.ascontiguousarray((self.pulls @ self.hold_rows.T).T)
            for k in np.flatnonzero(values.min(axis=1) < -self._hold_band()):
                root = first_root(values[k], self._hold_band(), u, ALL_NODES, BARYCENTRIC)
                if root < u:
                    hold = k % len(self.hold_group)
                    side = -1 if k < len(self.hold_group) else 1
                    u, pending = root, Pending(group=int(self.hold_group[hold]), line=int(self.hold_line[hold]), side=side)
        return u, pending

    def _hold_band(self) -> float:
        return 1e-13 * float(np.abs(self.pulls[0]).max() * np.abs(self.kinks.lengths).max())

    def _event_scale(self, pending: Pending) -> float:
        return BELOW * float(self.sizes[pending.neuron]) if pending.group < 0 else self._hold_band()

    def _event_row(self, pending: Pending) -> Array:
        """The event's function at the six nodes."""
        if pending.group >= 0:
            hold = np.flatnonzero((self.hold_group == pending.group) & (self.hold_line == pending.line))[0]
            return np.asarray(self.pulls @ self.hold_rows[hold + (0 if pending.side < 0 else len(self.hold_group))])
        groups, h = self.groups, pending.neuron
        k = groups.of_neuron[h]
        span = slice(groups.first[k], groups.first[k] + groups.counts[k])
        nodes = np.concatenate([groups.carried[None, span], groups.carried[span] + self.stages[:, span]])[:, :, :-1]
        return self.patterns[h, pending.line] * (
            nodes @ self.kinks.normals[pending.line] @ groups.mix[h, : groups.counts[k]]
        )

    def _event_value(self, pending: Pending) -> float:
        return float(self._event_row(pending)[-1])

    def _event_slope(self, pending: Pending) -> float:
        """Derivative of the event's function with respect to the length of the step, at its end."""
        row = self._event_row(pending)
        near = basis_at(1.0 - 1e-4) @ row
        return float((row[-1] - near) / (1e-4 * self.h))

    # ------------------------------------------------------------------ looking and moving

    @property
    def step_end(self) -> float:
        return self.t + self.h

    def _layers(self, theta: Array) -> tuple[Array, Array]:
        return theta[:, :-1], theta[:, -1:].T

    def state(self, t: float) -> tuple[Array, float]:
        if t == self.t:
            theta, energy = self.groups.neurons(self.groups.carried, self.resting), self.energy
        else:
            u = min(1.0, (t - self.t) / self.h)
            carried = self.groups.carried + np.einsum("j,jek->ek", basis_at(u)[1:], self.stages)
            theta = self.groups.neurons(carried, self.resting)
            energy = self.energy + self.h * float(integral_weights(u) @ self.energies[1:])
        w, a = self._layers(theta)
        return np.concatenate([w.ravel(), a.ravel()]), energy

    def commit(self) -> tuple[float, float]:
        groups = self.groups
        groups.carried = groups.carried + self.stages[-1]
        self.energy += self.h * float(WEIGHTS @ self.energies[1:])
        self.t += self.h
        self._guess = (self.h, self.stages) if self.h > 0 else None
        if self.pending is not None:
            self._apply(self.pending)
        return float(np.sqrt(max(self.energies[-1], 0.0))), self.objective

    def _apply(self, pending: Pending) -> None:
        """Decide what happens at the event and group the neurons anew."""
        theta = self.groups.neurons(self.groups.carried, self.resting)
        pull = self.pulls[-1] if self.h > 0 else self._pulls(theta)
        if pending.group >= 0:
            members = np.flatnonzero(self.groups.of_neuron == pending.group)
            for h in members:
                self._release(h, theta, pending, pull)
        else:
            self._arrive(pending.neuron, theta, pending.line, pull)
        self._regroup(theta)

    def _release(self, h: int, theta: Array, pending: Pending, pull: Array) -> None:
        before = self.patterns[h]
        freed = before.copy()
        freed[pending.line] = pending.side
        self._log(self.t, h, pending.line, Kind.RELEASE)
        others = np.flatnonzero(freed == 0)
        self.patterns[h] = self._decide(h, theta, freed, others, pull, self.t) if others.size else freed
        if not others.size and not self.kinks.seen(freed).any():
            self._log(self.t, h, -1, Kind.DEATH)

    def _arrive(self, h: int, theta: Array, line: int, pull: Array) -> None:
        if np.linalg.norm(theta[h, :-1]) <= AT_ORIGIN * self.sizes[h] and (self.patterns[h] == 0).any():
            theta[h, :-1] = 0.0
            self.patterns[h] = self._leave_origin(h, theta, self.patterns[h], pull, self.t)
            return
        heights = self.kinks.normals @ theta[h, :-1]
        touching = np.flatnonzero((self.patterns[h] == 0) | (np.abs(heights) <= ON_KINK * self.sizes[h]))
        touching = np.union1d(touching, [line])
        self.patterns[h] = self._decide(h, theta, self.patterns[h], touching, pull, self.t)
        held = np.flatnonzero(self.patterns[h] == 0)
        if held.size:
            basis = self.kinks.held_basis(held)
            theta[h, :-1] -= (theta[h, :-1] @ basis.T) @ basis

    def events(self) -> Events:
        if not self.log:
            return Events()
        time, neuron, line, kind, below, above, multiplier = zip(*self.log, strict=True)
        return Events(
            np.array(time), np.array(neuron), np.array(line), np.array(kind, dtype=np.int8),
            np.array(below), np.array(above), np.array(multiplier),
        )  # fmt: skip

    def statistics(self) -> dict[str, int | float]:
        return {
            "steps": self.steps,
            "rejected": self.rejected,
            "gradients": self.evaluations,
            "events": len(self.log),
            "most groups": max(count for _, count in self.groups_over_time),
        }
