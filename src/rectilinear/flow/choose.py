"""Which way of moving suits a problem, and to which tolerance."""

from __future__ import annotations

from ..arrays import Array
from ..errors import InputError
from ..problem import Problem
from .engines.early_phase import EarlyPhase
from .engines.engine import Engine
from .engines.explicit_steps import SmoothEngine
from .engines.followed import FollowedNeurons
from .engines.kink_exact import KinkEngine
from .engines.kink_exact_deep import DeepEngine
from .field import Field
from .field.deep import DEEP_BLOCK
from .kinks.decisions import Decisions, first_start
from .kinks.geometry import Kinks
from .state import Start

METHODS = ("kinks", "follow", "smooth")
TIGHTEST, LOOSEST = 1e-13, 1e-2
LOCATED_RTOL = 1e-9
UNRESOLVED_RTOL = 1e-6  # for more kinks than can be located one by one, where less would only cost steps
DEEP_RTOL = 1e-5  # likewise for deeper networks
FEW_SAMPLES = 150  # up to here a kink-exact step (cubic in the samples) is cheaper than what it saves
FEW_PREACTIVATIONS = 1_000  # samples x hidden neurons, up to which a deep run may stop at every kink


def checked_rtol(problem: Problem, method: str, rtol: float | None) -> float:
    """The tolerance asked for, or the one that suits the problem and the method."""
    if method not in METHODS and method != "auto":
        raise InputError(f"method must be auto or one of {', '.join(METHODS)}, found {method!r}.")
    if rtol is None:
        return default_rtol(problem, method)
    if not TIGHTEST <= rtol <= LOOSEST:
        raise InputError(f"rtol must lie between {TIGHTEST:g} and {LOOSEST:g}, found {rtol!r}.")
    return rtol


def default_rtol(problem: Problem, method: str) -> float:
    """LOCATED_RTOL where kinks are located, few or folded by symmetry, and else what unresolved kinks leave."""
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


def largest_product(problem: Problem, method: str) -> float:
    """Multiply-adds of the largest product that a run leaves to BLAS: matrices of samples x samples, or those of deep layers."""
    samples = problem.data.samples
    if problem.network.layers > 2:
        return min(samples, DEEP_BLOCK) * float(max(out * into for out, into in problem.network.shapes))
    return float(samples) ** 3 if locates_kinks(problem, method) else 0.0


def first_engine(problem: Problem, field: Field, method: str, rtol: float, early_phase: bool, times: Array) -> Engine:
    """The engine to begin with: the early phase where it applies, which is followed by the one that the rest of the run needs."""
    if problem.network.layers > 2:
        return DeepEngine(problem, rtol) if locates_kinks(problem, method) else SmoothEngine(problem, field, rtol)
    decisions = Decisions(Kinks(problem))
    start = first_start(problem, decisions)

    def main_engine(start: Start) -> Engine:
        if method == "follow":
            return FollowedNeurons(problem, rtol, decisions, start, times)
        if locates_kinks(problem, method):
            return KinkEngine(problem, rtol, decisions, start)
        return SmoothEngine(problem, field, rtol, decisions, start)

    if early_phase and EarlyPhase.applies(problem):
        early = EarlyPhase(problem, decisions, start, rtol, main_engine)
        if not early.over:
            return early
    return main_engine(start)
