"""Could the sample come from a symmetric population? Sign-flip tests with exact p-values.

p(x) = p(-x) means that every odd function has mean zero, and the characteristic function knows all of it:
E sin(w.x) = 0 for every frequency w. The statistic is sum_k <sin(w_k.x)>^2 over random frequencies at several scales, an
estimate of the kernel distance between the distributions of x and -x. If the population is even, flipping the sign of each
sample at random changes nothing, so the observed value is one of the flipped ones: its rank gives a p-value that is exact
for any sample size. For p(x, y) = p(-x, -y) the pairs (x, y) are flipped and the frequencies have a part along y.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..dataset import Dataset

FLIPS = 499  # so that the smallest p-value is 1/500
SCALES = (0.5, 1.0, 2.0, 4.0)  # rms of w.x: from nearly linear features to oscillating ones
FREQUENCIES = 16  # for each scale
ROWS = 10_000  # samples whose features and signs are held at once
SAME_VALUE = 1e-9  # flipped values that near to the observed one are equal to it, up to rounding


@dataclass(frozen=True)
class PopulationTest:
    """p-values of `even_inputs`, p(x) = p(-x), and of `odd_target` in its joint form, p(x, y) = p(-x, -y)."""

    even_inputs: float
    odd_target: float
    flips: int


def population_test(data: Dataset, flips: int = FLIPS, seed: int = 0) -> PopulationTest:
    """Test both symmetries by flipping signs; cost linear in the samples.

    A sample that contains its own mirror images is as even as can be, and gets 1.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((200, 3))
    >>> found = population_test(Dataset(x, np.abs(x[:, 0])))  # even inputs, an even target
    >>> found.even_inputs > 0.05, found.odd_target < 0.05
    (True, True)
    """
    rng = np.random.default_rng(seed)
    x = _unit_columns(data.x)
    y = _unit_columns(data.y[:, None])
    scales = np.repeat(SCALES, FREQUENCIES)
    for_x = rng.standard_normal((x.shape[1], len(scales))) * scales / np.sqrt(x.shape[1])
    for_y = rng.standard_normal((1, len(scales))) * scales
    observed, flipped = np.zeros(2 * len(scales)), np.zeros((flips, 2 * len(scales)))
    for start in range(0, data.samples, ROWS):
        along_x, along_y = x[start : start + ROWS] @ for_x, y[start : start + ROWS] @ for_y
        features = np.sin(np.concatenate([along_x, along_x + along_y], axis=1))
        observed += features.sum(axis=0)
        flipped += _signs(rng, flips, len(features)) @ features
    halves = slice(None, len(scales)), slice(len(scales), None)
    even, odd = (_p_value(np.sum(observed[half] ** 2), np.sum(flipped[:, half] ** 2, axis=1)) for half in halves)
    return PopulationTest(even, odd, flips)


def p_words(p: float) -> str:
    """A p-value as it is said: the smallest one that so many flips can give is a bound.

    >>> p_words(0.65), p_words(1 / (1 + FLIPS))
    ('p = 0.65', 'p <= 0.002')
    """
    return f"p {'<=' if p <= 1.0 / (1 + FLIPS) else '='} {p:.2g}"


def _unit_columns(values: Array) -> Array:
    """Columns scaled to rms 1, which flips leave alone; columns of zeros are dropped unless there is nothing else."""
    sizes = np.sqrt(np.mean(values**2, axis=0))
    kept = sizes > 0
    return np.asarray(values[:, kept] / sizes[kept]) if kept.any() else values


def _signs(rng: np.random.Generator, rows: int, columns: int) -> Array:
    bits = np.unpackbits(np.frombuffer(rng.bytes(rows * (columns // 8 + 1)), dtype=np.uint8).reshape(rows, -1), axis=1)
    return np.asarray(2.0 * bits[:, :columns] - 1.0, dtype=np.float64)


def _p_value(observed: float, flipped: Array) -> float:
    return float((1 + np.sum(flipped >= observed * (1 - SAME_VALUE))) / (1 + len(flipped)))
