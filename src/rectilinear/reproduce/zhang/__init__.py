"""Statements of Zhang, Saxe and Latham, "When Are Bias-Free ReLU Networks Effectively Linear Networks?"."""

from . import (
    deep,
    deep_dynamics,
    early,
    equivalence,
    expressivity,
    figure_1,
    figure_2,
    lemmas,
    limits,
    robustness,
    subnetworks,
    symmetry,
)

CLAIMS = (
    *figure_1.CLAIMS,
    *expressivity.CLAIMS,
    *lemmas.CLAIMS,
    *early.CLAIMS,
    *equivalence.CLAIMS,
    *robustness.CLAIMS,
    *limits.CLAIMS,
    *figure_2.CLAIMS,
    *deep.CLAIMS,
    *deep_dynamics.CLAIMS,
    *subnetworks.CLAIMS,
    *symmetry.CLAIMS,
)
