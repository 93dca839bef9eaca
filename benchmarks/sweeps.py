"""A sweep of six points against a plain loop on one core: `python -m benchmarks.sweeps RUNS [JOBS]`.

Processor time per run says what the sweep adds to a run, whatever else the machine does; runs per second need a quiet one. Starting
processes costs the same for any number of runs, so that both are differences between RUNS and a quarter of them.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from dataclasses import dataclass

import numpy as np

import rectilinear as rl

FIXED = {"data": "six_points", "width": 20, "scale": 1e-3}
UNTIL, POINTS, DELTAS = 1000.0, 201, np.geomspace(0.02, 0.3, 20).tolist()


@dataclass(frozen=True)
class Cost:
    """Seconds on the clock and of processors, of this process and its children, and the peak memory of each in MB."""

    wall: float
    here: float
    children: float
    peak_here: float
    peak_child: float

    @classmethod
    def so_far(cls) -> Cost:
        here, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        used = (usage.ru_utime + usage.ru_stime for usage in (here, children))
        return cls(time.perf_counter(), *used, here.ru_maxrss / 1024, children.ru_maxrss / 1024)

    def since(self, before: Cost) -> Cost:
        spent = (self.wall - before.wall, self.here - before.here, self.children - before.children)
        return Cost(*spent, self.peak_here, self.peak_child)


def plain_loop(numbers: range) -> Cost:
    """What a user would write, for these runs of the grid."""
    times = np.linspace(0.0, UNTIL, POINTS)
    before = Cost.so_far()
    for k in numbers:
        network = rl.Network(inputs=2, widths=(20,))
        problem = rl.Problem(rl.datasets.six_points(DELTAS[k % 20]), network, network.init(1e-3, k // 20))
        run = rl.simulate(problem, times)
        (run.loss[-1], rl.measures.plateau_duration(run))
    return Cost.so_far().since(before)


def swept(runs: int, jobs: int) -> Cost:
    before = Cost.so_far()
    with tempfile.TemporaryDirectory() as folder:
        grid = {"seed": range(runs // 20), "delta": DELTAS}
        how = {"until": UNTIL, "points": POINTS}
        rl.sweep(FIXED, grid, ["final_loss", "plateau_duration"], folder=folder, jobs=jobs, run=how)
    return Cost.so_far().since(before)


def main(runs: int, jobs: int) -> None:
    plain_loop(range(20))  # kernels are loaded
    some = range(runs // 4, runs, 3)  # of those that both costs below differ by
    loop = plain_loop(some)
    few, many = swept(runs // 4, jobs), swept(runs, jobs)
    more = runs - runs // 4
    alone = loop.here / len(some)
    here, there = (many.here - few.here) / more, (many.children - few.children) / more
    print(
        f"processor time per run: plain loop {1e3 * alone:.1f} ms; sweep {1e3 * there:.1f} ms and {1e3 * here:.2f} ms to share it out"
    )
    print(f"on {jobs} free cores: {jobs * alone / (there + here):.2f} times a plain loop on one")
    print(f"runs per second: plain loop {len(some) / loop.wall:.1f}, sweep {more / (many.wall - few.wall):.1f}")
    print(f"peak memory here: {few.peak_here:.0f} MB for {runs // 4} runs, {many.peak_here:.0f} MB for {runs};", end=" ")
    print(f"of a process: {many.peak_child:.0f} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 2)
