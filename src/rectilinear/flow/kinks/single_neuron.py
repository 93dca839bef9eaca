"""One neuron at its kinks, within a step whose pulls are known: who is near, when one is met, and when a hold ends.

The jumps of the drive at the kinks are polynomials in tau. Held kinks count half in the drive; c = -(N N^T)^-1 N G is what of their
jumps q is taken beyond that half, and a hold lasts while |c_l| <= |q_l|/2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...arrays import Array, Indices, Mask, Signs
from ..apart import apart
from ..compiled import fast_kernel, fast_part, fast_part_without_arrays, in_line, part, part_of_its_own, part_without_arrays
from ..polynomials import START, add_row, first_fall, inner, shift, slope_and_bend


def numbers(*values: int) -> Any:
    """Numbers of the machine's type: for a literal one the compiler would make a copy of each function that it is passed to."""
    return np.array(values, dtype=np.int64)


CROSS, HOLD, RELEASE, DEATH, ORIGIN = numbers(0, 1, 2, 3, 4)  # as events.Kind
UNTOLD, SUSPECT = numbers(6, 7)  # only changes a side; may be a fork
NO_EVENT, MEETS_KINK, LEAVES_BELOW, LEAVES_ABOVE, TURNS = numbers(0, 1, 2, 3, 4)
NONE, NOBODY = numbers(0, -1)  # no event, no side; no line
DEPENDENT = 1e-9  # length of a unit normal off the span of others at which it lies in it
MOVES_ALONG = 1e-12  # height over |w| of a kink that a neuron moves along
MOST_TRIED = 200  # directions out of w = 0, and as many against them
EVENT_FIELDS = 8  # neuron, tau, line, kind, velocity below, above, multiplier, change of sign; then n.M_k


class KnownStep(NamedTuple):
    """What a step does to any neuron: unit normals of the kinks (lines, inputs), the jumps of the drive (lines, s + 1) there,
    monomials in tau, which of them (lines, 2) have samples against and along the normal, and the times `saved`."""

    normals: Array
    jumps: Array
    sided: Mask
    saved: Array


class Neuron(NamedTuple):
    """One neuron on its way, changed in place: Taylor coefficients of w (order + 1, inputs) and a (order + 1,), its drive about the
    present tau and its moments (s + 1, inputs), its pattern (lines,), the lines that hold it, and orthonormal rows that span their
    normals; with room for three polynomials."""

    w: Array
    a: Array
    drive: Array
    moments: Array
    signs: Signs
    held: Indices
    basis: Array
    polynomials: Array


class Log(NamedTuple):
    """Events, one a row of EVENT_FIELDS and n.M_k, and how many there are (1,)."""

    rows: Array
    happened: Indices


class Moment(NamedTuple):
    """When something happens, the sign of the outgoing weight there, the velocity per outgoing weight that is zero up to rounding."""

    tau: float
    lean: float
    slow: float


class Piece(NamedTuple):
    """A piece of the way: its order, up to where it reaches, |w| at its beginning, the angle turned until then, the height and the
    velocity that are zero up to rounding, and the height that is within the tolerance."""

    order: int
    until: float
    length: float
    turned: float
    on_kink: float
    slow: float
    close: float


class Watch(NamedTuple):
    """Which kinks are looked at: the angles (lines,) at which they are due, those that are near, and `measure` of w (3, order + 1);
    those within the tolerance with the first coefficients (3, lines) of their heights, which of all (lines,) were neared when the last
    event came, slope and bend of the height over the kink that is met, and the last crossings (forks.py)."""

    due: Array
    near: Indices
    sizes: Array
    close: Indices
    heights: Array
    neared: Mask
    arrival: Array
    crossed: Array


@in_line
def crossed_any(crossed: Array) -> bool:
    """Whether there are crossings to look back at."""
    found = False
    for n in range(crossed.shape[0]):
        found = found or crossed[n, 0] >= 0.0
    return found


@fast_part
def span_of_held(held: Indices, count: int, normals: Array, basis: Array) -> int:
    """Orthonormal rows that span the held normals; held lines that depend on others are dropped. How many are left."""
    kept = NONE
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


@in_line
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


@part
def jump_from(jumps: Array, line: int, tau: float, out: Array) -> None:
    """The jump polynomial of a line about tau."""
    degree = jumps.shape[1] - 1
    for i in range(degree + 1):
        out[i] = jumps[line, i]
    shift(out, degree, tau)


