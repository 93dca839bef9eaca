"""Compiled stages of a plain Runge-Kutta step of two layers; weights are flat and padded to the field's tiles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Array
from ..compiled import fast_kernel
from ..field.single_precision import Rounding, Rows, single_drive
from ..field.two_layer_kernels import drive_of_rows, velocity_of_drive


class StageSlopes(NamedTuple):
    """The slopes (stages, weights) of a step, and their squares (stages,)."""

    slopes: Array
    squares: Array


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
def all_stages(
    field: Rows, y: Array, slopes: StageSlopes, tableau: Array, h: float, single: bool, new: Array, drive: Array
) -> tuple[float, Rounding]:
    """Slopes 1, 2, ... of a step of length h with their squares, and its end in `new`; returns the summed loss and rounding there."""
    total, rounding = 0.0, Rounding(0.0, 0.0, 0.0)
    for s in range(1, tableau.shape[0]):
        stage(y, slopes.slopes, tableau[s, :s], h, new)
        at_end = s == tableau.shape[0] - 1
        total, rounding = drive_share(field, new, 0, field.blocks.shape[0], single, at_end, drive)
        slopes.squares[s] = velocity(field, new, drive, slopes.slopes[s])
    return total, rounding


@fast_kernel
def relative_error(y: Array, new: Array, slopes: Array, weights: Array, neurons: int, rows: int) -> float:
    """Root mean square over neurons of |sum_s weights_s slopes_s| over the neuron's size, the larger of y's and new's.

    y is padded to `rows` neurons.
    """
    inputs = y.shape[0] // rows - 1
    total = 0.0
    for n in range(neurons):
        old_size, new_size, wrong = 0.0, 0.0, 0.0
        for k in range(inputs + 1):
            i = n * inputs + k if k < inputs else rows * inputs + n
            error = 0.0
            for s in range(weights.shape[0]):
                error += weights[s] * slopes[s, i]
            wrong += error * error
            old_size += y[i] * y[i]
            new_size += new[i] * new[i]
        total += wrong / max(old_size, new_size, 1e-300)
    return np.sqrt(total / neurons)
