"""Statements of Kou, Chen and Gu on two-layer networks whose second layer is fixed, on (nearly) orthogonal data."""

from . import margins, patterns, ranks

CLAIMS = (*ranks.CLAIMS, *margins.CLAIMS, *patterns.CLAIMS)
