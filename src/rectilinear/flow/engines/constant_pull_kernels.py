"""Neurons under constant pulls, from kink to kink, at a cost per kink of a few passes over all of them.

While pulls do not change, a neuron's drive g is constant between kinks, so dw/dt = a g moves it along a line: w + S g with S = int a dt,
and every height n.w is linear in S. The next kink is the smallest root. The time follows from S: with G = |g|, b = w.g/G,

    b(t) = b + G S(t),    a^2 - b^2 is conserved,    (b + a)(t) = (b + a) e^{Gt}.

Crossing kink l changes g by a multiple of its normal, and the rates n.g of all heights by that multiple of the products n.n_l, which
are the same for all neurons.

Heights and rates are kept in single precision, in units of the neuron and its drive, as the time goes into passes over them; the weights,
their drive and the time stay in double precision.

At a kink that pushes from both sides the shares m in [0, 1] of the jumps that are taken minimise |g + sum_l m_l J_l n_l|^2 over all kinks
held: those strictly between stay held, the others are left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Indices
from ..compiled import fast_kernel, kernel
from ..field.single_precision import ZERO

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
    """Normals of length one (n, inputs) of the samples' lines, their products with each other (n, n), and by how much crossing upwards
    changes drives (n,); zeros are appended up to whole KINKS_TOGETHER."""

    normals: Array
    products: Singles
    jumps: Array


class PulledNeurons(NamedTuple):
    """Neurons on their way: w, g (h, inputs), a (h,); sides of kinks +-1 or 0 where held (h, n); what is held (h, m) with which share,
    and how many (h,)."""

    w: Array
    g: Array
    a: Array
    sides: Singles
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
def advance(heights: Singles, rates: Singles, distance: float, change: float, products: Singles, line: int) -> None:
    """Add so many times the rates (n,) to the heights (n,), and then so many times the products with a kink to the rates.

    A view of that row of products would be counted, which takes longer than short sums.
    """
    step, factor = np.float32(distance), np.float32(change)
    for i in range(heights.shape[0]):
        heights[i] += step * rates[i]
        rates[i] += factor * products[line, i]


@fast_kernel
def next_kink(heights: Singles, rates: Singles, sides: Singles, lean: float, within: float) -> tuple[float, int]:
    """How far the first kink on the way is and which; `within` and -1 if none is so near.

    Kinks are in rows (n / KINKS_TOGETHER, KINKS_TOGETHER), as compilers like it: what lies beyond is summed, and is mostly nothing.
    """
    where, reach, forwards = -1, np.float32(within), np.float32(lean)
    for k in range(heights.shape[0]):
        ahead, beyond = forwards * reach, ZERO
        for i in range(KINKS_TOGETHER):
            beyond += min(sides[k, i] * (heights[k, i] + ahead * rates[k, i]), ZERO)
        if beyond == ZERO:
            continue
        for i in range(KINKS_TOGETHER):
            if sides[k, i] * (heights[k, i] + ahead * rates[k, i]) < ZERO and forwards * sides[k, i] * rates[k, i] < ZERO:
                distance = max(-forwards * heights[k, i] / rates[k, i], ZERO)
                if distance < reach:
                    reach, where = distance, KINKS_TOGETHER * k + i
    return (np.float64(reach), where) if where >= 0 else (within, -1)


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
def settle(
    neurons: PulledNeurons, n: int, kinks: UnitKinks, heights: Singles, rates: Singles, speed: float, attract: bool
) -> None:
    """Find the shares of the kinks held, and leave those whose share is none or all; rates are in units of `speed`."""
    g, sides, held, shares = neurons.g[n], neurons.sides[n], neurons.held[n], neurons.shares[n]
    count, left, products = neurons.holding[n], 0, kinks.products
    before = shares[:count].copy()
    take_shares(neurons, n, kinks, attract)
    for m in range(count):
        advance(heights, rates, 0.0, (shares[m] - before[m]) * kinks.jumps[held[m]] / speed, products, held[m])
    for m in range(count):
        line, share = held[m], shares[m]
        sides[line] = 0.0 if 0.0 < share < 1.0 else 1.0 if share == 1.0 else -1.0
        heights[line], rates[line] = 0.0, dot(kinks.normals[line], g) / speed
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
    neurons: PulledNeurons, n: int, kinks: UnitKinks, heights: Singles, rates: Singles, unit: tuple[float, float], length: float,
    saved: Array, out: Array,
) -> int:  # fmt: skip
    """Move a neuron by `length`, whose heights n.w and rates n.g over kinks (n,) are these, each in its unit; its state (w, a, a w.g) at
    the times `saved` goes to `out` (t, inputs + 2). Returns how many kinks it met, -1 if they were too many or all at once."""
    w, g, sides = neurons.w[n], neurons.g[n], neurons.sides[n]
    holding, (normals, products, jumps) = neurons.holding, kinks
    shape, speed, way = (-1, KINKS_TOGETHER), unit[1], unit[0] / unit[1]
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
        furthest = lean * (b_end - b) / (size * way) if size > 0.0 else 0.0
        within = min(furthest, guess)
        reach, line = next_kink(height_rows, rate_rows, side_rows, lean, within)
        while line < 0 and within < furthest:
            within = min(furthest, max(WIDER * within, NOT_NEARER * furthest))
            reach, line = next_kink(height_rows, rate_rows, side_rows, lean, within)
        until = length
        if line >= 0:
            b_end = b + lean * size * way * reach
            a_end = lean * np.sqrt(max(a * a + (b_end - b) * (b_end + b), 0.0))
        if line >= 0 or turns:
            until = min(t + max(elapsed(b, a, b_end, a_end, size), 0.0), length)
        if done < saved.shape[0] and saved[done] <= until:
            done += save((t, b, a, size), w, g, saved[done:], until, out[done:])
        add_multiple(w, lean * way * reach, g)
        a, t = a_end, until
        if line >= 0:
            if dot(w, w) <= NEARLY_AT_ORIGIN * NEARLY_AT_ORIGIN * a * a:
                return -1
            guess = DISTANCES_AHEAD * reach if guess == np.inf else 0.5 * (guess + DISTANCES_AHEAD * reach)
            side, rate, jump, met = np.float64(sides[line]), np.float64(rates[line]), jumps[line], met + 1
            if lean * jump >= 0.0 or (holding[n] == 0 and rate * (rate - side * jump / speed) > 0.0):
                for k in range(g.shape[0]):
                    g[k] -= side * jump * normals[line, k]
                advance(heights, rates, lean * reach, -side * jump / speed, products, line)
                sides[line] = -side
            elif hold(neurons, n, line):
                advance(heights, rates, lean * reach, 0.0, products, line)
            else:
                return -1
            heights[line] = 0.0
        elif turns:
            advance(heights, rates, lean * reach, 0.0, products, 0)
        else:
            neurons.a[n] = a
            return met
        if holding[n] > 0:
            settle(neurons, n, kinks, heights, rates, speed, line >= 0)
    return -1


@kernel
def move_neurons(
    neurons: PulledNeurons, first: int, kinks: UnitKinks, heights: Singles, rates: Singles, units: Array, length: float,
    saved: Array, out: Array,
) -> int:  # fmt: skip
    """Move as many neurons from `first` on as there are heights and rates (m, n), in `units` (2, m), with `out` (h, t, inputs + 2); returns
    how many kinks they met, -1 if one could not be moved."""
    total = 0
    for m in range(heights.shape[0]):
        unit = (units[0, m], units[1, m])
        met = move_neuron(neurons, first + m, kinks, heights[m], rates[m], unit, length, saved, out[first + m])
        if met < 0:
            return -1
        total += met
    return total
