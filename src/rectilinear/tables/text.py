"""Text tables: the separator, decimal commas and comment lines are found by looking, and said in a note."""

from __future__ import annotations

import csv
import gzip
import math
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError
from .labels import classes_from_numbers, classes_from_words
from .remedies import EXCEL_ERRORS, is_missing, remedy
from .table import Table, dropped_columns, require_two_columns, target_column

TRUTH = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}  # how files write truth values, in lower case
SEPARATORS = {
    ";": "semicolons",
    "\t": "tabs",
    "|": "vertical bars",
    ",": "commas",
    " ": "spaces",
}  # where several fit, the first one
SEPARATOR_LINE = re.compile(r'"?sep=(.)"?', re.IGNORECASE)  # how Excel names the separator, in the first line
ARCHIVES = {
    b"PK": "a zip archive, as Excel's .xlsx is",
    b"\xd0\xcf\x11\xe0": "an old Excel file",
    b"\x1f\x8b": "a gzip file",
    b"<!": "a web page",
    b"<html": "a web page",
}
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # how files begin that are written in it
LOOKED_AT = 50  # rows that the separator is decided on
COMMENT = "#"
FEWEST_NUMBERED = 3  # columns, or rows: 0, 1 may as well be a sample
DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")
DECIMAL_POINT = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?")
WHOLE = re.compile(r"[-+]?\d+")
EXACT = 2**53  # whole numbers beyond it are not all told apart
MINUS = "\N{MINUS SIGN}"  # as tables copied from texts have it

Row = tuple[int, list[str]]  # the line in the file, counted from 1, and its cells


@dataclass(frozen=True)
class _Layout:
    """How a text table is written: its separator, whether decimals have commas, the names of its columns."""

    separator: str
    decimal_comma: bool
    header: list[str] | None
    numbered: bool = False  # the header numbers the columns
    rows_numbered: bool = False  # the first column numbered the rows, and is gone

    @property
    def notes(self) -> tuple[str, ...]:
        notes = []
        if self.separator != "," or self.decimal_comma:
            notes.append(
                f"columns are separated by {SEPARATORS[self.separator]}{', decimals by commas' * self.decimal_comma}"
            )
        if self.numbered and self.header is not None:
            notes.append(f"the first line numbers the columns, 0 to {len(self.header) - 1}")
        if self.rows_numbered:
            notes.append("the first column has no name and numbers the rows: it is left out")
        return tuple(notes)

    def number(self, cell: str) -> float | None:
        try:
            plain = cell.replace(MINUS, "-")
            return float(plain.replace(",", ".") if self.decimal_comma else plain)
        except ValueError:
            return TRUTH.get(cell.strip().lower())

    def name(self, column: int) -> str:
        return repr(self.header[column]) if self.header else str(column + 1)


def read_text(path: Path, target: str | int | None, drop: Sequence[str]) -> Table:
    """A table with one sample per row; the first row is a header if it holds names, lines that begin with # are comments."""
    rows, layout = _rows(path)
    columns = len(layout.header or rows[0][1])
    named_rows = layout.header is not None and all(len(row) == columns + 1 for _, row in rows)
    for line, row in rows:
        if len(row) != columns:
            names = "; name every column, or write no row names (R: row.names=FALSE)" if named_rows else ""
            raise FileError(
                f"{path.name}, line {line}: {columns} cells are required as in the first row, found {len(row)}{names}."
            )
    rows, layout = _without_row_numbers(rows, layout)
    columns = len(rows[0][1])
    if layout.header is not None:
        _check_names(path, layout.header)
    label = target_column(path.name, target, columns, layout.header)
    left_out = dropped_columns(path.name, drop, layout.header) | {label}
    kept = [k for k in range(columns) if k not in left_out]
    if layout.decimal_comma:
        _check_decimals(path, rows, [*kept, label])
    x = _numbers(path, rows, kept, layout)
    y, note = _labels(path, rows, label, layout)
    return Table(
        x,
        y,
        tuple(layout.header[k] for k in kept) if layout.header else None,
        tuple(line for line, _ in rows),
        layout.notes if note is None else (*layout.notes, note),
    )


