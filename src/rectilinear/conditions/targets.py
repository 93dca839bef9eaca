"""Hypotheses on the labels: linear, expressible by two layers, linearly separable, orthogonally separable."""

from __future__ import annotations

import numpy as np

from ..dataset import Array, Dataset
from .budget import budget
from .finding import Finding, Witness, measured_finding, remembered

ROUNDING = 1e-10  # relative residuals below it come from floating-point arithmetic
SEPARATING = 1e-9  # largest margin, relative to the largest sample, that the linear program can tell from zero
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
    if measured <= ROUNDING:
        return measured_finding("linear_target", measured, ROUNDING, "the labels are a linear function of the inputs.")
    worst = int(np.argmax(residual))
    sentence = f"the best linear fit leaves {measured:.3g} of the labels' size, most at sample {worst}."
    return measured_finding("linear_target", measured, ROUNDING, sentence, (worst,))


@remembered
def expressible_target(data: Dataset) -> Finding:
    """Some two-layer bias-free network fits the labels; `measured` is the share of <y^2> that none can (see `budget`)."""
    parts = budget(data)
    share = parts.fractions[2]
    if share <= ROUNDING:
        sentence = "a wide enough two-layer bias-free network fits every label."
        return measured_finding("expressible_target", share, ROUNDING, sentence)
    worst = int(np.argmax(np.abs(parts.inexpressible)))
    sentence = f"{100 * share:.3g} % of <y^2> is beyond every two-layer bias-free network, most at sample {worst}."
    return measured_finding("expressible_target", share, ROUNDING, sentence, (worst,))


@remembered
def separable(data: Dataset) -> Finding:
    """y_i w . x_i > 0 for some w: the labels are linearly separable through the origin (a linear program).

    `measured` is the largest min_i y_i w . x_i over |w_j| <= 1, relative to the largest |x_i|_1; it holds where that exceeds
    `threshold`. Undecided for labels other than -1 and +1.
    """
    from scipy.optimize import linprog

    if (undecided := _not_binary("separable", data)) is not None:
        return undecided
    signed = np.unique(data.y[:, None] * data.x + 0.0, axis=0)  # mirror images give the same constraint
    signed = signed / np.abs(signed).sum(axis=1).max()
    # maximise the margin m: m - y_i x_i . w <= 0, |w_j| <= 1
    constraints = np.concatenate([-signed, np.ones((len(signed), 1))], axis=1)
    goal = np.append(np.zeros(data.inputs), -1.0)
    bounds = [(-1.0, 1.0)] * data.inputs + [(None, None)]
    result = linprog(goal, A_ub=constraints, b_ub=np.zeros(len(signed)), bounds=bounds, method="highs")
    if result.x is None:  # the program is always feasible (w = 0) and bounded, so only the solver can fail
        return Finding("separable", None, np.nan, SEPARATING, None, f"the linear program failed: {result.message}")
    margin = float(result.x[-1])
    holds = margin > SEPARATING
    witness: Witness = tuple(float(w) for w in result.x[:-1]) if holds else None
    sentence = (
        f"a line through the origin separates the classes with margin {margin:.3g}."
        if holds
        else "no hyperplane through the origin separates the classes."
    )
    return Finding("separable", holds, margin, SEPARATING, witness, sentence)


@remembered
def orthogonally_separable(data: Dataset) -> Finding:
    """x_i . x_j > 0 within a class and <= 0 across classes (Phuong & Lampert); the witness is the worst pair.

    `measured` is by how far the worst pair's cosine is on the wrong side of zero (of 1e-10, so that rounding counts as zero);
    negative where none is. Undecided for labels other than -1 and +1.

    >>> orthogonally_separable(Dataset([[1.0, 0.0], [1.0, 1.0], [-1.0, 0.0]], [1.0, 1.0, -1.0])).holds
    True
    """
    if (undecided := _not_binary("orthogonally_separable", data)) is not None:
        return undecided
    units = data.x / np.linalg.norm(data.x, axis=1, keepdims=True)
    measured, i, j = _worst_pair(units, data.y)
    if measured <= 0.0:
        sentence = "samples of one class have positive products, samples of different classes none."
        return measured_finding("orthogonally_separable", measured, 0.0, sentence, (i, j))
    kind = "one class must have a positive" if data.y[i] == data.y[j] else "different classes must have no positive"
    sentence = f"samples of {kind} product, but the cosine of samples {i} and {j} is {units[i] @ units[j]:.3g}."
    return measured_finding("orthogonally_separable", measured, 0.0, sentence, (i, j))


def _not_binary(name: str, data: Dataset) -> Finding | None:
    strange = data.y[~np.isin(data.y, (-1.0, 1.0))]
    if not strange.size:
        return None
    return Finding(name, None, np.nan, 0.0, None, f"it is defined for labels -1 and +1, found {strange[0]:g}.")


def _worst_pair(units: Array, y: Array) -> tuple[float, int, int]:
    """The pair most at fault: by how far its cosine falls short of `ROUNDING` within a class, or exceeds it across classes."""
    worst = (-np.inf, 0, 0)
    rows = max(1, BLOCK // len(units))
    for start in range(0, len(units), rows):
        cosines = units[start : start + rows] @ units.T
        same = y[start : start + rows, None] == y[None, :]
        fault = np.where(same, ROUNDING - cosines, cosines - ROUNDING)
        i, j = (int(k) for k in np.unravel_index(np.argmax(fault), fault.shape))
        if fault[i, j] > worst[0]:
            worst = (float(fault[i, j]), start + i, j)
    return worst
