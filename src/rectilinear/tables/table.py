"""What a file holds once it is read: numbers, their names, their places in the file, and what was decided on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError, did_you_mean


@dataclass(frozen=True, eq=False)
class Table:
    """Inputs x (samples n, inputs d) and labels y (n,); numbers keep the type the file has, so that its precision is known."""

    x: NDArray[np.generic]
    y: NDArray[np.generic]
    features: tuple[str, ...] | None = None  # (d,), the names of the inputs
    file_lines: tuple[int, ...] | None = None  # (n,), where each sample stands in a text file, counted from 1
    notes: tuple[str, ...] = ()  # what was decided, a sentence each


def target_column(file: str, target: str | int | None, columns: int, header: Sequence[str] | None) -> int:
    """The position of the label column: by name, by position (negative ones from the end), or the last one."""
    if header is not None and target in header:
        return header.index(str(target))
    try:
        position = -1 if target is None else int(target)
    except ValueError as error:
        if header is None:
            raise FileError(
                f"{file}: target {target!r} needs a header row, found none; give its position, 0 for the first."
            ) from error
        near = did_you_mean(target, header)
        raise FileError(f"{file}: target {target!r} is not a column; there are {', '.join(header)}{near}") from error
    if not -columns <= position < columns:
        raise FileError(f"{file}: target must be a column from 0 to {columns - 1}, found {position}.")
    return position % columns


def dropped_columns(file: str, drop: Sequence[str], header: Sequence[str] | None) -> set[int]:
    """The positions of the columns to leave out, each given by its name."""
    if not drop:
        return set()
    if header is None:
        raise FileError(f"{file}: columns are dropped by name, found no header row; add one.")
    unknown = [name for name in drop if name not in header]
    if unknown:
        raise FileError(f"{file}: {unknown[0]!r} cannot be dropped, it is not a column; there are {', '.join(header)}.")
    return {header.index(name) for name in drop}


def require_two_columns(file: str, columns: int, remedy: str) -> None:
    if columns < 2:
        raise FileError(f"{file}: at least two columns (one input, one label) are required, found {columns}; {remedy}.")
