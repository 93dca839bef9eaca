"""`diagnose`: a problem in, a Diagnosis out: findings, theorems that apply, what they foretell, what to do."""

from __future__ import annotations

from .diagnosis import (
    ENDINGS,
    Diagnosis,
    Ending,
    Outlook,
    PlateauForecast,
    Reading,
    Suggestion,
    Symmetry,
    Verification,
)

__all__ = [
    "ENDINGS",
    "Diagnosis",
    "Ending",
    "Outlook",
    "PlateauForecast",
    "Reading",
    "Suggestion",
    "Symmetry",
    "Verification",
]
