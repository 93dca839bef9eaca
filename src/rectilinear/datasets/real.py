"""Real data sets that ship with scikit-learn (an optional dependency), centred; nothing is downloaded.

A real sample keeps no hypothesis by construction; `symmetrised=True` adds every sample's mirror image (-x, -y), which makes
Condition 3 of Zhang et al. hold exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..dataset import Dataset
from ..errors import InputError
from .options import require_switch

# By the name of its loader: the files of a data set, whose last column are the labels, what separates columns, and lines before them.
FILES: dict[str, tuple[tuple[str, ...], str | None, int]] = {
    "load_breast_cancer": (("breast_cancer.csv",), ",", 1),
    "load_diabetes": (("diabetes_data_raw.csv.gz", "diabetes_target.csv.gz"), None, 0),
    "load_digits": (("digits.csv.gz",), ",", 0),
}
BRIGHTEST = 16.0  # pixels of the digits run from 0 to 16


def digits(first: int = 0, second: int = 1, symmetrised: bool = False) -> Dataset:
    """Two handwritten digits as 8 x 8 images with pixels in [0, 1], centred; y = +1 for `first`, -1 for `second`."""
    for name, digit in (("first", first), ("second", second)):
        if not isinstance(digit, (int, np.integer)) or isinstance(digit, bool) or digit not in range(10):
            raise InputError(f"{name} must be a digit from 0 to 9, found {digit!r}.")
    if first == second:
        raise InputError(f"first and second must be two different digits, found {first} twice.")
    images, numbers = _shipped("load_digits")
    chosen = np.isin(numbers, (first, second))
    labels = np.where(numbers[chosen] == first, 1.0, -1.0)
    return _finished(f"digits_{first}_{second}", _centred(images[chosen] / BRIGHTEST), labels, symmetrised)


def breast_cancer(symmetrised: bool = False) -> Dataset:
    """569 tumours, 30 measurements, each centred and of unit variance; y = +1 for benign, -1 for malignant."""
    measurements, benign = _shipped("load_breast_cancer")
    return _finished("breast_cancer", _standardised(measurements), np.where(benign == 1, 1.0, -1.0), symmetrised)


def diabetes(symmetrised: bool = False) -> Dataset:
    """442 patients, 10 measurements; y is the progression of the disease. All centred and of unit variance (regression)."""
    measurements, progression = _shipped("load_diabetes")
    return _finished("diabetes", _standardised(measurements), _standardised(progression), symmetrised)


def _shipped(loader: str) -> tuple[Array, Array]:
    """Inputs and labels, read from the files of scikit-learn: importing it takes a second."""
    package = find_spec("sklearn")
    if package is None or package.origin is None:
        raise InputError(
            "scikit-learn is required for the real data sets and is not installed; install rectilinear[real-data]."
        )
    folder, (names, separator, header) = Path(package.origin).parent / "datasets" / "data", FILES[loader]
    try:
        tables = [np.loadtxt(folder / name, delimiter=separator, skiprows=header, ndmin=2) for name in names]
    except OSError:  # it keeps them elsewhere
        return _loaded(loader)
    columns = np.hstack(tables)
    return columns[:, :-1], columns[:, -1]


def _loaded(loader: str) -> tuple[Array, Array]:
    """The same by scikit-learn itself."""
    import sklearn.datasets

    load: Callable[..., Any] = getattr(sklearn.datasets, loader)
    x, y = load(return_X_y=True)
    return np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)


def _centred(columns: Array) -> Array:
    return np.asarray(columns - columns.mean(axis=0))


def _standardised(columns: Array) -> Array:
    return np.asarray(_centred(columns) / columns.std(axis=0))


def _finished(name: str, x: Array, y: Array, symmetrised: bool) -> Dataset:
    require_switch("symmetrised", symmetrised)
    data = Dataset(x, y, name)
    return data.symmetrised() if symmetrised else data
