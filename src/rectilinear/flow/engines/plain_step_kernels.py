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


class Moment(NamedTuple):
    """Where steps begin or end: the time, flat weights, the integral of |grad L|^2 and the sum of the steps' errors up to there, |grad L|^2
    and the loss without regularisation."""

    t: float
    y: Array
    energy: float
    error: float
    square: float
    loss: float


class Kept(NamedTuple):
    """What is kept at `times` (t,): flat weights without padding (t, ...), energies and errors (t,)."""

    times: Array
    weights: Array
    energies: Array
    errors: Array


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
def keep_step(layout: Layout, start: Moment, stages: StageSlopes, h: float, kept: Kept, done: int) -> tuple[int, float]:
    """Keep states at the times within a step, from the one numbered `done` on; returns the next number, and the energy at its end."""
    neurons, inputs, rows, columns = layout
    slopes, squares = stages
    weights, point, cut, energy = np.empty(slopes.shape[0]), np.empty(start.y.shape[0]), neurons * inputs, start.energy
    while done < kept.times.shape[0] and kept.times[done] <= start.t + h:
        u = (kept.times[done] - start.t) / h
        state, gained = kept.weights[done], 0.0
        for s in range(weights.shape[0]):
            weight = 0.0
            for power in range(INTERPOLANT.shape[1] - 1, -1, -1):
                weight = weight * u + INTERPOLANT[s, power]
            weights[s] = h * weight
            gained += weights[s] * squares[s]
        stage(start.y, slopes, weights, 1.0, point)
        for n in range(neurons):
            for k in range(inputs):
                state[n * inputs + k] = point[n * columns + k]
            state[cut + n] = point[rows * columns + n]
        kept.energies[done], kept.errors[done] = start.energy + gained, start.error
        done += 1
    for s in range(squares.shape[0]):
        energy += h * TABLE[-1, s] * squares[s]
    return done, energy


@fast_kernel
def steps_ahead(
    field: Rows, layout: Layout, start: Moment, stages: StageSlopes, step: float, t_end: float, most: int, control: Control,
    single: bool, kept: Kept, drive: Array,
) -> tuple[Moment, int, int, float, bool]:  # fmt: skip
    """Try at most so many steps, the first of size `step`, on to `t_end`. Returns where they end, how many were made and how many
    refused, the next step to try, and if single precision still does."""
    (slopes, squares), (allowed, rtol, (order, safety, shrink, grow)) = stages, control
    last, new, free = slopes.shape[0] - 1, np.empty_like(start.y), np.empty_like(start.y)
    made, refused, done, now = 0, 0, 0, start
    while now.t < t_end and made + refused < most:
        h = compiled_up_to(step, now.t, t_end)
        total, rounding = 0.0, Rounding(0.0, 0.0, 0.0)
        for s in range(1, last + 1):
            stage(now.y, slopes, TABLE[s, :s], h, new)
            total, rounding = drive_share(field, new, 0, field.blocks.shape[0], single, s == last, drive)
            squares[s] = velocity(field, new, drive, slopes[s])
        error = h * relative_error(now.y, new, slopes, ERROR_WEIGHTS, layout.neurons, layout.rows)
        step = h * compiled_growth(error / allowed, order, safety, shrink, grow)
        if not error <= allowed:
            refused += 1
            continue
        done, energy = keep_step(layout, now, stages, h, kept, done)
        left = now.y
        now = Moment(now.t + h, new, energy, now.error + error, squares[last], total / field.samples)
        new = left if made else free  # the start stays as it was
        made += 1
        for i in range(new.shape[0]):
            slopes[0, i] = slopes[last, i]
        squares[0] = squares[last]
        single = single and single_suffices(field, now.y, rounding, squares[0], rtol)
        if not np.isfinite(total):
            break
    return now, made, refused, step, single
