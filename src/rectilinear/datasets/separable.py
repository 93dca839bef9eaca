"""Classification sets with the geometry that theorems assume: orthogonal, nearly so, orthogonally separable."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..dataset import Dataset
from ..errors import InputError
from .options import require_between, require_whole, seeded

BISECTIONS = 60  # halvings of [0, 1]: down to rounding
SLACK = 1e-9  # of an inequality that is met with equality, so that it holds in whatever order its sums are taken


def orthogonal(samples: int = 8, inputs: int = 10, norms: ArrayLike | None = None, seed: int = 0) -> Dataset:
    """Pairwise orthogonal inputs in random directions with random labels +-1, both present.

    `norms` is one length for all samples or one per sample; 1 by default. Independent inputs make any labels a linear
    target. The sample is white, Sigma = I, if there are as many samples as inputs, all of length sqrt(samples).

    >>> import numpy as np
    >>> x = orthogonal(samples=3, inputs=5, norms=2.0).x
    >>> bool(np.allclose(x @ x.T, 4.0 * np.eye(3)))
    True
    """
    require_whole("samples", samples, 2, "one of each class")
    require_whole("inputs", inputs, samples, "the number of samples, as orthogonal inputs are independent")
    lengths = _lengths(norms, samples)
    rng = seeded(seed)
    x = _orthonormal_rows(rng.standard_normal((samples, inputs))) * lengths[:, None]
    promises = {"orthogonal_inputs", "nearly_orthogonal", "separable", "linear_target", "expressible_target"}
    if samples == inputs and np.allclose(lengths**2, samples, rtol=1e-14):
        promises.add("white_inputs")
    return Dataset(x, _both_labels(samples, rng), "orthogonal", promises)


def orthogonally_separable(samples: int = 20, inputs: int = 5, seed: int = 0) -> Dataset:
    """x_i.x_j > 0 within a class and <= 0 across classes (Phuong and Lampert).

    Every y_i x_i lies within 45 degrees of one random axis, so any two are less than 90 degrees apart; lengths are
    uniform in [1/2, 3/2].

    >>> data = orthogonally_separable(samples=4, inputs=3)
    >>> bool((((data.x @ data.x.T) > 0) == (data.y[:, None] == data.y)).all())
    True
    """
    require_whole("samples", samples, 2, "one of each class")
    require_whole("inputs", inputs, 2, "on a line all samples of a class are multiples of one another")
    rng = seeded(seed)
    axis = rng.standard_normal(inputs)
    axis /= np.linalg.norm(axis)
    away = rng.standard_normal((samples, inputs))
    away -= np.outer(away @ axis, axis)
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    angles = rng.uniform(0.0, np.pi / 4, samples)[:, None]
    lengths = rng.uniform(0.5, 1.5, samples)[:, None]
    y = _both_labels(samples, rng)
    x = y[:, None] * lengths * (np.cos(angles) * axis + np.sin(angles) * away)
    return Dataset(x, y, "orthogonally_separable", {"orthogonally_separable", "separable", "expressible_target"})


def nearly_orthogonal(samples: int = 10, inputs: int = 500, constant: float = 5.0, seed: int = 0) -> Dataset:
    """R_min^2 >= C R^2 n p, with p the largest |x_i.x_j|, R = R_max / R_min, C = `constant` (Kou et al.); random labels +-1.

    Gaussian inputs, whose singular values are drawn together (towards orthogonal inputs of norm sqrt(inputs)) only as far as
    the inequality asks; in high dimension not at all. C above 1 makes the inputs independent, so any labels are linear.

    >>> data = nearly_orthogonal(samples=4, inputs=50)
    >>> bool(near_orthogonality(data.x) >= 5.0)
    True
    """
    require_whole("samples", samples, 2, "one of each class")
    require_whole("inputs", inputs, samples, "the number of samples, as nearly orthogonal inputs are independent")
    require_between("constant", constant, 1.0, np.inf, "1 and infinity; Kou et al. need a large one")
    rng = seeded(seed)
    gaussian = rng.standard_normal((samples, inputs))
    x = _drawn_together(gaussian, constant)
    promises = {"nearly_orthogonal", "separable", "linear_target", "expressible_target"}
    return Dataset(x, _both_labels(samples, rng), "nearly_orthogonal", promises)


def near_orthogonality(x: Array) -> float:
    """R_min^2 / (R^2 n p), what Kou et al. ask to be at least C; infinite for orthogonal inputs.

    >>> import numpy as np
    >>> near_orthogonality(np.eye(3)), near_orthogonality(np.ones((2, 2)))
    (inf, 0.5)
    """
    gram = x @ x.T
    squares = np.diag(gram)
    largest = np.abs(gram - np.diag(squares)).max()
    return float(squares.min() ** 2 / (squares.max() * len(x) * largest)) if largest else np.inf


def _drawn_together(x: Array, constant: float) -> Array:
    """The blend of x and its nearest orthogonal set that is closest to x among those found nearly orthogonal."""
    constant *= 1.0 + SLACK
    if near_orthogonality(x) >= constant:
        return x
    orthogonal_set = np.sqrt(x.shape[1]) * _orthonormal_rows(x)
    enough, too_much = 0.0, 1.0  # shares of x in the blend
    for _ in range(BISECTIONS):
        share = (enough + too_much) / 2
        if near_orthogonality(share * x + (1 - share) * orthogonal_set) >= constant:
            enough = share
        else:
            too_much = share
    return np.asarray(enough * x + (1 - enough) * orthogonal_set)


def _orthonormal_rows(x: Array) -> Array:
    """The matrix with orthonormal rows nearest to x: its polar factor."""
    left, _, right = np.linalg.svd(x, full_matrices=False)
    return np.asarray(left @ right)


def _both_labels(samples: int, rng: np.random.Generator) -> Array:
    """Labels +1 and -1 in equal numbers (up to one), shuffled."""
    return np.asarray(rng.permutation(np.where(np.arange(samples) % 2, -1.0, 1.0)))


def _lengths(norms: ArrayLike | None, samples: int) -> Array:
    try:
        lengths = np.asarray(1.0 if norms is None else norms, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"norms must be a positive number or a list of them, found {norms!r}.") from error
    if lengths.shape not in ((), (samples,)) or not np.isfinite(lengths).all() or (lengths <= 0).any():
        raise InputError(f"norms must be one positive number, or one for each of the {samples} samples, found {norms!r}.")
    return np.broadcast_to(lengths, samples)
