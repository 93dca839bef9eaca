"""Ways out of w = 0, where a neuron touches all kinks at once."""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Signs
from ..tolerances import AT_ORIGIN
from .contact import resolve
from .geometry import Kinks

EXITS = 200  # kinks met by a neuron that leaves the origin


def exit_from_origin(kinks: Kinks, sign_a: float, pull: Array, directions: list[Array]) -> Signs | None:
    """The pattern with which a neuron at w = 0 leaves; None if it is pushed back whichever way it starts.

    Near w = 0 the velocity sign_a g depends on the direction of w alone. It is traced from kink to kink, from each of
    `directions` and then from each sample's own, until no kink lies ahead (it has left) or it is back at w = 0.
    """
    own = np.sign(sign_a * pull)[:, None] * kinks.x
    for direction in [*directions, own.sum(axis=0), *own]:
        after = _trace(kinks, direction, sign_a, pull)
        if after is not None:
            return after
    return None


def _trace(kinks: Kinks, direction: Array, sign_a: float, pull: Array) -> Signs | None:
    length = float(np.linalg.norm(direction))
    if length == 0.0:
        return None
    w = direction / length
    heights = kinks.normals @ w
    signs = np.sign(heights).astype(np.int8)
    touching = np.flatnonzero(np.abs(heights) <= AT_ORIGIN)
    signs[touching] = 0
    for _ in range(EXITS):
        if touching.size:
            signs[touching] = resolve(kinks, signs, touching, sign_a, pull).signs
        velocity = sign_a * (pull @ kinks.seen(signs))
        speed = float(np.linalg.norm(velocity))
        if speed <= AT_ORIGIN * float(np.abs(pull) @ np.linalg.norm(kinks.x, axis=1)):
            return None
        heights, rates = signs * (kinks.normals @ w), signs * (kinks.normals @ velocity) / speed
        ahead = np.flatnonzero((rates < -AT_ORIGIN) & (signs != 0))
        if not ahead.size:
            return signs
        waits = np.maximum(heights[ahead], 0.0) / -rates[ahead]
        wait = float(waits.min())
        w = w + wait * velocity / speed
        if np.linalg.norm(w) <= AT_ORIGIN:
            return None
        touching = np.union1d(ahead[waits <= wait * (1 + AT_ORIGIN)], np.flatnonzero(signs == 0)).astype(np.intp)
    return None
