"""Neurons under constant pulls, from kink to kink, at a cost per kink of a few passes over all of them.

While pulls do not change, a neuron's drive g is constant between kinks, so dw/dt = a g moves it along a line: w + S g with S = int a dt,
and every height n.w is linear in S. The next kink is the smallest root. The time follows from S: with G = |g|, b = w.g/G,

    b(t) = b + G S(t),    a^2 - b^2 is conserved,    (b + a)(t) = (b + a) e^{Gt}.

Crossing kink l changes g by a multiple of its normal, and the rates n.g of all heights by that multiple of the products n.n_l, which
are the same for all neurons.

At a kink that pushes from both sides the shares m in [0, 1] of the jumps that are taken minimise |g + sum_l m_l J_l n_l|^2 over all kinks
held: those strictly between stay held, the others are left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Indices
from ..compiled import fast_kernel, kernel

MOST_HELD = 16  # kinks of one neuron
MOST_EVENTS_PER_KINK = 50  # of one neuron in a step, over the number of kinks
MOST_MINIMISING_ROUNDS = 100  # of the minimisation
SETTLED_SHARES = 1e-12  # change of shares that ends it
NEARLY_AT_ORIGIN = 1e-6  # |w| over |a| at which all kinks are met at once, to what single precision leaves
KINKS_TOGETHER = 32  # kinks that are looked at together
DISTANCES_AHEAD = 3.0  # times the last distances of kinks, within which the next one is looked for first
WIDER = 4.0  # times that, where there is none
NOT_NEARER = 1e-3  # of the way that is left: then at least so far, as kinks that coincide have no distance


Singles = NDArray[np.float32]


class UnitKinks(NamedTuple):
    """Normals of length one (n, inputs) of the samples, their products with each other (n, n), and by how much crossing upwards changes
    drives (n,); zeros are appended up to whole KINKS_TOGETHER."""

    normals: Array
    products: Singles
    jumps: Array


class PulledNeurons(NamedTuple):
    """Neurons on their way: w, g (h, inputs), a (h,); sides of kinks +-1 or 0 where held (h, n); what is held (h, m) with which share,
    and how many (h,)."""

    w: Array
    g: Array
    a: Array
    sides: Array
    held: Indices
    shares: Array
    holding: Indices


@fast_kernel
def dot(u: Array, v: Array) -> float:
    total = 0.0
    for k in range(u.shape[0]):
        total += u[k] * v[k]
    return total


@fast_kernel
def add_multiple(sums: Array, factor: float, terms: Array) -> None:
    """sums += factor terms."""
    for i in range(sums.shape[0]):
        sums[i] += factor * terms[i]


@fast_kernel
def add_row(sums: Array, factor: float, rows: Array | Singles, k: int) -> None:
    """sums += factor rows_k; a view of that row would be counted, which takes longer than short sums."""
    for i in range(sums.shape[0]):
        sums[i] += factor * rows[k, i]


@fast_kernel
def next_kink(heights: Array, rates: Array, sides: Array, lean: float, reach: float, left: Array) -> tuple[float, int]:
    """How far the first kink on the way is and which; `reach` and -1 if none is so near.

    Kinks are in rows (n / KINKS_TOGETHER, KINKS_TOGETHER), as compilers like it; `left` (KINKS_TOGETHER,) is for scratch.
    """
    where = -1
    for k in range(heights.shape[0]):
        ahead, below = lean * reach, 0
        for i in range(KINKS_TOGETHER):
            left[i] = sides[k, i] * (heights[k, i] + ahead * rates[k, i])
            below += left[i] < 0.0
        if below == 0:
            continue
        for i in range(KINKS_TOGETHER):
            if left[i] < 0.0 and lean * sides[k, i] * rates[k, i] < 0.0:
                distance = max(-lean * heights[k, i] / rates[k, i], 0.0)
                if distance < reach:
                    reach, where = distance, KINKS_TOGETHER * k + i
    return reach, where


@fast_kernel
def take_shares(neurons: PulledNeurons, n: int, kinks: UnitKinks, attract: bool) -> None:
    """Bring the shares of the kinks held to where they minimise |g|, if `attract`; if not, each to the side that pushes less."""
    g, held, shares, count = neurons.g[n], neurons.held[n], neurons.shares[n], neurons.holding[n]
    for _ in range(MOST_MINIMISING_ROUNDS if attract else 1):
        largest = 0.0
        for m in range(count):
            normal, jump = kinks.normals[held[m]], kinks.jumps[held[m]]
            wanted = shares[m] - dot(normal, g) / jump  # none of its velocity is left then
            share = min(max(wanted, 0.0), 1.0) if attract else 1.0 if wanted > 0.5 else 0.0
            change = share - shares[m]
            shares[m], largest = share, max(largest, abs(change))
            for k in range(g.shape[0]):
                g[k] += change * jump * normal[k]
        if largest <= SETTLED_SHARES:
            break


@fast_kernel
def settle(neurons: PulledNeurons, n: int, kinks: UnitKinks, heights: Array, rates: Array, attract: bool) -> None:
    """Find the shares of the kinks held, and leave those whose share is none or all."""
    g, sides, held, shares = neurons.g[n], neurons.sides[n], neurons.held[n], neurons.shares[n]
    count, left = neurons.holding[n], 0
    before = shares[:count].copy()
    take_shares(neurons, n, kinks, attract)
    for m in range(count):
        add_row(rates, (shares[m] - before[m]) * kinks.jumps[held[m]], kinks.products, held[m])
    for m in range(count):
        line, share = held[m], shares[m]
        sides[line] = 0.0 if 0.0 < share < 1.0 else 1.0 if share == 1.0 else -1.0
        heights[line], rates[line] = 0.0, dot(kinks.normals[line], g)
        if sides[line] == 0.0:
            held[left], shares[left] = line, share
            left += 1
    neurons.holding[n] = left


@fast_kernel
def hold(neurons: PulledNeurons, n: int, line: int) -> bool:
    """Hold a neuron at that kink; whether there is room for it."""
    m = neurons.holding[n]
    if m == MOST_HELD:
        return False
    neurons.held[n, m], neurons.shares[n, m], neurons.holding[n] = line, 0.5 * (1.0 + neurons.sides[n, line]), m + 1
    return True


@fast_kernel
def elapsed(b: float, a: float, b_end: float, a_end: float, size: float) -> float:
    """The time in which b and a have become b_end and a_end under a drive of that size."""
    if abs(b + a) >= abs(b - a):
        return np.log((b_end + a_end) / (b + a)) / size
    return np.log((b - a) / (b_end - a_end)) / size


@fast_kernel
def save(state: tuple[float, float, float, float], w: Array, g: Array, saved: Array, until: float, out: Array) -> int:
    """Write (w, a, a w.g) at the times `saved` up to `until` to `out`, of a neuron that was at w with t, b, a and |g|; returns how many."""
    t, b, a, size = state
    inputs, done = w.shape[0], 0
    while done < saved.shape[0] and saved[done] <= until:
        growth = np.exp(size * (saved[done] - t))
        here = 0.5 * ((b + a) * growth + (b - a) / growth)
        out[done, inputs] = 0.5 * ((b + a) * growth - (b - a) / growth)
        out[done, inputs + 1] = out[done, inputs] * here * size
        for k in range(inputs):
            out[done, k] = w[k] + ((here - b) / size * g[k] if size > 0.0 else 0.0)
        done += 1
    return done


@fast_kernel
def move_neuron(
    neurons: PulledNeurons, n: int, kinks: UnitKinks, heights: Array, rates: Array, length: float, saved: Array, out: Array
) -> int:  # fmt: skip
    """Move a neuron whose heights n.w and rates n.g over kinks (n,) are these by `length`; its state (w, a, a w.g) at the times `saved`
    goes to `out` (t, inputs + 2). Returns how many kinks it met, -1 if they were too many or all at once."""
    w, g, sides = neurons.w[n], neurons.g[n], neurons.sides[n]
    shape, left, holding, (normals, products, jumps) = (-1, KINKS_TOGETHER), np.empty(KINKS_TOGETHER), neurons.holding, kinks
    height_rows, rate_rows, side_rows = heights.reshape(shape), rates.reshape(shape), sides.reshape(shape)
    a, t, guess, done, met = neurons.a[n], 0.0, np.inf, 0, 0
    for _ in range(MOST_EVENTS_PER_KINK * heights.shape[0]):
        size = np.sqrt(dot(g, g))
        b = dot(w, g) / size if size > 0.0 else 0.0
        lean = 1.0 if a > 0.0 or (a == 0.0 and b > 0.0) else -1.0
        growth = np.exp(size * (length - t))
        b_end, a_end = 0.5 * ((b + a) * growth + (b - a) / growth), 0.5 * ((b + a) * growth - (b - a) / growth)
        turns = a * a_end < 0.0  # the outgoing weight passes zero, and the way turns back
        if turns:
            b_end, a_end = -lean * np.sqrt((b - a) * (b + a)), 0.0
        furthest = lean * (b_end - b) / size if size > 0.0 else 0.0
        within = min(furthest, guess)
        reach, line = next_kink(height_rows, rate_rows, side_rows, lean, within, left)
        while line < 0 and within < furthest:
            within = min(furthest, max(WIDER * within, NOT_NEARER * furthest))
            reach, line = next_kink(height_rows, rate_rows, side_rows, lean, within, left)
        until = length
        if line >= 0:
            b_end = b + lean * size * reach
            a_end = lean * np.sqrt(max(a * a + (b_end - b) * (b_end + b), 0.0))
        if line >= 0 or turns:
            until = min(t + max(elapsed(b, a, b_end, a_end, size), 0.0), length)
        if done < saved.shape[0] and saved[done] <= until:
            done += save((t, b, a, size), w, g, saved[done:], until, out[done:])
        add_multiple(w, lean * reach, g)
        add_multiple(heights, lean * reach, rates)
        a, t = a_end, until
        if line >= 0:
            if dot(w, w) <= NEARLY_AT_ORIGIN * NEARLY_AT_ORIGIN * a * a:
                return -1
            guess = DISTANCES_AHEAD * reach if guess == np.inf else 0.5 * (guess + DISTANCES_AHEAD * reach)
            side, rate, jump, met = sides[line], rates[line], jumps[line], met + 1
            heights[line] = 0.0
            if lean * jump >= 0.0 or (holding[n] == 0 and rate * (rate - side * jump) > 0.0):
                add_row(g, -side * jump, normals, line)
                add_row(rates, -side * jump, products, line)
                sides[line] = -side
            elif not hold(neurons, n, line):
                return -1
            if holding[n] > 0:
                settle(neurons, n, kinks, heights, rates, True)
        elif turns:
            settle(neurons, n, kinks, heights, rates, False)
        else:
            neurons.a[n] = a
            return met
    return -1


@kernel
def move_neurons(
    neurons: PulledNeurons, first: int, kinks: UnitKinks, heights: Array, rates: Array, length: float, saved: Array, out: Array
) -> int:  # fmt: skip
    """Move as many neurons from `first` on as there are heights and rates (m, n), with `out` (h, t, inputs + 2); returns how many kinks
    they met, -1 if one could not be moved."""
    total = 0
    for m in range(heights.shape[0]):
        met = move_neuron(neurons, first + m, kinks, heights[m], rates[m], length, saved, out[first + m])
        if met < 0:
            return -1
        total += met
    return total
