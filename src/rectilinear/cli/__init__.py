"""The command line: `rectilinear diagnose | predict | simulate | descend | datasets | reproduce | study | sweep | explore | compile`.

Exit codes: 0 the run ended as asked, 1 it could not go on (it chatters, is stuck or diverged) or a claim got another verdict than the
recorded one, 2 something cannot be used as it is, 130 it was interrupted. A run that ends early is printed, saved and drawn
like any other.
"""

from __future__ import annotations

from ..progress import ProgressBar
from . import (
    claims,
    compilation,
    diagnosis,
    explore,
    listings,
    predictions,
    runs,
    studies,
    sweep,
)  # each adds its commands to `main`
from .group import main

__all__ = [
    "ProgressBar",
    "claims",
    "compilation",
    "diagnosis",
    "explore",
    "listings",
    "main",
    "predictions",
    "runs",
    "studies",
    "sweep",
]
