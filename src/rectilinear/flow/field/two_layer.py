"""The field of two layers, -grad L on the flat vector of all weights."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ...arrays import Array
from ...problem import Problem
from ..state import unflatten
from ..threads import in_shares, shares
from . import aligned_neurons
from .small_products import TILE
from .two_layer_kernels import (
    FoldedRows,
    drive_of_rows,
    losses_of_rows,
    padded,
    velocity_of_drive,
)
from .weight_decay import add_decay

DRIVE_WORK = 0.5  # time of a multiply-add of a drive, of one as threads count them
SPLIT_AGE = 40  # evaluations after which a better split is looked for
STEPS_PER_SPLIT_LOOK = 5  # the same where there is none, or one that costs a lot


class TwoLayerField:
    """dw_h/dt = a_h g_h, da_h/dt = g_h . w_h with g_h = (1/P) sum_i sigma'(w_h.x_i) pull_i x_i (Zhang et al., Eqs. 6, 7).

    One fused pass over blocks of samples: the samples x neurons matrix is never stored, and mirrored samples are folded.

    >>> import numpy as np, rectilinear as rl
    >>> from rectilinear.flow.state import flatten
    >>> data = rl.datasets.xor()
    >>> net = rl.Network(inputs=2, widths=(3,))
    >>> problem = rl.Problem(data, net, net.init(scale=1.0, seed=0))
    >>> field, out = TwoLayerField(problem), np.empty(9)
    >>> loss = field.velocity(flatten(problem.weights), out)
    >>> bool(np.allclose(out, -flatten(problem.gradient(problem.weights))))
    True
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        network = problem.network
        self.shapes = network.shapes
        self.size = sum(out * into for out, into in self.shapes)
        self.folded = _folded(problem)
        self._may_align = may_align(self.folded)
        self._last_split: aligned_neurons.Split | None = None
        self._split_age = STEPS_PER_SPLIT_LOOK

    @cached_property
    def zero(self) -> aligned_neurons.Zero:
        """The loss at f = 0."""
        return _at_zero(self.problem, self.folded)

    def velocity(self, theta: Array, out: Array) -> float:
        problem = self.problem
        w, second = unflatten(theta, self.shapes)
        dw, da = unflatten(out, self.shapes)
        a = second[0]
        drive, total = self._drive(w, a)
        samples, trains = problem.data.samples, problem.network.trainable_layers
        velocity_of_drive(drive, samples, w, a, (trains[0], trains[1]), dw, da[0])
        if not problem.l2:
            return total
        return total + add_decay(problem.l2, (w, second), (dw, da), trains)

    def losses(self, states: Array) -> Array:
        states, found = np.ascontiguousarray(states), np.full(len(states), np.nan)
        work = states.size * self.folded.rows.shape[1]
        stride = shares(len(states), work)
        in_shares(lambda first, _: self._write_losses(states, first, stride, found), stride, work)
        return found

    def _write_losses(self, states: Array, first: int, stride: int, found: Array) -> None:
        """The loss of every stride-th state."""
        inputs = self.shapes[0][1]
        if self._may_align and self.size * len(self.folded.lengths) > aligned_neurons.WORK:
            aligned_neurons.cheap_losses(
                states, inputs, self.folded, aligned_neurons.WORTHWHILE, self.zero, first, stride, found
            )
        losses_of_rows(self.folded, states, inputs, first, stride, found)
        found[first::stride] /= self.problem.data.samples

    def _drive(self, w: Array, a: Array) -> tuple[Array, float]:
        """P g_h for each neuron (neurons, inputs), and the mean loss."""
        neurons, inputs = w.shape
        if (found := self._aligned_drive(w, a)) is not None:
            return found
        padded_w = padded(w, TILE, TILE)
        padded_a = np.zeros(len(padded_w))
        padded_a[:neurons] = a
        v = padded_a @ padded_w
        count = self.folded.rows.shape[1]

        def share(first: int, last: int) -> tuple[Array, float]:
            drive = np.zeros_like(padded_w)
            return drive, drive_of_rows(self.folded, padded_w, padded_a, v, first, last, drive)

        (drive, summed), *others = in_shares(share, count, DRIVE_WORK * count * padded_w.size)
        for more, part in others:
            drive += more
            summed += part
        return np.ascontiguousarray(drive[:neurons, :inputs]), summed / self.problem.data.samples

    def _aligned_drive(self, w: Array, a: Array) -> tuple[Array, float] | None:
        """The same as `_drive`, for neurons most of which point along one line; None if they do not.

        Aligned neurons are looked for anew when those known are no longer, and now and then to profit from more.
        """
        if not self._may_align:
            return None
        self._split_age += 1
        is_cheap = self._last_split is not None and self._last_split.cost < aligned_neurons.CHEAP
        if self._split_age > (SPLIT_AGE if is_cheap else STEPS_PER_SPLIT_LOOK):
            self._find_split(w, a)
        drive = np.empty_like(w)
        while self._last_split is not None:
            right, total = aligned_neurons.drive_of_split(self._last_split, self.folded, w, a, True, drive)
            if right:
                return drive, total / self.problem.data.samples
            if self._split_age == 0:
                break
            self._find_split(w, a)
        return None

    def _find_split(self, w: Array, a: Array) -> None:
        self._last_split, self._split_age = aligned_neurons.find_split(w, a, self.folded.rows, self.folded.lengths), 0


def may_align(folded: FoldedRows) -> bool:
    """Whether neurons may come to point along one line for good: where mirror images make the network a linear one, or it is one.

    Elsewhere they do so while they are tiny, if at all, which is not worth the ten seconds that the kernels for it compile.
    """
    return bool(folded.mirrored.any()) or folded.alpha == 1.0


def _folded(problem: Problem) -> FoldedRows:
    """Samples as columns, one per mirrored pair or lone sample.

    With biases the constant input breaks the mirror symmetry, so nothing is folded.
    """
    if problem.network.bias:
        pairs, alone = np.empty((0, 2), dtype=np.intp), np.arange(problem.data.samples)
    else:
        pairs, alone = problem.data.mirror_pairs
    kept = np.concatenate([pairs[:, 0], alone])
    labels = problem.y[kept]
    mirror_labels = np.concatenate([problem.y[pairs[:, 1]], np.zeros(len(alone))])
    mirrored = np.arange(len(kept)) < len(pairs)
    rows = padded(problem.x[kept].T, TILE, 1)
    lengths = np.linalg.norm(rows, axis=0)
    return FoldedRows(rows, lengths, labels, mirror_labels, mirrored, problem.network.alpha, problem.loss.code)


def _at_zero(problem: Problem, folded: FoldedRows) -> aligned_neurons.Zero:
    loss, f = problem.loss, np.zeros_like(problem.y)
    pull = 0.5 * (1.0 + problem.network.alpha) * (loss.pull(problem.y, f) @ problem.x) / len(f)
    own, opposite = (loss.pull(y, np.zeros_like(y)) for y in (folded.labels, folded.mirror_labels))
    rounding = problem.data.precision.tolerance * np.abs(own).max()
    odd = bool(folded.mirrored.all() and np.all(np.abs(own + opposite) <= rounding))
    longest = float(np.linalg.norm(problem.x, axis=1).max())
    return aligned_neurons.Zero(float(loss.value(problem.y, f).mean()), pull, longest, odd)
