"""A Study: a question that the papers leave open, the numbers measured on it, one figure, and what they say."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..jsonable import jsonable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 110  # characters per line of the printed finding


@dataclass(frozen=True, eq=False)
class Study:
    """`numbers` maps names to (dimensions, values) as xarray takes them; `draw()` gives the figure, `finding` the paragraph."""

    name: str
    question: str
    source: str
    finding: str
    numbers: Mapping[str, tuple[tuple[str, ...], Any]]
    draw: Callable[[], Figure]

    def __repr__(self) -> str:
        return f"{self.name}: {self.question}\n{textwrap.fill(self.finding, WIDTH)}"

    def to_json(self) -> dict[str, Any]:
        """Everything but the figure; what is not a finite number becomes None."""
        numbers = {name: jsonable(np.asarray(values)) for name, (_, values) in self.numbers.items()}
        texts = {"name": self.name, "question": self.question, "source": self.source, "finding": self.finding}
        return {**texts, "numbers": numbers}
