"""The one door to the integrator of reduced flows."""

from __future__ import annotations

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
    """Solve state' = velocity(t, state, *constants) from t = 0 by LSODA; the states at `times` (t, state)."""
    from scipy.integrate import odeint

    if times[-1] == 0.0:
        return start[None]
    instants = times if times[0] == 0.0 else np.concatenate([[0.0], times])
    path, report = odeint(
        velocity, start, instants, constants, tfirst=True, full_output=True, rtol=tolerance, atol=tolerance, mxstep=MAX_STEPS
    )
    if report["message"] != "Integration successful." or not np.isfinite(path).all():
        raise FlowError(
            f"the reduced flow could not be followed to t = {times[-1]:g} ({report['message']}); simulate instead."
        )
    return np.asarray(path[len(instants) - len(times) :])
