"""Compiled plain Runge-Kutta steps of two layers, many at a call; weights are flat and padded to the field's tiles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Array
from ..compiled import fast_kernel, in_line
from ..field.single_precision import UNIT, Rounding, Rows, single_drive
from ..field.two_layer_kernels import drive_of_rows, square_length, velocity_of_drive
from ..steppers.step_size import growth, up_to
from ..steppers.tsitouras import ERROR_WEIGHTS, INTERPOLANT, TABLE

ROUNDING_SHARE = 0.1  # of the tolerance, that single precision may change the pulls by
CLEAR_GRADIENT = 10.0  # times its rounding that a gradient in single precision must be

compiled_growth, compiled_up_to = in_line(growth), in_line(up_to)


class StageSlopes(NamedTuple):
    """The slopes (stages, weights) of a step, and their squares (stages,)."""

    slopes: Array
    squares: Array


class Layout(NamedTuple):
    """How neurons lie in flat weights: how many there are, of how many inputs, padded to which numbers."""

    neurons: int
    inputs: int
    rows: int
    columns: int


class Ahead(NamedTuple):
    """Steps made at one call: where each ends (steps, weights), and as `facts` (steps, 5) when, its error, |grad L|^2, the loss and the
    integral of |grad L|^2 there; flat weights without padding (t, ...) and that integral (t,) at the `times` within them."""

    ends: Array
    facts: Array
    times: Array
    saved: Array
    energies: Array


class Control(NamedTuple):
    """How steps are chosen: the error that one may have, the tolerance of the run, and what `growth` takes."""

    allowed: float
    rtol: float
    growth: tuple[int, float, float, float]


@fast_kernel
def stage(y: Array, slopes: Array, coefficients: Array, h: float, out: Array) -> None:
    """out = y + h sum_s c_s slopes_s."""
    for i in range(out.shape[0]):
        out[i] = y[i]
    for s in range(coefficients.shape[0]):
        c = h * coefficients[s]
        if c != 0.0:
            slope = slopes[s]
            for i in range(out.shape[0]):
                out[i] += c * slope[i]


@fast_kernel
def drive_share(
    field: Rows, y: Array, first: int, last: int, single: bool, measured: bool, drive: Array
) -> tuple[float, Rounding]:  # fmt: skip
    """Write the share of these blocks of samples of P g_h to `drive` (neurons, inputs); returns their summed loss.

    In double or in single precision, then with what rounding does if that is to be `measured` (see field/single_precision.py).
    """
    neurons, inputs = drive.shape
    w, a = y[: neurons * inputs].reshape(neurons, inputs), y[neurons * inputs :]
    if single:
        return single_drive(field, w, a, first, last, measured, drive)
    v = np.zeros(inputs)
    for h in range(neurons):
        for k in range(inputs):
            drive[h, k] = 0.0
            v[k] += a[h] * w[h, k]
    size, count = field.blocks.shape[2], field.folded.rows.shape[1]
    total = drive_of_rows(field.folded, w, a, v, first * size, min(last * size, count), drive)
    return total, Rounding(0.0, 0.0, 0.0)


@fast_kernel
def velocity(field: Rows, y: Array, drive: Array, slope: Array) -> float:
    """Write -grad L to `slope`, from P g_h of all rows; returns |grad L|^2."""
    neurons, inputs = drive.shape
    cut = neurons * inputs
    w, a, dw, da = y[:cut].reshape(neurons, inputs), y[cut:], slope[:cut].reshape(neurons, inputs), slope[cut:]
    velocity_of_drive(drive, field.samples, w, a, field.trains, dw, da)
    square = 0.0
    for i in range(y.shape[0]):
        if field.trains[0] if i < cut else field.trains[1]:
            slope[i] -= field.l2 * y[i]
        square += slope[i] * slope[i]
    return square


@fast_kernel
def single_suffices(field: Rows, y: Array, rounding: Rounding, square: float, rtol: float) -> bool:
    """Whether single precision does at y, where |grad L|^2 is `square` and rounding was measured."""
    wrong, squares, reach = rounding
    pulls_kept = UNIT * np.sqrt(wrong + squares) <= ROUNDING_SHARE * rtol * np.sqrt(squares)
    return pulls_kept and CLEAR_GRADIENT * UNIT * reach * np.sqrt(square_length(y)) <= field.samples * np.sqrt(square)


@fast_kernel
def relative_error(y: Array, new: Array, slopes: Array, weights: Array, neurons: int, rows: int) -> float:
    """Root mean square over neurons of |sum_s weights_s slopes_s| over the neuron's size, the larger of y's and new's.

    y is padded to `rows` neurons.
    """
    inputs = y.shape[0] // rows - 1
    errors, total = np.zeros(y.shape[0]), 0.0
    stage(errors, slopes, weights, 1.0, errors)
    for n in range(neurons):
        i = rows * inputs + n
        old_size, new_size, wrong = y[i] * y[i], new[i] * new[i], errors[i] * errors[i]
        for i in range(n * inputs, (n + 1) * inputs):
            old_size += y[i] * y[i]
            new_size += new[i] * new[i]
            wrong += errors[i] * errors[i]
        total += wrong / max(old_size, new_size, 1e-300)
    return np.sqrt(total / neurons)


@fast_kernel
def keep_step(
    layout: Layout, y: Array, stages: StageSlopes, t: float, h: float, energy: float, ahead: Ahead, done: int
) -> tuple[int, float]:  # fmt: skip
    """Keep states at the times within a step, from the one numbered `done` on; returns the next number, and the energy at its end."""
    neurons, inputs, rows, columns = layout
    slopes, squares = stages
    weights, point, cut = np.empty(slopes.shape[0]), np.empty(y.shape[0]), neurons * inputs
    while done < ahead.times.shape[0] and ahead.times[done] <= t + h:
        u = (ahead.times[done] - t) / h
        state, gained = ahead.saved[done], 0.0
        for s in range(weights.shape[0]):
            weight = 0.0
            for power in range(INTERPOLANT.shape[1] - 1, -1, -1):
                weight = weight * u + INTERPOLANT[s, power]
            weights[s] = h * weight
            gained += weights[s] * squares[s]
        stage(y, slopes, weights, 1.0, point)
        for n in range(neurons):
            for k in range(inputs):
                state[n * inputs + k] = point[n * columns + k]
            state[cut + n] = point[rows * columns + n]
        ahead.energies[done] = energy + gained
        done += 1
    for s in range(squares.shape[0]):
        energy += h * TABLE[-1, s] * squares[s]
    return done, energy


@fast_kernel
def steps_ahead(
    field: Rows, layout: Layout, start: Array, stages: StageSlopes, moment: tuple[float, float, float], t_end: float,
    control: Control, single: bool, ahead: Ahead, drive: Array,
) -> tuple[int, int, float, bool]:  # fmt: skip
    """Make steps from `start`, where the first slope is known, at a moment (time, energy, step to try) on to `t_end`, or as many as
    `ahead` has room for. Returns how many were made and how many refused, the next step to try, and if single precision still does."""
    slopes, squares = stages
    (t, energy, step), (allowed, rtol, (order, safety, shrink, grow)) = moment, control
    last, y = slopes.shape[0] - 1, start
    made, refused, done = 0, 0, 0
    while t < t_end and made + refused < ahead.ends.shape[0]:
        h, new = compiled_up_to(step, t, t_end), ahead.ends[made]
        total, rounding = 0.0, Rounding(0.0, 0.0, 0.0)
        for s in range(1, last + 1):
            stage(y, slopes, TABLE[s, :s], h, new)
            total, rounding = drive_share(field, new, 0, field.blocks.shape[0], single, s == last, drive)
            squares[s] = velocity(field, new, drive, slopes[s])
        error = h * relative_error(y, new, slopes, ERROR_WEIGHTS, layout.neurons, layout.rows)
        step = h * compiled_growth(error / allowed, order, safety, shrink, grow)
        if not error <= allowed:
            refused += 1
            continue
        done, energy = keep_step(layout, y, stages, t, h, energy, ahead, done)
        facts = ahead.facts[made]
        t += h
        facts[0], facts[1], facts[2], facts[3], facts[4] = t, error, squares[last], total / field.samples, energy
        y, made = new, made + 1
        for i in range(y.shape[0]):
            slopes[0, i] = slopes[last, i]
        squares[0] = squares[last]
        single = single and single_suffices(field, y, rounding, squares[0], rtol)
        if not np.isfinite(total):
            break
    return made, refused, step, single
