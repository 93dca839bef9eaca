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

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Indices, Signs
from ..compiled import fast_kernel, fast_part, in_line
from ..kinks.forks import suspect_forks_apart
from ..kinks.settling import MEETING_HEIGHT, add_touching, meet_apart, settle_apart
from ..kinks.single_neuron import (
    DEATH,
    LEAVES_ABOVE,
    MEETS_KINK,
    NO_EVENT,
    NOBODY,
    NONE,
    RELEASE,
    TURNS,
    KnownStep,
    Log,
    Moment,
    Neuron,
    Piece,
    Watch,
    angle_turned,
    awake,
    crossed_any,
    first_meeting_apart,
    first_release_apart,
    jump_from,
    list_near,
    note,
    pass_origin_apart,
    span_of_held,
    turn_to,
    way_out_apart,
)
from ..polynomials import START, add_row, inner, recentre, value

FOLLOWED, TOO_MANY_PIECES, GREW, NO_ROOM = 0, 1, 2, 3

MOST_PIECES, MOST_PIECES_PER_KINK = 1_000, 10  # of one neuron in one step
MOST_GROWTH = 1e4  # of a neuron's squared size within a step: pulls that were extrapolated wildly
ON_KINK = 1e-14  # height over the neuron's size that is zero up to rounding
FOLLOWED_TO_ORIGIN = 1e-9  # |w| over the neuron's size at which all kinks are met at once
# Passages of the origin in a row without leaving it, after which it stays there or leaves where it is driven most.
RETURNS = 2
DRIVEN = 1e-9  # drive out of w = 0, over the largest possible drive: less is rounding
NO_SPEED = 1e-12  # drive along a normal, over the largest possible drive, that is zero up to rounding
WANTED = 2.0  # times the usual distance of events, that a piece may reach
MOST_CLOSE = 0.01  # height over |w| of a kink within the tolerance: near w = 0, where a neuron is over all kinks, it is none
MOST_CROSSED = 4  # crossings that one looks back at: a corner has two or three
WIDEST = 0.7  # angle that a piece may turn
LEFT = 1e-6  # |w| over the neuron's size that it must reach between two passages of the origin to have left it
SHARE_AHEAD = 1e-6  # shares of a step by which one looks ahead where several holds end at once
PIECES_AHEAD = 4.0  # pieces for which the list of near kinks is made


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
    quadrature: Array  # (2, m, m): Gauss nodes and weights


class Start(NamedTuple):
    """Where neurons begin a step: w (h, inputs), a (h,), signs (h, lines), heights |n.w|/|w| (h, lines), how far apart their
    events are (h,), as a guess that is bettered, and the heights over their sizes (h,) within which kinks are within their errors."""

    w: Array
    a: Array
    signs: Signs
    heights: NDArray[np.float32]
    gaps: Array
    close: Array


class End(NamedTuple):
    """What became of them: the same at the end, moments (h, s + 1, inputs), and states at the saved times (h, t, ...)."""

    w: Array
    a: Array
    signs: Signs
    moments: Array
    saved_w: Array
    saved_a: Array


@fast_part
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


@in_line
def measure(w: Array, order: int, length: float, sizes: Array) -> None:
    """Norms of w's coefficients, and their parts across w and against it, over |w|, into the rows of `sizes` (3, order + 1)."""
    for j in range(1, order + 1):
        square, along = inner(w, j, w, j), inner(w, j, w, START) / length
        sizes[0, j] = np.sqrt(square)
        sizes[1, j] = np.sqrt(max(square - along * along, 1e-20 * square)) / length
        sizes[2, j] = max(0.0, -along) / length


@fast_part
def state_at(w: Array, order: int, u: float, out: Array) -> None:
    """The polynomial of w at u."""
    for k in range(w.shape[1]):
        out[k] = w[order, k]
    for j in range(order - 1, -1, -1):
        for k in range(w.shape[1]):
            out[k] = out[k] * u + w[j, k]


