"""Every neuron through a step whose pulls are known, some at a call and shared out among threads (neuron_path.py has the kernel)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ...arrays import Array, Mask
from ...problem import Problem
from ..deadline import look_at_clock
from ..field.sample_lines import SampleLines
from ..kinks.single_neuron import EVENT_FIELDS, KnownStep, Log
from ..steppers.legendre_curves import LegendreCurves, gauss_rules
from ..threads import in_shares
from .neuron_path import FOLLOWED, NO_ROOM, End, Rules, Start, follow_neurons

FEWEST_PER_CALL = 4  # neurons
EVENTS_PER_CALL = 4096  # for which there is room at first: more neurons at a call would have to be followed again
PATH_WORK = 250.0  # multiply-adds that take as long as a path of a neuron does for every line: 10,000 of these pay for a second thread
TAYLOR_ORDER = 14  # of Taylor series, at most: pieces are as long as their order allows
UNCHANGED = 0.03  # of the tolerance: neurons whose drive has changed by less are not followed again
PIECE_SHARE = 0.01  # of the tolerance, for one piece of a neuron's path


class FollowedPaths:
    """Paths of all neurons over one step of length h that begins at `start`; `saved` are the shares of it at which states are kept.

    `end` is what became of them, `happened` holds the events of each neuron, `pieces` counts Taylor series.
    """

    def __init__(
        self, problem: Problem, lines: SampleLines, curves: LegendreCurves, rtol: float, start: Start, h: float, saved: Array
    ) -> None:
        self.problem, self.lines, self.curves, self.rtol = problem, lines, curves, rtol
        self.start, self.h, self.saved, self.pieces = start, h, saved, 0
        neurons, inputs = start.w.shape
        self.end = End(
            np.empty_like(start.w), np.empty_like(start.a), np.empty_like(start.signs),
            np.empty((neurons, curves.degree + 1, inputs)),
            np.empty((neurons, len(saved), inputs)), np.empty((neurons, len(saved))),
        )  # fmt: skip
        self.happened = [self._event_room(0)] * neurons
        self.tried: list[tuple[Array, Array]] = []  # drives at the start and pulls, sweep by sweep
        self.followed_in = np.full(neurons, -1)  # the last sweep that each neuron was followed in

    def follow_changed(self, drives: Array, pulls: Array) -> bool:
        """Follow the neurons whose drives are no longer those that they were followed with; whether all of them arrived."""
        todo = self.followed_in < 0
        for sweep in np.unique(self.followed_in[~todo]):
            drives_then, pulls_then = self.tried[sweep]
            same = np.flatnonzero(self.followed_in == sweep)
            changed = self._exceeds(drives[same] - drives_then[same])
            todo[same[changed]] = True
            same = same[~changed]
            turned = same[
                (self.end.signs[same] != self.start.signs[same]).any(axis=1)
            ]  # where other samples drive it in the end
            if len(turned):
                todo[turned] = self._exceeds(self.h * self.lines.drives(self.end.signs[turned], pulls - pulls_then))
        self.followed_in[todo] = len(self.tried)
        self.tried.append((drives, pulls))
        return self.follow(todo, drives, pulls)

    def _exceeds(self, change: Array) -> Mask:
        """Which changes of drives (neurons, s + 1, inputs) matter."""
        return np.asarray(~(self.curves.size(change.transpose(0, 2, 1)).max(axis=1) <= UNCHANGED * self.rtol))

    def follow(self, todo: Mask, drives: Array, pulls: Array) -> bool:
        """Follow the neurons `todo` through the step; whether all of them arrived."""
        lines, curves = self.lines, self.curves
        jumps = np.ascontiguousarray(self.h * lines.jumps(pulls) @ curves.monomials)
        step = KnownStep(lines.normals, jumps, lines.sided, self.saved)
        rules = self._rules(pulls)
        monomials = np.ascontiguousarray(np.einsum("hkd,kj->hjd", drives, curves.monomials))
        chosen = np.flatnonzero(todo)
        together, stopped = max(FEWEST_PER_CALL, EVENTS_PER_CALL // len(lines)), False

        def share(begin: int, stop: int) -> tuple[bool, int]:
            pieces, room = 0, self._event_room(3 * len(lines) + EVENTS_PER_CALL)
            for first in range(begin, stop, together):
                neurons = chosen[first : min(first + together, stop)]
                look_at_clock()
                if stopped:
                    return False, pieces
                ends = np.zeros(len(neurons), dtype=np.intp)
                while True:
                    log = Log(room, np.zeros(1, dtype=np.intp))
                    status, count = follow_neurons(neurons, self.start, monomials, step, rules, self.end, log, ends)
                    if status != NO_ROOM:
                        break
                    room = self._event_room(2 * len(room))
                pieces += count
                if status != FOLLOWED:
                    return False, pieces
                for h, (first_row, last_row) in zip(neurons, pairwise([0, *ends.tolist()]), strict=True):
                    self.happened[h] = room[first_row:last_row].copy()
            return True, pieces

        try:
            results = in_shares(share, len(chosen), PATH_WORK * len(chosen) * len(lines))
        except BaseException:
            stopped = True  # other threads stop too
            raise
        self.pieces += sum(pieces for _, pieces in results)
        return all(arrived for arrived, _ in results)

    def _rules(self, pulls: Array) -> Rules:
        lines, network = self.lines, self.problem.network
        largest = self.h / lines.samples * float(lines.reaches @ np.abs(pulls).sum(axis=1))
        first, second = (float(trains) for trains in network.trainable_layers)
        return Rules(
            lines.inputs,
            TAYLOR_ORDER,
            PIECE_SHARE * self.rtol,
            largest,
            3.0 * self.rtol,
            first,
            second,
            self.h * self.problem.l2,
            network.alpha > 0.0,
            gauss_rules(),
        )

    def _event_room(self, rows: int) -> Array:
        return np.empty((rows, EVENT_FIELDS + self.curves.degree + 1))

    def outputs(self) -> Array:
        """Moments (samples, s + 1) of the outputs on the way, as coefficients of curves."""
        return self.lines.outputs_of(self.end.signs, self.end.moments, self._corrections()) * self.curves.norms

    def _corrections(self) -> Array:
        """What changes of sign on the way take from the moments of sum_h sgn a n.w, (lines, s + 1)."""
        corrections = np.zeros((len(self.lines), self.curves.degree + 1))
        rows = np.concatenate(self.happened)
        rows = rows[rows[:, 2] >= 0]
        np.add.at(corrections, rows[:, 2].astype(np.intp), rows[:, 7:8] * rows[:, EVENT_FIELDS:])
        return corrections
