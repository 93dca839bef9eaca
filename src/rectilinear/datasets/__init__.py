"""Named data sets: those of the papers, those their theorems assume, and some real ones.

Each generator returns a `Dataset` whose `promises` are the hypotheses that hold by construction, in the sample itself and up
to rounding; `PROMISES` says what each word means.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..dataset import Dataset
from ..errors import InputError, did_you_mean
from ..plugins import plugged_in
from .real import breast_cancer, diabetes, digits
from .separable import near_orthogonality, nearly_orthogonal, orthogonal, orthogonally_separable
from .symmetric import linear_teacher, sine_teacher, six_points, xor
from .teachers import gaussian_teacher, monomial

PROMISES = {
    "even_inputs": "x and -x occur equally often",
    "odd_target": "where both x and -x occur, their labels are opposite, and some do",
    "white_inputs": "Sigma = <x x^T> is the identity",
    "linear_target": "y = w.x for some w",
    "separable": "y = +-1 and y w.x > 0 for some w",
    "orthogonally_separable": "y = +-1 and x_i.x_j > 0 within a class, <= 0 across classes",
    "orthogonal_inputs": "x_i.x_j = 0 for any two samples",
    "nearly_orthogonal": "R_min^2 >= C R^2 n p (Kou et al.), C > 1",
    "expressible_target": "a two-layer bias-free ReLU network fits the sample exactly, if it is wide enough",
}

_GENERATORS: dict[str, Callable[..., Dataset]] = {
    generator.__name__: generator
    for generator in (
        sine_teacher,
        linear_teacher,
        six_points,
        xor,
        orthogonal,
        orthogonally_separable,
        nearly_orthogonal,
        gaussian_teacher,
        monomial,
        digits,
        breast_cancer,
        diabetes,
    )
}
NAMES = tuple(_GENERATORS)


def names() -> tuple[str, ...]:
    """The names of all data sets: `NAMES`, then those of other packages (see `rectilinear.plugins`)."""
    return tuple(_generators())


def _generators() -> dict[str, Callable[..., Dataset]]:
    return _GENERATORS | plugged_in("datasets", NAMES, _fault)


def _fault(name: str, generator: Any) -> str:
    if not callable(generator):
        return f"expected a function, found {type(generator).__name__}"
    bare = [option.name for option in inspect.signature(generator).parameters.values() if option.default is option.empty]
    return f"its option {bare[0]} must have a default" if bare else ""


def options_of(name: str) -> dict[str, Any]:
    """The options of that data set's generator with their defaults.

    >>> options_of("six_points")
    {'delta': 0.15}
    """
    known = _generators()
    if name not in known:
        raise InputError(f"a data set's name must be one of {', '.join(known)}, found {name!r}{did_you_mean(name, known)}")
    return {option.name: option.default for option in inspect.signature(known[name]).parameters.values()}


def make(name: str, **options: Any) -> Dataset:
    """The data set of that name.

    >>> make("six_points", delta=0.1)
    Dataset six_points: 6 samples, 2 inputs, 4 lines through the origin
    """
    known = options_of(name)
    unknown = [option for option in options if option not in known]
    if unknown:
        choices = f"one of {', '.join(known)}" if known else "left out, as it has none"
        raise InputError(f"an option of {name} must be {choices}, found {unknown[0]!r}{did_you_mean(unknown[0], known)}")
    return _generators()[name](**options)


__all__ = [
    "NAMES",
    "PROMISES",
    "breast_cancer",
    "diabetes",
    "digits",
    "gaussian_teacher",
    "linear_teacher",
    "make",
    "monomial",
    "names",
    "near_orthogonality",
    "nearly_orthogonal",
    "options_of",
    "orthogonal",
    "orthogonally_separable",
    "sine_teacher",
    "six_points",
    "xor",
]
