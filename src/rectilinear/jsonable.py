"""Results as JSON, in one dialect: every text this package prints or stores is strict JSON (RFC 8259).

NumPy numbers and arrays become numbers and lists; mappings, lists and tuples keep their contents. JSON knows neither infinity
nor nan: both become null, and what reads such a text back takes null for nan.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def json_text(value: Any, indent: int | None = None) -> str:
    """The value as strict JSON text.

    >>> json_text({"loss": np.array([0.5, np.inf]), "samples": np.int64(6), "named": ("a", None)})
    '{"loss": [0.5, null], "samples": 6, "named": ["a", null]}'
    """
    return json.dumps(jsonable(value), indent=indent, ensure_ascii=False, allow_nan=False)


def jsonable(value: Any) -> Any:
    """The value made of dictionaries, lists, texts, finite numbers, truth values and None."""
    if isinstance(value, np.ndarray | np.generic):
        return jsonable(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): jsonable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    raise TypeError(f"results must be numbers, texts, lists and mappings of them, found {type(value).__name__}")


def number_from(value: float | str | None) -> float:
    """A number as JSON has it, null as nan; texts like "inf", which earlier versions wrote, are read too.

    >>> number_from(2), number_from(None), number_from("inf")
    (2.0, nan, inf)
    """
    return math.nan if value is None else float(value)
