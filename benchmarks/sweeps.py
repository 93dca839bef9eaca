"""A sweep of six points against a plain loop on one core: runs per second, and peak memory: `python -m benchmarks.sweeps RUNS`."""

from __future__ import annotations

import resource
import sys
import tempfile
import time

import numpy as np

import rectilinear as rl

FIXED = {"data": "six_points", "width": 20, "scale": 1e-3}
RUN = {"until": 1000.0, "points": 201}
DELTAS = 20
LOOPED = 200  # runs of the plain loop


def problem(delta: float, seed: int) -> rl.Problem:
    network = rl.Network(inputs=2, widths=(20,))
    return rl.Problem(rl.datasets.six_points(delta), network, network.init(1e-3, seed))


def plain_loop(deltas: list[float], runs: int) -> float:
    """Runs per second of what a user would write."""
    times = np.linspace(0.0, RUN["until"], RUN["points"])
    rl.simulate(problem(0.1, 0), times)  # kernels
    began = time.perf_counter()
    for k in range(runs):
        run = rl.simulate(problem(deltas[k % DELTAS], k // DELTAS), times)
        (run.loss[-1], rl.measures.plateau_duration(run))
    return runs / (time.perf_counter() - began)


def main(runs: int, jobs: int) -> None:
    deltas = np.geomspace(0.02, 0.3, DELTAS).tolist()
    loop = plain_loop(deltas, LOOPED)
    grid = {"seed": range(runs // DELTAS), "delta": deltas}
    rates: list[tuple[float, int]] = []
    with tempfile.TemporaryDirectory() as folder:
        rl.sweep(
            FIXED,
            grid,
            ["final_loss", "plateau_duration"],
            folder=folder,
            jobs=jobs,
            run=RUN,
            progress=lambda tally: rates.append((time.perf_counter(), tally.done)),
        )
    warm = next(k for k, (_, done) in enumerate(rates) if done >= 2 * jobs)  # processes are up
    rate = (rates[-1][1] - rates[warm][1]) / (rates[-1][0] - rates[warm][0])
    again = plain_loop(deltas, LOOPED)  # the machine may have been busier meanwhile
    memory = [resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(f"plain loop {loop:.1f} and {again:.1f} runs/s; {runs} runs in {jobs} processes {rate:.1f} runs/s,")
    print(
        f"{2 * rate / (loop + again):.2f} times the loop; peak memory {memory[0]:.0f} MB here, {memory[1]:.0f} MB per process"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 2)
