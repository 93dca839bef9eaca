"""Hypotheses on classes: both are there, or they are those of XOR."""

from __future__ import annotations

import numpy as np

from ..dataset import Dataset
from ..wording import of_number
from .finding import Finding, finding_to_precision, measured_finding


def both_classes(data: Dataset) -> Finding:
    """Samples of both classes; `measured` is the size of the smaller class."""
    smaller = int(min(np.sum(data.y > 0), np.sum(data.y < 0)))
    sentence = f"the smaller class has {of_number(smaller, 'sample')}; at least one is required."
    return measured_finding("both_classes", smaller, 1.0, sentence, direction="at_least")


def xor_samples(data: Dataset) -> Finding:
    """Two antipodal pairs on orthogonal lines, labels equal within a pair and of opposite sign across pairs.

    `measured` is the larger of the cosine between the lines and the relative difference of labels within a pair.
    """
    pairs, alone = data.mirror_pairs
    required = "two antipodal pairs with equal labels, of opposite sign across the pairs, on orthogonal lines, are required"
    if len(pairs) != 2 or alone.size or data.y[pairs[0, 0]] * data.y[pairs[1, 0]] >= 0:
        lonely = f", {alone.size} of them without a mirror image" if alone.size else ""
        sentence = f"{required}; found {of_number(data.samples, 'sample')}{lonely}."
        return measured_finding("xor_samples", np.inf, data.precision.tolerance, sentence)
    units = data.x[pairs[:, 0]] / np.linalg.norm(data.x[pairs[:, 0]], axis=1, keepdims=True)
    cosine = abs(float(units[0] @ units[1]))
    labels = float(np.abs(np.diff(data.y[pairs], axis=1)).max() / np.abs(data.y).max())
    return finding_to_precision(
        "xor_samples",
        max(cosine, labels),
        data.precision,
        "the samples are those of XOR: two antipodal pairs on orthogonal lines",
        f"{required}; the lines' cosine is {cosine:.2g}, labels within a pair differ by {labels:.2g}",
    )
