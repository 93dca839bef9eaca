"""How far points are from their mirror images: who has a partner, and the distance of the best matching of x with -x.

Cost is near-linear in the samples: exact partners by hashing, near ones by a k-d tree whose search stops at a tolerance (so
it prunes in any dimension), and the optimal matching, cubic, only within samples few enough for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from ..arrays import Array, Indices
from ..dataset import Dataset

MIRROR_TOLERANCE = 0.01  # of rms|x|: how far from -x a sample may lie to count as the mirror image of x
NEIGHBOURS = 8  # candidates for a partner that each sample looks at
MATCHED_AT_ONCE = 2000  # samples whose optimal matching takes a second
CHUNK = 128  # samples matched among themselves where there are more


@dataclass(frozen=True, eq=False)
class MatchingDistance:
    """W_2(x, -x) relative to rms|x|, `at_least` and `at_most`: equal for an optimal matching. `partners` (n,) reach `at_most`.

    0 for even inputs, 2 for samples that all are one point. `method` says how it was found.
    """

    at_least: float
    at_most: float
    partners: Indices
    method: str


def near_pairs(x: Array, tolerance: float = MIRROR_TOLERANCE) -> tuple[Indices, Indices]:
    """Disjoint pairs (i, j) with |x_i + x_j| <= tolerance rms|x|, nearest first, and the samples left alone.

    A sample that near to zero is its own image, a pair (i, i). Exact images are paired before near ones. No two samples left
    alone are near images of each other, so that at least half as many are paired as by the largest possible pairing.

    >>> pairs, alone = near_pairs(np.array([[1.0, 0.0], [-1.001, 0.0], [0.0, 1.0]]))
    >>> sorted(pairs[0].tolist()), alone.tolist()
    ([0, 1], [2])
    """
    exact, alone = Dataset(x, np.zeros(len(x))).mirror_pairs
    reach = tolerance * float(np.sqrt(np.mean(np.sum(x**2, axis=1))))
    found = [exact]
    pairs = alone
    while alone.size and pairs.size:  # whoever had all candidates taken looks for others
        pairs, alone = _paired_once(x, alone, reach)
        found.append(pairs)
    return np.concatenate(found), alone


def _paired_once(x: Array, samples: Indices, reach: float) -> tuple[Indices, Indices]:
    """Pairs among `samples`, nearest first, each of which has a few candidates; and those left alone."""
    points, index = np.unique(x[samples], axis=0, return_inverse=True)
    waiting = _members(samples, index.ravel(), len(points))
    ranks = min(NEIGHBOURS, len(points))
    nearest = scipy.spatial.KDTree(points).query(-points, k=list(range(1, ranks + 1)), distance_upper_bound=reach)
    distances, neighbours = (np.asarray(found) for found in nearest)
    one, rank = np.nonzero(np.isfinite(distances))
    order = np.argsort(distances[one, rank], kind="stable")
    pairs: list[tuple[int, int]] = []
    for i, j in zip(one[order].tolist(), neighbours[one, rank][order].tolist(), strict=True):
        if i == j:  # so near to zero that each is its own image
            pairs += [(k, k) for k in waiting[i]]
            waiting[i].clear()
        while i != j and waiting[i] and waiting[j]:
            pairs.append((waiting[i].pop(), waiting[j].pop()))
    alone = sorted(k for members in waiting for k in members)
    return np.array(pairs, dtype=np.intp).reshape(-1, 2), np.array(alone, dtype=np.intp)


def matching_distance(x: Array, near: tuple[Indices, Indices] | None = None) -> MatchingDistance:
    """The distance W_2(x, -x) of optimal matching: exact for few samples, between two bounds for many.

    W_2^2 is the least mean of |x_i + x_pi(i)|^2 over permutations pi. From below: along every axis of an orthonormal basis the
    sorted values are the optimal matching, and their squared distances add up to at most W_2^2 (the better of the given and
    the principal axes). From above: near partners (`near_pairs`, given as `near` or found) are matched, and the others in order
    along their first principal axis, optimally within chunks. A single input is matched by sorting, whatever the samples.

    >>> round(matching_distance(np.array([[1.0], [-1.5]])).at_most, 4)  # |1 - 1.5| / sqrt((1 + 2.25) / 2)
    0.3922
    """
    spread = float(np.sqrt(np.mean(np.sum(x**2, axis=1))))
    if len(x) <= MATCHED_AT_ONCE or x.shape[1] == 1:
        partners = _sorted_partners(x[:, 0]) if x.shape[1] == 1 else _assigned(x, x)
        distance = _distance(x, partners) / spread
        return MatchingDistance(distance, distance, partners, "optimal matching")
    pairs, alone = near_pairs(x) if near is None else near
    partners = partners_of_many(x, pairs, alone)
    at_most = _distance(x, partners) / spread
    if at_most == 0.0:
        return MatchingDistance(0.0, 0.0, partners, "exact mirror images")
    bases = [x, x @ principal_axes(x.T @ x)] if x.shape[1] <= MATCHED_AT_ONCE else [x]
    at_least = max(_sorted_distance(along) for along in bases) / spread
    return MatchingDistance(min(at_least, at_most), at_most, partners, "bounds: sorted axes from below, chunks from above")


def principal_axes(second_moment: Array) -> Array:
    """Eigenvectors of x^T x (d, d) as columns, the largest eigenvalue first."""
    return np.asarray(np.linalg.eigh(second_moment)[1][:, ::-1])


def _members(rest: Indices, index: Indices, points: int) -> list[list[int]]:
    """The samples at each distinct point, the first last, so that it is paired first."""
    members: list[list[int]] = [[] for _ in range(points)]
    for k, point in zip(rest[::-1].tolist(), index[::-1].tolist(), strict=True):
        members[point].append(k)
    return members


def _sorted_partners(values: Array) -> Indices:
    order = np.argsort(values, kind="stable")
    partners = np.empty(len(values), dtype=np.intp)
    partners[order] = order[::-1]
    return partners


def partners_of_many(x: Array, pairs: Indices, alone: Indices) -> Indices:
    """Pairs as they are, the others in order along their first principal axis, optimally within chunks."""
    small = alone.size and x.shape[1] <= MATCHED_AT_ONCE
    along = x @ principal_axes(x.T @ x)[:, 0] if small else x[:, 0]
    partners = np.empty(len(x), dtype=np.intp)
    partners[pairs[:, 0]], partners[pairs[:, 1]] = pairs[:, 1], pairs[:, 0]
    rising = alone[np.argsort(along[alone], kind="stable")]
    for start in range(0, len(rising), CHUNK):
        own, opposite = rising[start : start + CHUNK], rising[::-1][start : start + CHUNK]
        partners[own] = opposite[_assigned(x[own], x[opposite])]
    return partners


def _assigned(x: Array, others: Array) -> Indices:
    """The permutation pi that minimises the sum of |x_i + others_pi(i)|^2."""
    return np.asarray(scipy.optimize.linear_sum_assignment(scipy.spatial.distance.cdist(x, -others, "sqeuclidean"))[1])


def _distance(x: Array, partners: Indices) -> float:
    return float(np.sqrt(np.mean(np.sum((x + x[partners]) ** 2, axis=1))))


def _sorted_distance(along: Array) -> float:
    """sqrt of the sum over axes of the squared W_2 between the values on that axis and their negatives."""
    squares = 0.0
    for values in np.sort(np.ascontiguousarray(along.T), axis=1):
        squares += float(np.mean((values + values[::-1]) ** 2))
    return float(np.sqrt(squares))
