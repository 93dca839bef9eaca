"""What the loss curve of a run tells: when it reaches a level, and its plateau at an almost linear fit (square loss).

The plateau begins when half of the fall to the loss of the best linear fit is done, and ends when the loss has fallen to 9/10 of
that; times between two saved ones lie on a straight line, so save enough of them.
"""

from __future__ import annotations

import math

import numpy as np

from ..dataset import Dataset
from ..errors import InputError
from ..trajectory import Trajectory

STILL_THERE = 0.9  # share of the best linear fit's loss below which the plateau is over


def time_to_loss(run: Trajectory, level: float) -> float:
    """The first time at which the loss is at most `level`; infinity if it never is.

    >>> import rectilinear as rl
    >>> net = rl.Network(inputs=2, widths=(20,))
    >>> problem = rl.Problem(rl.datasets.six_points(), net, net.init(scale=1e-3, seed=0))
    >>> run = rl.simulate(problem, times=[0.0, 20.0, 40.0, 60.0])
    >>> 20.0 < rl.measures.time_to_loss(run, 0.46) < 60.0, rl.measures.time_to_loss(run, 0.1)
    (True, inf)
    """
    below = np.flatnonzero(run.loss <= level)
    if not below.size:
        return math.inf
    k = int(below[0])
    if k == 0:
        return float(run.times[0])
    share = (run.loss[k - 1] - level) / (run.loss[k - 1] - run.loss[k])
    return float(run.times[k - 1] + share * (run.times[k] - run.times[k - 1]))


def linear_fit_loss(data: Dataset) -> float:
    """The square loss <(y - v.x)^2>/2 of the best linear map v."""
    return 0.5 * float(np.mean((data.y - data.x @ np.linalg.lstsq(data.x, data.y, rcond=None)[0]) ** 2))


def plateau_begin(run: Trajectory) -> float:
    """When half of the fall to the best linear fit is done; infinity if it never is."""
    return time_to_loss(run, (float(run.loss[0]) + _level(run)) / 2.0)


def plateau_end(run: Trajectory) -> float:
    """When the loss is 9/10 of that of the best linear fit; infinity if it never is."""
    return time_to_loss(run, STILL_THERE * _level(run))


def plateau_duration(run: Trajectory) -> float:
    """From the beginning of the plateau to its end; infinity if it does not end, nan if it does not begin."""
    return plateau_end(run) - plateau_begin(run)


def plateau_height(run: Trajectory) -> float:
    """The loss half way between beginning and end of the plateau (or of the run, if it does not end); nan without beginning."""
    begin, end = plateau_begin(run), plateau_end(run)
    if not math.isfinite(begin):
        return math.nan
    return float(np.interp((begin + min(end, float(run.times[-1]))) / 2.0, run.times, run.loss))


def _level(run: Trajectory) -> float:
    if run.problem.loss.name != "square":
        raise InputError(f"the plateau at a linear fit is one of the square loss, found the {run.problem.loss} loss.")
    return linear_fit_loss(run.problem.data)
