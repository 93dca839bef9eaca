"""Statements of Kou, Chen and Gu on two-layer networks whose second layer is fixed, on (nearly) orthogonal data."""

from . import correlated, finite_size, margins, patterns, ranks

CLAIMS = (*ranks.CLAIMS, *finite_size.CLAIMS, *margins.CLAIMS, *patterns.CLAIMS, *correlated.CLAIMS)
