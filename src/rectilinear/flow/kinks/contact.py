"""Cross or hold: what a neuron does at the kinks it touches.

Crossing line l from below to above changes the neuron's drive g by D_l n_l, D_l = (1 - alpha)/P sum over the line of |x_i| pull_i.
Held on lines N, the neuron moves with g_below + sum_l lambda_l D_l n_l, lambda_l in [0, 1], such that N g = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from ...arrays import Array, Indices, Signs
from ..tolerances import NO_KINK_SPEED
from .geometry import KinkArrays, Kinks

SETS = 10  # active sets tried per kink, at most; a few are enough
SETTLED = 1e-14  # a push smaller than this share of the largest is rounding
ON_A_BOUND = 1e-10  # a multiplier this close to 0 or 1 counts as there


@dataclass(frozen=True)
class Verdict:
    """What a neuron does at the kinks it touches: its new signs there, with velocities on both sides and multipliers.

    Velocities that are rounding are zero.
    """

    signs: Signs
    below: Array
    above: Array
    multipliers: Array


def resolve(kinks: Kinks, signs: Signs, touching: Indices, sign_a: float, pull: Array) -> Verdict:
    """Decide cross or hold for a neuron that touches these lines, coming from `signs` (0 where it was held).

    In units of |a|: with mu_l = -sign_a D_l lambda_l the velocities of n_l.w are s = q - Gram mu, 0 <= mu_l <= b_l, and
    s_l > 0 forces mu_l = b_l, s_l < 0 forces mu_l = 0: the optimality conditions of min mu.Gram.mu/2 - q.mu in a box.
    A line that repels (sign_a D_l >= 0) is crossed, unless the neuron is moving away from it.
    """
    if len(touching) == 1:
        below, jump, largest = _one_line(kinks.arrays, signs, touching[0], pull)
        return _single(int(signs[touching[0]]), sign_a * below, sign_a * jump, NO_KINK_SPEED * largest)
    normals = kinks.normals[touching]
    jumps = kinks.jumps(pull)[touching]
    base = signs.copy()
    base[touching] = 0
    drive = (kinks.slopes(base) * pull) @ kinks.x
    came_from = signs[touching]
    slowest = NO_KINK_SPEED * float(np.abs(pull) @ np.abs(kinks.lengths))
    pushes = sign_a * jumps  # what crossing each line upwards adds to the velocity along it
    attracting = pushes < 0
    bounds = np.where(attracting, -pushes, 0.0)
    free = np.flatnonzero(attracting)
    gram = normals @ normals.T
    q = sign_a * (normals @ drive)
    outcome = np.zeros(len(touching), dtype=np.int8)
    for k in np.flatnonzero(~attracting).tolist():
        below, above = (_answered(k, q + side * pushes[k] * gram[:, k], gram, free, bounds) for side in (0.0, 1.0))
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
            sides[side, k] = _answered(k, pushed, gram, free[free != k], bounds)
    sides[np.abs(sides) <= slowest] = 0.0
    return Verdict(outcome, sides[0], sides[1], multipliers)


def _answered(k: int, q: Array, gram: Array, others: Indices, bounds: Array) -> float:
    """Velocity of n_k.w when the attracting lines `others` answer to q."""
    mu = box_problem(gram[np.ix_(others, others)], q[others], bounds[others])
    return float(q[k] - gram[k, others] @ mu)


def _through(came_from: int, below: float, above: float, slowest: float) -> int:
    """Where a neuron goes at a line that does not hold it: on to the other side, or back if it moves away or rests on its side.

    From a line that held it and now repels both sides lead away. Descent with small steps goes from side to side of such a line, and
    is mostly where it is pushed less: there it is left.
    """
    if came_from == 0:
        return 1 if below + above < 0 else -1
    here, there = (came_from * speed for speed in ((above, below) if came_from > 0 else (below, above)))
    rests = here >= -slowest and there < -slowest
    return came_from if here > slowest or rests else -came_from


@numba.njit(cache=True, nogil=True)
def multiplier(below: float, above: float) -> float:
    """lambda in (0, 1) with (1 - lambda) below + lambda above = 0, where both sides push onto a kink; nan where they do not.

    >>> multiplier(1.0, -3.0), multiplier(1.0, 2.0)
    (0.25, nan)
    """
    return below / (below - above) if below > 0.0 > above else np.nan


@numba.njit(cache=True, nogil=True)
def _one_line(kinks: KinkArrays, signs: Signs, line: int, pull: Array) -> tuple[float, float, float]:
    """n.g of a neuron below this line, the jump of n.g over it, and how large n.g could be; where it is held it counts as below."""
    below, jump, largest = 0.0, 0.0, 0.0
    for i in range(len(pull)):
        side = 0 if kinks.line[i] == line else signs[kinks.line[i]]
        active = kinks.lengths[i] * side > 0.0 or (side == 0 and kinks.lengths[i] < 0.0)
        along = 0.0
        for j in range(kinks.x.shape[1]):
            along += kinks.x[i, j] * kinks.normals[line, j]
        below += (1.0 if active else kinks.alpha) * pull[i] * along
        largest += abs(pull[i] * kinks.lengths[i])
        if kinks.line[i] == line:
            jump += kinks.weights[i] * pull[i]
    return below, jump, largest


def _single(came_from: int, below: float, jump: float, slowest: float) -> Verdict:
    """The verdict at one line, with velocity `below` under it and `below + jump` over it."""
    above = below + jump
    share = np.nan
    if jump < 0.0:
        share = multiplier(below, above)
        if np.isnan(share):
            share = 0.0 if below <= 0.0 else 1.0
        outcome = 1 if share >= 1 - ON_A_BOUND else -1 if share <= ON_A_BOUND else 0
    else:
        outcome = _through(came_from, below, above, slowest)
    below, above = (0.0 if abs(speed) <= slowest else speed for speed in (below, above))
    return Verdict(np.array([outcome], dtype=np.int8), np.array([below]), np.array([above]), np.array([share]))


@numba.njit(cache=True, nogil=True)
def box_problem(gram: Array, q: Array, bounds: Array) -> Array:
    """min mu.gram.mu/2 - q.mu over 0 <= mu <= bounds by active sets: finitely many, also where lines nearly coincide.

    Coordinates are free or on a bound. The free ones go towards their minimiser, up to the first bound in the way, which holds the
    coordinate that meets it; where none does, the coordinate that is pushed hardest off its bound is freed. After Stark & Parker,
    "Bounded-variable least-squares" (1995).
    """
    size = q.shape[0]
    mu, free = np.zeros(size), np.zeros(size, np.bool_)
    slack = SETTLED * np.abs(q).max() if size else 0.0
    for _ in range(SETS * (size + 1)):
        chosen = np.flatnonzero(free)
        if chosen.shape[0]:
            share, held = _towards_minimum(gram, q, bounds, mu, chosen)
            if share < 1.0:
                free[held] = False
                continue
        push = q - gram @ mu
        best, hardest = slack, -1
        for k in range(size):
            inward = push[k] if mu[k] <= 0.0 else -push[k] if mu[k] >= bounds[k] else 0.0
            if not free[k] and inward > best:
                best, hardest = inward, k
        if hardest < 0:
            break
        free[hardest] = True
    return mu


@numba.njit(cache=True, nogil=True)
def _towards_minimum(gram: Array, q: Array, bounds: Array, mu: Array, chosen: Indices) -> tuple[float, int]:
    """Move these coordinates to where they minimise the rest, or up to a bound: the share of the way, and who met the bound."""
    count = chosen.shape[0]
    push, inner = np.empty(count), np.empty((count, count))
    for r in range(count):
        push[r] = q[chosen[r]]
        for j in range(q.shape[0]):
            push[r] -= gram[chosen[r], j] * mu[j]
        for c in range(count):
            inner[r, c] = gram[chosen[r], chosen[c]]
    way = np.linalg.lstsq(inner, push)[0]
    share, held = 1.0, -1
    for r in range(count):
        room = bounds[chosen[r]] - mu[chosen[r]] if way[r] > 0.0 else mu[chosen[r]]
        if abs(way[r]) * share > room:
            share, held = room / abs(way[r]), r
    for r in range(count):
        k = chosen[r]
        mu[k] = min(max(mu[k] + share * way[r], 0.0), bounds[k])
    if held < 0:
        return 1.0, -1
    k = chosen[held]
    mu[k] = bounds[k] if way[held] > 0.0 else 0.0
    return share, k
