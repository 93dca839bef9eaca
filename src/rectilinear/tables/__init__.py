"""Inputs and labels from files of the kinds people have, with a sentence that names the cell where a file cannot be used.

`read` takes text tables (.csv, .tsv, .txt, .dat, each also .gz), NumPy files (.npy, .npz) and .parquet where pyarrow is
installed. What it decided on the way (separator, decimal comma, classes as -1 and +1) is in the table's `notes`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import FileError
from .arrays import read_npy, read_npz
from .parquet import read_parquet
from .table import Table
from .text import read_text

__all__ = ["KINDS", "Table", "kind_of", "read"]

Reader = Callable[[Path, str | int | None, Sequence[str]], Table]

READERS: dict[str, Reader] = {
    **dict.fromkeys((".csv", ".tsv", ".txt", ".dat"), read_text),
    **dict.fromkeys((".csv.gz", ".tsv.gz", ".txt.gz", ".dat.gz"), read_text),
    ".npy": read_npy,
    ".npz": read_npz,
    ".parquet": read_parquet,
}
KINDS = tuple(READERS)
PACKED = (".zip", ".bz2", ".xz", ".7z", ".tar", ".tgz")


def kind_of(path: Path) -> str | None:
    """The ending of a file that can be read, `.csv.gz` as a whole; None for any other.

    >>> kind_of(Path("flats.2024.CSV.gz")), kind_of(Path("flats.xlsx"))
    ('.csv.gz', None)
    """
    return next((kind for kind in reversed(KINDS) if path.name.lower().endswith(kind)), None)


def read(path: Path, target: str | int | None = None, drop: Sequence[str] = ()) -> Table:
    """The table in a file; see `Dataset.from_file`."""
    if path.is_dir():
        raise FileError(f"{path}: a file is required, found a folder; name a file in it.")
    kind = kind_of(path)
    if path.suffix.lower() in PACKED and kind is None:
        raise FileError(f"{path.name}: a table by itself is required, found an archive; unpack it first.")
    if kind is None:
        raise FileError(f"{path.name}: a file must end in one of {', '.join(KINDS)}; convert it, e.g. to .csv.")
    if not path.exists():
        raise FileError(f"{path}: no such file; check the path.")
    return READERS[kind](path, target, drop)
