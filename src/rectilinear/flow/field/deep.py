"""The field of networks of any depth."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...problem import Problem
from ..state import unflatten
from ..threads import in_shares
from .deep_kernels import DeepRows, drive_of_samples, room_for, velocity_of_drive


class DeepField:
    """-grad L for three layers and more: compiled passes over blocks of samples, which threads share."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.shapes = problem, problem.network.shapes
        self.size = sum(out * into for out, into in self.shapes)
        self.net = deep_rows(problem)
        self.work = 3.0 * problem.data.samples * self.size
        self._rooms: dict[int, tuple[Array, Array]] = {}  # by the first sample of a share

    def slope(self, theta: Array, out: Array) -> tuple[float, float]:
        """Write -grad L to `out`; returns |grad L|^2 and the loss without regularisation."""
        (drive, total), *others = in_shares(lambda first, last: self._share(theta, first, last), len(self.net.y), self.work)
        for more, part in others:
            drive += more
            total += part
        return velocity_of_drive(self.net, theta, drive, out), total / len(self.net.y)

    def velocity(self, theta: Array, out: Array) -> float:
        _, loss = self.slope(theta, out)
        return (
            loss + self.problem.l2 * self.problem.network.penalty(unflatten(theta, self.shapes)) if self.problem.l2 else loss
        )

    def losses(self, states: Array) -> Array:
        return np.array([self._share(theta, 0, len(self.net.y), backward=False)[1] for theta in states]) / len(self.net.y)

    def _share(self, theta: Array, first: int, last: int, backward: bool = True) -> tuple[Array, float]:
        """What samples first..last-1 add to the drive, valid until the next call, and their summed loss."""
        if first not in self._rooms:
            self._rooms[first] = room_for(self.net), np.empty(self.size)
        room, drive = self._rooms[first]
        return drive, drive_of_samples(self.net, theta, first, last, backward, room, drive)


def deep_rows(problem: Problem) -> DeepRows:
    """The problem as compiled passes take it."""
    network = problem.network
    shapes, trains = np.array(network.shapes), np.array(network.trainable_layers)
    return DeepRows(read_only(problem.x), read_only(problem.y), shapes, trains, network.alpha, problem.loss.code, problem.l2)


def read_only(array: Array) -> Array:
    """A view that cannot be written to: kernels are compiled for such, whatever the data were made of."""
    view = array.view()
    view.flags.writeable = False
    return view
