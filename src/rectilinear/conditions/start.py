"""Hypotheses on the starting weights: small, aligned to rank one (Assumption 4 of Zhang et al.), balanced."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..network import Weights
from ..problem import Problem
from .finding import Finding, measured_finding

SMALL_OUTPUT = 1e-3  # starting outputs below this fraction of the labels leave the early phase linear to that accuracy
ALIGNED = 1e-10  # relative rank-one residual and imbalance that rounding can explain


@dataclass(frozen=True)
class Alignment:
    """The nearest aligned weights W_1 = p v r^T, W_2 = q v^T with unit v (h,) and r (d,), and the distances from them.

    `residual` is |W_1 - p v r^T| / |W_1|; `halves` is the relative difference of the squared norms of positive and negative
    entries of v.
    """

    v: Array
    r: Array
    p: float
    q: float
    residual: float
    halves: float


def alignment(weights: Weights) -> Alignment:
    """How far two-layer weights are from W_1 = p v r^T, W_2 = q v^T with v parallel to the second layer."""
    first, second = weights[0], weights[1][0]
    q = float(np.linalg.norm(second))
    v = second / q if q else np.zeros_like(second)
    pr = v @ first
    p = float(np.linalg.norm(pr))
    r = pr / p if p else np.zeros_like(pr)
    size = float(np.linalg.norm(first))
    residual = float(np.linalg.norm(first - np.outer(v, pr))) / size if size else 0.0
    halves = abs(float(np.sum(v * np.abs(v))))
    return Alignment(v, r, p, q, residual, halves)


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
        return measured_finding("rank_one_start", np.inf, ALIGNED, sentence)
    found = alignment(problem.weights)
    measured = max(found.residual, found.halves)
    if measured <= ALIGNED:
        sentence = "W_1 = W_2^T r^T with equal positive and negative halves."
    else:
        sentence = (
            f"W_1 leaves W_2^T r^T by {found.residual:.2g} of its norm, "
            f"and |W_2+|^2, |W_2-|^2 differ by {found.halves:.2g} of |W_2|^2."
        )
    return measured_finding("rank_one_start", measured, ALIGNED, sentence)


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
    if worst <= ALIGNED:
        return measured_finding("balanced_start", worst, ALIGNED, "norms into and out of every neuron are equal.")
    where = f"neuron {witness[1]} of layer {witness[0] + 1}"
    sentence = f"norms into and out of a neuron must be equal, but those of {where} differ by {worst:.2g}."
    return measured_finding("balanced_start", worst, ALIGNED, sentence, witness)
