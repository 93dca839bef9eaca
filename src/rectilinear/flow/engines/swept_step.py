"""A step of followed neurons as it came out, and what it leaves for the next one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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


@dataclass
class Next:
    """What the end of a step is for the next one: the length to try, heights (neurons, lines), outputs and pulls (samples,), and what
    the step's error does to the weights (neurons, inputs + 1)."""

    h: float
    heights: NDArray[np.float32]
    f: Array
    pulls: Array
    moved: Array
