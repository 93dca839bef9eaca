"""Cross or hold: what a neuron does at the kinks it touches.

Crossing line l from below to above changes the neuron's drive g by D_l n_l, D_l = (1 - alpha)/P sum over the line of |x_i| pull_i.
Held on lines N, the neuron moves with g_below + sum_l lambda_l D_l n_l, lambda_l in [0, 1], such that N g = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array, Indices, Signs
from ..apart import apart
from ..compiled import kernel, part
from ..tolerances import NO_KINK_SPEED
from .answers import ON_A_BOUND, add_push, answer_of, answered_by, box_problem, box_problem_apart, to_vertex
from .geometry import KinkArrays, Kinks
from .repelling_points import have_turned, pinned_line, sides_after_turn_apart, sides_of_descent_apart
from .single_neuron import NOBODY, NONE

MOST_TURNS = 4  # of a neuron over one line that repels, before it is let go where it is
HALVINGS = 40  # of a push that holds just withstand


@dataclass(frozen=True)
class Verdict:
    """What a neuron does at the kinks it touches: its new signs there, with velocities on both sides and multipliers.

    Velocities that are rounding are zero. Where staying on a kink that repels is possible, but not what (all) descents do, `left` is
    that kink and the velocities below and above it before holds answer.
    """

    signs: Signs
    below: Array
    above: Array
    multipliers: Array
    left: tuple[int, float, float] | None = None


def resolve(kinks: Kinks, signs: Signs, touching: Indices, sign_a: float, pull: Array) -> Verdict:
    """Decide cross or hold for a neuron that touches these lines, coming from `signs` (0 where it was held).

    In units of |a|: with mu_l = -sign_a D_l lambda_l the velocities of n_l.w are s = q - Gram mu, 0 <= mu_l <= b_l, and
    s_l > 0 forces mu_l = b_l, s_l < 0 forces mu_l = 0: the optimality conditions of min mu.Gram.mu/2 - q.mu in a box.
    A line that repels (sign_a D_l >= 0) is crossed, unless the neuron is moving away from it. Where normals depend on each other, some
    mu may be chosen: those that hold are independent, and the neuron only rests on the others, which are on their bounds.
    """
    if len(touching) == 1:
        below, above, jump, *largest = _one_line(kinks.arrays, signs, touching[0], pull)
        pushed = sign_a * np.array([below, above])
        return _single(int(signs[touching[0]]), pushed, sign_a * jump < 0.0, NO_KINK_SPEED * np.array(largest))
    normals = kinks.normals[touching]
    jumps = kinks.jumps(pull)[touching]
    base = signs.copy()
    base[touching] = 0
    drive = (kinks.slopes(base) * pull) @ kinks.x
    came_from = signs[touching]
    slowest = NO_KINK_SPEED * float(np.abs(pull) @ np.abs(kinks.lengths))
    pushes = sign_a * jumps  # what crossing each line upwards adds to the velocity along it
    gram = normals @ normals.T
    outcome, q, mu, pinned, push = settle_as_descent(gram, sign_a * (normals @ drive), pushes, came_from, slowest)
    left = (int(touching[pinned]), min(0.0, push), max(0.0, push)) if pinned >= 0 else None
    attracting = pushes < 0
    bounds, free = np.where(attracting, -pushes, 0.0), np.flatnonzero(attracting)
    multipliers = np.divide(mu, bounds, out=np.full(len(mu), np.nan), where=attracting)
    speeds = np.empty((2, len(touching)))
    for k in range(len(touching)):
        counted = not attracting[k] and outcome[k] > 0  # its push is already in q
        for side in (0, 1):
            pushed = q + (side - counted) * pushes[k] * gram[:, k]
            speeds[side, k] = _answered(k, pushed, gram, free[free != k], bounds)
    speeds[np.abs(speeds) <= slowest] = 0.0
    return Verdict(outcome, speeds[0], speeds[1], multipliers, left)


@kernel
def settle_as_descent(
    gram: Array, below: Array, pushes: Array, came_from: Signs, slowest: float
) -> tuple[Signs, Array, Array, int, float]:
    """`settle_together`, except where that keeps a neuron on a line that repels and descent would not, or where it would move away from
    such a line on either side: then the order counts in which these are met, and most descents decide.

    Where others keep it on such a line whichever side counts, it has no way out: it counts on the side where less lets go of it.

    Also that line, and what crossing it would add to the velocity along it; -1 where there is no such choice. Several lines that
    held it and now repel, as its outgoing weight has changed sign, are left as by descent: one after the other, their order would count.
    """
    begin = sides_after_turn_apart(gram, below, pushes, came_from) if have_turned(pushes, came_from) > 1 else came_from
    outcome, q, mu = settle_together(gram, below, pushes, begin, slowest)
    pinned, alike = pinned_line(gram, outcome, pushes, slowest)
    stays, push, coming = pinned >= 0, 0.0, arriving(gram, below, pushes, came_from)
    if not stays:
        pinned = _line_parting(gram, q, pushes, came_from, coming, outcome, slowest)
    if pinned >= 0:
        push = -outcome[pinned] * pushes[pinned]
        sides, ways, leaves = sides_of_descent_apart(gram, below, pushes, came_from, coming)
        if alike == 1 and _speed_away(-outcome[pinned], 0.0, gram, q, pushes, outcome, pinned) <= slowest:
            outcome[pinned] = _weaker_side(gram, q, pushes, outcome, pinned, slowest)
            outcome, q, mu = settle_together(gram, below, pushes, outcome, slowest)
        elif leaves:
            outcome, q, mu = settle_together(gram, below, pushes, sides, slowest)
        if ways == 1 and leaves != stays:  # all descents do what was found without them
            pinned = -1
    return outcome, q, mu, pinned, push


@part
def _line_parting(
    gram: Array, q: Array, pushes: Array, came_from: Signs, coming: Array, outcome: Signs, slowest: float
) -> int:  # fmt: skip
    """A line that repels, which the neuron comes to with the velocities `coming`, or crosses, and from which it would move away on the
    other side as well; -1 if there is none."""
    for k in range(pushes.shape[0]):
        comes, crosses = came_from[k] * coming[k] < -slowest, came_from[k] * outcome[k] < 0
        met = pushes[k] > slowest and (comes or crosses)  # it may also rest beside it
        if met and _speed_away(-outcome[k], 0.0, gram, q, pushes, outcome, k) > slowest:
            return k
    return -1


@part
def _weaker_side(gram: Array, q: Array, pushes: Array, outcome: Signs, line: int, slowest: float) -> int:
    """The side of a line on which less of a further push away is enough for holds to let go of a neuron: there it will leave."""
    enough, less = 0.0, 0.0
    for k in range(pushes.shape[0]):
        enough += abs(q[k]) + abs(pushes[k])
    for _ in range(HALVINGS):
        push = 0.5 * (enough + less)
        below = _speed_away(-1, push, gram, q, pushes, outcome, line) > slowest
        above = _speed_away(1, push, gram, q, pushes, outcome, line) > slowest
        if below != above:
            return 1 if above else -1
        if above:
            enough = push
        else:
            less = push
    return NONE + outcome[line]


@part
def _speed_away(side: int, push: float, gram: Array, q: Array, pushes: Array, outcome: Signs, line: int) -> float:
    """The velocity away from a line that repels on this side of it, with a further `push` away, while the attracting lines answer.

    q counts the line as in `outcome`.
    """
    size = pushes.shape[0]
    bounds, pushed, speeds = np.empty(size), np.empty(size), np.empty(size)
    for k in range(size):
        bounds[k] = max(-pushes[k], 0.0)
    add_push(gram, line, 0.5 * (side - outcome[line]) * pushes[line] + side * push, q, pushed)
    _answer(gram, pushed, bounds, speeds)
    return side * speeds[line]


settle_as_descent_apart = apart(settle_as_descent, "s1,f1,f1,i,f")


@part
def settle_together(
    gram: Array, below: Array, pushes: Array, came_from: Signs, slowest: float
) -> tuple[Signs, Array, Array]:
    """New signs of a neuron that touches several lines, velocities with the repelling ones counted as they are left, and mu.

    `below` are the velocities along the normals with all lines counted below. Lines that repel stay on their sides, except those
    that the neuron moves over while the attracting ones answer; one that held it until now is left to the side that pushes less.
    What others do once it is over one may take it back.
    """
    size = pushes.shape[0]
    outcome, turns, bounds = np.empty(size, np.int8), np.zeros(size, np.intp), np.empty(size)
    q, beyond, speeds = np.empty(size), np.empty(size), np.empty(size)
    for k in range(size):
        q[k], outcome[k] = below[k], came_from[k]
        bounds[k] = max(-pushes[k], 0.0)  # lines that repel do not answer
    for k in range(size):
        if pushes[k] >= 0.0 and outcome[k] > 0:
            add_push(gram, k, pushes[k], q, q)
    for k in range(size):
        if pushes[k] >= 0.0 and outcome[k] == 0:
            add_push(gram, k, pushes[k], q, beyond)
            _answer(gram, q, bounds, speeds)
            speed = speeds[k]
            _answer(gram, beyond, bounds, speeds)
            outcome[k] = 1 if speed + speeds[k] < 0.0 else -1
            if outcome[k] > 0:
                add_push(gram, k, pushes[k], q, q)
    while True:
        mu = _answer(gram, q, bounds, speeds)
        fastest, who = slowest, NOBODY
        for k in range(size):
            if pushes[k] >= 0.0 and turns[k] < MOST_TURNS and -outcome[k] * speeds[k] > fastest:
                fastest, who = -outcome[k] * speeds[k], k
        if who < 0:
            break
        add_push(gram, who, -outcome[who] * pushes[who], q, q)
        outcome[who], turns[who] = -outcome[who], turns[who] + 1
    to_vertex(gram, bounds, mu)
    for k in range(size):
        if bounds[k] > 0.0:  # however small its share is, a side that pushes in brings the neuron back, as at one line
            least = min(ON_A_BOUND * bounds[k], slowest)
            outcome[k] = 1 if mu[k] >= bounds[k] - least else -1 if mu[k] <= least else 0
    return outcome, q, mu


@part
def _answer(gram: Array, q: Array, bounds: Array, speeds: Array) -> Array:
    """mu of the lines that answer to q, and the velocities along all normals when they do, into `speeds`."""
    mu = box_problem_apart(gram, q, bounds)
    answered_by(gram, q, mu, speeds)
    return mu


@part
def arriving(gram: Array, below: Array, pushes: Array, came_from: Signs) -> Array:
    """Velocities along the normals with which a neuron has come here, held on the lines with sign 0."""
    size, count = pushes.shape[0], NONE
    speeds, held = below.copy(), np.empty(pushes.shape[0], np.intp)
    for j in range(size):
        if came_from[j] > 0:
            add_push(gram, j, pushes[j], speeds, speeds)
        if came_from[j] == 0:
            held[count] = j
            count += 1
    answer = answer_of(gram, speeds, held[:count], np.inf)
    for j in range(count):
        add_push(gram, held[j], -answer[j], speeds, speeds)
    return speeds


def _answered(k: int, q: Array, gram: Array, others: Indices, bounds: Array) -> float:
    """Velocity of n_k.w when the attracting lines `others` answer to q."""
    mu = box_problem(gram[np.ix_(others, others)], q[others], bounds[others])
    return float(q[k] - gram[k, others] @ mu)


def _through(came_from: int, below: float, above: float) -> int:
    """Where a neuron goes at a line that does not hold it: on to the other side, or back if it moves away or rests on its side.

    From a line that held it and now repels both sides lead away. Descent with small steps goes from side to side of such a line, and
    is mostly where it is pushed less: there it is left.
    """
    if came_from == 0:
        return 1 if below + above < 0 else -1
    here, there = (came_from * speed for speed in ((above, below) if came_from > 0 else (below, above)))
    return came_from if here > 0.0 or (here == 0.0 and there < 0.0) else -came_from


@kernel
def multiplier(below: float, above: float) -> float:
    """lambda in (0, 1) with (1 - lambda) below + lambda above = 0, where both sides push onto a kink; nan where they do not.

    >>> multiplier(1.0, -3.0), multiplier(1.0, 2.0)
    (0.25, nan)
    """
    return below / (below - above) if below > 0.0 > above else np.nan


@kernel
def _one_line(kinks: KinkArrays, signs: Signs, line: int, pull: Array) -> tuple[float, float, float, float, float]:
    """n.g of a neuron below this line and above it, its jump, and how large it could be below and above, if nothing cancelled."""
    below, above, jump, largest_below, largest_above = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(len(pull)):
        if kinks.line[i] == line:
            product = pull[i] * kinks.lengths[i]
            slope_below, slope_above = (1.0, kinks.alpha) if kinks.lengths[i] < 0.0 else (kinks.alpha, 1.0)
            jump += kinks.weights[i] * pull[i]
        else:
            product, side = 0.0, kinks.lengths[i] * signs[kinks.line[i]]
            for j in range(kinks.x.shape[1]):
                product += pull[i] * kinks.x[i, j] * kinks.normals[line, j]
            # where it is held it counts as below
            active = side > 0.0 or (side == 0.0 and kinks.lengths[i] < 0.0)
            slope_below = slope_above = 1.0 if active else kinks.alpha
        below += slope_below * product
        above += slope_above * product
        size = abs(pull[i] * kinks.lengths[i])
        largest_below += slope_below * size
        largest_above += slope_above * size
    return below, above, jump, largest_below, largest_above


def _single(came_from: int, speeds: Array, attracts: bool, slowest: Array) -> Verdict:
    """The verdict at one line with these velocities (2,) below and above it, which up to `slowest` (2,) are rounding."""
    below, above = np.where(np.abs(speeds) <= slowest, 0.0, speeds).tolist()
    share = np.nan
    if attracts:
        share = multiplier(*speeds.tolist())
        if np.isnan(share):
            share = 0.0 if speeds[0] <= 0.0 else 1.0
        # however small its share is, a side that pushes in brings the neuron back: it would be sent away and arrive for ever
        outcome = 0 if below > 0.0 > above else 1 if share >= 0.5 else -1
    else:
        outcome = _through(came_from, below, above)
    return Verdict(np.array([outcome], dtype=np.int8), np.array([below]), np.array([above]), np.array([share]))
