"""Single neurons through a step whose pulls are already known.

Once a step has been made, the pulls -dl/df are known along it, and every neuron is independent of the others: its flow is linear,
d(w, a)/dt = B(g(t))(w, a). A neuron that meets kinks on the way is followed here, event by event, with the same collocation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Array, Indices, Signs
from ..apart import apart
from ..collocation import MATRIX, NODES, STAGES, basis, first_root, may_fall
from ..compiled import kernel, part
from ..kinks.answers import ON_A_BOUND
from ..kinks.contact import multiplier
from ..kinks.crossings import touches_another
from ..kinks.geometry import KinkArrays
from ..kinks.single_neuron import NOBODY
from ..polynomials import inner
from ..small_systems import solve_in_place
from ..tolerances import NO_KINK_SPEED

MOST_LIGHT_EVENTS = 64  # of one neuron in one step; with more, the step was too long
LIGHT_LANDINGS = 4  # attempts to land on a kink; each gains several digits
DONE, NEEDS_DECISION = 0, 1


class KnownPulls(NamedTuple):
    """A step of length h with its pulls (6, samples) at the nodes, what trains (2,), and the weight decay."""

    pulls: Array
    h: float
    train: Array
    l2: float


class FreeNeurons(NamedTuple):
    """Neurons (m, inputs + 1) with patterns (m, lines) that are followed in place; beyond a kink by `bands` (m,) counts as past it.

    `reached` (m,) is up to where in the step, and `status` (m,) whether they are done.
    """

    theta: Array
    signs: Signs
    bands: Array
    reached: Array
    status: Indices


@kernel
def pulls_at(pulls: Array, u: float, out: Array) -> None:
    """The pulls (samples,) at u, from their values at the six nodes."""
    weights = np.empty(pulls.shape[0])
    basis(u, weights)
    for i in range(pulls.shape[1]):
        total = 0.0
        for j in range(pulls.shape[0]):
            total += weights[j] * pulls[j, i]
        out[i] = total


@kernel
def collocate_neuron(theta: Array, seen: Array, step: KnownPulls, start: float, end: float, path: Array) -> None:
    """Move one neuron (inputs + 1,) from `start` to `end` (in units of the step); `path` (6, inputs + 1) at the nodes in between."""
    samples, d = seen.shape
    length, train, l2 = (end - start) * step.h, step.train, step.l2
    pull, drives = np.empty(samples), np.zeros((STAGES, d))
    for k in range(STAGES):
        pulls_at(step.pulls, start + NODES[k] * (end - start), pull)
        for i in range(samples):
            for j in range(d):
                drives[k, j] += pull[i] * seen[i, j]
    # with D_w = I + l2 M the stages of w are D_w^-1 (w_0 + M a g): what is left to solve is as large as there are stages
    second, decay, matrix = np.empty((STAGES, STAGES)), np.empty((STAGES, STAGES)), np.empty((STAGES, STAGES))
    decayed, outgoing = np.empty((STAGES, STAGES + 1)), np.empty((STAGES, 1))  # the last column is the share of w_0
    for s in range(STAGES):
        for k in range(STAGES):
            decayed[s, k], second[s, k] = length * train[0] * MATRIX[s, k], length * train[1] * MATRIX[s, k]
            decay[s, k], matrix[s, k] = l2 * decayed[s, k], l2 * second[s, k]
        decay[s, s] += 1.0
        matrix[s, s] += 1.0
        decayed[s, STAGES], outgoing[s, 0] = 1.0, theta[d]
    if l2 > 0.0:
        solve_in_place(decay, decayed)
    for k in range(STAGES):
        along = 0.0
        for j in range(d):
            along += drives[k, j] * theta[j]
        for s in range(STAGES):
            outgoing[s, 0] += second[s, k] * decayed[k, STAGES] * along
        for m in range(STAGES):
            product = 0.0
            for j in range(d):
                product += drives[k, j] * drives[m, j]
            for s in range(STAGES):
                matrix[s, m] -= second[s, k] * decayed[k, m] * product
    solve_in_place(matrix, outgoing)
    for j in range(d + 1):
        path[0, j] = theta[j]
    for s in range(STAGES):
        for j in range(d):
            value = decayed[s, STAGES] * theta[j]
            for k in range(STAGES):
                value += decayed[s, k] * outgoing[k, 0] * drives[k, j]
            path[s + 1, j] = value
        path[s + 1, d] = outgoing[s, 0]


collocate_neuron_apart = apart(collocate_neuron, "n")


@kernel
def land_on_kink(
    theta: Array, seen: Array, step: KnownPulls, within: tuple[float, float], normal: Array, band: float, path: Array
) -> float:
    """`collocate_neuron` from the first to nearly the second of `within`, to where its end is on a kink up to the band: that moment.

    A kink is found by a polynomial that goes on beyond it; the one that ends there differs by the method's error, by which a neuron
    could miss other kinks that it meets at the same moment.
    """
    start, at = within
    for attempt in range(LIGHT_LANDINGS):
        collocate_neuron_apart(theta, seen, step, start, at, path)
        here, before = 0.0, 0.0
        for j in range(normal.shape[0]):
            here += normal[j] * path[STAGES, j]
            before += normal[j] * path[STAGES - 1, j]
        if abs(here) <= band or here == before or attempt == LIGHT_LANDINGS - 1:
            break
        nearer = at - here / (here - before) * (1.0 - NODES[STAGES - 2]) * (at - start)
        if not abs(nearer - at) < 0.1 * (at - start):
            break
        at = nearer
    return at


land_on_kink_apart = apart(land_on_kink, "f")


@kernel
def first_kink(path: Array, signs: Signs, normals: Array, band: float) -> tuple[float, int]:
    """When (0 to 1 along `path`) a neuron first leaves its side of a kink, and which; 2.0 and -1 if it does not."""
    best, where = 2.0, -1
    values = np.empty(path.shape[0])
    for line in range(signs.shape[0]):
        if signs[line] == 0:
            continue
        for j in range(path.shape[0]):
            height = 0.0
            for m in range(normals.shape[1]):
                height += normals[line, m] * path[j, m]
            values[j] = signs[line] * height
        if may_fall(values, band):
            u = first_root(values, band, best)
            if u < best:
                best, where = u, line
    return best, where


@part
def see(kinks: KinkArrays, signs: Signs, held: int, seen: Array) -> None:
    """Write the samples (samples, inputs) as a neuron of this pattern sees them, off the normal of the line that holds it, if any."""
    samples, d = seen.shape
    for i in range(samples):
        slope = 1.0 if signs[kinks.line[i]] * kinks.lengths[i] > 0.0 else kinks.alpha
        for j in range(d):
            seen[i, j] = slope * kinks.x[i, j]
        for _ in range(2 if held >= 0 else 0):  # twice, as in geometry.off_span
            along = 0.0
            for j in range(d):
                along += seen[i, j] * kinks.normals[held, j]
            for j in range(d):
                seen[i, j] -= along * kinks.normals[held, j]


@part
def both_sides(kinks: KinkArrays, seen: Array, pull: Array, line: int, side: int, sign_a: float) -> tuple[float, float]:
    """The velocities n.dw/dt, per size of a, of a neuron that reaches a line from this side: below it and above it.

    What is rounding of the sum of the pulls that act there is zero.
    """
    here, there, largest_here, largest_there = 0.0, 0.0, 0.0, 0.0
    for i in range(seen.shape[0]):
        along, square = 0.0, 0.0
        for j in range(seen.shape[1]):
            along += seen[i, j] * kinks.normals[line, j]
            square += seen[i, j] ** 2
        here += pull[i] * along
        largest_here += abs(pull[i]) * np.sqrt(square)
        if kinks.line[i] == line:
            product = pull[i] * kinks.lengths[i] * (kinks.alpha if side * kinks.lengths[i] > 0.0 else 1.0)
            there += product
            largest_there += abs(product)
        else:
            there += pull[i] * along
            largest_there += abs(pull[i]) * np.sqrt(square)
    here = sign_a * here if abs(here) > NO_KINK_SPEED * largest_here else 0.0
    there = sign_a * there if abs(there) > NO_KINK_SPEED * largest_there else 0.0
    return (here, there) if side < 0 else (there, here)


@part
def stays_held(
    kinks: KinkArrays, signs: Signs, held: int, step: KnownPulls, within: tuple[float, float], sign_a: float
) -> bool:
    """Whether both sides of the line that holds a neuron push onto it at all nodes of a part of the step."""
    (samples, d), keeps = kinks.x.shape, True
    below, pull = np.empty((samples, d)), np.empty(samples)
    signs[held] = -1
    see(kinks, signs, NOBODY, below)
    side, signs[held] = signs[held], 0
    for k in range(STAGES):
        pulls_at(step.pulls, within[0] + NODES[k] * (within[1] - within[0]), pull)
        under, over = both_sides(kinks, below, pull, held, side, sign_a)
        keeps = keeps and under > 0.0 > over
    return keeps


@kernel
def follow_free(free: FreeNeurons, kinks: KinkArrays, step: KnownPulls, end: float, events: Array) -> int:
    """Follow free neurons up to `end` (1 is the whole step), in place.

    A neuron that meets a kink crosses it or, if pushed in from both sides, is held on it (its pattern becomes 0 there). One that
    meets a kink at once or another at the same time, or is hardly pushed in from one side, is left there with status NEEDS_DECISION at
    time `reached`, and one whose hold does not last, or that meets another kink while held, where the hold began. `events` (rows, 6) gets
    (neuron, u, line, velocity below, velocity above, share held: nan for a crossing); returns how many there were, or -1 if there was no
    room for them.
    """
    thetas, normals, (samples, d) = free.theta, kinks.normals, kinks.x.shape
    seen, path, pull = np.empty((samples, d)), np.empty((STAGES + 1, d + 1)), np.empty(samples)
    count = 0
    for n in range(thetas.shape[0]):
        signs, u, held, lean = free.signs[n], 0.0, NOBODY, 1.0
        free.status[n] = NEEDS_DECISION
        for _ in range(MOST_LIGHT_EVENTS):
            see(kinks, signs, held, seen)
            collocate_neuron_apart(thetas[n], seen, step, u, end, path)
            when, where = first_kink(path, signs, normals, free.bands[n])
            if held >= 0 and (path[-1, d] * thetas[n, d] < 0.0 or not stays_held(kinks, signs, held, step, (u, end), lean)):
                break  # what holds it would no longer attract, or not keep it
            if held >= 0 and where >= 0:
                break
            at = end if where < 0 else u + when * (end - u)
            if u < at < end:
                at = min(land_on_kink_apart(thetas[n], seen, step, (u, at), normals[where], free.bands[n], path), end)
            if at > u:
                for j in range(d + 1):
                    thetas[n, j] = path[STAGES, j]
                u = at
            if where < 0:
                free.status[n] = DONE
                break
            size = np.sqrt(inner(thetas, n, thetas, n))
            if when == 0.0 or touches_another(thetas[n], size, normals, where):
                break
            pulls_at(step.pulls, u, pull)
            lean = 1.0 if thetas[n, d] >= 0.0 else -1.0
            below, above = both_sides(kinks, seen, pull, where, signs[where], lean)
            if count == events.shape[0]:
                return -1
            share = multiplier(below, above)
            stays = ON_A_BOUND < share < 1.0 - ON_A_BOUND
            if not (stays or np.isnan(share)):
                break
            events[count, 0], events[count, 1], events[count, 2] = n, u, where
            events[count, 3], events[count, 4], events[count, 5] = below, above, share if stays else np.nan
            count += 1
            signs[where] = 0 if stays else -signs[where]
            if stays:
                held = where
                height = 0.0
                for j in range(d):
                    height += thetas[n, j] * normals[where, j]
                for j in range(d):
                    thetas[n, j] -= height * normals[where, j]
        free.reached[n] = u
    return count
