"""sweep: run what is missing, keep each run as soon as it is done, go on whatever fails."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ..crew import Engine, cores, share_out
from ..errors import FileError, FlowError, path_of
from ..kernels import compile_kernels
from .grid import Shard
from .plan import Make, Plan, key_of
from .store import Store
from .table import open_sweep

if TYPE_CHECKING:
    import xarray

PACKAGES = ("rectilinear", "numpy", "scipy", "numba")
SECOND_CHANCE = 2  # times a run is tried whose process dies
HOPELESS = 4  # processes that die before any run is done, until the sweep gives up


class Fate(Enum):
    """What became of a run."""

    DONE = "done"
    FAILED = "failed"
    DIED = "the process died"
    UNWRITABLE = "its file could not be written"


@dataclass(frozen=True)
class Outcome:
    """The few bytes that a process sends back: the run itself is in its file."""

    fate: Fate
    reason: str = ""


@dataclass
class Tally:
    """How far a sweep is; prints with rate, remaining time and failures."""

    of: int
    found: int = 0
    done: int = 0
    failed: int = 0
    began: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> int:
        return self.of - self.found - self.done - self.failed

    def __str__(self) -> str:
        ended = self.done + self.failed
        rate = ended / max(time.monotonic() - self.began, 1e-9)
        parts = [f"{self.found + ended} of {self.of} runs"]
        if ended:
            parts.append(f"{rate:.3g} per second")
        if ended and self.left:
            parts.append(f"{_duration(self.left / rate)} left")
        return ", ".join([*parts, f"{self.failed} failed"])


def sweep(
    make: Make | Mapping[str, Any],
    grid: Mapping[str, Any],
    measure: Any = "final_loss",
    *,
    folder: str | Path | None = None,
    jobs: int | None = None,
    engine: Engine | None = None,
    run: Mapping[str, Any] | None = None,
    keep_runs: bool = False,
    shard: str | None = None,
    progress: Callable[[Tally], None] | None = None,
) -> xarray.Dataset:
    """Run a problem at every point of a grid and measure each run; the result is an xarray Dataset over the grid.

    `make(**point)` gives the Problem of a point (or a Trajectory, if it runs it itself); or `make` is a mapping of fixed settings,
    `data` (a named data set or a file) at least, and axes are options of the data set, `data_seed`, `width`, `depth`, `alpha`,
    `scale`, `start`, `seed`, `loss`, `l2`. `run` says how: `method` (simulate, descend, predict), `until` and `points`, `times`,
    `log10_times`, `rtol`, `learning_rate`, ...; each of these can be an axis too. `measure` is a name such as "final_loss" or
    "time_to_loss(0.01)", a function of a Trajectory, a list of them, or a mapping from names to them.

    Every run is a file in `folder` as soon as it is done: call it again, and only what is missing or failed runs. Runs are shared
    out among `jobs` processes (as many as there are cores; 0: in this one) or the workers of a Dask cluster (`engine`, a client or
    an address), with the same numbers. `shard="3/64"` runs that part only.

    >>> table = sweep(
    ...     {"data": "six_points", "width": 4, "scale": 0.1},
    ...     grid={"delta": [0.1, 0.2], "seed": range(3)},
    ...     measure=["final_loss", "time_to_loss(0.45)"],
    ...     run={"until": 20.0},
    ...     jobs=0,
    ... )
    >>> dict(table.sizes), int((table.status == "done").sum())
    ({'delta': 2, 'seed': 3}, 6)
    """
    plan, part = Plan.of(make, grid, measure, run, keep_runs), Shard.of(shard) if shard else Shard()
    if folder is None:
        with TemporaryDirectory() as temporary:
            return _swept(plan, Path(temporary), jobs, engine, part, progress)
    return _swept(plan, path_of(folder, "folder"), jobs, engine, part, progress)


def _swept(plan: Plan, folder: Path, *how: Any) -> xarray.Dataset:
    sweep_plan(plan, folder, *how)
    return open_sweep(folder)


def sweep_plan(
    plan: Plan,
    folder: Path,
    jobs: int | None = None,
    engine: Engine | None = None,
    shard: Shard | None = None,
    progress: Callable[[Tally], None] | None = None,
) -> Tally:
    """Run what is missing of a shard of the plan, and tell how it went."""
    store, base = Store(folder), plan.base
    wanted = (shard or Shard()).share(range(plan.grid.size))
    missing = [number for number in wanted if store.read(key_of(base, plan.grid.point(number))) is None]
    tally = Tally(len(wanted), found=len(wanted) - len(missing))
    jobs = cores() if jobs is None else jobs
    if missing:
        if jobs or engine is not None:
            plan.require_portable()
        plan.rehearse()
    store.begin(plan.grid.axes, base)
    tell = progress or _silent
    tell(tally)
    for _, outcome in perform(plan, store, missing, jobs, engine):
        tally.done += outcome.fate is Fate.DONE
        tally.failed += outcome.fate is not Fate.DONE
        tell(tally)
    return tally


def perform(
    plan: Plan, store: Store, numbers: Sequence[int], jobs: int, engine: Engine | None
) -> Iterator[tuple[int, Outcome]]:
    """Run these points and keep them; a run whose process died is tried once more, when the others are done."""
    base, any_done, deaths = plan.base, False, 0
    for chance in range(1, SECOND_CHANCE + 1):
        again = []
        work = partial(_run_and_keep, plan, base, store)
        with closing(share_out(work, numbers, _died, jobs, engine, compile_kernels)) as steps:  # type: ignore[type-var]
            for number, outcome in steps:
                if outcome is None:
                    continue
                if outcome.fate is Fate.UNWRITABLE:
                    raise FileError(outcome.reason)
                if outcome.fate is not Fate.DIED:
                    any_done = True
                    yield number, outcome
                    continue
                deaths += 1
                if deaths >= HOPELESS and not any_done:
                    raise FlowError(
                        f"processes must live long enough to do a run, found that the first {deaths} died; a script that sweeps "
                        'needs `if __name__ == "__main__":` around its work, or try jobs=0.'
                    )
                if chance < SECOND_CHANCE:
                    again.append(number)
                    continue
                reason = f"the process that ran it died {SECOND_CHANCE} times, perhaps for lack of memory"
                point = plan.grid.point(number)
                store.fail(key_of(base, point), reason, "", {"base": base, "point": point})
                yield number, Outcome(Fate.FAILED, reason)
        numbers = again


def _run_and_keep(plan: Plan, base: Mapping[str, Any], store: Store, number: int) -> Outcome:
    point = plan.grid.point(number)
    key = key_of(base, point)
    try:
        run = plan.run_at(point)
        numbers = plan.numbers(run)
        if plan.keep_runs:
            store.keep_run(key, run)
        document = {
            "settings": {"base": base, "point": point},
            "measures": list(numbers),
            "ended": run.status.name,
            "reason": run.reason,
            "audit": None if run.audit is None else vars(run.audit),
            "statistics": dict(run.statistics),
            "provenance": dict(run.provenance),
            "versions": versions(),
        }
        store.keep(key, numbers, document)
    except FileError as error:
        return Outcome(Fate.UNWRITABLE, str(error))
    except Exception as error:  # one failed run must not take the others with it
        return _failed(store, key, error, {"base": base, "point": point})
    return Outcome(Fate.DONE)


def _failed(store: Store, key: str, error: Exception, settings: Mapping[str, Any]) -> Outcome:
    reason = f"{type(error).__name__}: {error}"
    try:
        store.fail(key, reason, traceback.format_exc(), settings)
    except FileError as unwritable:
        return Outcome(Fate.UNWRITABLE, str(unwritable))
    return Outcome(Fate.FAILED, reason)


def _died(number: int) -> Outcome:
    return Outcome(Fate.DIED)


def _silent(tally: Tally) -> None:
    """Tell nobody."""


@cache
def versions() -> dict[str, str]:
    return {package: version(package) for package in PACKAGES}


def _duration(seconds: float) -> str:
    minutes, hours = seconds / 60.0, seconds / 3600.0
    return f"{hours:.1f} h" if hours >= 1 else f"{minutes:.1f} min" if minutes >= 1 else f"{seconds:.0f} s"
