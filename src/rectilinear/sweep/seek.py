"""Search a grid for a counter-example: at random, then near what comes closest, then for the smallest one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..crew import Engine, cores
from ..errors import InputError, path_of
from .drive import perform
from .grid import Point
from .plan import Plan, key_of
from .store import Store

TRIALS = 256  # runs spent on finding a counter-example, half of them at random
TOGETHER = 16  # runs made before the search looks at them; not the number of processes, so that it always goes the same way
LEADERS = 4  # points near which the local search looks
REDRAWN = 16  # seeds tried at a smaller point
SEEDS = ("seed", "data_seed")  # axes whose values have no size
Indices = tuple[int, ...]


@dataclass(frozen=True)
class Condition:
    """What a counter-example does, such as `final_loss > 0.4`.

    >>> Condition.of("final_loss > 0.4").excess(0.5) > 0
    True
    """

    measure: str
    sign: str
    bound: float

    @classmethod
    def of(cls, text: str) -> Condition:
        found = re.fullmatch(r"\s*(.+?)\s*([<>])\s*([^<>]+?)\s*", text)
        try:
            if found:
                return cls(found[1], found[2], float(found[3]))
        except ValueError:
            pass
        raise InputError(f"what to seek must read MEASURE > NUMBER or MEASURE < NUMBER, found {text!r}.")

    def excess(self, value: float) -> float:
        """Positive where the condition is met, the larger the clearer; what is not a number is far from it."""
        if math.isnan(value):
            return -math.inf
        return value - self.bound if self.sign == ">" else self.bound - value


@dataclass(frozen=True)
class Found:
    """The smallest counter-example of a search (None if there is none), what it measures, and how many runs were looked at."""

    point: Point | None
    value: float
    runs: int
    nearest: Point


@dataclass
class Search:
    """A search in progress: every point is run once and kept in the store, so that an interrupted search goes on."""

    plan: Plan
    store: Store
    condition: Condition
    jobs: int
    engine: Engine | None
    rng: np.random.Generator
    tell: Callable[[int, float], None]
    excess: dict[Indices, float] = field(default_factory=dict)

    def look_at(self, points: Sequence[Indices]) -> list[Indices]:
        """Run these points, and say which of them are counter-examples."""
        base, grid = self.plan.base, self.plan.grid
        new = {point: grid.number(point) for point in dict.fromkeys(points) if point not in self.excess}
        keys = {point: key_of(base, grid.point(number)) for point, number in new.items()}
        missing = [number for point, number in new.items() if self.store.read(keys[point]) is None]
        for _ in perform(self.plan, self.store, missing, self.jobs, self.engine):
            pass
        for point, key in keys.items():
            record = self.store.read(key)
            value = math.nan if record is None else float(np.max(record.numbers[self.condition.measure]))
            self.excess[point] = self.condition.excess(value)
        self.tell(len(self.excess), max(self.excess.values()))
        return [point for point in points if self.excess[point] > 0]

    def at_random(self) -> Indices:
        return tuple(int(self.rng.integers(length)) for length in self.plan.grid.shape)

    def beside(self, point: Indices) -> Indices:
        """A point that differs on one or two axes, mostly a little."""
        moved = list(point)
        for axis in self.rng.choice(len(point), size=min(len(point), int(self.rng.integers(1, 3))), replace=False):
            length = self.plan.grid.shape[axis]
            reach = max(1.0, length ** self.rng.uniform(0.0, 1.0))
            moved[axis] = int(np.clip(moved[axis] + np.rint(self.rng.uniform(-reach, reach)), 0, length - 1))
        return tuple(moved)

    def first(self, trials: int) -> list[Indices]:
        """Counter-examples found within so many runs: at random for half of them, then near those that come closest."""
        for begun in range(0, trials, TOGETHER):
            if begun < trials // 2:
                points = [self.at_random() for _ in range(TOGETHER)]
            else:
                leaders = sorted(self.excess, key=lambda point: (-self.excess[point], point))[:LEADERS]
                points = [self.beside(leaders[k % len(leaders)]) for k in range(TOGETHER)]
            if met := self.look_at(points):
                return met
        return []

    def smallest(self, met: list[Indices]) -> Indices:
        """Make a counter-example smaller, axis by axis, as long as any smaller one is still one."""
        best = min(met, key=self._size)
        while True:
            for smaller in self._smaller(best):
                if met := self.look_at(smaller):
                    best = min(met, key=self._size)
                    break
            else:
                return best

    def _smaller(self, point: Indices) -> Iterator[list[Indices]]:
        """Batches of points that are smaller on one axis: elsewhere equal, but for seeds, which are drawn anew."""
        names = list(self.plan.grid.axes)
        for axis, name in enumerate(names):
            if name in SEEDS:
                continue
            for index in sorted({0, point[axis] // 2, max(point[axis] - 1, 0)}):
                if index < point[axis]:
                    changed = (*point[:axis], index, *point[axis + 1 :])
                    yield [changed, *(self._reseeded(changed) for _ in range(REDRAWN))]
        for axis, name in enumerate(names):
            if name in SEEDS and point[axis]:
                yield [(*point[:axis], index, *point[axis + 1 :]) for index in range(min(point[axis], REDRAWN))]

    def _reseeded(self, point: Indices) -> Indices:
        axes = zip(self.plan.grid.axes, self.plan.grid.shape, point, strict=True)
        return tuple(int(self.rng.integers(length)) if name in SEEDS else index for name, length, index in axes)

    def _size(self, point: Indices) -> tuple[float, Indices]:
        axes = zip(self.plan.grid.axes, self.plan.grid.shape, point, strict=True)
        return sum(index / length for name, length, index in axes if name not in SEEDS), point


def seek(
    plan: Plan,
    condition: str,
    folder: str | Path,
    jobs: int | None = None,
    engine: Engine | None = None,
    trials: int = TRIALS,
    seed: int = 0,
    tell: Callable[[int, float], None] | None = None,
) -> Found:
    """Look for a point of the grid whose run meets the condition (`"final_loss > 0.4"`), and then for the smallest one.

    The grid is never listed, so it may be as fine as you like. Smaller is nearer to the first value of each axis; seeds have no
    size. The same call goes the same way, and runs that are in `folder` are not run again. `tell(runs, excess)` hears how many
    runs were looked at and by how much the best of them exceeds the bound.
    """
    wanted = Condition.of(condition)
    if wanted.measure not in plan.measures:
        raise InputError(
            f"what is sought must be a measure of the sweep ({', '.join(plan.measures)}), found {wanted.measure!r}."
        )
    jobs = cores() if jobs is None else jobs
    if jobs or engine is not None:
        plan.require_portable()
    plan.rehearse()
    store = Store(path_of(folder, "folder"))
    store.begin(plan.grid.axes, plan.base)
    search = Search(plan, store, wanted, jobs, engine, np.random.default_rng(seed), tell or (lambda runs, excess: None))
    met = search.first(trials)
    best = search.smallest(met) if met else max(search.excess, key=lambda point: search.excess[point])
    excess = search.excess[best]
    value = wanted.bound + excess if wanted.sign == ">" else wanted.bound - excess
    nearest = plan.grid.point(plan.grid.number(best))
    return Found(nearest if met else None, value, len(search.excess), nearest)
