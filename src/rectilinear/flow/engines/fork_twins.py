"""Neurons that may have passed a fork of the flow by less than they are off, and what became of a twin on its other side.

A suspected neuron (kinks/forks.py) gets a twin that begins the step nearer to the other side, by what the neuron itself may be off by:
forks that are further away are decided. Most of that is what it is off by within the step, as errors at the ends of steps are far
smaller; so where a new twin does not come back within its step, that is made again, and shorter, until its own error no longer counts.
Twins are followed under the same pulls, from step to step, until they are back with their neurons, or so far off that the fork is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Indices, Signs
from ...events import Kind
from ...problem import Problem
from ..field.sample_lines import SampleLines
from ..kinks.single_neuron import SUSPECT
from ..steppers.legendre_curves import LegendreCurves
from .followed_paths import FollowedPaths
from .neuron_path import MOST_CLOSE, Start
from .swept_step import Swept

# Heights over its size that a neuron may be off by, besides the errors carried along from all steps before: of the tolerance, and of the
# error of the present step, within which it may be off by more than at its end.
LEAST_DOUBT, WITHIN_SHARE = 0.05, 2.0
LOOSEST_DECIDED = 1e-4  # rtol: who asks for less asks for speed, and forks are only told
SUSPECTED = 0.5  # tolerances that the present step is taken to add until its error is known
TOLD = 10.0  # tolerances of the largest weight that a twin must come to be off by for its fork to be told
TOGETHER_AGAIN = 1.0  # tolerances of its neuron's size within which a twin is with it again
MOST_TWINS = 3  # of a neuron from one step: near w = 0 it is near many lines, and any twin will do
FIRST_GAP = 0.1  # between events, a guess that is bettered
SAME_FORK = 1.01  # times the time of a fork: up to there it may be passed at another tolerance
TIGHTER = 30.0  # how many times smaller the tolerance becomes where forks are to be decided: twice the work


class ForkRule(NamedTuple):
    """Up to the time `tight_until` a run's tolerance is TIGHTER times smaller; later it may be that it stops where it tells a fork."""

    tight_until: float = 0.0
    stops: bool = False

    def later(self, times: Array) -> Array:
        """Those times of forks that the smaller tolerance was not meant for."""
        return times[times > SAME_FORK * self.tight_until]


ONLY_TELL = ForkRule()


class ForkTold(Exception):
    """A run has stopped at a fork, passed at this `time`; the `counts` are what it took until then."""

    def __init__(self, time: float, counts: Mapping[str, float]) -> None:
        super().__init__(f"a fork at t = {time:g}")
        self.time, self.counts = time, counts


class Twins(NamedTuple):
    """Twins on their way: w (k, inputs), a (k,), signs (k, lines), and the events (k, 7) that they may be, with whose they are."""

    w: Array
    a: Array
    signs: Signs
    events: Array

    def some(self, which: Array) -> Twins:
        """Those of a mask or of indices."""
        return Twins(*(column[which] for column in self))

    def and_those(self, others: Twins) -> Twins:
        return Twins(*(np.concatenate([mine, theirs]) for mine, theirs in zip(self, others, strict=True)))


