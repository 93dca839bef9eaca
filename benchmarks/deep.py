"""Small random networks of three and four layers to t = 100: who gets there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .random_problems import random_deep_problem
from .report import Report
from .stalls import measure

TIMES = np.array([0.0, 1.0, 10.0, 30.0, 100.0])


def run(folder: Path, problems: int) -> dict[str, Any]:
    """All of them."""
    return measure(Report("deep", folder), random_deep_problem, TIMES, problems)
