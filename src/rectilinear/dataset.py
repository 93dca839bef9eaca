"""Data sets: inputs, labels, their moments, and the lines through the origin that the inputs lie on."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array, Indices
from .errors import FileError, InputError
from .tables import read_csv, read_npz

MAX_INPUTS = 20_000  # the covariance of more inputs would not fit in memory (3 GB)
LARGEST, SMALLEST = 1e100, 1e-100  # sizes beyond which lengths and moments would over- or underflow
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

    def __reduce__(self) -> tuple[type[Dataset], tuple[Array, Array, str, frozenset[str]]]:
        return Dataset, (self.x, self.y, self.name, self.promises)  # a copy is made anew, so that it is frozen too

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
        return find_lines(self.x)

    @cached_property
    def mirror_pairs(self) -> tuple[Indices, Indices]:
        """Disjoint pairs (i, j) with x_j = -x_i exactly, and the samples left without a partner.

        >>> pairs, alone = Dataset([[1.0], [-1.0], [3.0]], [0.0, 0.0, 0.0]).mirror_pairs
        >>> pairs.tolist(), alone.tolist()
        ([[0, 1]], [2])
        """
        return _mirror_pairs(self.x + 0.0)  # + 0.0 turns -0.0 into 0.0

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
        """Read a comma-separated file; `target` is the label column, by name or by position (the last by default).

        The first row is a header if it holds names. Every other cell must be a finite number.
        """
        return cls._from_table(Path(path), *read_csv(Path(path), target))

    @classmethod
    def from_npz(cls, path: str | Path) -> Dataset:
        """Read arrays `x` and `y` from a NumPy .npz archive; pickled objects are refused."""
        return cls._from_table(Path(path), *read_npz(Path(path)))

    @classmethod
    def _from_table(cls, path: Path, x: Array, y: Array) -> Dataset:
        try:
            return cls(x, y, path.stem)
        except InputError as error:
            raise FileError(f"{path.name}: {error}") from error

    def __repr__(self) -> str:
        title = "Dataset" if self.name == "data" else f"Dataset {self.name}"
        return f"{title}: {self.samples} samples, {self.inputs} inputs, {len(self.lines)} lines through the origin"


def _frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array


def _validated(x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    try:
        if np.iscomplexobj(x) or np.iscomplexobj(y):
            raise TypeError("complex numbers have no sign for a ReLU to see")
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
    _check_finite("x", inputs)
    _check_finite("y", labels)
    _check_lengths(inputs)
    return _frozen(inputs), _frozen(labels)


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
    zero_rows = np.flatnonzero(largest == 0)
    if zero_rows.size:
        raise InputError(
            f"every sample must be non-zero, found {zero_rows.size} zero row(s), the first at x[{zero_rows[0]}]: "
            "a bias-free network outputs 0 there whatever its weights; drop them, or add a constant input."
        )
    if largest.min() < SMALLEST:
        raise InputError(
            f"every sample must have an entry of size {SMALLEST:g} at least, whose square still is a number, "
            f"found {largest.min():g} at x[{largest.argmin()}]; rescale x."
        )


def find_lines(x: Array) -> Lines:
    """The distinct lines through the origin that hold the rows of x (n, d).

    Unit vectors are sorted along one random axis, so that only neighbours need to be compared.
    """
    norms = np.linalg.norm(x, axis=1)
    units = x / norms[:, None]
    axis = np.random.default_rng(0).standard_normal((x.shape[1],))
    axis /= np.linalg.norm(axis)
    along = units @ axis
    signs = np.where(along < 0, -1.0, 1.0)
    units = units * signs[:, None]
    along = np.abs(along)
    order = np.argsort(along, kind="stable")
    index, representatives = _lines_along(units[order], along[order])
    index[order], representatives = index.copy(), order[representatives]
    # number the lines by first appearance, so that rotating the inputs leaves the numbering alone
    _, first = np.unique(index, return_index=True)
    rank = np.argsort(np.argsort(first))
    normals = units[representatives[np.argsort(first)]]
    return Lines(_frozen(normals), rank[index], _frozen(norms * signs))


def _lines_along(units: Array, along: Array) -> tuple[Indices, Indices]:
    """The line of each unit vector, and each line's first vector, for vectors sorted by `along`, their place on an axis."""
    # mostly, neighbours on the axis are on one line or far apart
    apart = np.append(True, np.diff(along) > SAME_LINE)
    other = np.append(True, np.abs(np.diff(units, axis=0)).max(axis=1) > SAME_LINE)
    if not (other & ~apart).any():
        return np.cumsum(apart) - 1, np.flatnonzero(apart)
    index = np.empty(len(units), dtype=np.intp)
    first: list[int] = []
    candidates: list[int] = []  # lines whose first vector is near on the axis
    for i in range(len(units)):
        candidates = [k for k in candidates if along[i] - along[first[k]] <= SAME_LINE]
        for k in candidates:
            if np.abs(units[i] - units[first[k]]).max() <= SAME_LINE:
                index[i] = k
                break
        else:
            index[i] = len(first)
            candidates.append(len(first))
            first.append(i)
    return index, np.array(first)


def _mirror_pairs(x: Array) -> tuple[Indices, Indices]:
    """Pairs of rows that are each other's mirror images, and the rows left; rows are looked up by a hash of their bits."""
    multipliers = np.random.default_rng(0).integers(2**63, size=x.shape[1], dtype=np.uint64) | np.uint64(1)
    bits = [rows.view(np.uint64) for rows in (x, -x + 0.0)]
    own, mirrored = (((b ^ (b >> np.uint64(32))) * multipliers).sum(axis=1) for b in bits)
    order = np.argsort(own, kind="stable")
    if np.any(own[order][1:] == own[order][:-1]):
        return _mirror_pairs_one_by_one(x)
    partner = order[np.minimum(np.searchsorted(own[order], mirrored), len(x) - 1)]
    paired = (x[partner] == -x).all(axis=1)
    second = np.flatnonzero(paired & (partner < np.arange(len(x))))
    return np.stack([partner[second], second], axis=1), np.flatnonzero(~paired)


def _mirror_pairs_one_by_one(x: Array) -> tuple[Indices, Indices]:
    """The same where rows are repeated."""
    waiting: dict[bytes, list[int]] = {}
    pairs: list[tuple[int, int]] = []
    for i, row in enumerate(x):
        partners = waiting.get((-row + 0.0).tobytes())
        if partners:
            pairs.append((partners.pop(), i))
        else:
            waiting.setdefault(row.tobytes(), []).append(i)
    alone = sorted(i for left in waiting.values() for i in left)
    return np.array(pairs, dtype=np.intp).reshape(-1, 2), np.array(alone, dtype=np.intp)
