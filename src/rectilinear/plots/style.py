"""What all figures share: sizes, fonts, a colour-blind-safe palette, and figures that need no display."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from io import BytesIO
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

from ..arrays import Array, Mask
from ..errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

P = ParamSpec("P")

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666")  # after Okabe and Ito
POSITIVE, NEGATIVE, NEUTRAL = "#D55E00", "#0072B2", "#666666"
DIVERGING = "RdBu_r"  # red positive, blue negative, like the two colours above
PREDICTION: dict[str, Any] = {"color": "black", "linestyle": (0, (4, 2)), "linewidth": 1.2}
TIME = "time / τ"
TICK_SIZE = 8.5

_SETTINGS = {
    "font.size": 9.5,
    "axes.labelsize": 10,
    "axes.titlesize": 10,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.xmargin": 0.02,
}


def paper(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Draw a figure with the shared settings, leaving the user's own matplotlib settings alone."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Figure:
        import matplotlib

        with matplotlib.rc_context(_SETTINGS):  # type: ignore[arg-type]
            return draw(*args, **kwargs)

    return drawn


def panels(
    width: float, height: float, rows: int = 1, columns: int = 1, equal_sides: bool = False, **grid: Any
) -> tuple[Figure, list[Axes]]:
    """A figure of that size in inches without global state (no pyplot), and its axes row by row."""
    figure = _figure_class()(figsize=(width, height), layout="compressed" if equal_sides else "constrained", dpi=150)
    axes: list[Axes] = list(figure.subplots(rows, columns, squeeze=False, **grid).ravel())
    for ax in axes:
        # ticks are made lazily, outside of `paper`, so their size is set here for good
        ax.tick_params(which="both", labelsize=TICK_SIZE, width=0.8)
    return figure, axes


@cache
def _figure_class() -> type[Figure]:
    """Figures that notebooks show without any magic, though no pyplot knows them."""
    from matplotlib import figure

    class Figure(figure.Figure):
        def _repr_png_(self) -> bytes:
            file = BytesIO()
            self.savefig(file, format="png")
            return file.getvalue()

    return Figure


def legend_beside(ax: Axes) -> Legend:
    """A legend right of the axes, where it never covers a curve."""
    return ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02), borderaxespad=0.0, handlelength=1.8)


def colour(k: int) -> str:
    return PALETTE[k % len(PALETTE)]


def require_plane(inputs: int, what: str) -> None:
    if inputs != 2:
        raise InputError(f"{what} draws the plane of two inputs, found {inputs} inputs; use it on two-dimensional data.")


def showable(times: Array, log_time: bool) -> Mask:
    """Which times can be shown: not infinity, to which predictions reach, nor t = 0 on a logarithmic axis."""
    return np.isfinite(times) & ((times > 0) if log_time else True)


def shade(rank: int, count: int) -> tuple[float, float, float]:
    """The colour of the rank-th of `count` ordered curves: the first dark blue, the last pale."""
    from matplotlib.colors import to_rgb

    towards_white = 0.8 * rank / max(count - 1, 1)
    red, green, blue = (part + (1.0 - part) * towards_white for part in to_rgb(NEGATIVE))
    return red, green, blue
