"""A run as a film: neurons, output and loss, at scales that stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array, Indices
from ..errors import InputError
from ..trajectory import Trajectory
from . import style
from .film import Film
from .neuron_directions import draw_data, frame
from .output_field import draw_boundary, draw_field, field_on, square_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.contour import QuadContourSet

GRID = 161  # points a side of the field; odd, so that the origin is one of them
Update = Callable[[int], None]  # puts the k-th frame on a panel


def animate(
    run: Trajectory, *, frames: int = 80, seconds: float = 8.0, log_time: bool = False, log_loss: bool = False
) -> Film:
    """First-layer neurons, output and loss of a run with a moving mark, as a film: `save("run.gif")`, .mp4 or .html.

    Frames are saved times of the run, at most `frames` of them, evenly among its list: ask `simulate` for the times that
    should be seen. All scales stay the same, so that growth is seen: neurons are drawn in units of the longest |w_h| that any
    frame has, coloured by the sign of a_h (two layers), and outputs are coloured up to the largest one of any frame.

    With two inputs the plane is drawn, as by `neuron_directions` and `output_field`. With more, neurons are seen in the plane
    of the two directions in which the first layer is largest in the end, whose share of its squared norm the title tells, and
    the output is drawn against the label of every sample.

    >>> import numpy as np, rectilinear as rl
    >>> net = rl.Network(inputs=2, widths=(20,))
    >>> problem = rl.Problem(rl.datasets.six_points(), net, net.init(scale=0.01, seed=0))
    >>> film = rl.plots.animate(rl.simulate(problem, times=np.linspace(0, 20, 21)))
    >>> film
    Film: 21 frames in 8 s; .save('name.gif') writes it, also .mp4 or .html
    >>> film.save("run.gif")  # doctest: +SKIP
    """
    if not isinstance(run, Trajectory):
        raise InputError(f"animate needs a run, as simulate or descend return it, found {type(run).__name__}.")
    if len(run.weights) != run.problem.network.layers:
        raise InputError("animate needs the weights over time, and this prediction has none; animate what simulate returns.")
    if isinstance(frames, bool) or not isinstance(frames, (int, np.integer)) or frames < 2 or not 0.0 < seconds < np.inf:
        raise InputError(
            f"a film needs two frames at least and a positive time, found frames={frames!r} and seconds={seconds!r}."
        )
    shown = np.flatnonzero(style.showable(run.times, log_time))
    if len(shown) < 2:
        raise InputError(f"animate needs two finite times{' after 0' if log_time else ''} at least, found {len(shown)}.")
    chosen = np.unique(shown[np.linspace(0, len(shown) - 1, min(frames, len(shown))).round().astype(int)])
    return _film(run, shown, chosen, seconds, log_time, log_loss)


@style.paper
def _film(run: Trajectory, shown: Indices, chosen: Indices, seconds: float, log_time: bool, log_loss: bool) -> Film:
    figure, panels = style.panels(9.6, 3.3, columns=3, width_ratios=(1.1, 1.2, 1.2))
    neurons, output, loss = panels
    updates = [
        _neurons(neurons, run, chosen),
        _field(output, run, chosen) if run.problem.data.inputs == 2 else _outputs(output, run, chosen),
        _loss(loss, run, shown, chosen, log_time, log_loss),
    ]

    def draw(k: int) -> None:
        for update in updates:
            update(k)

    draw(0)
    named = sum(len(panel.get_legend_handles_labels()[1]) for panel in panels)
    if named:
        figure.legend(loc="outside lower center", ncols=named, handlelength=1.6, columnspacing=1.4)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # laid out once, so that nothing jumps
    return Film(figure, panels, draw, len(chosen), seconds)


def _neurons(ax: Axes, run: Trajectory, chosen: Indices) -> Update:
    from matplotlib.collections import LineCollection

    data, network = run.problem.data, run.problem.network
    first = run.weights[0][chosen][:, :, : data.inputs]  # without the bias, if there is one
    points, title = _in_a_plane(first)
    points = points / (np.linalg.norm(points, axis=2).max() or 1.0)
    if data.inputs == 2 and not network.bias:
        draw_data(ax, data)
    rays = LineCollection([], linewidths=0.8, alpha=0.5, zorder=2)
    ax.add_collection(rays, autolim=False)
    tips = ax.scatter(points[0, :, 0], points[0, :, 1], s=14, linewidths=0, alpha=0.85, zorder=4)
    if network.layers == 2:
        for colour, sign in ((style.POSITIVE, ">"), (style.NEGATIVE, "<")):
            ax.scatter([], [], s=14, linewidths=0, color=colour, label=f"neurons, $a_h {sign} 0$")
    frame(ax, "longest $|w_h|$")
    if data.inputs > 2:
        ax.set(xlabel="main direction", ylabel="second direction")
    ax.set_title(title, y=1.0)

    def update(k: int) -> None:
        colours = [style.NEUTRAL] * len(points[k])
        if network.layers == 2:
            colours = [style.POSITIVE if a > 0 else style.NEGATIVE for a in run.weights[1][chosen[k], 0]]
        rays.set_segments(list(np.stack([np.zeros_like(points[k]), points[k]], axis=1)))
        rays.set_color(colours)
        tips.set_offsets(points[k])
        tips.set_color(colours)

    return update


def _in_a_plane(first: Array) -> tuple[Array, str]:
    """Neurons (frames, h, d) in two coordinates, and the panel's title."""
    inputs = first.shape[2]
    if inputs <= 2:
        return np.pad(first, ((0, 0), (0, 0), (0, 2 - inputs))), "neurons"
    _, sizes, directions = np.linalg.svd(first[-1], full_matrices=False)
    plane = np.zeros((2, inputs))
    plane[: len(directions[:2])] = directions[:2]
    share = np.sum(sizes[:2] ** 2) / (np.sum(sizes**2) or 1.0)
    return first @ plane.T, f"neurons, main plane ({100 * share:.3g} %)"


