"""diffrax: Tsit5, Dopri5, Dopri8 and Kvaerno5, compiled before they are timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import diffrax
import jax
import numpy as np

import rectilinear as rl

from ..attempts import Array, Attempt, Solve, small_atol
from .jax_field import make_loss, start_of

# Steps after which a run looks at the clock, as a compiled loop cannot; then it starts anew from there.
EXPLICIT_STRETCH, IMPLICIT_STRETCH = 1000, 50


def solve(solver: type[diffrax.AbstractSolver], problem: rl.Problem, times: Array, rtol: float, cap: float) -> Attempt:
    """Adaptive steps with diffrax's usual step controller, saved at `times`."""
    advance = _compiled(solver, problem, len(times), float(times[-1]))
    weights, reached, steps = start_of(problem), 0.0, 0
    states = np.full((len(times), sum(layer.size for layer in weights)), np.nan)
    began = time.perf_counter()
    while reached < times[-1] and time.perf_counter() - began < cap:
        solution = jax.block_until_ready(
            advance(reached, weights, np.maximum(times, reached), rtol, small_atol(problem, rtol))
        )
        passed = (times >= reached) & np.isfinite(solution.ts[0])
        states[passed] = np.concatenate([layer.reshape(len(times), -1) for layer in solution.ys[0]], axis=1)[passed]
        weights = jax.tree.map(lambda layer: layer[0], solution.ys[1])
        reached, steps = float(solution.ts[1][0]), steps + int(solution.stats["num_steps"])
    seconds = time.perf_counter() - began
    saved = states[np.isfinite(states).all(axis=1)]
    return Attempt(f"diffrax {solver.__name__}", rtol, times, saved, reached, seconds, _gradients(solver(), steps))


@cache
def _compiled(solver: type[diffrax.AbstractSolver], problem: rl.Problem, saves: int, end: float) -> Callable[..., Any]:
    """A stretch of the run from any time and weights to `end`, compiled."""
    loss = make_loss(problem)
    stretch = EXPLICIT_STRETCH if issubclass(solver, diffrax.AbstractERK) else IMPLICIT_STRETCH
    descent = diffrax.ODETerm(lambda t, weights, _: jax.tree.map(lambda slope: -slope, jax.grad(loss)(weights)))

    @jax.jit
    def advance(t: float, weights: Any, times: Array, rtol: float, atol: float) -> Any:
        return diffrax.diffeqsolve(
            descent, solver(), t, end, None, weights,
            saveat=diffrax.SaveAt(subs=[diffrax.SubSaveAt(ts=times), diffrax.SubSaveAt(t1=True)]),
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=atol), max_steps=stretch, throw=False,
        )  # fmt: skip

    start = start_of(problem)
    return advance.lower(0.0, start, np.zeros(saves), 1e-6, 1e-6).compile()


def _gradients(solver: diffrax.AbstractSolver, steps: int) -> int | None:
    """Evaluations an explicit method makes; implicit ones iterate an unknown number of times."""
    if not isinstance(solver, diffrax.AbstractERK):
        return None
    tableau = solver.tableau
    return steps * (tableau.num_stages - int(tableau.fsal)) + int(tableau.fsal)


tsit5: Solve = partial(solve, diffrax.Tsit5)
dopri5: Solve = partial(solve, diffrax.Dopri5)
dopri8: Solve = partial(solve, diffrax.Dopri8)
kvaerno5: Solve = partial(solve, diffrax.Kvaerno5)
