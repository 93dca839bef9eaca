"""Hypotheses of the theorems, each measured on a data set or a problem: a Finding with verdict, number and witness."""

from __future__ import annotations

from ..deprecation import renamed
from ..reduced.alignment import Alignment, nearest_aligned
from .asymmetry import Asymmetry, asymmetry, broken_symmetry, nearly_symmetric
from .budget import Budget, budget
from .classes import both_classes, xor_samples
from .expressivity import ExactLinearity, exact_linearity, interpolating_network
from .finding import Finding, either, measured_finding, true_or_not, undecided
from .growth import both_signs_grow, fixed_halves, held_survivors, neurons_for_both
from .half_spaces import HalfSpaces, half_spaces
from .inputs import nearly_orthogonal, orthogonal_inputs, white_inputs
from .mirror import MIRROR_TOLERANCE, MatchingDistance, matching_distance, near_pairs
from .population import PopulationTest, population_test
from .setting import (
    every_layer_trains,
    falling_loss,
    first_layer_only,
    growing_loss,
    lipschitz_loss,
    no_decay,
    relu,
    square_loss,
    two_layers,
)
from .start import balanced_start, deep_aligned_start, rank_one_start, small_start, two_class_layer
from .symmetry import even_inputs, odd_target
from .targets import expressible_target, linear_target, orthogonally_separable, separable

__all__ = [
    "MIRROR_TOLERANCE",
    "Alignment",
    "Asymmetry",
    "Budget",
    "ExactLinearity",
    "Finding",
    "HalfSpaces",
    "MatchingDistance",
    "PopulationTest",
    "asymmetry",
    "balanced_start",
    "both_classes",
    "both_signs_grow",
    "broken_symmetry",
    "budget",
    "deep_aligned_start",
    "either",
    "even_inputs",
    "every_layer_trains",
    "exact_linearity",
    "expressible_target",
    "falling_loss",
    "first_layer_only",
    "fixed_halves",
    "growing_loss",
    "half_spaces",
    "held_survivors",
    "interpolating_network",
    "linear_target",
    "lipschitz_loss",
    "matching_distance",
    "measured_finding",
    "near_pairs",
    "nearest_aligned",
    "nearly_orthogonal",
    "nearly_symmetric",
    "neurons_for_both",
    "no_decay",
    "odd_target",
    "orthogonal_inputs",
    "orthogonally_separable",
    "population_test",
    "rank_one_start",
    "relu",
    "separable",
    "small_start",
    "square_loss",
    "true_or_not",
    "two_class_layer",
    "two_layers",
    "undecided",
    "white_inputs",
    "xor_samples",
]

__getattr__ = renamed(__name__, {"alignment": "conditions.nearest_aligned"})