def _rows(path: Path) -> tuple[list[Row], _Layout]:
    """The rows of numbers and how the file is written."""
    lines = _text(path).splitlines()
    named = SEPARATOR_LINE.fullmatch(lines[0].strip()) if lines else None
    if named is not None:
        lines[0] = ""
    comments = [(k, line) for k, line in enumerate(lines, start=1) if _is_comment(line)]
    written = [line for line in lines if line.strip() and not _is_comment(line)]
    if not any(character not in "\t;, " for line in written for character in line):
        raise FileError(f"{path.name}: at least one row of numbers is required, found an empty file.")
    separator = named[1] if named is not None and named[1] in SEPARATORS else _separator(written[:LOOKED_AT])
    try:
        rows = _without_trailing_separators(list(_split(lines, separator)))
    except csv.Error as error:
        raise FileError(f"{path.name}: a text table is required ({error}).") from error
    _check_first_lines(path, rows, written)
    require_two_columns(path.name, len(rows[0][1]), "separate columns by commas, semicolons or tabs")
    cells = [cell for _, row in rows for cell in row]
    plain = _Layout(separator, separator != "," and _has_decimal_commas(cells), None)
    header: list[str] | None
    numbered = _numbers_columns(rows, plain)
    if numbered or _is_header(rows[0][1], plain):
        header = [" ".join(cell.split()) for cell in rows[0][1]]
        rows = rows[1:]
        _check_units(path, rows, plain)
    else:
        header = _header_in_comment(comments, rows[0], separator)
    if not rows:
        raise FileError(f"{path.name}: at least one row of numbers is required, found only a header; add samples.")
    return rows, _Layout(separator, plain.decimal_comma, header, numbered)


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
        if path.suffix.lower() == ".gz":
            content = gzip.decompress(content)
        for beginning, kind in ARCHIVES.items():
            if content.startswith(beginning):
                raise FileError(f"{path.name}: a text table is required, found {kind}; save or unpack it as .csv.")
        return content.decode("utf-16" if content.startswith(UTF_16) else "utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise FileError(f"{path.name}: a text table is required ({error}); save it as UTF-8 text.") from error


def _is_comment(line: str) -> bool:
    """It begins with #, and not with what Excel writes where a formula failed."""
    return line.lstrip().startswith(COMMENT) and not line.lstrip().lower().startswith(EXCEL_ERRORS)


def _split(lines: Iterable[str], separator: str) -> Iterable[Row]:
    """Cells of the rows that are neither blank nor comments, each with its line in the file."""
    blanked = ("" if _is_comment(line) else line.strip(" ") for line in lines)
    reader = csv.reader((f"{line}\n" for line in blanked), delimiter=separator, skipinitialspace=True)
    return ((reader.line_num, row) for row in reader if any(cell.strip() for cell in row))


def _without_trailing_separators(rows: list[Row]) -> list[Row]:
    """Rows without the empty cell that a separator at the end of every line leaves; the header may do without it."""
    first, others = rows[0], rows[1:]
    header_ends_empty = not first[1][-1].strip()
    if not others or any(row[-1].strip() for _, row in others):
        return rows
    if not header_ends_empty and len(first[1]) != len(others[0][1]) - 1:
        return rows  # a column that has a name, and no values
    cut = [(line, row[:-1]) for line, row in others]
    return [(first[0], first[1][:-1]) if header_ends_empty else first, *cut]


def _separator(written: Sequence[str]) -> str:
    """The separator that cuts all rows into equally many cells, two at least; failing that, all but the first, which has one cell less
    (R's row names have no header); failing that, the one that cuts the first row most."""
    counts = {}
    for separator in SEPARATORS:
        try:
            counts[separator] = [len(row) for _, row in _split(written, separator)]
        except csv.Error:
            continue
    for separator, cells in counts.items():
        if min(cells, default=0) > 1 and len(set(cells)) == 1:
            return separator
    for separator, cells in counts.items():
        if min(cells, default=0) > 1 and len(set(cells[1:])) == 1 and cells[1] == cells[0] + 1:
            return separator
    return max((s for s in counts if s != " "), key=lambda separator: counts[separator][:1], default=",")


def _check_first_lines(path: Path, rows: Sequence[Row], written: Sequence[str]) -> None:
    """Refuse a title above the table: one cell where all lines below have several."""
    line, first = rows[0]
    title = [cell for cell in first if cell.strip()]
    below = {len(row) for _, row in _split(written[1:], _separator(written[1:LOOKED_AT]))}
    if len(title) == 1 and len(first) != 2 and len(below) == 1 and min(below) > 1 and len(first) in (1, *below):
        raise FileError(
            f"{path.name}, line {line}: names of columns or numbers are required, found one cell, {title[0].strip()!r}; "
            "remove a title, or begin its line with #."
        )


def _check_units(path: Path, rows: Sequence[Row], layout: _Layout) -> None:
    """Refuse a second line of names, of units for example: no number in it, and numbers below where it has words."""
    if len(rows) < 2:
        return
    (line, words), (_, numbers) = rows[:2]
    below = [layout.number(cell) is not None for cell in numbers[: len(words)]]
    if all(layout.number(cell) is None for cell in words) and sum(below) > 1 and all(below[:-1]):
        raise FileError(
            f"{path.name}, line {line}: one line of names is required, found a second, beginning with {words[0].strip()!r}; "
            "join it with the first, or begin it with #."
        )


def _has_decimal_commas(cells: Sequence[str]) -> bool:
    return any("," in cell and DECIMAL_COMMA.fullmatch(cell.strip()) for cell in cells)


def _without_row_numbers(rows: list[Row], layout: _Layout) -> tuple[list[Row], _Layout]:
    """The table without a first column that has no name and counts the rows from 0 or 1, as pandas and R write it."""
    header = layout.header
    if header is None or header[0] or len(rows) < FEWEST_NUMBERED or not rows[0][1][0].strip().isdecimal():
        return rows, layout
    first = int(rows[0][1][0])
    if first > 1 or any(row[0].strip() != str(first + k) for k, (_, row) in enumerate(rows)):
        return rows, layout
    return [(line, row[1:]) for line, row in rows], replace(layout, header=header[1:], rows_numbered=True)


def _check_decimals(path: Path, rows: Sequence[Row], columns: Sequence[int]) -> None:
    """Refuse a table with 1,5 and 1.5 in it: one of the two would be read as another number."""
    cells = [(line, row[k].strip()) for line, row in rows for k in columns]
    comma, point = (
        next((found for found in cells if kind.fullmatch(found[1])), None) for kind in (DECIMAL_COMMA, DECIMAL_POINT)
    )
    if comma is not None and point is not None:
        raise FileError(
            f"{path.name}: decimals must be written in one way, found {comma[1]!r} in line {comma[0]} and {point[1]!r} in line "
            f"{point[0]}; write no separators of thousands."
        )


def _numbers_columns(rows: Sequence[Row], layout: _Layout) -> bool:
    """The first row is 0, 1, 2, ..., as pandas names columns without names, above numbers that are not all whole."""
    first = [cell.strip() for cell in rows[0][1]]
    if len(first) < FEWEST_NUMBERED or first != [str(k) for k in range(len(first))]:
        return False
    numbers = (layout.number(cell) for _, row in rows[1:] for cell in row)
    return any(number is not None and not number.is_integer() for number in numbers)


def _is_header(row: list[str], layout: _Layout) -> bool:
    """Some names and no measurements; whole numbers may be names (pandas numbers its columns), 0.5 may not."""
    numbers = [layout.number(cell) for cell in row]
    names = any(number is None and not is_missing(cell) for cell, number in zip(row, numbers, strict=True))
    return names and all(number is None or number.is_integer() for number in numbers)


def _header_in_comment(comments: Sequence[tuple[int, str]], first: Row, separator: str) -> list[str] | None:
    """Names in the comment just above the numbers, which is where np.savetxt puts them."""
    for line, text in comments:
        names = next(csv.reader([text.lstrip(f"{COMMENT} ")], delimiter=separator), [])
        if line == first[0] - 1 and len(names) == len(first[1]) and not any(map(_is_number, names)):
            return [name.strip() for name in names]
    return None


def _is_number(cell: str) -> bool:
    return _Layout(",", False, None).number(cell) is not None


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


def _numbers(
    path: Path, rows: Sequence[Row], columns: Sequence[int], layout: _Layout, are_labels: bool = False
) -> NDArray[np.float64]:
    """The numbers (rows, columns), or a sentence about the first cell that holds none."""
    try:
        table = np.array([[float(row[k]) for k in columns] for _, row in rows])  # so it is in nearly every file, and fast
        if np.isfinite(table).all():
            if np.abs(table).max(initial=0.0) >= EXACT:
                _check_whole_numbers(path, rows, columns, layout)
            return table
    except ValueError:
        pass
    return np.array([[_number(path, rows, at, k, layout, are_labels) for k in columns] for at in range(len(rows))])


def _number(path: Path, rows: Sequence[Row], at: int, column: int, layout: _Layout, is_label: bool) -> float:
    line, row = rows[at]
    cell = row[column].strip()
    number = layout.number(cell)
    if number is not None and math.isfinite(number):
        return number
    found = repr(cell) if cell else "an empty cell"
    what_to_do = remedy(cell, [other[column].strip() for _, other in rows], layout.number, is_label)
    raise FileError(
        f"{path.name}, line {line}, column {layout.name(column)}: a finite number is required, found {found}; {what_to_do}."
    )


def _check_whole_numbers(path: Path, rows: Sequence[Row], columns: Sequence[int], layout: _Layout) -> None:
    """Refuse whole numbers that float64 would round, as long identifiers are."""
    for line, row in rows:
        for k in columns:
            cell = row[k].strip()
            if WHOLE.fullmatch(cell) and int(cell) != int(float(cell)):
                raise FileError(
                    f"{path.name}, line {line}, column {layout.name(k)}: whole numbers of 15 digits at most are required, found "
                    f"{cell}, which would be rounded; drop the column if it names the rows, or write fewer digits."
                )


def _labels(path: Path, rows: Sequence[Row], column: int, layout: _Layout) -> tuple[NDArray[np.generic], str | None]:
    """The labels as numbers; words of two kinds, or 0 and 1, become -1 and +1."""
    cells = [row[column].strip() for _, row in rows]
    name = layout.header[column] if layout.header else str(column + 1)
    known = [cell for cell in cells if not is_missing(cell)]
    if known and all(layout.number(cell) is None or cell.lower() in TRUTH for cell in known):
        if len(known) < len(cells):
            missing = next(k for k, cell in enumerate(cells) if is_missing(cell))
            found = repr(cells[missing]) if cells[missing] else "an empty cell"
            raise FileError(
                f"{path.name}, line {rows[missing][0]}, column {name!r}: a label is required, found {found}; fill it in, or drop the row."
            )
        return classes_from_words(path.name, name, cells)
    return classes_from_numbers(name, _numbers(path, rows, [column], layout, are_labels=True)[:, 0])