class ForkTwins:
    """The twins of a run, what its neurons are off by at the start of a step (neurons,), and what the step just followed makes of twins."""

    curves: LegendreCurves
    rtol: float

    def __init__(self, problem: Problem, lines: SampleLines, neurons: int) -> None:
        self.problem, self.lines = problem, lines
        inputs = lines.normals.shape[1]
        none = Twins(np.empty((0, inputs)), np.empty(0), np.empty((0, len(lines)), dtype=np.int8), np.empty((0, 7)))
        self.twins, self.off = none, np.zeros(neurons)
        self.next = (none, none.events)

    def aim_at(self, curves: LegendreCurves, rtol: float) -> None:
        """Go on with this tolerance, under pulls of that degree."""
        self.curves, self.rtol = curves, rtol

    def __len__(self) -> int:
        return len(self.twins.a)

    def doubts(self, within: Array) -> Array:
        """Heights over their sizes that neurons may be off by in a step that adds as much to them."""
        return np.asarray(LEAST_DOUBT * self.rtol + np.minimum(self.off, MOST_CLOSE) + within)

    def suspects(self) -> Array:
        """The same for a step that is still to be made."""
        return self.doubts(np.full(len(self.off), SUSPECTED * self.rtol))

    def commit(self, off: Array) -> Array:
        """Go on from the end of the step just followed, where neurons are `off` (neurons,); the events (k, 7) of forks to be told."""
        self.off = off
        self.twins, told = self.next
        return told

    def follow(self, start: Start, step: Swept, errors: Array, t: float, t_end: float) -> bool:
        """Follow the twins, old ones and those of neurons suspected in it, through a step from t with these errors (neurons,).

        Whether a new twin is not back, of a neuron whose error within the step counts: the fork may be decided by shorter ones.
        """
        end, pulls, h = step.end, step.pulls, step.h
        matters = TOLD * self.rtol * max(float(np.abs(end.w).max()), float(np.abs(end.a).max()))
        pushes = (t_end - t) * np.abs(self.lines.jumps(pulls[:, :1])[:, 0])
        within = WITHIN_SHARE * errors + step.last_change
        doubts = self.doubts(within)
        suspected = self._suspected(start, step, doubts)
        suspected[:, 1], suspected[:, 4:6] = t + suspected[:, 1] * h, suspected[:, 4:6] / h
        owners, lines = _owners_and_lines(suspected)
        strong = pushes[lines] * np.abs(end.a[owners]) > matters
        new = suspected[strong][_some_of_each(owners[strong], lines[strong], pushes)]
        twins = self.twins.and_those(self._twins_of(start, new, doubts))
        owners, lines = _owners_and_lines(twins.events)
        found = self._followed(twins, pulls, h)
        w, a = end.w[owners], end.a[owners]
        apart = np.sqrt(((found.w - w) ** 2).sum(axis=1) + (found.a - a) ** 2)
        told = ~(apart <= matters)
        back = (apart <= TOGETHER_AGAIN * self.rtol * np.sqrt((w**2).sum(axis=1) + a**2)) & (
            found.signs[np.arange(len(owners)), lines] == end.signs[owners, lines]
        )
        go_on = ~told & ~back & (apart + pushes[lines] * np.abs(a) > matters)
        self.next = (found.some(go_on), found.events[told])
        parting = owners[(told | go_on) & (np.arange(len(owners)) >= len(self))]
        return self.rtol <= LOOSEST_DECIDED and bool((2.0 * within > doubts)[parting].any())

    def _suspected(self, start: Start, step: Swept, doubts: Array) -> Array:
        """Suspicions (k, 7), with those of neurons whose doubts have turned out to be larger: they are followed again.

        The last sweep's change of the pulls alone may send them to the other side of a line, where their twins then have to begin.
        """
        happened = np.concatenate(step.happened)[:, :7]
        suspected = happened[happened[:, 3] == SUSPECT]
        wider = np.flatnonzero(doubts > start.close)
        if len(wider):
            w, a, signs, heights, gaps, _ = start
            begin = Start(w[wider], a[wider], signs[wider], heights[wider], gaps[wider], doubts[wider])
            paths = self._paths(begin, step.pulls, step.h)
            again = np.concatenate(paths.happened)[:, :7]
            again = again[again[:, 3] == SUSPECT]
            rows, lines = _owners_and_lines(again)
            again[:, 0] = wider[rows]
            again[paths.end.signs[rows, lines] != step.end.signs[wider[rows], lines], 6] *= -1.0
            suspected = np.concatenate([suspected[~np.isin(suspected[:, 0], wider)], again])
        return suspected

    def _paths(self, begin: Start, pulls: Array, h: float) -> FollowedPaths:
        """Paths of neurons under these pulls; nowhere, if they do not arrive."""
        paths = FollowedPaths(self.problem, self.lines, self.curves, self.rtol, begin, h, np.empty(0))
        if not paths.follow(np.ones(len(begin.a), dtype=bool), h * self.lines.drives(begin.signs, pulls), pulls):
            paths.end.w.fill(np.nan)
        return paths

    def _twins_of(self, start: Start, suspected: Array, doubts: Array) -> Twins:
        """Twins of suspected neurons, one for every line, nearer to it by the doubts (neurons,)."""
        owners, lines = _owners_and_lines(suspected)
        w, a = start.w[owners], start.a[owners]
        sizes = np.sqrt((w**2).sum(axis=1) + a**2)
        shifted = w + (doubts[owners] * sizes * suspected[:, 6])[:, None] * self.lines.normals[lines]
        events = suspected.copy()
        events[:, 3], events[:, 6] = Kind.FORK, np.nan
        return Twins(shifted, a, start.signs[owners], events)

    def _followed(self, twins: Twins, pulls: Array, h: float) -> Twins:
        """Twins at the end of a step."""
        if not len(twins.a):
            return twins
        heights: NDArray[np.float32] = np.empty(twins.signs.shape, dtype=np.float32)
        self.lines.outputs(twins.w, twins.a, heights)
        begin = Start(twins.w, twins.a, twins.signs, heights, np.full(len(twins.a), FIRST_GAP), np.zeros(len(twins.a)))
        end = self._paths(begin, pulls, h).end
        return Twins(end.w, end.a, end.signs, twins.events)


def _owners_and_lines(events: Array) -> tuple[Indices, Indices]:
    return events[:, 0].astype(np.intp), events[:, 2].astype(np.intp)


def _some_of_each(owners: Indices, lines: Indices, pushes: Array) -> Indices:
    """Which of these suspicions (k,) get a twin: of each neuron those of the lines that push most, each line once."""
    once = np.unique(np.stack([owners, lines]), axis=1, return_index=True)[1]
    once = once[np.lexsort((-pushes[lines[once]], owners[once]))]
    first = np.searchsorted(owners[once], owners[once])
    return np.asarray(once[np.arange(len(once)) - first < MOST_TWINS])
