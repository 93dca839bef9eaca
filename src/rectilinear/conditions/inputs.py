"""Hypotheses on the inputs alone: white, orthogonal, nearly orthogonal."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..dataset import Dataset
from ..remembered import remembered
from ..wording import of_number
from .finding import Finding, finding_to_precision, measured_finding, undecided

MAX_GRAM_SAMPLES = 20_000  # comparing every pair of more samples takes minutes
BLOCK = 4_000_000  # entries of the Gram matrix looked at at once
NEARLY_ORTHOGONAL = 1.0  # threshold on n max|x_i . x_j| / min|x|^2, times max|x|^2 / min|x|^2


@remembered
def white_inputs(data: Dataset) -> Finding:
    """Sigma = <x x^T> = I (needed by Corollary 14 / Eq. 38); `measured` is the largest |Sigma - I| entry.

    >>> white_inputs(Dataset([[1.0, 1.0], [1.0, -1.0]], [0.0, 0.0])).holds
    True
    """
    deviation = np.abs(data.covariance - np.eye(data.inputs))
    i, j = (int(k) for k in np.unravel_index(np.argmax(deviation), deviation.shape))
    measured = float(deviation[i, j])
    entry = f"that of {data.feature(i)}" + ("" if i == j else f" and {data.feature(j)}")
    return finding_to_precision(
        "white_inputs",
        measured,
        data.precision,
        "the second moment <x x^T> is the identity",
        f"<x x^T> must be the identity, but its entry ({i}, {j}), {entry}, is off by {measured:.3g}",
        (i, j),
    )


@remembered
def orthogonal_inputs(data: Dataset) -> Finding:
    """x_i . x_j = 0 for i != j; `measured` is the largest |cosine| between two samples, the witness that pair."""
    if data.samples > data.inputs:
        sentence = f"{data.samples} samples cannot all be orthogonal in {of_number(data.inputs, 'input')}."
        return measured_finding("orthogonal_inputs", 1.0, data.precision.tolerance, sentence)
    cosine, i, j = _largest_off_diagonal(data.units)
    return finding_to_precision(
        "orthogonal_inputs",
        cosine,
        data.precision,
        "all samples are orthogonal to each other",
        f"samples must be orthogonal, but {data.sample(i)} and {data.sample(j)} have a cosine of {cosine:.3g} in size",
        (i, j),
    )


@remembered
def nearly_orthogonal(data: Dataset) -> Finding:
    """R_min^2 >= C R^2 n p with C = 1, where p = max |x_i . x_j|, R = max|x| / min|x| (Kou et al.).

    `measured` is R^2 n p / R_min^2 = 1/C, at most 1 where the hypothesis holds with C >= 1; 0 for orthogonal samples. More
    samples than inputs never are: some |cosine| is at least sqrt((n - d) / (d (n - 1))) > 1/n (Welch), and that bound is given.
    """
    if data.samples > data.inputs:
        least = data.samples * float(np.sqrt((data.samples - data.inputs) / (data.inputs * (data.samples - 1))))
        many = f"{data.samples} samples in {of_number(data.inputs, 'input')}"
        sentence = f"R^2 n max|x_i . x_j| / min|x|^2 of {many} is at least {least:.3g} (at most 1 is required)."
        return measured_finding("nearly_orthogonal", least, NEARLY_ORTHOGONAL, sentence)
    if data.samples > MAX_GRAM_SAMPLES:
        sentence = f"undecided beyond {MAX_GRAM_SAMPLES} samples, found {data.samples}: it compares every pair."
        return undecided("nearly_orthogonal", NEARLY_ORTHOGONAL, sentence)
    squares = np.sum(data.x**2, axis=1)
    if not squares.all():
        zero = data.sample(int(squares.argmin()))
        return measured_finding(
            "nearly_orthogonal", np.inf, NEARLY_ORTHOGONAL, f"samples must have a length, but {zero} is zero."
        )
    product, i, j = _largest_off_diagonal(data.x)
    ratio = float(squares.max() / squares.min() * data.samples * product / squares.min())
    sentence = f"R^2 n max|x_i . x_j| / min|x|^2 is {ratio:.3g} (at most 1 is required), set by {data.sample(i)} and {data.sample(j)}."
    return measured_finding("nearly_orthogonal", ratio, NEARLY_ORTHOGONAL, sentence, (i, j))


def _largest_off_diagonal(x: Array) -> tuple[float, int, int]:
    """The largest |x_i . x_j| over i != j with its pair, in blocks of rows so that memory stays linear in the samples."""
    best = (0.0, 0, 0)
    rows = max(1, BLOCK // len(x))
    for start in range(0, len(x), rows):
        gram = np.abs(x[start : start + rows] @ x.T)
        here = np.arange(len(gram))
        gram[here, start + here] = 0.0
        i, j = (int(k) for k in np.unravel_index(np.argmax(gram), gram.shape))
        if gram[i, j] > best[0]:
            best = (float(gram[i, j]), start + i, j)
    return best
