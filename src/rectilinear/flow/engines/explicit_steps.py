"""Explicit stepping of the weights themselves: any depth, any number of samples.

Steps are of order 8; late, when stability limits them, stabilised ones of order 2 take over as long as they get further.
In two-layer networks a neuron that is pushed onto a kink from both sides is held there (its velocity is projected) until its
multiplier leaves [0, 1]. Where neurons share a few patterns, steps are those of frozen ones, and what crossings within them change is
made good; elsewhere they are left to the error control, and where they are too many to resolve, steps are kept above a floor that goes to
zero with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array, Indices
from ...events import Events
from ...problem import Problem
from ..field import Motion
from ..field.common_patterns import CommonPatterns
from ..field.two_layer_kernels import neuron_sizes, restore_balance, square_length
from ..kinks.decisions import Decisions
from ..kinks.impulses import Impulses, Missed
from ..kinks.slides import Path, Slides
from ..state import Start, flatten, layers_of, neurons_of, unflatten
from ..steppers.chebyshev import StabilisedStepper
from ..steppers.dense_output import DenseOutput
from ..tolerances import TINY
from .engine import Engine, States

if TYPE_CHECKING:
    from ..steppers.dormand_prince import ExplicitStepper

COARSEST_FLOOR = 0.01  # of the time in which the weights change by their own size
STALLED = 1e-9  # a step this much below the floor gets nowhere
STIFF = 3.0  # h |lambda| from which the stability of order 8, not its accuracy, limits a step
PATIENCE = 12  # such steps in a row before stabilised ones are tried; doubled each time they did not pay
WEARY = 6  # stabilised steps in a row that do not pay
NEARLY = 0.99  # of the way to a kink: it may come sooner than its height and speed say
UNSEEN = 0.1  # rtol: crossings that change neurons by less in a step may be forgotten
# rtol: those that change them by more are made good, if neurons share few patterns. Most of the change is right where they are not: on
# four problems of mirrored data no saved state was off by more than 15 rtol, by 24 with three times as much.
UNLOCATED = 100.0
OVER_KINKS = 0.03  # of what crossings change that are left to the error control: 0.003 to 0.1 were seen
LEFT_OUT = 2.0  # rtol: of what crossings change, the part that may not be made good
LONGER = 5.0  # at most by this factor may a step then be longer than the last
MOST_PATTERNS = 12  # beyond, a field of frozen patterns costs more than the plain one
FEWER_CARRIERS = 0.2  # of neurons: so few carriers cost less to move than they do, kinks apart
STANDING = 1e-9  # of the step: what is no progress
MOST_STANDING = 100  # events without progress after which kinks are no longer located
MOST_REFUSED_IN_ROW = 5  # stabilised steps refused in a row: kinks are for the other stepper


class SmoothEngine:
    """The flat weights and the integral of |grad L|^2, moved by `ExplicitStepper`.

    Errors are held to each neuron's own size for two layers, to each layer's for more: the flow of a neuron is linear in its own
    weights, so that is what keeps a neuron of size 1e-8 as exact as one of size 1.
    """

    name = "smooth"

    def __init__(
        self, problem: Problem, field: Motion, rtol: float, decisions: Decisions | None = None, start: Start | None = None,
        stand_in: Callable[[Start], Engine] | None = None, most_error: float = np.inf,
    ) -> None:  # fmt: skip
        """`stand_in` makes the engine that goes on where events leave no time between them, as near w = 0, or where the errors of all
        steps, most of them at kinks that are not located, add up to more than `most_error` tolerances."""
        self.problem, self.field, self.decisions, self.stand_in = problem, field, decisions, stand_in
        self.most_error = most_error * rtol
        self.shapes = problem.network.shapes
        self.objective = 0.0
        self.slides: Slides | None = None
        self._frozen: CommonPatterns | None = None  # the field while kinks are located
        self._between_kinks = self._merely_cheaper = False  # the last step crossed none that count; why patterns are frozen
        self._standing = 0  # events in a row that come at once
        self._over_kinks = 0.0  # tolerances that the last step is off by for crossings left to the error control
        weights, t, energy = problem.weights, 0.0, 0.0
        if decisions is not None and start is not None:
            self.slides = Slides(problem, decisions, start) if problem.network.alpha < 1.0 else None
            weights, t, energy = layers_of(start.theta), start.t, start.energy
        self.floor_share = min(COARSEST_FLOOR, rtol ** (1 / 3))
        self.rtol = rtol
        self.stepper: ExplicitStepper | StabilisedStepper
        self.stepper = self._of_order_8(np.append(flatten(weights), energy), t)
        self._past = {"rejected": 0, "gradients": 0, "kinks stepped over": 0}  # of steppers used before
        self._in_row, self._patience = 0, PATIENCE  # steps that asked for the other stepper; how many it takes
        self.stabilised = 0
        self.balance: Array | None = None
        if len(self.shapes) == 2 and all(problem.network.trainable_layers):
            self.balance = np.sum(problem.weights[0] ** 2, axis=1) - problem.weights[1][0] ** 2
        self.steps = 0
        self.estimated_error = 0.0
        self._cut: float | None = None  # where the step ends before its end, for an event or not
        self._event: float | None = None
        self._impulses: Impulses | None = None  # of the kinks crossed in it, where they are made good
        self._missed: Missed  # by them at its end
        self._dense: DenseOutput | None = None  # of the step just made, once something within it is asked for

    @property
    def t(self) -> float:
        return self.stepper.t

    @property
    def step_end(self) -> float:
        return self._cut if self._cut is not None else self.stepper.t_old + self.stepper.h

    def _rhs(self, y: Array, out: Array) -> None:
        velocity = out[:-1]
        if self._frozen is not None:
            self.objective, out[-1] = self._frozen.velocity(y[:-1], velocity)
            return
        with np.errstate(over="ignore", invalid="ignore"):  # a stage too far out: the step will be refused
            self.objective = self.field.velocity(y[:-1], velocity)
            if self.slides is not None:
                self.slides.project(unflatten(velocity, self.shapes)[0])
            out[-1] = square_length(velocity)

    def _size(self, old: Array, new: Array) -> Array:
        """What each component's error is compared with; the energy integral is carried along uncontrolled."""
        sizes = np.full(len(old), np.inf)
        if self._frozen is not None:
            sizes[:-1] = self._frozen.sizes(old[:-1], new[:-1], room=1)
        elif len(self.shapes) == 2:
            neuron_sizes(old, new, *self.shapes[0], sizes)
        else:
            squares = np.maximum(old[:-1] ** 2, new[:-1] ** 2)
            for size, square in zip(unflatten(sizes[:-1], self.shapes), unflatten(squares, self.shapes), strict=True):
                size[:] = np.sqrt(max(square.mean(), TINY))
        return sizes

    def _floor(self) -> float:
        speed = np.sqrt(square_length(self.stepper.slopes[0][:-1]))
        return float(self.floor_share * np.sqrt(square_length(self.stepper.y[:-1])) / max(speed, TINY))

    @property
    def chattering(self) -> bool:
        """Whether steps have become too small to get anywhere."""
        return self.stepper.step_size < STALLED * self._floor()

    def attempt(self, t_end: float) -> bool:
        self.steps += 1
        self._cut = self._event = self._dense = self._impulses = None
        if self._between_kinks and self.slides is not None and self._freeze(self._neurons(self.t), cheaper=True):
            self._restart(self.t, self.stepper.y)
            self._between_kinks, self._merely_cheaper = False, True
        if not self.stepper.step(t_end):
            self._approach()
            if isinstance(self.stepper, StabilisedStepper) and self.stepper.refused >= MOST_REFUSED_IN_ROW:
                self._change_stepper()
            return False
        self._end_objective = self.objective
        if self.slides is not None:
            start, end = self.t, self.step_end
            path = Path(self._neurons, self._neuron)
            effect = self.slides.look(path, start, end, self._frozen is not None) / self.rtol
            if not self._suits(effect):
                return False
            velocity = self._lifted(self.stepper.end_slope)[:, :-1]
            self._event = self._cut = self.slides.first_event(path, velocity, start, end)
            if self._frozen is not None and effect > UNSEEN:
                self._impulses = self.slides.impulses(self._frozen, path, start, end)
                self._keep_impulses_exact(self._impulses)
        return True

    def _suits(self, effect: float) -> bool:
        """Whether the field suits a step in which crossings change neurons by so many tolerances; if not, it is changed."""
        frozen, start = self._frozen is not None, self.t
        if frozen and self._merely_cheaper and UNSEEN < effect <= UNLOCATED:
            y = self._flat(self.stepper.y)
            self._frozen = None
        elif not frozen and effect > UNLOCATED and self._freeze(self._neurons(start)):
            y = self.stepper.y
        else:
            self._merely_cheaper &= effect <= UNLOCATED
            self._over_kinks = 0.0 if frozen else OVER_KINKS * min(effect, UNLOCATED)
            self._between_kinks = not frozen and effect <= UNSEEN
            return True
        self._restart(start, y)
        self.stepper.step_size = self.stepper.h
        self._between_kinks = self._merely_cheaper = False
        return False

    def _keep_impulses_exact(self, impulses: Impulses) -> None:
        """End the step where what crossings change is no longer made good to the tolerance."""
        start, end = self.t, self.step_end
        while True:
            theta = self._neurons(end)
            self._missed = impulses.by(end, theta)
            left = impulses.left_out(end, theta, self._missed) / (LEFT_OUT * self.rtol)
            longer = min(NEARLY * left ** (-1 / 4), LONGER) if left > 0.0 else LONGER
            if left <= 1.0:
                break
            end = self._cut = max(start + longer * (end - start), float(np.nextafter(start + impulses.time.min(), np.inf)))
        self.stepper.step_size = min(self.stepper.step_size, longer * (end - start))

    def _freeze(self, theta: Array, cheaper: bool = False) -> bool:
        """Move in a field that is smooth across kinks if neurons theta (h, inputs + 1) share a few patterns, or that is `cheaper`."""
        assert self.slides is not None
        most = min(MOST_PATTERNS, int(FEWER_CARRIERS * len(theta)) // theta.shape[1]) if cheaper else MOST_PATTERNS
        self._frozen, common, kinks = None, self._common_patterns(most), self.slides.kinks
        if common is not None:
            self._frozen = CommonPatterns(self.problem, theta, *common, kinks.normals, kinks.line, kinks.lengths)
        return self._frozen is not None

    def _common_patterns(self, most: int = MOST_PATTERNS) -> tuple[Indices, Array] | None:
        """Which of a few patterns each neuron has, and their slopes at the samples, where kinks are just crossed."""
        assert self.slides is not None
        free = not self.slides.bases and self._standing <= MOST_STANDING
        common = self.slides.common_patterns(most) if free and most else None
        return None if common is None else (common[0], self.slides.kinks.slopes(common[1]))

    def _approach(self) -> None:
        """A step was refused: if a neuron was to be caught by a kink within it, go to that kink, or hold the neuron if it is there."""
        if self.slides is None or self._frozen is not None:
            return
        theta, velocity = self._neurons(self.t), unflatten(self.stepper.slopes[0][:-1], self.shapes)[0]
        held = False
        for _ in range(len(theta)):  # neurons at one place are caught together
            caught = self.slides.next_catch(theta, velocity, self.stepper.tried)
            if caught is None or caught[1] > self.rtol:
                break
            theta, held = self.slides.apply(theta, self.t), True
        if held:
            self.stepper.restart(self.t, np.append(flatten(layers_of(theta)), self.stepper.y[-1]))
        elif caught is not None:
            self.stepper.step_size = NEARLY * caught[0]

    def _restart(self, t: float, y: Array) -> None:
        """Go on from flat weights and the energy integral at time t, in terms of carriers where patterns are frozen."""
        if self._frozen is not None:
            y = np.append(self._frozen.start, y[-1])
        self.stepper.restart(t, y)

    def _neurons(self, t: float | Array) -> Array:
        """Neurons (..., h, inputs + 1) at a time within the step just made, or at rising times."""
        return self._lifted(self._at(t) if isinstance(t, float) else self._between(t))

    def _neuron(self, t: float, h: int) -> Array:
        """One of them (inputs + 1,)."""
        y = self._at(t)[:-1]
        return neurons_of(unflatten(y, self.shapes))[h] if self._frozen is None else self._frozen.neuron(y, h)

    def _lifted(self, y: Array) -> Array:
        """Neurons (..., h, inputs + 1) of states, or their velocities of slopes, (..., size) of the stepper."""
        y = y[..., :-1]
        return neurons_of(unflatten(y, self.shapes)) if self._frozen is None else self._frozen.neurons(y)

    def _flat(self, y: Array) -> Array:
        """Flat weights and the energy integral of states of the stepper."""
        if self._frozen is None:
            return y
        return np.concatenate([flatten(layers_of(self._frozen.neurons(y[..., :-1]))), y[..., -1:]], axis=-1)

    def _at(self, t: float) -> Array:
        if t == self.t:
            return self.stepper.y
        if t == self.stepper.t_old + self.stepper.h:
            return self.stepper.y_new
        return self._within(t)

    def _within(self, t: float) -> Array:
        """The state at a time within the step, to find events by."""
        return self._between(np.array([t]))[0]

    def _between(self, times: Array) -> Array:
        return self._dense_output().at(times)

    def _dense_output(self) -> DenseOutput:
        if self._dense is None:
            self._dense = self.stepper.dense()
        return self._dense

    def states(self, times: Array) -> States:
        t = float(times[0])
        at_an_end = len(times) == 1 and (t == self.t or t == self.stepper.t_old + self.stepper.h)
        y = self._at(t)[None].copy() if at_an_end else self._between(times)
        if self._frozen is not None:
            y = self._made_good(y, times)
        self._restore_balance(y, times)
        return States(y[:, :-1], y[:, -1], self.estimated_error)

    def _made_good(self, y: Array, times: Array) -> Array:
        """Flat weights and the energy integral at times, of states in frozen patterns, with what crossings within the step change."""
        theta, energy = self._lifted(y), y[:, -1:].copy()
        if self._impulses is not None:
            for k, t in enumerate(times.tolist()):
                missed = self._impulses.by(t, theta[k]) if t < self.step_end else self._missed
                theta[k] += missed.first
                theta[k] += missed.second
                energy[k] += missed.energy
        flat = np.empty((len(times), theta[0].size + 1))
        for layer, part in zip(unflatten(flat[:, :-1], self.shapes), layers_of(theta), strict=True):
            layer[:] = part
        flat[:, -1:] = energy
        return flat

    def _restore_balance(self, y: Array, times: Array) -> None:
        """Put |w_h|^2 - a_h^2 of every neuron back to what the flow conserves: a correction of the size of the step's error."""
        if self.balance is not None:
            restore_balance(y, self.shapes[0][1], np.exp(-2.0 * self.problem.l2 * times)[:, None] * self.balance)

    def commit(self) -> tuple[float, float]:
        if self._cut is None and self._impulses is None:
            change = self._wants_change()
            self.estimated_error += (self.stepper.error + self._over_kinks) * self.rtol
            self.stepper.accept()
            self.objective = self._end_objective  # looks into the step came after
            passed = self.slides is not None and self.slides.pass_all()
            if self._frozen is None:
                self._restore_balance(self.stepper.y[None], np.array([self.t]))
            else:
                self._renew(passed)
            if change:
                self._change_stepper()
        else:
            self._go_on_from(self.step_end)
        l2 = self.problem.l2
        penalty = l2 * self.problem.network.penalty(unflatten(self._flat(self.stepper.y)[:-1], self.shapes)) if l2 else 0.0
        return float(np.sqrt(self.stepper.slopes[0][-1])), self.objective - penalty

    def _go_on_from(self, t: float) -> None:
        """Begin anew at a time within the step just made, where kinks were crossed or neurons caught or let go."""
        y = self._at(t)
        if self._frozen is not None:
            y = self._made_good(y[None], np.array([t]))[0]
        if self._event is not None and self._event == t:
            y = np.append(self._after_event(y, t), y[-1])
        elif self.slides is not None and self._impulses is not None:
            self.slides.cross(self._impulses, t)
        self._standing = self._standing + 1 if t - self.t <= STANDING * self.stepper.h else 0
        if self._frozen is not None:
            self._restore_balance(y[None], np.array([t]))
            self._freeze(neurons_of(unflatten(y[:-1], self.shapes)))
        self._restart(t, y)
        self._cut = self._impulses = None

    def _renew(self, passed: bool) -> None:
        """After a step in frozen patterns: other patterns or carriers, if neurons have passed kinks or outgrown them."""
        assert self._frozen is not None
        assert self.slides is not None
        outgrown = self._frozen.outgrown(self._neurons(self.t))
        common = self._common_patterns() if passed and not outgrown else None
        if common is not None and self._frozen.follow(*common):
            self.stepper.restart(self.t, self.stepper.y)
        elif passed or outgrown:
            y = self._flat(self.stepper.y)
            self._restore_balance(y[None], np.array([self.t]))
            self._freeze(neurons_of(unflatten(y[:-1], self.shapes)))
            self._restart(self.t, y)

    def _after_event(self, y: Array, t: float) -> Array:
        """The flat weights with which the run goes on from an event at time t."""
        assert self.slides is not None
        return flatten(layers_of(self.slides.apply(neurons_of(unflatten(y[:-1], self.shapes)), t)))

    def _wants_change(self) -> bool:
        """Whether the other stepper would go further: stability has limited order 8 for some time, or no longer would."""
        if isinstance(self.stepper, StabilisedStepper):
            self.stabilised += 1
            wants = self.stepper.gain < 1.0
        else:
            wants = self.stepper.stiffness > STIFF
        self._in_row = self._in_row + 1 if wants else 0
        return self._in_row >= (WEARY if isinstance(self.stepper, StabilisedStepper) else self._patience)

    def _of_order_8(self, y: Array, t: float) -> ExplicitStepper:
        from ..steppers.dormand_prince import ExplicitStepper  # with coefficients of SciPy's, which take long to import

        return ExplicitStepper(self._rhs, y, t, self.rtol, self._size, self._floor)

    def _change_stepper(self) -> None:
        old, self._past = self.stepper, self._counts()
        if isinstance(old, StabilisedStepper):
            self.stepper = self._of_order_8(old.y, old.t)
            self._patience *= 2
        else:
            self.stepper = StabilisedStepper(self._rhs, old.y, old.t, self.rtol, self._size, old.h)
        self._in_row = 0

    def _counts(self) -> dict[str, int]:
        stepper = self.stepper
        now = {"rejected": stepper.rejected, "gradients": stepper.evaluations, "kinks stepped over": stepper.unresolved}
        return {name: count + self._past[name] for name, count in now.items()}

    def successor(self) -> Engine | None:
        lost = self._frozen is None and self._standing > MOST_STANDING
        if not (lost or self.estimated_error > self.most_error) or self.stand_in is None or self.slides is None:
            return None
        theta = neurons_of(unflatten(self._flat(self.stepper.y)[:-1], self.shapes))
        return self.stand_in(Start(self.t, theta, self.slides.signs, float(self.stepper.y[-1]), self.estimated_error))

    def events(self) -> Events | None:
        return None if self.decisions is None else self.decisions.events()

    def group_counts(self) -> None:
        return None

    def statistics(self) -> dict[str, int]:
        counts = {"steps": self.steps} | self._counts() | {"stabilised": self.stabilised}
        return {name: count for name, count in counts.items() if count or name not in ("kinks stepped over", "stabilised")}
