"""Neurons under constant drives, from kink to kink: the closed form is in `early_phase.py`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Array, Indices, Mask, Signs
from ..compiled import in_line, kernel, part
from ..kinks.crossings import touches_another
from ..kinks.geometry import KinkArrays

MOST_EARLY_EVENTS = 100_000
PAST = 1e-14  # |n.w| below this share of the neuron's size does not say on which side it is
SLOW = 1e-12  # n.g below this share of |g| is rounding
CANCELLED = 1e-3  # e.w + a below this share of e.w - a: a difference that has lost digits, which what is conserved still has


class ConstantPull(NamedTuple):
    """A pull (samples,) that does not change, the jumps (lines,) it makes, which lines matter (lines,), and the speed n.g up to which
    the way over a kink is rounding."""

    pull: Array
    jumps: Array
    matters: Mask
    slowest: float


class EarlyNeurons(NamedTuple):
    """Neurons (m, inputs + 1) with patterns (m, lines) that are moved in place: |w|^2 - a^2, which they conserve; the time `used`, what
    they added to the energy, and the line `where` each waits for a decision (-1: none)."""

    theta: Array
    signs: Signs
    apart: Array
    used: Array
    energies: Array
    where: Indices


@in_line
def _next_root(c: float, b: float, p: float, m: float, side: float) -> float:
    """Smallest E > 1 where side * (c (p E + m/E)/2 + b) falls through zero; inf if there is none."""
    best = np.inf
    top = c * p
    if top == 0.0:
        candidates = (-c * m / (2.0 * b) if b != 0.0 else np.inf, np.inf)
    else:
        inside = b * b - top * c * m
        if inside < 0.0:
            return best
        root = np.sqrt(inside)
        far = -(b + root) if b >= 0.0 else root - b
        candidates = (far / top, c * m / far if far != 0.0 else np.inf)
    for value in candidates:
        # falling: the derivative of c (p E + m/E)/2 with respect to E, times the side, is negative
        if value > 1.0 and value < best and side * c * (p - m / (value * value)) < 0.0:
            best = value
    return best


@part
def dot(a: Array, b: Array) -> float:
    """a.b over the length of a: b may have an outgoing weight more."""
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@part
def split(theta: Array, g: Array, size: float, apart: float) -> tuple[float, float, float]:
    """e.w, p = e.w + a, which grows, and m = e.w - a, which shrinks, of one neuron (inputs + 1,) under a drive g of this size.

    A neuron that is driven towards w = a = 0 has a small p, which decides how near it comes: p m = |w|^2 - a^2 - |w - (e.w) e|^2 tells it,
    as |w|^2 - a^2 = `apart` is conserved. Rounding of the difference would grow until it turns the neuron around.
    """
    d = g.shape[0]
    along = dot(g, theta) / size
    if abs(along + theta[d]) >= CANCELLED * abs(along - theta[d]):
        return along, along + theta[d], along - theta[d]
    along, rest = 0.0, 0.0
    for j in range(d):  # exactly w itself, if it is the only one
        along += g[j] / size * theta[j]
    for j in range(d):
        rest += (theta[j] - g[j] / size * along) ** 2
    m = along - theta[d]
    return along, (apart - rest) / m, m


@kernel
def move(theta: Array, g: Array, apart: float, time: float) -> None:
    """Move one neuron (inputs + 1,) under a constant drive."""
    d = g.shape[0]
    size = np.sqrt(dot(g, g))
    if size == 0.0:
        return
    along, grows, shrinks = split(theta, g, size, apart)
    if size * time < 1.0:
        half = 0.5 * (grows * np.expm1(size * time))
        other = 0.5 * (shrinks * np.expm1(-size * time))
        for j in range(d):
            theta[j] += g[j] / size * (half + other)
        theta[d] += half - other
        return
    # what is left of a neuron that shrinks by many decades is not a small difference
    half = 0.5 * grows * np.exp(size * time) if grows != 0.0 else 0.0  # the exponential may be beyond the range of numbers
    other = 0.5 * shrinks * np.exp(-size * time)
    for j in range(d):
        theta[j] = (theta[j] - g[j] / size * along) + g[j] / size * (half + other)
    theta[d] = half - other


@kernel
def move_together(thetas: Array, g: Array, apart: Array, time: float) -> None:
    """Move neurons (m, inputs + 1) under one constant drive."""
    for n in range(thetas.shape[0]):
        move(thetas[n], g, apart[n], time)


@kernel
def next_kink(theta: Array, g: Array, apart: float, signs: Signs, normals: Array, drive: ConstantPull) -> tuple[float, int]:
    """When and where one neuron under a constant drive leaves its side of a kink that matters; inf and -1 if it never does."""
    d = g.shape[0]
    size = np.sqrt(dot(g, g))
    best, where = np.inf, -1
    if size == 0.0:
        return best, where
    along, p, m = split(theta, g, size, apart)
    reach = PAST * np.sqrt(dot(theta, theta))
    for line in range(signs.shape[0]):
        if signs[line] == 0 or not drive.matters[line]:
            continue
        c = dot(normals[line], g) / size
        # it moves along the kink, or not at all where pulls cancel: rounding carries it over none that it rests on
        if abs(c) <= SLOW or abs(c) * size <= drive.slowest:
            continue
        height = dot(normals[line], theta)
        if signs[line] * height <= reach and signs[line] * c * theta[d] < 0.0:
            return 0.0, line  # it rests on the kink, and is pushed over it
        value = _next_root(c, height - c * along, p, m, float(signs[line]))
        if value < best:
            best, where = value, line
    return np.log(best) / size, where


@kernel
def sign_change(theta: Array, g: Array, apart: float) -> float:
    """When the outgoing weight of one neuron under a constant drive passes through zero; inf if it never does."""
    size = np.sqrt(dot(g, g))
    if size == 0.0:
        return np.inf
    _, p, m = split(theta, g, size, apart)
    return np.log(m / p) / (2.0 * size) if p != 0.0 and m / p > 1.0 else np.inf


@kernel
def advance_held(
    neurons: EarlyNeurons, held: Indices, drives: Array, kinks: KinkArrays, drive: ConstantPull, time: float
) -> None:
    """Move those of the `held` neurons (m,), with drives (m, inputs), by `time` to which nothing happens until then."""
    for m in range(held.shape[0]):
        n, g = held[m], drives[m]
        theta, apart = neurons.theta[n], neurons.apart[n]
        kink = next_kink(theta, g, apart, neurons.signs[n], kinks.normals, drive)[0]
        happens = min(kink, sign_change(theta, g, apart))
        if happens >= time:
            before = theta[g.shape[0]] * dot(g, theta)
            move(theta, g, apart, time)
            neurons.energies[n] += theta[g.shape[0]] * dot(g, theta) - before
            neurons.used[n] = time


@in_line
def _is_free(signs: Signs) -> bool:
    for line in range(signs.shape[0]):  # noqa: SIM110  (generators are not compiled)
        if signs[line] == 0:
            return False
    return True


@kernel
def advance_free(neurons: EarlyNeurons, kinks: KinkArrays, drive: ConstantPull, time: float, events: Array) -> int:
    """Move free neurons by `time`; one that meets a kink which pushes from both sides is left there, at `used`, line `where`.

    `events` (rows, 5) gets (neuron, time, line, velocity below, velocity above) of every crossing; returns how many there were. Where
    they fill it, there may be more: another call goes on.
    """
    thetas, signs, used, where, normals = neurons.theta, neurons.signs, neurons.used, neurons.where, kinks.normals
    samples, d = kinks.x.shape
    g = np.empty(d)
    count = 0
    for n in range(thetas.shape[0]):
        if used[n] == time or where[n] >= 0 or not _is_free(signs[n]):
            continue
        for _ in range(MOST_EARLY_EVENTS):
            if count == events.shape[0]:
                return count
            g[:] = 0.0
            for i in range(samples):
                slope = 1.0 if signs[n, kinks.line[i]] * kinks.lengths[i] > 0.0 else kinks.alpha
                for j in range(d):
                    g[j] += slope * drive.pull[i] * kinks.x[i, j]
            wait, hit = next_kink(thetas[n], g, neurons.apart[n], signs[n], normals, drive)
            left = time - used[n]
            length = min(wait, left)
            before = thetas[n, d] * dot(g, thetas[n])
            move(thetas[n], g, neurons.apart[n], length)
            neurons.energies[n] += thetas[n, d] * dot(g, thetas[n]) - before
            if wait >= left or hit < 0:  # not used >= time: adding up may round down
                used[n] = time
                break
            used[n] += length
            turn = 1.0 if thetas[n, d] >= 0.0 else -1.0
            here = turn * dot(g, normals[hit])
            there = here - turn * signs[n, hit] * drive.jumps[hit]
            if here * there <= 0.0 or touches_another(thetas[n], np.sqrt(dot(thetas[n], thetas[n])), normals, hit):
                where[n] = hit
                break
            below, above = (here, there) if signs[n, hit] < 0 else (there, here)
            events[count, 0], events[count, 1], events[count, 2] = n, used[n], hit
            events[count, 3], events[count, 4] = below, above
            count += 1
            signs[n, hit] = -signs[n, hit]
    return count
