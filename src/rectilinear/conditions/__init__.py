"""Hypotheses of the theorems, each measured on a data set or a problem: a Finding with verdict, number and witness."""

from __future__ import annotations

from .budget import Budget, budget
from .finding import Finding, either, measured_finding
from .inputs import nearly_orthogonal, orthogonal_inputs, white_inputs
from .setting import no_decay, square_loss, two_layers
from .start import Alignment, alignment, balanced_start, rank_one_start, small_start
from .symmetry import even_inputs, odd_target
from .targets import expressible_target, linear_target, orthogonally_separable, separable

__all__ = [
    "Alignment",
    "Budget",
    "Finding",
    "alignment",
    "balanced_start",
    "budget",
    "either",
    "even_inputs",
    "expressible_target",
    "linear_target",
    "measured_finding",
    "nearly_orthogonal",
    "no_decay",
    "odd_target",
    "orthogonal_inputs",
    "orthogonally_separable",
    "rank_one_start",
    "separable",
    "small_start",
    "square_loss",
    "two_layers",
    "white_inputs",
]
