"""What neurons did at kinks, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError, require_kind
from ..events import Kind
from ..trajectory import Trajectory
from . import style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKS = {
    Kind.CROSS: ("|", 0), Kind.HOLD: ("o", 1), Kind.RELEASE: ("x", 2), Kind.DEATH: ("v", 6), Kind.ORIGIN: ("D", 3), Kind.FORK: ("1", 5),
}  # fmt: skip
WORDS = {
    Kind.DEATH: "silent for good",
    Kind.ORIGIN: "reaches w = 0",
    Kind.FORK: "passes a fork",
}  # where the name is not the word
AT_LEAST = 1e-3  # where a logarithmic time axis begins, at the latest


@style.paper
def kink_events(run: Trajectory, *, ax: Axes | Sequence[Axes] | None = None) -> Figure:
    """A row for each neuron that met a kink: its events as marks, the times it slides as bars; below, the pattern groups, if any.

    `ax` takes the axes to draw on: two where there are groups (`run.group_counts`), one else.
    """
    require_kind("kink_events", run, Trajectory, "simulate returns")
    events = run.events
    if events is None:
        raise InputError(
            f"kink_events needs a run whose kinks were followed, found {run.provenance.get('method', 'none')!r}."
        )
    neurons = np.unique(events.neuron)
    row = {int(h): k for k, h in enumerate(neurons)}
    end = float(run.times[-1])
    grouped = run.group_counts is not None
    figure, (top, *below) = (
        style.panels(6.4, 4.6, rows=2, sharex=True, height_ratios=[3, 1], ax=ax)
        if grouped
        else style.panels(6.4, 3.6, ax=ax)
    )
    for h, stretches in enumerate(events.held(int(neurons.max(initial=-1)) + 1)):
        for since, until, _ in stretches:
            top.plot([max(since, AT_LEAST), min(until, end)], [row[h]] * 2, color=style.colour(4), linewidth=2.5, zorder=1)
    for kind, (marker, hue) in MARKS.items():
        these = events.kind == kind
        if these.any():
            heights = [row[int(h)] for h in events.neuron[these]]
            top.scatter(
                np.maximum(events.time[these], AT_LEAST), heights, marker=marker, s=16, linewidths=0.9, color=style.colour(hue),
                label=WORDS.get(kind, kind.name.lower()), zorder=2,
            )  # fmt: skip
    top.plot([], [], color=style.colour(4), linewidth=2.5, label="held: slides along its kink")
    top.set_ylabel("neuron (those that met a kink)")
    style.legend_beside(top)
    if run.group_counts is not None:
        changes = np.concatenate([run.group_counts, [[end, run.group_counts[-1, 1]]]])
        below[0].step(np.maximum(changes[:, 0], AT_LEAST), changes[:, 1], where="post", color=style.colour(0))
        below[0].set_ylabel("groups")
        below[0].set_ylim(bottom=0)
    last = below[0] if below else top
    last.set_xscale("log")
    last.set_xlabel(style.TIME)
    return figure
