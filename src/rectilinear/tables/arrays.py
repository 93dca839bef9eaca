"""NumPy files: one array with the labels in a column (.npy), or arrays x and y (.npz)."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError
from .labels import classes_from_numbers
from .table import Table, require_two_columns, target_column

HOW_TO_SAVE = "save with np.savez(path, x=x, y=y)."
UNREADABLE = (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error)


def read_npy(path: Path, target: str | int | None, drop: Sequence[str]) -> Table:
    """A single array (samples, columns); `target` is the position of the label column, the last one by default."""
    _refuse_drop(path, drop)
    try:
        with path.open("rb") as file:  # NumPy leaves a file open that it opened itself and could not read
            array = np.load(file, allow_pickle=False)
    except UNREADABLE as error:
        raise FileError(
            f"{path.name}: a NumPy .npy file of plain numbers is required ({error}); save with np.save(path, table)."
        ) from error
    if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind not in "fiub":
        found = f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else "an archive of arrays"
        raise FileError(
            f"{path.name}: one array of numbers of shape (samples, columns) with the labels in a column is required, found "
            f"{found}; {HOW_TO_SAVE}"
        )
    require_two_columns(path.name, array.shape[1], HOW_TO_SAVE.removesuffix("."))
    column = target_column(path.name, target, array.shape[1], None)
    return _table(np.delete(array, column, axis=1), array[:, column], str(column))


def read_npz(path: Path, target: str | int | None, drop: Sequence[str]) -> Table:
    """Arrays x and y of a .npz archive, in small or capital letters."""
    _refuse_drop(path, drop)
    if target is not None:
        raise FileError(f"{path.name}: a target belongs to a table, the labels of an archive are its array y; drop it.")
    try:
        with path.open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise FileError(f"{path.name}: a NumPy .npz archive is required, found another kind of file; {HOW_TO_SAVE}")
            file.seek(0)
            archive = np.load(file, allow_pickle=False)
            keys = {name.lower(): name for name in archive}
            if not {"x", "y"} <= set(keys):
                found = ", ".join(sorted(archive)) or "none"
                raise FileError(f"{path.name}: arrays named x and y are required, found {found}; {HOW_TO_SAVE}")
            return _table(archive[keys["x"]], archive[keys["y"]], keys["y"])
    except UNREADABLE as error:
        raise FileError(f"{path.name}: a NumPy .npz archive of plain arrays is required ({error}); {HOW_TO_SAVE}") from error


def _refuse_drop(path: Path, drop: Sequence[str]) -> None:
    if drop:
        raise FileError(f"{path.name}: columns are dropped by name, and NumPy files have none; drop {drop[0]!r} in NumPy.")


def _table(x: NDArray[np.generic], y: NDArray[np.generic], column: str) -> Table:
    x, y = np.asarray(x), np.asarray(y)
    labels, note = classes_from_numbers(column, y) if y.dtype.kind in "fiub" else (y, None)
    return Table(x, labels, notes=() if note is None else (note,))
