"""Neurons under constant pulls, from kink to kink, at a cost per kink of a pass over the kinks nearby.

While pulls do not change, a neuron's drive g is constant between kinks, so dw/dt = a g moves it along a line: w + S g with S = int a dt,
and every height n.w is linear in S. The next kink is the smallest root. The time follows from S: with G = |g|, b = w.g/G,

    b(t) = b + G S(t),    a^2 - b^2 is conserved,    (b + a)(t) = (b + a) e^{Gt}.

Crossing one of many kinks hardly changes g. So a height at S is known beforehand, from g at the opening of a window, to
int |g - g_opening| dS: until S or that grows beyond what the window was opened for, only the kinks within can be met, and heights of
the others are brought up to date when it closes.

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
WINDOW_SHARE, SMALLEST_WINDOW = 16, 32  # kinks of a window: this part of all, and not less
UNROLLED = 4  # inputs whose products are made in one pass
MOST_HALVINGS = 30  # of its way, until that are few
FIRST_SLACK = 0.05  # of the way, that the drive's change may add to it within a window
MORE_SLACK, LESS_SLACK = 1.5, 0.7  # for the next one, where it was used up or more than half was left
DISTANCES_AHEAD = 3.0  # times the last distances of kinks, within which the next one is looked for first


Singles = NDArray[np.float32]


class UnitKinks(NamedTuple):
    """Normals of length one (n, inputs) of the samples, the same (inputs, n), and by how much crossing upwards changes drives (n,)."""

    normals: Array
    across: Singles
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


class Window(NamedTuple):
    """Kinks that a neuron may meet: `near` (3, m) are their heights |n.w|, rates and sides, `normals` (inputs, m); `lines` says which they
    are, `places` where each line is among them. Beyond the last are some that are never met (line -1), up to whole KINKS_TOGETHER: a
    processor takes as long for those as for a few.

    `everywhere` (2, n) are heights and rates of all kinks at the opening, `opened` (3, inputs) the neuron's w and g there; its last row
    and `products` (n,) are for scratch.
    """

    near: Array
    normals: Singles
    lines: Indices
    places: Indices
    everywhere: Array
    opened: Array
    products: Singles


@kernel
def new_window(inputs: int, count: int) -> Window:
    room = count + KINKS_TOGETHER
    lines, places = np.zeros(room, np.intp), np.zeros(count, np.intp)
    normals, products = np.empty((inputs, room), np.float32), np.empty(room, np.float32)
    return Window(np.empty((3, room)), normals, lines, places, np.empty((2, count)), np.empty((3, inputs)), products)


@fast_kernel
def dot(u: Array, v: Array) -> float:
    total = 0.0
    for k in range(u.shape[0]):
        total += u[k] * v[k]
    return total


@fast_kernel
def add_products(normals: Singles, count: int, new: Array, old: Array, sides: Array, sums: Array, out: Singles) -> None:
    """Add side n.(new - old) of the first `count` normals (inputs, n) to `sums`; the products are made in single precision, in `out`."""
    largest, inputs = 0.0, new.shape[0]
    for k in range(inputs):
        largest = max(largest, abs(new[k] - old[k]))
    if largest == 0.0:
        return
    for i in range(count):
        out[i] = 0.0
    scale, whole = 1.0 / largest, inputs - inputs % UNROLLED
    for k in range(0, whole, UNROLLED):
        c0, c1 = np.float32(scale * (new[k] - old[k])), np.float32(scale * (new[k + 1] - old[k + 1]))
        c2, c3 = np.float32(scale * (new[k + 2] - old[k + 2])), np.float32(scale * (new[k + 3] - old[k + 3]))
        for i in range(count):
            out[i] += c0 * normals[k, i] + c1 * normals[k + 1, i] + c2 * normals[k + 2, i] + c3 * normals[k + 3, i]
    for k in range(whole, inputs):
        c0 = np.float32(scale * (new[k] - old[k]))
        for i in range(count):
            out[i] += c0 * normals[k, i]
    for i in range(count):
        sums[i] += largest * sides[i] * out[i]


@fast_kernel
def within(everywhere: Array, ahead: float, slack: float) -> int:
    """How many kinks may be met by a neuron that goes that far, with that slack."""
    found = 0
    for i in range(everywhere.shape[1]):
        height = everywhere[0, i]
        found += (height <= slack) | (height + ahead * everywhere[1, i] <= slack)
    return found


@fast_kernel
def open_window(
    window: Window, count: int, neurons: PulledNeurons, n: int, kinks: UnitKinks, way: float, slack_share: float
) -> tuple[float, float, int]:  # fmt: skip
    """Close a window of `count` kinks, which brings all of them up to date, and open another: `way` long (negative where a < 0), or
    shorter, with few kinks within. Returns how long it is, its slack and its number of kinks, rounded up."""
    near, everywhere, opened, lines = window.near, window.everywhere, window.opened, window.lines
    w, g, sides, across, total = neurons.w[n], neurons.g[n], neurons.sides[n], kinks.across, everywhere.shape[1]
    add_products(across, total, w, opened[0], sides, everywhere[0], window.products)
    add_products(across, total, g, opened[1], sides, everywhere[1], window.products)
    for j in range(count):
        if lines[j] >= 0:
            everywhere[0, lines[j]], everywhere[1, lines[j]] = near[0, j], near[1, j]
    opened[0], opened[1] = w, g
    most, size = 2 * max(total // WINDOW_SHARE, SMALLEST_WINDOW), slack_share * np.sqrt(dot(g, g))
    for halvings in range(MOST_HALVINGS):
        ahead = way * 0.5**halvings
        if within(everywhere, ahead, size * abs(ahead)) <= most:
            break
    else:  # too many kinks at this very place
        ahead = way
    slack, found = size * abs(ahead), 0
    for i in range(total):
        if everywhere[0, i] <= slack or everywhere[0, i] + ahead * everywhere[1, i] <= slack:
            lines[found], window.places[i] = i, found
            near[0, found], near[1, found], near[2, found] = everywhere[0, i], everywhere[1, i], sides[i]
            found += 1
    whole = -(-found // KINKS_TOGETHER) * KINKS_TOGETHER
    for j in range(found, whole):
        lines[j], near[0, j], near[1, j], near[2, j] = -1, np.inf, 0.0, 0.0
    for k in range(g.shape[0]):
        for j in range(found):
            window.normals[k, j] = across[k, lines[j]]
        for j in range(found, whole):
            window.normals[k, j] = 0.0
    return abs(ahead), slack, whole


@fast_kernel
def next_kink(near: Array, count: int, lean: float, reach: float) -> tuple[float, int]:
    """How far the first of `count` kinks on the way is and which; `reach` and -1 if none is so near."""
    where = -1
    for begin in range(0, count, KINKS_TOGETHER):
        end = min(begin + KINKS_TOGETHER, count)
        below = 0
        for i in range(begin, end):
            below += near[0, i] + reach * lean * near[1, i] < 0.0
        if below == 0:
            continue
        for i in range(begin, end):
            if near[0, i] + reach * lean * near[1, i] < 0.0 and lean * near[1, i] < 0.0:
                reach, where = max(near[0, i], 0.0) / (-lean * near[1, i]), i
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
def settle(neurons: PulledNeurons, n: int, kinks: UnitKinks, window: Window, count: int, attract: bool) -> None:
    """Find the shares of the kinks held, and leave those whose share is none or all."""
    g, sides, held, shares, near = neurons.g[n], neurons.sides[n], neurons.held[n], neurons.shares[n], window.near
    before, left = window.opened[2], 0
    for k in range(g.shape[0]):
        before[k] = g[k]
    take_shares(neurons, n, kinks, attract)
    add_products(window.normals, count, g, before, near[2], near[1], window.products)
    for m in range(neurons.holding[n]):
        line, share = held[m], shares[m]
        place, side = window.places[line], 0.0 if 0.0 < share < 1.0 else 1.0 if share == 1.0 else -1.0
        sides[line] = side
        near[0, place], near[1, place], near[2, place] = 0.0, side * dot(kinks.normals[line], g), side
        if side == 0.0:
            held[left], shares[left] = line, share
            left += 1
    neurons.holding[n] = left


@fast_kernel
def hold(neurons: PulledNeurons, n: int, window: Window, place: int) -> bool:
    """Hold a neuron at that kink of the window; whether there is room for it."""
    near, m = window.near, neurons.holding[n]
    if m == MOST_HELD:
        return False
    neurons.held[n, m], neurons.shares[n, m], neurons.holding[n] = window.lines[place], 0.5 * (1.0 + near[2, place]), m + 1
    near[0, place], near[1, place], near[2, place] = 0.0, 0.0, 0.0
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
def distance(u: Array, v: Array) -> float:
    """|u - v|."""
    total = 0.0
    for k in range(u.shape[0]):
        total += (u[k] - v[k]) ** 2
    return np.sqrt(total)


@fast_kernel
def move_neuron(
    neurons: PulledNeurons, n: int, kinks: UnitKinks, window: Window, length: float, saved: Array, out: Array
) -> int:  # fmt: skip
    """Move a neuron by `length`; its state (w, a, a w.g) at the times `saved` goes to `out` (t, inputs + 2). Returns how many kinks it
    met, -1 if they were too many or all at once."""
    w, g, sides, normals, jumps = neurons.w[n], neurons.g[n], neurons.sides[n], kinks.normals, kinks.jumps
    near, near_normals, lines, products = window.near, window.normals, window.lines, window.products
    rates, near_sides, g_opened, before, holding = near[1], near[2], window.opened[1], window.opened[2], neurons.holding
    a, t, guess, done, met = neurons.a[n], 0.0, np.inf, 0, 0
    last_lean, way, slack, count, next_way, slack_share = 0.0, 0.0, 0.0, 0, np.inf, FIRST_SLACK
    window.opened[:] = 0.0  # so that the first window is opened with all heights and rates
    window.everywhere[:] = 0.0
    for _ in range(MOST_EVENTS_PER_KINK * jumps.shape[0]):
        size = np.sqrt(dot(g, g))
        b = dot(w, g) / size if size > 0.0 else 0.0
        lean = 1.0 if a > 0.0 or (a == 0.0 and b > 0.0) else -1.0
        growth = np.exp(size * (length - t))
        b_end, a_end = 0.5 * ((b + a) * growth + (b - a) / growth), 0.5 * ((b + a) * growth - (b - a) / growth)
        turns = a * a_end < 0.0  # the outgoing weight passes zero, and the way turns back
        if turns:
            b_end, a_end = -lean * np.sqrt((b - a) * (b + a)), 0.0
        furthest = lean * (b_end - b) / size if size > 0.0 else 0.0
        apart = distance(g, g_opened)
        if lean != last_lean or way <= 0.0 or slack <= 0.0:
            ahead = lean * min(next_way, furthest)
            way, slack, count = open_window(window, count, neurons, n, kinks, ahead, slack_share)
            next_way, last_lean, apart, first_slack = 2.0 * way, lean, 0.0, slack
        limit = min(furthest, slack / apart if slack < apart * way else way)
        reach, place = next_kink(near, count, lean, min(limit, guess))
        if place < 0 and guess < limit:
            reach, place = next_kink(near, count, lean, limit)
        until, stops = length, place >= 0 or limit < furthest
        if stops:
            b_end = b + lean * size * reach
            a_end = lean * np.sqrt(max(a * a + (b_end - b) * (b_end + b), 0.0))
        if stops or turns:
            until = min(t + max(elapsed(b, a, b_end, a_end, size), 0.0), length)
        if done < saved.shape[0] and saved[done] <= until:
            done += save((t, b, a, size), w, g, saved[done:], until, out[done:])
        along = (b_end - b) / size if size > 0.0 else 0.0
        for k in range(w.shape[0]):
            w[k] += along * g[k]
        for j in range(count):
            near[0, j] += lean * reach * near[1, j]
        a, t, way, slack = a_end, until, way - reach, slack - reach * apart
        if place >= 0:
            if dot(w, w) <= NEARLY_AT_ORIGIN * NEARLY_AT_ORIGIN * a * a:
                return -1
            guess = DISTANCES_AHEAD * reach if guess == np.inf else 0.5 * (guess + DISTANCES_AHEAD * reach)
            line, side, met = lines[place], near[2, place], met + 1
            rate, jump = side * near[1, place], jumps[line]
            if lean * jump >= 0.0 or (holding[n] == 0 and rate * (rate - side * jump) > 0.0):
                for k in range(g.shape[0]):
                    before[k] = g[k]
                    g[k] -= side * jump * normals[line, k]
                add_products(near_normals, count, g, before, near_sides, rates, products)
                sides[line], near[0, place], near[1, place], near[2, place] = -side, 0.0, -near[1, place], -side
            elif not hold(neurons, n, window, place):
                return -1
            if holding[n] > 0:
                settle(neurons, n, kinks, window, count, True)
        elif stops:  # the window is used up: the next one has the slack that this one needed
            slack_share *= MORE_SLACK if way > 0.0 else LESS_SLACK if slack > 0.5 * first_slack else 1.0
            way = 0.0
        elif turns:
            settle(neurons, n, kinks, window, count, False)
        else:
            neurons.a[n] = a
            return met
    return -1


@kernel
def move_neurons(
    neurons: PulledNeurons, first: int, last: int, kinks: UnitKinks, length: float, saved: Array, out: Array
) -> int:  # fmt: skip
    """Move neurons first..last-1, with `out` (h, t, inputs + 2); returns how many kinks they met, -1 if one could not be moved."""
    window, total = new_window(kinks.normals.shape[1], kinks.jumps.shape[0]), 0
    for n in range(first, last):
        met = move_neuron(neurons, n, kinks, window, length, saved, out[n])
        if met < 0:
            return -1
        total += met
    return total
