"""Inputs and labels as frozen float64 arrays, or a sentence that says what cannot be used."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array
from .errors import InputError

MAX_INPUTS = 20_000  # the covariance of more inputs would not fit in memory (3 GB)
LARGEST, SMALLEST = 1e100, 1e-100  # sizes beyond which lengths and moments would over- or underflow


def validated(x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """x (n, d) and y (n,), frozen copies; y may also come as (n, 1)."""
    inputs, labels = numbers("x", x), numbers("y", y)
    if inputs.ndim != 2:
        raise InputError(f"x must have shape (samples, inputs), found {inputs.shape}; reshape it to two dimensions.")
    samples, columns = inputs.shape
    if samples == 0 or columns == 0:
        raise InputError(f"x must hold at least one sample and one input, found shape {inputs.shape}.")
    if columns > MAX_INPUTS:
        raise InputError(
            f"x must have at most {MAX_INPUTS} inputs, found {columns}: its covariance would not fit in memory; "
            "project the data first (PCA), or check that rows and columns are not swapped."
        )
    if labels.shape == (samples, 1):
        labels = labels[:, 0].copy()
    if labels.shape != (samples,):
        raise InputError(
            f"y must have shape ({samples},), one label per row of x, found {labels.shape}"
            + ("; take one output at a time, y[:, 0]." if labels.ndim == 2 and len(labels) == samples else ".")
        )
    _check_finite("x", inputs)
    _check_finite("y", labels)
    _check_lengths(inputs)
    return frozen(inputs), frozen(labels)


def frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array


def numbers(name: str, values: Any) -> Array:
    """A float64 copy of arrays, lists, data frames and torch tensors; masked and complex values are refused."""
    if hasattr(values, "detach"):  # a torch tensor that may carry a gradient
        values = values.detach().cpu().numpy()
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise InputError(
            f"{name} must have no masked values, found {int(np.sum(np.ma.getmaskarray(values)))}; drop or fill them in."
        )
    try:
        if np.iscomplexobj(values):
            raise TypeError("complex numbers have no sign for a ReLU to see")
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"x and y must be arrays of numbers ({error}); convert text and missing values first.") from error


def _check_finite(name: str, array: Array) -> None:
    if not np.isfinite(array).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        raise InputError(
            f"{name} must be finite, found {array[where]} at {name}[{', '.join(map(str, where))}]; "
            "remove or impute such samples."
        )
    if np.abs(array).max() > LARGEST:
        raise InputError(
            f"{name} must not exceed {LARGEST:g}, whose square still is a number, found {np.abs(array).max():g}; rescale it."
        )


def _check_lengths(x: Array) -> None:
    largest = np.abs(x).max(axis=1)
    if not largest.any():
        raise InputError("some sample must be non-zero, found none: a bias-free network outputs 0 on all of them.")
    seen = np.where(largest > 0.0, largest, np.inf)  # rows of zeros are kept: they have no gradient
    if seen.min() < SMALLEST:
        raise InputError(
            f"every sample but zero ones must have an entry of size {SMALLEST:g} at least, whose square still is a number, "
            f"found {seen.min():g} at x[{seen.argmin()}]; rescale x."
        )
