"""Prediction against simulation: the error at every time, and where the two diverge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .arrays import Array
from .deprecation import warn_renamed
from .errors import InputError, require_kind
from .problem import Problem
from .trajectory import Status, Trajectory

SAME_TIME = 1e-12  # relative: times closer than this differ by rounding only
ENDED_EARLY = frozenset(Status) - {Status.FINISHED, Status.PREDICTED}
ERRORS = ("relative_loss_error", "loss_error", "relative_function_error", "function_error")


def compare(prediction: Trajectory, run: Trajectory) -> Comparison:
    """Compare two trajectories of one problem, time by time.

    The times must be the same; nothing is interpolated. One of the two may have ended early: then they are compared at the
    times it reached, without the moment at which it stopped.

    >>> import rectilinear as rl
    >>> data = rl.datasets.six_points()
    >>> net = rl.Network(inputs=2, widths=(8,), alpha=1.0)
    >>> problem = rl.Problem(data, net, net.init(scale=0.1, seed=0))
    >>> flow = rl.simulate(problem, times=[0.0, 0.5, 1.0])
    >>> steps = rl.descend(problem, learning_rate=0.01, steps=100, record_every=50)
    >>> comparison = compare(steps, flow)
    >>> bool(comparison.relative_loss_error.max() < 1e-2)
    True
    >>> comparison.diverges_at(0.5) is None
    True
    """
    for one in (prediction, run):
        require_kind("compare", one, Trajectory, "simulate, descend and predict return")
    _require_one_problem(prediction.problem, run.problem)
    return Comparison(prediction, run, _common_times(prediction, run))


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Errors of `prediction` against `run` at the `times` (t,) both have.

    Relative errors are relative to the run at the same time (0 where both vanish, inf where only the run does). The function
    errors are root mean squares over the training inputs, and None where either trajectory predicts the loss only.
    """

    prediction: Trajectory
    run: Trajectory
    times: Array

    @cached_property
    def loss_error(self) -> Array:
        """|L_prediction - L_run|, (t,)."""
        return np.abs(self._common(self.prediction.loss) - self._common(self.run.loss))

    @cached_property
    def relative_loss_error(self) -> Array:
        """|L_prediction - L_run| / L_run, (t,)."""
        return _relative(self.loss_error, self._common(self.run.loss))

    @cached_property
    def function_error(self) -> Array | None:
        """<(f_prediction - f_run)^2>^(1/2) on the training inputs, (t,)."""
        outputs = self._outputs
        return None if outputs is None else _root_mean_square(outputs[0] - outputs[1])

    @cached_property
    def relative_function_error(self) -> Array | None:
        """<(f_prediction - f_run)^2>^(1/2) / <f_run^2>^(1/2) on the training inputs, (t,)."""
        outputs, error = self._outputs, self.function_error
        return None if outputs is None or error is None else _relative(error, _root_mean_square(outputs[1]))

    def diverges_at(self, tolerance: float, error: str = "relative_loss_error") -> float | None:
        """The first time at which the error of that name exceeds `tolerance`; None if it never does."""
        if error not in ERRORS:
            raise InputError(f"error must be one of {', '.join(ERRORS)}, found {error!r}.")
        values = getattr(self, error)
        if values is None:
            raise InputError(
                f"{error} needs the functions of both trajectories, and one of them predicts the loss only; "
                "use relative_loss_error or loss_error."
            )
        beyond = np.flatnonzero(~(values <= tolerance))  # so that nan counts as beyond
        return float(self.times[beyond[0]]) if beyond.size else None

    def parts_at(self, tolerance: float, error: str = "relative_loss_error") -> float | None:
        """The old name of `diverges_at`."""
        warn_renamed("Comparison.parts_at", "Comparison.diverges_at")
        return self.diverges_at(tolerance, error)

    def __repr__(self) -> str:
        rows = [
            ("problem", repr(self.run.problem).removeprefix("Problem: ")),
            ("times", f"{len(self.times)} from {self.times[0]:g} to {self.times[-1]:g}"),
            ("loss", self._summary(self.loss_error, self.relative_loss_error)),
            ("function", self._summary(self.function_error, self.relative_function_error)),
            ("diverge", f"loss off by 1 %: {self._when(0.01)}; by 10 %: {self._when(0.1)}"),
        ]
        return "\n".join(["Comparison", *(f"  {name:<9} {text}" for name, text in rows)])

    def _summary(self, absolute: Array | None, relative: Array | None) -> str:
        if absolute is None or relative is None:
            return "not compared: one of the two predicts the loss only"
        worst = int(np.argmax(absolute))
        return (
            f"largest error {absolute[worst]:.2g} at t = {self.times[worst]:g}, largest relative error {relative.max():.2g}"
        )

    def _when(self, tolerance: float) -> str:
        time = self.diverges_at(tolerance)
        return "never" if time is None else f"t = {time:g}"

    @cached_property
    def _outputs(self) -> tuple[Array, Array] | None:
        try:
            return self._common(self.prediction.outputs()), self._common(self.run.outputs())
        except InputError:  # a theorem that speaks of the loss alone
            return None

    def _common(self, values: Array) -> Array:
        return values[: len(self.times)]


def _root_mean_square(values: Array) -> Array:
    return np.asarray(np.sqrt(np.mean(values**2, axis=1)))


def _relative(error: Array, size: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(error == 0.0, 0.0, error / size))


def _require_one_problem(prediction: Problem, run: Problem) -> None:
    same = {
        "inputs": np.array_equal(prediction.data.x, run.data.x),
        "labels": np.array_equal(prediction.y, run.y),
        "networks": prediction.network == run.network,
        "starting weights": all(map(np.array_equal, prediction.weights, run.weights)),
        "losses": prediction.loss.name == run.loss.name,
        "l2": prediction.l2 == run.l2,
    }
    different = [name for name, equal in same.items() if not equal]
    if different:
        raise InputError(
            f"both trajectories must be of one problem, found different {', '.join(different)}; "
            "predict the problem that you simulate."
        )


def _common_times(prediction: Trajectory, run: Trajectory) -> Array:
    shared = min(len(prediction), len(run))
    same = np.isclose(prediction.times[:shared], run.times[:shared], rtol=SAME_TIME, atol=0.0)
    if shared and not same[-1] and any(len(one) == shared and one.status in ENDED_EARLY for one in (prediction, run)):
        shared -= 1
    if not shared or not same[:shared].all():
        raise InputError(
            f"both trajectories must have the same times, found {_times(prediction.times)} and {_times(run.times)}; "
            "nothing is interpolated: ask both for the same times."
        )
    return run.times[:shared]


def _times(times: Array) -> str:
    return f"{len(times)} from {times[0]:g} to {times[-1]:g}" if len(times) else "none"
