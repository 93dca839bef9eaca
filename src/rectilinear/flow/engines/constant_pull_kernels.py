"""Neurons under constant pulls, from kink to kink, at a cost per kink of one pass over the samples.

While pulls do not change, a neuron's drive g is constant between kinks, so dw/dt = a g moves it along a line: w + S g with S = int a dt,
and every height n.w is linear in S. The next kink is the smallest root, and crossing it changes the rates n.g by multiples of a
row of the Gram matrix of normals: no product with the data is needed. The time follows from S: with G = |g|, b = w.g/G,

    b(t) = b + G S(t),    a^2 - b^2 is conserved,    (b + a)(t) = (b + a) e^{Gt}.

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


class UnitKinks(NamedTuple):
    """Normals of length one (n, inputs) of the samples, their products (n, n), and by how much crossing upwards changes drives (n,)."""

    normals: Array
    gram: NDArray[np.float32]
    jumps: Array


class PulledNeurons(NamedTuple):
    """Neurons on their way: w, g (h, inputs), a (h,); heights |n.w| and their rates, sides +-1 or 0 where held (h, n); what is held (h, m)
    with which share, and how many (h,)."""

    w: Array
    g: Array
    a: Array
    heights: Array
    rates: Array
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
def next_kink(heights: Array, rates: Array, lean: float, reach: float) -> tuple[float, int]:
    """How far the first kink on the way is and which; `reach` and -1 if none is so near."""
    count, where = heights.shape[0], -1
    for begin in range(0, count, KINKS_TOGETHER):
        end = min(begin + KINKS_TOGETHER, count)
        below = 0
        for i in range(begin, end):
            below += heights[i] + reach * lean * rates[i] < 0.0
        if below == 0:
            continue
        for i in range(begin, end):
            if heights[i] + reach * lean * rates[i] < 0.0 and lean * rates[i] < 0.0:
                reach, where = max(heights[i], 0.0) / (-lean * rates[i]), i
    return reach, where


@fast_kernel
def shift(kinks: UnitKinks, g: Array, rates: Array, sides: Array, line: int, change: float) -> None:
    """Add change n_line to the drive."""
    row, factor = kinks.gram[line], np.float32(change)
    for i in range(rates.shape[0]):
        rates[i] += sides[i] * (factor * row[i])
    for k in range(g.shape[0]):
        g[k] += change * kinks.normals[line, k]


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
def settle(neurons: PulledNeurons, n: int, kinks: UnitKinks, attract: bool) -> None:
    """Find the shares of the kinks held, and leave those whose share is none or all."""
    g, rates, sides = neurons.g[n], neurons.rates[n], neurons.sides[n]
    held, shares, count = neurons.held[n], neurons.shares[n], neurons.holding[n]
    if count == 0:
        return
    before = shares[:count].copy()
    take_shares(neurons, n, kinks, attract)
    for m in range(count):
        change = np.float32((shares[m] - before[m]) * kinks.jumps[held[m]])
        row = kinks.gram[held[m]]
        for i in range(rates.shape[0]):
            rates[i] += sides[i] * (change * row[i])
    left = 0
    for m in range(count):
        line, share = held[m], shares[m]
        neurons.heights[n, line] = 0.0
        sides[line] = 0.0 if 0.0 < share < 1.0 else 1.0 if share == 1.0 else -1.0
        rates[line] = sides[line] * dot(kinks.normals[line], g)
        if sides[line] == 0.0:
            held[left], shares[left] = line, share
            left += 1
    neurons.holding[n] = left


@kernel
def elapsed(b: float, a: float, b_end: float, a_end: float, size: float) -> float:
    """The time in which b and a have become b_end and a_end under a drive of that size."""
    if abs(b + a) >= abs(b - a):
        return np.log((b_end + a_end) / (b + a)) / size
    return np.log((b - a) / (b_end - a_end)) / size


@fast_kernel
def move_neuron(neurons: PulledNeurons, n: int, kinks: UnitKinks, length: float, saved: Array, out: Array) -> int:
    """Move a neuron by `length`; its state (w, a, a w.g) at the times `saved` goes to `out` (t, inputs + 2). Returns how many kinks it
    met, -1 if they were too many or all at once."""
    w, g, heights, rates, sides = neurons.w[n], neurons.g[n], neurons.heights[n], neurons.rates[n], neurons.sides[n]
    inputs, count = w.shape[0], heights.shape[0]
    a, t, guess, done = neurons.a[n], 0.0, np.inf, 0
    for event in range(MOST_EVENTS_PER_KINK * count):
        size = np.sqrt(dot(g, g))
        b = dot(w, g) / size if size > 0.0 else 0.0
        lean = 1.0 if a > 0.0 or (a == 0.0 and b > 0.0) else -1.0
        growth = np.exp(size * (length - t))
        b_end, a_end = 0.5 * ((b + a) * growth + (b - a) / growth), 0.5 * ((b + a) * growth - (b - a) / growth)
        turns = a * a_end < 0.0  # the outgoing weight passes zero, and the way turns back
        if turns:
            b_end, a_end = -lean * np.sqrt((b - a) * (b + a)), 0.0
        furthest = lean * (b_end - b) / size if size > 0.0 else 0.0
        reach, line = next_kink(heights, rates, lean, min(furthest, guess))
        if line < 0 and guess < furthest:
            reach, line = next_kink(heights, rates, lean, furthest)
        until = length
        if line >= 0:
            b_end = b + lean * size * reach
            a_end = lean * np.sqrt(max(a * a + (b_end - b) * (b_end + b), 0.0))
        if line >= 0 or turns:
            until = min(t + max(elapsed(b, a, b_end, a_end, size), 0.0), length)
        while done < saved.shape[0] and saved[done] <= until:
            growth = np.exp(size * (saved[done] - t))
            here = 0.5 * ((b + a) * growth + (b - a) / growth)
            out[done, inputs] = 0.5 * ((b + a) * growth - (b - a) / growth)
            out[done, inputs + 1] = out[done, inputs] * here * size
            for k in range(inputs):
                out[done, k] = w[k] + ((here - b) / size * g[k] if size > 0.0 else 0.0)
            done += 1
        along = (b_end - b) / size if size > 0.0 else 0.0
        for k in range(inputs):
            w[k] += along * g[k]
        a, t = a_end, until
        for i in range(count):
            heights[i] += lean * reach * rates[i]
        if line < 0 and not turns:
            neurons.a[n] = a
            return event
        if line < 0:
            settle(neurons, n, kinks, False)
            continue
        if dot(w, w) <= NEARLY_AT_ORIGIN * NEARLY_AT_ORIGIN * a * a:
            return -1
        guess = DISTANCES_AHEAD * reach if guess == np.inf else 0.5 * (guess + DISTANCES_AHEAD * reach)
        heights[line] = 0.0
        side, jump, m = sides[line], kinks.jumps[line], neurons.holding[n]
        rate = side * rates[line]
        if lean * jump >= 0.0 or (m == 0 and rate * (rate - side * jump) > 0.0):
            sides[line], rates[line] = -side, -rates[line]
            shift(kinks, g, rates, sides, line, -side * jump)
        elif m == MOST_HELD:
            return -1
        else:
            neurons.held[n, m], neurons.shares[n, m], neurons.holding[n] = line, 0.5 * (1.0 + side), m + 1
            sides[line], rates[line] = 0.0, 0.0
        settle(neurons, n, kinks, True)
    return -1


@kernel
def move_neurons(
    neurons: PulledNeurons, first: int, last: int, kinks: UnitKinks, length: float, saved: Array, out: Array
) -> int:  # fmt: skip
    """Move neurons first..last-1, with `out` (h, t, inputs + 2); returns how many kinks they met, -1 if one could not be moved."""
    total = 0
    for n in range(first, last):
        met = move_neuron(neurons, n, kinks, length, saved, out[n])
        if met < 0:
            return -1
        total += met
    return total
