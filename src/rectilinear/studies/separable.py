"""Linearly but not orthogonally separable data: what kinds of solutions there are."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Mask
from ..network import Weights
from ..plots import style
from ..reduced.max_margin import max_margin
from .problems import far_run, separable_gaussian, trained_problem
from .study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure


LOG10_TIMES = (1e5, 1e6)
SAMPLES, INPUTS, WIDTH, SCALE = 12, 3, 20, 1e-3
LEFT_OUT = 1e-6  # a normalised margin below it is zero: the sample is not fitted
COUNTS = 1e-3  # share of the output above which a neuron counts
SAME_DIRECTION = 0.999  # cosine


def separable_solutions(data_sets: int = 20, starts: int = 10) -> Study:
    """Samples fitted, margins against the linear SVM's, and directions of neurons, over data sets and starts."""
    margins = np.empty((data_sets, starts))  # smallest normalised margin in units of the linear classifier's
    left_out, directions = np.empty((data_sets, starts), dtype=int), np.empty((data_sets, starts, 2), dtype=int)
    for k in range(data_sets):
        data = separable_gaussian(SAMPLES, INPUTS, seed=k)
        linear = max_margin(data.y[:, None] * data.x).margin / 4.0  # w.x takes two neurons of |theta|^2 = 2|w| each
        for seed in range(starts):
            run = far_run(trained_problem(data, WIDTH, SCALE, seed), LOG10_TIMES)
            reached = run.normalised_margins[-1]
            margins[k, seed], left_out[k, seed] = reached.min() / linear, np.sum(reached < LEFT_OUT)
            directions[k, seed] = [_directions(run.final, sign) for sign in (1.0, -1.0)]
    fits = left_out == 0
    mixed = int(np.sum(fits.any(axis=1) & ~fits.all(axis=1)))
    gains = margins[fits]
    several = int(np.sum(directions[fits].max(axis=1) > 1))
    finding = (
        f"Of {fits.size} runs on {data_sets} linearly separable data sets ({SAMPLES} Gaussian samples, {INPUTS} inputs, weights of "
        f"size {SCALE:g}) there are two kinds. {int(fits.sum())} fit every sample; their normalised margin is "
        f"{gains.min():.2f} to {gains.max():.2f} times (median {np.median(gains):.2f}) that of the linear max-margin classifier, "
        f"so they end at a bent boundary that is better than the line, with one direction for either sign in "
        f"{int(fits.sum()) - several} and more in {several} of them. The other {int((~fits).sum())} leave "
        f"{_listed(left_out[~fits])} sample(s) at f = 0, where every neuron is silent or held on the kink, although the data are "
        f"linearly separable. {mixed} of the data sets end in either kind, by the start; in {int(np.sum(~fits.any(axis=1)))} no "
        "start fits all samples."
    )
    return Study(
        name="separable_solutions",
        question="Where does training end on linearly, but not orthogonally separable data?",
        source="Phuong & Lampert 2021, beyond orthogonal separability",
        finding=finding,
        numbers={
            "margin_over_linear": (("data_set", "start"), margins),
            "left_out": (("data_set", "start"), left_out),
            "directions": (("data_set", "start", "sign"), directions),
        },
        draw=partial(_draw, margins, fits),
    )


def _listed(counts: NDArray[np.int_]) -> str:
    """The numbers that occur, "1 or 2"."""
    return " or ".join(str(count) for count in np.unique(counts)) or "no"


def _directions(weights: Weights, sign: float) -> int:
    """How many directions the neurons of one sign that count have."""
    first, second = weights[0], weights[1][0]
    lengths = np.linalg.norm(first, axis=1)
    shares = lengths * np.abs(second)
    chosen = np.flatnonzero((np.sign(second) == sign) & (shares > COUNTS * shares.sum()))
    found: list[Array] = []
    for h in chosen[np.argsort(-shares[chosen])]:
        unit = first[h] / lengths[h]
        if not any(unit @ other > SAME_DIRECTION for other in found):
            found.append(unit)
    return len(found)


@style.paper
def _draw(margins: Array, fits: Mask) -> Figure:
    figure, (ax,) = style.panels(6.4, 3.0)
    order = np.argsort(np.where(fits, margins, 0.0).mean(axis=1))
    for k, (chosen, label) in enumerate(((fits, "fits every sample"), (~fits, "leaves samples out"))):
        rows, columns = np.nonzero(chosen[order])
        shown = np.where(fits, margins, 0.0)[order][rows, columns]
        ax.plot(rows, shown, "o", markersize=3, color=style.colour(k), label=label)
    ax.axhline(1.0, color="black", linewidth=0.8, linestyle=":", label="linear classifier")
    ax.set(xlabel="data set", ylabel="margin / linear classifier's", xticks=())
    style.legend_beside(ax)
    return figure
