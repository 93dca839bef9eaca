"""Hypotheses of the theorems, each measured on a data set or a problem: a Finding with verdict, number and witness."""

from __future__ import annotations

from .budget import Budget, budget
from .finding import Finding, either, measured_finding, true_or_not, undecided
from .half_spaces import HalfSpaces, half_spaces
from .inputs import nearly_orthogonal, orthogonal_inputs, white_inputs
from .mirror import MIRROR_TOLERANCE, MatchingDistance, matching_distance, near_pairs
from .population import PopulationTest, population_test
from .setting import no_decay, square_loss, two_layers
from .start import Alignment, alignment, balanced_start, rank_one_start, small_start
from .symmetry import even_inputs, odd_target
from .targets import expressible_target, linear_target, orthogonally_separable, separable

__all__ = [
    "MIRROR_TOLERANCE",
    "Alignment",
    "Budget",
    "Finding",
    "HalfSpaces",
    "MatchingDistance",
    "PopulationTest",
    "alignment",
    "balanced_start",
    "budget",
    "either",
    "even_inputs",
    "expressible_target",
    "half_spaces",
    "linear_target",
    "matching_distance",
    "measured_finding",
    "near_pairs",
    "nearly_orthogonal",
    "no_decay",
    "odd_target",
    "orthogonal_inputs",
    "orthogonally_separable",
    "population_test",
    "rank_one_start",
    "separable",
    "small_start",
    "square_loss",
    "true_or_not",
    "two_layers",
    "undecided",
    "white_inputs",
]
