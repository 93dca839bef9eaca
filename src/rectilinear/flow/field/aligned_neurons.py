"""The two-layer field when most neurons point along one line: exact, at a cost that hardly depends on the samples times neurons.

After the early phase neurons lie within a small angle of +-r. A sample whose angle to the hyperplane of r is larger than that is
on the same side of every one of them, so its even part sum_h a_h |w_h.x| is sgn(r.x) V.x with one vector V = sum_h s_h a_h w_h,
s_h = sgn(w_h.r). Only samples near that hyperplane, and neurons far from r, need the product of samples and neurons.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Array, Indices
from ..compiled import fast_kernel, fast_part, kernel, part
from .sample_losses import pair_pulls
from .two_layer_kernels import FoldedRows, reach_and_sum

WORK = 200_000  # multiply-adds below which looking for aligned neurons costs more than it saves
WORTHWHILE = 0.15  # a split must cost less than this share of the full product, which has the faster kernel
CHEAP = 0.03  # a split that costs more is soon looked for again
QUANTILES = (1.0, 0.98, 0.95, 0.9, 0.8, 0.6)  # shares of the neurons tried as the aligned ones
SINE_ROUNDING = 1e-12  # added to the sine, so that a sample is never put on a side it only nearly is on
SQUARE_ROUNDING = 1e-14  # of 1 - cos^2, with room for many inputs
REFINEMENTS = 3
ROUNDING_OF_LOSS = 1e-16


class Split(NamedTuple):
    """Which neurons are aligned with a line +-r."""

    sides: Array  # (neurons,) sgn(w_h.r) of the aligned neurons, 0 for the others
    others: Indices
    cost: float  # of the samples x neurons products, the share that has to be computed
    most_near: float  # how many rows may come near before it no longer pays


class Sums(NamedTuple):
    """What the neurons make of every row x."""

    linear: Array  # (rows,) v.x
    even: Array  # (rows,) sum_h a_h |w_h.x|
    near: Indices  # rows that may be on different sides of aligned neurons
    at_near: Array  # (near, neurons) w_h.x
    far_sides: Array  # (rows,) sgn(r.x) of the rows that are not near, 0 for those
    of_others: Array  # (others, rows) w_h.x


class Zero(NamedTuple):
    """The loss where f = 0, and how it goes on from there."""

    loss: float
    pull: Array  # (inputs,) -d loss/dv, for the odd part c v.x of f
    longest: float  # largest |x|
    is_odd: bool  # pulls at x and -x are opposite: to first order the even part of f makes no difference


@fast_part
def _angles(turned: Array, sides: Array) -> tuple[Array, Array, Array]:
    """The line r in the middle of the neurons s_h w_h, and w_h.r/|w_h| and the sine of the angle to it of every neuron.

    `turned` (inputs, neurons) is the first layer. Neurons without direction get cosine 0 and sine 1.
    """
    inputs, neurons = turned.shape
    lengths, cosines, sines, r = np.zeros(neurons), np.zeros(neurons), np.empty(neurons), np.empty(inputs)
    for k in range(inputs):
        for h in range(neurons):
            lengths[h] += turned[k, h] * turned[k, h]
    for h in range(neurons):
        lengths[h] = 1.0 / np.sqrt(lengths[h]) if lengths[h] > 0.0 else 0.0
    total = 0.0
    for k in range(inputs):
        middle = 0.0
        for h in range(neurons):
            middle += sides[h] * lengths[h] * turned[k, h]
        r[k] = middle
        total += middle * middle
    scale = 1.0 / np.sqrt(total) if total > 0.0 else 0.0
    for k in range(inputs):
        r[k] *= scale
        for h in range(neurons):
            cosines[h] += r[k] * turned[k, h]
    for h in range(neurons):
        cosines[h] *= lengths[h]
        sines[h] = np.sqrt(max(1.0 - cosines[h] * cosines[h], 0.0) + SQUARE_ROUNDING) + SINE_ROUNDING
    return r, cosines, sines


@fast_part
def _distances(r: Array, rows: Array, lengths: Array) -> Array:
    """r.x/|x| of every row."""
    found = np.zeros(rows.shape[1])
    for k in range(len(r)):
        for i in range(rows.shape[1]):
            found[i] += r[k] * rows[k, i]
    for i in range(rows.shape[1]):
        found[i] /= lengths[i]
    return found


@part
def turned_copy(w: Array) -> Array:
    """w.T in memory of its own."""
    turned = np.empty((w.shape[1], w.shape[0]))
    for h in range(w.shape[0]):
        for k in range(w.shape[1]):
            turned[k, h] = w[h, k]
    return turned


@kernel
def cheapest_split(w: Array, a: Array, rows: Array, lengths: Array, worthwhile: float) -> Split:
    """The cheapest split for neurons w (h, d), a (h,) and rows (d or more, n) of the given lengths (n,).

    All neurons are others if none costs less than the share `worthwhile` of the full product.
    """
    turned, count, sides, others = turned_copy(w), len(a), np.empty(len(a)), np.empty(len(a), np.intp)
    r, cosines, sines = _angles(turned, a)  # a_h w_h point along the linear part of f
    for _ in range(REFINEMENTS):
        for h in range(count):
            sides[h] = 1.0 if cosines[h] > 0.0 else -1.0 if cosines[h] < 0.0 else 0.0
        r, cosines, sines = _angles(turned, sides)
    distances, ordered_sines = _distances(r, rows, lengths), np.sort(sines)
    best, cutoff = worthwhile, -1.0
    for share in QUANTILES:
        sine, near = ordered_sines[max(1, int(share * count)) - 1], 0
        for i in range(len(distances)):
            near += abs(distances[i]) <= sine
        cost = 1.0 - share + share * near / len(lengths)
        if cost < best:
            best, cutoff = cost, sine
    far = 0
    for h in range(count):
        sides[h] = 0.0 if sines[h] > cutoff or cosines[h] == 0.0 else 1.0 if cosines[h] > 0.0 else -1.0
        if sides[h] == 0.0:
            others[far] = h
            far += 1
    return Split(sides, others[:far], best if cutoff >= 0.0 else 1.0, worthwhile * len(lengths))


def find_split(w: Array, a: Array, rows: Array, lengths: Array) -> Split | None:
    """The cheapest split where one pays, for neurons w (h, d), a (h,) and rows (d or more, n) of the given lengths (n,)."""
    if w.size * len(lengths) <= WORK:
        return None
    split = cheapest_split(w, a, rows, lengths, WORTHWHILE)
    return split if split.cost < WORTHWHILE else None


@fast_part
def sums_of_split(split: Split, rows: Array, lengths: Array, turned: Array, a: Array) -> tuple[bool, Sums]:
    """Whether the split is right for these neurons, and, if so, their sums over rows (inputs or more, n); `turned` (inputs, h).

    It is not if an aligned neuron has changed sides, or near rows have become too many for it to pay.
    """
    inputs, neurons = turned.shape
    count = rows.shape[1]
    r, cosines, sines = _angles(turned, split.sides)
    right, widest = True, 0.0
    for h in range(neurons):
        if split.sides[h] != 0.0:
            right &= cosines[h] * split.sides[h] > 0.0
            widest = max(widest, sines[h])
    far_sides = _distances(r, rows, lengths)
    near, come_near = np.empty(count, np.intp), 0
    for i in range(count):
        if abs(far_sides[i]) <= widest:
            near[come_near] = i
            come_near += 1
            far_sides[i] = 0.0
        else:
            far_sides[i] = 1.0 if far_sides[i] > 0.0 else -1.0
    near = near[:come_near]
    if not right or come_near > split.most_near:
        return False, Sums(far_sides, far_sides, near, np.empty((0, 0)), far_sides, np.empty((0, 0)))
    linear, even = np.zeros(count), np.zeros(count)
    for k in range(inputs):
        v = folded = 0.0
        for h in range(neurons):
            v += a[h] * turned[k, h]
            folded += split.sides[h] * a[h] * turned[k, h]
        for i in range(count):
            linear[i] += v * rows[k, i]
            even[i] += folded * rows[k, i]
    for i in range(count):
        even[i] *= far_sides[i]
    at_near, of_others = np.zeros((len(near), neurons)), np.zeros((len(split.others), count))
    for j in range(len(near)):
        i, z, summed = near[j], at_near[j], 0.0
        for k in range(inputs):
            for h in range(neurons):
                z[h] += turned[k, h] * rows[k, i]
        for h in range(neurons):
            summed += abs(split.sides[h]) * a[h] * abs(z[h])
        even[i] += summed
    for j in range(len(split.others)):
        h, z = split.others[j], of_others[j]
        for k in range(inputs):
            for i in range(count):
                z[i] += turned[k, h] * rows[k, i]
        for i in range(count):
            even[i] += a[h] * abs(z[i])
    return True, Sums(linear, even, near, at_near, far_sides, of_others)


@fast_kernel
def drive_of_split(split: Split, folded: FoldedRows, w: Array, a: Array, backward: bool, drive: Array) -> tuple[bool, float]:
    """Whether the split was right, and the summed loss; P g_h of every neuron goes to `drive` (neurons, inputs).

    Without `backward` only the loss is computed.
    """
    rows, lengths, labels, mirror_labels, mirrored, alpha, loss = folded
    neurons, inputs = w.shape
    count = rows.shape[1]
    c, e = 0.5 * (1.0 + alpha), 0.5 * (1.0 - alpha)
    turned = turned_copy(w)
    right, sums = sums_of_split(split, rows, lengths, turned, a)
    if not right:
        return False, np.nan
    odd_pull, even_pull = np.empty(count), np.empty(count)
    for i in range(count):
        sums.linear[i] *= c
        sums.even[i] *= e
    total = pair_pulls(loss, sums.linear, sums.even, labels, mirror_labels, mirrored, odd_pull, even_pull)
    if not backward:
        return True, total
    near, others = sums.at_near, sums.of_others
    for j in range(len(near)):
        q = e * even_pull[sums.near[j]]
        for h in range(neurons):
            near[j, h] = abs(split.sides[h]) * (q if near[j, h] > 0.0 else -q if near[j, h] < 0.0 else 0.0)
    for j in range(len(others)):
        for i in range(count):
            q = e * even_pull[i]
            others[j, i] = q if others[j, i] > 0.0 else -q if others[j, i] < 0.0 else 0.0
    for i in range(count):
        odd_pull[i] *= c
        even_pull[i] *= e * sums.far_sides[i]
    for k in range(inputs):
        common = aside = 0.0
        for i in range(count):
            common += odd_pull[i] * rows[k, i]
            aside += even_pull[i] * rows[k, i]
        out = turned[k]  # done with as weights
        for h in range(neurons):
            out[h] = common + split.sides[h] * aside
        for j in range(len(near)):
            x = rows[k, sums.near[j]]
            for h in range(neurons):
                out[h] += near[j, h] * x
        for j in range(len(others)):
            summed = 0.0
            for i in range(count):
                summed += others[j, i] * rows[k, i]
            out[split.others[j]] += summed
    for h in range(neurons):
        for k in range(inputs):
            drive[h, k] = turned[k, h]
    return True, total


@kernel
def cheap_losses(
    states: Array, inputs: int, folded: FoldedRows, worthwhile: float, zero: Zero, first: int, stride: int, found: Array
) -> None:
    """Write the summed loss of every stride-th state of (t, weights) to `found` (t,) where it takes few products, nan elsewhere.

    Besides aligned neurons, those are outputs so small that their squares are lost in rounding.
    """
    neurons = states.shape[1] // (inputs + 1)
    samples = len(folded.mirrored)
    for i in range(len(folded.mirrored)):
        samples += folded.mirrored[i]
    split = Split(np.zeros(neurons), np.empty(0, np.intp), 1.0, 0.0)  # not a good one
    unused = np.empty((0, 0))
    in_vain, rest = 0, 0
    for t in range(first, len(states), stride):
        w, a = states[t, : neurons * inputs].reshape(neurons, inputs), states[t, neurons * inputs :]
        found[t] = np.nan
        if zero.is_odd:
            reach, v = reach_and_sum(w, a)
            if (zero.longest * reach) ** 2 <= ROUNDING_OF_LOSS * zero.loss:
                along = 0.0
                for k in range(inputs):
                    along += zero.pull[k] * v[k]
                found[t] = samples * (zero.loss - along)
                continue
        if rest > 0:  # after looking in vain n times, look again n states later
            rest -= 1
            continue
        for attempt in range(2):  # by the split of the state before, or else by one of its own
            if split.cost < (CHEAP if attempt == 0 else worthwhile):
                right, total = drive_of_split(split, folded, w, a, False, unused)
                if right:
                    found[t] = total
                    break
            split = cheapest_split(w, a, folded.rows, folded.lengths, worthwhile)
        in_vain = in_vain + 1 if np.isnan(found[t]) else 0
        rest = in_vain
