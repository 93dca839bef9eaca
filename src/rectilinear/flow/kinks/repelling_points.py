"""Points where holds keep a neuron on a kink that repels: whether descent stays there, and to which sides it leaves.

Lines whose normals depend on each other meet in more than a point: a neuron that is held on some of them is on the others as well. If one
of those repels, staying is a solution of the flow, and so is leaving: it is not unique. Gradient descent with ever smaller steps makes
a choice. Near such a point it has no scale but its step, and sees the heights z over the lines alone: z -> z + v(sgn z), with
v = below + Gram (jumps of the lines that z is above). So what it does there can be looked at once and for all steps.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Indices, Signs
from ..apart import apart
from ..compiled import part, part_of_its_own
from .single_neuron import NOBODY, NONE

DEPENDENT_NORMALS = 1e-12  # squared length of a unit normal off the span of others at which it lies in it
# Descents that are looked at; fewer where hundreds of lines meet, as in tables of few values: multiply-adds of some 20 milliseconds.
DESCENTS_AT_POINT, FEWEST_DESCENTS, MOST_DESCENT_WORK = 128, 32, 1e8
# In steps: how far off they start, so that how they go from side to side of holds there does not count, and how many they make.
POINT_DISTANCE, POINT_DESCENT_STEPS = 100.0, 400
# The same where an outgoing weight changes sign, and how many steps it takes until then, times 0.6 to 1.4.
DESCENTS_PAST_TURN, HALF_TURN_STEPS = 512, 60.0
SHORTEST_TURN, LONGEST_TURN = 0.6, 1.4
LEAVING = 1.5  # times the height after half the steps that one has after all of them: twice if it leaves, once if it stays
ALONG = 1e-2  # heights over the largest that say nothing of a side
GOLDEN = 0.6180339887498949


@part
def pinned_line(gram: Array, signs: Signs, pushes: Array, slowest: float) -> tuple[int, int]:
    """The first line that repels and whose normal lies in the span of those that hold (sign 0), -1 if there is none; how many there are."""
    size, count = signs.shape[0], NONE
    held, factor = np.empty(size + 1, np.intp), np.zeros((size + 1, size))
    for line in range(size):  # by Cholesky
        if signs[line] == 0:
            left = _project(gram, factor, held, line, count)
            if left > DEPENDENT_NORMALS:
                factor[count, count], held[count] = np.sqrt(left), line
                count += 1
    first, found = NOBODY, NONE
    for line in range(size):
        repels = signs[line] != 0 and pushes[line] > slowest
        if repels and _project(gram, factor, held, line, count) <= DEPENDENT_NORMALS:
            first, found = line if found == 0 else first, found + 1
    return first, found


@part
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


@part
def _spread(n: int, k: int) -> float:
    """The nth of numbers that fill [0, 1) evenly, and with those of other k the cube: multiples of sqrt(GOLDEN + k), whose ratios are
    no fractions."""
    place = (n + 1) * np.sqrt(GOLDEN + k)
    return place - np.floor(place)


@part
def _order(below: Array, pushes: Array) -> Indices:
    """The place of every line in an order that does not depend on how they are counted."""
    size = pushes.shape[0]
    places = np.zeros(size, np.intp)
    for k in range(size):
        for j in range(size):
            first = pushes[j] < pushes[k] or (
                pushes[j] == pushes[k] and (below[j] < below[k] or (below[j] == below[k] and j < k))
            )
            places[k] += 1 if first else 0
    return places


@part
def _coordinates(gram: Array) -> tuple[Array, Indices]:
    """Rows (lines, rank) whose products are `gram`, by Cholesky with the largest pivots, and the lines (rank,) that are pivots."""
    size, rank = gram.shape[0], 0
    rows, pivots, left = np.zeros((size, size)), np.zeros(size, np.intp), np.empty(size)
    for k in range(size):
        left[k] = gram[k, k]
    while rank < size:
        pivot = np.argmax(left)
        if left[pivot] <= DEPENDENT_NORMALS:
            break
        root = np.sqrt(left[pivot])
        for k in range(size):
            total = gram[k, pivot]
            for j in range(rank):
                total -= rows[k, j] * rows[pivot, j]
            rows[k, rank] = total / root
            left[k] -= rows[k, rank] * rows[k, rank]
        pivots[rank], left[pivot] = pivot, 0.0
        rank += 1
    return rows[:, :rank], pivots[:rank]


@part
def _vector_with(heights: Array, rows: Array, pivots: Indices) -> Array:
    """The vector (rank,) of these heights over the lines, which they determine as far as their normals span."""
    vector = np.empty(pivots.shape[0])
    for i in range(pivots.shape[0]):
        vector[i] = heights[pivots[i]]
        for j in range(i):
            vector[i] -= rows[pivots[i], j] * vector[j]
        vector[i] /= rows[pivots[i], i]
    return vector


@part
def _asides(count: int, rows: Array, below: Array, pushes: Array) -> Array:
    """Evenly spread points (rank, count) beside the one where lines meet, each within a normal's length along every normal."""
    size, places = pushes.shape[0], _order(below, pushes)
    points = np.zeros((rows.shape[1], count))
    for j in range(size):
        for n in range(count):
            along = 2.0 * _spread(n, 1 + places[j]) - 1.0
            for i in range(rows.shape[1]):
                points[i, n] += rows[j, i] * along
    return points


