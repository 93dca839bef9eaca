"""Neurons of one pattern move together: a group of any size is carried by at most inputs + 1 vectors.

All neurons of a group obey the same linear equation d(w, a)/dt = B(g)(w, a), and the output sees only the sum of
(w, a)(w, a)^T over the group. So with the neurons Theta = C Q (C has at most inputs + 1 columns, Q orthonormal rows) the columns
of C act as neurons themselves, and Theta(t) = C(t) Q at all later times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from .kinks import Kinks, Signs
from .radau import ALL_NODES, NODES, STAGES

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

DECADES_TOGETHER = (
    4  # neurons whose sizes differ by more decades are not mixed in one basis: the small would drown in rounding
)

BARYCENTRIC = 1.0 / np.prod(ALL_NODES[:, None] - ALL_NODES[None, :] + np.eye(STAGES + 1), axis=1)
# integral from 0 to u of the polynomial through values at the stage nodes: powers of u times this matrix
_ANTIDERIVATIVE = np.linalg.inv(NODES[:, None] ** np.arange(STAGES)) / np.arange(1, STAGES + 1)[:, None]


def basis_at(u: float) -> Array:
    """Values at u of the Lagrange polynomials of the nodes 0, c_1, ..., c_5."""
    gaps = u - ALL_NODES
    if (gaps == 0.0).any():
        return (gaps == 0.0).astype(np.float64)
    terms = BARYCENTRIC / gaps
    return terms / terms.sum()


def integral_weights(u: float) -> Array:
    """Weights (5,) of stage values in the integral from 0 to u, in units of the step."""
    return u ** np.arange(1, STAGES + 1) @ _ANTIDERIVATIVE


@dataclass
class Groups:
    """The moving neurons by pattern: `carried` (carriers, inputs + 1) in groups, `seen` (groups, samples, inputs).

    Neuron h of group k is `mix[h] @ carried[first[k] : first[k] + inputs + 1]`; neurons that cannot move have group -1.
    """

    carried: Array
    group: Indices  # (carriers,) the group of each carrier
    seen: Array
    first: Indices  # (groups,) where a group's carriers begin
    counts: Indices  # (groups,) how many there are
    of_neuron: Indices  # (neurons,)
    mix: Array  # (neurons, inputs + 1)
    patterns: Signs  # (groups, lines)
    sign_a: Array  # (groups,) common sign of a_h in held groups

    def neurons(self, carried: Array, resting: Array) -> Array:
        """All neurons (neurons, inputs + 1), given the carriers and the neurons at rest."""
        theta = resting.copy()
        width = carried.shape[1]
        for k in range(len(self.first)):
            members = self.of_neuron == k
            count = self.counts[k]
            theta[members] = self.mix[members][:, :count] @ carried[self.first[k] : self.first[k] + count].reshape(
                count, width
            )
        return theta


def make_groups(kinks: Kinks, theta: Array, signs: Signs) -> Groups:
    """Group neurons theta (neurons, inputs + 1) by their patterns (neurons, lines)."""
    neurons, width = theta.shape
    sizes = np.linalg.norm(theta, axis=1)
    with np.errstate(divide="ignore"):
        decades = np.floor(np.log10(sizes) / DECADES_TOGETHER)
    held = (signs == 0).any(axis=1)
    keys = np.concatenate(
        [signs, np.where(held, np.sign(theta[:, -1]), 0.0)[:, None], np.nan_to_num(decades, neginf=-100.0)[:, None]], axis=1
    ).astype(np.int8)
    unique, first_member, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    inverse = inverse.ravel()
    carried, group, seen, first, counts, patterns, sign_a = [], [], [], [], [], [], []
    of_neuron = np.full(neurons, -1, dtype=np.intp)
    mix = np.zeros((neurons, width))
    for number in range(len(unique)):
        pattern = signs[first_member[number]]
        view = kinks.seen(pattern)
        if not view.any() or sizes[first_member[number]] == 0.0:
            continue  # nothing drives these neurons: they rest
        members = np.flatnonzero(inverse == number)
        k = len(first)
        if len(members) <= width:
            columns, coefficients = theta[members], np.eye(len(members))
        else:
            left, values, right = np.linalg.svd(theta[members], full_matrices=False)
            kept = values > 1e-15 * values[0]
            columns, coefficients = values[kept, None] * right[kept], left[:, kept]
        of_neuron[members] = k
        mix[members, : coefficients.shape[1]] = coefficients
        first.append(sum(map(len, carried)))
        counts.append(len(columns))
        carried.append(columns)
        group += [k] * len(columns)
        seen.append(view)
        patterns.append(pattern)
        sign_a.append(np.sign(theta[members[0], -1]))
    lines = signs.shape[1]
    return Groups(
        carried=np.concatenate(carried) if carried else np.empty((0, width)),
        group=np.array(group, dtype=np.intp),
        seen=np.array(seen).reshape(len(first), *kinks.x.shape),
        first=np.array(first, dtype=np.intp),
        counts=np.array(counts, dtype=np.intp),
        of_neuron=of_neuron,
        mix=mix,
        patterns=np.array(patterns, dtype=np.int8).reshape(len(first), lines),
        sign_a=np.array(sign_a),
    )


@numba.njit(cache=True, nogil=True)
def _value(values: Array, u: float, nodes: Array, weights: Array) -> float:
    """The polynomial through `values` at the nodes, at u."""
    top = bottom = 0.0
    for j in range(nodes.shape[0]):
        gap = u - nodes[j]
        if gap == 0.0:
            return values[j]
        term = weights[j] / gap
        top += term * values[j]
        bottom += term
    return top / bottom


@numba.njit(cache=True, nogil=True)
def first_root(values: Array, band: float, before: float, nodes: Array, weights: Array) -> float:
    """Where the polynomial through `values` (6,) first falls below -band, if before `before`; 2.0 if it does not."""
    for j in range(1, nodes.shape[0]):
        if nodes[j - 1] >= before:
            return 2.0
        if values[j] < -band:
            low, high = nodes[j - 1], nodes[j]
            if values[j - 1] <= 0.0:
                # it starts on the kink itself: has it been above in between?
                gap, above = high - low, False
                while gap > 1e-12 and not above:
                    gap *= 0.5
                    above = _value(values, nodes[j - 1] + gap, nodes, weights) > 0.0
                if not above:
                    return nodes[j - 1]
                low = nodes[j - 1] + gap
            for _ in range(60):
                middle = 0.5 * (low + high)
                if _value(values, middle, nodes, weights) > 0.0:
                    low = middle
                else:
                    high = middle
            return high
    return 2.0


@numba.njit(cache=True, nogil=True)
def first_crossing(
    heights: Array,
    of_neuron: Indices,
    first: Indices,
    counts: Indices,
    mix: Array,
    signs: Signs,
    bands: Array,
    nodes: Array,
    weights: Array,
) -> tuple[float, int, int]:
    """The first neuron to reach a kink: (u, neuron, line), u = 2 if none does.

    `heights` (6, carriers, lines) is n.w of every carrier at the nodes; `bands` (neurons,) is how far below zero a height counts
    as zero.
    """
    best, who, where = 2.0, -1, -1
    values = np.empty(nodes.shape[0])
    for h in range(signs.shape[0]):
        k = of_neuron[h]
        if k < 0:
            continue
        for line in range(signs.shape[1]):
            side = signs[h, line]
            if side == 0:
                continue
            lowest = 0.0
            for j in range(nodes.shape[0]):
                height = 0.0
                for r in range(counts[k]):
                    height += mix[h, r] * heights[j, first[k] + r, line]
                values[j] = side * height
                lowest = min(lowest, values[j])
            if lowest < -bands[h]:
                u = first_root(values, bands[h], best, nodes, weights)
                if u < best:
                    best, who, where = u, h, line
    return best, who, where
