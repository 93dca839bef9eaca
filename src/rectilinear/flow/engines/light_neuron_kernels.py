"""Single neurons through a step whose pulls are already known.

Once a step has been made, the pulls -dl/df are known along it, and every neuron is independent of the others: its flow is linear,
d(w, a)/dt = B(g(t))(w, a). A neuron that meets kinks on the way is followed here, event by event, with the same collocation.
"""

from __future__ import annotations

import numba
import numpy as np

from ...arrays import Array, Indices, Signs
from ..collocation import MATRIX, NODES, STAGES, basis, first_root
from ..kinks.contact import ON_A_BOUND, multiplier
from ..kinks.crossings import touches_another
from ..polynomials import inner
from ..small_systems import solve_in_place

MOST_EVENTS = 64  # of one neuron in one step; with more, the step was too long
DONE, NEEDS_DECISION = 0, 1


@numba.njit(cache=True, nogil=True)
def pulls_at(pulls: Array, u: float, out: Array) -> None:
    """The pulls (samples,) at u, from their values at the six nodes."""
    weights = np.empty(pulls.shape[0])
    basis(u, weights)
    for i in range(pulls.shape[1]):
        total = 0.0
        for j in range(pulls.shape[0]):
            total += weights[j] * pulls[j, i]
        out[i] = total


@numba.njit(cache=True, nogil=True)
def collocate_neuron(
    theta: Array, seen: Array, pulls: Array, h: float, start: float, end: float, l2: float, train: Array, path: Array
) -> None:
    """Move one neuron (inputs + 1,) from `start` to `end` (in units of the step h); `path` (6, inputs + 1) at the nodes in between."""
    samples, d = seen.shape
    length = (end - start) * h
    pull, drives = np.empty(samples), np.zeros((STAGES, d))
    for k in range(STAGES):
        pulls_at(pulls, start + NODES[k] * (end - start), pull)
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


@numba.njit(cache=True, nogil=True)
def first_kink(path: Array, signs: Signs, normals: Array, band: float) -> tuple[float, int]:
    """When (0 to 1 along `path`) a neuron first leaves its side of a kink, and which; 2.0 and -1 if it does not."""
    best, where = 2.0, -1
    values = np.empty(path.shape[0])
    for line in range(signs.shape[0]):
        if signs[line] == 0:
            continue
        lowest = 0.0
        for j in range(path.shape[0]):
            height = 0.0
            for m in range(normals.shape[1]):
                height += normals[line, m] * path[j, m]
            values[j] = signs[line] * height
            lowest = min(lowest, values[j])
        if lowest < -band:
            u = first_root(values, band, best)
            if u < best:
                best, where = u, line
    return best, where


@numba.njit(cache=True, nogil=True)
def follow_free(
    thetas: Array,
    signs: Signs,
    bands: Array,
    pulls: Array,
    h: float,
    end: float,
    x: Array,
    line: Indices,
    lengths: Array,
    normals: Array,
    jump_rows: Array,
    alpha: float,
    l2: float,
    train: Array,
    reached: Array,
    status: Indices,
    events: Array,
) -> int:
    """Follow free neurons `thetas` (m, inputs + 1) of patterns `signs` (m, lines) up to `end` (1 is the whole step), in place.

    A neuron that meets a kink crosses it or, if pushed in from both sides, is held on it (its pattern becomes 0 there). One that
    meets another kink while held, or a kink at once, is left there with status NEEDS_DECISION at time `reached`. `events` (rows, 6)
    gets (neuron, u, line, velocity below, velocity above, share held: nan for a crossing); returns how many there were, or -1 if
    there was no room for them.
    """
    samples, d = x.shape
    seen, path, pull = np.empty((samples, d)), np.empty((STAGES + 1, d + 1)), np.empty(samples)
    count = 0
    for n in range(thetas.shape[0]):
        u, status[n], held = 0.0, DONE, -1
        for _ in range(MOST_EVENTS):
            for i in range(samples):
                slope = 1.0 if signs[n, line[i]] * lengths[i] > 0.0 else alpha
                along = 0.0
                if held >= 0:
                    for j in range(d):
                        along += x[i, j] * normals[held, j]
                for j in range(d):
                    seen[i, j] = slope * (x[i, j] - along * normals[held, j]) if held >= 0 else slope * x[i, j]
            collocate_neuron(thetas[n], seen, pulls, h, u, end, l2, train, path)
            when, where = first_kink(path, signs[n], normals, bands[n])
            if held >= 0 and path[-1, d] * thetas[n, d] < 0.0:
                status[n] = NEEDS_DECISION  # what holds it would no longer attract
                break
            at = end if where < 0 else u + when * (end - u)
            if u < at < end:
                collocate_neuron(thetas[n], seen, pulls, h, u, at, l2, train, path)
            if at > u:
                for j in range(d + 1):
                    thetas[n, j] = path[STAGES, j]
                u = at
            if where < 0:
                break
            size = np.sqrt(inner(thetas, n, thetas, n))
            if held >= 0 or when == 0.0 or touches_another(thetas[n], size, normals, where):
                status[n] = NEEDS_DECISION
                break
            pulls_at(pulls, u, pull)
            speed, jump = 0.0, 0.0
            for i in range(samples):
                along = 0.0
                for j in range(d):
                    along += seen[i, j] * normals[where, j]
                speed += pull[i] * along
                jump += jump_rows[where, i] * pull[i]
            turn = 1.0 if thetas[n, d] >= 0.0 else -1.0
            here, there = turn * speed, turn * (speed - signs[n, where] * jump)
            below, above = (here, there) if signs[n, where] < 0 else (there, here)
            if count == events.shape[0]:
                return -1
            events[count, 0], events[count, 1], events[count, 2] = n, u, where
            events[count, 3], events[count, 4], events[count, 5] = below, above, np.nan
            count += 1
            share = multiplier(below, above)
            if ON_A_BOUND < share < 1.0 - ON_A_BOUND:
                events[count - 1, 5] = share
                held = where
                signs[n, where] = 0
                height = 0.0
                for j in range(d):
                    height += thetas[n, j] * normals[where, j]
                for j in range(d):
                    thetas[n, j] -= height * normals[where, j]
            else:
                signs[n, where] = -signs[n, where]
        else:
            status[n] = NEEDS_DECISION
        reached[n] = u
    return count
