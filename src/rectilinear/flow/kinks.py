"""Kinks: where sigma' jumps, what a neuron sees on each side, and whether it crosses or is held.

A neuron's pattern is one sign per line of the data: +1 or -1 for the side of the kink n.w = 0 it is on, 0 if it is held there.
Crossing line l from below to above changes the neuron's drive g by D_l n_l, D_l = (1 - alpha)/P sum over the line of |x_i| pull_i.
Held on lines N, the neuron moves with g_below + sum_l lambda_l D_l n_l, lambda_l in [0, 1], such that N g = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numba
import numpy as np
from numpy.typing import NDArray

from ..dataset import find_lines
from ..problem import Problem
from .aligned import Split, disagreements, find_split, sums_of_split
from .kernels import BLOCK, FAST, INPUT_TILE, padded
from .parallel import THREAD_WORK, threads, workers

Array = NDArray[np.float64]
Signs = NDArray[np.int8]

SWEEPS = 100_000  # at most, over the few kinks a neuron touches at once
SETTLED = 1e-14  # a sweep that moves no multiplier by more is the last
MOST_REMEMBERED = 2**28  # bytes of samples as seen by patterns met before
ON_A_BOUND = 1e-10  # a multiplier this close to 0 or 1 counts as there
NO_SPEED = 1e-13  # a velocity this small, relative to the largest possible, is rounding: it does not say "away"


@dataclass(frozen=True)
class Verdict:
    """What a neuron does at the kinks it touches: its new signs there, with velocities on both sides and multipliers."""

    signs: Signs
    below: Array
    above: Array
    multipliers: Array


class Kinks:
    """The kink hyperplanes of a problem's samples."""

    def __init__(self, problem: Problem) -> None:
        lines = find_lines(problem.x)
        self.problem, self.x, self.alpha = problem, problem.x, problem.network.alpha
        self.normals, self.line, self.lengths = lines.normals, lines.index, lines.lengths
        self._turned_normals = padded(self.normals.T, INPUT_TILE, 1)
        self.weights = (1.0 - self.alpha) * np.abs(self.lengths)
        self._seen: dict[bytes, Array] = {}
        self._holds: dict[bytes, tuple[Array, Array]] = {}

    def __len__(self) -> int:
        return len(self.normals)

    @cached_property
    def jump_rows(self) -> Array:
        """The matrix (lines, samples) with D = jump_rows @ pull; only for few samples."""
        rows = np.zeros((len(self), len(self.line)))
        rows[self.line, np.arange(len(self.line))] = self.weights
        return rows

    def jumps(self, pull: Array) -> Array:
        """D_l of every line, (lines,)."""
        return np.asarray(np.bincount(self.line, weights=self.weights * pull, minlength=len(self)), dtype=np.float64)

    def pulls(self, theta: Array) -> Array:
        """-dl/df/P on the samples for neurons theta (h, inputs + 1)."""
        return self.look(theta, np.zeros((len(theta), len(self)), dtype=np.int8))[0]

    def look(self, theta: Array, signs: Signs) -> tuple[Array, NDArray[np.intp]]:
        """The pulls -dl/df/P on the samples, and the pairs (neuron, line) that are beyond a kink on which they are not held.

        sigma(z) = c z + e |z| makes one product per line serve all samples on it.
        """
        w, a = np.ascontiguousarray(theta[:, :-1]), theta[:, -1].copy()
        split = find_split(w, a, self._turned_normals, np.ones(len(self)))
        seen = look_at_split(split, w, a, self._turned_normals, signs) if split is not None else None
        odd, even, crossed = seen if seen is not None else self._look_at_all(theta, signs)
        c, e = 0.5 * (1.0 + self.alpha), 0.5 * (1.0 - self.alpha)
        f = c * self.lengths * odd[self.line] + e * np.abs(self.lengths) * even[self.line]
        return np.asarray(self.problem.loss.pull(self.problem.y, f)) / len(f), crossed

    def _look_at_all(self, theta: Array, signs: Signs) -> tuple[Array, Array, NDArray[np.intp]]:
        """`look_at_lines` of all neurons, shared among threads where they are many."""
        shares = workers() if theta.size * len(self) > THREAD_WORK else 1
        cuts = np.linspace(0, len(theta), shares + 1).astype(int)
        jobs = [
            threads().submit(look_at_lines, theta, self._turned_normals, signs, int(lo), int(hi))
            for lo, hi in pairwise(cuts[1:])
        ]
        parts = [look_at_lines(theta, self._turned_normals, signs, 0, int(cuts[1])), *(job.result() for job in jobs)]
        odd, even = (np.sum([part[k] for part in parts], axis=0) for k in range(2))
        return odd, even, np.concatenate([part[2] for part in parts])

    def next_catch(
        self, theta: Array, velocity: Array, signs: Signs, pull: Array, within: float
    ) -> tuple[float, float, int, int]:
        """When within that time the first free neuron is caught, its height, itself and the line (-1 if there is none)."""
        return next_catch(theta, np.ascontiguousarray(velocity), self._turned_normals, signs, self.jumps(pull), within)

    def slopes(self, signs: Signs) -> Array:
        """sigma' at each sample for a pattern (..., lines) -> (..., samples); held lines count as below."""
        side = signs[..., self.line] * np.sign(self.lengths)
        below = (signs[..., self.line] == 0) & (self.lengths < 0)  # n.w < 0 there, so samples along -n are active
        return np.where((side > 0) | below, 1.0, self.alpha)

    def seen(self, signs: Signs) -> Array:
        """The samples as a group of this pattern sees them, (samples, inputs): slope times the part off the held normals."""
        key = signs.tobytes()
        if key not in self._seen:
            if len(self._seen) * self.x.nbytes > MOST_REMEMBERED:
                self._seen.clear()
            self._seen[key] = self._compute_seen(signs)
        return self._seen[key]

    def _compute_seen(self, signs: Signs) -> Array:
        rows = self.slopes(signs)[:, None] * self.x
        held = np.flatnonzero(signs == 0)
        if held.size:
            basis = self.held_basis(held)
            rows = rows - (rows @ basis.T) @ basis
            rows[np.isin(self.line, held)] = 0.0
            if len(basis) == rows.shape[1]:
                rows[:] = 0.0
        return rows

    def held_basis(self, held: NDArray[np.intp]) -> Array:
        """Orthonormal rows that span the normals of these lines."""
        _, sizes, rows = np.linalg.svd(self.normals[held], full_matrices=False)
        return rows[sizes > 1e-10 * sizes[0]]

    def holds(self, signs: Signs, pull: Array) -> tuple[Array, Array]:
        """For a held pattern, D_l lambda_l and D_l of each held line."""
        held = np.flatnonzero(signs == 0)
        normals = self.normals[held]
        drive = (self.slopes(signs) * pull) @ self.x
        return -np.linalg.pinv(normals @ normals.T, rcond=1e-12) @ (normals @ drive), self.jumps(pull)[held]

    def hold_rows(self, signs: Signs) -> tuple[Array, Array]:
        """For a held pattern, linear maps (held, samples) from pulls to D_l lambda_l and to D_l."""
        key = signs.tobytes()
        if key not in self._holds:
            self._holds[key] = self._compute_holds(signs)
        return self._holds[key]

    def _compute_holds(self, signs: Signs) -> tuple[Array, Array]:
        held = np.flatnonzero(signs == 0)
        normals = self.normals[held]
        gram_inverse = np.linalg.pinv(normals @ normals.T, rcond=1e-12)
        below = self.slopes(signs)[:, None] * self.x
        return -gram_inverse @ normals @ below.T, self.jump_rows[held]

    def resolve(self, signs: Signs, touching: NDArray[np.intp], sign_a: float, pull: Array) -> Verdict:
        """Decide cross or hold for a neuron that touches these lines, coming from `signs` (0 where it was held).

        In units of |a|: with mu_l = -sign_a D_l lambda_l the velocities of n_l.w are s = q - Gram mu, 0 <= mu_l <= b_l, and
        s_l > 0 forces mu_l = b_l, s_l < 0 forces mu_l = 0: the optimality conditions of min mu.Gram.mu/2 - q.mu in a box.
        A line that repels (sign_a D_l >= 0) is crossed, unless the neuron is moving away from it.
        """
        normals = self.normals[touching]
        jumps = self.jumps(pull)[touching]
        base = signs.copy()
        base[touching] = 0
        drive = (self.slopes(base) * pull) @ self.x
        came_from = signs[touching]
        slowest = NO_SPEED * float(np.abs(pull) @ np.abs(self.lengths))
        if len(touching) == 1:
            return _single(int(came_from[0]), sign_a * float(normals[0] @ drive), sign_a * float(jumps[0]), slowest)
        pushes = sign_a * jumps  # what crossing each line upwards adds to the velocity along it
        attracting = pushes < 0
        bounds = np.where(attracting, -pushes, 0.0)
        free = np.flatnonzero(attracting)
        gram = normals @ normals.T
        q = sign_a * (normals @ drive)
        outcome = np.zeros(len(touching), dtype=np.int8)
        for k in np.flatnonzero(~attracting).tolist():
            below, above = (self._answered(k, q + side * pushes[k] * gram[:, k], gram, free, bounds) for side in (0.0, 1.0))
            outcome[k] = _through(int(came_from[k]), below, above, slowest)
            if outcome[k] > 0:
                q = q + pushes[k] * gram[:, k]
        mu = np.zeros(len(touching))
        mu[free] = box_problem(gram[np.ix_(free, free)], q[free], bounds[free])
        with np.errstate(invalid="ignore", divide="ignore"):
            multipliers = np.where(attracting, mu / bounds, np.nan)
        outcome[free] = np.where(multipliers[free] >= 1 - ON_A_BOUND, 1, np.where(multipliers[free] <= ON_A_BOUND, -1, 0))
        sides = np.empty((2, len(touching)))
        for k in range(len(touching)):
            counted = not attracting[k] and outcome[k] > 0  # its push is already in q
            for side in (0, 1):
                pushed = q + (side - counted) * pushes[k] * gram[:, k]
                sides[side, k] = self._answered(k, pushed, gram, free[free != k], bounds)
        return Verdict(outcome, sides[0], sides[1], multipliers)

    @staticmethod
    def _answered(k: int, q: Array, gram: Array, others: NDArray[np.intp], bounds: Array) -> float:
        """Velocity of n_k.w when the attracting lines `others` answer to q."""
        mu = box_problem(gram[np.ix_(others, others)], q[others], bounds[others])
        return float(q[k] - gram[k, others] @ mu)


