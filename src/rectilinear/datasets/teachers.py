"""Regression targets on Gaussian inputs: one that a two-layer ReLU network can express, and the monomials."""

from __future__ import annotations

import numpy as np

from ..dataset import Dataset
from ..errors import InputError
from .options import require_switch, require_whole, seeded


def gaussian_teacher(inputs: int = 10, samples: int = 100, neurons: int = 3, seed: int = 0) -> Dataset:
    """Gaussian x, y = sum_k a_k max(w_k.x, 0): a random ReLU teacher on inputs without any symmetry.

    Teacher directions are uniform on the unit sphere and a_k = +-1, so a student needs no more than `neurons` neurons.

    >>> gaussian_teacher(inputs=4, samples=7).samples
    7
    """
    require_whole("inputs", inputs, 1)
    require_whole("samples", samples, 1)
    require_whole("neurons", neurons, 1)
    rng = seeded(seed)
    x = rng.standard_normal((samples, inputs))
    directions = rng.standard_normal((neurons, inputs))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    signs = rng.choice([-1.0, 1.0], neurons)
    return Dataset(x, np.maximum(x @ directions.T, 0.0) @ signs, "gaussian_teacher", {"expressible_target"})


def monomial(order: int = 3, inputs: int = 10, samples: int = 1000, mirrored: bool = True, seed: int = 0) -> Dataset:
    """Gaussian x, y = x_1 x_2 ... x_order; with `mirrored` the samples come in pairs x, -x, so their number must be even.

    Odd orders above one are odd and not linear: on mirrored data no part of them is within reach of a two-layer bias-free
    network (Zhang et al., Corollary 2). Even orders are even functions, which such a network can fit on any sample.

    >>> sorted(monomial(order=3, inputs=4, samples=6).promises)
    ['even_inputs', 'odd_target']
    """
    require_whole("order", order, 1)
    require_whole("inputs", inputs, order, "the order, as each factor is an input of its own")
    require_whole("samples", samples, 1)
    require_switch("mirrored", mirrored)
    if mirrored and samples % 2:
        raise InputError(f"samples must be even for mirrored data, found {samples}.")
    x = seeded(seed).standard_normal((samples // 2 if mirrored else samples, inputs))
    odd = order % 2 == 1
    promises = {"linear_target"} if order == 1 else set()
    if mirrored:
        x = np.concatenate([x, -x])
        promises |= {"even_inputs", "odd_target"} if odd else {"even_inputs"}
    if order == 1 or not (odd and mirrored):
        promises.add("expressible_target")
    return Dataset(x, np.prod(x[:, :order], axis=1), "monomial", promises)
