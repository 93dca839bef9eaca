"""Neurons that may have passed a fork of the flow by less than the tolerance, and what became of a twin on its other side.

A suspected neuron (kinks/forks.py) gets a twin that begins the step nearer to the other side, by the tolerance of its size. Twins are
followed under the same pulls, from step to step, until they are back with their neurons, or so far off that the fork is told.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Indices, Signs
from ...events import Kind
from ...problem import Problem
from ..field.sample_lines import SampleLines
from ..kinks.single_neuron import SUSPECT
from ..steppers.legendre_curves import LegendreCurves
from .followed_paths import CLOSE_SHARE, FollowedPaths
from .neuron_path import End, Start

TOLD = 10.0  # tolerances of the largest weight that a twin must come to be off by for its fork to be told
TOGETHER_AGAIN = 1.0  # tolerances of its neuron's size within which a twin is with it again
MOST_TWINS = 3  # of a neuron from one step: near w = 0 it is near many lines, and any twin will do
FIRST_GAP = 0.1  # between events, a guess that is bettered


class ForkTwins:
    """The twins on their way: w (k, inputs), a (k,), signs (k, lines), whose they are, and the events (k, 7) that they may be."""

    def __init__(self, problem: Problem, lines: SampleLines, curves: LegendreCurves, rtol: float) -> None:
        self.problem, self.lines, self.curves, self.rtol = problem, lines, curves, rtol
        self.w, self.a = np.empty((0, lines.normals.shape[1])), np.empty(0)
        self.signs: Signs = np.empty((0, len(lines)), dtype=np.int8)
        self.events = np.empty((0, 7))

    def follow(self, start: Start, end: End, happened: Array, pulls: Array, h: float, left: float) -> Array:
        """Follow the twins, old ones and those of neurons suspected in `happened` (events, 7), through a step; forks to be told.

        `left` is the time left from its start.
        """
        matters = TOLD * self.rtol * max(float(np.abs(end.w).max()), float(np.abs(end.a).max()))
        pushes = left * np.abs(self.lines.jumps(pulls[:, :1])[:, 0])
        suspected = happened[happened[:, 3] == SUSPECT]
        owners, lines = suspected[:, 0].astype(np.intp), suspected[:, 2].astype(np.intp)
        strong = pushes[lines] * np.abs(end.a[owners]) > matters
        self._add(start, suspected[strong][_some_of_each(owners[strong], lines[strong], pushes)])
        if not len(self.a):
            return self.events
        heights: NDArray[np.float32] = np.empty(self.signs.shape, dtype=np.float32)
        self.lines.outputs(self.w, self.a, heights)
        begin = Start(self.w, self.a, self.signs, heights, np.full(len(self.a), FIRST_GAP))
        paths = FollowedPaths(self.problem, self.lines, self.curves, self.rtol, begin, h, np.empty(0))
        arrived = paths.follow(np.ones(len(self.a), dtype=bool), h * self.lines.drives(self.signs, pulls), pulls)
        found, owners, lines = paths.end, self.events[:, 0].astype(np.intp), self.events[:, 2].astype(np.intp)
        w, a = end.w[owners], end.a[owners]
        apart = np.sqrt(((found.w - w) ** 2).sum(axis=1) + (found.a - a) ** 2)
        told = ~(apart <= matters) | (not arrived)
        each = np.arange(len(owners))
        back = (apart <= TOGETHER_AGAIN * self.rtol * np.sqrt((w**2).sum(axis=1) + a**2)) & (
            found.signs[each, lines] == end.signs[owners, lines]
        )
        rows, go_on = self.events[told], ~told & ~back & (apart + pushes[lines] * np.abs(a) > matters)
        self.w, self.a, self.signs, self.events = (
            found.w[go_on], found.a[go_on], found.signs[go_on], self.events[go_on]
        )  # fmt: skip
        return rows

    def _add(self, start: Start, suspected: Array) -> None:
        """Twins of suspected neurons, one for every line."""
        if not len(suspected):
            return
        owners, lines = suspected[:, 0].astype(np.intp), suspected[:, 2].astype(np.intp)
        w, a = start.w[owners], start.a[owners]
        sizes = np.sqrt((w**2).sum(axis=1) + a**2)
        shifted = w + (CLOSE_SHARE * self.rtol * sizes * suspected[:, 6])[:, None] * self.lines.normals[lines]
        suspected[:, 3], suspected[:, 6] = Kind.FORK, np.nan
        self.w, self.a = np.concatenate([self.w, shifted]), np.concatenate([self.a, a])
        self.signs = np.concatenate([self.signs, start.signs[owners]])
        self.events = np.concatenate([self.events, suspected])


def _some_of_each(owners: Indices, lines: Indices, pushes: Array) -> Indices:
    """Which of these suspicions (k,) get a twin: of each neuron those of the lines that push most, each line once."""
    once = np.unique(np.stack([owners, lines]), axis=1, return_index=True)[1]
    once = once[np.lexsort((-pushes[lines[once]], owners[once]))]
    first = np.searchsorted(owners[once], owners[once])
    return np.asarray(once[np.arange(len(once)) - first < MOST_TWINS])
