"""The field of two layers, -grad L on the flat vector of all weights."""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Mask
from ...problem import Problem
from ..state import unflatten
from ..threads import in_shares, shares
from . import aligned_neurons
from .two_layer_kernels import INPUT_TILE, NEURON_TILE, drive_of_rows, loss_of_rows, padded, velocity_of_drive
from .weight_decay import add_decay

SPLIT_AGE = 40  # evaluations after which a better split is looked for
LOOK_AGAIN = 5  # the same where there is none, or one that costs a lot


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
        self.rows, self.labels, self.mirror_labels, self.mirrored = _folded(problem)
        self.lengths = np.linalg.norm(self.rows, axis=0)
        self.zero = _at_zero(problem, self.labels, self.mirror_labels, self.mirrored)
        self._last_split: aligned_neurons.Split | None = None
        self._split_age = LOOK_AGAIN

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
        work = states.size * self.rows.shape[1]
        stride = shares(len(states), work)
        in_shares(lambda first, _: self._write_losses(states, first, stride, found), stride, work)
        return found

    def _write_losses(self, states: Array, first: int, stride: int, found: Array) -> None:
        """The loss of every stride-th state."""
        if self.size * len(self.lengths) > aligned_neurons.WORK:
            aligned_neurons.cheap_losses(
                states, self.shapes[0][1], self.rows, self.lengths, self.labels, self.mirror_labels, self.mirrored,
                self.problem.network.alpha, self.problem.loss.code, aligned_neurons.WORTHWHILE, self.zero, first, stride, found,
            )  # fmt: skip
        for t in range(first, len(states), stride):
            if np.isnan(found[t]):
                w, second = unflatten(states[t], self.shapes)
                found[t] = loss_of_rows(
                    self.rows[: w.shape[1]], self.labels, self.mirror_labels, self.mirrored, w, second[0],
                    self.problem.network.alpha, self.problem.loss.code,
                )  # fmt: skip
        found[first::stride] /= self.problem.data.samples

    def _drive(self, w: Array, a: Array) -> tuple[Array, float]:
        """P g_h for each neuron (neurons, inputs), and the mean loss."""
        neurons, inputs = w.shape
        if (found := self._aligned_drive(w, a)) is not None:
            return found
        padded_w = padded(w, NEURON_TILE, INPUT_TILE)
        padded_a = np.zeros(len(padded_w))
        padded_a[:neurons] = a
        v = padded_a @ padded_w
        count = self.rows.shape[1]
        network, loss = self.problem.network, self.problem.loss.code

        def share(first: int, last: int) -> tuple[Array, float]:
            drive = np.zeros_like(padded_w)
            summed = drive_of_rows(
                self.rows, self.labels, self.mirror_labels, self.mirrored,
                padded_w, padded_a, v, network.alpha, loss, first, last, drive,
            )  # fmt: skip
            return drive, summed

        (drive, summed), *others = in_shares(share, count, count * padded_w.size)
        for more, part in others:
            drive += more
            summed += part
        return drive[:neurons, :inputs], summed / self.problem.data.samples

    def _aligned_drive(self, w: Array, a: Array) -> tuple[Array, float] | None:
        """The same as `_drive`, for neurons most of which point along one line; None if they do not.

        Aligned neurons are looked for anew when those known are no longer, and now and then to profit from more.
        """
        self._split_age += 1
        is_cheap = self._last_split is not None and self._last_split.cost < aligned_neurons.CHEAP
        if self._split_age > (SPLIT_AGE if is_cheap else LOOK_AGAIN):
            self._find_split(w, a)
        drive = np.empty_like(w)
        while self._last_split is not None:
            right, total = aligned_neurons.drive_of_split(
                self._last_split, self.rows, self.lengths, self.labels, self.mirror_labels, self.mirrored, w, a,
                self.problem.network.alpha, self.problem.loss.code, True, drive,
            )  # fmt: skip
            if right:
                return drive, total / self.problem.data.samples
            if self._split_age == 0:
                break
            self._find_split(w, a)
        return None

    def _find_split(self, w: Array, a: Array) -> None:
        self._last_split, self._split_age = aligned_neurons.find_split(w, a, self.rows, self.lengths), 0


def _folded(problem: Problem) -> tuple[Array, Array, Array, Mask]:
    """Samples as columns (inputs, rows), one per mirrored pair or lone sample, with the labels at x and at -x.

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
    return padded(problem.x[kept].T, INPUT_TILE, 1), labels, mirror_labels, mirrored


def _at_zero(problem: Problem, labels: Array, mirror_labels: Array, mirrored: Mask) -> aligned_neurons.Zero:
    """The loss at f = 0, for samples folded as by `_folded`."""
    loss, f = problem.loss, np.zeros_like(problem.y)
    pull = 0.5 * (1.0 + problem.network.alpha) * (loss.pull(problem.y, f) @ problem.x) / len(f)
    own, opposite = (loss.pull(y, np.zeros_like(y)) for y in (labels, mirror_labels))
    rounding = problem.data.precision.tolerance * np.abs(own).max()
    odd = bool(mirrored.all() and np.all(np.abs(own + opposite) <= rounding))
    longest = float(np.linalg.norm(problem.x, axis=1).max())
    return aligned_neurons.Zero(float(loss.value(problem.y, f).mean()), pull, longest, odd)
