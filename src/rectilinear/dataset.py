"""Data sets: inputs, labels, their moments, and the lines through the origin that the inputs lie on."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import tables
from .arrays import Array, Indices, Mask, random_axis
from .errors import FileError, InputError, is_number, path_of
from .mirror_images import mirror_pairs
from .precision import Precision, stated
from .transformation import Transformation
from .validation import frozen, validated
from .wording import of_number

SAME_LINE = 1e-12  # unit vectors closer than this differ by rounding only
SAME_SPAN = 1e-12  # singular values of x, as a share of the largest: up to this they are rounding


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

    Averages <.> are means over the n samples; nothing is centred. A row of zeros is kept: it has a label, which no bias-free
    network fits, and no gradient. `features` (d,) names the inputs (taken from a data frame), `file_lines` (n,) are the lines
    of the file that the samples came from, `notes` what was decided when it was read, `transformation` what was done since.
    `precision` is a tolerance relative to the largest entries, within which numbers are equal; it is detected by default.

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
    features: tuple[str, ...] | None = None
    file_lines: tuple[int, ...] | None = None
    notes: tuple[str, ...] = ()
    transformation: Transformation | None = None

    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike,
        name: str = "data",
        promises: frozenset[str] | set[str] = frozenset(),
        *,
        features: Sequence[str] | None = None,
        file_lines: Sequence[int] | None = None,
        notes: Sequence[str] = (),
        transformation: Transformation | None = None,
        precision: Precision | float | None = None,
    ) -> None:
        inputs, labels = validated(x, y)
        contents: dict[str, Any] = {
            "x": inputs,
            "y": labels,
            "name": name,
            "promises": frozenset(promises),
            "features": _names(_columns_of(x) if features is None else features, inputs.shape[1]),
            "file_lines": None if file_lines is None else tuple(file_lines),
            "notes": tuple(notes),
            "transformation": transformation,
        }
        if precision is not None:
            contents["precision"] = _checked_precision(precision)
        for field_name, value in contents.items():
            object.__setattr__(self, field_name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_anew, ({**vars(self), "precision": self.precision},)  # so that a copy is frozen too

    @property
    def samples(self) -> int:
        return len(self.x)

    @property
    def inputs(self) -> int:
        return int(self.x.shape[1])

    @cached_property
    def precision(self) -> Precision:
        """How exact the numbers are: float64, float32 or the digits they were written with, the coarser of x and y."""
        return Precision.of(self.x).coarser(Precision.of(self.y[:, None]))

    @cached_property
    def covariance(self) -> Array:
        """Sigma = <x x^T>, the uncentred second moment (Zhang et al., Eq. 9)."""
        return frozen(self.x.T @ self.x / self.samples)

    @cached_property
    def correlation(self) -> Array:
        """beta = <y x> (Zhang et al., Eq. 9)."""
        return frozen(self.x.T @ self.y / self.samples)

    @cached_property
    def lines(self) -> Lines:
        """The distinct lines through the origin that hold the samples to the precision of the data; cost near-linear in the samples.

        Errors are relative to the largest entry of a column, so that is the unit in which lines are told apart. Data of full precision
        have the lines, in the order and with the sides, that events of a run name.
        """
        if self.precision.name == "float64":
            return find_lines(self.x)
        largest = np.abs(self.x).max(axis=0)
        same = max(SAME_LINE, self.precision.tolerance)
        index = find_lines(self.x / np.where(largest > 0.0, largest, 1.0), same).index
        norms = np.linalg.norm(self.x, axis=1)
        seen = np.flatnonzero(norms)
        normals = self.units[seen[np.unique(index[seen], return_index=True)[1]]]
        sides = np.where(np.sum(self.x * normals[index], axis=1) < 0.0, -1.0, 1.0)
        return Lines(frozen(normals), index, frozen(sides * norms))

    @cached_property
    def rank(self) -> int:
        """The dimension of the span of the samples, up to rounding.

        >>> Dataset([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0]], [1.0, -1.0]).rank
        1
        """
        sizes = np.linalg.svd(self.x, compute_uv=False)
        return int(np.count_nonzero(sizes > SAME_SPAN * sizes[0]))

    @cached_property
    def units(self) -> Array:
        """x_i / |x_i| (n, d); rows of zeros stay what they are."""
        norms = np.linalg.norm(self.x, axis=1, keepdims=True)
        return frozen(self.x / np.where(norms > 0.0, norms, 1.0))

    @cached_property
    def mirror_pairs(self) -> tuple[Indices, Indices]:
        """Disjoint pairs (i, j) with x_j = -x_i to the precision of the data, and the samples left without a partner.

        >>> pairs, alone = Dataset([[1.0], [-1.0], [3.0]], [0.0, 0.0, 0.0]).mirror_pairs
        >>> pairs.tolist(), alone.tolist()
        ([[0, 1]], [2])
        """
        return mirror_pairs(self.x, self.precision.tolerance)

    @cached_property
    def mirror_defect(self) -> float:
        """The largest |x_i + x_j| over mirror pairs, entry by entry, relative to the largest entry of the column."""
        pairs, _ = self.mirror_pairs
        if not len(pairs):
            return 0.0
        largest = np.abs(self.x).max(axis=0)
        gaps = np.abs(self.x[pairs[:, 0]] + self.x[pairs[:, 1]]) / np.where(largest > 0.0, largest, 1.0)
        return float(gaps.max(initial=0.0))

    def feature(self, column: int) -> str:
        """How to call an input: by its name, or by its position counted from 0."""
        return f"input {column}" if self.features is None else repr(self.features[column])

    def sample(self, row: int) -> str:
        """How to call a sample: by its line in the file, or by its position counted from 0."""
        return f"sample {row}" if self.file_lines is None else f"line {self.file_lines[row]}"

    def symmetrised(self) -> Dataset:
        """The data with every sample's mirror image (-x, -y) added: Condition 3 of Zhang et al. holds exactly.

        Of the other promises those survive that mirror images keep: Sigma, y = w.x and the sign of y w.x.

        >>> Dataset([[1.0, 2.0]], [3.0]).symmetrised().y.tolist()
        [3.0, -3.0]
        """
        survivors = self.promises & {"white_inputs", "linear_target", "separable"}
        if "linear_target" in survivors:
            survivors |= {"expressible_target"}
        return Dataset(
            np.concatenate([self.x, -self.x]),
            np.concatenate([self.y, -self.y]),
            f"{self.name} (symmetrised)",
            {"even_inputs", "odd_target"} | survivors,
            features=self.features,
            transformation=self.transformation,
            precision=self.precision,
        )

    def with_ones_column(self) -> Dataset:
        """The data with a constant input 1 appended: the bias trick (Zhang et al., Discussion).

        >>> Dataset([[2.0]], [1.0]).with_ones_column().x.tolist()
        [[2.0, 1.0]]
        """
        ones = np.ones((self.samples, 1))
        return Dataset(
            np.concatenate([self.x, ones], axis=1),
            self.y,
            f"{self.name} (with ones)",
            features=None if self.features is None else (*self.features, "one"),
            file_lines=self.file_lines,
            notes=self.notes,
            precision=self.precision,
        )

    def centred(self) -> Dataset:
        """The data with every input's mean subtracted, and that of the labels unless they are two classes.

        >>> data = Dataset([[1.0], [3.0]], [5.0, 9.0]).centred()
        >>> data.x.tolist(), data.transformation.shift.tolist()
        ([[-1.0], [1.0]], [2.0])
        """
        return self._transformed("centred", np.ones(self.inputs), 1.0)

    def standardised(self) -> Dataset:
        """The data with every input centred and of unit variance, and the labels too unless they are two classes.

        Constant inputs become 0. `transformation` has the shifts and scales, for new samples and for reading outputs.
        """
        return self._transformed("standardised", self.x.std(axis=0), float(self.y.std()))

    def _transformed(self, how: str, scale: Array, label_scale: float) -> Dataset:
        varies = np.ptp(self.x, axis=0) > 0.0
        classes = len(np.unique(self.y)) <= 2
        done = Transformation(
            how,
            np.where(varies, self.x.mean(axis=0), self.x[0]),
            np.where(varies, scale, 1.0),
            0.0 if classes else float(self.y.mean()),
            1.0 if classes else label_scale,
        )
        x = done.inputs(self.x)
        before, after = (np.abs(values[:, varies]).max(axis=0, initial=0.0) for values in (self.x, x * done.scale))
        return Dataset(
            x,
            done.labels(self.y),
            f"{self.name} ({how})",
            features=self.features,
            file_lines=self.file_lines,
            notes=self.notes,
            transformation=done,
            precision=self.precision.grown(float(np.max(before / after, initial=1.0))),
        )

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        target: str | int | None = None,
        drop: str | Sequence[str] = (),
        precision: float | None = None,
    ) -> Dataset:
        """Read a table (.csv, .tsv, .txt, .dat, also .gz; .npy; .parquet where pyarrow is) or arrays x and y (.npz).

        `target` is the label column, by name or by position (the last by default); `drop` names columns to leave out. In text
        the separator (comma, semicolon, tab, spaces) and decimal commas are found, lines that begin with # are comments, and
        the first row is a header if it holds names. Labels of two words, 0 and 1, or 1 and 2 become -1 and +1. `notes` say what was
        decided. Every other cell must be a finite number. `precision` states how exact the numbers are, relative to the largest of
        their column, where they have too few digits to show it (below six they are taken as they stand).
        """
        path = path_of(path, "path")
        table = tables.read(path, target, [drop] if isinstance(drop, str) else drop)
        try:
            return cls(
                table.x,
                table.y,
                path.name.partition(".")[0] or path.name,
                features=table.features,
                file_lines=table.file_lines,
                notes=table.notes,
                precision=precision,
            )
        except InputError as error:
            raise FileError(f"{path.name}: {error}") from error

    def __repr__(self) -> str:
        title = "Dataset" if self.name == "data" else f"Dataset {self.name}"
        notes = "".join(f"; {note}" for note in self.notes)
        counts = of_number(self.samples, "sample"), of_number(self.inputs, "input"), of_number(len(self.lines), "line")
        return f"{title}: {', '.join(counts)} through the origin{notes}"


def _made_anew(contents: dict[str, Any]) -> Dataset:
    names = ("x", "y", "name", "promises", "features", "file_lines", "notes", "transformation", "precision")
    return Dataset(**{name: contents[name] for name in names})


def _columns_of(x: object) -> Sequence[str] | None:
    """The names of a data frame's columns, where they are texts."""
    names = list(getattr(x, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def _names(features: Sequence[str] | None, inputs: int) -> tuple[str, ...] | None:
    if features is None:
        return None
    found = f"{len(features)} names" if isinstance(features, Sized) else repr(features)
    if not isinstance(features, Sized) or len(features) != inputs:
        raise InputError(f"features must name each of the {inputs} inputs, found {found}.")
    return tuple(map(str, features))


def _checked_precision(precision: Precision | float) -> Precision:
    if isinstance(precision, Precision):
        return precision
    if not is_number(precision) or not 0.0 <= precision < 1.0:
        raise InputError(f"precision must be a relative tolerance from 0 up to 1, found {precision!r}.")
    return stated(precision)


def find_lines(x: Array, same: float = SAME_LINE) -> Lines:
    """The distinct lines through the origin that hold the rows of x (n, d); unit vectors closer than `same` are on one.

    Unit vectors are sorted along one random axis, so that only neighbours need to be compared.
    """
    norms = np.linalg.norm(x, axis=1)
    if not norms.all():
        return _lines_with_zeros(x, norms > 0.0, same)
    units = x / norms[:, None]
    axis = random_axis(x.shape[1])
    along = units @ (axis / np.linalg.norm(axis))
    signs = np.where(along < 0, -1.0, 1.0)
    units = units * signs[:, None]
    along = np.abs(along)
    order = np.argsort(along, kind="stable")
    if (np.diff(along[order]) > same).all():  # as in most tables: each on a line of its own
        return Lines(frozen(units), np.arange(len(x)), frozen(norms * signs))
    index, representatives = _lines_along(units[order], along[order], same)
    index[order], representatives = index.copy(), order[representatives]
    # number the lines by first appearance, so that rotating the inputs leaves the numbering alone
    _, first = np.unique(index, return_index=True)
    rank = np.argsort(np.argsort(first))
    normals = units[representatives[np.argsort(first)]]
    return Lines(frozen(normals), rank[index], frozen(norms * signs))


def _lines_with_zeros(x: Array, seen: Mask, same: float) -> Lines:
    """A row of zeros lies on every line; it is put on the first one, with length 0."""
    lines = find_lines(x[seen], same)
    index, lengths = np.zeros(len(x), dtype=np.intp), np.zeros(len(x))
    index[seen], lengths[seen] = lines.index, lines.lengths
    return Lines(lines.normals, index, frozen(lengths))


def _lines_along(units: Array, along: Array, same: float) -> tuple[Indices, Indices]:
    """The line of each unit vector, and each line's first vector, for vectors sorted by `along`, their place on an axis."""
    # mostly, neighbours on the axis are on one line or far apart
    apart = np.append(True, np.diff(along) > same)
    other = np.append(True, np.abs(np.diff(units, axis=0)).max(axis=1) > same)
    index, representatives = np.cumsum(apart) - 1, np.flatnonzero(apart)
    if not (other & ~apart).any() and not (along - along[representatives[index]] > same).any():
        return index, representatives
    first: list[int] = []
    candidates: list[int] = []  # lines whose first vector is near on the axis
    for i in range(len(units)):
        candidates = [k for k in candidates if along[i] - along[first[k]] <= same]
        for k in candidates:
            if np.abs(units[i] - units[first[k]]).max() <= same:
                index[i] = k
                break
        else:
            index[i] = len(first)
            candidates.append(len(first))
            first.append(i)
    return index, np.array(first)
