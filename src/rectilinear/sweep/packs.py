"""Finished runs packed into one file, for file systems that dislike many small ones."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import FileError, path_of
from ..whole_files import whole_file
from .store import Record, Store


def consolidate(folder: str | Path) -> Path | None:
    """Pack the finished runs of a sweep into one netCDF file `packs/ID.nc` and remove their small files; None if there are none.

    Runs that end meanwhile stay as they are until the next time, and every call makes a file of its own, so that nothing is lost
    if it is interrupted or runs twice at once. Whole runs (`KEY.run.nc`) stay files.
    """
    store = Store(path_of(folder, "folder"))
    store.manifest()
    records = dict(store.small_files())
    if not records:
        return None
    path = store.folder / "packs" / f"{uuid.uuid4().hex}.nc"
    try:
        with whole_file(path) as place:
            _pack(records).to_netcdf(place, engine="h5netcdf")
    except OSError as error:
        raise FileError(f"{path}: the runs could not be packed ({error}); make room and try again.") from error
    for key in records:
        (store.folder / "runs" / f"{key}.nc").unlink(missing_ok=True)
    return path


def _pack(records: Mapping[str, Record]) -> Any:
    import xarray

    kept = list(records.values())
    names = dict.fromkeys(name for record in kept for name in record.numbers)
    variables: dict[str, Any] = {}
    for name in names:
        values = joined([record.numbers.get(name) for record in kept])
        variables[name] = (("run", *(f"{name}_{k}" for k in range(values.ndim - 1))), values)
    variables["key"] = ("run", np.array(list(records), dtype=object))
    variables["document"] = ("run", np.array([json.dumps(record.document) for record in kept], dtype=object))
    return xarray.Dataset(variables)


def read_pack(path: Path) -> dict[str, Record]:
    import xarray

    try:
        with xarray.open_dataset(path, engine="h5netcdf") as file:
            contents = file.load()
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: a file of packed runs is required, this is not one ({error}); remove it.") from error
    columns = {str(name): contents[name].values for name in contents.data_vars if name not in ("key", "document")}
    documents = [json.loads(text) for text in contents["document"].values]
    return {
        str(key): Record(
            {name: values[k] for name, values in columns.items() if name in documents[k]["measures"]}, documents[k]
        )
        for k, key in enumerate(contents["key"].values)
    }


def joined(values: list[Array | None]) -> Array:
    """Arrays of different sizes as one, filled up with nan."""
    shapes = [value.shape for value in values if value is not None]
    dimensions = max((len(shape) for shape in shapes), default=0)
    largest = tuple(max((shape[k] for shape in shapes if len(shape) > k), default=1) for k in range(dimensions))
    result = np.full((len(values), *largest), np.nan)
    for k, value in enumerate(values):
        if value is not None:
            fitted = value.reshape(value.shape + (1,) * (dimensions - value.ndim))
            place: tuple[Any, ...] = (k, *map(slice, fitted.shape))
            result[place] = fitted
    return result
