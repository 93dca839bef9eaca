"""What all figures share: sizes, fonts, a colour-blind-safe palette, and figures that need no display."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache, wraps
from io import BytesIO
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from ..arrays import Array, Mask
from ..errors import InputError

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

P = ParamSpec("P")
Drawn = TypeVar("Drawn")

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


def paper(draw: Callable[P, Drawn]) -> Callable[P, Drawn]:
    """Draw a figure with the shared settings, leaving the user's own matplotlib settings alone."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Drawn:
        import matplotlib

        with matplotlib.rc_context(_SETTINGS):  # type: ignore[arg-type]
            return draw(*args, **kwargs)

    return drawn


def panels(
    width: float,
    height: float,
    rows: int = 1,
    columns: int = 1,
    equal_sides: bool = False,
    ax: Axes | Sequence[Axes] | None = None,
    **grid: Any,
) -> tuple[Figure, list[Axes]]:
    """A figure of that size in inches without global state (no pyplot), and its axes row by row.

    Where the user brings axes, those and their figure: one for one panel, a list of as many as there are panels else.
    """
    if ax is not None:
        return _of_the_user(ax, rows * columns)
    figure = _figure_class()(figsize=(width, height), layout="compressed" if equal_sides else "constrained", dpi=150)
    axes: list[Axes] = list(figure.subplots(rows, columns, squeeze=False, **grid).ravel())
    for ax in axes:
        # ticks are made lazily, outside of `paper`, so their size is set here for good
        ax.tick_params(which="both", labelsize=TICK_SIZE, width=0.8)
    return figure, axes


def _of_the_user(ax: Axes | Sequence[Axes], count: int) -> tuple[Figure, list[Axes]]:
    from matplotlib.axes import Axes

    axes: list[Any] = [ax] if isinstance(ax, Axes) else list(np.ravel(np.asarray(ax, dtype=object)))
    if len(axes) != count or not all(isinstance(one, Axes) for one in axes):
        found = f"{len(axes)} axes" if all(isinstance(one, Axes) for one in axes) else repr(ax)
        raise InputError(
            f"ax must be {'a matplotlib axes' if count == 1 else f'a list of {count} matplotlib axes, one for each panel'}, "
            f"found {found}."
        )
    return axes[0].figure.figure, axes


@cache
def _figure_class() -> type[Figure]:
    """Figures that notebooks show without any magic, though no pyplot knows them."""
    from matplotlib import figure

    class Figure(figure.Figure):
        def _repr_png_(self) -> bytes:
            file = BytesIO()
            self.savefig(file, format="png")
            return file.getvalue()

        def show(self, warn: bool = True) -> None:
            """Show the figure in a notebook; there is no window elsewhere."""
            ipython = sys.modules.get("IPython")
            if ipython is None or ipython.get_ipython() is None:
                raise InputError(
                    "a window needs pyplot, and this figure has none; save it by figure.savefig('name.png'), "
                    "or draw on axes of pyplot (ax=) and call plt.show()."
                )
            ipython.display.display(self)

    return Figure


def legend_beside(ax: Axes, handles: Sequence[Artist] | None = None) -> Legend:
    """A legend right of the axes, where it never covers a curve; inside them where no layout would make room for it.

    It names what is drawn on these axes, or the `handles`.
    """
    named = {} if handles is None else {"handles": handles}
    if ax.figure.figure.get_layout_engine() is None:
        return ax.legend(loc="best", **named)
    return ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02), borderaxespad=0.0, handlelength=1.8, **named)


def from_zero(ax: Axes) -> None:
    """A linear axis from zero to a little above all that is drawn, so that nothing flat lies on the frame."""
    high = ax.dataLim.y1
    if np.isfinite(high) and high > 0:
        ax.set_ylim(0.0, 1.05 * high)


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
