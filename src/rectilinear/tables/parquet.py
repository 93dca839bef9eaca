"""Parquet files, where pyarrow is installed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError
from .labels import classes_from_numbers, classes_from_words
from .table import Table, dropped_columns, require_two_columns, target_column


def read_parquet(path: Path, target: str | int | None, drop: Sequence[str]) -> Table:
    """A table whose columns are numbers; the labels may be words of two kinds."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise FileError(
            f"{path.name}: pyarrow is required for .parquet and is not installed; install it, or write .csv."
        ) from error
    try:
        table = pyarrow.parquet.read_table(path)
    except (OSError, pyarrow.ArrowException) as error:
        raise FileError(f"{path.name}: a Parquet file is required ({error}).") from error
    header = [str(name) for name in table.column_names]
    require_two_columns(path.name, len(header), "a table needs both")
    label = target_column(path.name, target, len(header), header)
    left_out = dropped_columns(path.name, drop, header) | {label}
    kept = [k for k in range(len(header)) if k not in left_out]
    columns = [_numbers(path, header[k], table.column(k)) for k in kept]
    y, note = _labels(path, header[label], table.column(label))
    x = np.stack(columns, axis=1) if columns else np.empty((len(y), 0))
    return Table(x, y, tuple(header[k] for k in kept), notes=() if note is None else (note,))


def _values(path: Path, name: str, column: Any) -> NDArray[Any]:
    if column.null_count:
        raise FileError(f"{path.name}, column {name!r}: {column.null_count} values are missing; fill them in, or drop them.")
    return np.asarray(column.to_numpy())


def _numbers(path: Path, name: str, column: Any) -> NDArray[Any]:
    values = _values(path, name, column)
    if values.dtype.kind not in "fiub":
        raise FileError(
            f"{path.name}, column {name!r}: numbers are required, found {column.type}; write them as such, or drop the column."
        )
    return values


def _labels(path: Path, name: str, column: Any) -> tuple[NDArray[Any], str | None]:
    values = _values(path, name, column)
    if values.dtype.kind in "fiub":
        return classes_from_numbers(name, values)
    return classes_from_words(path.name, name, [str(value) for value in values])