@part_without_arrays
def first_release(
    step: KnownStep, neuron: Neuron, gram: Array, shares: Array, count: int, order: int,
    tau: float, until: float, slack: float, rounding: float,
) -> tuple[float, int, int]:  # fmt: skip
    """When the first of `count` holds ends within `until`, which, and to which side; or TURNS where a falls through zero, which ends all;
    NO_EVENT if none does."""
    best, who, kind = until, -1, NO_EVENT
    jump, margin, work = neuron.polynomials[0], neuron.polynomials[1], neuron.polynomials[2]
    degree, a = step.jumps.shape[1] - 1, neuron.a
    find_shares(neuron.held, count, step.normals, neuron.drive, gram, shares)
    for m in range(count):
        jump_from(step.jumps, neuron.held[m], tau, jump)
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
    sign = 1.0 if a[0] > 0.0 or (a[0] == 0.0 and a[1] > 0.0) else -1.0
    for j in range(order + 1):
        margin[j] = sign * a[j]
    u = first_fall(margin, 1 if a[0] == 0.0 else 0, order, best, work)
    return (u, who, TURNS) if u < best else (best, who, kind)


first_release_apart = apart(first_release, "f,i,i")


@in_line
def list_near(due: Array, limit: float, near: Indices) -> int:
    """The kinks that are due before the angle `limit`."""
    count = 0
    for line in range(due.shape[0]):
        near[count] = line
        count += 1 if due[line] <= limit else 0
    return count


@fast_part
def angle_turned(sizes: Array, order: int, u: float) -> float:
    """A bound of the angle that w turns within u."""
    across, length, power = 0.0, 1.0, u
    for j in range(1, order + 1):
        across += sizes[1, j] * power
        length -= sizes[2, j] * power
        power *= u
    return across / length if length > 0.1 else 1e300


@in_line
def repels(step: KnownStep, neuron: Neuron, line: int) -> bool:
    """Whether paths of a neuron part over a kink, by the jump at the step's start: either side drives it away from the other."""
    return step.jumps[line, 0] * neuron.a[0] > 0.0


@fast_part_without_arrays
def first_meeting(
    step: KnownStep, neuron: Neuron, watch: Watch, count: int, piece: Piece, fresh: int, released: float
) -> tuple[float, int, int]:
    """When and where w first reaches one of the `count` near kinks from its side within a piece; -1 if it reaches none.

    Kinks looked at get a new due angle. A kink that was released just now is left with a velocity of no more than `released`.
    Those that repel, and that it nears and may come to within the tolerance, are listed in `watch.close`: how many is said last.
    """
    normals = step.normals
    w, signs, due, near, sizes = neuron.w, neuron.signs, watch.due, watch.near, watch.sizes
    order, until, turned, slow = piece.order, piece.until, piece.turned, piece.slow
    z, work = neuron.polynomials[1], neuron.polynomials[2]
    reach = turned + angle_turned(sizes, order, until)
    best, where, close = until, -1, 0
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
        height = side * inner(normals, line, w, START)
        due[line] = turned + max(height - piece.close, 0.0) / piece.length
        if due[line] > reach:
            continue
        for j in range(1, 3):
            z[j] = side * inner(normals, line, w, j)
        slope, bend = z[1], z[2]
        falls = max(0.0, -slope) * best + max(0.0, -bend) * best * best + rest
        if height <= piece.close + falls and (slope < 0.0 or watch.neared[line]) and repels(step, neuron, line):
            watch.close[close] = line
            watch.heights[0, close], watch.heights[1, close], watch.heights[2, close] = height, slope, bend
            close += 1
        if height > falls:
            continue
        z[0] = height
        for j in range(3, order + 1):
            z[j] = side * inner(normals, line, w, j)
        first = 0
        if height < piece.on_kink:
            first = 1
            if abs(slope) <= (slow + released if line == fresh else slow):
                first = 2  # it starts from rest
                if abs(bend) <= slow:
                    continue
        u = first_fall(z, first, order, best, work)
        if u < best or (where < 0 and u <= best):
            best, where = u, line
            watch.arrival[0], watch.arrival[1] = slope_and_bend(z, order, u)
    return best, where, close


first_meeting_apart = apart(first_meeting, "f,i,i")


