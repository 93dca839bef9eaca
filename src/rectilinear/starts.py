"""Starting weights: the papers' random ones and the structured ones their theorems assume."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array
from .errors import InputError, did_you_mean, is_number

Shapes = tuple[tuple[int, int], ...]


def make(start: str, shapes: Shapes, scale: float, seed: int, direction: ArrayLike | None = None) -> tuple[Array, ...]:
    """Weights of these shapes from the start of that name."""
    if not is_number(scale) or not np.isfinite(scale) or scale <= 0:
        raise InputError(f"scale must be a positive number, found {scale!r}; the papers use 1e-8 to 1e-2.")
    if not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InputError(f"seed must be a whole number >= 0, found {seed!r}.")
    if start not in STARTS:
        raise InputError(f"start must be one of {', '.join(STARTS)}, found {start!r}{did_you_mean(start, STARTS)}")
    if start != "gaussian" and len(shapes) != 2:
        raise InputError(f"start {start!r} is defined for two layers, found {len(shapes)}; use 'gaussian'.")
    if direction is not None and start != "rank_one":
        raise InputError(f"direction belongs to start 'rank_one', found start {start!r}; drop it.")
    rng = np.random.default_rng(seed)
    if start == "rank_one":
        return rank_one(shapes, scale, rng, direction)
    return STARTS[start](shapes, scale, rng)


def gaussian(shapes: Shapes, scale: float, rng: np.random.Generator) -> tuple[Array, ...]:
    """Layer l i.i.d. N(0, scale^2 / number of weights in the layer), so that E|W_l|^2 = scale^2 (Zhang et al., App. G)."""
    return tuple(rng.standard_normal(shape) * (scale / np.sqrt(shape[0] * shape[1])) for shape in shapes)


def balanced(shapes: Shapes, scale: float, rng: np.random.Generator) -> tuple[Array, ...]:
    """Gaussian first layer and a_h = +-|w_h| with random signs: every neuron's |w_h|^2 - a_h^2 is zero, and stays so."""
    first, second = gaussian(shapes, scale, rng)
    return first, np.sign(second) * np.linalg.norm(first, axis=1)


def rank_one(
    shapes: Shapes, scale: float, rng: np.random.Generator, direction: ArrayLike | None = None
) -> tuple[Array, ...]:
    """Assumption 4 of Zhang et al.: W_1 = W_2^T r^T, |r| = 1, positive and negative entries of W_2 of equal norm.

    Both layers have norm `scale`; the first half of the neurons is positive.
    """
    (width, inputs), _ = shapes
    if width < 2:
        raise InputError(f"start 'rank_one' needs a neuron of each sign, so a width of 2 at least, found {width}.")
    r = rng.standard_normal(inputs) if direction is None else np.asarray(direction, dtype=np.float64)
    if r.shape != (inputs,) or not np.isfinite(r).all() or not r.any():
        raise InputError(f"direction must be a finite non-zero vector of shape ({inputs},), found shape {r.shape}.")
    halves = np.abs(rng.standard_normal(width))
    half = width // 2
    halves[:half] /= np.linalg.norm(halves[:half]) * np.sqrt(2)
    halves[half:] /= -np.linalg.norm(halves[half:]) * np.sqrt(2)
    second = scale * halves[None, :]
    return second.T @ (r / np.linalg.norm(r))[None, :], second


def antisymmetric(shapes: Shapes, scale: float, rng: np.random.Generator) -> tuple[Array, ...]:
    """Every neuron (w, a) has a twin (w, -a), so that the output is exactly zero at the start."""
    (width, inputs), _ = shapes
    if width % 2:
        raise InputError(f"start 'antisymmetric' pairs the neurons, so the width must be even, found {width}.")
    first, second = gaussian(((width // 2, inputs), (1, width // 2)), scale / np.sqrt(2), rng)
    return np.concatenate([first, first]), np.concatenate([second, -second], axis=1)


def two_class(shapes: Shapes, scale: float, rng: np.random.Generator) -> tuple[Array, ...]:
    """Kou et al.: Gaussian first layer; second layer +1/m on the first half of the neurons and -1/m on the rest, m = h/2."""
    (width, _), _ = shapes
    if width % 2:
        raise InputError(
            f"start 'two_class' has as many positive as negative neurons, so the width must be even, found {width}."
        )
    first, _ = gaussian(shapes, scale, rng)
    half = width // 2
    return first, np.concatenate([np.full(half, 1.0 / half), np.full(half, -1.0 / half)])[None, :]


STARTS: dict[str, Callable[..., tuple[Array, ...]]] = {
    "gaussian": gaussian,
    "balanced": balanced,
    "rank_one": rank_one,
    "antisymmetric": antisymmetric,
    "two_class": two_class,
}
