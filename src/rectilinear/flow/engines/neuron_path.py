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

from ...arrays import Array, Indices, Signs
from ..fast_math import FAST

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
WANTED = 2.0  # times the usual distance of events, that a piece may reach
WIDEST = 0.7  # angle that a piece may turn
SOON = 1e-5  # of a step: time between passages of the origin that did not leave it
DEPENDENT = 1e-9  # length of a unit normal off the span of others at which it lies in it
LOOK_AHEAD = 4.0  # pieces for which the list of near kinks is made
EVENT_FIELDS = 8  # neuron, tau, line, kind, velocity below, above, multiplier, change of sign; then n.M_k


class KnownStep(NamedTuple):
    """What a step does to any neuron: unit normals of the kinks (lines, inputs), the jumps of the drive (lines, s + 1) there,
    monomials in tau, which of them (lines, 2) have samples against and along the normal, and the times `saved`."""

    normals: Array
    jumps: Array
    sided: NDArray[np.bool_]
    saved: Array


class Rules(NamedTuple):
    """How neurons are followed: orders, tolerance, what trains, and the weight decay over the step."""

    inputs: int  # without padding
    order: int  # of Taylor series, at most
    tolerance: float  # of a neuron's size, that a piece may err by
    largest_drive: float  # that the pulls can exert on any neuron
    slack: float  # how far beyond its bounds a hold may begin a step, over the jump: pulls are projected anew in every step
    first_trains: float
    second_trains: float
    decay: float
    leaky: bool


class Start(NamedTuple):
    """Where neurons begin a step: w (h, inputs), a (h,), signs (h, lines), heights |n.w|/|w| (h, lines), and how far apart their
    events are (h,), as a guess that is bettered."""

    w: Array
    a: Array
    signs: Signs
    heights: NDArray[np.float32]
    gaps: Array


class End(NamedTuple):
    """What became of them: the same at the end, moments (h, s + 1, inputs), and states at the saved times (h, t, ...)."""

    w: Array
    a: Array
    signs: Signs
    moments: Array
    saved_w: Array
    saved_a: Array


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def inner(a: Array, i: int, b: Array, j: int) -> float:
    """Row i of a times row j of b."""
    total = 0.0
    for k in range(a.shape[1]):
        total += a[i, k] * b[j, k]
    return total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def add_row(a: Array, i: int, factor: float, b: Array, j: int) -> None:
    """Row i of a plus factor times row j of b."""
    for k in range(a.shape[1]):
        a[i, k] += factor * b[j, k]


@numba.njit(cache=True, nogil=True, error_model="numpy")
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
def expand(w: Array, a: Array, g: Array, rules: Rules, wanted: float, size: float) -> tuple[int, float]:
    """Taylor coefficients of w (order + 1, inputs) and a under the drive g: how many, and how far they reach (at most `wanted`)."""
    degree, inputs = g.shape[0] - 1, w.shape[1]
    allowed, power, before, last = rules.tolerance * size, 1.0, np.inf, 0.0
    for j in range(rules.order):
        total = -rules.decay * a[j]
        for k in range(inputs):
            w[j + 1, k] = -rules.decay * w[j, k]
        for m in range(min(j, degree) + 1):
            add_row(w, j + 1, a[j - m], g, m)
            total += inner(w, j - m, g, m)
        scale = 1.0 / (j + 1)
        square = 0.0
        for k in range(inputs):
            w[j + 1, k] *= scale * rules.first_trains
            square += w[j + 1, k] * w[j + 1, k]
        a[j + 1] = total * scale * rules.second_trains
        power *= wanted
        last = np.sqrt(square + a[j + 1] * a[j + 1])
        if j >= 2 and last * power <= allowed and before <= 30.0 * allowed:
            return j + 1, wanted
        before = last * power
    return rules.order, min(wanted, (allowed / (last + 1e-300)) ** (1.0 / rules.order))


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def measure(w: Array, order: int, length: float, sizes: Array) -> None:
    """Norms of w's coefficients, and their parts across w and against it, over |w|, into the rows of `sizes` (3, order + 1)."""
    for j in range(1, order + 1):
        square, along = inner(w, j, w, j), inner(w, j, w, 0) / length
        sizes[0, j] = np.sqrt(square)
        sizes[1, j] = np.sqrt(max(square - along * along, 1e-20 * square)) / length
        sizes[2, j] = max(0.0, -along) / length


