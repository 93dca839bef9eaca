"""A Finding: does one hypothesis hold for this sample, by how much, and which samples or neurons show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import nan
from typing import Any, Literal

from ..jsonable import jsonable, number_from
from ..precision import Precision

Witness = tuple[int, ...] | tuple[float, ...] | str | None

Direction = Literal["at_most", "at_least", "above"]

SIGNS: Mapping[Direction, str] = {"at_most": "≤", "at_least": "≥", "above": ">"}
VERDICTS = {True: "yes", False: "no", None: "undecided"}


@dataclass(frozen=True)
class Finding:
    """The verdict on one hypothesis: `measured` against `threshold`, both on the scale that `sentence` explains.

    `holds` is True, False or None (undecided) and speaks of the sample as it is, not of the distribution it was drawn from.
    `direction` says on which side of the threshold it holds: `at_most`, `at_least` or `above` it. A hypothesis that is so or
    not, without a number, measures 1 or 0, `at_least` 1. `defect` is by how much it is off where it
    holds to the precision of the data only. `witness` names what shows the verdict, e.g. the indices of the worst
    pair of samples. `p_value`, where asked for, answers the other question: how often would a population with the property
    show as large a deviation as this sample?

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
    direction: Direction = "at_most"
    defect: float = 0.0

    @property
    def requirement(self) -> str:
        """The threshold with its side, as in "≤ 0.001"."""
        return f"{SIGNS[self.direction]} {self.threshold + 0.0:.4g}"  # + 0.0: never -0

    def __repr__(self) -> str:
        return f"{VERDICTS[self.holds]:<10} {self.name}: {self.sentence}"

    def to_json(self) -> dict[str, Any]:
        """The finding as plain values; what is not a finite number is None, which `from_json` reads as nan."""
        return {name: jsonable(value) for name, value in vars(self).items()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Finding:
        witness = values["witness"]
        numbers = {name: number_from(values[name]) for name in ("measured", "threshold")}
        return cls(**{**values, **numbers, "witness": tuple(witness) if isinstance(witness, list) else witness})


def measured_finding(
    name: str,
    measured: float,
    threshold: float,
    sentence: str,
    witness: Witness = None,
    direction: Direction = "at_most",
) -> Finding:
    """The finding that holds iff `measured` is on that side of `threshold`; nan is on none."""
    holds = {"at_most": measured <= threshold, "at_least": measured >= threshold, "above": measured > threshold}[direction]
    return Finding(name, bool(holds), float(measured), float(threshold), witness, sentence, direction=direction)


def finding_to_precision(
    name: str, measured: float, precision: Precision, holds: str, fails: str, witness: Witness = None
) -> Finding:
    """The finding that holds iff `precision` cannot tell `measured` from zero; `holds` and `fails` are sentences without their end."""
    if measured <= precision.tolerance:
        found = measured_finding(name, measured, precision.tolerance, f"{holds}{precision.excuse(measured)}.")
        return replace(found, defect=float(measured))
    return measured_finding(name, measured, precision.tolerance, f"{fails}{precision.larger_scale(measured)}.", witness)


def true_or_not(name: str, holds: bool, sentence: str) -> Finding:
    """The finding of a hypothesis that is so or not."""
    return measured_finding(name, float(holds), 1.0, sentence, direction="at_least")


def undecided(name: str, threshold: float, sentence: str, direction: Direction = "at_most") -> Finding:
    """The finding that could not be measured."""
    return Finding(name, None, nan, float(threshold), None, sentence, direction=direction)


def either(*alternatives: Finding) -> Finding:
    """The first of several sufficient hypotheses that holds; the first one if none does."""
    return next((finding for finding in alternatives if finding.holds), alternatives[0])
