"""One neuron through a step whose pulls are known: exactly, from event to event.

Over a step, tau in [0, 1], the pulls of the samples are polynomials of degree s. Between events a neuron (w, a) then obeys a linear
equation with a polynomial drive G (already multiplied by the length of the step),

    dw/dtau = a G(tau) - decay w,    da/dtau = w.G(tau) - decay a,

whose Taylor series is a recursion; it is summed to the order that the tolerance needs. At a kink n.w = 0 the drive jumps by q n, q a
polynomial as well: the neuron crosses, or is held where both sides push it in. While held, G is projected off the normals of its kinks
(the jump is along n, so this is Filippov's solution), and m_l = 2 c_l / q_l with c = -(N N^T)^-1 N G says which share of the jump
is taken: m_l runs in [-1, 1], and the hold ends where it leaves.

The height of a kink over the neuron, n.w/|w|, changes by no more than the angle turned; so each kink is looked at again only when the
angle turned since has used up the height it had.

Moments M_k = int a w P_k(2 tau - 1) dtau of the path are summed on the way; they give the moments of the outputs.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from ..kernels import FAST
from ..kinks import box_problem

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Signs = NDArray[np.int8]

CROSS, HOLD, RELEASE, DEATH, ORIGIN, UNTOLD = 0, 1, 2, 3, 4, 5  # as events.Kind; the last is no event, but changes a side
NO_EVENT, MEETS_KINK, LEAVES_BELOW, LEAVES_ABOVE, TURNS = 0, 1, 2, 3, 4
FOLLOWED, TOO_MANY_PIECES, GREW, NO_ROOM = 0, 1, 2, 3

MOST_PIECES = 20_000  # of one neuron in one step
MOST_GROWTH = 1e4  # of a neuron's squared size within a step: pulls that were extrapolated wildly
ON_KINK = 1e-14  # height over the neuron's size that is zero up to rounding
AT_ORIGIN = 1e-9  # |w| over the neuron's size at which all kinks are met at once
RETURNS = 2  # passages of the origin in a row without leaving it, after which the neuron stays there
NO_SPEED = 1e-12  # drive along a normal, over the largest possible drive, that is zero up to rounding
ON_BOUND = 1e-9  # distance of a multiplier from its bound that counts as being on it
LOOK_AHEAD = 6.0  # pieces for which the list of near kinks is made
EVENT_FIELDS = 8  # neuron, tau, line, kind, velocity below, above, multiplier, change of sign; then n.M_k


class Kinkset(NamedTuple):
    """The kinks of the data: unit normals (lines, inputs), and whether samples lie along and against each."""

    normals: Array
    along: NDArray[np.bool_]
    against: NDArray[np.bool_]


class KnownPulls(NamedTuple):
    """What a step does to a neuron: jumps of the drive (lines, s + 1), monomials in tau, and bounds of any drive."""

    jumps: Array
    largest_drive: float


class Rules(NamedTuple):
    """How neurons are followed: orders, tolerance, what trains, and the weight decay over the step."""

    order: int
    tolerance: float
    slack: float  # how far beyond its bounds a hold may begin a step, over the jump: pulls are projected anew in every step
    first_trains: float
    second_trains: float
    decay: float
    leaky: bool


class Rooms(NamedTuple):
    """Scratch memory of one thread."""

    w: Array  # (order + 1, inputs) Taylor coefficients
    a: Array  # (order + 1,)
    z: Array  # (order + 1,) of a height
    shifted: Array  # (order + 1,)
    sizes: Array  # (3, order + 1): norms, sidewards and inwards parts of w's coefficients
    drive: Array  # (s + 1, inputs) about the present tau; held kinks count half
    moving: Array  # (s + 1, inputs) the same off the held normals
    jump: Array  # (s + 1,)
    moments: Array  # (s + 1, inputs)
    legendre: Array  # (s + 1,)
    point: Array  # (inputs,)
    due: Array  # (lines,) angle turned at which a kink must be looked at
    near: Indices  # (lines,)
    held: Indices  # (inputs + 1,)
    basis: Array  # (inputs + 1, inputs)
    gram: Array  # (inputs + 1, inputs + 1)
    shares: Array  # (inputs + 1, s + 1) c_l of the held kinks


@numba.njit(cache=True, nogil=True, error_model="numpy")
def make_rooms(inputs: int, lines: int, degree: int, order: int) -> Rooms:
    """Scratch memory for neurons of so many inputs."""
    return Rooms(
        np.zeros((order + 1, inputs)), np.zeros(order + 1), np.zeros(order + 1), np.zeros(order + 1), np.zeros((3, order + 1)),
        np.zeros((degree + 1, inputs)), np.zeros((degree + 1, inputs)), np.zeros(degree + 1), np.zeros((degree + 1, inputs)),
        np.zeros(degree + 1), np.zeros(inputs), np.zeros(lines), np.zeros(lines + 1, np.intp), np.zeros(inputs + 1, np.intp),
        np.zeros((inputs + 1, inputs)), np.zeros((inputs + 1, inputs + 1)), np.zeros((inputs + 1, degree + 1)),
    )  # fmt: skip


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST, inline="always")
def inner(a: Array, i: int, b: Array, j: int) -> float:
    """Row i of a times row j of b."""
    total = 0.0
    for k in range(a.shape[1]):
        total += a[i, k] * b[j, k]
    return total


@numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")
def add_row(a: Array, i: int, factor: float, b: Array, j: int) -> None:
    """Row i of a plus factor times row j of b."""
    for k in range(a.shape[1]):
        a[i, k] += factor * b[j, k]


@numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")
def value(c: Array, first: int, last: int, u: float) -> float:
    """sum_j c_j u^(j - first) over j = first ... last."""
    total = c[last]
    for j in range(last - 1, first - 1, -1):
        total = total * u + c[j]
    return total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def shift(c: Array, last: int, u: float) -> None:
    """Coefficients about 0 become coefficients about u."""
    for i in range(last):
        for j in range(last - 1, i - 1, -1):
            c[j] += u * c[j + 1]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _bracketed(c: Array, first: int, last: int, low: float, high: float) -> float:
    """The root between low (where the polynomial is positive) and high (where it is not): Newton, kept in the bracket."""
    u = 0.5 * (low + high)
    at_low, at_high = value(c, first, last, low), value(c, first, last, high)
    if at_low > at_high:
        u = (low * -at_high + high * at_low) / (at_low - at_high)
    for _ in range(60):
        here, slope = c[last], 0.0
        for j in range(last - 1, first - 1, -1):
            slope = slope * u + here
            here = here * u + c[j]
        if here > 0.0:
            low = u
        else:
            high = u
        step = here / slope if slope < 0.0 else np.inf
        after = u - step
        if not low < after < high:
            after = 0.5 * (low + high)
        if abs(after - u) <= 4e-16 * high or high - low <= 4e-16 * high:
            return after
        u = after
    return u


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _falls_within(c: Array, first: int, last: int, until: float) -> float:
    """First u in (0, until] where the polynomial, not negative at 0, falls through zero; inf if none, -1 if that is not clear."""
    slope_bound, bend_bound, power = 0.0, 0.0, until
    degree = last - first
    for j in range(2, degree + 1):
        slope_bound += j * abs(c[first + j]) * power
        if j > 2:
            bend_bound += j * (j - 1) * abs(c[first + j]) * power / until
        power *= until
    slope = c[first + 1] if degree >= 1 else 0.0
    bend = 2.0 * c[first + 2] if degree >= 2 else 0.0
    if slope >= slope_bound:
        return np.inf  # rises all the way
    if slope <= -slope_bound or bend + bend_bound < 0.0:  # falls all the way, or bends down: at most one root
        if value(c, first, last, until) >= 0.0:
            return np.inf
        low = 0.0
        if c[first] == 0.0:  # and rises first
            low = until
            while value(c, first, last, low) <= 0.0:
                low *= 0.5
                if low < 1e-30:
                    return 0.0
        return _bracketed(c, first, last, low, until)
    if bend - bend_bound > 0.0:  # bends up: look at its lowest point
        if slope >= 0.0:
            return np.inf
        low, high = 0.0, until
        for _ in range(60):
            u = min(max(-slope / bend, low), high) if low == 0.0 and high == until else 0.5 * (low + high)
            here, rate = 0.0, 0.0
            for j in range(degree, 0, -1):
                rate = rate * u + here
                here = here * u + j * c[first + j]
            if value(c, first, last, u) < 0.0:
                return _bracketed(c, first, last, 0.0, u) if c[first] > 0.0 else 0.0
            if here > 0.0:
                high = u
            else:
                low = u
            if high - low <= 1e-7 * until or (here <= 0.0 and u == until):
                return np.inf
        return np.inf
    return -1.0


@numba.njit(cache=True, nogil=True, error_model="numpy")
def first_fall(c: Array, first: int, last: int, until: float, work: Array) -> float:
    """First u in (0, until] where sum_j c_j u^(j - first), not negative at 0, falls through zero; inf if there is none.

    Signs of derivatives are bounded, so that no pair of roots is missed; where they are not clear the interval is halved.
    """
    if c[first] < 0.0:
        return 0.0
    if until <= 0.0:
        return np.inf
    found = _falls_within(c, first, last, until)
    if found != -1.0:
        return found
    degree = last - first
    for j in range(degree + 1):
        work[j] = c[first + j]
    done, length = 0.0, 0.5 * until
    for _ in range(200):
        found = _falls_within(work, 0, degree, length)
        if found == -1.0 and length < 1e-3 * until:
            found = np.inf if value(work, 0, degree, length) >= 0.0 else _bracketed(work, 0, degree, 0.0, length)
        if found == -1.0:
            length *= 0.5
            continue
        if found < np.inf:
            return done + found
        done += length
        if done >= until * (1.0 - 1e-12):
            return np.inf
        shift(work, degree, length)
        work[0] = max(work[0], 0.0)
        length = min(2.0 * length, until - done)
    return np.inf


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _expand(rooms: Rooms, rules: Rules, wanted: float) -> tuple[int, float]:
    """Taylor coefficients of w and a: how many, and how far they reach (at most `wanted`)."""
    w, a, g = rooms.w, rooms.a, rooms.moving
    degree, inputs = g.shape[0] - 1, w.shape[1]
    size = np.sqrt(inner(w, 0, w, 0) + a[0] * a[0]) + 1e-300
    allowed, power, before, order = rules.tolerance * size, 1.0, np.inf, rules.order
    last = 0.0
    for j in range(rules.order):
        total = -rules.decay * a[j]
        for k in range(inputs):
            w[j + 1, k] = -rules.decay * w[j, k]
        for m in range(min(j, degree) + 1):
            factor = a[j - m]
            for k in range(inputs):
                w[j + 1, k] += factor * g[m, k]
            total += inner(w, j - m, g, m)
        scale = 1.0 / (j + 1)
        for k in range(inputs):
            w[j + 1, k] *= scale * rules.first_trains
        a[j + 1] = total * scale * rules.second_trains
        power *= wanted
        last = np.sqrt(inner(w, j + 1, w, j + 1) + a[j + 1] * a[j + 1])
        if j >= 2 and last * power <= allowed and before <= 30.0 * allowed:
            return j + 1, wanted
        before = last * power
    return order, min(wanted, (allowed / (last + 1e-300)) ** (1.0 / order))


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _measure(rooms: Rooms, order: int) -> float:
    """Norms of w's coefficients, and their parts across w and against it, over |w|; returns |w|."""
    w, sizes = rooms.w, rooms.sizes
    length = np.sqrt(inner(w, 0, w, 0)) + 1e-300
    for j in range(1, order + 1):
        square, along = inner(w, j, w, j), inner(w, j, w, 0) / length
        sizes[0, j] = np.sqrt(square)
        sizes[1, j] = np.sqrt(max(square - along * along, 1e-20 * square)) / length
        sizes[2, j] = max(0.0, -along) / length
    return length


@numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _angle(sizes: Array, order: int, u: float) -> float:
    """A bound of the angle that w turns within u."""
    across, length, power = 0.0, 1.0, u
    for j in range(1, order + 1):
        across += sizes[1, j] * power
        length -= sizes[2, j] * power
        power *= u
    return across / length if length > 0.1 else 1e300


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _hold_in_place(rooms: Rooms, held: int) -> None:
    """Orthonormal basis of the held normals; w is put onto the kinks and the drive projected off their normals."""
    basis, w, drive, moving = rooms.basis, rooms.w, rooms.drive, rooms.moving
    for i in range(drive.shape[0]):
        for k in range(drive.shape[1]):
            moving[i, k] = drive[i, k]
    for m in range(held):
        add_row(w, 0, -inner(basis, m, w, 0), basis, m)
        for i in range(moving.shape[0]):
            add_row(moving, i, -inner(basis, m, moving, i), basis, m)


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _make_basis(rooms: Rooms, held: int, kinks: Kinkset) -> int:
    """Gram-Schmidt of the held normals; those that depend on others are no longer listed. How many are left."""
    basis, kept = rooms.basis, 0
    for m in range(held):
        line = rooms.held[m]
        for k in range(basis.shape[1]):
            basis[kept, k] = kinks.normals[line, k]
        for _ in range(2):
            for j in range(kept):
                add_row(basis, kept, -inner(basis, kept, basis, j), basis, j)
        length = np.sqrt(inner(basis, kept, basis, kept))
        if length > 1e-9:
            for k in range(basis.shape[1]):
                basis[kept, k] /= length
            rooms.held[kept] = line
            kept += 1
    return kept


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _find_shares(rooms: Rooms, held: int, kinks: Kinkset) -> None:
    """c = -(N N^T)^-1 N G for the held kinks, by Cholesky, into `shares`."""
    gram, shares, normals = rooms.gram, rooms.shares, kinks.normals
    for m in range(held):
        for i in range(shares.shape[1]):
            shares[m, i] = -inner(normals, rooms.held[m], rooms.drive, i)
        for j in range(m + 1):
            total = inner(normals, rooms.held[m], normals, rooms.held[j])
            for k in range(j):
                total -= gram[m, k] * gram[j, k]
            gram[m, j] = np.sqrt(max(total, 1e-24)) if j == m else total / gram[j, j]
    for i in range(shares.shape[1]):
        for m in range(held):
            for k in range(m):
                shares[m, i] -= gram[m, k] * shares[k, i]
            shares[m, i] /= gram[m, m]
        for m in range(held - 1, -1, -1):
            for k in range(m + 1, held):
                shares[m, i] -= gram[k, m] * shares[k, i]
            shares[m, i] /= gram[m, m]


@numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _jump_from(jumps: Array, line: int, tau: float, out: Array) -> None:
    """The jump polynomial of a line about tau."""
    for i in range(out.shape[0]):
        out[i] = jumps[line, i]
    shift(out, out.shape[0] - 1, tau)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _first_release(
    rooms: Rooms, held: int, pulls: KnownPulls, tau: float, until: float, slack: float
) -> tuple[float, int, int]:
    """When the first hold ends within `until`, which, and to which side; NO_EVENT if none does."""
    best, who, kind = until, -1, NO_EVENT
    degree, margin = rooms.jump.shape[0] - 1, rooms.z
    for m in range(held):
        _jump_from(pulls.jumps, rooms.held[m], tau, rooms.jump)
        sign = 1.0 if rooms.jump[0] > 0.0 else -1.0
        rounding = NO_SPEED * pulls.largest_drive
        allowed = slack * abs(rooms.jump[0]) + rounding
        for side in (-1.0, 1.0):
            for i in range(degree + 1):
                margin[i] = sign * (0.5 * rooms.jump[i] - side * rooms.shares[m, i])
            first = 0
            if margin[0] <= rounding:
                if margin[0] < -allowed:
                    return 0.0, m, LEAVES_ABOVE if side > 0 else LEAVES_BELOW
                first = 1  # on its bound: what it does next decides
                while first < degree and abs(margin[first]) <= rounding:
                    first += 1
                if abs(margin[first]) <= rounding:
                    continue
            u = first_fall(margin, first, degree, best, rooms.shifted)
            if u < best:
                best, who, kind = u, m, LEAVES_ABOVE if side > 0 else LEAVES_BELOW
    return best, who, kind


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _list_near(due: Array, limit: float, near: Indices) -> int:
    """The kinks that are due before the angle `limit`."""
    count = 0
    for line in range(due.shape[0]):
        near[count] = line
        count += 1 if due[line] <= limit else 0
    return count


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _first_meeting(
    rooms: Rooms, signs: Signs, kinks: Kinkset, order: int, near: int, turned: float, until: float, length: float, size: float,
    slow: float, fresh: int, released: float,
) -> tuple[float, int]:  # fmt: skip
    """When and where w first reaches a kink from its side within `until`; -1 if it reaches none. Kinks looked at get a new due angle."""
    w, normals, z = rooms.w, kinks.normals, rooms.z
    reach = turned + _angle(rooms.sizes, order, until)
    best, where = until, -1
    rest, power = 0.0, until * until * until
    for j in range(3, order + 1):
        rest += rooms.sizes[0, j] * power
        power *= until
    for n in range(near):
        line = rooms.near[n]
        if rooms.due[line] > reach:
            continue
        side = signs[line]
        if side == 0:
            continue
        height = side * inner(normals, line, w, 0)
        rooms.due[line] = turned + max(height, 0.0) / length
        if rooms.due[line] > reach:
            continue
        slope, bend = side * inner(normals, line, w, 1), side * inner(normals, line, w, 2)
        if height > max(0.0, -slope) * until + max(0.0, -bend) * until * until + rest:
            continue
        z[0], z[1], z[2] = height, slope, bend
        for j in range(3, order + 1):
            z[j] = side * inner(normals, line, w, j)
        first = 0
        if height < ON_KINK * size:
            first = 1
            if abs(slope) <= (slow + released if line == fresh else slow):
                first = 2  # it starts from rest
                if abs(bend) <= slow:
                    continue
        u = first_fall(z, first, order, best, rooms.shifted)
        if u < best or (where < 0 and u <= best):
            best, where = u, line
    return best, where


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _advance(rooms: Rooms, order: int, tau: float, u: float, nodes: Array, weights: Array) -> None:
    """Moments over the piece, then w, a and the drive about its end."""
    w, a, point, legendre, moments = rooms.w, rooms.a, rooms.point, rooms.legendre, rooms.moments
    degree, inputs = moments.shape[0] - 1, w.shape[1]
    points = min((order + 4) // 2, nodes.shape[0] - 1)
    for b in range(points):
        v = u * nodes[points, b]
        t = 2.0 * (tau + v) - 1.0
        legendre[0] = 1.0
        if degree > 0:
            legendre[1] = t
        for i in range(1, degree):
            legendre[i + 1] = ((2 * i + 1) * t * legendre[i] - i * legendre[i - 1]) / (i + 1)
        for k in range(inputs):
            point[k] = w[order, k]
        for j in range(order - 1, -1, -1):
            for k in range(inputs):
                point[k] = point[k] * v + w[j, k]
        factor = u * weights[points, b] * value(a, 0, order, v)
        for i in range(degree + 1):
            scale = factor * legendre[i]
            for k in range(inputs):
                moments[i, k] += scale * point[k]
    for j in range(order - 1, -1, -1):
        for k in range(inputs):
            w[order, k] = w[order, k] * u + w[j, k]
    for k in range(inputs):
        w[0, k] = w[order, k]
    a[0] = value(a, 0, order, u)
    drive = rooms.drive
    for i in range(degree):
        for j in range(degree - 1, i - 1, -1):
            for k in range(inputs):
                drive[j, k] += u * drive[j + 1, k]


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _save(rooms: Rooms, order: int, u: float, out_w: Array, row: int) -> float:
    """w at u into row `row` of out_w; a there."""
    for k in range(out_w.shape[1]):
        total = rooms.w[order, k]
        for j in range(order - 1, -1, -1):
            total = total * u + rooms.w[j, k]
        out_w[row, k] = total
    return value(rooms.a, 0, order, u)


@numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _note(
    events: Array, count: int, tau: float, line: int, kind: int, below: float, above: float, multiplier: float, change: float
) -> int:
    """Write an event; the number of events after it."""
    row = events[count]
    row[1], row[2], row[3], row[4], row[5], row[6], row[7] = tau, line, kind, below, above, multiplier, change
    return count + 1


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _turn_to(
    rooms: Rooms, signs: Signs, kinks: Kinkset, line: int, side: int, events: Array, count: int
) -> None:
    """Give a line its new side (0: held): the drive (`jump` holds the line's jump about now) and the event's moments follow."""
    change = 0.5 * (side - signs[line])
    for i in range(rooms.jump.shape[0]):
        add_row(rooms.drive, i, change * rooms.jump[i], kinks.normals, line)
        events[count, EVENT_FIELDS + i] = inner(kinks.normals, line, rooms.moments, i)
    signs[line] = side


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _decide_together(
    rooms: Rooms, signs: Signs, kinks: Kinkset, pulls: KnownPulls, held: int, arrived: int, came_from: int, tau: float,
    events: Array, count: int,
) -> tuple[int, int]:  # fmt: skip
    """Settle all held kinks, of which the last may have `arrived` just now, as a box problem; how many are held, and events."""
    a = rooms.a[0]
    direction = 1.0 if a >= 0.0 else -1.0
    gram, speeds, bounds = np.empty((held, held)), np.empty(held), np.empty(held)
    for m in range(held):
        speeds[m] = inner(kinks.normals, rooms.held[m], rooms.drive, 0)
        bounds[m] = -direction * value(pulls.jumps[rooms.held[m]], 0, rooms.jump.shape[0] - 1, tau)
    for m in range(held):
        for j in range(held):
            gram[m, j] = inner(kinks.normals, rooms.held[m], kinks.normals, rooms.held[j])
    below = direction * speeds + 0.5 * gram @ bounds  # all held kinks counted below
    attracting = np.flatnonzero(bounds > 0.0)
    mu = np.zeros(held)
    inside = np.empty((attracting.shape[0], attracting.shape[0]))
    for m in range(attracting.shape[0]):
        for j in range(attracting.shape[0]):
            inside[m, j] = gram[attracting[m], attracting[j]]
    solved = box_problem(inside, below[attracting], bounds[attracting])
    for m in range(attracting.shape[0]):
        mu[attracting[m]] = solved[m]
    after = below - gram @ mu
    kept = 0
    for m in range(held):
        line = rooms.held[m]
        share = mu[m] / bounds[m] if bounds[m] > 0.0 else np.nan
        if bounds[m] > 0.0 and ON_BOUND < share < 1.0 - ON_BOUND:
            rooms.held[kept] = line
            kept += 1
            if line == arrived:
                count = _note(events, count, tau, line, HOLD, after[m] + mu[m], after[m] + mu[m] - bounds[m], share, -came_from)
                for i in range(rooms.jump.shape[0]):
                    events[count - 1, EVENT_FIELDS + i] = inner(kinks.normals, line, rooms.moments, i)
            continue
        if bounds[m] > 0.0:
            side = 1 if share >= 0.5 else -1
        else:
            side = 1 if after[m] - 0.5 * bounds[m] > 0.0 else -1
        _jump_from(pulls.jumps, line, tau, rooms.jump)
        _turn_to(rooms, signs, kinks, line, side, events, count)
        if line != arrived:
            count = _note(events, count, tau, line, RELEASE, 0.0, 0.0, np.nan, side)
        elif side != came_from:
            speed = after[m] + mu[m]
            count = _note(events, count, tau, line, CROSS, speed, speed - bounds[m], np.nan, side - came_from)
    return kept, count


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _active(signs: Signs, kinks: Kinkset) -> int:
    """How many lines have a sample that activates a neuron of this pattern."""
    count = 0
    for line in range(signs.shape[0]):
        side = signs[line]
        count += side == 0 or (side > 0 and kinks.along[line]) or (side < 0 and kinks.against[line])
    return count


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _rest(rooms: Rooms, rules: Rules, tau: float, saved: Array, done: int, out_w: Array, out_a: Array) -> None:
    """Weights that nothing drives any more: only decay is left, to the end of the step."""
    first, second = rules.decay * rules.first_trains, rules.decay * rules.second_trains
    for n in range(done, saved.shape[0]):
        for k in range(rooms.w.shape[1]):
            out_w[n, k] = rooms.w[0, k] * np.exp(-first * (saved[n] - tau))
        out_a[n] = rooms.a[0] * np.exp(-second * (saved[n] - tau))
    for k in range(rooms.w.shape[1]):
        rooms.w[0, k] *= np.exp(-first * (1.0 - tau))
    rooms.a[0] *= np.exp(-second * (1.0 - tau))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _pass_origin(
    rooms: Rooms, signs: Signs, kinks: Kinkset, pulls: KnownPulls, size: float, tau: float, stays: bool, events: Array, count: int
) -> int:  # fmt: skip
    """At w = 0 all kinks are met at once: go on to the other side as driven there, or stay; the number of events after it."""
    count = _note(events, count, tau, -1, DEATH if stays else ORIGIN, 0.0, 0.0, np.nan, 0.0)
    speed = np.sqrt(inner(rooms.moving, 0, rooms.moving, 0)) + 1e-300
    factor = 0.0 if stays else 2.0 * AT_ORIGIN * size / speed * (1.0 if rooms.a[0] >= 0.0 else -1.0)
    for k in range(rooms.w.shape[1]):
        rooms.w[0, k] = factor * rooms.moving[0, k]
    for line in range(signs.shape[0]):
        rooms.due[line] = 0.0
        if signs[line] == 0:
            continue
        height = inner(kinks.normals, line, rooms.w, 0)
        side = 0 if stays else 1 if height > 0.0 else -1
        if side != signs[line]:
            _jump_from(pulls.jumps, line, tau, rooms.jump)
            change = side - signs[line]
            _turn_to(rooms, signs, kinks, line, side, events, count)
            count = _note(events, count, tau, line, UNTOLD, 0.0, 0.0, np.nan, change)
    return count


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _meet(
    rooms: Rooms, signs: Signs, kinks: Kinkset, pulls: KnownPulls, line: int, held: int, tau: float, events: Array, count: int
) -> tuple[int, int]:  # fmt: skip
    """A free line is reached: cross it, or hold it and settle it with the other holds; how many are held, and events."""
    came_from = signs[line]
    _jump_from(pulls.jumps, line, tau, rooms.jump)
    jump = rooms.jump[0]
    direction = 1.0 if rooms.a[0] >= 0.0 else -1.0
    here = inner(kinks.normals, line, rooms.drive, 0)
    below = direction * (here if came_from < 0 else here - jump)
    above = below + direction * jump
    beyond = below if came_from > 0 else above
    if direction * jump >= 0.0 or (held == 0 and came_from * beyond <= NO_SPEED * pulls.largest_drive):
        _turn_to(rooms, signs, kinks, line, -came_from, events, count)
        count = _note(events, count, tau, line, CROSS, below, above, np.nan, -2.0 * came_from)
        return (held, count) if held == 0 else _decide_together(rooms, signs, kinks, pulls, held, -1, 0, tau, events, count)
    _turn_to(rooms, signs, kinks, line, 0, events, count)
    rooms.held[held] = line
    if held == 0:
        share = min(max(-below / (above - below), 0.0), 1.0)
        return 1, _note(events, count, tau, line, HOLD, below, above, share, -came_from)
    return _decide_together(rooms, signs, kinks, pulls, held + 1, line, came_from, tau, events, count)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def follow_neuron(
    rooms: Rooms, signs: Signs, kinks: Kinkset, pulls: KnownPulls, rules: Rules, nodes: Array, weights: Array,
    saved: Array, out_w: Array, out_a: Array, events: Array, count: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Follow one neuron from tau = 0 to 1: its start, drive and due angles lie in `rooms`, and its end will.

    States at times `saved` go to out_w (t, inputs) and out_a (t,), events to rows of `events` from `count` on.
    Returns how it ended, the number of events, and the number of pieces.
    """
    inputs, room = rooms.w.shape[1], events.shape[0] - 2 * signs.shape[0] - 8
    held = 0
    for line in range(signs.shape[0]):
        if signs[line] == 0:
            if held == inputs:
                held += 1
                break
            rooms.held[held] = line
            held += 1
    for i in range(rooms.moments.shape[0]):
        for k in range(inputs):
            rooms.moments[i, k] = 0.0
    if (held > inputs) or (not rules.leaky and _active(signs, kinks) == 0):
        _rest(rooms, rules, 0.0, saved, 0, out_w, out_a)
        return FOLLOWED, count, 0
    held = _make_basis(rooms, held, kinks)
    square = inner(rooms.w, 0, rooms.w, 0) + rooms.a[0] * rooms.a[0]
    tau, turned, limit, near, gap, done, fresh, returns, passed, slack = 0.0, 0.0, -1.0, 0, 1.0, 0, -1, 0, -1.0, rules.slack
    for piece in range(MOST_PIECES):
        now = inner(rooms.w, 0, rooms.w, 0) + rooms.a[0] * rooms.a[0]
        if not now <= MOST_GROWTH * square:
            return GREW, count, piece
        if count > room:
            return NO_ROOM, count, piece
        _hold_in_place(rooms, held)
        order, until = _expand(rooms, rules, min(1.0 - tau, 2.0 * gap))
        length = _measure(rooms, order)
        angle = _angle(rooms.sizes, order, until)
        while angle > 0.7 and until > 1e-14:
            until *= 0.5
            angle = _angle(rooms.sizes, order, until)
        if turned + angle > limit:
            limit = turned + LOOK_AHEAD * angle
            near = _list_near(rooms.due, limit, rooms.near)
        size = np.sqrt(now)
        slow = NO_SPEED * abs(rooms.a[0]) * pulls.largest_drive
        released = 0.0
        if fresh >= 0:
            released = 1e-9 * abs(rooms.a[0] * value(pulls.jumps[fresh], 0, rooms.jump.shape[0] - 1, tau))
        until, line = _first_meeting(
            rooms, signs, kinks, order, near, turned, until, length, size, slow, fresh, released
        )
        kind = MEETS_KINK if line >= 0 else NO_EVENT
        if held > 0:
            _find_shares(rooms, held, kinks)
            u, who, how = _first_release(rooms, held, pulls, tau, until, slack)
            slack = 0.0
            if how != NO_EVENT:
                until, kind, line = u, how, who
            lean = 1.0 if rooms.a[0] > 0.0 or (rooms.a[0] == 0.0 and rooms.a[1] > 0.0) else -1.0
            for j in range(order + 1):
                rooms.z[j] = lean * rooms.a[j]
            u = first_fall(rooms.z, 1 if rooms.a[0] == 0.0 else 0, order, until, rooms.shifted)
            if u < until:
                until, kind = u, TURNS
        while done < saved.shape[0] and saved[done] <= tau + until + 1e-15:
            out_a[done] = _save(rooms, order, saved[done] - tau, out_w, done)
            done += 1
        turned += _angle(rooms.sizes, order, until)
        gap = 0.7 * gap + 0.3 * until if kind != NO_EVENT else max(gap, 2.0 * until)
        if until > 0.0:
            _advance(rooms, order, tau, until, nodes, weights)
            tau += until
        fresh = -1
        if inputs > 1 and length > 0.0 and np.sqrt(inner(rooms.w, 0, rooms.w, 0)) <= AT_ORIGIN * np.sqrt(now):
            returns = returns + 1 if passed >= 0.0 and tau - passed < 1e-5 else 0
            passed = tau
            stays = returns >= RETURNS or held >= inputs
            count = _pass_origin(rooms, signs, kinks, pulls, size, tau, stays, events, count)
            if stays:
                _rest(rooms, rules, tau, saved, done, out_w, out_a)
                return FOLLOWED, count, piece
            if held > 0:
                held, count = _decide_together(rooms, signs, kinks, pulls, held, -1, 0, tau, events, count)
                held = _make_basis(rooms, held, kinks)
            turned, limit = 0.0, -1.0
            continue
        if kind == NO_EVENT:
            if tau >= 1.0 - 1e-14:
                return FOLLOWED, count, piece + 1
            continue
        if kind == MEETS_KINK:
            held, count = _meet(rooms, signs, kinks, pulls, line, held, tau, events, count)
            rooms.due[line] = turned
            if not rules.leaky and _active(signs, kinks) == 0:
                count = _note(events, count, tau, -1, DEATH, 0.0, 0.0, np.nan, 0.0)
                _rest(rooms, rules, tau, saved, done, out_w, out_a)
                return FOLLOWED, count, piece + 1
        elif kind == TURNS:
            held, count = _let_go(rooms, signs, kinks, pulls, held, tau, events, count)
        else:
            fresh = rooms.held[line]
            side = 1 if kind == LEAVES_ABOVE else -1
            _jump_from(pulls.jumps, fresh, tau, rooms.jump)
            _turn_to(rooms, signs, kinks, fresh, side, events, count)
            count = _note(events, count, tau, fresh, RELEASE, 0.0, 0.0, np.nan, side)
            held -= 1
            for m in range(line, held):
                rooms.held[m] = rooms.held[m + 1]
        held = _make_basis(rooms, held, kinks)
        limit = -1.0  # kinks just left are near
    return TOO_MANY_PIECES, count, MOST_PIECES


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _let_go(
    rooms: Rooms, signs: Signs, kinks: Kinkset, pulls: KnownPulls, held: int, tau: float, events: Array, count: int
) -> tuple[int, int]:  # fmt: skip
    """The outgoing weight changes sign while held: what attracted now repels, and the neuron leaves to the side that pushes more."""
    lean = 1.0 if rooms.a[1] >= 0.0 else -1.0
    rooms.a[0] = 0.0
    for m in range(held):
        line = rooms.held[m]
        side = 1 if lean * inner(kinks.normals, line, rooms.drive, 0) > 0.0 else -1
        _jump_from(pulls.jumps, line, tau, rooms.jump)
        _turn_to(rooms, signs, kinks, line, side, events, count)
        count = _note(events, count, tau, line, RELEASE, 0.0, 0.0, np.nan, side)
    return 0, count


@numba.njit(cache=True, nogil=True, error_model="numpy")
def follow_neurons(
    neurons: Indices, w: Array, a: Array, signs: Signs, heights: NDArray[np.float32], drives: Array,
    kinks: Kinkset, pulls: KnownPulls, rules: Rules, nodes: Array, weights: Array, saved: Array,
    end_w: Array, end_a: Array, end_signs: Signs, moments: Array, out_w: Array, out_a: Array, events: Array, ends: Indices,
) -> tuple[int, int]:  # fmt: skip
    """Follow these neurons, one after the other. w (h, d), a (h,), signs (h, lines), heights |n.w|/|w|, drives (h, s + 1, d)
    are their starts; end_*, moments (h, s + 1, d), out_w (h, t, d), out_a (h, t) get what became of them, `events` what happened,
    `ends[n]` the number of events up to the n-th of them. Returns how it ended (the first failure), and the pieces followed.
    """
    lines, inputs = kinks.normals.shape
    rooms = make_rooms(inputs, lines, drives.shape[1] - 1, rules.order)
    count, pieces = 0, 0
    for n in range(neurons.shape[0]):
        h = neurons[n]
        rooms.a[0] = a[h]
        for k in range(inputs):
            rooms.w[0, k] = w[h, k]
        for i in range(drives.shape[1]):
            for k in range(inputs):
                rooms.drive[i, k] = drives[h, i, k]
        for line in range(lines):
            end_signs[h, line] = signs[h, line]
            rooms.due[line] = 0.999999 * heights[h, line]
        begin = count
        status, count, used = follow_neuron(
            rooms, end_signs[h], kinks, pulls, rules, nodes, weights, saved, out_w[h], out_a[h], events, count
        )
        pieces += used
        if status != FOLLOWED:
            return status, pieces
        for e in range(begin, count):
            events[e, 0] = h
        ends[n] = count
        end_a[h] = rooms.a[0]
        for k in range(inputs):
            end_w[h, k] = rooms.w[0, k]
        for i in range(drives.shape[1]):
            for k in range(inputs):
                moments[h, i, k] = rooms.moments[i, k]
    return FOLLOWED, pieces
