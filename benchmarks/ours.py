"""rectilinear.simulate as one of the solvers."""

from __future__ import annotations

import numpy as np

import rectilinear as rl

from .attempts import Array, Attempt

NAME = "rectilinear"


def fresh(problem: rl.Problem) -> rl.Problem:
    """The same problem without what an earlier run has cached in it."""
    return rl.Problem(rl.Dataset(problem.data.x, problem.data.y), problem.network, problem.weights, problem.loss, problem.l2)


def flat_states(run: rl.Trajectory) -> Array:
    """The weights of a run as flat vectors (t, size)."""
    return np.concatenate([layer.reshape(len(run), -1) for layer in run.weights], axis=1)


def solve(problem: rl.Problem, times: Array, rtol: float, cap: float) -> Attempt:
    """Simulate with the method chosen by `simulate` itself."""
    run = rl.simulate(fresh(problem), times, rtol=rtol, max_seconds=cap)
    states = (
        flat_states(run) if run.status is rl.Status.FINISHED else flat_states(run)[: np.searchsorted(times, run.times[-1])]
    )
    return Attempt(NAME, rtol, times, states, float(run.times[-1]), run.statistics["seconds"], run.statistics["gradients"])
