"""Statements of Zhang, Saxe and Latham, "When Are Bias-Free ReLU Networks Effectively Linear Networks?"."""

from . import deep, early, equivalence, expressivity, figure_1, figure_2, lemmas, limits, subnetworks, symmetry

CLAIMS = (
    *figure_1.CLAIMS,
    *expressivity.CLAIMS,
    *lemmas.CLAIMS,
    *early.CLAIMS,
    *equivalence.CLAIMS,
    *limits.CLAIMS,
    *figure_2.CLAIMS,
    *deep.CLAIMS,
    *subnetworks.CLAIMS,
    *symmetry.CLAIMS,
)
