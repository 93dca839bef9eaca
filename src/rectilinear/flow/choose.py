"""Which way of moving suits a problem, and to which tolerance."""

from __future__ import annotations

from ..arrays import Array
from ..events import Events
from ..problem import Problem
from .engines.early_phase import EarlyPhase
from .engines.explicit_steps import SmoothEngine
from .engines.kink_exact import KinkEngine
from .engines.kink_exact_deep import DeepEngine
from .field import Field
from .kinks.decisions import Decisions, first_start
from .kinks.geometry import Kinks
from .run import Engine
from .state import Start

METHODS = ("kinks", "smooth")
LOCATED_RTOL = 1e-9
UNRESOLVED_RTOL = 1e-6  # for more kinks than can be located one by one, where less would only cost steps
DEEP_RTOL = 1e-5  # likewise for deeper networks
FEW_SAMPLES = 150  # up to here a kink-exact step (cubic in the samples) is cheaper than what it saves
FEW_PREACTIVATIONS = 1_000  # samples x hidden neurons, up to which a deep run may stop at every kink


def default_rtol(problem: Problem, method: str) -> float:
    if problem.network.layers > 2:
        return LOCATED_RTOL if locates_kinks(problem, method) else DEEP_RTOL
    located = method == "kinks" or problem.data.samples <= FEW_SAMPLES
    mirrored = not problem.network.bias and not len(problem.data.mirror_pairs[1])
    return LOCATED_RTOL if located or mirrored or problem.network.alpha == 1.0 else UNRESOLVED_RTOL


def locates_kinks(problem: Problem, method: str) -> bool:
    """Whether every kink is located: if asked for, or where there are few."""
    network, samples = problem.network, problem.data.samples
    if network.layers > 2 and network.alpha == 1.0:
        return False  # there are none
    few = samples <= FEW_SAMPLES and (network.layers == 2 or samples * sum(network.widths) <= FEW_PREACTIVATIONS)
    return method == "kinks" or (method == "auto" and few)


class Phases:
    """The early phase where it applies, and then the engine that the rest of the run needs."""

    def __init__(self, problem: Problem, field: Field, method: str, rtol: float, early_phase: bool) -> None:
        self.problem, self.field, self.method, self.rtol = problem, field, method, rtol
        self.past: dict[str, int] = {}
        self.current: Engine
        if problem.network.layers > 2:
            located = locates_kinks(problem, method)
            self.current = DeepEngine(problem, rtol) if located else SmoothEngine(problem, field, rtol)
            return
        self.decisions = Decisions(Kinks(problem))
        start = first_start(problem, self.decisions)
        early = EarlyPhase(problem, self.decisions, start, rtol) if early_phase and EarlyPhase.applies(problem) else None
        self.current = self._main(start) if early is None or early.over else early

    def _main(self, start: Start) -> Engine:
        """Kink-exact where the samples are few, smooth stepping for many."""
        if locates_kinks(self.problem, self.method):
            return KinkEngine(self.problem, self.rtol, self.decisions, start)
        return SmoothEngine(self.problem, self.field, self.rtol, self.decisions, start)

    @property
    def name(self) -> str:
        return f"early phase, {self.current.name}" if self.past else self.current.name

    @property
    def t(self) -> float:
        return self.current.t

    @property
    def step_end(self) -> float:
        return self.current.step_end

    @property
    def chattering(self) -> bool:
        return self.current.chattering

    def attempt(self, t_end: float) -> bool:
        return self.current.attempt(t_end)

    def states(self, times: Array) -> tuple[Array, Array]:
        return self.current.states(times)

    def commit(self) -> tuple[float, float]:
        speed, objective = self.current.commit()
        if isinstance(self.current, EarlyPhase) and self.current.over:
            self.past = self.current.statistics()
            self.current = self._main(self.current.end)
        return speed, objective

    def statistics(self) -> dict[str, int]:
        return self.past | self.current.statistics()

    def group_counts(self) -> Array | None:
        return self.current.group_counts()

    def events(self) -> Events | None:
        return self.current.events()