def _through(came_from: int, below: float, above: float, slowest: float) -> int:
    """Where a neuron goes at a line that does not hold it: on to the other side, back if it moves away, or as pushed if on it."""
    if came_from == 0:
        return 1 if below + above > 0 else -1
    here = above if came_from > 0 else below
    return came_from if came_from * here > slowest else -came_from


def _single(came_from: int, below: float, jump: float, slowest: float) -> Verdict:
    """The verdict at one line, with velocity `below` under it and `below + jump` over it."""
    above = below + jump
    share = np.nan
    if jump < 0.0:
        share = min(max(-below / jump, 0.0), 1.0)
        outcome = 1 if share >= 1 - ON_A_BOUND else -1 if share <= ON_A_BOUND else 0
    else:
        outcome = _through(came_from, below, above, slowest)
    return Verdict(np.array([outcome], dtype=np.int8), np.array([below]), np.array([above]), np.array([share]))


@numba.njit(cache=True, nogil=True)
def box_problem(gram: Array, q: Array, bounds: Array) -> Array:
    """min mu.gram.mu/2 - q.mu over 0 <= mu <= bounds: sweeps over the coordinates, then the free ones solved exactly."""
    size = q.shape[0]
    mu = np.zeros(size)
    for _ in range(SWEEPS):
        moved = 0.0
        for k in range(size):
            rest = q[k]
            for j in range(size):
                rest -= gram[k, j] * mu[j]
            new = min(max(mu[k] + rest / gram[k, k], 0.0), bounds[k])
            moved = max(moved, abs(new - mu[k]) / max(bounds[k], 1e-300))
            mu[k] = new
        if moved < SETTLED:
            break
    free = np.flatnonzero((mu > 0.0) & (mu < bounds))
    if free.shape[0] > 1:
        rest, inner = np.empty(free.shape[0]), np.empty((free.shape[0], free.shape[0]))
        for r in range(free.shape[0]):
            k = free[r]
            rest[r] = q[k]
            for j in range(size):
                rest[r] -= gram[k, j] * mu[j]
            for c in range(free.shape[0]):
                inner[r, c] = gram[k, free[c]]
        step = np.linalg.lstsq(inner, rest)[0]
        for r in range(free.shape[0]):
            mu[free[r]] = min(max(mu[free[r]] + step[r], 0.0), bounds[free[r]])
    return mu


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def look_at_lines(
    theta: Array, turned_normals: Array, signs: Signs, begin: int, end: int
) -> tuple[Array, Array, NDArray[np.intp]]:
    """For neurons begin..end-1: sum_h a_h z_hl and sum_h a_h |z_hl|, z = n.w, and the pairs (h, l) where z and the sign disagree.

    `turned_normals` (inputs, lines) is padded with zeros to whole tiles. The matrix z (neurons, lines) is not stored: its memory
    would cost more than computing it.
    """
    inputs, lines = theta.shape[1] - 1, turned_normals.shape[1]
    odd, even = np.zeros(lines), np.zeros(lines)
    w, normals = np.zeros(turned_normals.shape[0]), np.zeros((turned_normals.shape[0], BLOCK))
    z, block_odd, block_even = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    found = []
    for start in range(0, lines, BLOCK):
        size = min(BLOCK, lines - start)
        normals[:, :size] = turned_normals[:, start : start + size]
        block_odd[:], block_even[:] = 0.0, 0.0
        for h in range(begin, end):
            for i in range(BLOCK):
                z[i] = 0.0
            for k in range(inputs):
                w[k] = theta[h, k]
            for k in range(0, w.shape[0], INPUT_TILE):
                u0, u1, u2, u3 = w[k], w[k + 1], w[k + 2], w[k + 3]
                for i in range(BLOCK):
                    z[i] += u0 * normals[k, i] + u1 * normals[k + 1, i] + u2 * normals[k + 2, i] + u3 * normals[k + 3, i]
            a, disagree = theta[h, inputs], 0
            for i in range(BLOCK):
                block_odd[i] += a * z[i]
                block_even[i] += a * abs(z[i])
            for i in range(size):
                disagree += z[i] * signs[h, start + i] < 0.0
            if disagree:
                found.extend([(h, start + i) for i in range(size) if z[i] * signs[h, start + i] < 0.0])
        odd[start : start + size], even[start : start + size] = block_odd[:size], block_even[:size]
    pairs = np.empty((len(found), 2), dtype=np.intp)
    for k in range(len(found)):
        pairs[k, 0], pairs[k, 1] = found[k]
    return odd, even, pairs


