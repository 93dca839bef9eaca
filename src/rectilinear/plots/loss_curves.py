"""Loss against time, with predictions laid over simulations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..arrays import Array
from ..errors import InputError
from ..trajectory import Trajectory
from . import style

if TYPE_CHECKING:
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
) -> Figure:
    """Loss of each run (solid, coloured) and of each prediction (dashed, black) against time.

    `labels` name the runs. `rescale` gives the factor by which a trajectory's times are multiplied before they are shown, as
    (alpha + 1)/2 for Theorem 5 of Zhang et al.: `rescale=lambda run: (run.problem.network.alpha + 1) / 2`.

    >>> import rectilinear as rl
    >>> from rectilinear import plots
    >>> net = rl.Network(inputs=2, widths=(8,))
    >>> problem = rl.Problem(rl.datasets.six_points(), net, net.init(scale=0.1, seed=0))
    >>> plots.loss_curves(rl.descend(problem, learning_rate=0.02, steps=20, record_every=5))
    <Figure size 750x480 with 1 Axes>
    """
    shown = [runs] if isinstance(runs, Trajectory) else list(runs)
    overlays = [predictions] if isinstance(predictions, Trajectory) else list(predictions or ())
    if not shown:
        raise InputError("loss_curves needs at least one run, found none.")
    if labels is not None and len(labels) != len(shown):
        raise InputError(f"labels must name each of the {len(shown)} runs, found {len(labels)}.")

    figure, (ax,) = style.panels(5.0, 3.2)
    for k, run in enumerate(shown):
        ax.plot(*_curve(run, log_time, rescale), color=style.colour(k), label=None if labels is None else labels[k])
    for k, prediction in enumerate(overlays):
        ax.plot(*_curve(prediction, log_time, rescale), **style.PREDICTION, label="_" if k else "prediction")
    ax.set_xlabel(style.TIME if rescale is None else f"rescaled {style.TIME}")
    ax.set_ylabel("loss")
    if log_time:
        ax.set_xscale("log")
    if log_loss:
        ax.set_yscale("log")
    else:
        ax.set_ylim(bottom=0.0)
    if labels is not None or overlays:
        style.legend_beside(ax)
    return figure


def _curve(run: Trajectory, log_time: bool, rescale: Callable[[Trajectory], float] | None) -> tuple[Array, Array]:
    """Times and losses as they are shown."""
    shown = style.showable(run.times, log_time)
    return run.times[shown] * (1.0 if rescale is None else rescale(run)), run.loss[shown]
