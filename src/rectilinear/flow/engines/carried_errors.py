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
from ..compiled import kernel
from ..field.sample_lines import SampleLines
from ..kinks.single_neuron import CROSS, HOLD, free_drives
from ..tolerances import TINY
from .neuron_path import End

KRYLOV = 4  # vectors for each step; with 12 estimates are the same to two digits
MOST_GROWTH = 20.0  # exponent by which errors may grow in a step
LEFT_BY_SWEEPS = 0.3  # of the tolerance: how much further off each step leaves a neuron, in no known direction
LATEST = 1.0  # steps by which a crossing may be late


class Present(NamedTuple):
    """Neurons and samples at one time: w (h, inputs), a (h,), signs (h, lines); f and pulls (samples,)."""

    w: Array
    a: Array
    signs: Signs
    f: Array
    pulls: Array


class CarriedErrors:
    """Errors (neurons, inputs + 1) of w and a at the end of the steps committed so far."""

    def __init__(self, problem: Problem, lines: SampleLines, neurons: int) -> None:
        self.problem, self.lines = problem, lines
        self.errors = np.zeros((neurons, lines.normals.shape[1] + 1))
        self.directions = np.random.default_rng(0)

    def over_sizes(self, w: Array, a: Array) -> Array:
        """How far neurons are off, over their sizes (neurons,)."""
        sizes = np.sqrt((w**2).sum(axis=1) + a**2)
        return np.asarray(np.sqrt((self.errors**2).sum(axis=1)) / np.maximum(sizes, TINY))

    def over_largest(self, w: Array, a: Array) -> float:
        """The largest error of a weight, over the largest weight."""
        return float(np.abs(self.errors).max() / max(float(np.abs(w).max()), float(np.abs(a).max()), TINY))

    def carry(self, begin: Present, end: End, h: float, happened: Array, added: Array, rtol: float) -> None:
        """Go on to the end of a step of length h with the events (k, fields) that `happened` in it, and that added these errors."""
        self._carry_smoothly(begin, h)
        pass_kinks(self.errors, begin.a, self.lines.normals, happened)
        sizes = np.sqrt((end.w**2).sum(axis=1) + end.a**2)
        unknown = self.directions.standard_normal(self.errors.shape) / np.sqrt(self.errors.shape[1])
        self.errors += added + LEFT_BY_SWEEPS * rtol * sizes[:, None] * unknown
        along = self.errors[:, None, :-1].copy()
        free_drives(end.signs, self.lines.normals, along)
        self.errors[:, :-1] = along[:, 0]
        lengths = np.sqrt((self.errors**2).sum(axis=1))
        self.errors *= np.minimum(1.0, sizes / np.maximum(lengths, TINY))[:, None]

    def _carry_smoothly(self, now: Present, h: float) -> None:
        """exp(h M) e by Lanczos's method: M is symmetric, and what its few vectors do not see decays."""
        length = float(np.linalg.norm(self.errors))
        if not length > 0.0:
            return
        drives = self._free_drives(now.signs, now.pulls)
        vectors, diagonal, beside = [self.errors / length], list[float](), list[float]()
        while True:
            moved = self._moved(now, drives, vectors[-1])
            diagonal.append(float(np.vdot(vectors[-1], moved)))
            if len(vectors) == KRYLOV:
                break
            for vector in vectors:
                moved -= float(np.vdot(vector, moved)) * vector
            rest = float(np.linalg.norm(moved))
            if not rest > np.finfo(float).eps * abs(diagonal[-1]):
                break
            beside.append(rest)
            vectors.append(moved / rest)
        values, axes = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
        parts = axes @ (np.exp(np.minimum(h * values, MOST_GROWTH)) * axes[0])
        self.errors = length * np.tensordot(parts, np.array(vectors), 1)

    def _moved(self, now: Present, drives: Array, errors: Array) -> Array:
        """M e for errors e (neurons, inputs + 1)."""
        e_w, e_a = errors[:, :-1], errors[:, -1]
        products = now.a[:, None] * e_w + e_a[:, None] * now.w
        outputs = self.lines.outputs_of(now.signs, products[:, None, :])[:, 0]
        curvature = np.asarray(self.problem.loss.curvature(self.problem.y, now.f))
        change = self._free_drives(now.signs, -curvature * outputs)
        first, second = self.problem.network.trainable_layers
        found = np.empty_like(errors)
        found[:, :-1] = first * (now.a[:, None] * change + e_a[:, None] * drives - self.problem.l2 * e_w)
        found[:, -1] = second * ((now.w * change).sum(axis=1) + (e_w * drives).sum(axis=1) - self.problem.l2 * e_a)
        return found

    def _free_drives(self, signs: Signs, pulls: Array) -> Array:
        """Drives (neurons, inputs) along the kinks that hold neurons."""
        drives = self.lines.drives(signs, pulls[:, None])
        free_drives(signs, self.lines.normals, drives)
        return drives[:, 0]


@kernel
def pass_kinks(errors: Array, a: Array, normals: Array, happened: Array) -> None:
    """What events (k, fields), in order of time for each neuron, do to the errors (neurons, inputs + 1) along normals, in place.

    Velocities are for a unit outgoing weight. To be linear a crossing must not be later than LATEST.

    >>> import numpy as np
    >>> errors, upwards = np.array([[1e-3, 1e-3, 0.0]]), np.array([[0.0, 0.5, 0.0, CROSS, 2.0, 6.0, np.nan, 2.0]])
    >>> pass_kinks(errors, np.ones(1), np.array([[1.0, 0.0]]), upwards)
    >>> errors.tolist()
    [[0.003, 0.001, 0.0]]
    """
    inputs = normals.shape[1]
    for e in range(happened.shape[0]):
        h, line, kind = int(happened[e, 0]), int(happened[e, 2]), int(happened[e, 3])
        if line < 0 or (kind != CROSS and kind != HOLD):
            continue
        off, change = 0.0, 0.0
        for k in range(inputs):
            off += normals[line, k] * errors[h, k]
        if kind == HOLD:
            change = -off
        else:
            below, above = a[h] * happened[e, 4], a[h] * happened[e, 5]
            before, after = (below, above) if happened[e, 7] > 0.0 else (above, below)
            if before != 0.0:
                change = (after - before) * min(max(off / before, -LATEST), LATEST)
        for k in range(inputs):
            errors[h, k] += change * normals[line, k]