@fast_part
def turn_to(neuron: Neuron, log: Log, jump: Array, normals: Array, line: int, side: int) -> None:
    """Give a line its new side (0: held): the drive follows by its `jump`, and the next event gets n.M_k for the outputs' moments."""
    drive, moments, rows, event = neuron.drive, neuron.moments, log.rows, log.happened[0]
    change = 0.5 * (side - neuron.signs[line])
    for i in range(drive.shape[0]):
        add_row(drive, i, change * jump[i], normals, line)
        rows[event, EVENT_FIELDS + i] = inner(normals, line, moments, i)
    neuron.signs[line] = side


@part
def note(log: Log, tau: float, line: int, kind: int, below: float, above: float, multiplier: float, change: float) -> None:
    """Add an event."""
    row = log.rows[log.happened[0]]
    row[1], row[2], row[3], row[4], row[5], row[6], row[7] = tau, line, kind, below, above, multiplier, change
    log.happened[0] += 1


@part_without_arrays
def pass_origin(step: KnownStep, neuron: Neuron, log: Log, along: Array, far: float, tau: float) -> None:
    """At w = 0 all kinks are met at once: go on by `far` in the direction `along`, or stay if that is 0.

    Kinks that hold it go on to do so if it moves along them.
    """
    w, signs, jump = neuron.w, neuron.signs, neuron.polynomials[0]
    note(log, tau, NOBODY, ORIGIN if far != 0.0 else DEATH, 0.0, 0.0, np.nan, 0.0)
    for k in range(w.shape[1]):
        w[0, k] = far * along[k]
    length = np.sqrt(inner(w, START, w, START))
    for line in range(signs.shape[0]):
        held, height = signs[line] == 0, inner(step.normals, line, w, START)
        if held and abs(height) <= MOVES_ALONG * length:
            continue
        side = 0 if far == 0.0 else 1 if height > 0.0 else -1
        change = side - signs[line]
        if change != 0:
            jump_from(step.jumps, line, tau, jump)
            turn_to(neuron, log, jump, step.normals, line, side)
            note(log, tau, line, RELEASE if held else UNTOLD, 0.0, 0.0, np.nan, float(change))


pass_origin_apart = apart(pass_origin, "n")


@part_of_its_own
def way_out(step: KnownStep, neuron: Neuron, tau: float, lean: float, least: float, along: Array) -> bool:
    """Write the direction, along or against a normal, in which the potential that drives a neuron from w = 0 is largest.

    That is lean Phi with the jumps q of the kinks: u.G + sum_l (|n_l.u| - s_l n_l.u) q_l/2 for a unit vector u. It only grows on the
    way, so a neuron does not come back from where it is positive: whether it is more than `least`.
    """
    normals, signs, jump, (lines, inputs) = step.normals, neuron.signs, neuron.polynomials[0], step.normals.shape
    tried = max(1, lines // MOST_TRIED)
    potentials, best, way, against = np.zeros((2, lines)), least, -1, False
    for line in range(lines):
        jump_from(step.jumps, line, tau, jump)
        half = 0.5 * lean * jump[0]
        for c in range(0, lines, tried):
            height = inner(normals, line, normals, c)
            potentials[0, c] += half * (abs(height) - signs[line] * height)
            potentials[1, c] += half * (abs(height) + signs[line] * height)
    for c in range(0, lines, tried):
        push = lean * inner(normals, c, neuron.drive, START)
        for turned in range(2):
            potential = potentials[turned, c] + (push if turned == 0 else -push)
            if potential > best:
                best, way, against = potential, c, turned == 1
    if way >= 0:
        for k in range(inputs):
            along[k] = -normals[way, k] if against else normals[way, k]
    return way >= 0


way_out_apart = apart(way_out, "b")


@part
def awake(signs: Signs, sided: Mask) -> bool:
    """Whether some sample activates a neuron of this pattern."""
    for line in range(signs.shape[0]):
        side = signs[line]
        if side == 0 or sided[line, 1 if side > 0 else 0]:
            return True
    return False


@fast_kernel
def free_drives(signs: Signs, normals: Array, drives: Array) -> None:
    """Take from the drives (h, k, inputs), in place, what pushes neurons against kinks that hold them."""
    inputs = normals.shape[1]
    held, basis = np.zeros(inputs + 2, np.intp), np.zeros((inputs + 2, inputs))
    for h in range(signs.shape[0]):
        count = NONE
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
