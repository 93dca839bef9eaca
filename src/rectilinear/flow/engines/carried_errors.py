"""What neurons are off by: the errors of all steps before, each carried along by the flow itself to the present time.

Errors do not add up. Where outputs relax they die out; where the flow parts, as on a plateau that neurons are about to leave, they grow a
hundredfold. To first order e = (e_w, e_a) obeys the flow's linearisation, with the patterns as they are,

    de_w/dt = a_h dg_h + e_a g_h,    de_a/dt = w_h.dg_h + e_w.g_h,    dg_h = -(1/P) sum_i l''_i df_i s'_hi x_i,
    df_i = sum_h (a_h s'_hi e_w.x_i + e_a sigma(w_h.x_i)),

whose matrix is symmetric: minus the Hessian of the loss. At a kink the drive jumps. A neuron that is off by z along its normal meets it
earlier by z/v, v the velocity before, and moves with the one after, v', for so long: z becomes z v'/v. On a kink that holds it z is zero.
Errors as large as their neurons are no longer small, and are taken for as large.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Array, Signs
from ...problem import Problem
from ..compiled import kernel, part
from ..field.sample_lines import SampleLines
from ..kinks.single_neuron import CROSS, HOLD, free_drives
from ..tolerances import TINY
from .neuron_path import End

SAMPLES = 2  # ways in which steps may have erred, as signs of their errors and what else they leave are not known
KRYLOV = 3  # vectors for each step; with 5 or 10 estimates are the same to 5 %, with 2 up to twelve times too small
LARGEST_EXPONENT = 20.0  # by which errors may grow in a step
LEFT_BY_SWEEPS = 0.1  # of the tolerance: how much further off each step leaves a neuron, in no known direction


class Present(NamedTuple):
    """Neurons and samples at one time: w (h, inputs), a (h,), signs (h, lines); f and pulls (samples,)."""

    w: Array
    a: Array
    signs: Signs
    f: Array
    pulls: Array


class CarriedErrors:
    """Errors (neurons, SAMPLES, inputs + 1) of w and a that may have come of the steps committed so far."""

    def __init__(self, problem: Problem, lines: SampleLines, w: Array, a: Array, off: float) -> None:
        self.problem, self.lines = problem, lines
        self.errors = np.zeros((len(a), SAMPLES, w.shape[1] + 1))
        self.chance = np.random.default_rng(0)
        first, second = problem.network.trainable_layers
        self.trains = np.append(np.full(w.shape[1], float(first)), float(second))
        self._add_unknown(off, _sizes(w, a))

    def over_sizes(self, w: Array, a: Array) -> Array:
        """How far neurons are off, over their sizes (neurons,)."""
        lengths = np.sqrt((self.errors**2).sum(axis=2).mean(axis=1))
        return np.asarray(lengths / np.maximum(_sizes(w, a), TINY))

    def over_largest(self, w: Array, a: Array) -> float:
        """The largest error of a weight, over the largest weight."""
        largest = np.sqrt((self.errors**2).mean(axis=1)).max()
        return float(largest / max(float(np.abs(w).max()), float(np.abs(a).max()), TINY))

    def carry(self, begin: Present, end: End, h: float, happened: Array, added: Array, rtol: float) -> None:
        """Go on to the end of a step of length h with the events (k, fields) that `happened` in it, and whose error is `added`
        (neurons, inputs + 1)."""
        with np.errstate(over="ignore", invalid="ignore"):
            self._carry_smoothly(begin, h)
        pass_kinks(self.errors, begin.a, self.lines.normals, happened)
        sizes = _sizes(end.w, end.a)
        self.errors += self.chance.choice([-1.0, 1.0], (SAMPLES, 1)) * self.trains * added[:, None]
        self._add_unknown(LEFT_BY_SWEEPS * rtol, sizes)
        along = np.ascontiguousarray(self.errors[:, :, :-1])
        free_drives(end.signs, self.lines.normals, along)
        self.errors[:, :, :-1] = along
        lengths = np.sqrt((self.errors**2).sum(axis=2))
        self.errors *= np.minimum(1.0, sizes[:, None] / np.maximum(lengths, TINY))[:, :, None]

    def _add_unknown(self, off: float, sizes: Array) -> None:
        """Neurons are off by so much of their sizes, in any direction."""
        directions = self.chance.standard_normal(self.errors.shape) / np.sqrt(self.errors.shape[2])
        self.errors += off * sizes[:, None, None] * self.trains * directions

    def _carry_smoothly(self, now: Present, h: float) -> None:
        """exp(h M) e by Lanczos's method: M is symmetric, and what its few vectors do not see decays."""
        lengths = _lengths(self.errors)
        if not lengths.all():
            return
        drives = self._free_drives(now.signs, now.pulls[:, None])[:, 0]
        vectors = [self.errors / lengths[:, None]]
        matrices = np.zeros((SAMPLES, KRYLOV, KRYLOV))
        for n in range(KRYLOV):
            moved = self._moved(now, drives, vectors[-1])
            matrices[:, n, n] = np.einsum("hkj,hkj->k", vectors[-1], moved)
            if n + 1 < KRYLOV:
                for vector in vectors:
                    moved -= np.einsum("hkj,hkj->k", vector, moved)[:, None] * vector
                rest = _lengths(moved)
                matrices[:, n, n + 1] = matrices[:, n + 1, n] = rest
                vectors.append(moved / np.maximum(rest, TINY)[:, None])
        if not np.isfinite(matrices).all():  # losses at the edge of the range of numbers
            return
        values, axes = np.linalg.eigh(matrices)
        grown = np.exp(np.minimum(h * values, LARGEST_EXPONENT)) * axes[:, 0]
        parts = lengths[:, None] * np.einsum("kij,kj->ki", axes, grown)
        self.errors = np.einsum("ki,ihkj->hkj", parts, np.array(vectors))

    def _moved(self, now: Present, drives: Array, errors: Array) -> Array:
        """M e for errors e (neurons, SAMPLES, inputs + 1)."""
        e_w, e_a, w, a = errors[:, :, :-1], errors[:, :, -1:], now.w[:, None], now.a[:, None, None]
        outputs = self.lines.outputs_of(now.signs, a * e_w + e_a * w)
        curvature = np.asarray(self.problem.loss.curvature(self.problem.y, now.f))
        change = self._free_drives(now.signs, -curvature[:, None] * outputs)
        found = -self.problem.l2 * errors
        found[:, :, :-1] += a * change + e_a * drives[:, None]
        found[:, :, -1] += (w * change).sum(axis=2) + (e_w * drives[:, None]).sum(axis=2)
        return np.asarray(self.trains * found)

    def _free_drives(self, signs: Signs, pulls: Array) -> Array:
        """Drives (neurons, k, inputs) along the kinks that hold neurons, for pulls (samples, k)."""
        drives = self.lines.drives(signs, pulls)
        free_drives(signs, self.lines.normals, drives)
        return drives


