"""Neurons of one pattern move together: a group of any size is carried by at most inputs + 1 vectors.

All neurons of a group obey the same linear equation d(w, a)/dt = B(g)(w, a), and the output sees only the sum of
(w, a)(w, a)^T over the group. So with the neurons Theta = Q C (C has at most inputs + 1 rows, Q orthonormal columns) the rows
of C act as neurons themselves, and Theta(t) = Q C(t) at all later times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Array, Indices, Mask, Signs
from ..compiled import kernel
from ..small_systems import principal_axes
from ..state import row_lengths
from ..tolerances import TINY
from .crossings import Carrying
from .geometry import Kinks

# Neurons whose sizes differ by more decades are not mixed in one basis: the small would drown in rounding.
DECADES_TOGETHER = 4


@dataclass
class Group:
    """Neurons `members` that share a pattern: neuron h is `mix[h, :len(carried)] @ carried`, with the mix of all `Groups`.

    While a group is `open`, its members may change: theta holds them instead.
    """

    key: bytes
    pattern: Signs
    held: Indices  # lines that hold it
    sign_a: float  # common sign of a_h if there are any
    members: Indices
    carried: Array
    open: bool = True
    number: int = -1  # what `of_neuron` says of all its members


@kernel
def carry(theta: Array, members: Indices, mix: Array) -> Array:
    """Carriers (r, inputs + 1) of these neurons of theta (neurons, inputs + 1); their rows of `mix` are written."""
    width = theta.shape[1]
    if len(members) <= width:
        carried = np.empty((len(members), width))
        for m in range(len(members)):
            for k in range(width):
                carried[m, k] = theta[members[m], k]
                mix[members[m], k] = 0.0
            mix[members[m], m] = 1.0
        return carried
    moments = np.zeros((width, width))
    for h in members:
        for j in range(width):
            for k in range(j + 1):
                moments[j, k] += theta[h, j] * theta[h, k]
    for j in range(width):
        for k in range(j):
            moments[k, j] = moments[j, k]
    directions = principal_axes(moments)
    squares = np.zeros(width)  # lengths from here, not from the eigenvalues: those have lost half the digits
    for h in members:
        for r in range(width):
            share = 0.0
            for k in range(width):
                share += theta[h, k] * directions[r, k]
            mix[h, r] = share
            squares[r] += share * share
    kept = 0
    for r in range(width):
        if squares[r] == 0.0:
            continue
        length = np.sqrt(squares[r])
        for h in members:
            mix[h, kept] = mix[h, r] / length
        for k in range(width):
            directions[kept, k] = length * directions[r, k]
        kept += 1
    for h in members:
        for r in range(kept, width):
            mix[h, r] = 0.0
    return directions[:kept]


@kernel
def restore(theta: Array, members: Indices, mix: Array, carried: Array) -> None:
    """Write these neurons, given their carriers, to their rows of `theta`."""
    for h in members:
        for k in range(theta.shape[1]):
            value = 0.0
            for r in range(len(carried)):
                value += mix[h, r] * carried[r, k]
            theta[h, k] = value


@kernel
def paths_of(theta: Array, neurons: Indices, carrying: Carrying, carried: Array) -> Array:
    """These neurons (t, chosen, inputs + 1), given the carriers (t, carriers, inputs + 1); those at rest are as in theta."""
    first, counts, mix = carrying.first, carrying.counts, carrying.mix
    paths = np.empty((len(carried), len(neurons), theta.shape[1]))
    for t in range(len(carried)):
        for m in range(len(neurons)):
            h = neurons[m]
            k = carrying.of_neuron[h]
            for j in range(theta.shape[1]):
                value = theta[h, j]
                if k >= 0:
                    value = 0.0
                    for r in range(counts[k]):
                        value += mix[h, r] * carried[t, first[k] + r, j]
                paths[t, m, j] = value
    return paths


@kernel
def lengths_of(theta: Array, carrying: Carrying, carried: Array) -> Array:
    """The lengths |(w_h, a_h)| of all neurons, given the carriers."""
    first, counts, mix = carrying.first, carrying.counts, carrying.mix
    lengths = np.empty(len(theta))
    for h in range(len(theta)):
        k, squares = carrying.of_neuron[h], 0.0
        for j in range(theta.shape[1]):
            value = theta[h, j]
            if k >= 0:
                value = 0.0
                for r in range(counts[k]):
                    value += mix[h, r] * carried[first[k] + r, j]
            squares += value * value
        lengths[h] = np.sqrt(squares)
    return lengths


class Groups:
    """All neurons theta (neurons, inputs + 1) by their patterns (neurons, lines); those that nothing moves rest.

    Nothing moves a neuron that no sample drives, unless it is held (its hold may end) or weights decay (`decays`). A neuron held at
    w = 0 rests too; whether it can leave is for `origin.exit_from_origin` to say.

    For the kernels: `carried` (carriers, inputs + 1), `group` (carriers,) and `seen` (groups, samples, inputs), with the carriers of
    group k at `first[k] : first[k] + counts[k]`; `of_neuron` (neurons,) is -1 for a neuron at rest, and `mix` (neurons, inputs + 1).
    """

    def __init__(self, kinks: Kinks, theta: Array, patterns: Signs, decays: bool = False) -> None:
        self.kinks, self.theta, self.patterns, self.decays = kinks, theta.copy(), patterns, decays
        self.sizes = np.linalg.norm(theta, axis=1)
        self.mix = np.zeros_like(theta)
        self.of_neuron = np.full(len(theta), -1, dtype=np.intp)
        self._everyone = np.arange(len(theta))
        self._by_key: dict[bytes, Group] = {}
        self._place(self._everyone)
        self._flatten()

    def neurons(self, carried: Array) -> Array:
        """All neurons, given the carriers."""
        return self.paths(self._everyone, carried[None])[0]

    def all_paths(self, carried: Array) -> Array:
        """All neurons (t, neurons, inputs + 1), given the carriers (t, carriers, inputs + 1)."""
        return self.paths(self._everyone, carried)

    def paths(self, neurons: Indices, carried: Array) -> Array:
        """These neurons (t, chosen, inputs + 1), given the carriers (t, carriers, inputs + 1)."""
        paths: Array = paths_of(self.theta, neurons, self.carrying, carried)
        return paths

    def lengths(self, carried: Array) -> Array:
        """|(w_h, a_h)| of every neuron, given the carriers."""
        lengths: Array = lengths_of(self.theta, self.carrying, carried)
        return lengths

    def some(self, neurons: Indices, carried: Array) -> Array:
        """These neurons (chosen, inputs + 1), given the carriers."""
        return self.paths(neurons, carried[None])[0]

    def have_grown(self, lengths: Array) -> None:
        """Neurons are this long now: heights over kinks round as their largest length since they were grouped does."""
        np.maximum(self.sizes, lengths, out=self.sizes)

    def replace(self, changed: Indices, theta: Array, patterns: Signs) -> None:
        """Neurons `changed` have new weights (changed, inputs + 1) and patterns (changed, lines): group them anew."""
        for k, group in enumerate(self.groups):
            group.carried = self.carried[self.first[k] : self.first[k] + self.counts[k]]
        leaves = np.zeros(len(self.theta), dtype=np.bool_)
        leaves[changed] = True
        for k in sorted(set(self.of_neuron[changed].tolist())):
            if k >= 0:
                self._take_out(self.groups[k], leaves)
        self.theta[changed] = theta
        self.patterns[changed] = patterns
        self.sizes[changed] = row_lengths(theta)
        self.of_neuron[changed] = -1
        self._place(changed)
        self._flatten()

    def _opened(self, group: Group) -> Group:
        if not group.open:
            restore(self.theta, group.members, self.mix, group.carried)
            group.open = True
        return group

    def _take_out(self, group: Group, leaves: Mask) -> None:
        self._opened(group).members = group.members[~leaves[group.members]]
        if not group.members.size:
            del self._by_key[group.key]

    def _place(self, neurons: Indices) -> None:
        """Put neurons, whose weights and patterns are set, into their groups."""
        alike: dict[bytes, list[int]] = {}
        for key, h in zip(self._keys(neurons), neurons.tolist(), strict=True):
            alike.setdefault(key, []).append(h)
        for key in sorted(alike):
            members, h = np.array(alike[key], dtype=np.intp), alike[key][0]
            if self._rests(h):
                continue
            if key in self._by_key:
                group = self._opened(self._by_key[key])
                group.members = np.sort(np.concatenate([group.members, members]))  # in the order of memory
                group.number = -1
            else:
                held = np.flatnonzero(self.patterns[h] == 0)
                sign = float(np.sign(self.theta[h, -1])) if held.size else 0.0
                self._by_key[key] = Group(key, self.patterns[h].copy(), held, sign, members, np.empty(0))

    def _rests(self, h: int) -> bool:
        held = self.patterns[h] == 0
        at_origin = held.all() and not self.theta[h, :-1].any()
        undriven = not self.kinks.seen(self.patterns[h]).any() and not held.any()
        return bool(self.sizes[h] == 0.0 or (not self.decays and (undriven or at_origin)))

    def _keys(self, neurons: Indices) -> list[bytes]:
        """Pattern, sign of a where held, and decades of size of each neuron."""
        patterns = self.patterns[neurons]
        decades = np.floor(np.log10(np.maximum(self.sizes[neurons], TINY)) / DECADES_TOGETHER)
        signs = np.where((patterns == 0).any(axis=1), np.sign(self.theta[neurons, -1]), 0.0)
        table = np.concatenate([patterns, signs[:, None], decades[:, None]], axis=1).astype(np.int8)
        return [row.tobytes() for row in table]

    def _flatten(self) -> None:
        self.groups = list(self._by_key.values())
        for k, group in enumerate(self.groups):  # groups may be large: touch only what changed
            if group.open:
                group.carried, group.open = carry(self.theta, group.members, self.mix), False
            if group.number != k:
                self.of_neuron[group.members] = group.number = k
        samples, inputs = self.kinks.x.shape
        self.counts = np.array([len(group.carried) for group in self.groups], dtype=np.intp)
        self.first = np.concatenate([[0], np.cumsum(self.counts)[:-1]]).astype(np.intp) if self.groups else self.counts
        self.carrying = Carrying(self.of_neuron, self.first, self.counts, self.mix)
        self.group = np.repeat(np.arange(len(self.groups)), self.counts)
        self.carried = np.concatenate([group.carried for group in self.groups] or [np.empty((0, inputs + 1))])
        self.seen = np.array([self.kinks.seen(group.pattern) for group in self.groups]).reshape(-1, samples, inputs)
