"""SciPy's DOP853, LSODA and Radau, stepped one step at a time so that a cap on seconds can end them."""

from __future__ import annotations

import time
import warnings
from functools import partial

import numpy as np
from scipy import integrate

import rectilinear as rl

from ..attempts import Array, Attempt, Solve, small_atol
from .python_field import PythonField


def solve(method: type[integrate.OdeSolver], problem: rl.Problem, times: Array, rtol: float, cap: float) -> Attempt:
    """Step to the last time, with dense output at the others; Jacobians are SciPy's own finite differences."""
    field = PythonField(problem)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a stalled LSODA warns at every step
        solver = method(field, 0.0, field.start, times[-1], rtol=rtol, atol=small_atol(problem, rtol))
        states = [field.start] if times[0] == 0.0 else []
        while solver.status == "running" and time.perf_counter() - began < cap:
            solver.step()
            passed = times[len(states) :][times[len(states) :] <= solver.t]
            if passed.size:
                states.extend(solver.dense_output()(passed).T)
    seconds = time.perf_counter() - began
    name = f"SciPy {method.__name__}"
    return Attempt(name, rtol, times, np.array(states), float(solver.t), seconds, field.calls)


dop853: Solve = partial(solve, integrate.DOP853)
lsoda: Solve = partial(solve, integrate.LSODA)
radau: Solve = partial(solve, integrate.Radau)