@numba.njit(cache=True, nogil=True)
def look_at_split(
    split: Split, w: Array, a: Array, turned_normals: Array, signs: Signs
) -> tuple[Array, Array, NDArray[np.intp]] | None:
    """`look_at_lines` for neurons most of which point along one line; None if the split is not right."""
    right, sums = sums_of_split(split, turned_normals, np.ones(turned_normals.shape[1]), w.T.copy(), a)
    return (sums.linear, sums.even, disagreements(split, sums, signs)) if right else None


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def next_catch(
    theta: Array, velocity: Array, turned_normals: Array, signs: Signs, jumps: Array, within: float
) -> tuple[float, float, int, int]:
    """The first kink that will catch a free neuron if velocities (neurons, inputs) stay: wait, height, neuron and line (-1 if none)."""
    inputs, lines = velocity.shape[1], signs.shape[1]
    best, high, who, where = within, 0.0, -1, -1
    along = np.empty(lines)
    for h in range(theta.shape[0]):
        held, a = False, theta[h, inputs]
        for line in range(lines):
            held |= signs[h, line] == 0
            along[line] = 0.0
        if held:
            continue
        for k in range(inputs):
            for line in range(lines):
                along[line] += velocity[h, k] * turned_normals[k, line]
        for line in range(lines):
            here = signs[h, line] * along[line]
            if here < 0.0 and here - a * jumps[line] > 0.0:
                height = 0.0
                for k in range(inputs):
                    height += theta[h, k] * turned_normals[k, line]
                height *= signs[h, line]
                if 0.0 <= height <= -best * here and (where < 0 or height < -best * here):
                    best, high, who, where = -height / here, height, h, line
    return best, high, who, where
