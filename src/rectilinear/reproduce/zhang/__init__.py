"""Statements of Zhang, Saxe and Latham, "When Are Bias-Free ReLU Networks Effectively Linear Networks?"."""

from . import early, equivalence, expressivity, figure_1, lemmas

CLAIMS = (*figure_1.CLAIMS, *expressivity.CLAIMS, *lemmas.CLAIMS, *early.CLAIMS, *equivalence.CLAIMS)
