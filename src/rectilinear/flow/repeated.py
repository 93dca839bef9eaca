"""Runs that tell forks nearer than their tolerance are made once more, at one that decides them.

At a fork (kinks/forks.py) an error of the size of the tolerance decides which way a neuron goes, and all that comes after. How near forks
are is a matter of chance: a tolerance c times smaller leaves one in c of them undecided.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..events import Kind
from ..trajectory import Status, Trajectory
from .budgets import Watch, counted_together
from .engines.fork_twins import LOOSEST_DECIDED

TIGHTER = 30.0  # how many times smaller the tolerance becomes: runs take about twice as long
TIGHTEST_REPEATED = 1e-10  # rtol
ALWAYS_REPEATED = 1e-5  # rtol: who asks for as much wants it right, however long it takes
MOST_REPEATED_PIECES = 110_000  # of paths, in between: about a second on one core
WITHOUT_END = (
    Status.OUT_OF_STEPS,
    Status.OUT_OF_SECONDS,
    Status.INTERRUPTED,
    Status.CHATTERING,
    Status.STUCK,
    Status.DIVERGED,
)


def decided(make: Callable[[float], Trajectory], rtol: float, watch: Watch) -> Trajectory:
    """The run that `make` makes at rtol, or where that tells forks at a tolerance that decides most.

    Of TIGHTER forks one more is expected to be left: runs with so many only tell them, as do loose ones, which may be looser if they are
    quick, and those that took half of a budget. Where the second run does not come to its end, the first one stands.
    """
    run, tighter = make(rtol), rtol / TIGHTER
    forks = 0 if run.events is None else run.events.count(Kind.FORK)
    quick = run.statistics.get("pieces", 0) <= MOST_REPEATED_PIECES
    suits = tighter >= TIGHTEST_REPEATED and rtol <= (LOOSEST_DECIDED if quick else ALWAYS_REPEATED)
    if not (0 < forks < TIGHTER and suits) or run.status in WITHOUT_END or watch.half_used:
        return run
    again = make(tighter)
    counts = counted_together(run.statistics, again.statistics) | {"seconds": again.statistics["seconds"]}
    said = f"at rtol {tighter:.2g}, as forks ({forks}) were nearer than {rtol:g}"
    if again.status in WITHOUT_END:
        status = again.status if again.status is Status.INTERRUPTED else run.status
        again, said = replace(run, status=status), f"but not to the end {said}"
    return replace(again, statistics=counts, provenance={**again.provenance, "rtol": rtol, "repeated": said})
