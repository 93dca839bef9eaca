"""Nearly symmetric data, first act: two groups of neurons rise to the plateau and a few small ones survive.

1. *Rise.* As on symmetric data, almost all neurons join two groups, along +-beta, that act as two linear networks, one on
   each half of the samples. They end at the least-squares fits of their halves: the plateau. Its height is that of the best
   linear fit up to second order in the asymmetry.
2. *Survivors.* Lines of samples that would coincide by symmetry bound thin sectors of directions w, in which the pull
   g = <sigma'(w . x) rho x> differs by order one from what it is elsewhere, that of the symmetric problem. Neurons that turn
   towards a group through such a sector are stopped there, small, and follow the residuals rho of the groups alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..errors import FlowError, HypothesisError
from ..problem import Problem
from ..remembered import remembered
from .small_network import SmallNetwork
from .small_neurons import PullField, SmallNeuron
from .subnetworks import SubNetworks, early_subnetworks, flow_of, merged

SILENT = 1e-3  # residuals are those of f = 0 until a group's output reaches this share of the labels
PIECE = 0.25  # length of the pieces with constant residuals, in units of the early growth time
LATEST = 40  # early growth times in which the groups, once visible, must have reached the plateau
HELD = 1e-9  # cosines below it mean that a survivor lies on that kink
RISEN = 1e-4  # share of the loss drop that is left when the rise counts as over


@dataclass(frozen=True, eq=False)
class Rise:
    """The two large `groups`, the functions they can fit (`design`, (n, 2d)), the `residuals` (n,) of the plateau, the time
    at which it is reached (`end`), and the `survivors` with their sizes at that time."""

    groups: SubNetworks
    design: Array
    residuals: Array
    end: float
    survivors: SubNetworks

    @property
    def height(self) -> float:
        """The loss of the plateau."""
        return float(np.mean(self.residuals**2)) / 2

    def turning_room(self, normals: Array) -> int:
        """The most dimensions in which a survivor can turn within the kinks `normals` (k, d) that hold it; 0: none turns."""
        held = [normals[np.abs(normals @ u) <= HELD] for u in self.survivors.directions]
        return max(
            (normals.shape[1] - 1 - int(np.linalg.matrix_rank(lines)) if lines.size else 1 for lines in held), default=0
        )


@remembered
def rise_of(problem: Problem) -> Rise:
    """Follow the two groups to their fits, and every neuron on its own in the field of their residuals."""
    data = problem.data
    groups = _large_groups(problem)
    slopes = np.where(groups.active, 1.0, problem.network.alpha)
    design = np.concatenate([slope[:, None] * data.x for slope in slopes], axis=1)
    residuals = data.y - design @ np.linalg.lstsq(design, data.y, rcond=None)[0]
    times = _times(problem, groups)
    course = data.y - _outputs(problem, slopes, flow_of(groups, problem, times))
    losses, height = np.mean(course**2, axis=1) / 2, float(np.mean(residuals**2)) / 2
    risen = np.flatnonzero(losses - height <= RISEN * (losses[0] - height))
    if not risen.size:
        raise FlowError(
            "the two groups must reach their least-squares fits soon after they become visible, but they have not after "
            f"{LATEST} growth times; simulate the problem instead."
        )
    last = int(risen[0])
    survivors = _survivors(problem, times[: last + 1], course[: last + 1], residuals)
    return Rise(groups, design, residuals, float(times[last]), survivors)


def _large_groups(problem: Problem) -> SubNetworks:
    """The fastest group of each sign at the end of the early phase."""
    groups = early_subnetworks(problem)
    chosen = []
    for sign in (1.0, -1.0):
        own = np.flatnonzero(groups.signs == sign)
        if not own.size:
            raise HypothesisError("neurons of both signs must grow, but one sign has none; take a wider network.")
        chosen.append(int(own[np.argmax(groups.rates[own])]))
    return groups.select(chosen)


def _times(problem: Problem, groups: SubNetworks) -> Array:
    """Pieces of the rise, from the moment when a group becomes visible."""
    data = problem.data
    size = np.sqrt(np.mean(data.y**2) / np.mean(np.sum(data.x**2, axis=1)))
    visible = float(np.min((np.log(SILENT * size) - groups.log_sizes) / (2 * groups.rates)))
    return max(0.0, visible) + PIECE / float(groups.rates.min()) * np.arange(LATEST / PIECE)


def _outputs(problem: Problem, slopes: Array, small: SmallNetwork) -> Array:
    projections = problem.data.x @ np.swapaxes(small.first, 1, 2)
    return np.asarray((projections * slopes.T * small.second).sum(axis=2))


def _survivors(problem: Problem, times: Array, course: Array, plateau: Array) -> SubNetworks:
    """Every neuron through the rise, piece by piece, and along the plateau to where it settles; sizes at its beginning."""
    data, alpha = problem.data, problem.network.alpha
    early, final = PullField.of(data, data.y, alpha), PullField.of(data, plateau, alpha)
    pieces = [PullField.of(data, residuals, alpha) for residuals in (course[:-1] + course[1:]) / 2]
    fates = []
    for w, a in zip(problem.weights[0], problem.weights[1][0], strict=True):
        neuron = SmallNeuron.at(w, a, early.normals)
        neuron.advance(early, float(times[0]))
        for field, duration in zip(pieces, np.diff(times), strict=True):
            neuron.advance(field, float(duration))
        fates.append(neuron.settle(final))
    return merged(fates, data)
