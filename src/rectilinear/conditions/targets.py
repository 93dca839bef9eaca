"""Hypotheses on the labels: linear, expressible by two layers, linearly separable, orthogonally separable."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..dataset import Dataset
from ..remembered import remembered
from .budget import budget
from .finding import Finding, finding_to_precision, measured_finding, undecided
from .inputs import MAX_GRAM_SAMPLES

ROUNDING = 1e-10  # shares of squares and relative margins below it come from floating-point arithmetic
SEPARATING = 1e-9  # largest margin, relative to the largest sample, that the linear program can tell from zero
ROWS_AT_ONCE = 500  # constraints that the linear program starts from and takes in at a time
BLOCK = 4_000_000  # entries of the Gram matrix looked at at once


@remembered
def linear_target(data: Dataset) -> Finding:
    """y = w . x for some w; `measured` is the rms residual of the best w, relative to rms(y).

    >>> linear_target(Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, 3.0])).holds
    True
    """
    weights = np.linalg.lstsq(data.x, data.y, rcond=None)[0]
    residual = np.abs(data.y - data.x @ weights)
    scale = float(np.sqrt(np.mean(data.y**2))) or 1.0
    measured = float(np.sqrt(np.mean(residual**2))) / scale
    worst = int(np.argmax(residual))
    return finding_to_precision(
        "linear_target",
        measured,
        data.precision,
        "the labels are a linear function of the inputs",
        f"the best linear fit leaves {measured:.3g} of the labels' size, most at {data.sample(worst)}",
        (worst,),
    )


@remembered
def expressible_target(data: Dataset) -> Finding:
    """Some two-layer bias-free network fits the labels; `measured` is the share of <y^2> that none can (see `budget`)."""
    parts = budget(data)
    share = parts.fractions[2]
    threshold = max(ROUNDING, data.precision.tolerance**2)  # a share of squares
    if share <= threshold:
        sentence = "a wide enough two-layer bias-free network fits every label."
        return measured_finding("expressible_target", share, threshold, sentence)
    worst = int(np.argmax(np.abs(parts.inexpressible)))
    sentence = f"{100 * share:.3g} % of <y^2> is beyond every two-layer bias-free network, most at {data.sample(worst)}."
    return measured_finding("expressible_target", share, threshold, sentence, (worst,))


@remembered
def separable(data: Dataset) -> Finding:
    """y_i w . x_i > 0 for some w: the labels are linearly separable through the origin (a linear program).

    `measured` is the largest min_i y_i w . x_i over |w_j| <= 1, relative to the largest |x_i|_1; it holds where that exceeds
    `threshold`. Undecided for labels other than -1 and +1.
    """
    if (strange := _strange_label(data)) is not None:
        return undecided("separable", SEPARATING, strange, direction="above")
    signed = np.unique(data.y[:, None] * data.x + 0.0, axis=0)  # mirror images give the same constraint
    w, margin = _largest_margin(signed / np.abs(signed).sum(axis=1).max())
    if margin > SEPARATING:
        sentence = f"a hyperplane through the origin separates the classes with margin {margin:.3g}."
        witness = tuple(float(v) for v in w)
        return measured_finding("separable", margin, SEPARATING, sentence, witness, direction="above")
    sentence = "no hyperplane through the origin separates the classes."
    return measured_finding("separable", margin, SEPARATING, sentence, direction="above")


def _largest_margin(signed: Array) -> tuple[Array, float]:
    """max m with s_i . w >= m for every row s_i, |w_j| <= 1: w and m; or some w with an m that rules out separation.

    Only rows that bind matter, so the program starts from a few and takes in the most violated ones until none is left: its m
    falls towards the true one from above.
    """
    from scipy.optimize import linprog

    inputs = signed.shape[1]
    bounds = [(-1.0, 1.0)] * inputs + [(None, None)]
    chosen = np.arange(min(len(signed), ROWS_AT_ONCE))
    while True:
        # minimise -m subject to m - s_i . w <= 0
        constraints = np.concatenate([-signed[chosen], np.ones((len(chosen), 1))], axis=1)
        result = linprog(np.append(np.zeros(inputs), -1.0), constraints, np.zeros(len(chosen)), bounds=bounds)
        solution = np.asarray(result.x, dtype=np.float64)  # there is one: w = 0 is feasible and m is bounded
        w, margin = solution[:-1], float(solution[-1])
        margins = signed @ w
        violated = np.flatnonzero(margins < margin - ROUNDING)
        new = np.setdiff1d(violated[np.argsort(margins[violated])[:ROWS_AT_ONCE]], chosen)
        if margin <= SEPARATING or not new.size:
            return w, margin
        chosen = np.concatenate([chosen, new])


@remembered
def orthogonally_separable(data: Dataset) -> Finding:
    """x_i . x_j > 0 within a class and <= 0 across classes (Phuong & Lampert); the witness is the worst pair.

    `measured` is by how far the worst pair's cosine is on the wrong side of zero (of the precision of the data, so that
    rounding counts as zero); negative where none is. Undecided for labels other than -1 and +1. Of more than 20,000 samples the
    first few are compared with all others; if that shows no fault, all y_i x_i within 45 degrees of their mean still prove that it holds.

    >>> orthogonally_separable(Dataset([[1.0, 0.0], [1.0, 1.0], [-1.0, 0.0]], [1.0, 1.0, -1.0])).holds
    True
    """
    if (strange := _strange_label(data)) is not None:
        return undecided("orthogonally_separable", 0.0, strange)
    units = data.units
    measured, i, j = _worst_pair(units, data.y, data.precision.tolerance)
    if measured <= 0.0 and data.samples > MAX_GRAM_SAMPLES:
        return _within_a_cone(units * data.y[:, None])
    if measured <= 0.0:
        sentence = "samples of one class have positive products, samples of different classes none."
        return measured_finding("orthogonally_separable", measured, 0.0, sentence, (i, j))
    kind = "one class must have a positive" if data.y[i] == data.y[j] else "different classes must have no positive"
    sentence = (
        f"samples of {kind} product, but the cosine of {data.sample(i)} and {data.sample(j)} is {units[i] @ units[j]:.3g}."
    )
    return measured_finding("orthogonally_separable", measured, 0.0, sentence, (i, j))


def _strange_label(data: Dataset) -> str | None:
    """What to say of labels other than -1 and +1; None if there are none."""
    strange = data.y[~np.isin(data.y, (-1.0, 1.0))]
    return f"it is defined for labels -1 and +1, found {strange[0]:g}." if strange.size else None


def _within_a_cone(signed: Array) -> Finding:
    """Of very many samples whose first block shows no fault: vectors within 45 degrees of one axis have positive products."""
    axis = signed.mean(axis=0)
    widest = float(np.arccos(np.clip(np.min(signed @ axis) / np.linalg.norm(axis), -1.0, 1.0)))
    if widest < np.pi / 4:
        sentence = f"all y x lie within {np.degrees(widest):.3g} degrees of their mean, so products have the right signs."
        return measured_finding("orthogonally_separable", -float(np.cos(2 * widest)), 0.0, sentence)
    sentence = (
        f"undecided beyond {MAX_GRAM_SAMPLES} samples: no fault among {BLOCK} pairs, but not all of them were compared."
    )
    return undecided("orthogonally_separable", 0.0, sentence)


def _worst_pair(units: Array, y: Array, zero: float) -> tuple[float, int, int]:
    """The pair most at fault: by how far its cosine falls short of `zero` within a class, or exceeds it across classes.

    Of more samples than fit in one block, the search ends with the first block of rows that shows a fault; of very many samples
    it ends with the first block.
    """
    worst = (-np.inf, 0, 0)
    rows = max(1, BLOCK // len(units))
    searched = len(units) if len(units) <= MAX_GRAM_SAMPLES else rows
    for start in range(0, searched, rows):
        cosines = units[start : start + rows] @ units.T
        same = y[start : start + rows, None] == y[None, :]
        fault = np.where(same, zero - cosines, cosines - zero)
        i, j = (int(k) for k in np.unravel_index(np.argmax(fault), fault.shape))
        if fault[i, j] > worst[0]:
            worst = (float(fault[i, j]), start + i, j)
        if worst[0] > 0.0:
            break
    return worst
