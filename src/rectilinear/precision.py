"""How exact numbers are: float64, float32, or as many digits as were written down. What two numbers differ by less than that
tells nothing, so every hypothesis is held against this one notion."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log10

import numpy as np

from .arrays import Array

ROUNDING = 1e-10  # relative: what a chain of float64 operations (standardising, whitening, a polynomial) may leave
# How many half units of the last place data may be off by. Numbers of few digits were rounded once: of 250 random tables the
# farthest was off by 0.7. Float32 goes through whole chains of operations: of 300 tables that were shifted, standardised and put
# through a cubic in it, one in a hundred was off by over 117, the farthest by 180.
GROWTH_OF_DIGITS, GROWTH_OF_SINGLE = 8.0, 256.0
FEWEST_DIGITS, MOST_DIGITS = 6, 10  # numbers of fewer digits are meant as they stand; of more, they are float64
LOOKED_AT = 40  # of the largest numbers of a column, and columns of a table
SHORT_MANTISSA = 16  # bits: whole and simple numbers fit into them, whatever type they went through
LARGEST_SINGLE = 3e38
LARGER_SCALES = (
    ("float32", 2e-5),
    ("six digits", 2e-4),
)  # what data may have gone through, and how far off that leaves them


@dataclass(frozen=True)
class Precision:
    """Numbers equal to within `tolerance` times the largest of their column are equal; `name` says why.

    >>> Precision.of(np.array([[0.123456], [2.345678]]))
    Precision(name='7 digits', tolerance=1.7...e-06)
    """

    name: str
    tolerance: float

    @classmethod
    def of(cls, values: Array) -> Precision:
        """The precision that numbers (n, d) show: float32 if they all fit in it, digits if they have few, else float64."""
        if _went_through_single(values):
            return cls("float32", GROWTH_OF_SINGLE * float(np.finfo(np.float32).eps) / 2)
        found = [place for column in _uncertain_columns(values).T if (place := _last_place(column)) is not None]
        if not found:
            return FLOAT64
        digits, unit = max(found, key=lambda pair: pair[1])
        return cls(f"{digits} digits", max(ROUNDING, GROWTH_OF_DIGITS * unit))

    def excuse(self, deviation: float) -> str:
        """The end of a sentence about something that holds though it is off by `deviation`.

        >>> FLOAT64.excuse(7.6e-17)
        ', to rounding (7.6e-17)'
        """
        if deviation == 0.0:
            return ""
        words = "to rounding (" if self.name == FLOAT64.name else f"to the precision of the data ({self.name}, "
        return f", {words}{deviation:.2g})"

    def larger_scale(self, deviation: float) -> str:
        """The end of a sentence about something that fails by so little that a coarser scale would explain it.

        >>> FLOAT64.larger_scale(3.8e-8)
        ' (off by 3.8e-08, as float32 would leave it: state precision=2e-05 if that is what the data are)'
        """
        for scale, tolerance in LARGER_SCALES:
            if self.tolerance < deviation <= tolerance:
                return f" (off by {deviation:.2g}, as {scale} would leave it: state precision={tolerance:g} if that is what the data are)"
        return ""

    def coarser(self, other: Precision) -> Precision:
        """The less exact one of two."""
        return self if self.tolerance >= other.tolerance else other

    def grown(self, factor: float) -> Precision:
        """The same numbers after an operation that made their errors that much larger, relative to what it left of them."""
        return self if self.name == FLOAT64.name else Precision(self.name, self.tolerance * max(1.0, factor))


FLOAT64 = Precision("float64", ROUNDING)


def stated(tolerance: float) -> Precision:
    """The precision that a user states."""
    return Precision("as stated", float(tolerance))


def _went_through_single(values: Array) -> bool:
    for rows in (values[:1], values):  # one row mostly shows that they did not
        if np.abs(rows).max(initial=0.0) > LARGEST_SINGLE or not np.array_equal(rows.astype(np.float32), rows):
            return False
    mantissas = np.ldexp(np.frexp(values)[0], SHORT_MANTISSA)
    return not np.array_equal(mantissas, np.round(mantissas))


def _uncertain_columns(values: Array) -> Array:
    """Some of the columns, without those all of whose digits are meant as one look shows: whole numbers, or a large one of many digits."""
    columns = values.shape[1]
    chosen = values if columns <= LOOKED_AT else values[:, np.linspace(0, columns - 1, LOOKED_AT).astype(int)]
    sizes = np.abs(chosen)
    large = sizes[np.argmax(sizes >= 0.1 * sizes.max(axis=0, initial=0.0), axis=0), np.arange(sizes.shape[1])]
    few = chosen[:, [len(_digits(number)) <= MOST_DIGITS for number in large.tolist()]]
    return np.asarray(few[:, (few != np.round(few)).any(axis=0)])


def _last_place(column: Array) -> tuple[int, float] | None:
    """Digits of the largest numbers, and half a unit of their last place relative to the largest; None if all digits are meant."""
    sizes = np.abs(column)
    largest = float(sizes.max(initial=0.0))
    large = sizes[sizes >= 0.1 * largest][:LOOKED_AT]
    digits = 0
    for number in large.tolist():
        digits = max(digits, len(_digits(number)))
        if digits > MOST_DIGITS:
            return None
    if digits < FEWEST_DIGITS:
        return None
    top = max(large.tolist(), key=lambda number: len(_digits(number)))
    return digits, 0.5 * 10.0 ** (floor(log10(top)) + 1 - digits) / largest


def _digits(number: float) -> str:
    """The digits of a positive number, without leading and trailing zeros."""
    return repr(number).split("e")[0].replace(".", "").strip("0")
