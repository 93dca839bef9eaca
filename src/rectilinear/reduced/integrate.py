"""The one door to the integrator of reduced flows: LSODA, which switches between stiff and other steps by itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from ..arrays import Array
from ..errors import FlowError

TOLERANCE = 1e-12  # local error of the reduced flow; its global error stays below 1e-10
MAX_STEPS = 100_000  # between two saved times; reduced flows need a few hundred in all


def integrate(
    velocity: Callable[..., Array],
    start: Array,
    times: Array,
    constants: tuple[object, ...] = (),
    tolerance: float = TOLERANCE,
) -> Array:
    """Solve state' = velocity(t, state, *constants) from t = 0; the states (t, state) at `times`, which do not fall.

    By `odeint`, which asks compiled velocities without a detour; `solve_ivp` is several times slower.

    >>> bool(np.allclose(integrate(lambda t, x: -x, np.array([1.0]), np.array([0.0, 2.0]))[:, 0], np.exp([0.0, -2.0]), rtol=1e-10))
    True
    """
    from scipy.integrate import ODEintWarning, odeint

    if times[-1] == 0.0 or not start.size:
        return np.repeat(start[None], len(times), axis=0)
    instants = times if times[0] == 0.0 else np.concatenate([[0.0], times])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ODEintWarning)  # said below, with what to do
        path, report = odeint(
            velocity,
            start,
            instants,
            constants,
            tfirst=True,
            full_output=True,
            rtol=tolerance,
            atol=tolerance,
            mxstep=MAX_STEPS,
        )
    if report["tcur"][-1] < instants[-1] or not np.isfinite(path).all():
        raise _stopped(float(times[-1]))
    return np.asarray(path[len(instants) - len(times) :])


def integrate_until(
    velocity: Callable[[float, Array], Array],
    start: Array,
    distance: Callable[[Array], float],
    longest: float,
    tolerance: float = TOLERANCE,
) -> tuple[float, Array]:
    """Solve state' = velocity(t, state) until `distance`(state) falls to zero: that time and state.

    Where it does not within a time `longest`, infinity and the last state.
    """
    from scipy.integrate import solve_ivp

    def reached(_: float, state: Array) -> float:
        return distance(state)

    reached.terminal = True  # type: ignore[attr-defined]
    run = solve_ivp(velocity, (0.0, longest), start, "LSODA", events=reached, rtol=tolerance, atol=tolerance)
    if not run.success:
        raise _stopped(longest)
    found = run.status == 1  # ended by the event
    return float(run.t[-1]) if found else np.inf, np.asarray(run.y[:, -1])


def _stopped(last: float) -> FlowError:
    return FlowError(
        f"the reduced flow must be followed to t = {last:g}, but the integrator stopped before; simulate instead."
    )
