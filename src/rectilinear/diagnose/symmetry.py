"""How far a problem's data are from Condition 3, and the nearest data set that satisfies it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Array, Indices
from ..conditions import (
    MIRROR_TOLERANCE,
    asymmetry,
    half_spaces,
    matching_distance,
    near_pairs,
    population_test,
)
from ..conditions.mirror import partners_of_many
from ..dataset import Dataset
from ..errors import InputError
from ..problem import Problem
from .diagnosis import Symmetry

MET_AT_ZERO = 1e-12  # midpoints of a sample and its partner that small are rounding


def symmetry_of(problem: Problem, seed: int, progress: Callable[[float, str], None]) -> Symmetry:
    """All measurements of symmetry; `seed` draws frequencies and flips of the population tests."""
    data = problem.data
    progress(0.0, "mirror images")
    near = near_pairs(data.x)
    progress(0.2, "matching of x and -x")
    matching = matching_distance(data.x, near)
    progress(0.5, "half-spaces")
    halves = half_spaces(problem)
    progress(0.6, "symmetry of the population")
    population = population_test(data, seed=seed)
    progress(0.7, "nearest symmetric data")
    distance, is_exact, nearest = nearest_symmetric(data, near)
    return Symmetry(
        unpaired=len(near[1]) / data.samples,
        tolerance=MIRROR_TOLERANCE,
        matching_distance=matching.at_least,
        matching_at_most=matching.at_most,
        matching_method=matching.method,
        half_space_inputs=halves.inputs,
        half_space_labels=halves.labels,
        half_space_direction=halves.direction,
        even_p=population.even_inputs,
        odd_p=population.odd_target,
        distance=distance,
        precision=data.precision.tolerance,
        distance_is_exact=is_exact,
        nearest=nearest,
    )


def nearest_symmetric(data: Dataset, near: tuple[Indices, Indices]) -> tuple[float, bool, Dataset]:
    """The distance of inputs and labels together from Condition 3, whether it is exact, and the nearest symmetric data set.

    Where the optimal matching is not affordable it is an upper bound, from the `near` pairs of inputs whose labels are opposite
    too and a matching of the others in chunks. Samples that would meet at zero, where no network sees them, are left out of
    the nearest data set; if all do, it is the data with their mirror images.
    """
    try:
        found = asymmetry(data)
        return found.distance, True, found.nearest
    except InputError:
        label_size = float(np.sqrt(np.mean(data.y**2))) or 1.0
    points = np.column_stack([data.x / np.sqrt(np.mean(np.sum(data.x**2, axis=1))), data.y / label_size])
    partners = partners_of_many(points, *_opposite_labels(points[:, -1], *near))
    distance = float(np.sqrt(np.mean(np.sum((points + points[partners]) ** 2, axis=1)))) / 2
    is_exact = distance == 0.0
    x, y = (data.x - data.x[partners]) / 2, (data.y - data.y[partners]) / 2
    seen = np.abs(x).max(axis=1) > MET_AT_ZERO * np.abs(data.x).max(axis=1)
    if not seen.any():
        return distance, is_exact, data.symmetrised()
    both = np.concatenate([x[seen], -x[seen]]), np.concatenate([y[seen], -y[seen]])
    return distance, is_exact, Dataset(*both, f"{data.name} (nearest symmetric)", {"even_inputs", "odd_target"})


def _opposite_labels(labels: Array, pairs: Indices, alone: Indices) -> tuple[Indices, Indices]:
    """The pairs with opposite labels, relative to their rms; the samples of the other pairs are left alone."""
    good = np.abs(labels[pairs[:, 0]] + labels[pairs[:, 1]]) <= MIRROR_TOLERANCE
    return pairs[good], np.union1d(alone, pairs[~good])
