"""The plan of a sweep: how a combination of settings becomes a problem, a run and numbers, and the key it is stored under."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError, RectilinearError
from ..problem import Problem
from ..trajectory import Trajectory
from .functions import identity, require_portable
from .grid import Grid, Point
from .measuring import Measure, Named, identity_of, named_measures, numbers_of
from .recipe import RUN, problem_of, run_of

Make = Callable[..., Problem | Trajectory]


@dataclass(frozen=True)
class Plan:
    """`make` with the settings `fixed` and those of a point gives a problem (or a run); `run` says how it is run."""

    make: Make
    grid: Grid
    measures: Mapping[str, Measure]
    fixed: Mapping[str, Any]
    run: Mapping[str, Any]
    keep_runs: bool = False

    @classmethod
    def of(
        cls,
        make: Make | Mapping[str, Any],
        grid: Mapping[str, Any],
        measure: Any,
        run: Mapping[str, Any] | None = None,
        keep_runs: bool = False,
        folder: Path | None = None,
    ) -> Plan:
        """Check what can be checked without a problem. Files are relative to `folder`."""
        if not callable(make) and not isinstance(make, Mapping):
            raise InputError(
                "make must be a function that gives a Problem, or a mapping of settings with the data among them, "
                f"found {type(make).__name__}."
            )
        fixed = {} if callable(make) else {str(name): value for name, value in make.items()}
        plan = cls(
            make if callable(make) else problem_of,
            Grid.of(grid),
            named_measures(measure, folder or Path()),
            fixed,
            {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in (run or {}).items()},
            keep_runs,
        )
        plan._check_names()
        return plan

    @property
    def base(self) -> dict[str, Any]:
        """Everything but the point that decides what a run gives."""
        return {
            "make": "settings" if self.make is problem_of else identity(self.make),
            "fixed": dict(self.fixed),
            "run": dict(self.run),
            "measures": {name: identity_of(measure) for name, measure in self.measures.items()},
            "keep_runs": self.keep_runs,
            "files": self._digests(),
        }

    def _digests(self) -> dict[str, str]:
        """The contents of the files of samples, so that changed data make new runs."""
        named = [self.fixed.get("data"), *self.grid.axes.get("data", ())] if self.make is problem_of else []
        paths = [Path(name) for name in named if isinstance(name, str) and Path(name).is_file()]
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in paths}

    def problem_at(self, point: Point) -> Problem | Trajectory:
        own = {name: value for name, value in point.items() if name not in RUN}
        return self.make(**self.fixed, **own)

    def run_at(self, point: Point, rehearsal: bool = False) -> Trajectory:
        """The run of a point; a rehearsal stops after a step."""
        made = self.problem_at(point)
        if isinstance(made, Trajectory):
            return made
        if not isinstance(made, Problem):
            raise InputError(f"make must give a Problem or a Trajectory, found {type(made).__name__}.")
        how = {**self.run, **{name: value for name, value in point.items() if name in RUN}}
        return run_of(made, how, rehearsal)

    def numbers(self, run: Trajectory) -> dict[str, Array]:
        return numbers_of(run, self.measures)

    def rehearse(self) -> None:
        """Refuse now what would fail in every run: problems that cannot be made, runs that cannot begin, measures that fail."""
        first, begin = self.grid.point(0), partial(self.run_at, rehearsal=True)
        if self.make is problem_of:
            self._try_values([name for name in self.grid.axes if name not in RUN], self.problem_at)
        began = self._refusing("the first run", begin, first)
        self._try_values([name for name in self.grid.axes if name in RUN], begin)
        try:
            self.numbers(began)
        except Exception:  # perhaps only because the run is that short
            self._refusing("the measures of the first run", lambda point: self.numbers(self.run_at(point)), first)

    def _try_values(self, axes: list[str], attempt: Callable[[Point], Any]) -> None:
        """Attempt every value of these axes, others at their first."""
        for name in axes:
            for value in self.grid.axes[name]:
                self._refusing(f"{name} = {value!r}", attempt, {**self.grid.point(0), name: value})

    def require_portable(self) -> None:
        """Refuse functions that other processes could not find."""
        require_portable("make", self.make)
        for name, measure in self.measures.items():
            if not isinstance(measure, Named):
                require_portable(f"measure {name}", measure)

    def _refusing(self, what: str, attempt: Callable[[Point], Any], point: Point) -> Any:
        try:
            return attempt(point)
        except RectilinearError as error:
            raise InputError(f"the sweep cannot begin, {what} fails: {error}") from error
        except Exception as error:  # of a function of the user's, or a value of the wrong type
            raise InputError(f"the sweep cannot begin, {what} fails: {type(error).__name__}: {error}.") from error

    def _check_names(self) -> None:
        if unknown := [name for name in self.run if name not in RUN]:
            raise InputError(f"a setting of the run must be one of {', '.join(RUN)}, found {unknown[0]!r}.")
        both = [name for name in self.grid.axes if name in self.fixed or name in self.run]
        if both:
            raise InputError(f"{both[0]} must be either fixed or an axis of the grid, found both; drop one.")
        if self.make is problem_of:
            if "data" not in self.fixed and "data" not in self.grid.axes:
                raise InputError(
                    f"a sweep needs data, a named data set or a file, found only {', '.join(self.fixed) or 'none'}."
                )
            return
        parameters = inspect.signature(getattr(self.make, "function", self.make)).parameters.values()
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            return
        own = [parameter.name for parameter in parameters]
        if unknown := [name for name in self.grid.axes if name not in own and name not in RUN]:
            raise InputError(
                f"an axis must be a parameter of make ({', '.join(own)}) or a setting of the run ({', '.join(RUN)}), "
                f"found {unknown[0]!r}."
            )


def key_of(base: Mapping[str, Any], point: Point) -> str:
    """The name under which a run is stored: equal settings, equal name, on every machine."""
    return hashlib.sha256(json.dumps([base, point], sort_keys=True).encode()).hexdigest()[:32]
