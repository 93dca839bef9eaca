"""What gradient flow conserves, measured on a finished run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import Array
from ..network import Weights
from ..problem import Problem
from ..trajectory import Audit, Trajectory


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
    largest = None if errors is None or not len(errors) else float(errors.max())
    weight_error = None if largest is None else max(largest, drift or 0.0)  # a drift is an error
    loss_error = None
    if errors is not None and energy is not None and len(times) and times[-1] > 0.0:
        before = [0.0] if times[0] > 0.0 else []
        reach = _reach(np.append(before, times), np.append(before, energy), weights)
        loss_error = float(np.max(reach * errors[-len(reach) :])) / start
    rise = float(np.max(np.diff(objective), initial=0.0)) / start
    return Audit(drift, rise, residual, weight_error, loss_error)


def audit_joined(joined: Trajectory, first: Audit | None, second: Audit | None, resumed: int) -> Audit:
    """Audit a run of two parts, each audited by itself; the second one's saved times begin at position `resumed`.

    What the first part costs the weights is there throughout the second, whose own costs come on top.
    """
    problem = joined.problem
    whole = audit_run(problem, joined.times, joined.loss, joined.weights, None)
    if first is None or second is None or first.energy_residual is None or second.energy_residual is None:
        return whole
    since = slice(resumed - 1, None)
    start = max(abs(problem.objective(problem.weights)), np.finfo(float).tiny)
    share = abs(joined.objective[resumed - 1]) / start  # the second part's first value over that of the whole
    whole = replace(whole, energy_residual=first.energy_residual + share * second.energy_residual)
    if first.weight_error is None or second.weight_error is None or second.loss_error is None:
        return whole
    fallen = joined.objective[resumed - 1] - joined.objective[since]
    reach = _reach(joined.times[since], fallen, tuple(layer[since] for layer in joined.weights))
    later = first.weight_error * float(np.max(reach)) / start + share * second.loss_error
    return replace(
        whole,
        weight_error=max(first.weight_error + second.weight_error, whole.balance_drift or 0.0),
        loss_error=max(first.loss_error or 0.0, later),  # none at t = 0 alone
    )


def _reach(times: Array, energy: Array, weights: tuple[Array, ...]) -> Array:
    """|grad L| |theta| (t - 1,): by how much errors of weights, relative to these, can change the loss between two times."""
    speeds = np.sqrt(np.maximum(np.diff(energy), 0.0) / np.diff(times))
    lengths = np.sqrt(sum(np.einsum("thd,thd->t", layer, layer) for layer in weights))
    return np.asarray(speeds * lengths[-len(speeds) :])


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
