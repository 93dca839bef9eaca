"""Statements of Zhang, Saxe and Latham, "When Are Bias-Free ReLU Networks Effectively Linear Networks?"."""

from . import equivalence, figure_1

CLAIMS = (*figure_1.CLAIMS, *equivalence.CLAIMS)
