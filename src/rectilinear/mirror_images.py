"""Which samples are each other's mirror images: exactly by hashing, and to the precision of the data by sorting."""

from __future__ import annotations

import numpy as np

from .arrays import Array, Indices, random_axis


def mirror_pairs(x: Array, tolerance: float) -> tuple[Indices, Indices]:
    """Disjoint pairs (i, j) with x_j = -x_i to within `tolerance` of the largest entry of each column, and the rows left.

    Exact images are paired first. Cost is near-linear in the samples.
    """
    largest = np.abs(x).max(axis=0)
    units = x / np.where(largest > 0.0, tolerance * largest, 1.0) if tolerance else x
    if tolerance and not len(_with_candidates(units)[0]):  # most tables have none, and one look shows it
        return np.empty((0, 2), dtype=np.intp), np.arange(len(x))
    pairs, alone = _exact_pairs(x + 0.0)  # + 0.0 turns -0.0 into 0.0
    if alone.size < 2 or tolerance == 0.0:
        return pairs, alone
    near, left = _near_pairs(units[alone])
    return np.concatenate([pairs, alone[near]]), alone[left]


def _with_candidates(x: Array) -> tuple[Indices, Indices, Indices, Indices]:
    """Which rows may have an image with |x_i + x_j| <= 1 in every entry; the order of all, and where in it their candidates are.

    Rows are sorted along one random axis: images lie within a narrow window on its other side.
    """
    axis = random_axis(x.shape[1])
    along = x @ axis
    window = np.abs(axis).sum() + 1e-12 * np.abs(along).max()
    order = np.argsort(along, kind="stable")
    ordered = along[order]
    backwards = -ordered[::-1]  # ascending as well: looking up what is sorted is fast
    first, last = np.empty(len(x), dtype=np.intp), np.empty(len(x), dtype=np.intp)
    first[order[::-1]] = np.searchsorted(ordered, backwards - window)
    last[order[::-1]] = np.searchsorted(ordered, backwards + window, side="right")
    return np.flatnonzero(last > first), order, first, last


def _near_pairs(x: Array) -> tuple[Indices, Indices]:
    """Pairs with |x_i + x_j| <= 1 in every entry, and the rows left."""
    likely, order, first, last = _with_candidates(x)
    free = np.ones(len(x), dtype=bool)
    pairs = []
    for i in likely.tolist():
        if not free[i]:
            continue
        free[i] = False
        candidates = order[first[i] : last[i]]
        candidates = candidates[free[candidates]]
        images = candidates[np.abs(x[i] + x[candidates]).max(axis=1, initial=0.0) <= 1.0]
        if images.size:
            free[images[0]] = False
            pairs.append((i, int(images[0])))
        else:
            free[i] = True
    return np.array(pairs, dtype=np.intp).reshape(-1, 2), np.flatnonzero(free)


def _exact_pairs(x: Array) -> tuple[Indices, Indices]:
    """Pairs of rows that are each other's mirror images, and the rows left; rows are looked up by a hash of their bits."""
    multipliers = np.random.default_rng(0).integers(2**63, size=x.shape[1], dtype=np.uint64) | np.uint64(1)
    bits = [rows.view(np.uint64) for rows in (x, -x + 0.0)]
    own, mirrored = (((b ^ (b >> np.uint64(32))) * multipliers).sum(axis=1) for b in bits)
    order = np.argsort(own, kind="stable")
    if np.any(own[order][1:] == own[order][:-1]):
        return _exact_pairs_one_by_one(x)
    partner = order[np.minimum(np.searchsorted(own[order], mirrored), len(x) - 1)]
    paired = (x[partner] == -x).all(axis=1) & (partner != np.arange(len(x)))  # zero is no pair with itself
    second = np.flatnonzero(paired & (partner < np.arange(len(x))))
    return np.stack([partner[second], second], axis=1), np.flatnonzero(~paired)


def _exact_pairs_one_by_one(x: Array) -> tuple[Indices, Indices]:
    """The same where rows are repeated."""
    waiting: dict[bytes, list[int]] = {}
    pairs: list[tuple[int, int]] = []
    for i, row in enumerate(x):
        partners = waiting.get((-row + 0.0).tobytes())
        if partners:
            pairs.append((partners.pop(), i))
        else:
            waiting.setdefault(row.tobytes(), []).append(i)
    alone = sorted(i for left in waiting.values() for i in left)
    return np.array(pairs, dtype=np.intp).reshape(-1, 2), np.array(alone, dtype=np.intp)