@numba.njit(cache=True, nogil=True, error_model="numpy")
def angle_turned(sizes: Array, order: int, u: float) -> float:
    """A bound of the angle that w turns within u."""
    across, length, power = 0.0, 1.0, u
    for j in range(1, order + 1):
        across += sizes[1, j] * power
        length -= sizes[2, j] * power
        power *= u
    return across / length if length > 0.1 else 1e300


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def span_of_held(held: Indices, count: int, normals: Array, basis: Array) -> int:
    """Orthonormal rows that span the held normals; held lines that depend on others are dropped. How many are left."""
    kept = 0
    for m in range(count):
        line = held[m]
        for k in range(basis.shape[1]):
            basis[kept, k] = normals[line, k]
        for _ in range(2):
            for j in range(kept):
                add_row(basis, kept, -inner(basis, kept, basis, j), basis, j)
        length = np.sqrt(inner(basis, kept, basis, kept))
        if length > DEPENDENT:
            for k in range(basis.shape[1]):
                basis[kept, k] /= length
            held[kept] = line
            kept += 1
    return kept


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def find_shares(held: Indices, count: int, normals: Array, drive: Array, gram: Array, shares: Array) -> None:
    """c = -(N N^T)^-1 N G of the held kinks into `shares` (held, s + 1), by Cholesky."""
    for m in range(count):
        for i in range(shares.shape[1]):
            shares[m, i] = -inner(normals, held[m], drive, i)
        for j in range(m + 1):
            total = inner(normals, held[m], normals, held[j])
            for k in range(j):
                total -= gram[m, k] * gram[j, k]
            gram[m, j] = np.sqrt(max(total, DEPENDENT * DEPENDENT)) if j == m else total / gram[j, j]
    for i in range(shares.shape[1]):
        for m in range(count):
            for k in range(m):
                shares[m, i] -= gram[m, k] * shares[k, i]
            shares[m, i] /= gram[m, m]
        for m in range(count - 1, -1, -1):
            for k in range(m + 1, count):
                shares[m, i] -= gram[k, m] * shares[k, i]
            shares[m, i] /= gram[m, m]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def jump_from(jumps: Array, line: int, tau: float, out: Array) -> None:
    """The jump polynomial of a line about tau."""
    degree = jumps.shape[1] - 1
    for i in range(degree + 1):
        out[i] = jumps[line, i]
    shift(out, degree, tau)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def first_release(
    held: Indices, count: int, shares: Array, jumps: Array, polynomials: Array, tau: float, until: float, slack: float,
    rounding: float,
) -> tuple[float, int, int]:  # fmt: skip
    """When the first hold ends within `until`, which, and to which side; NO_EVENT if none does."""
    best, who, kind = until, -1, NO_EVENT
    jump, margin, work = polynomials[0], polynomials[1], polynomials[2]
    degree = jumps.shape[1] - 1
    for m in range(count):
        jump_from(jumps, held[m], tau, jump)
        sign = 1.0 if jump[0] > 0.0 else -1.0
        for side in (-1.0, 1.0):
            for i in range(degree + 1):
                margin[i] = sign * (0.5 * jump[i] - side * shares[m, i])
            first = 0
            if margin[0] <= rounding:
                if margin[0] < -slack * abs(jump[0]) - rounding:
                    return 0.0, m, LEAVES_ABOVE if side > 0 else LEAVES_BELOW
                first = 1  # on its bound: what it does next decides
                while first < degree and abs(margin[first]) <= rounding:
                    first += 1
                if abs(margin[first]) <= rounding:
                    continue
            u = first_fall(margin, first, degree, best, work)
            if u < best:
                best, who, kind = u, m, LEAVES_ABOVE if side > 0 else LEAVES_BELOW
    return best, who, kind


