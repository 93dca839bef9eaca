"""Ways out of w = 0, where a neuron touches all kinks at once.

Near w = 0 the velocity is that of a potential that is homogeneous in w, and every ray along which it has a positive local maximum
leads away: there may be several, and the flow through w = 0 is then not unique. Gradient descent with ever smaller steps makes a
choice. Near w = 0 it has no scale but its step, w -> w + v(w/|w|), so what it does there can be looked at once and for all steps.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Signs
from ..compiled import kernel
from ..state import row_lengths
from ..tolerances import AT_ORIGIN, NO_KINK_SPEED, TINY
from .contact import resolve
from .geometry import Kinks

EXITS = 200  # kinks met by a neuron that leaves the origin
DESCENTS_PAST_ORIGIN = 24  # of descent along the way a neuron came
MOST_DIRECTIONS = 40  # of samples, from which it starts too, to see which rays there are
START_DISTANCE, ORIGIN_DESCENT_STEPS = 20.0, 400  # in steps: how far it starts from w = 0, and how many it makes
FIRST_ASCENT, LAST_ASCENT, FINEST_ASCENT, ASCENTS = 0.5, 0.01, 1e-5, 60  # steps of ascent on the unit sphere
MOST_ASCENT_WORK, FEWEST_ASCENTS = 1e6, 6  # multiply-adds, a millisecond or so; but so many starts at least
SAME_MAXIMUM = 0.99  # cosine of directions that are near one maximum
# The same to count ways: with longer steps ascents pass over low maxima, and maxima may be this near each other.
SHORT_ASCENT, COUNTED_MAXIMUM = 0.05, 0.999
SAME_RAY = 0.9999  # cosine of directions that are one


def exit_from_origin(kinks: Kinks, sign_a: float, pull: Array, directions: list[Array]) -> Signs | None:
    """The pattern with which a neuron at w = 0 leaves; None if it is pushed back whichever way it starts.

    Near w = 0 the velocity sign_a g depends on the direction of w alone. It is traced from kink to kink, from each of
    `directions` and then from where the potential is highest, until no kink lies ahead (it has left) or it is back at w = 0.
    """
    for direction in directions:
        after = _trace(kinks, direction, sign_a, pull)
        if after is not None:
            return after
    for direction in _highest(kinks, sign_a, pull):
        after = _trace(kinks, direction, sign_a, pull)
        if after is not None:
            return after
    return None


def count_exits(kinks: Kinks, sign_a: float, pull: Array) -> int:
    """How many ways lead out of w = 0."""
    maxima = _highest(kinks, sign_a, pull, SHORT_ASCENT, COUNTED_MAXIMUM)
    traced = [_trace(kinks, direction, sign_a, pull) for direction in maxima]
    return len({way.tobytes() for way in traced if way is not None})


def highest_potential(kinks: Kinks, sign_a: float, pull: Array) -> float:
    """The largest potential sign_a sum_i pull_i sigma(u.x_i) of a unit vector u, up to FINEST_ASCENT of the largest possible one.

    Where its sign is beyond doubt it is known up to LAST_ASCENT only.
    """
    w, highest, slopes = _ascended(kinks, sign_a, pull, FIRST_ASCENT)
    best = int(np.argmax(highest))
    if not -LAST_ASCENT * _largest(kinks, pull) < highest[best] <= 0.0:
        return float(highest[best])
    return float(_ascend(w[[best]], kinks.normals, *slopes, LAST_ASCENT, FINEST_ASCENT)[0])


def _largest(kinks: Kinks, pull: Array) -> float:
    """The largest potential possible, whatever the signs of its terms."""
    return float(np.abs(pull) @ np.linalg.norm(kinks.x, axis=1))


def _highest(kinks: Kinks, sign_a: float, pull: Array, first: float = FIRST_ASCENT, same: float = SAME_MAXIMUM) -> Array:
    """Directions (few, inputs) near local maxima of the potential sign_a sum_i pull_i sigma(w.x_i) that may be positive, best first.

    They are found by ascent on the sphere in steps that shrink from `first` to LAST_ASCENT; what these leave is no more than so much of
    the largest slope.
    """
    w, highest, _ = _ascended(kinks, sign_a, pull, first)
    least = -LAST_ASCENT * _largest(kinks, pull)
    order = [k for k in np.argsort(-highest, kind="stable") if highest[k] > least]
    kept: list[int] = []
    for k in order:
        if all(w[k] @ w[other] < same for other in kept):
            kept.append(int(k))
    return np.asarray(w[kept])


def _ascended(kinks: Kinks, sign_a: float, pull: Array, first: float) -> tuple[Array, Array, tuple[Array, Array]]:
    """Unit vectors near maxima, from the samples' own directions (of many samples the best); their potentials; `_ascend`'s slopes."""
    own = np.sign(sign_a * pull)[:, None] * kinks.x
    tried = own[:: 1 + len(own) // MOST_DIRECTIONS]
    starts = np.concatenate([own.sum(axis=0)[None], tried, -tried])
    lengths = np.linalg.norm(starts, axis=1)
    w = starts[lengths > 0.0] / lengths[lengths > 0.0, None]
    base, halves = 0.5 * (1.0 + kinks.alpha) * sign_a * (pull @ kinks.x), 0.5 * sign_a * kinks.jumps(pull)
    most = max(FEWEST_ASCENTS, int(MOST_ASCENT_WORK / (ASCENTS * kinks.normals.size)))
    if len(w) > most:
        potentials = w @ base + np.abs(w @ kinks.normals.T) @ halves
        w = w[np.argsort(-potentials, kind="stable")[:most]]
    return w, _ascend(w, kinks.normals, base, halves, first, LAST_ASCENT), (base, halves)


def _ascend(directions: Array, normals: Array, base: Array, halves: Array, first: float, last: float) -> Array:
    """Move unit vectors u (m, inputs), in place, to the highest point met on an ascent of base.u + sum_l halves_l |n_l.u|: its heights.

    Its steps shrink from `first` to `last`.
    """
    u, highest = directions.copy(), np.full(len(directions), -np.inf)
    for step in np.geomspace(first, last, ASCENTS):
        slopes = base + np.where(u @ normals.T > 0.0, halves, -halves) @ normals
        heights = np.einsum("mj,mj->m", u, slopes)
        np.copyto(directions, u, where=(heights > highest)[:, None])
        np.maximum(highest, heights, out=highest)
        lengths = np.maximum(row_lengths(slopes), TINY)
        u += (step / lengths)[:, None] * slopes
        u /= np.sqrt(1.0 + step * (step + 2.0 * heights / lengths))[:, None]  # its length, as u was a unit vector
    return highest


def way_of_descent(kinks: Kinks, sign_a: float, pull: Array, coming: Array) -> tuple[Signs | None, int]:
    """The pattern with which most descents leave w = 0 that get there with the velocity `coming`, and how many ways they take.

    None if none leaves. Descents from the directions of the samples are looked at too, to see which ways there are.
    """
    found: list[tuple[Array, Signs | None]] = []  # directions met, and the ways they lead to
    votes: dict[bytes, int] = {}
    ways: dict[bytes, Signs] = {}
    lost = False  # whether one that comes along does not leave
    for k, direction in enumerate(_descents(kinks, sign_a, pull, coming)):
        near = [way for other, way in found if other @ direction > SAME_RAY]
        way = near[0] if near else _trace(kinks, direction, sign_a, pull) if direction.any() else None
        if not near:
            found.append((direction, way))
        if way is not None:
            ways[way.tobytes()] = way
            votes[way.tobytes()] = votes.get(way.tobytes(), 0) + (k < DESCENTS_PAST_ORIGIN)
        lost = lost or (way is None and k < DESCENTS_PAST_ORIGIN)
    if not any(votes.values()):
        return None, len(ways)
    return ways[max(votes, key=lambda name: votes[name])], len(ways) + lost


def _descents(kinks: Kinks, sign_a: float, pull: Array, coming: Array) -> Array:
    """Directions (starts, inputs) in which descents settle: DESCENTS_PAST_ORIGIN come along `coming`, others from samples.

    They are zero for one that stays at w = 0.
    """
    golden = 0.5 * (np.sqrt(5.0) - 1.0)
    # Places within a step, evenly spread; and as much aside.
    distances = START_DISTANCE + np.arange(DESCENTS_PAST_ORIGIN) * golden % 1.0
    units = kinks.x / np.maximum(np.linalg.norm(kinks.x, axis=1), TINY)[:, None]  # whatever the coordinates
    aside = np.cos(np.multiply.outer(1.0 + np.arange(DESCENTS_PAST_ORIGIN), 1.0 + np.arange(len(units)))) @ units
    aside /= np.maximum(np.linalg.norm(aside, axis=1), TINY)[:, None]
    size, own = float(np.linalg.norm(coming)), units[:: 1 + 2 * len(units) // MOST_DIRECTIONS]
    w = np.concatenate(
        [-np.multiply.outer(distances, coming) + size * aside, START_DISTANCE * size * own, -START_DISTANCE * size * own]
    )
    mean = _mean_of_descents(w, kinks.x, sign_a * pull, kinks.alpha)
    return np.asarray(mean / np.maximum(np.linalg.norm(mean, axis=1), TINY)[:, None])


@kernel
def _mean_of_descents(starts: Array, x: Array, push: Array, alpha: float) -> Array:
    """The means (starts, inputs) over the second half of the way, as along a kink it goes from side to side."""
    samples, d = x.shape
    mean, now, before = np.zeros_like(starts), np.empty(d), np.empty(d)
    for n in range(len(starts)):
        for j in range(d):
            now[j] = starts[n, j]
        for step in range(ORIGIN_DESCENT_STEPS):
            for j in range(d):
                before[j] = now[j]
            for i in range(samples):
                height = 0.0
                for j in range(d):
                    height += before[j] * x[i, j]
                slope = push[i] if height > 0.0 else alpha * push[i]
                for j in range(d):
                    now[j] += slope * x[i, j]
            if step >= ORIGIN_DESCENT_STEPS // 2:
                for j in range(d):
                    mean[n, j] += now[j]
    return mean


def _trace(kinks: Kinks, direction: Array, sign_a: float, pull: Array) -> Signs | None:
    length = float(np.linalg.norm(direction))
    if length == 0.0:
        return None
    w, largest = direction / length, _largest(kinks, pull)
    heights = kinks.normals @ w
    signs = np.sign(heights).astype(np.int8)
    touching = np.flatnonzero(np.abs(heights) <= AT_ORIGIN)
    signs[touching] = 0
    for _ in range(EXITS):
        if touching.size:
            signs[touching] = resolve(kinks, signs, touching, sign_a, pull).signs
        velocity = sign_a * (pull @ kinks.seen(signs))
        speed = float(np.linalg.norm(velocity))
        if speed <= AT_ORIGIN * largest:
            return None
        heights, rates = signs * (kinks.normals @ w), signs * (kinks.normals @ velocity) / speed
        # where pulls nearly cancel, what rounding leaves along a kink that it rests on would be ahead of it for ever
        ahead = np.flatnonzero((rates < -max(AT_ORIGIN, NO_KINK_SPEED * largest / speed)) & (signs != 0))
        if not ahead.size:
            return signs
        waits = np.maximum(heights[ahead], 0.0) / -rates[ahead]
        wait = float(waits.min())
        w = w + wait * velocity / speed
        if np.linalg.norm(w) <= AT_ORIGIN:
            return None
        touching = np.union1d(ahead[waits <= wait * (1 + AT_ORIGIN)], np.flatnonzero(signs == 0)).astype(np.intp)
    return None
