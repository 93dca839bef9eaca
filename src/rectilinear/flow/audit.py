"""What gradient flow conserves, measured on a finished run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..network import Weights
from ..problem import Problem
from ..trajectory import Audit

Array = NDArray[np.float64]


def audit_run(problem: Problem, times: Array, loss: Array, weights: tuple[Array, ...], energy: Array | None) -> Audit:
    """Audit a run; `energy` (t,) is the integral of |grad L|^2 up to each saved time, None where there is no flow."""
    penalties = np.array([problem.network.penalty(tuple(w[k] for w in weights)) for k in range(len(times))])
    objective = np.concatenate([[problem.objective(problem.weights)], loss + problem.l2 * penalties])
    start = max(abs(objective[0]), np.finfo(float).tiny)
    residual = None
    if energy is not None:
        residual = float(np.max(np.abs(objective[0] - objective[1:] - energy), initial=0.0)) / start
    rise = float(np.max(np.diff(objective), initial=0.0)) / start
    return Audit(_balance_drift(problem, times, weights), rise, residual)


def _balance_drift(problem: Problem, times: Array, weights: tuple[Array, ...]) -> float | None:
    drifts = []
    trainable = problem.network.trainable_layers
    decay = np.exp(-2.0 * problem.l2 * times)[:, None]
    for k in range(problem.network.layers - 1):
        if trainable[k] and trainable[k + 1]:
            first = _balance((problem.weights[k], problem.weights[k + 1]))
            apart = np.abs(_balance((weights[k], weights[k + 1])) - decay * first)
            size = np.maximum(
                _mass((weights[k], weights[k + 1])).max(axis=0, initial=0.0), _mass(problem.weights[k : k + 2])
            )
            drifts.append(np.max(apart / np.maximum(size, np.finfo(float).tiny), initial=0.0))
    return float(max(drifts)) if drifts else None


def _incoming_and_outgoing(layers: Weights) -> tuple[Array, Array]:
    """|w_h|^2 and |a_h|^2 of every neuron between two layers, (..., neurons)."""
    return np.sum(layers[0] ** 2, axis=-1), np.sum(layers[1] ** 2, axis=-2)


def _balance(layers: Weights) -> Array:
    incoming, outgoing = _incoming_and_outgoing(layers)
    return incoming - outgoing


def _mass(layers: Weights) -> Array:
    incoming, outgoing = _incoming_and_outgoing(layers)
    return incoming + outgoing
