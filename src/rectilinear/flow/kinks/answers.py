"""How lines that a neuron touches answer to a push: those that attract hold it back, each up to a bound, as far as that can be.

With the Gram matrix of their normals and velocities q along these, mu in [0, bounds] are the answers and q - Gram mu the velocities left.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Indices, Mask
from ..apart import apart
from ..compiled import kernel, part
from ..small_systems import solve_dependent
from .repelling_points import DEPENDENT_NORMALS
from .single_neuron import NONE

SETS = 10  # active sets tried per kink, at most; a few are enough
NO_PUSH = 1e-14  # a push smaller than this share of the largest is rounding
ON_A_BOUND = 1e-10  # a multiplier this close to 0 or 1 counts as there


@kernel
def box_problem(gram: Array, q: Array, bounds: Array) -> Array:
    """min mu.gram.mu/2 - q.mu over 0 <= mu <= bounds by active sets: finitely many, also where lines nearly coincide.

    Coordinates are free or on a bound. The free ones go towards their minimiser, up to the first bound in the way, which holds the
    coordinate that meets it; where none does, the coordinate that is pushed hardest off its bound is freed. After Stark & Parker,
    "Bounded-variable least-squares" (1995).
    """
    size = q.shape[0]
    mu, pushed, free, slack = np.zeros(size), q.copy(), np.zeros(size, np.bool_), 0.0
    for k in range(size):
        slack = max(slack, NO_PUSH * abs(q[k]))
    freed = False
    for _ in range(SETS * (size + 1)):
        if freed:
            share, held = _towards_minimum(gram, pushed, bounds, mu, free, slack)
            answered_by(gram, q, mu, pushed)
            if share < 1.0:
                free[held] = False
                continue
        best, hardest = slack, -1
        for k in range(size):
            inward = pushed[k] if mu[k] <= 0.0 else -pushed[k] if mu[k] >= bounds[k] else 0.0
            if not free[k] and bounds[k] > 0.0 and inward > best:
                best, hardest = inward, k
        if hardest < 0:
            break
        free[hardest], freed = True, True
    return mu


box_problem_apart = apart(box_problem, "f1")


@part
def _towards_minimum(gram: Array, pushed: Array, bounds: Array, mu: Array, free: Mask, rounding: float) -> tuple[float, int]:
    """Move the free coordinates to where they minimise the rest, or up to a bound: the share of the way, and who met the bound."""
    size, count = mu.shape[0], NONE
    some = np.empty(size, np.intp)
    for k in range(size):
        some[count] = k
        count += 1 if free[k] else 0
    way = answer_of(gram, pushed, some[:count], rounding)
    share, held = 1.0, -1
    for n in range(count):
        k = some[n]
        room = bounds[k] - mu[k] if way[n] > 0.0 else mu[k]
        if abs(way[n]) * share > room:
            share, held = room / abs(way[n]), n
    for n in range(count):
        k = some[n]
        mu[k] = min(max(mu[k] + share * way[n], 0.0), bounds[k])
    if held < 0:
        return share, held
    k = some[held]
    mu[k] = bounds[k] if way[held] > 0.0 else 0.0
    return share, k


@part
def to_vertex(gram: Array, bounds: Array, mu: Array) -> None:
    """Move mu, without changing the push sum_l mu_l n_l, until the normals of kinks strictly between their bounds are independent."""
    count = mu.shape[0]
    factor, c, kept = np.zeros((count, count)), np.zeros(count), np.zeros(count, np.intp)
    moved = True
    while moved:
        moved, number = False, 0
        for m in range(count):
            if not (bounds[m] > 0.0 and ON_A_BOUND < mu[m] / bounds[m] < 1.0 - ON_A_BOUND):
                continue
            left = gram[m, m]
            for j in range(number):
                total = gram[m, kept[j]]
                for k in range(j):
                    total -= factor[number, k] * factor[j, k]
                factor[number, j] = total / factor[j, j]
                left -= factor[number, j] * factor[number, j]
            if left > DEPENDENT_NORMALS:
                factor[number, number] = np.sqrt(left)
                kept[number] = m
                number += 1
                continue
            for j in range(number - 1, -1, -1):  # n_m = sum_j c_j n_j
                c[j] = factor[number, j]
                for k in range(j + 1, number):
                    c[j] -= factor[k, j] * c[k]
                c[j] /= factor[j, j]
            nearest, who = bounds[m] - mu[m], m
            for j in range(number):
                room = mu[kept[j]] if c[j] > 0.0 else bounds[kept[j]] - mu[kept[j]]
                if abs(c[j]) * nearest > room:
                    nearest, who = room / abs(c[j]), kept[j]
            mu[m] += nearest
            for j in range(number):
                mu[kept[j]] -= nearest * c[j]
            mu[who] = bounds[who] if mu[who] > 0.5 * bounds[who] else 0.0
            moved = True
            break


@part
def add_push(gram: Array, line: int, push: float, q: Array, moved: Array) -> None:
    """Velocities along all normals when a line pushes: q + push n_line, into `moved`."""
    for k in range(q.shape[0]):
        moved[k] = q[k] + push * gram[line, k]


@part
def answered_by(gram: Array, q: Array, mu: Array, speeds: Array) -> None:
    """q - Gram mu into `speeds`: of hundreds of lines that meet few answer, and a processor takes several others at once."""
    for k in range(q.shape[0]):
        speeds[k] = q[k]
    for j in range(q.shape[0]):
        if mu[j] != 0.0:
            add_push(gram, j, -mu[j], speeds, speeds)


@part
def answer_of(gram: Array, speeds: Array, some: Indices, rounding: float) -> Array:
    """mu of `some` lines that brings the velocities along these to zero."""
    count = some.shape[0]
    answer, inner = np.empty(count), np.empty((count, count))
    for k in range(count):
        answer[k] = speeds[some[k]]
        for j in range(count):
            inner[k, j] = gram[some[k], some[j]]
    solve_dependent(inner, answer, rounding)
    return answer
