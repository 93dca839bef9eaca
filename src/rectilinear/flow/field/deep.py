"""The field of networks of any depth."""

from __future__ import annotations

import numba
import numpy as np

from ...arrays import Array
from ...network import Weights
from ...problem import Problem
from ..state import unflatten
from ..threads import in_shares
from .sample_losses import pulls
from .weight_decay import add_decay

DEEP_BLOCK = 512  # samples a pass of the deep field


class DeepField:
    """-grad L for any depth: matrix products by BLAS, elementwise work in fused passes, samples in blocks that threads share."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.shapes = problem.network.shapes
        self.size = sum(out * into for out, into in self.shapes)

    def velocity(self, theta: Array, out: Array) -> float:
        problem, network = self.problem, self.problem.network
        weights, speeds = unflatten(theta, self.shapes), unflatten(out, self.shapes)
        samples = problem.data.samples

        def share(begin: int, end: int) -> tuple[Array, float]:
            summed = np.zeros(self.size)
            layers = unflatten(summed, self.shapes)
            blocks = (slice(first, min(first + DEEP_BLOCK, end)) for first in range(begin, end, DEEP_BLOCK))
            return summed, sum(self._add_block(weights, layers, block) for block in blocks)

        parts = in_shares(share, samples, 3.0 * samples * self.size)
        np.divide(sum(summed for summed, _ in parts), samples, out=out)
        total = sum(part for _, part in parts)
        for speed, moves in zip(speeds, network.trainable_layers, strict=True):
            if not moves:
                speed[:] = 0.0
        loss = total / samples
        return loss + add_decay(problem.l2, weights, speeds, network.trainable_layers) if problem.l2 else loss

    def losses(self, states: Array) -> Array:
        return np.array([self.problem.data_loss(unflatten(theta, self.shapes)) for theta in states])

    def _add_block(self, weights: Weights, speeds: Weights, block: slice) -> float:
        """Add the unnormalised share of a block of samples to `speeds`; return its summed loss."""
        network, loss = self.problem.network, self.problem.loss.code
        below, slopes = [self.problem.x[block]], []
        for layer in weights[:-1]:
            z = below[-1] @ layer.T
            sigma = np.empty_like(z)
            activate(z, network.alpha, network.slope_at_zero, sigma)
            below.append(sigma)
            slopes.append(z)
        output = below[-1] @ weights[-1][0]
        signal = np.empty((len(output), 1))
        summed = pulls(loss, self.problem.y[block], output, signal[:, 0])
        for depth in range(len(weights) - 1, -1, -1):
            speeds[depth][...] += signal.T @ below[depth]
            if depth:
                signal = signal @ weights[depth]
                signal *= slopes[depth - 1]
        return summed


@numba.njit(cache=True, nogil=True)
def activate(z: Array, alpha: float, slope_at_zero: float, sigma: Array) -> None:
    """Write sigma(z) to `sigma` and sigma'(z) over `z`, in one pass."""
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            value = z[i, j]
            sigma[i, j] = value if value > 0.0 else alpha * value
            z[i, j] = 1.0 if value > 0.0 else (alpha if value < 0.0 else slope_at_zero)
