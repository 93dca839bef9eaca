"""The directions in which pulls relax fastest: dr/dt = -D K r, with K symmetric and positive (the tangent kernel), D diagonal.

Over a step of length h a change e of the pulls calls for delta with (I + h D K T) delta = e, T the integral from 0. In the leading
directions of D^1/2 K D^1/2, found by subspace iteration, that is solved; in all others h K is small and delta is e.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays import Array

MOST = 64
FIRST_DIRECTIONS = 4  # doubled each time that more are asked for


class StiffDirections:
    """The leading directions for a number of samples: none at first.

    >>> import numpy as np
    >>> stiff = StiffDirections(3)
    >>> stiff.add()
    >>> stiff.find(lambda block: np.diag([9.0, 4.0, 1.0]) @ block, np.ones(3))
    6
    >>> stiff.values.round(6).tolist()
    [1.0, 4.0, 9.0]
    """

    def __init__(self, samples: int) -> None:
        self.samples, self.wanted = samples, 0
        self.block = np.empty((samples, 0))
        self.root, self.vectors, self.values = np.ones(samples), self.block, np.empty(0)

    def __bool__(self) -> bool:
        return self.wanted > 0

    def add(self) -> None:
        self.wanted = min(max(FIRST_DIRECTIONS, 2 * self.wanted), MOST, self.samples)

    def find(self, kernel: Callable[[Array], Array], curvature: Array) -> int:
        """Follow the directions with `kernel`, which multiplies a block (samples, m) by K; how many columns it had to multiply."""
        self.root = np.sqrt(np.maximum(curvature, 1e-300))
        rounds, missing = 1, self.wanted - self.block.shape[1]
        if missing:
            more = np.random.default_rng(0).standard_normal((self.samples, missing))
            self.block, rounds = np.linalg.qr(np.concatenate([self.block, more], axis=1))[0], 2
        for _ in range(rounds):
            image = self.root[:, None] * kernel(self.root[:, None] * self.block)
            small = self.block.T @ image
            values, turn = np.linalg.eigh(0.5 * (small + small.T))
            self.vectors, self.values = self.block @ turn, np.maximum(values, 0.0)
            self.block = np.linalg.qr(image)[0]
        return rounds * self.wanted

    def solver(self, h: float, integration: Array) -> Callable[[Array], Array]:
        """What takes e to delta, both coefficients (samples, k); `integration` (k, k) takes coefficients to those of the integral."""
        inverse = np.linalg.inv(np.eye(len(integration)) + h * self.values[:, None, None] * integration.T)
        root, vectors = self.root[:, None], self.vectors

        def solve(change: Array) -> Array:
            along = vectors.T @ (change / root)
            return np.asarray(change + root * (vectors @ (np.einsum("mij,mj->mi", inverse, along) - along)))

        return solve

    def relaxed(self, change: Array, h: float) -> Array:
        """What is left after h of a change (samples,) of the pulls, by an implicit step."""
        share = h * self.values / (1.0 + h * self.values)
        return np.asarray(change - self.root * (self.vectors @ (share * (self.vectors.T @ (change / self.root)))))
