"""Checks that the generators' options share."""

from __future__ import annotations

import numpy as np

from ..errors import InputError


def require_whole(name: str, value: object, least: int, why: str = "") -> None:
    """Refuse anything but a whole number >= `least`."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise InputError(f"{name} must be a whole number >= {least}{f' ({why})' if why else ''}, found {value!r}.")


def require_between(name: str, value: object, low: float, high: float, bounds: str) -> None:
    """Refuse anything but a number strictly between two bounds, which `bounds` words."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not low < value < high:
        raise InputError(f"{name} must lie strictly between {bounds}, found {value!r}.")


def require_switch(name: str, value: object) -> None:
    """Refuse anything but true or false, so that the text 'false' is not taken for true."""
    if not isinstance(value, bool):
        raise InputError(f"{name} must be true or false, found {value!r}.")


def seeded(seed: int) -> np.random.Generator:
    """The generator that a data set of this seed is drawn from."""
    require_whole("seed", seed, 0)
    return np.random.default_rng(seed)
