"""A sweep at a glance: a measure along one axis with the spread over seeds, or over two axes as a map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..errors import InputError, require_kind
from . import style

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SEEDS = ("seed", "data_seed")  # axes that are averaged over
SPREAD = (0.16, 0.84)  # quantiles of the band
DECADES = 1.3  # of an axis or of values beyond which a scale is logarithmic


@style.paper
def sweep_overview(table: xarray.Dataset, measure: str | None = None, *, ax: Axes | None = None) -> Figure:
    """The median of `measure` (the first one by default) over seeds: a curve with its spread for one axis, a map for two.

    `ax` is drawn on if it is given.

    >>> import numpy as np, xarray
    >>> from rectilinear import plots
    >>> status = (("delta", "seed"), np.full((3, 2), "done"))
    >>> numbers = (("delta", "seed"), np.arange(6.0).reshape(3, 2))
    >>> plots.sweep_overview(xarray.Dataset({"status": status, "height": numbers}, {"delta": [0.1, 0.2, 0.3]}))
    <Figure size 690x450 with 1 Axes>
    """
    import xarray

    require_kind("sweep_overview", table, xarray.Dataset, "sweep and open_sweep return")
    axes = table["status"].dims
    numbers = [str(name) for name in table.data_vars if table[name].dims == axes and table[name].dtype.kind == "f"]
    chosen = measure or next(iter(numbers), "")
    if chosen not in numbers:
        raise InputError(f"measure must be one of {', '.join(numbers) or 'those that are numbers'}, found {chosen!r}.")
    seeds = [axis for axis in axes if axis in SEEDS]
    shown = [str(axis) for axis in axes if axis not in SEEDS]
    if len(shown) > 2:
        raise InputError(
            f"one or two axes besides seeds can be drawn, found {', '.join(shown)}; choose with table.sel(...)."
        )
    values = table[chosen].where(np.isfinite(table[chosen]))
    figure, (panel,) = style.panels(4.6, 3.0, ax=ax)
    if len(shown) == 2:
        _map(panel, values.median(seeds) if seeds else values, shown, chosen)
    elif shown:
        _curve(panel, values, shown[0], seeds)
        panel.set_ylabel(chosen)
    else:
        panel.plot(np.sort(values.values.ravel()), "o", color=style.colour(0), markersize=3)
        panel.set(xlabel="seeds, sorted", ylabel=chosen)
    return figure


def _curve(ax: Axes, values: xarray.DataArray, axis: str, seeds: list[str]) -> None:
    x, names = _positions(values[axis].values)
    middle = (values.median(seeds) if seeds else values).values
    if seeds:
        low, high = (values.quantile(share, seeds).values for share in SPREAD)
        count = int(np.prod([values.sizes[axis] for axis in seeds]))
        band = f"{100 * (SPREAD[1] - SPREAD[0]):.0f} % of {count} seeds"
        ax.fill_between(x, low, high, color=style.colour(0), alpha=0.25, linewidth=0, label=band)
    ax.plot(x, middle, color=style.colour(0), marker="o", markersize=3, label="median")
    if seeds:
        ax.legend()
    _label(ax, "x", axis, x, names)
    if _spans_decades(middle[np.isfinite(middle)]):
        ax.set_yscale("log")


def _map(ax: Axes, values: xarray.DataArray, shown: list[str], measure: str) -> None:
    from matplotlib.colors import LogNorm

    down, along = shown
    (y, y_names), (x, x_names) = _positions(values[down].values), _positions(values[along].values)
    heights = values.transpose(down, along).values
    norm = LogNorm() if _spans_decades(heights[np.isfinite(heights)]) else None
    image = ax.pcolormesh(x, y, heights, shading="nearest", cmap="viridis", norm=norm)
    _label(ax, "x", along, x, x_names)
    _label(ax, "y", down, y, y_names)
    bar = ax.figure.colorbar(image, ax=ax, label=measure)
    bar.ax.tick_params(labelsize=style.TICK_SIZE)


def _positions(values: Array) -> tuple[Array, list[str] | None]:
    """Where values stand on an axis: numbers where they are, words one after the other."""
    if values.dtype.kind in "if":
        return values.astype(np.float64), None
    return np.arange(len(values), dtype=np.float64), [str(value) for value in values]


def _label(ax: Axes, side: str, name: str, positions: Array, words: list[str] | None) -> None:
    ax.set(**{f"{side}label": name})
    if words is not None:
        ax.set(**{f"{side}ticks": positions, f"{side}ticklabels": words})
    elif _spans_decades(positions):
        ax.set(**{f"{side}scale": "log"})


def _spans_decades(values: Array) -> bool:
    return bool(len(values) > 1 and values.min() > 0 and np.log10(values.max() / values.min()) > DECADES)
