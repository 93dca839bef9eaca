"""A Finding: does one hypothesis hold for this sample, by how much, and which samples or neurons show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from math import isfinite
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from ..dataset import Dataset

Witness = tuple[int, ...] | tuple[float, ...] | str | None

VERDICTS = {True: "yes", False: "no", None: "undecided"}


@dataclass(frozen=True)
class Finding:
    """The verdict on one hypothesis: `measured` against `threshold`, both on the scale that `sentence` explains.

    `holds` is True, False or None (undecided) and speaks of the sample as it is, not of the distribution it was drawn from.
    `witness` names what shows the verdict, e.g. the indices of the worst pair of samples. `p_value`, where asked for, answers
    the other question: how often would a population with the property show as large a deviation as this sample?

    >>> Finding("balanced_start", True, 0.0, 1e-10, None, "every neuron has |w_h| = |a_h|.")
    yes        balanced_start: every neuron has |w_h| = |a_h|.
    """

    name: str
    holds: bool | None
    measured: float
    threshold: float
    witness: Witness
    sentence: str
    p_value: float | None = None

    def __repr__(self) -> str:
        return f"{VERDICTS[self.holds]:<10} {self.name}: {self.sentence}"

    def to_json(self) -> dict[str, Any]:
        """The finding as plain values, infinite numbers as text, which JSON does not have; `from_json` reads them back."""
        numbers = {name: getattr(self, name) for name in ("measured", "threshold")}
        return {**vars(self), **{name: value if isfinite(value) else str(value) for name, value in numbers.items()}}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Finding:
        witness = values["witness"]
        numbers = {name: float(values[name]) for name in ("measured", "threshold")}
        return cls(**{**values, **numbers, "witness": tuple(witness) if isinstance(witness, list) else witness})


def measured_finding(name: str, measured: float, threshold: float, sentence: str, witness: Witness = None) -> Finding:
    """The finding that holds iff `measured` <= `threshold`."""
    return Finding(name, bool(measured <= threshold), float(measured), float(threshold), witness, sentence)


Measured = TypeVar("Measured")


def remembered(measure: Callable[[Dataset], Measured]) -> Callable[[Dataset], Measured]:
    """Measure each data set once: data sets never change, and several theorems ask the same question."""
    known: WeakKeyDictionary[Dataset, Measured] = WeakKeyDictionary()

    @wraps(measure)
    def recalled(data: Dataset) -> Measured:
        if data not in known:
            known[data] = measure(data)
        return known[data]

    return recalled


def either(*alternatives: Finding) -> Finding:
    """The first of several sufficient hypotheses that holds; the first one if none does."""
    return next((finding for finding in alternatives if finding.holds), alternatives[0])
