"""Condition 3 of Zhang et al.: even inputs and an odd target, decided on the sample to the precision of its numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import Indices
from ..dataset import Dataset
from ..remembered import remembered
from .finding import Finding, finding_to_precision, measured_finding, undecided


@remembered
def even_inputs(data: Dataset) -> Finding:
    """p(x) = p(-x): every sample has a mirror image of its own, to the precision of the data (Condition 3).

    `measured` is the fraction of samples without a mirror image; the witness lists the first few of them.

    >>> even_inputs(Dataset([[1.0], [-1.0], [2.0]], [1.0, -1.0, 0.0]))
    no         even_inputs: 1 of 3 samples has no mirror image -x (33.3 %), the first is sample 2.
    """
    _, alone = data.mirror_pairs
    alone = alone[data.x[alone].any(axis=1)]  # zero is its own mirror image
    if not alone.size:
        sentence = f"every sample x has its mirror image -x in the data{data.precision.excuse(data.mirror_defect)}."
        return replace(measured_finding("even_inputs", 0.0, 0.0, sentence), defect=data.mirror_defect)
    fraction = alone.size / data.samples
    verb = "has" if alone.size == 1 else "have"
    sentence = (
        f"{alone.size} of {data.samples} samples {verb} no mirror image -x ({100 * fraction:.3g} %), "
        f"the first is {data.sample(int(alone[0]))}."
    )
    return measured_finding("even_inputs", fraction, 0.0, sentence, tuple(int(i) for i in alone[:10]))


@remembered
def odd_target(data: Dataset) -> Finding:
    """y(-x) = -y(x), in the weak joint form p(x, y) = p(-x, -y) that Theorem 5 needs (second half of Condition 3).

    Samples are matched by input; at each pair of opposite points the labels on one side must be minus those on the other, as
    multisets (label noise is fine). `measured` is the largest |y(x) + y(-x)| over matched samples, relative to the largest
    |y|; undecided where no sample has a mirror image at all.

    >>> odd_target(Dataset([[1.0], [-1.0]], [2.0, 2.0]))
    no         odd_target: labels of mirror images must be opposite, but y = 2 at sample 0 meets y = 2 at sample 1.
    """
    pairs = _opposite_label_pairs(data)
    if not len(pairs):
        sentence = "no sample has a mirror image, so the data cannot tell whether the target is odd."
        return undecided("odd_target", data.precision.tolerance, sentence)
    scale = float(np.abs(data.y).max()) or 1.0
    defects = np.abs(data.y[pairs[:, 0]] + data.y[pairs[:, 1]]) / scale
    worst = int(np.argmax(defects))
    i, j = (int(k) for k in pairs[worst])
    meeting = f"y = {data.y[i]:g} at {data.sample(i)} meets y = {data.y[j]:g} at {data.sample(j)}"
    return finding_to_precision(
        "odd_target",
        float(defects[worst]),
        data.precision,
        f"labels of all {len(pairs)} mirror pairs are opposite",
        f"labels of mirror images must be opposite, but {meeting}",
        (i, j),
    )


def _opposite_label_pairs(data: Dataset) -> Indices:
    """Mirror pairs (i, j), where repeated inputs are matched so that labels are as opposite as they can be.

    Pairs at the same two opposite points may be re-matched freely: sorted labels on one side against reversed ones on the
    other minimise the largest |y_i + y_j|.
    """
    pairs, _ = data.mirror_pairs
    if not len(pairs):
        return pairs
    defects = data.y[pairs[:, 0]] + data.y[pairs[:, 1]]
    if not defects.any():
        return pairs
    sides: dict[bytes, tuple[list[int], list[int]]] = {}
    for i, j in pairs.tolist():
        one, other = (data.x[i] + 0.0).tobytes(), (data.x[j] + 0.0).tobytes()
        first, second = sides.setdefault(min(one, other), ([], []))
        first.append(i if one <= other else j)
        second.append(j if one <= other else i)
    matched: list[tuple[int, int]] = []
    for first, second in sides.values():
        matched += zip(sorted(first, key=lambda k: data.y[k]), sorted(second, key=lambda k: -data.y[k]), strict=True)
    return np.array(matched, dtype=np.intp)