def _sizes(w: Array, a: Array) -> Array:
    return np.asarray(np.sqrt((w**2).sum(axis=1) + a**2))


def _lengths(errors: Array) -> Array:
    """Of each sample (SAMPLES,), all neurons together."""
    return np.asarray(np.sqrt(np.einsum("hkj,hkj->k", errors, errors)))


@kernel
def pass_kinks(errors: Array, a: Array, normals: Array, happened: Array) -> None:
    """What events (k, fields), in order of time for each neuron, do to errors (neurons, samples, inputs + 1) along normals, in place.

    Velocities are for a unit outgoing weight. Those of kinks that are crossed at one moment are before and after all of them: the one
    that does most to an error counts.

    >>> import numpy as np
    >>> errors, upwards = np.array([[[1e-3, 1e-3, 0.0]]]), np.array([[0.0, 0.5, 0.0, CROSS, 2.0, 6.0, np.nan, 2.0]])
    >>> pass_kinks(errors, np.ones(1), np.array([[1.0, 0.0]]), upwards)
    >>> errors.tolist()
    [[[0.003, 0.001, 0.0]]]
    """
    first = 0
    while first < happened.shape[0]:
        h, tau, last = int(happened[first, 0]), happened[first, 1], first
        while last < happened.shape[0] and happened[last, 0] == h and happened[last, 1] == tau:
            last += 1
        for s in range(errors.shape[1]):
            most, where = 0.0, -1
            for e in range(first, last):
                line = int(happened[e, 2])
                if line >= 0 and happened[e, 3] == HOLD:
                    _add_along(errors, h, s, normals, line, -_off(errors, h, s, normals, line))
                elif line >= 0 and happened[e, 3] == CROSS:
                    change = _stretch(_off(errors, h, s, normals, line), a[h], happened, e)
                    if abs(change) > abs(most):
                        most, where = change, line
            if where >= 0:
                _add_along(errors, h, s, normals, where, most)
        first = last


@part
def _off(errors: Array, h: int, s: int, normals: Array, line: int) -> float:
    """What a neuron is off by along a normal."""
    total = 0.0
    for k in range(normals.shape[1]):
        total += normals[line, k] * errors[h, s, k]
    return total


@part
def _add_along(errors: Array, h: int, s: int, normals: Array, line: int, change: float) -> None:
    for k in range(normals.shape[1]):
        errors[h, s, k] += change * normals[line, k]


@part
def _stretch(off: float, a: float, happened: Array, e: int) -> float:
    """What a crossing adds to an error along its normal.

    A neuron that just reaches a kink is early by the root of its error: over a step velocities change by about as much as they are, so
    that z is no more than t^2 times these over two.
    """
    below, above = a * happened[e, 4], a * happened[e, 5]
    before, after = (below, above) if happened[e, 7] > 0.0 else (above, below)
    if before == 0.0:
        return 0.0
    earliest = np.sqrt(2.0 * abs(off) / max(abs(before), abs(after)))
    return (after - before) * min(max(off / before, -earliest), earliest)
