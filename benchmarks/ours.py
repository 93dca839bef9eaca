"""rectilinear.simulate as one of the solvers."""

from __future__ import annotations

import numpy as np

import rectilinear as rl

from .attempts import Array, Attempt

NAME = "rectilinear"


def is_ours(solver: str) -> bool:
    """Whether a row is ours, by any method."""
    return solver.startswith(NAME)


def fresh(problem: rl.Problem) -> rl.Problem:
    """The same problem without what an earlier run has cached in it."""
    return rl.Problem(rl.Dataset(problem.data.x, problem.data.y), problem.network, problem.weights, problem.loss, problem.l2)


def flat_states(run: rl.Trajectory) -> Array:
    """The weights of a run as flat vectors (t, size)."""
    return np.concatenate([layer.reshape(len(run), -1) for layer in run.weights], axis=1)


def solve(problem: rl.Problem, times: Array, rtol: float, cap: float, method: str = "auto") -> Attempt:
    """Simulate with the method chosen by `simulate` itself, or by another one."""
    run = rl.simulate(fresh(problem), times, rtol=rtol, max_seconds=cap, method=method)
    states = (
        flat_states(run) if run.status is rl.Status.FINISHED else flat_states(run)[: np.searchsorted(times, run.times[-1])]
    )
    name = NAME if method == "auto" else f"{NAME}, {method}"
    return Attempt(name, rtol, times, states, float(run.times[-1]), run.statistics["seconds"], run.statistics["gradients"])
