"""A step of followed neurons as it came out."""

from __future__ import annotations

from dataclasses import dataclass

from ...arrays import Array
from .neuron_path import End


@dataclass
class Swept:
    """A step on which pulls and paths agree: its length, pulls and outputs (samples, s + 1), ends, events, and how it got there."""

    h: float
    pulls: Array
    projected: Array
    outputs: Array
    end: End
    happened: list[Array]
    saved: Array
    sweeps: int
    first_change: float
    last_change: float