@part
def _descend(points: Array, rows: Array, drift: Array, pushes: Array, shares: Array) -> None:
    """Make steps of all descents (rank, n), `shares` (steps, n) times as long each: a processor takes several at once."""
    (rank, count), heights, v = points.shape, np.empty(points.shape[1]), np.empty(points.shape)
    for step in range(shares.shape[0]):
        for i in range(rank):
            for n in range(count):
                v[i, n] = drift[i]
        for line in range(pushes.shape[0]):
            for n in range(count):
                heights[n] = 0.0
            for i in range(rank):
                for n in range(count):
                    heights[n] += rows[line, i] * points[i, n]
            for n in range(count):
                heights[n] = pushes[line] if heights[n] > 0.0 else 0.0
            for i in range(rank):
                for n in range(count):
                    v[i, n] += rows[line, i] * heights[n]
        for i in range(rank):
            for n in range(count):
                points[i, n] += shares[step, n] * v[i, n]


@part
def _all_heights(points: Array, rows: Array) -> Array:
    """Of all points over all lines (n, lines)."""
    heights = np.zeros((points.shape[1], rows.shape[0]))
    for n in range(points.shape[1]):
        for line in range(rows.shape[0]):
            for i in range(points.shape[0]):
                heights[n, line] += rows[line, i] * points[i, n]
    return heights


