"""A sweep of six points on all cores against a plain loop on one: runs per second, processor time and memory."""

from __future__ import annotations

import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import rectilinear as rl
from rectilinear.crew import cores
from rectilinear.sweep import Plan, Tally, sweep_plan

from .report import Report

FIXED = {"data": "six_points", "width": 20, "scale": 1e-3}
UNTIL, POINTS, DELTAS = 1000.0, 51, np.geomspace(0.02, 0.3, 20).tolist()
PARTS = 10  # of the sweep, between which the plain loop has its turn
WARM = 40  # runs until processes have started and loaded their kernels, which costs the same for any number of runs
LOOP_SEEDS = 5  # of the loop's runs in each turn, at every delta
GOAL = 1.9  # times a plain loop, on two cores


@dataclass(frozen=True)
class Clock:
    """Seconds of the wall and of processors, here and in the processes of the crew."""

    wall: float
    here: float
    there: float

    @classmethod
    def now(cls) -> Clock:
        crew = [_seconds(child.pid) for child in multiprocessing.active_children()]
        return cls(time.perf_counter(), time.process_time(), sum(crew))

    def __sub__(self, other: Clock) -> Clock:
        return Clock(self.wall - other.wall, self.here - other.here, self.there - other.there)


@dataclass
class Turns:
    """Hears of every run that is done; between the parts of the sweep the crew waits while the plain loop has its turn."""

    every: int
    seeds: int
    tell: Callable[[str], None]
    loops: list[Clock] = field(default_factory=list)
    parts: list[Clock] = field(default_factory=list)
    memory: list[tuple[float, float]] = field(default_factory=list)  # peaks so far, here and of a process, in MB
    begun: Clock = field(default_factory=Clock.now)

    def __call__(self, tally: Tally) -> None:
        if tally.done == WARM:
            self.begun = Clock.now()
        elif tally.done and tally.done % self.every == 0:
            self.parts.append(Clock.now() - self.begun)
            peaks = [_peak(child.pid) for child in multiprocessing.active_children()]
            self.memory.append((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, max(peaks)))
            self.loops.append(plain_loop(range(len(self.loops), self.seeds, self.seeds // LOOP_SEEDS)))
            self.tell(f"{tally.done} runs done, peak memory {self.memory[-1][0]:.0f} and {self.memory[-1][1]:.0f} MB")
            self.begun = Clock.now()


def plain_loop(seeds: range) -> Clock:
    """What a user would write, for these seeds at every delta."""
    times = np.linspace(0.0, UNTIL, POINTS)
    before = Clock.now()
    for seed in seeds:
        for delta in DELTAS:
            network = rl.Network(inputs=2, widths=(20,))
            problem = rl.Problem(rl.datasets.six_points(delta), network, network.init(1e-3, seed))
            run = rl.simulate(problem, times)
            (run.loss[-1], rl.measures.plateau_duration(run))
    return Clock.now() - before


def run(folder: Path, runs: int = 10_000) -> dict[str, Any]:
    """So many runs in turns with a plain loop; the goal is 1.9 times its rate on two cores, and memory that does not grow."""
    report, jobs = Report("sweeps", folder), cores()
    seeds = runs // len(DELTAS)
    every = seeds * len(DELTAS) // PARTS
    plan = Plan.of(
        FIXED,
        {"seed": range(seeds), "delta": DELTAS},
        ["final_loss", "plateau_duration"],
        {"until": UNTIL, "points": POINTS},
    )
    plain_loop(range(1))  # kernels are loaded
    turns = Turns(every, seeds, report.note)
    with tempfile.TemporaryDirectory() as place:
        tally = sweep_plan(plan, Path(place), jobs, progress=turns)
        size = sum(path.stat().st_size for path in Path(place).rglob("*.nc")) / tally.done
        before = Clock.now()
        rl.open_sweep(place)
        opened = Clock.now() - before
    looped = [LOOP_SEEDS * len(DELTAS)] * PARTS
    swept = [every - WARM] + [every] * (PARTS - 1)
    alone = np.array([loop.here for loop in turns.loops]) / looped
    crew, shared = (np.array([getattr(part, name) for part in turns.parts]) / swept for name in ("there", "here"))
    rates = np.array(swept) / [part.wall for part in turns.parts], np.array(looped) / [loop.wall for loop in turns.loops]
    found = {
        "runs": tally.done,
        "jobs": jobs,
        "loop_ms": 1e3 * alone.mean(),
        "crew_ms": 1e3 * crew.mean(),
        "shared_ms": 1e3 * shared.mean(),
        "gain_by_processor_time": jobs * alone.mean() / (crew + shared).mean(),
        "loop_rate": float(sum(looped) / sum(loop.wall for loop in turns.loops)),
        "sweep_rate": float(sum(swept) / sum(part.wall for part in turns.parts)),
        "gains": (rates[0] / rates[1]).tolist(),
        "memory_here": [here for here, _ in turns.memory],
        "memory_of_a_process": [there for _, there in turns.memory],
        "bytes_a_run": size,
        "open_seconds": opened.wall,
    }
    report.table(
        f"{tally.done} runs, {jobs} processes, in {PARTS} parts; between two of them {looped[0]} runs by a plain loop",
        ["", "plain loop", "sweep", "times the loop"],
        [
            [
                "runs per second",
                f"{found['loop_rate']:.1f}",
                f"{found['sweep_rate']:.1f}",
                f"{np.median(found['gains']):.2f} (median of the parts; {min(found['gains']):.2f} to {max(found['gains']):.2f})",
            ],
            [
                "processor time of a run (ms)",
                f"{found['loop_ms']:.1f}",
                f"{found['crew_ms']:.1f} + {found['shared_ms']:.2f} to share it out",
                f"{found['gain_by_processor_time']:.2f} on {jobs} free cores; goal {GOAL} on two",
            ],
        ],
    )
    report.table(
        "peak memory (MB)",
        ["after runs", "the process that sweeps", "largest process of the crew"],
        [
            [str((k + 1) * every), f"{here:.0f}", f"{there:.0f}"]
            for k, (here, there) in enumerate(turns.memory)
            if k in (0, PARTS // 2 - 1, PARTS - 1)
        ],
    )
    report.note(f"{size:.0f} bytes a run; open_sweep reads them all in {opened.wall:.1f} s")
    report.save(found)
    return found


def _seconds(process: int | None) -> float:
    """Processor time of a running process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak(process: int | None) -> float:
    """Peak memory of a running process in MB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
