"""Compiled sums over the kinks that are crossed in a step of frozen patterns; `impulses` has the formulas."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Array, Indices, Signs
from ..compiled import fast_kernel, in_line, kernel

POLISHING = 2  # Newton steps from the root of a cubic to that of the polynomial of degree 6, which is as exact as steps are


class Crossed(NamedTuple):
    """Pairs (neuron, line) that cross (k,), line by line and each in order of time: places of lines among those crossed, sides they come
    from, times since the start of the step, speeds of heights, forces since then, and what `before_each` sums. `heights` (powers, k) are
    polynomials in the share of the step."""

    neuron: Indices
    place: Indices
    side: Signs
    time: Array
    speed: Array
    force: Array
    area_before: Array
    heights: Array


class CrossedLines(NamedTuple):
    """Lines that are crossed (lines,) with their normals (lines, inputs + 1), the last components zero; jumps (powers, lines) are
    polynomials in the share of the step, and change by `bend` with what outputs of the line, over its weights, rise by."""

    line: Indices
    normals: Array
    jumps: Array
    bend: Array


class Bent(NamedTuple):
    """How drives (patterns, inputs) change: pulls of lines as patterns see them by `bends` (patterns, patterns, lines) with what patterns
    put out along the normals (inputs, lines), and by `line_bends` (patterns, crossed lines) with other outputs of these. `pattern` (h,)
    is that of neurons, `velocity` (h, inputs + 1) theirs; `l2` is each layer's."""

    pattern: Indices
    normals: Array
    bends: Array
    line_bends: Array
    drives: Array
    velocity: Array
    trains: tuple[bool, bool]
    l2: tuple[float, float]


@in_line
def _height_and_slope(heights: Array, n: int, u: float) -> tuple[float, float]:
    """Of polynomial n of (powers, k) at u."""
    height = slope = 0.0
    for p in range(heights.shape[0]):
        slope = slope * u + height
        height = height * u + heights[p, n]
    return height, slope


@kernel
def polish(heights: Array, share: Array) -> Array:
    """Move shares (k,) of the step to roots of polynomials (powers, k) near them, except where neurons begin beyond; the slopes there."""
    slopes = np.empty_like(share)
    for n in range(share.shape[0]):
        u = share[n]
        if u > 0.0:
            for _ in range(POLISHING):
                height, slope = _height_and_slope(heights, n, u)
                u -= height / slope if slope != 0.0 else 0.0
            u = min(max(u, 0.0), 1.0)
        share[n], slopes[n] = u, _height_and_slope(heights, n, u)[1]
    return slopes


@kernel
def before_each(place: Indices, time: Array, rise: Array) -> tuple[Array, Array]:
    """What outputs of a line have risen by as each pair crosses it, since others did at whose rate they `rise`; and the integral of it."""
    risen, area = np.empty_like(time), np.empty_like(time)
    whole = first = second = 0.0
    for n in range(place.shape[0]):
        if n > 0 and place[n] != place[n - 1]:
            whole = first = second = 0.0
        t = time[n]
        risen[n] = whole * t - first
        area[n] = 0.5 * whole * t * t - first * t + 0.5 * second
        whole += rise[n]
        first += rise[n] * t
        second += rise[n] * t * t
    return risen, area


@fast_kernel
def response(bent: Bent, lines: Indices, theta: Array, moment: Array, area: Array) -> Array:
    """J q for q = `moment` (h, inputs + 1), and what velocities of neurons theta change by where outputs of `lines` change by `area`."""
    pattern, normals, bends, line_bends, drives, _, trains, l2 = bent
    inputs, count = normals.shape
    products, along, seen = np.zeros(drives.shape), np.empty((len(drives), count)), np.zeros(count)
    turned, found = np.empty(drives.shape), np.zeros(theta.shape)
    for h in range(len(theta)):
        for k in range(inputs):
            products[pattern[h], k] += theta[h, inputs] * moment[h, k]
    for g in range(len(drives)):
        along[g] = 0.0
        for k in range(inputs):
            for i in range(count):
                along[g, i] += products[g, k] * normals[k, i]
    for g in range(len(drives)):
        seen[:] = 0.0
        for j in range(len(drives)):
            for i in range(count):
                seen[i] += bends[g, j, i] * along[j, i]
        for j in range(len(lines)):
            seen[lines[j]] += line_bends[g, j] * area[j]
        for k in range(inputs):
            total = 0.0
            for i in range(count):
                total += seen[i] * normals[k, i]
            turned[g, k] = total
    for h in range(len(theta)):
        g, total = pattern[h], 0.0
        for k in range(inputs):
            found[h, k] = (theta[h, inputs] * turned[g, k] if trains[0] else 0.0) - l2[0] * moment[h, k]
            total += turned[g, k] * theta[h, k] + drives[g, k] * moment[h, k]
        found[h, inputs] = (total if trains[1] else 0.0) - l2[1] * moment[h, inputs]
    return found


@fast_kernel
def missed_by(
    crossed: Crossed, lines: CrossedLines, bent: Bent, theta: Array, since: float, length: float
) -> tuple[Array, Array, Array, float]:
    """I, what the second order adds to it, q, and the energy missed, by neurons that are at theta (h, inputs + 1) `since` the start of a
    step that takes `length`."""
    neuron, place, side, time, speed, force, area_before, heights = crossed
    line, normals, jumps, bend = lines
    inputs, share = theta.shape[1] - 1, since / length
    height, slope = np.zeros(len(neuron)), np.zeros(len(neuron))
    for p in range(heights.shape[0]):
        for n in range(len(neuron)):
            slope[n] = slope[n] * share + height[n]
            height[n] = height[n] * share + heights[p, n]
    jump, area = np.zeros(len(line)), np.zeros(len(line))  # of what outputs of a line have risen by
    for p in range(jumps.shape[0]):
        for j in range(len(line)):
            jump[j] = jump[j] * share + jumps[p, j]
    for n in range(len(neuron)):
        spent = max(since - time[n], 0.0)
        area[place[n]] += theta[neuron[n], inputs] * spent * (abs(height[n]) / 3 + abs(speed[n]) * spent / 6)
    along, energy = np.zeros((3, len(theta), len(line))), 0.0  # what neurons get along normals
    for n in range(len(neuron)):
        spent, h, j = since - time[n], neuron[n], place[n]
        if spent <= 0.0:
            continue
        turn = -side[n] * theta[h, inputs]
        now, by_rise = turn * jump[j], turn * bend[j] * (area[j] - area_before[n])
        energy += spent * (force[n] * speed[n] + now * slope[n] / length) + 2.0 * by_rise * slope[n] / length
        along[0, h, j] = 0.5 * spent * (force[n] + now)
        along[1, h, j] = by_rise
        along[2, h, j] = spent * spent * (force[n] / 3 + now / 6)
    summed = np.dot(along.reshape(3 * len(theta), len(line)), normals).reshape(3, len(theta), inputs + 1)
    first, second, moment = summed[0], summed[1], summed[2]
    answer = response(bent, line, theta, moment, area)
    for h in range(len(theta)):
        for k in range(inputs + 1):
            second[h, k] += answer[h, k]
            energy += 2.0 * bent.velocity[h, k] * answer[h, k]
    return first, second, moment, energy
