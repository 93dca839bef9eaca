"""The rank-one and rank-two weights of deep networks: Eqs. 39 to 41 and Conjecture 11 of Zhang et al., found and built.

With unit vectors r (d,) and r_l (h_l,), whose positive and negative entries have equal norms, and one norm u of all layers,

    W_1 = u r_1 r^T,   W_l = u [[p_l r_l+ r_{l-1}+^T, q_l r_l+ r_{l-1}-^T], [q_l r_l- r_{l-1}+^T, p_l r_l- r_{l-1}-^T]],
    W_L = u r_{L-1}^T,   p_l^2 + q_l^2 = 2,

where neurons are sorted by the sign of r_l. ReLU has (p, q) = (sqrt 2, 0), Eq. 40: rank two, no negative entries; a linear
network has (1, 1), Eq. 39: rank one, and needs no equal norms. In between the gradient is parallel to the weights for one
q_l / p_l only, see `blocks`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, Indices
from ..errors import InputError
from ..network import Network, Weights

ALIGNED = 1e-10  # relative distance from the structure that rounding can explain
MAX_SWEEPS = 10_000  # of the fixed-point iteration for leaky blocks; each shrinks the error by about alpha^2
UNIT_ROUNDING = 1e-15


@dataclass(frozen=True)
class Blocks:
    """Factors p_l and q_l of the intermediate layers l = 2, ..., L-1, and the gain K of f = K u^L r . x."""

    diagonal: tuple[float, ...]
    off_diagonal: tuple[float, ...]
    gain: float


def blocks(layers: int, alpha: float) -> Blocks:
    """The block factors at which the gradient of every layer is parallel to its weights.

    On r . x > 0 the hidden layer l is proportional to (r_l+, phi_l r_l-) and the signal sent back to it to
    (r_l+, psi_l r_l-); on the other side the roles are swapped. Averaging both sides,

        q_l / p_l = x_l = (psi_l + phi_{l-1}) / (1 + psi_l phi_{l-1}),
        phi_l = alpha (x_l + phi_{l-1}) / (1 + x_l phi_{l-1}),   phi_1 = alpha,
        psi_l = alpha (x_{l+1} + psi_{l+1}) / (1 + x_{l+1} psi_{l+1}),   psi_{L-1} = alpha.

    Three layers give x_2 = 2 alpha / (1 + alpha^2) and K = sqrt(1 + 6 alpha^2 + alpha^4) / (2 sqrt 2); ReLU gives
    K = 2^{-L/2} (Eq. 41), two layers (1 + alpha)/2, linear networks 1.

    >>> round(blocks(layers=4, alpha=0.0).gain, 12)
    0.25
    """
    ratio = np.full(layers - 2, alpha)
    for _ in range(MAX_SWEEPS):
        forward, backward = _side_ratios(ratio, alpha)
        renewed = (backward[1:] + forward[:-1]) / (1 + backward[1:] * forward[:-1])
        change = np.abs(renewed - ratio).max(initial=0.0)
        ratio = renewed
        if change <= UNIT_ROUNDING:
            break
    diagonal = np.sqrt(2 / (1 + ratio**2))
    off_diagonal = ratio * diagonal
    forward, _ = _side_ratios(ratio, alpha)
    gain = (1 + forward[-1]) / 2 * np.prod((diagonal + off_diagonal * forward[:-1]) / 2)
    return Blocks(tuple(diagonal.tolist()), tuple(off_diagonal.tolist()), float(gain))


def _side_ratios(ratio: Array, alpha: float) -> tuple[Array, Array]:
    """phi_l and psi_l for l = 1, ..., L-1, given x_l of the intermediate layers."""
    forward, backward = [alpha], [alpha]
    for x in ratio:
        forward.append(alpha * (x + forward[-1]) / (1 + x * forward[-1]))
    for x in ratio[::-1]:
        backward.append(alpha * (x + backward[-1]) / (1 + x * backward[-1]))
    return np.array(forward), np.array(backward[::-1])


@dataclass(frozen=True, eq=False)
class DeepStructure:
    """How near given weights are to the structure above; layers are counted from 1 in the text, from 0 in the tuples.

    `u` is the root mean square of the layers' norms, `r` (d,) and `hidden` (h,) the unit vectors r and r_l: the signal
    W_{l+1}^T ... W_L^T sent back through the layers, which is proportional to r_l on the structure. Shares are parts of
    |W_l|^2: `negative` in negative entries, `off_block` where r_l and r_{l-1} have opposite signs (None for the first and
    the last layer), `beyond_rank` outside the leading singular vectors that the structure has (one, or two in a block layer
    with alpha < 1). `halves` are | |r_l+|^2 - |r_l-|^2 |; `distances` are |W_l - structure| / |W_l|.
    """

    alpha: float
    u: float
    r: Array
    hidden: tuple[Array, ...]
    norms: tuple[float, ...]
    singular_values: tuple[Array, ...]
    beyond_rank: tuple[float, ...]
    negative: tuple[float, ...]
    off_block: tuple[float | None, ...]
    halves: tuple[float, ...]
    distances: tuple[float, ...]

    @property
    def distance(self) -> float:
        """The largest of `distances` and, unless the network is linear, of `halves`; 0 on the structure."""
        return max(*self.distances, *(self.halves if self.alpha < 1 else ()))

    @property
    def orders(self) -> tuple[Indices, ...]:
        """For each hidden layer, the permutation of its neurons that shows the blocks: r_l from largest to smallest."""
        return tuple(np.argsort(-signal, kind="stable") for signal in self.hidden)

    def permuted(self, weights: Weights) -> Weights:
        """The same network with its hidden neurons in `orders`: positive ones first, as in Fig. 3."""
        orders = self.orders
        rows = [layer[order] for layer, order in zip(weights, orders, strict=False)] + [weights[-1]]
        return (rows[0], *(layer[:, order] for layer, order in zip(rows[1:], orders, strict=True)))

    def __repr__(self) -> str:
        lines = [f"DeepStructure: {len(self.norms)} layers, alpha {self.alpha:g}, distance {self.distance:.2g}"]
        for k, norm in enumerate(self.norms):
            second = self.singular_values[k][1] / self.singular_values[k][0] if len(self.singular_values[k]) > 1 else 0.0
            off = self.off_block[k]
            blocks_text = "" if off is None else f", off-block {off:.2%}, negative {self.negative[k]:.2%}"
            lines.append(
                f"  layer {k + 1}: norm {norm:.4g}, s2/s1 {second:.3g}, beyond rank {self.beyond_rank[k]:.2g}{blocks_text}"
            )
        return "\n".join(lines)


def deep_structure(weights: Weights, alpha: float = 0.0) -> DeepStructure:
    """Measure how near `weights` (any depth from two) are to the structure of a network with slope `alpha`.

    >>> from rectilinear import Network
    >>> net = Network(inputs=3, widths=(6, 8))
    >>> found = deep_structure(aligned_deep_weights(net, r=[0.0, 0.0, 1.0], u=0.5, seed=0))
    >>> found.distance < 1e-12, found.r.round(12).tolist(), [len(order) for order in found.orders]
    (True, [0.0, 0.0, 1.0], [6, 8])
    """
    if len(weights) < 2:
        raise InputError(f"weights must hold two layers at least, found {len(weights)}.")
    norms = tuple(float(np.linalg.norm(layer)) for layer in weights)
    if not min(norms) > 0:
        raise InputError(f"every layer must have a non-zero weight, but layer {int(np.argmin(norms)) + 1} has none.")
    signals = [_unit(weights[-1][0])]
    for layer in weights[-2:0:-1]:
        signals.append(_unit(layer.T @ signals[-1]))
    hidden = tuple(reversed(signals))
    r = _unit(hidden[0] @ weights[0])
    u = float(np.sqrt(np.mean(np.square(norms))))
    factors = blocks(len(weights), alpha)
    exact = _structured(factors, hidden, r, u)
    singular_values = tuple(np.asarray(np.linalg.svd(layer, compute_uv=False)) for layer in weights)
    ranks = [1, *([1 if alpha == 1 else 2] * (len(weights) - 2)), 1]
    return DeepStructure(
        alpha,
        u,
        r,
        hidden,
        norms,
        singular_values,
        tuple(_share(s[rank:], s) for s, rank in zip(singular_values, ranks, strict=True)),
        tuple(_share(layer[layer < 0], layer) for layer in weights),
        (None, *(_off_block(w, a, b) for w, a, b in zip(weights[1:-1], hidden[1:], hidden[:-1], strict=True)), None),
        tuple(abs(float(np.sum(s * np.abs(s)))) for s in hidden),
        tuple(float(np.linalg.norm(w - e)) / n for w, e, n in zip(weights, exact, norms, strict=True)),
    )


def aligned_deep_weights(network: Network, r: ArrayLike, u: float, seed: int) -> Weights:
    """Weights on the structure (Eq. 40 for ReLU, Eq. 39 for linear networks): all layers have norm u, f(x) = K u^L r . x.

    The entries of r_l are random, with equal norms of positive and negative ones; `r` is normalised.
    """
    direction = np.asarray(r, dtype=np.float64)
    if direction.shape != (network.inputs,) or not np.isfinite(direction).all() or not direction.any():
        raise InputError(f"r must be a finite non-zero vector of shape ({network.inputs},), found shape {direction.shape}.")
    if not np.isfinite(u) or u <= 0:
        raise InputError(f"u must be a positive number, found {u!r}.")
    if network.bias or min(network.widths) < 2:
        raise InputError(f"two neurons per hidden layer at least and no bias are required, found {network}.")
    rng = np.random.default_rng(seed)
    hidden = tuple(_balanced_unit(rng.standard_normal(width)) for width in network.widths)
    return _structured(blocks(network.layers, network.alpha), hidden, _unit(direction), u)


def _structured(factors: Blocks, hidden: tuple[Array, ...], r: Array, u: float) -> Weights:
    middle = []
    for p, q, above, below in zip(factors.diagonal, factors.off_diagonal, hidden[1:], hidden[:-1], strict=True):
        same_sign = (above[:, None] > 0) == (below[None, :] > 0)
        middle.append(u * np.where(same_sign, p, q) * np.outer(above, below))
    return (u * np.outer(hidden[0], r), *middle, u * hidden[-1][None, :])


def _balanced_unit(entries: Array) -> Array:
    """A unit vector whose positive and negative entries have equal norms; both signs occur."""
    entries[0], entries[-1] = abs(entries[0]), -abs(entries[-1])
    positive = entries > 0
    for side in (positive, ~positive):
        entries[side] /= np.sqrt(2) * np.linalg.norm(entries[side])
    return entries


def _unit(vector: Array) -> Array:
    norm = np.linalg.norm(vector)
    return np.asarray(vector / norm) if norm else vector


def _share(part: Array, whole: Array) -> float:
    return float(np.sum(part**2) / np.sum(whole**2))


def _off_block(layer: Array, above: Array, below: Array) -> float:
    return _share(layer[(above[:, None] > 0) != (below[None, :] > 0)], layer)