@part_of_its_own
def sides_of_descent(gram: Array, below: Array, pushes: Array, signs: Signs, coming: Array) -> tuple[Signs, int, bool]:
    """Sides of the lines that repel, where most descents go that get to a point with the velocities `coming` along the normals.

    Other signs are as given, and all of them where most stay. Also how many ways descents take, and whether most leave.
    """
    rows, pivots = _coordinates(gram)
    size, found = signs.shape[0], NONE
    many = max(FEWEST_DESCENTS, min(DESCENTS_AT_POINT, int(MOST_DESCENT_WORK / (POINT_DESCENT_STEPS * rows.size))))
    ways, votes = np.empty((many, size + 1), np.int8), np.zeros(many, np.intp)  # of each way the signs, whether it leaves
    drift, velocity = _vector_with(below, rows, pivots), _vector_with(coming, rows, pivots)
    points, shares = _asides(many, rows, below, pushes), np.ones((POINT_DESCENT_STEPS // 2, many))
    speed = _largest(coming)
    if speed == 0.0:
        speed = _largest(below) + _largest(pushes)
    for n in range(many):
        for i in range(drift.shape[0]):
            points[i, n] = speed * points[i, n] / size - (POINT_DISTANCE + _spread(n, NONE)) * velocity[i]
    _descend(points, rows, drift, pushes, shares)
    before = _all_heights(points, rows)
    _descend(points, rows, drift, pushes, shares)
    z = _all_heights(points, rows)
    for n in range(many):
        farthest = _largest(z[n])
        left = farthest > LEAVING * _largest(before[n])
        for k in range(size):
            sided = left and pushes[k] >= 0.0 and abs(z[n, k]) > ALONG * farthest
            ways[found, k] = (1 if z[n, k] > 0.0 else -1) if sided else signs[k]
        ways[found, size] = 1 if left else 0
        found = _count_vote(ways, votes, found)
    most = np.argmax(votes)
    return ways[most, :size], found, ways[most, size] > 0


sides_of_descent_apart = apart(sides_of_descent, "s1,i,b")


@part
def _count_vote(ways: Array, votes: Indices, found: int) -> int:
    """Count the way in row `found`, which is another one unless it is as one before; how many there are then."""
    for m in range(found):
        alike = True
        for k in range(ways.shape[1]):
            alike = alike and ways[m, k] == ways[found, k]
        if alike:
            votes[m] += 1
            return found
    votes[found] += 1
    return found + 1


@part
def have_turned(pushes: Array, signs: Signs) -> int:
    """How many lines held a neuron (sign 0) and repel now, as its outgoing weight has changed sign."""
    turned = 0
    for k in range(signs.shape[0]):
        turned += 1 if signs[k] == 0 and pushes[k] > 0.0 else 0
    return turned


@part_of_its_own
def sides_after_turn(gram: Array, below: Array, pushes: Array, signs: Signs) -> Signs:
    """Signs with sides for lines that held a neuron (0) and repel since its outgoing weight has changed sign: by a vote of descents.

    That weight goes through zero at a constant rate: z -> z + s v(sgn z), s from -1 to 1. Until s = 0 these lines attract, and z goes
    from side to side of all of them; after, it goes on from where that has left it.
    Where descents begin, how many steps they take and where within a step s = 0 are spread evenly, whatever the order of the lines.
    Where two ways are nearly as frequent the vote is close to a toss: the neuron of tests/test_turns.py goes one of two ways in 52 and
    47 % of 20,000 modelled descents, in 119 and 115 of 240 real ones. On 80 random turns of 2 to 4 lines the vote was that of 6,000
    random descents five times as long but for four, three of them nearly parallel lines, where descents settle slowly.
    """
    size, found = signs.shape[0], NONE
    ways, votes = np.empty((DESCENTS_PAST_TURN, size), np.int8), np.zeros(DESCENTS_PAST_TURN, np.intp)
    rows, pivots = _coordinates(gram)
    points, drift = _asides(DESCENTS_PAST_TURN, rows, below, pushes), _vector_with(below, rows, pivots)
    speed = _largest(below)
    shares = np.zeros((int(2.0 * LONGEST_TURN * HALF_TURN_STEPS), DESCENTS_PAST_TURN))
    for n in range(DESCENTS_PAST_TURN):
        half = HALF_TURN_STEPS * (SHORTEST_TURN + (LONGEST_TURN - SHORTEST_TURN) * _spread(n, NONE))
        begun = _spread(n, 1 + size)
        for step in range(int(2.0 * half)):
            shares[step, n] = (step + begun) / half - 1.0
        for i in range(drift.shape[0]):
            points[i, n] *= speed
    _descend(points, rows, drift, pushes, shares)
    z = _all_heights(points, rows)
    for n in range(DESCENTS_PAST_TURN):
        for k in range(size):
            ways[found, k] = (1 if z[n, k] > 0.0 else -1) if signs[k] == 0 and pushes[k] > 0.0 else signs[k]
        found = _count_vote(ways, votes, found)
    return ways[np.argmax(votes)]


sides_after_turn_apart = apart(sides_after_turn, "s1")


@part
def _largest(values: Array) -> float:
    largest = 0.0
    for k in range(values.shape[0]):
        largest = max(largest, abs(values[k]))
    return largest
