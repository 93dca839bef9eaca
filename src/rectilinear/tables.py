"""Inputs and labels from CSV and NPZ files, with a sentence that names the cell where a file cannot be used."""

from __future__ import annotations

import csv
import math
import zipfile
import zlib
from pathlib import Path

import numpy as np

from .arrays import Array
from .errors import FileError

NPY_MAGIC = b"\x93NUMPY"  # how a file with a single array begins
MISSING = {"", "na", "n/a", "nan", "null", "none", "?", "-"}  # how files write a missing value, in lower case


def read_csv(path: Path, target: str | int) -> tuple[Array, Array]:
    """x (samples, inputs) and y (samples,) from a comma-separated file; see `Dataset.from_csv`."""
    lines = _csv_lines(path)
    first = lines[0][1]
    header = [cell.strip() for cell in first] if _is_header(first) else None
    body = lines if header is None else lines[1:]
    if not body:
        raise FileError(f"{path.name}: at least one row of numbers is required, found only a header; add samples.")
    if header is not None:
        _check_names(path, header)
    column = _target_column(path, target, len(first), header)
    table = np.array([_numbers(path, line, row, len(first), header) for line, row in body])
    return np.delete(table, column, axis=1), table[:, column]


def read_npz(path: Path) -> tuple[Array, Array]:
    """Arrays `x` and `y` of a NumPy .npz archive; see `Dataset.from_npz`."""
    how_to_save = "save with np.savez(path, x=x, y=y)."
    try:
        with path.open("rb") as file:  # NumPy leaves a file open that it opened itself and could not read
            if not zipfile.is_zipfile(file):
                file.seek(0)
                found = "a single array" if file.read(len(NPY_MAGIC)) == NPY_MAGIC else "another kind of file"
                raise FileError(f"{path.name}: a NumPy .npz archive is required, found {found}; {how_to_save}")
            file.seek(0)
            archive = np.load(file, allow_pickle=False)
            if not {"x", "y"} <= set(archive):
                found = ", ".join(sorted(archive)) or "none"
                raise FileError(f"{path.name}: arrays named x and y are required, found {found}; {how_to_save}")
            return archive["x"], archive["y"]
    except FileNotFoundError as error:
        raise FileError(f"{path}: no such file; check the path.") from error
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise FileError(f"{path.name}: a NumPy .npz archive of plain arrays is required ({error}); {how_to_save}") from error


def _csv_lines(path: Path) -> list[tuple[int, list[str]]]:
    """The rows that are not blank, each with its line number in the file."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            lines = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except FileNotFoundError as error:
        raise FileError(f"{path}: no such file; check the path.") from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"{path.name}: a comma-separated text file is required ({error}).") from error
    if not lines:
        raise FileError(f"{path.name}: at least one row of numbers is required, found an empty file.")
    columns = len(lines[0][1])
    if columns < 2:
        raise FileError(
            f"{path.name}: at least two columns (one input, one label) are required, found {columns}; "
            "separate columns by commas."
        )
    return lines


def _is_header(row: list[str]) -> bool:
    """Some names and no measurements; whole numbers may be names (pandas numbers its columns), 0.5 may not."""
    numbers = [_number(cell) for cell in row]
    names = any(number is None and cell.strip().lower() not in MISSING for cell, number in zip(row, numbers, strict=True))
    return names and all(number is None or number.is_integer() for number in numbers)


def _check_names(path: Path, header: list[str]) -> None:
    if "" in header:
        raise FileError(
            f"{path.name}: every column must have a name, found none for column {header.index('') + 1}; "
            "name it, or drop it if it only numbers the rows (pandas: to_csv(index=False))."
        )
    columns: dict[str, int] = {}
    for column, name in enumerate(header, start=1):
        if (first := columns.setdefault(name, column)) != column:
            raise FileError(
                f"{path.name}: column names must differ, found {name!r} for columns {first} and {column}; rename or drop one."
            )


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _numbers(path: Path, line: int, row: list[str], columns: int, header: list[str] | None) -> list[float]:
    if len(row) != columns:
        raise FileError(f"{path.name}, line {line}: {columns} cells are required as in the first row, found {len(row)}.")
    numbers = []
    for position, cell in enumerate(row):
        number = _number(cell)
        if number is None or not math.isfinite(number):
            column = f"column {header[position]!r}" if header else f"column {position + 1}"
            found = repr(cell.strip()) if cell.strip() else "an empty cell"
            is_text = number is None and cell.strip().lower() not in MISSING
            remedy = "write it as a number, or drop the column" if is_text else "fill it in, or drop the row or column"
            raise FileError(f"{path.name}, line {line}, {column}: a finite number is required, found {found}; {remedy}.")
        numbers.append(number)
    return numbers


def _target_column(path: Path, target: str | int, columns: int, header: list[str] | None) -> int:
    if header is not None and target in header:
        return header.index(str(target))
    try:
        position = int(target)
    except ValueError as error:
        if header is None:
            raise FileError(
                f"{path.name}: target {target!r} needs a header row, found none; give its position, 0 for the first."
            ) from error
        raise FileError(f"{path.name}: target {target!r} is not a column; there are {', '.join(header)}.") from error
    if not -columns <= position < columns:
        raise FileError(f"{path.name}: target must be a column from 0 to {columns - 1}, found {position}.")
    return position
