"""Which way a neuron that rests at w = 0 is driven away, if any.

There dw/dt = a grad Phi with Phi(w) = (1/P) sum_i r_i sigma(w.x_i), homogeneous in w: the neuron rests while a Phi <= 0 in all
directions. Those along and against the samples are tried.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ..field.sample_lines import SampleLines

MOST_TRIED_LINES = 500  # lines whose directions are tried
DRIVEN = 1e-9  # of the largest potential that the pulls can make: less is rounding


class WaysOut:
    """Directions (ways, inputs) out of w = 0, and what a unit neuron of each puts out (samples, ways)."""

    def __init__(self, lines: SampleLines) -> None:
        tried = lines.normals[:: max(1, len(lines) // MOST_TRIED_LINES)]
        self.directions = np.concatenate([tried, -tried])
        self.outputs = np.stack([lines.outputs(way[None], np.ones(1)) for way in self.directions], axis=1)
        self.reaches = lines.reaches

    def driven(self, pulls: Array) -> dict[float, int]:
        """For either sign of a the way with the largest a Phi, where that is positive."""
        potential = pulls @ self.outputs
        rounding = DRIVEN * float(np.abs(pulls) @ self.reaches)
        best = {sign: int(np.argmax(sign * potential)) for sign in (1.0, -1.0)}
        return {sign: way for sign, way in best.items() if sign * potential[way] > rounding}