@in_line
def add_moments(
    w: Array, a: Array, order: int, tau: float, u: float, quadrature: Array, point: Array, moments: Array
) -> None:  # fmt: skip
    """Add int a w P_k over a piece (tau, tau + u) to `moments` (s + 1, inputs). `quadrature` (2, m, m): Gauss nodes and weights."""
    degree, inputs = moments.shape[0] - 1, w.shape[1]
    points = min((max(order, degree) + 4) // 2, quadrature.shape[1] - 1)  # short series meet polynomials of that degree too
    for b in range(points):
        v = u * quadrature[0, points, b]
        state_at(w, order, v, point)
        factor = u * quadrature[1, points, b] * value(a, START, order, v)
        t = 2.0 * (tau + v) - 1.0
        here, before = 1.0, 0.0  # Legendre polynomials at t
        for i in range(degree + 1):
            scale = factor * here
            for k in range(inputs):
                moments[i, k] += scale * point[k]
            here, before = ((2 * i + 1) * t * here - i * before) / (i + 1), here


@in_line
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


@fast_kernel
def follow_neurons(
    neurons: Indices, start: Start, drives: Array, step: KnownStep, rules: Rules, end: End, log: Log, ends: Indices
) -> tuple[int, int]:
    """Follow these neurons from tau = 0 to 1, one after the other, under `drives` (h, s + 1, inputs), monomials in tau.

    `ends[n]` is the number of events up to the n-th neuron. Returns how it ended (the first failure), and the number of pieces
    followed.
    """
    (lines, inputs), degree, events, happened = step.normals.shape, drives.shape[1] - 1, log.rows, log.happened
    w, a = np.zeros((rules.order + 1, inputs)), np.zeros(rules.order + 1)
    polynomials, sizes = np.zeros((3, max(rules.order, degree) + 1)), np.zeros((3, rules.order + 1))
    drive, moving, moments = np.zeros((degree + 1, inputs)), np.zeros((degree + 1, inputs)), np.zeros((degree + 1, inputs))
    due, near, point = np.zeros(lines), np.zeros(lines + 1, np.intp), np.zeros(inputs)
    held, basis = np.zeros(inputs + lines + 2, np.intp), np.zeros((inputs + 2, inputs))
    gram, shares = np.zeros((inputs + 2, inputs + 2)), np.zeros((inputs + 2, degree + 1))
    close_ones, heights, neared = np.zeros(lines, np.intp), np.zeros((3, lines)), np.zeros(lines, np.bool_)
    watch = Watch(due, near, sizes, close_ones, heights, neared, np.zeros(2), np.zeros((MOST_CROSSED, 4)))
    room, pieces = events.shape[0] - 3 * lines - 16, NONE
    happened[0] = 0
    rounding = NO_SPEED * rules.largest_drive
    for n in range(neurons.shape[0]):
        h = neurons[n]
        signs, out_w, out_a, first_event = end.signs[h], end.saved_w[h], end.saved_a[h], happened[0]
        neuron = Neuron(w, a, drive, moments, signs, held, basis, polynomials)
        a[0], holding = start.a[h], NONE
        for k in range(inputs):
            w[0, k] = start.w[h, k]
        for i in range(degree + 1):
            for k in range(inputs):
                drive[i, k], moments[i, k] = drives[h, i, k], 0.0
        square = inner(w, START, w, START) + a[0] * a[0]
        close = min(start.close[h] * np.sqrt(square / (square - a[0] * a[0] + 1e-300)), MOST_CLOSE)
        for m in range(MOST_CROSSED):
            watch.crossed[m, 0] = NOBODY
        for line in range(lines):
            signs[line] = start.signs[h, line]
            due[line] = 0.999999 * start.heights[h, line] - close
            watch.neared[line] = False
            if signs[line] == 0 and holding <= inputs:
                held[holding] = line
                holding += 1
        tau, turned, limit, gap, slack, left_by = 0.0, 0.0, -1.0, start.gaps[h], rules.slack, np.inf
        listed, done, fresh, returns, left = NONE, NONE, NOBODY, 0, MOST_PIECES + MOST_PIECES_PER_KINK * lines
        asleep = (holding > inputs) or (not rules.leaky and not awake(signs, step.sided))
        if not asleep:
            holding = span_of_held(held, holding, step.normals, basis)
        while tau < 1.0 - 1e-14:
            if asleep:
                rest(w, a, rules, tau, step.saved, done, out_w, out_a)
                break
            left -= 1
            length = np.sqrt(inner(w, START, w, START)) + 1e-300
            size = np.sqrt(length * length + a[0] * a[0])
            left_by = max(left_by, length / size)
            full = happened[0] > room
            if left == 0 or not size * size <= MOST_GROWTH * square or full:
                return TOO_MANY_PIECES if left == 0 else NO_ROOM if full else GREW, pieces
            for i in range(degree + 1):
                for k in range(inputs):
                    moving[i, k] = drive[i, k]
            for m in range(holding):
                add_row(w, START, -inner(basis, m, w, START), basis, m)
                for i in range(degree + 1):
                    add_row(moving, i, -inner(basis, m, moving, i), basis, m)
            order, until = expand(w, a, moving, rules, min(1.0 - tau, WANTED * gap), size)
            measure(w, order, length, sizes)
            angle = angle_turned(sizes, order, until)
            while angle > WIDEST and until > 1e-14:
                until *= 0.5
                angle = angle_turned(sizes, order, until)
            if turned + angle > limit:
                limit = turned + PIECES_AHEAD * angle
                listed = list_near(due, limit, near)
            released = 0.0
            if fresh >= 0:
                jump_from(step.jumps, fresh, tau, polynomials[0])
                released = 1e-9 * abs(a[0] * polynomials[0, 0])
            piece = Piece(
                order,
                until,
                length,
                turned,
                ON_KINK * size,
                rounding * abs(a[0]) + rules.decay * ON_KINK * size,  # decay moves a height that is rounding
                min(start.close[h] * size, MOST_CLOSE * length),
            )
            until, line, near_ones = first_meeting_apart(step, neuron, watch, listed, piece, fresh, released)
            kind = MEETS_KINK if line >= 0 else NO_EVENT
            if holding > 0:
                u, who, how = first_release_apart(step, neuron, gram, shares, holding, order, tau, until, slack, rounding)
                slack = 0.0
                if how != NO_EVENT:
                    until, kind, line = u, how, who
            ends_at = line if kind == MEETS_KINK else NOBODY
            if near_ones > 0 or ends_at >= 0 or crossed_any(watch.crossed):
                suspect_forks_apart(step, neuron, watch, log, near_ones, piece, tau, until, ends_at, kind != NO_EVENT)
            while done < step.saved.shape[0] and step.saved[done] <= tau + until + 1e-15:
                state_at(w, order, step.saved[done] - tau, out_w[done])
                out_a[done] = value(a, START, order, step.saved[done] - tau)
                done += 1
            turned += angle_turned(sizes, order, until)
            gap = 0.6 * gap + 0.4 * until if kind != NO_EVENT else max(gap, 2.0 * until)
            pieces += 1
            fresh = NOBODY
            if until > 0.0:
                add_moments(w, a, order, tau, until, rules.quadrature, point, moments)
                state_at(w, order, until, point)
                for k in range(inputs):
                    w[0, k] = point[k]
                a[0] = value(a, START, order, until)
                recentre(drive, until)
                tau += until
            lean = 1.0 if a[0] > 0.0 or (a[0] == 0.0 and a[1] >= 0.0) else -1.0
            together, ahead, met, side = NONE, 0.0, NOBODY, NONE
            if rules.inputs > 1 and np.sqrt(inner(w, START, w, START)) <= FOLLOWED_TO_ORIGIN * size:
                returns = returns + 1 if left_by < LEFT else 0
                left_by, asleep = 0.0, returns >= RETURNS or holding >= rules.inputs
                speed = np.sqrt(inner(moving, START, moving, START)) + 1e-300
                far = 0.0 if asleep else 2.0 * FOLLOWED_TO_ORIGIN * size / speed * lean
                driven = DRIVEN * rules.largest_drive
                if asleep and returns <= RETURNS and way_out_apart(step, neuron, tau, lean, driven, moving[0]):
                    asleep, far = False, FOLLOWED_TO_ORIGIN * size
                pass_origin_apart(step, neuron, log, moving[0], far, tau)
                turned, limit = 0.0, -1.0
                for line in range(lines):
                    due[line] = 0.0
                for m in range(NONE if asleep else holding):
                    held[together] = held[m]
                    together += 1 if signs[held[m]] == 0 else 0
                holding = together
            elif kind == NO_EVENT:
                continue
            else:
                if kind == MEETS_KINK:
                    met, side, held[holding] = line, int(signs[line]), line
                count = holding + 1 if met >= 0 else holding
                together = add_touching(step.normals, neuron, watch, listed, turned, MEETING_HEIGHT * size, count, met)
                for m in range(together):
                    due[held[m]] = turned
                if met >= 0:
                    if together == 1:
                        together, holding = NONE, meet_apart(step, neuron, log, Moment(tau, lean, rounding), line)
                    elif until == 0.0:
                        ahead = SHARE_AHEAD
                else:
                    # a hold that turns ends all: what attracted now repels, and the neuron leaves to the side that pushes less
                    limit = -1.0
                    if kind == TURNS:
                        a[0], lean = 0.0, 1.0 if a[1] >= 0.0 else -1.0
                    if kind != TURNS or together == 1:
                        fresh = held[0 if kind == TURNS else line]
                        side, below, above = 1 if kind == LEAVES_ABOVE else -1, 0.0, 0.0
                        jump_from(step.jumps, fresh, tau, polynomials[0])
                        if kind == TURNS:
                            middle, half = inner(step.normals, fresh, drive, START), 0.5 * polynomials[0, 0]
                            below, above = lean * (middle - half), lean * (middle + half)
                            side = 1 if below + above < 0.0 else -1
                        turn_to(neuron, log, polynomials[0], step.normals, fresh, side)
                        note(log, tau, fresh, RELEASE, below, above, np.nan, float(side))
                        for m in range(0 if kind == TURNS else line, together - 1):
                            held[m] = held[m + 1]
                        together, holding, ahead = together - 1 if together > holding else NONE, holding - 1, SHARE_AHEAD
            if together > 0:
                holding = settle_apart(step, neuron, log, Moment(tau, lean, rounding), together, ahead)
            if met >= 0 and signs[met] == side:
                fresh = met
            if met >= 0 and not rules.leaky and not awake(signs, step.sided):
                note(log, tau, NOBODY, DEATH, 0.0, 0.0, np.nan, 0.0)
                asleep = True
            holding = span_of_held(held, holding, step.normals, basis)
        start.gaps[h] = 1.0 / (1 + happened[0] - first_event)
        for e in range(first_event, happened[0]):
            events[e, 0] = h
        ends[n], end.a[h] = happened[0], a[0]
        for k in range(inputs):
            end.w[h, k] = w[0, k]
        for i in range(degree + 1):
            for k in range(inputs):
                end.moments[h, i, k] = moments[i, k]
    return FOLLOWED, pieces
