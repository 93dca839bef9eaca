"""One implicit step, as far as its engine has to know it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Array
from ..collocation import ALL_NODES, BARYCENTRIC, NODES, STAGES, WEIGHTS, integrals_to, stages_at

JUST_BEFORE = 1e-4  # of the step, from where to its end the slope of an event's function is taken
_SHARES = BARYCENTRIC / (1.0 - JUST_BEFORE - ALL_NODES)
BASIS_JUST_BEFORE = _SHARES / _SHARES.sum()  # without the kernel, which importing this file would compile


@dataclass(frozen=True, eq=False)
class Step:
    """A step of length h from the present state: its error in units of the tolerance, and what it found at its nodes.

    `stages` (5, carriers, inputs + 1) is how far carriers have moved at c_1, ..., c_5; squared speeds `energies` (6,), `pulls`
    (6, samples) and `objectives` (6,), the loss or ln of it, are at 0, c_1, ..., c_5.
    """

    h: float
    error: float
    stages: Array
    energies: Array
    pulls: Array
    objectives: Array

    @property
    def objective(self) -> float:
        return float(self.objectives[-1])

    @property
    def energy(self) -> float:
        """The integral of the squared speed over the step."""
        return self.h * float(WEIGHTS @ self.energies[1:])

    def moved(self, sizes: Array) -> float:
        """How far the step moves carriers of these sizes, relative to them."""
        return float(np.sqrt(np.mean((self.stages[-1] / sizes[:, None]) ** 2)))

    def path(self, carried: Array) -> Array:
        """The carriers (6, carriers, inputs + 1), that are `carried` at its start, at its nodes."""
        path = np.empty((STAGES + 1, *carried.shape))
        path[0] = carried
        np.add(carried, self.stages, out=path[1:])
        return path

    def at(self, shares: Array) -> tuple[Array, Array]:
        """How far carriers have moved (u, carriers, inputs + 1) after each share of the step, and the integral of the squared speed."""
        return stages_at(self.stages, shares), self.h * integrals_to(self.energies[1:], shares)

    def pulls_soon_after(self, length: float) -> Array:
        """Those at the first node that is later than so much of the step; at its end if there is none."""
        later = int(np.searchsorted(ALL_NODES * self.h, length, side="right"))
        return np.asarray(self.pulls[min(later, STAGES)])

    def beginning(self, length: float) -> Array:
        """Stages of a step from the same state of another length, guessed."""
        guess: Array = stages_at(self.stages, NODES * (length / self.h))
        return guess

    def ahead(self, length: float) -> Array:
        """Stages of a step of this length from the end of this one, guessed."""
        guess: Array = stages_at(self.stages, 1.0 + NODES * (length / self.h)) - self.stages[-1]
        return guess

    def standing(self) -> Step:
        """The same state at all nodes, and no time passes: an event at the very start is decided before anything moves."""
        nodes = (STAGES + 1, 1)
        return replace(
            self,
            h=0.0,
            stages=np.zeros_like(self.stages),
            energies=np.full(STAGES + 1, self.energies[0]),
            pulls=np.tile(self.pulls[0], nodes),
            objectives=np.full(STAGES + 1, self.objectives[0]),
        )


def resting(carried: Array, pull: Array, objective: float) -> Step:
    """Nothing moves, for as long as one likes."""
    nodes = STAGES + 1
    return Step(
        0.0, 0.0, np.zeros((STAGES, *carried.shape)), np.zeros(nodes), np.tile(pull, (nodes, 1)), np.full(nodes, objective)
    )


def slope_at_end(row: Array) -> float:
    """The slope at the end of a step, per step, of what has the values `row` (6,) at its nodes."""
    return float(row[-1] - BASIS_JUST_BEFORE @ row) / JUST_BEFORE
