"""SUNDIALS' CVODE (BDF with dense Newton), through scikit-sundae."""

from __future__ import annotations

import time

import numpy as np
from sksundae.cvode import CVODE

import rectilinear as rl

from ..attempts import Array, Attempt, small_atol
from .python_field import PythonField


def cvode(problem: rl.Problem, times: Array, rtol: float, cap: float, max_steps: float = np.inf) -> Attempt:
    """Single steps, so that a cap on seconds or steps can end the run; they stop exactly at the asked times.

    Jacobians are CVODE's own finite differences: with exact ones, which see only one side of a kink, it stalls sooner.
    """
    field = PythonField(problem)
    solver = CVODE(field.write, rtol=rtol, atol=small_atol(problem, rtol), method="BDF", linsolver="dense")
    states = [field.start] if times[0] == 0.0 else []
    began = time.perf_counter()
    solver.init_step(0.0, field.start)
    steps, reached = 0, 0.0
    for target in times[len(states) :]:
        while reached < target and steps < max_steps and time.perf_counter() - began < cap:
            step = solver.step(target, method="onestep", tstop=target)
            steps, reached = steps + 1, float(step.t)
            if not step.success:
                max_steps = steps  # CVODE has given up
        if reached < target:
            break
        states.append(step.y.copy())
    return Attempt("CVODE BDF", rtol, times, np.array(states), reached, time.perf_counter() - began, field.calls)