def _field(ax: Axes, run: Trajectory, chosen: Indices) -> Update:
    side = square_of(run.problem.data, GRID)
    fields = np.array([field_on(side, run.problem.network, run.weights_at(k)) for k in chosen], dtype=np.float32)
    nothing = np.zeros_like(fields[0])  # has no boundary, which is drawn anew in every frame
    image = draw_field(ax, side, nothing, float(np.abs(fields).max()) or 1.0, run.problem.data)
    image.colorbar.set_label("")  # type: ignore[union-attr]  # the title says it
    ax.set_title("output $f(x)$", y=1.0)
    boundary: list[QuadContourSet] = []

    def update(k: int) -> None:
        image.set_data(fields[k])
        while boundary:
            boundary.pop().remove()
        drawn = draw_boundary(ax, side, fields[k])
        if drawn is not None:
            boundary.append(drawn)

    return update


def _outputs(ax: Axes, run: Trajectory, chosen: Indices) -> Update:
    y = run.problem.data.y
    outputs = np.array([run.problem.network.output(run.weights_at(k), run.problem.data.x) for k in chosen])
    ends = [min(y.min(), outputs.min()), max(y.max(), outputs.max())]
    room = 0.06 * ((ends[1] - ends[0]) or 1.0)
    ax.plot(ends, ends, color=style.NEUTRAL, linewidth=0.8, zorder=1, label="$f(x) = y$")
    dots = ax.scatter(y, outputs[0], s=9, linewidths=0, alpha=0.6, color=style.colour(2))
    ax.set(xlabel="label $y$", ylabel="output $f(x)$")
    ax.set_title("output of every sample", y=1.0)
    ax.set(ylim=(ends[0] - room, ends[1] + room))

    def update(k: int) -> None:
        dots.set_offsets(np.stack([y, outputs[k]], axis=1))

    return update


def _loss(ax: Axes, run: Trajectory, shown: Indices, chosen: Indices, log_time: bool, log_loss: bool) -> Update:
    times, losses = run.times[shown], run.loss[shown]
    ax.plot(times, losses, color="0.8", linewidth=1.8)
    (so_far,) = ax.plot([], [], color=style.colour(0), linewidth=1.8)
    (mark,) = ax.plot([], [], "o", color=style.colour(1), markersize=6, clip_on=False, zorder=4)
    ax.set(xlabel=style.TIME, ylabel="loss", xscale="log" if log_time else "linear", yscale="log" if log_loss else "linear")
    ax.set_title("t = 0", y=1.0)
    if not log_loss:
        style.from_zero(ax)

    def update(k: int) -> None:
        past = times <= run.times[chosen[k]]
        so_far.set_data(times[past], losses[past])
        mark.set_data([run.times[chosen[k]]], [run.loss[chosen[k]]])
        ax.title.set_text(f"t = {run.times[chosen[k]]:.4g}")

    return update
