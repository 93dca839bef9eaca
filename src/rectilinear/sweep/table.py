"""What a sweep found, as a table over its grid."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..errors import FileError, InputError, path_of
from ..trajectory import Trajectory, load
from .grid import Grid
from .packs import joined
from .plan import key_of
from .store import Store

if TYPE_CHECKING:
    import pandas
    import xarray

MOST = 10_000_000  # runs of a table
DONE, FAILED, MISSING = "done", "failed", "missing"


def open_sweep(folder: str | Path) -> xarray.Dataset:
    """The numbers of a sweep as an xarray Dataset: a dimension per axis, a variable per measure, holes as nan.

    `status` says of every run whether it is done, failed or missing; `ended` how a finished one ended (a name of `Status`). A
    measure that is an array has dimensions of its own, filled up with nan. The attribute `versions` counts what made the runs.
    """
    import xarray

    store = Store(path_of(folder, "folder"))
    manifest = store.manifest()
    grid = Grid({name: tuple(values) for name, values in manifest["axes"].items()})
    if grid.size > MOST:
        raise InputError(
            f"a table holds up to {MOST:,} runs, found a grid of {grid.size:,}; it is one to seek in, not to list."
        )
    keys = [key_of(manifest["base"], grid.point(number)) for number in range(grid.size)]
    runs = [_seen(store, key) for key in keys]
    names = list(grid.axes)
    variables: dict[str, Any] = {
        "status": (names, np.array([run.status for run in runs]).reshape(grid.shape)),
        "ended": (names, np.array([run.ended for run in runs]).reshape(grid.shape)),
    }
    for measure in manifest["base"]["measures"]:
        values = joined([run.numbers.get(measure) for run in runs])
        inner = [f"{measure}_{k}" for k in range(values.ndim - 1)]
        variables[measure] = ([*names, *inner], values.reshape(*grid.shape, *values.shape[1:]))
    made_by = Counter(run.version for run in runs if run.status == DONE)
    versions = ", ".join(f"rectilinear {version}: {count} runs" for version, count in made_by.items())
    return xarray.Dataset(variables, coords=_coordinates(grid), attrs={"versions": versions})


class _Seen(NamedTuple):
    """The little that a table needs of a run; settings and audit stay in its file."""

    status: str
    ended: str
    version: str
    numbers: dict[str, Array]


def _seen(store: Store, key: str) -> _Seen:
    record = store.read(key)
    if record is None:
        return _Seen(FAILED if store.failure(key) else MISSING, "", "", {})
    return _Seen(DONE, record.document["ended"], sys.intern(record.document["versions"]["rectilinear"]), record.numbers)


def _coordinates(grid: Grid) -> dict[str, Any]:
    return {name: np.array(values) for name, values in grid.axes.items()}


def to_pandas(table: xarray.Dataset | str | Path) -> pandas.DataFrame:
    """One row per run: its place on the axes, its status and every measure that is a number."""
    if isinstance(table, (str, Path)):
        table = open_sweep(table)
    axes = table["status"].dims
    numbers = [name for name in table.data_vars if table[name].dims == axes]
    return table[numbers].to_dataframe().reset_index()


def failures(folder: str | Path) -> list[dict[str, Any]]:
    """What the failed runs of a sweep left: reason, traceback, attempts and settings of each."""
    store = Store(path_of(folder, "folder"))
    manifest = store.manifest()
    grid = Grid({name: tuple(values) for name, values in manifest["axes"].items()})
    found = (store.failure(key_of(manifest["base"], grid.point(number))) for number in range(grid.size))
    return [failure for failure in found if failure is not None]


def load_run(folder: str | Path, **point: Any) -> Trajectory:
    """The whole run at these values of the axes, if the sweep kept runs (`keep_runs=True`)."""
    store = Store(path_of(folder, "folder"))
    manifest = store.manifest()
    if list(point) != list(manifest["axes"]):
        raise InputError(
            f"load_run needs a value for each of {', '.join(manifest['axes'])}, found {', '.join(point) or 'none'}."
        )
    path = store.folder / "runs" / f"{key_of(manifest['base'], point)}.run.nc"
    if not path.exists():
        raise FileError(f"{store.folder}: no run is kept at {point}; sweep with keep_runs=True, at values of the grid.")
    return load(path)
