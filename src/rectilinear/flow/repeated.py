"""Runs that tell forks nearer than their tolerance are made once more, up to there at one that decides them.

At a fork (kinks/forks.py) an error of the size of the tolerance decides which way a neuron goes, and all that comes after. How near forks
are is a matter of chance: a tolerance c times smaller leaves one in c of them undecided. Once they are passed, it need not be smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from ..arrays import Array
from ..events import Kind
from ..trajectory import Status, Trajectory
from .budgets import Watch, counted_together
from .engines.fork_twins import LOOSEST_DECIDED, ONLY_TELL, TIGHTER, ForkRule, ForkTold

TIGHTEST_REPEATED = 1e-10  # rtol
MOST_REPEATS = 2  # in the last of which the tolerance is smaller to the end
WITHOUT_END = (
    Status.OUT_OF_STEPS,
    Status.OUT_OF_SECONDS,
    Status.INTERRUPTED,
    Status.CHATTERING,
    Status.STUCK,
    Status.DIVERGED,
)
Maker = Callable[[ForkRule], Trajectory]


def decided(make: Maker, rtol: float, watch: Watch, whole: bool = False) -> Trajectory:
    """The run that `make` makes at rtol, or where that tells forks one that decides most: at a smaller tolerance up to these, or `whole`.

    Of TIGHTER forks one more is expected to be left: runs with so many only tell them, as do loose ones, and those that took half of a
    budget. Where a later run does not come to its end, the first one stands. Without budgets none has to come to its end before it is
    made again.
    """
    if rtol / TIGHTER < TIGHTEST_REPEATED or rtol > LOOSEST_DECIDED:
        return make(ONLY_TELL)
    stops = not (watch.limited or whole)
    rule, told, counts, first = ForkRule(0.0, stops), 0, dict[str, float](), None
    for repeats in range(1, MOST_REPEATS + 2):
        run, spent, forks = _made(make, rule)
        counts = counted_together(counts, spent)
        if run is not None:
            if not 0 < len(forks) < TIGHTER or run.status in WITHOUT_END or watch.half_used:
                break
            first = first or run
        told += len(forks)
        until = np.inf if whole or repeats == MOST_REPEATS else float(forks.max())
        rule = ForkRule(until, stops)
    assert run is not None
    if not told:
        return run
    up_to = "" if rule.tight_until == np.inf else f" up to t = {rule.tight_until:.4g}"
    said = f"at rtol {rtol / TIGHTER:.2g}{up_to}, as forks ({told}) were nearer than {rtol:g}"
    counts["seconds"] = run.statistics["seconds"]
    if first is not None and run.status in WITHOUT_END:
        status = run.status if run.status is Status.INTERRUPTED else first.status
        run, said = replace(first, status=status), f"but not to the end {said}"
    return replace(run, statistics=counts, provenance={**run.provenance, "repeated": said})


def _made(make: Maker, rule: ForkRule) -> tuple[Trajectory | None, Mapping[str, float], Array]:
    """A run, or None if it stopped at a fork; what it took, and when it passed forks that it was not to decide."""
    try:
        run = make(rule)
    except ForkTold as fork:
        return None, fork.counts, np.array([fork.time])
    if run.events is None:
        return run, run.statistics, np.empty(0)
    return run, run.statistics, rule.later(run.events.time[run.events.kind == Kind.FORK])
