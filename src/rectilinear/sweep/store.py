"""The folder of a sweep, which is its database: a small netCDF file per finished run, and a reason per failed one.

    sweep.json          axes, settings and measures of the sweep
    runs/KEY.nc         the numbers of a finished run, with settings, versions, tolerances and audit (netCDF classic)
    runs/KEY.run.nc     the whole run, where asked for
    failed/KEY.json     why a run failed, with its traceback
    packs/ID.nc         finished runs that `consolidate` has packed

Files appear whole or not at all, under names that follow from their settings: processes and machines may share the folder, and
nothing is locked.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import FileError
from ..jsonable import json_text
from ..trajectory import Trajectory
from ..whole_files import remove_stale, whole_file

FORMAT = 1  # raised when the folder changes in a way that old readers cannot follow


@dataclass(frozen=True, eq=False)
class Record:
    """A finished run: its numbers, and what made them."""

    numbers: dict[str, Array]
    document: dict[str, Any]


class Store:
    """What a folder holds of a sweep."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()

    def create(self) -> None:
        places = [self.folder / name for name in ("runs", "failed", "packs")]
        try:
            for place in places:
                place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"{self.folder}: the folder could not be made ({error}); choose another place.") from error
        remove_stale(self.folder, *places)

    def begin(self, axes: Mapping[str, Any], base: Mapping[str, Any]) -> None:
        """Write what the sweep is; one of other axes or settings must have a folder of its own, more values may be added."""
        if (self.folder / "sweep.json").exists():
            before = self.manifest()
            kept = {"axes": list(before["axes"]), **{name: before["base"][name] for name in ("fixed", "run")}}
            asked = {"axes": list(axes), **{name: base[name] for name in ("fixed", "run")}}
            if different := [name for name in kept if kept[name] != json.loads(json.dumps(asked[name]))]:
                name = different[0]
                raise FileError(
                    f"{self.folder}: a sweep with the same {name} is required, found {kept[name]} instead of {asked[name]}; "
                    "choose another folder."
                )
        self.create()
        manifest = {"format": FORMAT, "axes": dict(axes), "base": dict(base)}
        self._write(self.folder / "sweep.json", json_text(manifest, indent=1).encode())

    def manifest(self) -> dict[str, Any]:
        try:
            manifest: dict[str, Any] = json.loads((self.folder / "sweep.json").read_text(encoding="utf-8"))
            if manifest["format"] <= FORMAT and {"axes", "base"} <= set(manifest):
                return manifest
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise FileError(f"{self.folder}: the folder of a sweep is required, found none there ({error}).") from error
        raise FileError(f"{self.folder}: format {FORMAT} or older is required; update rectilinear to read it.")

    def keep(self, key: str, numbers: Mapping[str, Array], document: Mapping[str, Any]) -> None:
        self._write(self.folder / "runs" / f"{key}.nc", classic_netcdf(numbers, document))
        (self.folder / "failed" / f"{key}.json").unlink(missing_ok=True)

    def keep_run(self, key: str, run: Trajectory) -> None:
        """Keep the whole run; before its numbers, which say that it is done."""
        path = self.folder / "runs" / f"{key}.run.nc"
        try:
            with whole_file(path) as place:
                run.save(place)
        except OSError as error:
            raise self._unwritable(path, error) from error

    def fail(self, key: str, reason: str, trace: str, settings: Mapping[str, Any]) -> None:
        path = self.folder / "failed" / f"{key}.json"
        before = self.failure(key)
        attempts = 1 + (before["attempts"] if before else 0)
        contents = {"reason": reason, "traceback": trace, "attempts": attempts, "settings": dict(settings)}
        self._write(path, json_text(contents, indent=1).encode())

    def failure(self, key: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = json.loads((self.folder / "failed" / f"{key}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found

    def read(self, key: str) -> Record | None:
        """The record of a finished run; None if there is none, or what is there is damaged."""
        found = read_classic(self.folder / "runs" / f"{key}.nc")
        return self._packed.get(key) if found is None else found

    @cached_property
    def _packed(self) -> dict[str, Record]:
        from .packs import read_pack

        records: dict[str, Record] = {}
        for path in sorted((self.folder / "packs").glob("*.nc")):
            records.update(read_pack(path))
        return records

    def small_files(self) -> Iterator[tuple[str, Record]]:
        """The finished runs that are not packed yet."""
        for path in sorted((self.folder / "runs").glob("*.nc")):
            if not path.name.endswith(".run.nc") and not path.name.startswith(".") and (found := read_classic(path)):
                yield path.stem, found

    def _write(self, path: Path, contents: bytes) -> None:
        try:
            with whole_file(path) as place:
                place.write_bytes(contents)
        except OSError as error:
            raise self._unwritable(path, error) from error

    def _unwritable(self, path: Path, error: OSError) -> FileError:
        return FileError(f"{path}: it could not be written ({error}); what is finished is kept: make room and run again.")


def classic_netcdf(numbers: Mapping[str, Array], document: Mapping[str, Any]) -> bytes:
    """A netCDF file in the classic format, a kilobyte or two: HDF5 would take ten times the time and the room."""
    from scipy.io import netcdf_file

    buffer = io.BytesIO()
    file: Any = netcdf_file(buffer, "w")
    for name, values in numbers.items():
        dimensions = tuple(f"{name}_{k}" for k in range(values.ndim))
        for dimension, length in zip(dimensions, values.shape, strict=True):
            file.createDimension(dimension, length)
        variable = file.createVariable(name, "d", dimensions)
        variable[...] = values
    file.checksum = _checksum(numbers)
    file.document = json_text(document).encode()
    file.flush()
    return buffer.getvalue()


def read_classic(path: Path) -> Record | None:
    from scipy.io import netcdf_file

    try:
        contents = path.read_bytes()
        file: Any = netcdf_file(io.BytesIO(contents), "r", mmap=False)
        with file:
            numbers = {name: np.array(variable[...], dtype=np.float64) for name, variable in file.variables.items()}
            document, checksum = json.loads(file.document), file.checksum
    except (OSError, ValueError, LookupError, TypeError, AttributeError, EOFError):
        return None  # absent, or cut off by a disk that failed
    return Record(numbers, document) if checksum == _checksum(numbers).encode() else None


def _checksum(numbers: Mapping[str, Array]) -> str:
    digest = 0
    for name in sorted(numbers):
        digest = zlib.crc32(np.ascontiguousarray(numbers[name]).tobytes(), zlib.crc32(name.encode(), digest))
    return f"{digest:08x}"
