"""Does the direction of the weights converge, and does any neuron keep switching?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..dataset import Dataset
from ..datasets import nearly_orthogonal
from ..long_trajectory import LongTrajectory
from ..plots import style
from ..problem import Problem
from .problems import far_run, fixed_layer_problem, separable_gaussian, trained_problem
from .study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure


LOG10_TIMES = 10.0 ** np.arange(1, 8)
LATE = (1e1, 1e2, 1e4, 1e6)  # log10 t after which events are counted
SLOW = 0.3  # directions that change less than this power of ln t fall behind the (ln t)^(-1/2) of theory


def direction_convergence(seeds: int = 10) -> Study:
    """Change of theta/|theta| from one power of ten of log t to the next, and events at ever later times."""
    runs = [[far_run(_problem(kind, seed), LOG10_TIMES) for seed in range(seeds)] for kind in range(len(KINDS))]
    changes = np.array([[_changes(run) for run in row] for row in runs])
    late = np.array([[[np.sum(_event_times(run) > after) for after in LATE] for run in row] for row in runs])
    last = np.array([max(float(_event_times(run).max(initial=-np.inf)) for run in row) for row in runs])
    powers = np.log10(changes[:, :, -1] / changes[:, :, 1]) / (changes.shape[2] - 2)
    parts = [
        f"For a {kind}, the change is at most {changes[k, :, -1].max():.1e} over the last power of ten of log t and falls like (ln t)^p "
        f"with a median p of {np.median(powers[k]):.2f} (p > {-SLOW:g} in {int(np.sum(powers[k] > -SLOW))} of {seeds} runs); "
        f"{int(late[k, :, 0].sum())} events come after t = 10^10, {int(late[k, :, 1].sum())} after 10^100, "
        f"{int(late[k, :, 2].sum())} after 10^10,000 and {int(late[k, :, 3].sum())} after 10^1,000,000, the last at "
        f"t = 10^{last[k]:,.0f}"
        for k, kind in enumerate(KINDS)
    ]
    again = max(_most_meetings(run) for row in runs for run in row)
    finding = (
        ". ".join(parts)
        + f". After t = 10^10 no neuron meets the same kink more than {again} times, and events thin out: nothing "
        "is seen to switch without end. With a fixed second layer the direction converges as fast as margins do. With both layers "
        "trained it creeps: extrapolating the fitted powers it converges, but the direction at t = 10^100, let alone that of any run "
        "of gradient descent, is not yet the limit."
    )
    return Study(
        name="direction_convergence",
        question="Does the direction of ReLU networks converge, and do neurons stop switching?",
        source="Kou, Chen & Gu 2023, what its main results leave open",
        finding=finding,
        numbers={
            "log10_time": (("time",), LOG10_TIMES),
            "change": (("kind", "seed", "interval"), changes),
            "late_events": (("kind", "seed", "after"), late),
        },
        draw=partial(_draw, changes, runs),
    )


KINDS = (
    "fixed second layer and nearly orthogonal samples",
    "trained second layer and linearly separable samples",
    "trained second layer and random labels",
)


def _problem(kind: int, seed: int) -> Problem:
    if kind == 0:
        return fixed_layer_problem(nearly_orthogonal(8, 60, constant=2.0, seed=seed), 0.0, 8, seed=seed)
    data = separable_gaussian(12, 3, seed)
    if kind == 2:
        rng = np.random.default_rng([3, seed])
        labels = rng.permutation(np.where(np.arange(12) % 2, -1.0, 1.0))
        data = Dataset(rng.standard_normal((12, 6)), labels, "random labels")
    return trained_problem(data, 20, 1e-2, seed)


def _changes(run: LongTrajectory) -> Array:
    """|theta/|theta| - the same at the saved time before|, theta the weights that train, (t - 1,)."""
    layers = [
        w.reshape(len(run), -1)
        for w, trains in zip(run.weights, run.problem.network.trainable_layers, strict=True)
        if trains
    ]
    theta = np.concatenate(layers, axis=1)
    units = theta / np.linalg.norm(theta, axis=1, keepdims=True)
    return np.asarray(np.linalg.norm(np.diff(units, axis=0), axis=1))


def _event_times(run: LongTrajectory) -> Array:
    """log10 t of all events."""
    return run.events.time if run.events is not None else np.empty(0)


def _most_meetings(run: LongTrajectory) -> int:
    """How often one neuron meets one kink after t = 10^10, at most."""
    if run.events is None:
        return 0
    late = (run.events.time > LATE[0]) & (run.events.line >= 0)
    _, counts = np.unique(np.stack([run.events.neuron[late], run.events.line[late]]), axis=1, return_counts=True)
    return int(counts.max(initial=0))


@style.paper
def _draw(changes: Array, runs: list[list[LongTrajectory]]) -> Figure:
    figure, (left, right) = style.panels(9.4, 3.0, columns=2)
    for k, kind in enumerate(KINDS):
        left.loglog(LOG10_TIMES[1:], changes[k].T, "-", linewidth=0.7, color=style.colour(k))
        times = np.sort(np.concatenate([_event_times(run) for run in runs[k]]))
        times = times[times > 1.0]
        right.loglog(times, np.arange(len(times), 0, -1), color=style.colour(k), label=kind)
    left.set(xlabel="log₁₀(time / τ)", ylabel="change of direction since a tenth")
    right.set(xlabel="log₁₀(time / τ)", ylabel="events still to come")
    style.legend_beside(right)
    return figure
