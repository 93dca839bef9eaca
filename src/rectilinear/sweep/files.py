"""A sweep as a TOML file: `measure`, and tables `problem`, `run` and `grid`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from ..errors import FileError, InputError
from .functions import FileFunction
from .plan import Plan

ENTRIES = ("measure", "make", "keep_runs", "problem", "run", "grid")


def read_plan(path: Path) -> Plan:
    """The plan that a file describes; files that it names lie beside it.

    measure = ["final_loss", "plateau_duration"]     # or { name = "time_to_loss(0.01)" }, or "mine.py:function"
    [problem]                                        # fixed settings; or make = "mine.py:function" above
    data = "six_points"
    width = 20
    [run]
    until = 3000
    [grid]
    delta = { from = 0.01, to = 0.2, points = 20, spacing = "log" }
    seed = { from = 0, to = 15 }
    """
    if not path.exists():
        raise FileError(f"{path}: no such file; check the path.")
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileError(f"{path}: a TOML file is required, this cannot be read as one ({error}).") from error
    if unknown := [name for name in given if name not in ENTRIES]:
        raise InputError(f"{path}: entries must be among {', '.join(ENTRIES)}, found {unknown[0]!r}.")
    if "grid" not in given:
        raise InputError(f"{path}: a table [grid] with the axes is required, found {', '.join(given) or 'nothing'}.")
    tables = {name: _table(path, given, name) for name in ("problem", "run", "grid")}
    make: Any = tables["problem"]
    if "make" in given:
        if "problem" in given:
            raise InputError(f"{path}: either make or [problem] is required, found both; drop one.")
        make = FileFunction.of(str(given["make"]), path.parent)
    else:
        _find_data(path.parent, make, tables["grid"])
    measure = given.get("measure", "final_loss")
    return Plan.of(make, tables["grid"], measure, tables["run"], given.get("keep_runs") is True, path.parent)


def _table(path: Path, given: dict[str, Any], name: str) -> dict[str, Any]:
    table = given.get(name, {})
    if not isinstance(table, dict):
        raise InputError(f"{path}: {name} must be a table, written [{name}], found {table!r}.")
    return table


def _find_data(folder: Path, problem: dict[str, Any], grid: dict[str, Any]) -> None:
    """Files of samples beside the TOML file, by their full names."""

    def found(name: Any) -> Any:
        return str((folder / name).absolute()) if isinstance(name, str) and (folder / name).is_file() else name

    if "data" in problem:
        problem["data"] = found(problem["data"])
    if isinstance(grid.get("data"), list):
        grid["data"] = [found(name) for name in grid["data"]]
