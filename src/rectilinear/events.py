"""What happened to the neurons at kinks during a run."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import EnumMeta, IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import Array, Indices, Mask
from .deprecation import warn_renamed

ARRIVES_AT_REST = 1e-8  # of the velocity beyond a kink: a neuron that arrives with less only approaches it


class _WithOldNames(EnumMeta):
    """Holds were called PIN."""

    def __getattr__(cls, name: str) -> Any:
        if name != "PIN":
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        warn_renamed("Kind.PIN", "Kind.HOLD")
        return cls["HOLD"]

    def __getitem__(cls, name: str) -> Any:
        if name == "PIN":
            warn_renamed("Kind['PIN']", "Kind['HOLD']")
        return super().__getitem__("HOLD" if name == "PIN" else name)


class Kind(IntEnum, metaclass=_WithOldNames):
    """What a neuron did at a kink (a hyperplane w.x = 0 of the data)."""

    CROSS = 0  # went through to the other side
    HOLD = 1  # is pushed in from both sides: held, it slides along the kink from here on
    RELEASE = 2  # the hold ended: the multiplier left [0, 1]
    DEATH = 3  # no sample activates it any more (ReLU), or its incoming weights are held at zero: it never moves again
    ORIGIN = 4  # its incoming weights passed through zero and it left on the other side
    FORK = 5  # passed closer to where the flow parts than the tolerance or the run's error, which may have decided its way


@dataclass(frozen=True, eq=False, repr=False)
class Events:
    """Events in order of time, each with its certificate, as arrays of equal length.

    `line` indexes the data's lines through the origin (-1 where all of them are meant). `velocity_below` and `velocity_above`
    are the speeds of n.w just below and above the kink, for a unit outgoing weight: of one sign for a crossing, pointing at
    each other for a hold. `multiplier` is the share in [0, 1] of the jump from below to above that is taken while held (nan elsewhere):
    samples along the line's normal count as active with that share, those against it with the rest. Of a passage through w = 0 it is
    one over the number of ways that lead out: where there are several, the flow is not unique, and the way is that of gradient descent
    with small steps from nearby. Nor is it where a hold ends because its kink comes to repel, as a changes sign, or where holds would
    keep the neuron on another kink that repels, or kinks met at one point lead away on either side of one: the velocities then lead away
    on both sides, or leave it only one, and the side is that of most such descents. A fork is a passage over or past a kink that repels
    by so little that a neuron nearer to the other side by the tolerance goes another way; that was followed, and came to be off by more
    than ten tolerances. Of runs that stop at every kink it is a neuron that was turned back by one that met the kink before it by less
    than the error of the run.

    Of very many crossings only the last of every neuron are listed, unless all were asked for; `unlisted` says how many are not. They
    are counted like the others, and all of them certified.

    In networks of three layers and more neurons are counted layer after layer, `line` is the first sample that has the kink, and
    the velocities are those of the neuron's preactivation there.
    """

    time: Array = field(default_factory=lambda: np.empty(0))
    neuron: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    line: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    kind: NDArray[np.int8] = field(default_factory=lambda: np.empty(0, dtype=np.int8))
    velocity_below: Array = field(default_factory=lambda: np.empty(0))
    velocity_above: Array = field(default_factory=lambda: np.empty(0))
    multiplier: Array = field(default_factory=lambda: np.empty(0))
    unlisted: int = 0

    @classmethod
    def columns(cls) -> list[str]:
        """The names of the arrays."""
        return [column.name for column in fields(cls) if column.name != "unlisted"]

    @classmethod
    def of_log(cls, log: list[tuple[float, int, int, Kind, float, float, float]]) -> Events:
        """A list of events, each with its fields in the order above, as arrays in order of time."""
        if not log:
            return cls()
        every = list(
            zip(*log, strict=True)
        )  # np.fromiter, as np.array takes many times as long, most of all for enumerated kinds
        time, below, above, multiplier = (np.fromiter(every[k], np.float64, len(log)) for k in (0, 4, 5, 6))
        neuron, line, kind = (np.fromiter(every[k], np.intp, len(log)) for k in (1, 2, 3))
        o = np.argsort(time, kind="stable")
        return cls(time[o], neuron[o], line[o], kind[o].astype(np.int8), below[o], above[o], multiplier[o])

    def __len__(self) -> int:
        return len(self.time)

    def count(self, kind: Kind) -> int:
        """How many events were of this kind, listed or not."""
        return int(np.sum(self.kind == kind)) + (self.unlisted if kind == Kind.CROSS else 0)

    @property
    def happened(self) -> int:
        """How many there were, listed or not."""
        return len(self) + self.unlisted

    @property
    def certified(self) -> bool:
        """Whether every crossing moves on both sides the same way, every hold is pushed in from both sides, and no way was a choice."""
        return not bool(self.doubtful.any()) and not self.choices

    @property
    def doubtful(self) -> Mask:
        """Which crossings and holds the velocities on both sides do not confirm."""
        below, above = self.velocity_below, self.velocity_above
        slack = 1e-6 * np.maximum(np.abs(below), np.abs(above))  # a grazing velocity is zero up to rounding
        crossing = (np.minimum(below, above) >= -slack) | (np.maximum(below, above) <= slack)
        holding = (below >= -slack) & (above <= slack)
        return np.asarray(((self.kind == Kind.CROSS) & ~crossing) | ((self.kind == Kind.HOLD) & ~holding))

    @property
    def choices(self) -> int:
        """How many neurons went on where several ways lead: the one that was taken is that of most descents with small steps.

        Also those that came to rest at a kink, from where what a step leaves of its error took them over it, and those that passed a
        fork by less than the tolerance.
        """
        return int(np.sum(self._at_origin | self._repelled | self._from_rest | (self.kind == Kind.FORK)))

    @property
    def _at_origin(self) -> Mask:
        return np.asarray((self.kind == Kind.ORIGIN) & (self.multiplier < 1.0))

    @property
    def _repelled(self) -> Mask:
        below, above = self.velocity_below, self.velocity_above
        return np.asarray((self.kind == Kind.RELEASE) & (below <= 0.0) & (above >= 0.0) & (below < above))

    @property
    def _from_rest(self) -> Mask:
        below, above = self.velocity_below, self.velocity_above
        up = below + above > 0.0
        before, beyond = np.abs(np.where(up, below, above)), np.abs(np.where(up, above, below))
        return np.asarray((self.kind == Kind.CROSS) & (before > 0.0) & (before <= ARRIVES_AT_REST * beyond))

    def followed_by(self, later: Events, shift: float) -> Events:
        """These events and then `later` ones, whose times are counted from `shift`; what is held still is not held again."""
        later = later._without_holds(self._held_at_the_end())
        columns = {name: np.concatenate([getattr(self, name), getattr(later, name)]) for name in self.columns()}
        columns["time"][len(self) :] += shift
        return Events(**columns, unlisted=self.unlisted + later.unlisted)

    def _held_at_the_end(self) -> set[tuple[int, int]]:
        """(neuron, line) of the kinks that hold a neuron after all these events."""
        stretches = self.held(int(self.neuron.max(initial=-1)) + 1)
        return {(neuron, line) for neuron, its in enumerate(stretches) for _, to, line in its if to == np.inf}

    def _without_holds(self, already: set[tuple[int, int]]) -> Events:
        """The same without the first event of each of these (neuron, line), where it is that the neuron comes to be held."""
        kept = np.ones(len(self), dtype=bool)
        for k, pair in enumerate(zip(self.neuron.tolist(), self.line.tolist(), strict=True)):
            if pair in already:
                already = already - {pair}
                kept[k] = self.kind[k] != Kind.HOLD
        return Events(**{name: getattr(self, name)[kept] for name in self.columns()}, unlisted=self.unlisted)

    def merged(self, others: list[Events]) -> Events:
        """These events and others, in order of time."""
        if not others:
            return self
        every = [self, *others]
        columns = {name: np.concatenate([getattr(events, name) for events in every]) for name in self.columns()}
        order = np.argsort(columns["time"], kind="stable")
        in_order = {name: column[order] for name, column in columns.items()}
        return Events(**in_order, unlisted=sum(events.unlisted for events in every))

    def with_last_crossings(self, of_each: int) -> Events:
        """The same with no more than the last `of_each` certified crossings of every neuron listed; whatever else happened is kept.

        >>> events = Events.of_log([(t, 0, 1, Kind.CROSS, 1.0, 1.0, np.nan) for t in (0.1, 0.2, 0.3)])
        >>> events.with_last_crossings(2).time.tolist(), events.with_last_crossings(2).count(Kind.CROSS)
        ([0.2, 0.3], 3)
        """
        plain = np.flatnonzero((self.kind == Kind.CROSS) & ~self.doubtful)
        plain = plain[np.argsort(self.neuron[plain], kind="stable")]  # each neuron's together, in order of time
        ends = np.searchsorted(self.neuron[plain], self.neuron[plain], side="right")
        kept = np.ones(len(self), dtype=bool)
        kept[plain[ends - np.arange(len(plain)) > of_each]] = False
        columns = {name: getattr(self, name)[kept] for name in self.columns()}
        return Events(**columns, unlisted=self.unlisted + int(np.sum(~kept)))

    def held(self, neurons: int) -> list[list[tuple[float, float, int]]]:
        """For each neuron the stretches (from, to, line) it was held on a kink; `to` is inf where that did not end."""
        stretches: list[list[tuple[float, float, int]]] = [[] for _ in range(neurons)]
        open_since: dict[tuple[int, int], float] = {}
        for t, h, line, kind in zip(self.time, self.neuron, self.line, self.kind, strict=True):
            if kind == Kind.HOLD:
                open_since[int(h), int(line)] = float(t)
            elif kind == Kind.RELEASE and (int(h), int(line)) in open_since:
                stretches[h].append((open_since.pop((int(h), int(line))), float(t), int(line)))
        for (h, line), since in open_since.items():
            stretches[h].append((since, float("inf"), line))
        return stretches

    def __repr__(self) -> str:
        return f"Events: {self}"

    def __str__(self) -> str:
        if not self.happened:
            return "none"
        counts = [f"{self.count(kind)} {kind.name.lower()}" for kind in Kind if self.count(kind)]
        if self.unlisted:
            counts.append(f"{self.unlisted} crossings not listed")
        if self.certified:
            return ", ".join(counts) + " (all certified)"
        origin, repelled, rest = (int(which.sum()) for which in (self._at_origin, self._repelled, self._from_rest))
        words = ["NOT all certified"] if self.doubtful.any() else []
        words += [f"{origin} through w = 0, where several ways lead out, by that of descent"] if origin else []
        words += [f"{repelled} off a kink that came to repel, to the side of descent"] if repelled else []
        words += [f"{rest} over a kink at which they came to rest"] if rest else []
        forks = self.count(Kind.FORK)
        words += [f"{forks} by a fork that is nearer than the tolerance"] if forks else []
        return ", ".join(counts) + f" ({'; '.join(words)})"
