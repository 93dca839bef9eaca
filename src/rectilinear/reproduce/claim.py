"""A Claim: what a paper states, a check that measures it, and the verdict that the measurements give."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from ..jsonable import jsonable, number_from

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Number = float | np.floating[Any]

NEAR_WHOLE = 1e-4  # thresholds this near to a whole number are written as that number and the difference
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Verdict(Enum):
    """What the measurements say about a claim; `meaning` is the sentence the reader gets."""

    CONFIRMED = "confirmed"
    CORRECTED = "corrected"
    CONTRADICTED = "contradicted"
    INCONCLUSIVE = "inconclusive"
    FAILED = "failed"

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    Verdict.CONFIRMED: "the statement holds as printed",
    Verdict.CORRECTED: "the printed form fails, a corrected form holds",
    Verdict.CONTRADICTED: "the statement does not hold",
    Verdict.INCONCLUSIVE: "what was measured does not decide it",
    Verdict.FAILED: "the check itself broke off with an error",
}


class Form(Enum):
    """Which form of the statement a measurement is about."""

    PRINTED = "as printed"
    CORRECTED = "as corrected"


@dataclass(frozen=True)
class Measurement:
    """A number, the range [low, high] in which the statement puts it, and whether it lies there."""

    what: str
    value: float
    low: float = -np.inf
    high: float = np.inf
    form: Form = Form.PRINTED

    @property
    def holds(self) -> bool:
        return bool(self.low <= self.value <= self.high)  # False for nan

    @property
    def judges(self) -> bool:
        """Whether there is a threshold, or the number is there to be read only."""
        return self.low > -np.inf or self.high < np.inf

    @property
    def threshold(self) -> str:
        """The range as text."""
        if not self.judges:
            return ""
        low, high = _near_whole(self.low), _near_whole(self.high)
        if self.low == -np.inf:
            return f"≤ {high}"
        if self.high == np.inf:
            return f"≥ {low}"
        return low.replace("−", "±") if low.replace("−", "+") == high else f"{low} to {high}"

    def __str__(self) -> str:
        return f"{self.what}: {written(self.value)}" + (f" ({self.threshold})" if self.judges else "")

    def to_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "value": jsonable(self.value),
            "low": jsonable(self.low),
            "high": jsonable(self.high),
            "form": self.form.value,
            "holds": self.holds if self.judges else None,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Measurement:
        low = -np.inf if values["low"] is None else values["low"]
        high = np.inf if values["high"] is None else values["high"]
        return cls(values["what"], number_from(values["value"]), low, high, Form(values["form"]))


def at_most(what: str, value: Number, high: float, form: Form = Form.PRINTED) -> Measurement:
    return Measurement(what, float(value), high=float(high), form=form)


def at_least(what: str, value: Number, low: float, form: Form = Form.PRINTED) -> Measurement:
    return Measurement(what, float(value), low=float(low), form=form)


def between(what: str, value: Number, low: float, high: float, form: Form = Form.PRINTED) -> Measurement:
    return Measurement(what, float(value), float(low), float(high), form)


def noted(what: str, value: Number) -> Measurement:
    """A number worth reading that judges nothing."""
    return Measurement(what, float(value))


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure, the name of its files, and a caption that says what to see."""

    name: str
    caption: str
    figure: Figure


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a check found. `settings` are sizes and seeds; `numbers` maps names to (dimensions, values) as xarray takes them;
    `remark` says what the reader should know beyond the numbers; `open_question` why they do not decide the claim."""

    measurements: tuple[Measurement, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    pictures: tuple[Picture, ...] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)
    remark: str = ""
    open_question: str = ""

    @property
    def verdict(self) -> Verdict:
        """Confirmed if all hold; corrected if all of the corrected form hold, and there are some; contradicted otherwise.

        Where nothing judges, nothing is decided.

        >>> Evidence((at_most("error as printed", 0.5, 0.1), at_most("as corrected", 0.0, 0.1, Form.CORRECTED))).verdict
        <Verdict.CORRECTED: 'corrected'>
        """
        if self.open_question:
            return Verdict.INCONCLUSIVE
        judging = [measurement for measurement in self.measurements if measurement.judges]
        if not judging:
            return Verdict.INCONCLUSIVE
        if all(measurement.holds for measurement in judging):
            return Verdict.CONFIRMED
        corrected = [measurement.holds for measurement in judging if measurement.form is Form.CORRECTED]
        return Verdict.CORRECTED if corrected and all(corrected) else Verdict.CONTRADICTED


@dataclass(frozen=True, eq=False)
class Claim:
    """One statement of a paper: `source` where it is printed, `statement` in our words, `recorded` the verdict it must get.

    `check(full)` measures it, at the paper's size if `full` and at a reduced size that takes seconds otherwise.
    """

    name: str
    title: str
    paper: str
    source: str
    statement: str
    recorded: Verdict
    check: Callable[[bool], Evidence]


def written(value: float) -> str:
    """Three digits, below ten two digits of the difference from a whole number; powers of ten as they are written by hand.

    >>> written(4.751e-9), written(0.25), written(1.000229), written(1500.4), written(3e6)
    ('4.75·10⁻⁹', '0.25', '1.00023', '1500', '3·10⁶')
    """
    rounded = float(f"{value:.3g}")
    if 1000 <= abs(rounded) < 1e6:
        return f"{value:.0f}"
    if np.isfinite(value) and rounded == round(rounded) and value != rounded and abs(value) < 10:
        decimals = 1 - math.floor(math.log10(abs(value - rounded)))
        return f"{value:.{min(decimals, 12)}f}".rstrip("0").rstrip(".")
    mantissa, _, exponent = f"{value:.3g}".partition("e")
    if not exponent:
        return mantissa
    power = f"10{str(int(exponent)).translate(SUPERSCRIPTS)}"
    return power if mantissa == "1" else f"{mantissa}·{power}"


def _near_whole(bound: float) -> str:
    """A threshold as a person writes it: 1 + 10⁻¹², not 1.000000000001."""
    whole = round(bound) if np.isfinite(bound) else 0
    apart = abs(bound - whole)
    if whole == 0 or apart == 0.0 or apart > NEAR_WHOLE:
        return written(bound)
    return f"{whole} {'+' if bound > whole else '−'} {written(apart)}"
