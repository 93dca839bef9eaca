"""Hypotheses on the starting weights: small, aligned (Assumption 4 and Eq. 40 of Zhang et al.), balanced, two-class."""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from ..problem import Problem
from ..reduced.alignment import nearest_aligned
from ..reduced.deep_structure import deep_structure
from .finding import Finding, finding_to_precision, measured_finding

SMALL_OUTPUT = 1e-3  # starting outputs below this fraction of the labels leave the early phase linear to that accuracy


def small_start(problem: Problem) -> Finding:
    """|f(0)| is negligible against the labels: prod_l |W_l| rms|x| / rms(y), a bound on the output, is at most 1e-3."""
    data = problem.data
    size = float(np.prod([np.linalg.norm(layer) for layer in problem.weights]))
    spread = float(np.sqrt(np.trace(data.covariance) + problem.network.bias))
    labels = float(np.sqrt(np.mean(data.y**2)))
    measured = size * spread / labels if labels else (np.inf if size else 0.0)
    sentence = f"the starting output is at most {measured:.2g} of the labels ({SMALL_OUTPUT:g} is small)."
    return measured_finding("small_start", measured, SMALL_OUTPUT, sentence)


def rank_one_start(problem: Problem) -> Finding:
    """Assumption 4: W_1 = p v r^T, W_2 = q v^T, |v+| = |v-|; whether p = q is `balanced_start`'s question.

    `measured` is the larger of the relative residual of W_1 and the relative difference of |v+|^2 and |v-|^2.
    """
    if problem.network.layers != 2:
        sentence = f"it is defined for two layers, found {problem.network.layers}."
        return measured_finding("rank_one_start", np.inf, problem.start_precision.tolerance, sentence)
    found = nearest_aligned(problem.weights)
    return finding_to_precision(
        "rank_one_start",
        max(found.residual, found.halves),
        problem.start_precision,
        "W_1 = W_2^T r^T with equal positive and negative halves",
        f"the nearest W_2^T r^T is {100 * found.residual:.3g} % of |W_1| away from W_1, "
        f"and |W_2+|^2, |W_2-|^2 differ by {100 * found.halves:.3g} % of |W_2|^2",
    )


def balanced_start(problem: Problem) -> Finding:
    """|w_h|^2 = |a_h|^2 for every hidden neuron: rows into it against columns out of it; `measured` is the relative defect.

    The witness is (layer, neuron) of the worst one, counted from 0.
    """
    worst, witness = 0.0, (0, 0)
    for layer, (into, out) in enumerate(zip(problem.weights[:-1], problem.weights[1:], strict=True)):
        rows, columns = np.sum(into**2, axis=1), np.sum(out**2, axis=0)
        scale = float(np.max(rows + columns)) or 1.0
        defect = np.abs(rows - columns) / scale
        h = int(np.argmax(defect))
        if defect[h] > worst:
            worst, witness = float(defect[h]), (layer, h)
    where = f"neuron {witness[1]} of layer {witness[0] + 1}"
    return finding_to_precision(
        "balanced_start",
        worst,
        problem.start_precision,
        "norms into and out of every neuron are equal",
        f"norms into and out of a neuron must be equal, but those of {where} differ by {worst:.2g}",
        witness,
    )


def deep_aligned_start(problem: Problem) -> Finding:
    """The starting weights have the structure of Eq. 40 (ReLU) or Eq. 39 (linear), to rounding."""
    try:
        found = deep_structure(problem.weights, problem.network.alpha)
    except InputError as error:
        return measured_finding("deep_aligned_start", np.inf, problem.start_precision.tolerance, str(error))
    where = int(np.argmax(found.distances)) + 1
    return finding_to_precision(
        "deep_aligned_start",
        found.distance,
        problem.start_precision,
        "the weights have the rank-one and rank-two structure",
        f"the weights are {found.distance:.2g} away from the structure, most in layer {where}",
    )


def two_class_layer(problem: Problem) -> Finding:
    """a_h = +-1/m with m neurons of either sign; `measured` is the largest relative deviation."""
    second = problem.weights[1][0]
    deviation = float(np.abs(np.abs(second) * len(second) / 2.0 - 1.0).max())
    positive, negative = int(np.sum(second > 0)), int(np.sum(second < 0))
    measured = deviation if positive == negative else np.inf
    found = f"it deviates by {measured:.2g}" if positive == negative else f"{positive} are positive and {negative} negative"
    sentence = f"the second layer must be +1/m on m neurons and -1/m on m others; {found}."
    return measured_finding("two_class_layer", measured, problem.start_precision.tolerance, sentence)
