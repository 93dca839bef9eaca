"""What gradient flow conserves, measured on a finished run."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..network import Weights
from ..problem import Problem
from ..trajectory import Audit


def audit_run(
    problem: Problem,
    times: Array,
    loss: Array,
    weights: tuple[Array, ...],
    energy: Array | None,
    errors: Array | None = None,
) -> Audit:
    """Audit a run; `energy` (t,) is the integral of |grad L|^2 up to each saved time, None where there is no flow.

    `errors` (t,) are what steps are estimated to have cost the weights, relative to the neurons' sizes.
    """
    objective = loss
    if problem.l2:
        objective = loss + [problem.l2 * problem.network.penalty(tuple(w[k] for w in weights)) for k in range(len(times))]
    if not len(times) or times[0] > 0.0:
        objective = np.append(problem.objective(problem.weights), objective)
    start = max(abs(objective[0]), np.finfo(float).tiny)
    residual = None
    if energy is not None:
        fallen = (objective[0] - objective)[len(objective) - len(times) :]
        residual = float(np.max(np.abs(fallen - energy), initial=0.0)) / start
    drift = _balance_drift(problem, times, weights)
    weight_error = (
        max(float(errors[-1]), drift or 0.0) if errors is not None and len(errors) else None
    )  # a drift is an error
    loss_error = None
    if errors is not None and energy is not None and len(times) > 1:
        speeds = np.sqrt(np.maximum(np.diff(energy), 0.0) / np.diff(times))
        lengths = np.sqrt(sum(np.einsum("thd,thd->t", layer[1:], layer[1:]) for layer in weights))
        loss_error = float(np.max(speeds * lengths * errors[1:])) / start
    rise = float(np.max(np.diff(objective), initial=0.0)) / start
    return Audit(drift, rise, residual, weight_error, loss_error)


def _balance_drift(problem: Problem, times: Array, weights: tuple[Array, ...]) -> float | None:
    drifts = []
    trainable = problem.network.trainable_layers
    decay = np.exp(-2.0 * problem.l2 * times)[:, None]
    for k in range(problem.network.layers - 1):
        if trainable[k] and trainable[k + 1]:
            first_in, first_out = _incoming_and_outgoing(problem.weights[k : k + 2])
            incoming, outgoing = _incoming_and_outgoing(weights[k : k + 2])
            apart = np.abs(incoming - outgoing - decay * (first_in - first_out))
            size = np.maximum((incoming + outgoing).max(axis=0, initial=0.0), first_in + first_out)
            drifts.append(np.max(apart / np.maximum(size, np.finfo(float).tiny), initial=0.0))
    return float(max(drifts)) if drifts else None


def _incoming_and_outgoing(layers: Weights) -> tuple[Array, Array]:
    """|w_h|^2 and |a_h|^2 of every neuron between two layers, (..., neurons)."""
    return np.einsum("...hd,...hd->...h", layers[0], layers[0]), np.einsum("...oh,...oh->...h", layers[1], layers[1])
