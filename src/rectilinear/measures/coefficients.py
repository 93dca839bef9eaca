"""The quantities in which Kou, Chen & Gu (2023) speak of a run: data-correlated coefficients, patterns, increments, loss rate.

The second layer is fixed, so that the first moves in the span of the samples:

    w_h(t) = w_h(0) + sum_i rho_hi(t) x_i / |x_i|^2,

with rho_hi >= 0 where the signs of a_h and y_i agree and <= 0 where they do not. The coefficients are unique where the samples
are linearly independent, as nearly orthogonal ones are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..errors import InputError
from ..long_trajectory import LongTrajectory
from ..reduced.frozen_limit import patterns
from ..trajectory import Trajectory

INDEPENDENT = 1e-10  # smallest singular value of the samples, relative to the largest, at which rho still means something


@dataclass(frozen=True, eq=False)
class Decomposition:
    """rho (t, h, n), and the `residual` (t,) |W(t) - W(0) - sum rho x/|x|^2|_F relative to |W(t)|_F."""

    rho: Array
    residual: Array

    def balance(self, second: Array, y: Array) -> Array:
        """max_i / min_i of sum_h rho_hi over the neurons of sample i's own sign, (t,): bounded by automatic balance.

        `second` (h,) are the outgoing weights and `y` (n,) the labels; nan where nothing has moved yet.
        """
        own = np.sign(second)[:, None] == y
        totals = np.sum(self.rho * own, axis=1)
        smallest = totals.min(axis=1)
        return np.asarray(np.divide(totals.max(axis=1), smallest, out=np.full(len(totals), np.nan), where=smallest > 0))


def decomposition(run: Trajectory) -> Decomposition:
    """The data-correlated coefficients of a run whose second layer is fixed, exactly, at every saved time."""
    problem = run.problem
    if problem.network.layers != 2 or problem.network.trainable_layers[1]:
        raise InputError(f"the decomposition needs two layers, the second one fixed, found {problem.network}.")
    x = problem.x
    sizes = np.linalg.svd(x, compute_uv=False)
    if len(x) > x.shape[1] or sizes[-1] < INDEPENDENT * sizes[0]:
        raise InputError(
            "the decomposition needs linearly independent samples, or its coefficients are not unique; "
            f"found {len(x)} samples of rank {int(np.sum(sizes > INDEPENDENT * sizes[0]))}."
        )
    squares = np.sum(x**2, axis=1)
    moved = run.weights[0] - problem.weights[0]
    pseudo_inverse = np.linalg.pinv(x)
    rho = moved @ pseudo_inverse * squares
    left = moved - (rho / squares) @ x
    size = np.linalg.norm(run.weights[0], axis=(1, 2))
    return Decomposition(rho, np.linalg.norm(left, axis=(1, 2)) / size)


def last_switch(run: Trajectory) -> int:
    """Index of the last saved time at which some pair (neuron, sample) is on another side of its kink than at the end.

    After it the patterns are frozen; -1 if they never change.
    """
    final = patterns(run.final, run.problem.x)
    differs = [bool((patterns(run.weights_at(k), run.problem.x) != final).any()) for k in range(len(run))]
    return int(np.flatnonzero(differs)[-1]) if any(differs) else -1


def loss_slopes(run: Trajectory) -> Array:
    """d ln L / d ln t between neighbouring saved times, (t - 1,); times must be positive."""
    if isinstance(run, LongTrajectory):
        log_t, log_loss = run.log10_times * np.log(10.0), run.log_loss
    else:
        if run.times[0] <= 0:
            raise InputError(f"the slope in ln t needs positive times, found t = {run.times[0]:g}; leave out the start.")
        log_t, log_loss = np.log(run.times), np.log(run.loss)
    return np.asarray(np.diff(log_loss) / np.diff(log_t))


def increment_ratios(run: Trajectory) -> Array:
    """Rise of the margins y_i f(x_i) from one saved step of gradient descent to the next, (t - 1, n), in the unit of Kou et al.

    The unit is (eta / (n m)) |l'_i| |x_i|^2 with m neurons of either sign; they bound the ratio by 1/5 and 3. Every step must
    have been saved.
    """
    problem = run.problem
    if run.statistics.get("steps") != len(run) - 1 or "learning_rate" not in run.provenance:
        raise InputError(
            f"increments need a run of gradient descent with every step saved, found {len(run)} saved times "
            f"of {run.statistics.get('steps')} steps; use descend(..., record_every=1)."
        )
    outputs = run.outputs()
    pulls = np.abs(problem.loss.pull(problem.y, outputs[:-1]))
    half = problem.network.widths[0] / 2.0
    unit = run.provenance["learning_rate"] / (len(problem.y) * half) * pulls * np.sum(problem.x**2, axis=1)
    return np.asarray(np.diff(problem.y * outputs, axis=0) / unit)
