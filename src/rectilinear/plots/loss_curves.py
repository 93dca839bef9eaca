"""Loss against time, with predictions laid over simulations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from ..arrays import Array
from ..errors import InputError
from ..prediction import Prediction
from ..trajectory import Trajectory
from . import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@style.paper
def loss_curves(
    runs: Trajectory | Sequence[Trajectory],
    *,
    labels: Sequence[str] | None = None,
    log_time: bool = False,
    log_loss: bool = False,
    predictions: Trajectory | Sequence[Trajectory] | None = None,
    rescale: Callable[[Trajectory], float] | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Loss of each run (solid, coloured) and of each prediction (dashed, black) against time.

    `labels` name the runs (else "simulation", where there are predictions), `ax` is drawn on if it is given. `rescale` gives the
    factor by which a trajectory's times are multiplied before they are shown, as (alpha + 1)/2 for Theorem 5 of Zhang et al.:
    `rescale=lambda run: (run.problem.network.alpha + 1) / 2`.

    >>> import rectilinear as rl
    >>> from rectilinear import plots
    >>> net = rl.Network(inputs=2, widths=(8,))
    >>> problem = rl.Problem(rl.datasets.six_points(), net, net.init(scale=0.1, seed=0))
    >>> plots.loss_curves(rl.descend(problem, learning_rate=0.02, steps=20, record_every=5))
    <Figure size 750x480 with 1 Axes>
    """
    shown, overlays = _listed(runs, "runs"), [] if predictions is None else _listed(predictions, "predictions")
    if not shown:
        raise InputError("loss_curves needs at least one run, found none.")
    if labels is not None and len(labels) != len(shown):
        raise InputError(f"labels must name each of the {len(shown)} runs, found {len(labels)}.")

    names = ["simulation", *["_"] * len(shown)] if labels is None else labels
    figure, (panel,) = style.panels(5.0, 3.2, ax=ax)
    for k, run in enumerate(shown):
        panel.plot(*_curve(run, log_time, rescale), color=style.colour(k), label=names[k])
    for k, prediction in enumerate(overlays):
        panel.plot(*_curve(prediction, log_time, rescale), **style.PREDICTION, label="_" if k else "prediction")
    panel.set_xlabel(style.TIME if rescale is None else f"rescaled {style.TIME}")
    panel.set_ylabel("loss")
    if log_time:
        panel.set_xscale("log")
    if log_loss:
        panel.set_yscale("log")
    else:
        style.from_zero(panel)
    if labels is not None or overlays:
        style.legend_beside(panel)
    return figure


def _listed(runs: Trajectory | Sequence[Trajectory], name: str) -> list[Trajectory]:
    if isinstance(runs, Trajectory):
        return [runs]
    listed = list(runs) if isinstance(runs, Iterable) else [runs]
    strange = [run for run in listed if not isinstance(run, Trajectory)]
    if strange:
        raise InputError(
            f"{name} must be what simulate, descend or predict return, or a list of it, found {type(strange[0]).__name__}."
        )
    return listed


def _curve(run: Trajectory, log_time: bool, rescale: Callable[[Trajectory], float] | None) -> tuple[Array, Array]:
    """Times and losses as they are shown."""
    shown = style.showable(run.times, log_time)
    if isinstance(run, Prediction):
        shown = shown & run.says_something
    return run.times[shown] * (1.0 if rescale is None else rescale(run)), run.loss[shown]
