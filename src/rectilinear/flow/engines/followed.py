"""Ordinary data: every neuron is followed by itself through a whole step, then the pulls are brought into agreement.

Given the pulls r_i(t) of the samples over a step, neurons do not interact. So a step
1. guesses the pulls, as polynomials (steppers/legendre_curves.py);
2. follows every neuron by itself, exactly, through its own crossings and holds (neuron_path.py): an event costs microseconds;
3. takes the exact moments of the outputs from the neurons' paths, and from them new pulls;
4. goes on with 2 until the weights no longer change (waveform relaxation, accelerated by steppers/mixing.py). Where that is slow
   because outputs react strongly, the leading directions of the tangent kernel are solved for (steppers/stiff_directions.py).

Projected pulls make a step like that of Gauss' methods: what relaxes fast within it is not damped. So where directions are stiff the
last coefficient of the pulls is chosen such that they are met at the end of the step, as by Radau's methods, and transients die.

The error of a step is what projected pulls miss at its end, delta r = r(W) - (projected r), as a drive over the step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays import Array
from ...errors import FlowError
from ...events import Events, Kind
from ...problem import Problem
from ..field.sample_lines import SampleLines
from ..kinks.decisions import Decisions
from ..kinks.origin import count_exits
from ..kinks.single_neuron import free_drives
from ..state import Start as FirstStart
from ..state import flatten, root_mean_square
from ..steppers.legendre_curves import LegendreCurves
from ..steppers.mixing import Mixing
from ..steppers.step_size import restrained
from ..steppers.stiff_directions import StiffDirections
from .alternative import Alternative
from .carried_errors import KRYLOV, CarriedErrors, Present
from .engine import Engine, States
from .event_log import EventLog
from .followed_paths import FollowedPaths
from .fork_twins import ONLY_TELL, TIGHTER, ForkRule, ForkTold, ForkTwins
from .neuron_path import Start
from .sleeping_neurons import SleepingNeurons
from .swept_step import Next, Swept

AGREED = 0.2  # of the tolerance, that a further sweep would still change the weights by
MOST_PULL_SWEEPS = 12
SLOW_SWEEPS = 0.7  # contraction by a sweep that is not worth going on
STIFF_SWEEPS = 4  # beyond so many sweeps more directions are solved for
FAR_OFF = 0.15  # change of the weights by the first sweep that shows the step to be too long
AIMED_CHANGE = 0.03  # the same for a step as long as it should be
SWEEP_SAFETY, SWEEP_SHRINK, SWEEP_GROW, ERROR_ORDER = 0.9, 0.2, 2.0, 3.0
REFUSED = 1.5  # errors over the tolerance
AT_FORKS = 0.4  # of a step that forks are met in is tried next
FIRST_TURN = 0.1  # the same as below for the first step
STRONGEST_TURN = 3.0  # step times the strongest drive: neurons grow by less than its exponential
PULL_DEFECT_SHARE = 0.2  # how much of the pulls' defect at the end acts over the step
NEAR_STEP_ENDS = 1e-5  # shares of a step at its ends within which waking need not be landed on
# What weights are estimated to be off by: what is left where sweeps agree, in tolerances, and times the largest error carried along.
AGREED_ERROR, CARRIED_ERROR = 0.2, 10.0
SHORTEST = 1e-13  # steps over the time reached


class FollowedNeurons:
    """The engine; `times` are those at which states will be asked for, `all_events` whether every single crossing is.

    The `alternative` goes on where pulls and paths do not come to agree in the shortest of steps, or where it is the cheaper one.
    `forks` says up to when the tolerance is smaller.
    """

    name = "followed neurons"
    chattering = False

    def __init__(
        self,
        problem: Problem,
        rtol: float,
        decisions: Decisions,
        start: FirstStart,
        times: Array,
        all_events: bool = False,
        alternative: Alternative | None = None,
        forks: ForkRule = ONLY_TELL,
    ) -> None:
        self.problem, self.asked, self.decisions, self.times, self.forks = problem, rtol, decisions, times, forks
        self.alternative, self.gives_up = alternative, False
        self.lines = SampleLines(problem)
        self.sleeping = SleepingNeurons(decisions.kinks, self.lines, problem.network.trainable_layers[0])
        self.twins = ForkTwins(problem, self.lines, len(start.theta))
        self._aim_at(rtol / TIGHTER if forks.tight_until else rtol)
        self.t, self.energy, self.estimated_error = start.t, start.energy, AGREED_ERROR * rtol
        self.w, self.a = self.lines.into(start.theta[:, :-1]), start.theta[:, -1].copy()
        self.carried = CarriedErrors(problem, self.lines, self.w, self.a, start.off)
        self.signs = start.signs.copy()
        self.heights = np.empty(self.signs.shape, dtype=np.float32)
        self.f = self.lines.outputs(self.w, self.a, self.heights)
        self.pulls = self._pull(self.f)
        self.gaps = np.full(len(self.a), 0.1)
        self.before: tuple[Array, float] | None = None
        self.refused, self.last_error = False, np.inf
        self.landing_from = 0.0  # the length of a step that is cut at a waking: the next one may be as long
        self.wakes = True  # whether neurons at w = 0 may leave it at the end of the step
        self.stiff = StiffDirections(self.lines.samples)
        self.counts = {"steps": 0, "rejected": 0, "sweeps": 0, "gradients": 0, "pieces": 0}
        self.log = EventLog(len(self.a), all_events)
        self.step: Swept | None = None
        self.h = FIRST_TURN / max(self._measure_drive(), np.finfo(float).tiny)

    # what the run asks for

    @property
    def step_end(self) -> float:
        return self.t if self.step is None else self.t + self.step.h

    def attempt(self, t_end: float) -> bool:
        h = min(self.h, t_end - self.t)
        if self.t + 1.2 * h >= t_end:
            h = t_end - self.t
        self.step = None
        step = self._sweep(h)
        if step is None:
            self.counts["rejected"] += 1
            self.h = 0.5 * h
            self.gives_up = self.h <= SHORTEST * self.t  # at the start any step is long enough, as losses may be of any size
            if self.gives_up and self.alternative is None:
                raise FlowError(f"no step could be made at t = {self.t:g}; loosen rtol, or use method='kinks'.")
            return False
        heights = np.empty_like(self.heights)
        f = self.lines.outputs(step.end.w, step.end.a, heights)
        pulls = self._pull(f)
        moved, errors = self._errors(step, pulls)
        error = max(root_mean_square(errors), 1e-300)
        order = self.curves.degree + 2 if error < self.rtol else ERROR_ORDER
        growth = SWEEP_SAFETY * (self.rtol / error) ** (1.0 / order)
        if self.before is not None:
            growth = restrained(growth, error / self.last_error, h / self.before[1], order)
        growth = min(growth, (AIMED_CHANGE / max(step.first_change, 1e-300)) ** (1.0 / ERROR_ORDER), SWEEP_GROW)
        too_long = error > REFUSED * self.rtol
        if not too_long and self._wakes_within(step):
            return False
        if too_long or self._parts_ways(step, errors):
            self.counts["rejected"] += 1
            self.h, self.refused = h * (max(SWEEP_SHRINK, min(growth, 0.8)) if too_long else AT_FORKS), True
            return False
        if step.sweeps > STIFF_SWEEPS:
            self.stiff.add()
        if self.refused or step.sweeps > STIFF_SWEEPS:
            growth = min(growth, 1.0)
        self.refused, self.last_error = False, error
        onwards, self.landing_from = max(h * max(SWEEP_SHRINK, growth), self.landing_from), 0.0
        self.step, self.next = step, Next(onwards, heights, f, pulls, moved)
        return True

    def states(self, times: Array) -> States:
        step = self.step
        if step is None or not len(times) or not len(step.saved):  # the last: a run that was interrupted
            return States(self._flat(self.w[None], self.a[None]), np.full(len(times), self.energy), self.estimated_error)
        rows = np.searchsorted(self.t + step.saved * step.h, times * (1.0 - 1e-14))
        rows = np.minimum(rows, len(step.saved) - 1)
        w, a = step.end.saved_w.transpose(1, 0, 2)[rows], step.end.saved_a.T[rows]
        energies = self.energy + self._energies(step, step.saved[rows], w, a)
        return States(self._flat(w, a), energies, self.estimated_error)

    def commit(self) -> tuple[float, float]:
        step = self.step
        assert step is not None
        end = step.end
        self.energy += float(self._energies(step, np.ones(1), end.w[None], end.a[None])[0])
        self._carry_errors(step)
        self._keep_events(step)
        self.before = (step.pulls, step.h)
        self.t += step.h
        self.w, self.a, self.signs = end.w, end.a, end.signs
        h, self.heights, self.f, self.pulls = self.next.h, self.next.heights, self.next.f, self.next.pulls
        if self.wakes:
            self._wake(self.pulls)
        self.gaps *= step.h / h
        strongest = self._measure_drive()
        self.h = min(h, STRONGEST_TURN / max(strongest, 1e-300))
        self.counts["steps"] += 1
        if self.alternative is not None:
            self.gives_up = self.alternative.is_due(self.counts, self.log.happened, 2.0 * self.lines.samples * self.w.size)
        self.step = None
        if self.rtol < self.asked and self.t - step.h >= self.forks.tight_until and not len(self.twins):
            self._aim_at(self.asked)
        return self.speed, float(np.mean(self.problem.loss.value(self.problem.y, self.f)))

    def successor(self) -> Engine | None:
        if not self.gives_up or self.alternative is None:
            return None
        self.decisions.note_events(self.log.events())
        theta = np.column_stack([self.lines.back(self.w), self.a])
        return self.alternative.engine(FirstStart(self.t, theta, self.signs, self.energy))

    def statistics(self) -> dict[str, int]:
        return {name: int(count) for name, count in self.counts.items()}

    def group_counts(self) -> Array | None:
        return None

    def events(self) -> Events:
        """Those listed, with those of the start and the early phase."""
        return self.decisions.events().followed_by(self.log.events(), 0.0)

    # a step

    def _sweep(self, h: float) -> Swept | None:
        """Bring pulls and paths over a step of length h into agreement; None if they do not come to agree.

        Further sweeps change a step's error little, so one that is too long already after the first is returned as it is.
        """
        curves, lines = self.curves, self.lines
        paths = FollowedPaths(self.problem, lines, curves, self.rtol, self._start(), h, self._saved(h))
        end = paths.end
        solver = self._solver(h)
        pulls = self._guess(h, solver)
        drives = h * lines.drives(self.signs, pulls)
        mixing = Mixing()
        change, first_change = np.inf, np.inf
        for sweep in range(MOST_PULL_SWEEPS):
            arrived = paths.follow_changed(drives, pulls)
            self.counts["pieces"], paths.pieces = self.counts["pieces"] + paths.pieces, 0
            if not arrived:
                return None
            outputs = paths.outputs()
            if self.problem.loss.code == 0:
                new = -outputs
                new[:, 0] += self.problem.y
            else:
                at_nodes = self._pull(outputs @ curves.at_nodes)
                if not np.isfinite(at_nodes).all():  # extrapolated so far that losses overflow
                    return None
                new = curves.project(at_nodes)
            projected = new.sum(axis=1)
            if solver is not None:  # the end is met
                new[:, -1] += self._pull(lines.outputs(end.w, end.a)) - projected
            found = new - pulls if solver is None else solver(new - pulls)
            drive_change = h * lines.drives(self.signs, found)
            before, change = change, root_mean_square(np.sqrt((drive_change**2 / curves.norms[:, None]).sum(axis=(1, 2))))
            self.counts["sweeps"] += 1
            self.counts["gradients"] += curves.degree + 1
            if sweep == 0:
                first_change = change
            step = Swept(
                h, pulls + found, projected, outputs, end, paths.happened, paths.saved, sweep + 1, first_change, change
            )
            if change <= AGREED * self.rtol or (sweep == 0 and self._is_too_long(step)):
                return step
            if not change <= FAR_OFF or (sweep > 1 and change > SLOW_SWEEPS * before):
                return None
            found, drive_change = mixing.corrected((pulls, drives), (found, drive_change))
            pulls, drives = pulls + found, drives + drive_change
        return None

    def _start(self) -> Start:
        return Start(self.w, self.a, self.signs, self.heights, self.gaps, self.twins.suspects())

    def _parts_ways(self, step: Swept, errors: Array) -> bool:
        """Whether a neuron may pass a fork within a step by so little that the `errors` (neurons,) of the step decide its way."""
        return self.twins.follow(self._start(), step, errors, self.t, self.times[-1])

    def _saved(self, h: float) -> Array:
        """The asked times within a step of length h, as shares of it."""
        inside = self.times[(self.times > self.t) & (self.times <= self.t + h * (1.0 + 1e-14))]
        return np.minimum((inside - self.t) / h, 1.0)

    def _guess(self, h: float, solver: Callable[[Array], Array] | None) -> Array:
        """The pulls over the next step: the last step's, gone on with from where they have come to."""
        curves = self.curves
        constant = np.eye(1, curves.degree + 1)[0]
        if self.before is None:
            return np.outer(self.pulls, constant)
        old, length = self.before
        keep = min(curves.degree, 2) + 1
        values = old[:, :keep] @ curves.at(1.0 + h / length * curves.nodes)[:keep]
        apart = np.outer(self.pulls - old[:, :keep].sum(axis=1), constant)
        return curves.project(values) + (apart if solver is None else solver(apart))

    def _is_too_long(self, step: Swept) -> bool:
        """Whether a step is going to be refused for its error."""
        pulls = self._pull(self.lines.outputs(step.end.w, step.end.a))
        return root_mean_square(self._errors(step, pulls)[1]) > REFUSED * self.rtol

    def _carry_errors(self, step: Swept) -> None:
        """Estimate what the weights at the end of the step are off by."""
        begin = Present(self.w, self.a, self.signs, self.f, self.pulls)
        self.carried.carry(begin, step.end, step.h, np.concatenate(step.happened), self.next.moved, self.rtol)
        self.counts["gradients"] += KRYLOV
        self.estimated_error = AGREED_ERROR * self.rtol + CARRIED_ERROR * self.carried.over_largest(step.end.w, step.end.a)

    def _errors(self, step: Swept, pulls: Array) -> tuple[Array, Array]:
        """What the defect of the pulls at the step's end does to the weights (neurons, inputs + 1), and how large that is for each neuron
        (neurons,), over its size."""
        end = step.end
        defect = pulls - step.projected
        if self.stiff:
            defect = self.stiff.relaxed(defect, step.h)
        drive = self.lines.drives(end.signs, defect[:, None])[:, 0]
        self.counts["gradients"] += 1
        sizes = np.maximum((self.w**2).sum(axis=1) + self.a**2, (end.w**2).sum(axis=1) + end.a**2) + 1e-300
        moved = np.column_stack([end.a[:, None] * drive, (end.w * drive).sum(axis=1)]) * (PULL_DEFECT_SHARE * step.h)
        return moved, np.sqrt((moved**2).sum(axis=1) / sizes)

    def _solver(self, h: float) -> Callable[[Array], Array] | None:
        """What solves for the stiff directions, if sweeps alone are slow."""
        if not self.stiff:
            return None
        curvature = np.asarray(self.problem.loss.curvature(self.problem.y, self.f))
        self.counts["gradients"] += self.stiff.find(self._kernel, curvature)
        return self.stiff.solver(h, self.curves.damped_integration)

    def _kernel(self, block: Array) -> Array:
        """The tangent kernel times a block (samples, m) of pulls; held neurons move along their kinks."""
        drives = self.lines.drives(self.signs, block)
        free_drives(self.signs, self.lines.normals, drives)
        return self.lines.outputs_of(self.signs, self._products_moved(drives))

    def _products_moved(self, drives: Array) -> Array:
        """How fast a w of each neuron moves under drives (neurons, k, inputs)."""
        first, second = self.problem.network.trainable_layers
        along = np.einsum("hkd,hd->hk", drives, self.w)
        return first * (self.a**2)[:, None, None] * drives + second * along[:, :, None] * self.w[:, None, :]

    # odds and ends of the state

    def _aim_at(self, rtol: float) -> None:
        """Go on with this tolerance."""
        self.rtol = rtol
        self.curves = LegendreCurves(3 if rtol >= 1e-3 else 4 if rtol > 3e-5 else 5 if rtol > 3e-8 else 6)
        self.twins.aim_at(self.curves, rtol)

    def _pull(self, f: Array) -> Array:
        y = self.problem.y if f.ndim == 1 else self.problem.y[:, None]
        return np.asarray(self.problem.loss.pull(y, f))

    def _measure_drive(self) -> float:
        """The strongest drive of any neuron along the kinks that hold it; the speed of the weights is noted."""
        drives = self.lines.drives(self.signs, self.pulls[:, None])
        self.counts["gradients"] += 1
        free_drives(self.signs, self.lines.normals, drives)
        strongest = float(np.sqrt((drives**2).sum(axis=2).max()))
        drive = drives[:, 0]
        first, second = (float(trains) for trains in self.problem.network.trainable_layers)
        l2 = self.problem.l2
        dw = first * (self.a[:, None] * drive - l2 * self.w)
        da = second * ((self.w * drive).sum(axis=1) - l2 * self.a)
        self.speed = float(np.sqrt((dw**2).sum() + (da**2).sum()))
        return strongest

    def _flat(self, w: Array, a: Array) -> Array:
        """Flat weights (t, size) from w (t, neurons, inputs) and a (t, neurons)."""
        return flatten((self.lines.back(w), a[:, None, :]))

    def _energies(self, step: Swept, tau: Array, w: Array, a: Array) -> Array:
        """The integral of |grad L|^2 from the step's start to each tau.

        |dW/dt|^2 = (1/P) sum_i r_i df_i/dt - (l2/2) d|W|^2/dt; by parts, with the moments of f, no derivative of f is needed.
        """
        outputs = np.array([self.lines.outputs(w[k], a[k]) for k in range(len(tau))])
        ends = (outputs * (step.pulls @ self.curves.at(tau)).T).sum(axis=1)
        begin = float(self.f @ (step.pulls @ self.curves.at(np.zeros(1)))[:, 0])
        inside = self.curves.products(step.pulls, step.outputs, tau)
        found = (ends - begin - inside) / self.lines.samples
        if self.problem.l2:
            first, second = self.problem.network.trainable_layers
            grown = first * ((w**2).sum(axis=(1, 2)) - (self.w**2).sum()) + second * ((a**2).sum(axis=1) - (self.a**2).sum())
            found -= 0.5 * self.problem.l2 * grown
        return np.asarray(found)

    def _wakes_within(self, step: Swept) -> bool:
        """Whether a neuron at w = 0 would wake within the step: then it does so now, or the next attempt ends there."""

        def pulls_at(tau: float) -> Array:
            return np.asarray(step.pulls @ self.curves.at(np.array([tau]))[:, 0])

        fell = [rows[-1, 1] if len(rows) else 0.0 for rows in step.happened]  # asleep, as the last that happened to them
        since = np.where((self.signs == 0).all(axis=1), 0.0, fell)
        waking = self.sleeping.first_waking(since, self.a, step.end.signs, pulls_at)
        self.wakes = waking < np.inf or bool(self.sleeping.ways)  # a way that is known tells better than an ascent
        if waking <= NEAR_STEP_ENDS and self._wake(pulls_at(waking)):
            return True
        lands = NEAR_STEP_ENDS < waking < 1.0 - NEAR_STEP_ENDS
        if lands:
            self.h, self.landing_from = waking * (1.0 + 0.5 * NEAR_STEP_ENDS) * step.h, step.h
        return lands

    def _wake(self, pulls: Array) -> bool:
        """Let neurons at w = 0 leave, if these pulls drive them away; whether there were any."""
        woken = self.sleeping.leave(self.w, self.a, self.signs, self.heights, pulls)
        if woken.size:
            share = self.decisions.share_woken
            self.log.add(np.array([[h, self.t, -1, Kind.ORIGIN, 0.0, 0.0, share] for h in woken]))
        return bool(woken.size)

    def _keep_events(self, step: Swept) -> None:
        every = np.concatenate(step.happened)[:, :7]
        rows = every[every[:, 3] <= max(Kind)]
        passed = rows[:, 3] == Kind.ORIGIN
        for sign in np.unique(np.sign(step.end.a[rows[passed, 0].astype(np.intp)])):  # pulls change little within a step
            ways = count_exits(self.decisions.kinks, float(sign), self.next.pulls / self.lines.samples)
            alike = passed & (np.sign(step.end.a[rows[:, 0].astype(np.intp)]) == sign)
            rows[alike, 6] = 1.0 / (max(ways, 1) + self.decisions.kinks.dead_cone)
        rows[:, 1] = self.t + rows[:, 1] * step.h
        rows[:, 4:6] /= step.h
        told = self.twins.commit(self.carried.over_sizes(step.end.w, step.end.a))
        later = self.forks.later(told[:, 1])
        if len(later) and self.forks.stops:
            raise ForkTold(float(later.max()), self.counts)
        self.log.add(np.concatenate([rows, told]))
