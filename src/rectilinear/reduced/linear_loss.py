"""Linear functions w . x: the best one, and the loss of a course w(t) without a pass over the samples where there is one."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..dataset import Dataset
from ..problem import Problem


def linear_loss(problem: Problem, maps: Array) -> Array:
    """<l(y, w . x)> for each row w of `maps` (t, d).

    Square loss: <(y - w* . x)^2>/2 + (w - w*)^T Sigma (w - w*)/2 with w* the least-squares map, which stays accurate
    close to a perfect fit.
    """
    data = problem.data
    if problem.loss.name != "square":
        return np.array([np.mean(problem.loss.value(data.y, data.x @ w)) for w in maps])
    best = np.linalg.lstsq(data.covariance, data.correlation, rcond=None)[0]
    floor = np.mean((data.y - data.x @ best) ** 2) / 2
    away = maps - best
    return np.asarray(floor + np.sum((away @ data.covariance) * away, axis=1) / 2)


def best_linear_map(data: Dataset) -> Array:
    """w (d,) that minimises <(y - w . x)^2>, the shortest one."""
    return np.asarray(np.linalg.lstsq(data.x, data.y, rcond=None)[0])
