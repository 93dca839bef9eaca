"""A network of few neurons that stands for a wide one: what proportional neurons act as."""

from __future__ import annotations

from dataclasses import dataclass

from ..arrays import Array


@dataclass(frozen=True, eq=False)
class SmallNetwork:
    """A small network with the predicted function: k neurons `first` (t, k, d), `second` (t, 1, k).

    Neuron h of the full network is shares[h, k] times small neuron k: W_1 = shares @ first, W_2 = second @ shares^T,
    with orthonormal columns of `shares` (h, k), so that norms of the layers agree.
    """

    first: Array
    second: Array
    shares: Array

    def full(self) -> tuple[Array, Array]:
        """The weights of the full network, (t, h, d) and (t, 1, h)."""
        return self.shares @ self.first, self.second @ self.shares.T
