"""Who is beyond a kink, who crosses one within a step, and who will be caught by one."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from ...arrays import Array, Indices, Signs
from ..collocation import DIP, first_root
from ..compiled import fast_kernel, in_line, kernel, part
from ..field.aligned_neurons import Split, Sums, sums_of_split, turned_copy
from ..field.small_products import TILE
from ..field.two_layer_kernels import SAMPLES_PER_PASS
from ..threads import in_shares

TOUCHING_HEIGHT = 1e-12  # |n.w| as a share of the neuron's size, as tolerances.ON_KINK_HEIGHT: zero up to rounding
FEW_NEURONS = 1_000  # up to here every node of the step is looked at, beyond every other one


class Carrying(NamedTuple):
    """How carriers make neurons: neuron h of group k = of_neuron[h] (-1: at rest) is the sum of mix[h, r] times carrier first[k] + r,
    r < counts[k]."""

    of_neuron: Indices
    first: Indices
    counts: Indices
    mix: Array


@kernel
def crossings(
    heights: Array, carrying: Carrying, signs: Signs, bands: Array, begin: int, end: int
) -> tuple[Array, Indices, Indices]:
    """Every neuron of begin..end-1 that reaches a kink within the step, with the first time u and the line: arrays (u, neuron, line).

    `heights` (6, carriers, lines) is n.w of every carrier at the nodes; `bands` (neurons,) is how far below zero a height counts
    as zero. Lines with sign 0 are not looked at.
    """
    first, counts, mix = carrying.first, carrying.counts, carrying.mix
    found, most = 0, max(end - begin, 0)
    times, who, where = np.empty(most), np.empty(most, np.intp), np.empty(most, np.intp)
    nodes, lines = heights.shape[0], signs.shape[1]
    stride = 1 if signs.shape[0] <= FEW_NEURONS else 2
    values = np.empty(nodes)
    for h in range(begin, end):
        k = carrying.of_neuron[h]
        if k < 0:
            continue
        best, line_of_best = 2.0, -1
        for line in range(lines):
            side = signs[h, line]
            if side == 0:
                continue
            lowest, highest = np.inf, -np.inf
            for j in range(nodes - 1, -1, -stride):
                height = 0.0
                for r in range(counts[k]):
                    height += mix[h, r] * heights[j, first[k] + r, line]
                values[j] = side * height
                lowest, highest = min(lowest, values[j]), max(highest, values[j])
            if lowest - DIP * (highest - lowest) < -bands[h]:
                for j in range(nodes):
                    height = 0.0
                    for r in range(counts[k]):
                        height += mix[h, r] * heights[j, first[k] + r, line]
                    values[j] = side * height
                u = first_root(values, bands[h], best)
                if u < best:
                    best, line_of_best = u, line
        if line_of_best >= 0:
            times[found], who[found], where[found] = best, h, line_of_best
            found += 1
    return times[:found], who[:found], where[:found]


def all_crossings(heights: Array, carrying: Carrying, signs: Signs, bands: Array) -> tuple[Array, Indices, Indices]:
    """`crossings` of all neurons, shared among threads where they are many."""
    kernel = partial(crossings, heights, carrying, signs, bands)
    parts = in_shares(kernel, len(signs), signs.size * len(heights) * carrying.mix.shape[1])
    if len(parts) == 1:
        return parts[0]
    times, neurons, lines = (np.concatenate(column) for column in zip(*parts, strict=True))
    return times, neurons, lines


@part
def with_room(pairs: Indices, wanted: int) -> Indices:
    """`pairs` (rows, 2), or a longer copy if they have less rows than wanted; a list would take seconds to compile."""
    if wanted <= pairs.shape[0]:
        return pairs
    longer = np.empty((2 * wanted, 2), np.intp)
    for k in range(pairs.shape[0]):
        longer[k, 0], longer[k, 1] = pairs[k, 0], pairs[k, 1]
    return longer


@fast_kernel
def look_at_lines(theta: Array, turned_normals: Array, signs: Signs, begin: int, end: int) -> tuple[Array, Array, Indices]:
    """For neurons begin..end-1: sum_h a_h z_hl and sum_h a_h |z_hl|, z = n.w, and the pairs (h, l) where z and the sign disagree.

    `turned_normals` (inputs, lines) is padded with zeros to whole tiles. The matrix z (neurons, lines) is not stored: its memory
    would cost more than computing it.
    """
    inputs, lines = theta.shape[1] - 1, turned_normals.shape[1]
    odd, even = np.zeros(lines), np.zeros(lines)
    w, normals = np.zeros(turned_normals.shape[0]), np.zeros((turned_normals.shape[0], SAMPLES_PER_PASS))
    z, block_odd, block_even = np.empty(SAMPLES_PER_PASS), np.empty(SAMPLES_PER_PASS), np.empty(SAMPLES_PER_PASS)
    pairs, found = np.empty((0, 2), np.intp), 0
    for start in range(0, lines, SAMPLES_PER_PASS):
        size = min(SAMPLES_PER_PASS, lines - start)
        for k in range(normals.shape[0]):
            for i in range(size):
                normals[k, i] = turned_normals[k, start + i]
        for i in range(SAMPLES_PER_PASS):
            block_odd[i], block_even[i] = 0.0, 0.0
        for h in range(begin, end):
            for i in range(SAMPLES_PER_PASS):
                z[i] = 0.0
            for k in range(inputs):
                w[k] = theta[h, k]
            for k in range(0, w.shape[0], TILE):
                u0, u1, u2, u3 = w[k], w[k + 1], w[k + 2], w[k + 3]
                for i in range(SAMPLES_PER_PASS):
                    z[i] += u0 * normals[k, i] + u1 * normals[k + 1, i] + u2 * normals[k + 2, i] + u3 * normals[k + 3, i]
            a, disagree = theta[h, inputs], 0
            for i in range(SAMPLES_PER_PASS):
                block_odd[i] += a * z[i]
                block_even[i] += a * abs(z[i])
            for i in range(size):
                disagree += z[i] * signs[h, start + i] < 0.0
            if disagree:
                pairs = with_room(pairs, found + disagree)
                for i in range(size):
                    if z[i] * signs[h, start + i] < 0.0:
                        pairs[found, 0], pairs[found, 1] = h, start + i
                        found += 1
        for i in range(size):
            odd[start + i], even[start + i] = block_odd[i], block_even[i]
    return odd, even, pairs[:found]


@kernel
def look_at_split(
    split: Split, w: Array, a: Array, turned_normals: Array, signs: Signs
) -> tuple[Array, Array, Indices] | None:
    """`look_at_lines` for neurons most of which point along one line; None if the split is not right."""
    right, sums = sums_of_split(split, turned_normals, np.ones(turned_normals.shape[1]), turned_copy(w), a)
    return (sums.linear, sums.even, disagreements(split, sums, signs)) if right else None


@fast_kernel
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


@in_line
def disagreements(split: Split, sums: Sums, signs: Signs) -> Indices:
    """Pairs (m, 2) of neuron and row where w_h.x and the sign (neurons, rows) disagree; 0 agrees with everything."""
    pairs, found, rows = np.empty((0, 2), np.intp), 0, signs.shape[1]
    opposite = np.empty((2, rows), dtype=np.int8)  # of a neuron against r, and of one along it
    last, count_of_last = (
        np.zeros(2, np.intp),
        np.zeros(2, np.intp),
    )  # where rows of the last such neuron are among the pairs
    for i in range(rows):
        side = sums.far_sides[i]
        opposite[0, i], opposite[1, i] = (2, 2) if side == 0.0 else (np.int8(side), np.int8(-side))
    for h in range(signs.shape[0]):
        if split.sides[h] == 0.0:
            continue
        along = 1 if split.sides[h] > 0.0 else 0
        wrong, count = opposite[along], 0
        for i in range(rows):
            count += signs[h, i] == wrong[i]
        if count:
            pairs, same = with_room(pairs, found + count), count == count_of_last[along]
            for k in range(count if same else 0):  # mostly neurons share a pattern
                row = pairs[last[along] + k, 1]
                same &= signs[h, row] == wrong[row]
                pairs[found + k, 0], pairs[found + k, 1] = h, row
            last[along], count_of_last[along] = found, count
            if same:
                found += count
            for i in range(0 if same else rows):
                if signs[h, i] == wrong[i]:
                    pairs[found, 0], pairs[found, 1] = h, i
                    found += 1
        pairs = with_room(pairs, found + len(sums.near))
        for j in range(len(sums.near)):
            if sums.at_near[j, h] * signs[h, sums.near[j]] < 0.0:
                pairs[found, 0], pairs[found, 1] = h, sums.near[j]
                found += 1
    for j in range(len(split.others)):
        h = split.others[j]
        pairs = with_room(pairs, found + rows)
        for i in range(rows):
            if sums.of_others[j, i] * signs[h, i] < 0.0:
                pairs[found, 0], pairs[found, 1] = h, i
                found += 1
    return pairs[:found]


@part
def touches_another(w: Array, size: float, normals: Array, line: int) -> bool:
    """Whether a neuron on this line touches another one too, up to rounding: then they must be decided together."""
    for other in range(normals.shape[0]):
        if other != line:
            height = 0.0
            for j in range(normals.shape[1]):
                height += normals[other, j] * w[j]
            if abs(height) <= TOUCHING_HEIGHT * size:
                return True
    return False
