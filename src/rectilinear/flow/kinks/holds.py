"""What ends holds: linear functions of the pulls that must not fall below zero."""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Signs
from ..collocation import basis_at, first_root, may_fall
from ..compiled import kernel
from .geometry import Kinks
from .neuron_groups import Groups

NO_JUMP_LEFT = 10.0  # times what is rounding of a hold's functions: a jump as small is zero


def functions_of(kinks: Kinks, pattern: Signs, sign_a: float) -> tuple[Array, Array]:
    """Two functions of the pulls for each held line of a pattern, (held, samples) each.

    They are the multiplier times the jump, which falls through zero where neurons leave downwards, and what is left of the jump, where
    they leave upwards.
    """
    share, jump = kinks.hold_rows(pattern)
    return -sign_a * share, -sign_a * (jump - share)


def side_left(both: Array, u: float, side: int, band: float) -> tuple[int, tuple[float, float]]:
    """The side to which neurons leave whose hold ends at u by the function of `side`, given both functions (6, 2) at the nodes of a step.

    Where their sum, the jump, vanishes too, the pull changes sign, and what attracted comes to repel: then descent is left on the side
    that pushes less, and the velocities below and above come with it.
    """
    here, there = basis_at(u) @ both, both[-1]
    if here.sum() > NO_JUMP_LEFT * band:
        return side, (0.0, 0.0)
    below, above = np.abs(there - here).tolist()
    return -1 if below < above else 1, (min(float(there[0]), 0.0), max(-float(there[1]), 0.0))


class Holds:
    """All holds of all groups: hold k is that of group `group[k]` on line `line[k]`.

    Two functions of the pulls belong to each, rows of `rows` (2 x holds, samples): first those that fall through zero where groups leave
    downwards, then those of leaving upwards.
    """

    def __init__(self, groups: Groups) -> None:
        samples = len(groups.kinks.line)
        shares, rests = [np.empty((0, samples))], [np.empty((0, samples))]
        owner: list[int] = []
        lines: list[int] = []
        # a held neuron must also keep the sign of a
        self.signs_a = np.zeros(len(groups.theta), dtype=np.int8)
        for k, group in enumerate(groups.groups):
            at_origin = not group.pattern.any() and not group.carried[:, :-1].any()  # left as `origin.exit_from_origin` says
            if group.held.size and not at_origin:
                share, rest = functions_of(groups.kinks, group.pattern, group.sign_a)
                shares.append(share)
                rests.append(rest)
                owner += [k] * group.held.size
                lines += group.held.tolist()
                self.signs_a[group.members] = int(group.sign_a)
        self.group, self.line = np.array(owner, dtype=np.intp), np.array(lines, dtype=np.intp)
        self.rows = np.concatenate(shares + rests)

    def __len__(self) -> int:
        return len(self.group)

    def row(self, group: int, line: int, side: int) -> Array:
        """The function that falls through zero where this group leaves this line to this side."""
        return np.asarray(self.both(group, line)[0 if side < 0 else 1])

    def both(self, group: int, line: int) -> Array:
        """The two functions (2, samples) of this hold: that of leaving downwards, and that of leaving upwards.

        For a unit outgoing weight they are the velocities towards the kink from below and from above. Their sum is the jump.
        """
        hold = int(np.flatnonzero((self.group == group) & (self.line == line))[0])
        return np.asarray(self.rows[[hold, hold + len(self)]])

    def first_end(self, pulls: Array, band: float, slowest: float) -> tuple[float, int, int, int] | None:
        """The first hold to end within a step with pulls (6, samples) at its nodes: time u, group, line and side it leaves to.

        Values above -band are zero up to rounding; speeds below `slowest` (per outgoing weight) end no hold.
        """
        if not len(self):
            return None
        first, found = first_fall(pulls, self.rows, band, max(band, slowest))
        if found < 0:
            return None
        hold = found % len(self)
        return first, int(self.group[hold]), int(self.line[hold]), -1 if found < len(self) else 1


@kernel
def first_fall(pulls: Array, rows: Array, band: float, least: float) -> tuple[float, int]:
    """When within a step with pulls (6, samples) the first of the functions `rows` (functions, samples) falls below -band, and which.

    Only those count that fall below -least; 2.0 and -1 if none does.
    """
    first, found, values = 2.0, -1, np.empty(len(pulls))
    for k in range(len(rows)):
        for j in range(len(pulls)):
            values[j] = 0.0
            for i in range(rows.shape[1]):
                values[j] += pulls[j, i] * rows[k, i]
        if may_fall(values, least) and first_root(values, least, first) < first:
            root = first_root(values, band, first)
            if root < first:
                first, found = root, k
    return first, found
