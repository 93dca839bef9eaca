"""Lemma 10 of Zhang et al. as a measurement: do averages over a half-space agree with averages over all samples?

Under Condition 3, 2 <1[r.x > 0] phi> + <1[r.x = 0] phi> = <phi> for phi = x x^T and phi = x y and every direction r. The
difference of the two sides is <sign(r.x) phi>. It decides how differently neurons of different directions are pulled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..problem import Problem
from .mirror import MATCHED_AT_ONCE, principal_axes

AXES = 4  # principal axes looked at
ROWS = 1024  # samples summed over at once
NEURONS = 8  # starting neurons looked at, the largest ones


@dataclass(frozen=True)
class HalfSpaces:
    """The largest |<sign(r.x) x x^T>| / |<x x^T>| (`inputs`) and |<sign(r.x) x y>| / (rms|x| rms(y)) (`labels`).

    The maximum is over the correlation <x y>, the best linear fit, the first principal axes and the largest starting neurons;
    `direction` names the one where `labels` (or, without labels, `inputs`) is largest.
    """

    inputs: float
    labels: float
    direction: str


def half_spaces(problem: Problem) -> HalfSpaces:
    """Measure Lemma 10 on the directions that matter for training.

    >>> from rectilinear import Network, datasets
    >>> net = Network(inputs=2, widths=(4,))
    >>> half_spaces(Problem(datasets.six_points(delta=0.0), net, net.init(1e-3, seed=0))).inputs
    0.0
    """
    x, y = problem.data.x, problem.data.y
    label_scale = float(np.sqrt(np.mean(np.sum(x**2, axis=1)) * np.mean(y**2))) or 1.0
    inputs, labels, names = [], [], []
    for name, r in _directions(problem):
        signs = np.sign(x @ r)
        inputs.append(_moment_size(x, signs))
        labels.append(float(np.linalg.norm((signs * y) @ x)) / len(x) / label_scale)
        names.append(name)
    worst = int(np.argmax(labels if any(labels) else inputs))
    return HalfSpaces(max(inputs) / _moment_size(x, np.ones(len(x))), max(labels), names[worst])


def _directions(problem: Problem) -> Iterator[tuple[str, Array]]:
    data = problem.data
    if data.correlation.any():
        yield "the correlation <x y>", data.correlation
        yield "the best linear fit", np.asarray(np.linalg.lstsq(data.x, data.y, rcond=None)[0])
    if data.inputs <= MATCHED_AT_ONCE:
        for k, axis in enumerate(principal_axes(data.covariance).T[:AXES], 1):
            yield f"principal axis {k}", axis
    neurons = problem.weights[0][:, : data.inputs]
    largest = np.argsort(-np.linalg.norm(neurons, axis=1), kind="stable")[:NEURONS]
    for h in largest.tolist():
        yield f"starting neuron {h}", neurons[h]


def _moment_size(x: Array, signs: Array) -> float:
    """|<s x x^T>| (Frobenius), by the smaller of x^T x and x x^T."""
    samples = len(x)
    if x.shape[1] <= samples:
        blocks = (slice(start, start + ROWS) for start in range(0, samples, ROWS))  # that stay in the cache
        return float(np.linalg.norm(sum((x[rows] * signs[rows, None]).T @ x[rows] for rows in blocks))) / samples
    square = float(signs @ (x @ x.T) ** 2 @ signs)
    return float(np.sqrt(max(square, 0.0))) / samples
