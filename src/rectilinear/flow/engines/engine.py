"""What every way of moving along the flow can do."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ...arrays import Array
from ...events import Events


class States(NamedTuple):
    """What an engine tells of moments: flat weights (t, size), the integral of |grad L|^2 (t,), and the estimated error up to there."""

    weights: Array
    energies: Array
    errors: Array | float


class Engine(Protocol):
    """A way of moving along the flow: attempt a step, look into it, commit it."""

    @property
    def name(self) -> str: ...

    @property
    def t(self) -> float: ...

    @property
    def estimated_error(self) -> float:
        """What weights are estimated to be off by so far, relatively: errors of its steps, carried along by the flow or added up."""
        ...

    @property
    def chattering(self) -> bool:
        """Whether steps have become too small to get anywhere."""
        ...

    def attempt(self, t_end: float) -> bool:
        """Try a step that does not pass `t_end`; False if it must be tried again."""
        ...

    @property
    def step_end(self) -> float: ...

    def states(self, times: Array) -> States:
        """The states at times within the step just made, or now."""
        ...

    def commit(self) -> tuple[float, float]:
        """Move to the end of the step; |grad L| and the loss without regularisation there."""
        ...

    def successor(self) -> Engine | None:
        """The engine that takes over after the step just committed or given up; None while this one goes on."""
        ...

    def statistics(self) -> dict[str, int]: ...

    def events(self) -> Events | None:
        """What happened at kinks, since the start of the run; None if they are not located."""
        ...

    def group_counts(self) -> Array | None:
        """Rows (time, number of groups of neurons that move together); None if there are no groups."""
        ...
