"""What moves the weights: -grad L, and what becomes of it where patterns are frozen. Knows no step."""

from __future__ import annotations

from typing import Protocol

from ...arrays import Array
from ...problem import Problem
from .deep import DeepField
from .few_products import FewProducts
from .two_layer import TwoLayerField


class Motion(Protocol):
    """Where the flat weights theta move."""

    def velocity(self, theta: Array, out: Array) -> float:
        """Write -grad L(theta) to `out` and return L(theta), regularisation included."""
        ...


class Field(Motion, Protocol):
    """-grad L as a function of the flat weights theta."""

    size: int

    def losses(self, states: Array) -> Array:
        """<l(y, f)> of each of several states (t, size), without regularisation, by forward passes only."""
        ...


def make_field(problem: Problem) -> Field:
    """The fused kernel for two layers, BLAS for more."""
    return TwoLayerField(problem) if problem.network.layers == 2 else DeepField(problem)


def field_for_few(problem: Problem) -> Field:
    """The same where little is asked of it: small problems take less time than compiling would."""
    return FewProducts(problem) if FewProducts.suits(problem) else make_field(problem)
