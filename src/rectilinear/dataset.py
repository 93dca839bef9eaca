"""Data sets: inputs, labels, their moments, and the lines through the origin that the inputs lie on."""

from __future__ import annotations

import csv
import zipfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import FileError, InputError

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

MAX_INPUTS = 20_000  # the covariance of more inputs would not fit in memory (3 GB)
SAME_LINE = 1e-12  # unit vectors closer than this differ by rounding only


@dataclass(frozen=True)
class Lines:
    """The distinct lines through the origin that hold the samples: x_i = length_i * normal[index_i].

    A neuron w switches at sample i where w . x_i = 0, so all samples on one line (duplicates, multiples, antipodes)
    share one *kink* hyperplane with unit normal `normals[index_i]`.
    """

    normals: Array  # (lines, inputs), unit rows
    index: Indices  # (samples,), the line of each sample
    lengths: Array  # (samples,), signed

    def __len__(self) -> int:
        return len(self.normals)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples x (samples n, inputs d) with labels y (n,), as frozen float64 arrays.

    Averages <.> are means over the n samples; nothing is centred.

    >>> data = Dataset([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0]], [1.0, -1.0, 0.5])
    >>> data
    Dataset: 3 samples, 2 inputs, 2 lines through the origin
    >>> data.correlation.tolist()
    [0.6666666666666666, 0.3333333333333333]
    """

    x: Array
    y: Array
    name: str = "data"
    promises: frozenset[str] = field(default_factory=frozenset)  # hypotheses that hold by construction

    def __init__(
        self, x: ArrayLike, y: ArrayLike, name: str = "data", promises: frozenset[str] | set[str] = frozenset()
    ) -> None:
        inputs, labels = _validated(x, y)
        object.__setattr__(self, "x", inputs)
        object.__setattr__(self, "y", labels)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "promises", frozenset(promises))

    @property
    def samples(self) -> int:
        return len(self.x)

    @property
    def inputs(self) -> int:
        return int(self.x.shape[1])

    @cached_property
    def covariance(self) -> Array:
        """Sigma = <x x^T>, the uncentred second moment (Zhang et al., Eq. 9)."""
        return _frozen(self.x.T @ self.x / self.samples)

    @cached_property
    def correlation(self) -> Array:
        """beta = <y x> (Zhang et al., Eq. 9)."""
        return _frozen(self.x.T @ self.y / self.samples)

    @cached_property
    def lines(self) -> Lines:
        """The distinct lines through the origin that hold the samples; cost near-linear in the samples."""
        return _find_lines(self.x)

    @cached_property
    def mirror_pairs(self) -> tuple[Indices, Indices]:
        """Disjoint pairs (i, j) with x_j = -x_i exactly, and the samples left without a partner.

        >>> pairs, alone = Dataset([[1.0], [-1.0], [3.0]], [0.0, 0.0, 0.0]).mirror_pairs
        >>> pairs.tolist(), alone.tolist()
        ([[0, 1]], [2])
        """
        waiting: dict[bytes, list[int]] = {}
        pairs: list[tuple[int, int]] = []
        for i, row in enumerate(self.x + 0.0):  # + 0.0 turns -0.0 into 0.0
            partners = waiting.get((-row + 0.0).tobytes())
            if partners:
                pairs.append((partners.pop(), i))
            else:
                waiting.setdefault(row.tobytes(), []).append(i)
        alone = sorted(i for left in waiting.values() for i in left)
        return np.array(pairs, dtype=np.intp).reshape(-1, 2), np.array(alone, dtype=np.intp)

    def symmetrised(self) -> Dataset:
        """The data with every sample's mirror image (-x, -y) added: Condition 3 of Zhang et al. holds exactly.

        >>> Dataset([[1.0, 2.0]], [3.0]).symmetrised().y.tolist()
        [3.0, -3.0]
        """
        return Dataset(
            np.concatenate([self.x, -self.x]),
            np.concatenate([self.y, -self.y]),
            f"{self.name} (symmetrised)",
            {"even_inputs", "odd_target"},
        )

    def with_ones_column(self) -> Dataset:
        """The data with a constant input 1 appended: the bias trick (Zhang et al., Discussion).

        >>> Dataset([[2.0]], [1.0]).with_ones_column().x.tolist()
        [[2.0, 1.0]]
        """
        ones = np.ones((self.samples, 1))
        return Dataset(np.concatenate([self.x, ones], axis=1), self.y, f"{self.name} (with ones)")

    @classmethod
    def from_csv(cls, path: str | Path, target: str | int = -1) -> Dataset:
        """Read a comma-separated file; `target` names the label column (by header, or by position; the last by default).

        The first row is taken as a header if any of its cells is not a number. Every other cell must be a finite number.
        """
        path = Path(path)
        rows = _csv_rows(path)
        header = None if _all_numbers(rows[0]) else [cell.strip() for cell in rows[0]]
        body = rows if header is None else rows[1:]
        if not body:
            raise FileError(f"{path.name}: at least one row of numbers is required, found only a header; add samples.")
        columns = len(rows[0])
        table = np.array([_numbers(path, row, number, columns, header) for number, row in enumerate(body, 1)])
        column = _target_column(path, target, columns, header)
        return cls(np.delete(table, column, axis=1), table[:, column], path.stem)

    @classmethod
    def from_npz(cls, path: str | Path) -> Dataset:
        """Read arrays `x` and `y` from a NumPy .npz archive; pickled objects are refused."""
        path = Path(path)
        try:
            with np.load(path, allow_pickle=False) as archive:
                missing = [key for key in ("x", "y") if key not in archive]
                if missing:
                    raise FileError(
                        f"{path.name}: arrays named x and y are required, found {sorted(archive)}; "
                        "save with np.savez(path, x=x, y=y)."
                    )
                return cls(archive["x"], archive["y"], path.stem)
        except FileNotFoundError as error:
            raise FileError(f"{path}: no such file; check the path.") from error
        except InputError as error:
            raise FileError(f"{path.name}: {error}") from error
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise FileError(
                f"{path.name}: a NumPy .npz archive of plain arrays is required ({error}); "
                "save with np.savez(path, x=x, y=y)."
            ) from error

    def __repr__(self) -> str:
        title = "Dataset" if self.name == "data" else f"Dataset {self.name}"
        return f"{title}: {self.samples} samples, {self.inputs} inputs, {len(self.lines)} lines through the origin"


def _frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array


def _validated(x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    try:
        inputs = np.array(x, dtype=np.float64)
        labels = np.array(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"x and y must be arrays of numbers ({error}); convert text and missing values first.") from error
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
    if labels.shape != (samples,):
        raise InputError(f"y must have shape ({samples},), one label per row of x, found {labels.shape}.")
    for name, array in (("x", inputs), ("y", labels)):
        if not np.isfinite(array).all():
            where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
            raise InputError(
                f"{name} must be finite, found {array[where]} at {name}[{', '.join(map(str, where))}]; "
                "remove or impute such samples."
            )
    zero_rows = np.flatnonzero(~inputs.any(axis=1))
    if zero_rows.size:
        raise InputError(
            f"every sample must be non-zero, found {zero_rows.size} zero row(s), the first at x[{zero_rows[0]}]: "
            "a bias-free network outputs 0 there whatever its weights; drop them, or add a constant input."
        )
    return _frozen(inputs), _frozen(labels)


def _find_lines(x: Array) -> Lines:
    """Sort unit vectors along one random axis, so that only neighbours need to be compared."""
    norms = np.linalg.norm(x, axis=1)
    units = x / norms[:, None]
    axis = np.random.default_rng(0).standard_normal((x.shape[1],))
    axis /= np.linalg.norm(axis)
    along = units @ axis
    signs = np.where(along < 0, -1.0, 1.0)
    units = units * signs[:, None]
    order = np.argsort(np.abs(along), kind="stable")
    along = np.abs(along)

    index = np.empty(len(x), dtype=np.intp)
    representatives: list[int] = []
    candidates: list[int] = []  # lines whose representative is near on the axis
    for i in order:
        candidates = [k for k in candidates if along[i] - along[representatives[k]] <= SAME_LINE]
        for k in candidates:
            if np.abs(units[i] - units[representatives[k]]).max() <= SAME_LINE:
                index[i] = k
                break
        else:
            index[i] = len(representatives)
            candidates.append(len(representatives))
            representatives.append(int(i))
    # number the lines by first appearance, so that rotating the inputs leaves the numbering alone
    _, first = np.unique(index, return_index=True)
    rank = np.argsort(np.argsort(first))
    normals = units[np.array(representatives)[np.argsort(first)]]
    return Lines(_frozen(normals), rank[index], _frozen(norms * signs))


def _csv_rows(path: Path) -> list[list[str]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if any(cell.strip() for cell in row)]
    except FileNotFoundError as error:
        raise FileError(f"{path}: no such file; check the path.") from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"{path.name}: a comma-separated text file is required ({error}).") from error
    if not rows:
        raise FileError(f"{path.name}: at least one row of numbers is required, found an empty file.")
    if len(rows[0]) < 2:
        raise FileError(
            f"{path.name}: at least two columns (one input, one label) are required, found {len(rows[0])}; "
            "separate columns by commas."
        )
    return rows


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _all_numbers(row: list[str]) -> bool:
    return all(_is_number(cell) for cell in row)


def _numbers(path: Path, row: list[str], number: int, columns: int, header: list[str] | None) -> list[float]:
    line = number + (header is not None)
    if len(row) != columns:
        raise FileError(f"{path.name}, row {line}: {columns} cells are required as in the first row, found {len(row)}.")
    for position, cell in enumerate(row):
        if not _is_number(cell) or not np.isfinite(float(cell)):
            column = f"column {header[position]!r}" if header else f"column {position + 1}"
            found = "an empty cell" if not cell.strip() else repr(cell)
            raise FileError(
                f"{path.name}, row {line}, {column}: a finite number is required, found {found}; "
                "fill it in, or drop the row or column."
            )
    return [float(cell) for cell in row]


def _target_column(path: Path, target: str | int, columns: int, header: list[str] | None) -> int:
    if isinstance(target, int) or (target.lstrip("-").isdigit() and (header is None or target not in header)):
        position = int(target)
        if not -columns <= position < columns:
            raise FileError(f"{path.name}: target column must lie in 0..{columns - 1}, found {position}.")
        return position % columns
    if header is None:
        raise FileError(
            f"{path.name}: target {target!r} needs a header row, found none; give its position, e.g. --target 0."
        )
    if target not in header:
        raise FileError(f"{path.name}: target {target!r} is not a column; there are {', '.join(header)}.")
    return header.index(target)
