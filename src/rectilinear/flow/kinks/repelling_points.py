"""Points where holds keep a neuron on a kink that repels: whether descent stays there, and to which sides it leaves.

Lines whose normals depend on each other meet in more than a point: a neuron that is held on some of them is on the others as well. If one
of those repels, staying is a solution of the flow, and so is leaving: it is not unique. Gradient descent with ever smaller steps makes
a choice. Near such a point it has no scale but its step, and sees the heights z over the lines alone: z -> z + v(sgn z), with
v = below + Gram (jumps of the lines that z is above). So what it does there can be looked at once and for all steps.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Indices, Signs
from ..compiled import kernel

DEPENDENT_NORMALS = 1e-12  # squared length of a unit normal off the span of others at which it lies in it
STARTS = 24  # descents that are looked at
NEAR, STEPS = 20.0, 400  # in steps: how far they start from the point, and how many are made
LEAVING = 1.5  # times the height after half the steps that one has after all of them: twice if it leaves, once if it stays
ALONG = 1e-2  # heights over the largest that say nothing of a side
GOLDEN = 0.6180339887498949  # places within a step that are spread evenly


@kernel
def pinned_line(gram: Array, signs: Signs, pushes: Array, slowest: float) -> int:
    """A line that repels and whose normal lies in the span of those that hold (sign 0); -1 if there is none."""
    size = signs.shape[0]
    held, factor, count = np.flatnonzero(signs == 0), np.zeros((size, size)), 0
    for m in range(held.shape[0]):  # by Cholesky
        left = _project(gram, factor, held, held[m], count)
        if left > DEPENDENT_NORMALS:
            factor[count, count], held[count] = np.sqrt(left), held[m]
            count += 1
    for k in range(size):
        if signs[k] != 0 and pushes[k] > slowest and _project(gram, factor, held, k, count) <= DEPENDENT_NORMALS:
            return k
    return -1


@kernel
def _project(gram: Array, factor: Array, held: Indices, line: int, count: int) -> float:
    """Write a line's parts along the first `count` of the held ones to their next row of `factor`; the squared length of the rest."""
    left = gram[line, line]
    for j in range(count):
        total = gram[line, held[j]]
        for k in range(j):
            total -= factor[count, k] * factor[j, k]
        factor[count, j] = total / factor[j, j]
        left -= factor[count, j] * factor[count, j]
    return left


@kernel
def sides_of_descent(gram: Array, below: Array, pushes: Array, signs: Signs, coming: Array) -> tuple[Signs, int, bool]:
    """Sides of the lines that repel, where most descents go that get to a point with the velocities `coming` along the normals.

    Other signs are as given, and all of them where most stay. Also how many ways descents take, and whether most leave.
    """
    size = signs.shape[0]
    ways, votes, found = np.empty((STARTS, size), np.int8), np.zeros(STARTS, np.intp), 0
    leaves = np.zeros(STARTS, np.bool_)
    speed = np.abs(coming).max()
    if speed == 0.0:
        speed = np.abs(below).max() + np.abs(pushes).max()
    for n in range(STARTS):
        aside = np.cos((1.0 + n) * (1.0 + np.arange(size)))
        z = speed * (gram @ aside) / size - (NEAR + (n * GOLDEN) % 1.0) * coming
        way, left = signs.copy(), _descend(z, gram, below, pushes)
        if left:
            for k in range(size):
                if pushes[k] >= 0.0 and abs(z[k]) > ALONG * np.abs(z).max():
                    way[k] = 1 if z[k] > 0.0 else -1
        same = -1
        for m in range(found):
            if leaves[m] == left and (ways[m] == way).all():
                same = m
        if same < 0:
            same, ways[found], leaves[found] = found, way, left
            found += 1
        votes[same] += 1
    most = np.argmax(votes)
    return ways[most], found, leaves[most]


@kernel
def _descend(z: Array, gram: Array, below: Array, pushes: Array) -> bool:
    """Make the steps of a descent whose heights are z, in place; whether it leaves."""
    halfway = 0.0
    for step in range(STEPS):
        if step == STEPS // 2:
            halfway = np.abs(z).max()
        above = np.where(z > 0.0, pushes, 0.0)
        z += below + gram @ above
    return np.abs(z).max() > LEAVING * halfway