@numba.njit(cache=True, nogil=True, error_model="numpy")
def list_near(due: Array, limit: float, near: Indices) -> int:
    """The kinks that are due before the angle `limit`."""
    count = 0
    for line in range(due.shape[0]):
        near[count] = line
        count += 1 if due[line] <= limit else 0
    return count


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def first_meeting(
    w: Array, normals: Array, signs: Signs, due: Array, near: Indices, sizes: Array, polynomials: Array,
    count: int, order: int, turned: float, until: float, length: float, on_kink: float, slow: float, fresh: int, released: float,
) -> tuple[float, int]:  # fmt: skip
    """When and where w first reaches one of the `count` near kinks from its side within `until`; -1 if it reaches none.

    Kinks looked at get a new due angle.
    """
    z, work = polynomials[1], polynomials[2]
    reach = turned + angle_turned(sizes, order, until)
    best, where = until, -1
    rest, power = 0.0, until * until * until
    for j in range(3, order + 1):
        rest += sizes[0, j] * power
        power *= until
    for n in range(count):
        line = near[n]
        if due[line] > reach:
            continue
        side = signs[line]
        if side == 0:
            continue
        height = side * inner(normals, line, w, 0)
        due[line] = turned + max(height, 0.0) / length
        if due[line] > reach:
            continue
        slope, bend = side * inner(normals, line, w, 1), side * inner(normals, line, w, 2)
        if height > max(0.0, -slope) * best + max(0.0, -bend) * best * best + rest:
            continue
        z[0], z[1], z[2] = height, slope, bend
        for j in range(3, order + 1):
            z[j] = side * inner(normals, line, w, j)
        first = 0
        if height < on_kink:
            first = 1
            if abs(slope) <= (slow + released if line == fresh else slow):
                first = 2  # it starts from rest
                if abs(bend) <= slow:
                    continue
        u = first_fall(z, first, order, best, work)
        if u < best or (where < 0 and u <= best):
            best, where = u, line
    return best, where


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def state_at(w: Array, order: int, u: float, out: Array) -> None:
    """The polynomial of w at u."""
    for k in range(w.shape[1]):
        out[k] = w[order, k]
    for j in range(order - 1, -1, -1):
        for k in range(w.shape[1]):
            out[k] = out[k] * u + w[j, k]


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def add_moments(
    w: Array, a: Array, order: int, tau: float, u: float, quadrature: Array, point: Array, moments: Array
) -> None:  # fmt: skip
    """Add int a w P_k over a piece (tau, tau + u) to `moments` (s + 1, inputs). `quadrature` (2, m, m): Gauss nodes and weights."""
    degree, inputs = moments.shape[0] - 1, w.shape[1]
    points = min((order + 4) // 2, quadrature.shape[1] - 1)
    for b in range(points):
        v = u * quadrature[0, points, b]
        state_at(w, order, v, point)
        factor = u * quadrature[1, points, b] * value(a, 0, order, v)
        t = 2.0 * (tau + v) - 1.0
        here, before = 1.0, 0.0  # Legendre polynomials at t
        for i in range(degree + 1):
            scale = factor * here
            for k in range(inputs):
                moments[i, k] += scale * point[k]
            here, before = ((2 * i + 1) * t * here - i * before) / (i + 1), here


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def recentre(drive: Array, u: float) -> None:
    """Polynomials (s + 1, inputs) about 0 become polynomials about u."""
    degree = drive.shape[0] - 1
    for i in range(degree):
        for j in range(degree - 1, i - 1, -1):
            add_row(drive, j, u, drive, j + 1)


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def turn_to(
    drive: Array, moments: Array, signs: Signs, jump: Array, normals: Array, line: int, side: int, row: Array
) -> None:  # fmt: skip
    """Give a line its new side (0: held): the drive follows by its `jump`, and the event's `row` gets n.M_k for the outputs' moments."""
    change = 0.5 * (side - signs[line])
    for i in range(drive.shape[0]):
        add_row(drive, i, change * jump[i], normals, line)
        row[EVENT_FIELDS + i] = inner(normals, line, moments, i)
    signs[line] = side


@numba.njit(cache=True, nogil=True, error_model="numpy")
def note(row: Array, tau: float, line: int, kind: int, below: float, above: float, multiplier: float, change: float) -> int:
    """Write an event; one more event."""
    row[1], row[2], row[3], row[4], row[5], row[6], row[7] = tau, line, kind, below, above, multiplier, change
    return 1


@numba.njit(cache=True, nogil=True, error_model="numpy")
def solve_box(gram: Array, q: Array, bounds: Array, mu: Array) -> None:
    """min mu.gram.mu/2 - q.mu over 0 <= mu <= bounds (0 where a bound is not positive): sweeps over the coordinates."""
    count = q.shape[0]
    for k in range(count):
        mu[k] = 0.0
    for _ in range(20_000):
        moved = 0.0
        for k in range(count):
            if bounds[k] > 0.0:
                rest = q[k]
                for j in range(count):
                    rest -= gram[k, j] * mu[j]
                new = min(max(mu[k] + rest / gram[k, k], 0.0), bounds[k])
                moved = max(moved, abs(new - mu[k]) / bounds[k])
                mu[k] = new
        if moved < 1e-15:
            break


@numba.njit(cache=True, nogil=True, error_model="numpy")
def settle(
    step: KnownStep, drive: Array, moments: Array, signs: Signs, held: Indices, polynomials: Array, events: Array,
    count: int, lean: float, arrived: int, came_from: int, tau: float, event: int,
) -> tuple[int, int]:  # fmt: skip
    """Settle `count` held kinks together (one may have `arrived` just now); how many stay held, and the number of events.

    With the kinks counted below, v_l the velocities along their normals for a unit outgoing weight (of sign `lean`) and
    b_l = -lean q_l, velocities are v - Gram mu with 0 <= mu_l <= b_l: mu_l = 0 below, b_l above, v_l = 0 in between.
    """
    normals, degree = step.normals, step.jumps.shape[1] - 1
    gram, speeds, bounds, mu = np.empty((count, count)), np.empty(count), np.empty(count), np.empty(count)
    for m in range(count):
        jump_from(step.jumps, held[m], tau, polynomials[0])
        bounds[m] = -lean * polynomials[0, 0]
        for j in range(count):
            gram[m, j] = inner(normals, held[m], normals, held[j])
    for m in range(count):
        speeds[m] = lean * inner(normals, held[m], drive, 0)
        for j in range(count):
            speeds[m] += 0.5 * gram[m, j] * bounds[j]
    solve_box(gram, speeds, bounds, mu)
    kept = 0
    for m in range(count):
        line, after = held[m], speeds[m]
        for j in range(count):
            after -= gram[m, j] * mu[j]
        share = mu[m] / bounds[m] if bounds[m] > 0.0 else np.nan
        if bounds[m] > 0.0 and ON_BOUND < share < 1.0 - ON_BOUND:
            held[kept] = line
            kept += 1
            if line == arrived:
                for i in range(degree + 1):
                    events[event, EVENT_FIELDS + i] = inner(normals, line, moments, i)
                event += note(events[event], tau, line, HOLD, after + mu[m], after + mu[m] - bounds[m], share, -came_from)
            continue
        side = 1 if (share >= 0.5 if bounds[m] > 0.0 else after - 0.5 * bounds[m] > 0.0) else -1
        jump_from(step.jumps, line, tau, polynomials[0])
        turn_to(drive, moments, signs, polynomials[0], normals, line, side, events[event])
        if line != arrived:
            event += note(events[event], tau, line, RELEASE, 0.0, 0.0, np.nan, side)
        elif side != came_from:
            event += note(
                events[event], tau, line, CROSS, after + mu[m], after + mu[m] - bounds[m], np.nan, side - came_from
            )
    return kept, event


@numba.njit(cache=True, nogil=True, error_model="numpy")
def meet(
    step: KnownStep, drive: Array, moments: Array, signs: Signs, held: Indices, basis: Array, polynomials: Array, events: Array,
    count: int, lean: float, line: int, tau: float, slow: float, event: int,
) -> tuple[int, int]:  # fmt: skip
    """A free kink is reached: cross it, or hold it and settle it with the other holds; how many are held, and events."""
    came_from, jump = signs[line], polynomials[0]
    jump_from(step.jumps, line, tau, jump)
    here, push = lean * inner(step.normals, line, drive, 0), lean * jump[0]
    repels = push >= 0.0
    for m in range(count):  # what the other holds leave of it
        part = inner(step.normals, line, basis, m)
        here -= lean * part * inner(basis, m, drive, 0)
        push -= lean * jump[0] * part * part
    below = here if came_from < 0 else here - push
    beyond = below if came_from > 0 else below + push
    if repels or (count == 0 and came_from * beyond <= slow):
        above = below + push
        turn_to(drive, moments, signs, jump, step.normals, line, -came_from, events[event])
        event += note(events[event], tau, line, CROSS, below, above, np.nan, -2.0 * came_from)
        if count == 0:
            return 0, event
        return settle(step, drive, moments, signs, held, polynomials, events, count, lean, -1, 0, tau, event)
    turn_to(drive, moments, signs, jump, step.normals, line, 0, events[event])
    held[count] = line
    if count == 0:
        share = min(max(-below / push, 0.0), 1.0)
        event += note(events[event], tau, line, HOLD, below, below + push, share, -came_from)
        return 1, event
    return settle(step, drive, moments, signs, held, polynomials, events, count + 1, lean, line, came_from, tau, event)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def pass_origin(
    step: KnownStep, w: Array, drive: Array, moments: Array, signs: Signs, polynomials: Array, events: Array,
    along: Array, far: float, tau: float, event: int,
) -> int:  # fmt: skip
    """At w = 0 all kinks are met at once: go on by `far` in the direction `along`, or stay if that is 0; the number of events."""
    event += note(events[event], tau, -1, ORIGIN if far != 0.0 else DEATH, 0.0, 0.0, np.nan, 0.0)
    for k in range(w.shape[1]):
        w[0, k] = far * along[k]
    for line in range(signs.shape[0]):
        if signs[line] != 0:
            side = 0
            if far != 0.0:
                side = 1 if inner(step.normals, line, w, 0) > 0.0 else -1
            change = side - signs[line]
            if change != 0:
                jump_from(step.jumps, line, tau, polynomials[0])
                turn_to(drive, moments, signs, polynomials[0], step.normals, line, side, events[event])
                event += note(events[event], tau, line, UNTOLD, 0.0, 0.0, np.nan, change)
    return event


@numba.njit(cache=True, nogil=True, error_model="numpy")
def awake(signs: Signs, sided: NDArray[np.bool_]) -> bool:
    """Whether some sample activates a neuron of this pattern."""
    for line in range(signs.shape[0]):
        side = signs[line]
        if side == 0 or sided[line, 1 if side > 0 else 0]:
            return True
    return False


@numba.njit(cache=True, nogil=True, error_model="numpy")
def rest(w: Array, a: Array, rules: Rules, tau: float, saved: Array, done: int, out_w: Array, out_a: Array) -> None:
    """Weights that nothing drives any more: only decay is left, to the end of the step."""
    first, second = rules.decay * rules.first_trains, rules.decay * rules.second_trains
    for n in range(done, saved.shape[0]):
        for k in range(w.shape[1]):
            out_w[n, k] = w[0, k] * np.exp(-first * (saved[n] - tau))
        out_a[n] = a[0] * np.exp(-second * (saved[n] - tau))
    for k in range(w.shape[1]):
        w[0, k] *= np.exp(-first * (1.0 - tau))
    a[0] *= np.exp(-second * (1.0 - tau))


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def follow_neurons(
    neurons: Indices, start: Start, drives: Array, step: KnownStep, rules: Rules, quadrature: Array, end: End, events: Array,
    ends: Indices,
) -> tuple[int, int]:  # fmt: skip
    """Follow these neurons from tau = 0 to 1, one after the other, under `drives` (h, s + 1, inputs), monomials in tau.

    Events go to rows of `events`; `ends[n]` is their number up to the n-th neuron. Returns how it ended (the first failure), and
    the number of pieces followed.
    """
    (lines, inputs), degree = step.normals.shape, drives.shape[1] - 1
    w, a = np.zeros((rules.order + 1, inputs)), np.zeros(rules.order + 1)
    polynomials, sizes = np.zeros((3, max(rules.order, degree) + 1)), np.zeros((3, rules.order + 1))
    drive, moving, moments = np.zeros((degree + 1, inputs)), np.zeros((degree + 1, inputs)), np.zeros((degree + 1, inputs))
    due, near, point = np.zeros(lines), np.zeros(lines + 1, np.intp), np.zeros(inputs)
    held, basis = np.zeros(inputs + 2, np.intp), np.zeros((inputs + 2, inputs))
    gram, shares = np.zeros((inputs + 2, inputs + 2)), np.zeros((inputs + 2, degree + 1))
    room = events.shape[0] - 2 * lines - 8
    event, pieces = 0, 0
    rounding = NO_SPEED * rules.largest_drive
    for n in range(neurons.shape[0]):
        h = neurons[n]
        signs, out_w, out_a, first_event = end.signs[h], end.saved_w[h], end.saved_a[h], event
        a[0], holding = start.a[h], 0
        for k in range(inputs):
            w[0, k] = start.w[h, k]
        for i in range(degree + 1):
            for k in range(inputs):
                drive[i, k], moments[i, k] = drives[h, i, k], 0.0
        for line in range(lines):
            signs[line] = start.signs[h, line]
            due[line] = 0.999999 * start.heights[h, line]
            if signs[line] == 0 and holding <= inputs:
                held[holding] = line
                holding += 1
        square = inner(w, 0, w, 0) + a[0] * a[0]
        tau, turned, limit, gap, slack, passed = 0.0, 0.0, -1.0, start.gaps[h], rules.slack, -1.0
        listed, done, fresh, returns, left = 0, 0, -1, 0, MOST_PIECES
        asleep = (holding > inputs) or (not rules.leaky and not awake(signs, step.sided))
        if not asleep:
            holding = span_of_held(held, holding, step.normals, basis)
        while tau < 1.0 - 1e-14:
            if asleep:
                rest(w, a, rules, tau, step.saved, done, out_w, out_a)
                break
            left -= 1
            length = np.sqrt(inner(w, 0, w, 0)) + 1e-300
            size = np.sqrt(length * length + a[0] * a[0])
            if left == 0 or not size * size <= MOST_GROWTH * square or event > room:
                return TOO_MANY_PIECES if left == 0 else NO_ROOM if event > room else GREW, pieces
            for i in range(degree + 1):
                for k in range(inputs):
                    moving[i, k] = drive[i, k]
            for m in range(holding):
                add_row(w, 0, -inner(basis, m, w, 0), basis, m)
                for i in range(degree + 1):
                    add_row(moving, i, -inner(basis, m, moving, i), basis, m)
            order, until = expand(w, a, moving, rules, min(1.0 - tau, WANTED * gap), size)
            measure(w, order, length, sizes)
            angle = angle_turned(sizes, order, until)
            while angle > WIDEST and until > 1e-14:
                until *= 0.5
                angle = angle_turned(sizes, order, until)
            if turned + angle > limit:
                limit = turned + LOOK_AHEAD * angle
                listed = list_near(due, limit, near)
            released = 0.0
            if fresh >= 0:
                jump_from(step.jumps, fresh, tau, polynomials[0])
                released = 1e-9 * abs(a[0] * polynomials[0, 0])
            until, line = first_meeting(
                w, step.normals, signs, due, near, sizes, polynomials, listed, order, turned, until, length, ON_KINK * size,
                rounding * abs(a[0]), fresh, released,
            )  # fmt: skip
            kind = MEETS_KINK if line >= 0 else NO_EVENT
            if holding > 0:
                find_shares(held, holding, step.normals, drive, gram, shares)
                u, who, how = first_release(held, holding, shares, step.jumps, polynomials, tau, until, slack, rounding)
                slack = 0.0
                if how != NO_EVENT:
                    until, kind, line = u, how, who
                sign = 1.0 if a[0] > 0.0 or (a[0] == 0.0 and a[1] > 0.0) else -1.0
                for j in range(order + 1):
                    polynomials[1, j] = sign * a[j]
                u = first_fall(polynomials[1], 1 if a[0] == 0.0 else 0, order, until, polynomials[2])
                if u < until:
                    until, kind = u, TURNS
            while done < step.saved.shape[0] and step.saved[done] <= tau + until + 1e-15:
                state_at(w, order, step.saved[done] - tau, out_w[done])
                out_a[done] = value(a, 0, order, step.saved[done] - tau)
                done += 1
            turned += angle_turned(sizes, order, until)
            gap = 0.6 * gap + 0.4 * until if kind != NO_EVENT else max(gap, 2.0 * until)
            pieces += 1
            fresh = -1
            if until > 0.0:
                add_moments(w, a, order, tau, until, quadrature, point, moments)
                state_at(w, order, until, point)
                for k in range(inputs):
                    w[0, k] = point[k]
                a[0] = value(a, 0, order, until)
                recentre(drive, until)
                tau += until
            lean = 1.0 if a[0] > 0.0 or (a[0] == 0.0 and a[1] >= 0.0) else -1.0
            if rules.inputs > 1 and np.sqrt(inner(w, 0, w, 0)) <= AT_ORIGIN * size:
                returns = returns + 1 if passed >= 0.0 and tau - passed < SOON else 0
                passed, asleep = tau, returns >= RETURNS or holding >= rules.inputs
                speed = np.sqrt(inner(moving, 0, moving, 0)) + 1e-300
                far = 0.0 if asleep else 2.0 * AT_ORIGIN * size / speed * lean
                event = pass_origin(step, w, drive, moments, signs, polynomials, events, moving[0], far, tau, event)
                if not asleep and holding > 0:
                    holding, event = settle(
                        step, drive, moments, signs, held, polynomials, events, holding, lean, -1, 0, tau, event
                    )
                    holding = span_of_held(held, holding, step.normals, basis)
                turned, limit = 0.0, -1.0
                for line in range(lines):
                    due[line] = 0.0
                continue
            if kind == NO_EVENT:
                continue
            if kind == MEETS_KINK:
                holding, event = meet(
                    step, drive, moments, signs, held, basis, polynomials, events, holding, lean, line, tau, rounding, event
                )
                due[line] = turned
                if not rules.leaky and not awake(signs, step.sided):
                    event += note(events[event], tau, -1, DEATH, 0.0, 0.0, np.nan, 0.0)
                    asleep = True
            else:
                # a hold that turns ends all: what attracted now repels, and the neuron leaves to the side that pushes more
                for m in range(holding if kind == TURNS else 1):
                    fresh = held[m if kind == TURNS else line]
                    side = 1 if kind == LEAVES_ABOVE else -1
                    if kind == TURNS:
                        a[0] = 0.0
                        side = 1 if (1.0 if a[1] >= 0.0 else -1.0) * inner(step.normals, fresh, drive, 0) > 0.0 else -1
                    jump_from(step.jumps, fresh, tau, polynomials[0])
                    turn_to(drive, moments, signs, polynomials[0], step.normals, fresh, side, events[event])
                    event += note(events[event], tau, fresh, RELEASE, 0.0, 0.0, np.nan, side)
                    due[fresh], near[listed] = turned, fresh
                    listed = min(listed + 1, lines)
                holding = 0 if kind == TURNS else holding - 1
                for m in range(line, holding):
                    held[m] = held[m + 1]
            holding = span_of_held(held, holding, step.normals, basis)
        start.gaps[h] = 1.0 / (1 + event - first_event)
        for e in range(first_event, event):
            events[e, 0] = h
        ends[n], end.a[h] = event, a[0]
        for k in range(inputs):
            end.w[h, k] = w[0, k]
        for i in range(degree + 1):
            for k in range(inputs):
                end.moments[h, i, k] = moments[i, k]
    return FOLLOWED, pieces


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def free_drives(signs: Signs, normals: Array, drives: Array) -> None:
    """Take from the drives (h, k, inputs), in place, what pushes neurons against kinks that hold them."""
    inputs = normals.shape[1]
    held, basis = np.zeros(inputs + 2, np.intp), np.zeros((inputs + 2, inputs))
    for h in range(signs.shape[0]):
        count = 0
        for line in range(signs.shape[1]):
            if signs[h, line] == 0 and count <= inputs:
                held[count] = line
                count += 1
        if count > inputs:
            drives[h] = 0.0
            continue
        for m in range(span_of_held(held, count, normals, basis)):
            for i in range(drives.shape[1]):
                add_row(drives[h], i, -inner(basis, m, drives[h], i), basis, m)
