"""Every hypothesis measured on a problem: those of data and start always, the others as far as a theorem asks for them."""

from __future__ import annotations

from collections.abc import Iterable

from .. import conditions
from ..conditions import Finding
from ..problem import Problem
from .diagnosis import Reading

ON_DATA = (
    "even_inputs",
    "odd_target",
    "white_inputs",
    "linear_target",
    "separable",
    "orthogonally_separable",
    "orthogonal_inputs",
    "nearly_orthogonal",
    "expressible_target",
)
ON_START = ("small_start", "rank_one_start", "balanced_start")
FINDINGS = (*ON_DATA[:-1], *ON_START, ON_DATA[-1])  # in the order they are shown


def findings_of(problem: Problem, readings: Iterable[Reading]) -> dict[str, Finding]:
    """The findings by name: `FINDINGS` first, then whatever else the theorems have measured."""
    found = {name: getattr(conditions, name)(problem.data if name in ON_DATA else problem) for name in FINDINGS}
    for reading in readings:
        for finding in reading.findings:
            found.setdefault(finding.name, finding)
    return found
