"""Which way of moving suits a problem, and to which tolerance."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..arrays import Array
from ..errors import InputError, did_you_mean, is_number
from ..problem import Problem
from .engines.alternative import Alternative
from .engines.constant_pulls import ConstantPulls
from .engines.early_phase import EarlyPhase
from .engines.engine import Engine
from .engines.explicit_steps import SmoothEngine
from .engines.followed import FollowedNeurons
from .engines.fork_twins import LOOSEST_DECIDED, ONLY_TELL, ForkRule
from .engines.kink_exact import kink_exact
from .engines.kink_exact_deep import DeepEngine
from .engines.kink_impulses import ImpulseEngine
from .engines.plain_deep import PlainDeepSteps
from .engines.plain_steps import plain_steps
from .field import Field
from .field.deep import DeepField
from .field.deep_kernels import DEEP_SAMPLES_PER_PASS
from .field.two_layer import TwoLayerField
from .first_use import prepare
from .kinks.decisions import Decisions, first_start
from .kinks.geometry import Kinks
from .state import Start, row_lengths
from .tolerances import STRONGEST_PULL, TINY

METHODS = ("kinks", "follow", "plain", "impulses", "smooth")
TIGHTEST, LOOSEST = 1e-13, 3e-2
LOCATED_RTOL = 1e-9
FOLLOWED_RTOL = 1e-6  # where neurons are followed by themselves: less would save little
FOLLOWED_RTOL_FEW = 1e-8  # the same for few kinks: 2.4 times the time, 0.12 s in the median of 60 random problems
FEW_FOLLOWED = 2_000  # samples x neurons
# As few samples and neurons also count as few kinks: to 1e-6, weights of 4 in 8,000 random problems were off by up to 1.2e-5; 60 x 60 takes
# 1.3 instead of 0.4 s, 90 x 50 1.9 instead of 0.6 s.
FEW_OF_BOTH = 100
# For two layers, from here on kinks are left to the error control. On eight tables plain steps then take a tenth to a half of what
# following takes at 1e-3 and keep the loss to 5e-3; at 1e-3 their weights are off by 3e-3 to 0.1 of the largest, followed ones by 7e-4.
PLAIN_RTOL = 3e-3
# From here down plain steps leave the early phase to closed forms, so that losses fall at the right time. It costs a quarter to half of
# a microsecond for every kink, half the samples for every neuron, and saves the steps that neurons turn in. On 64 random problems at
# 3e-3 the time is the same and the loss error half (better in 78 %, worse by a factor of two in 12 %); at 1e-2 it takes a third more time.
PLAIN_EARLY_RTOL = 3e-3
# Followed runs that are asked for LOOSEST_DECIDED or less are made to this: on nine tables it takes 1.4 times as long as 1e-4 (median;
# 1.0 to 2.1), and leaves a hundredth of the forks for which runs are made again, which takes twice as long: 3e-6 met some on three tables.
DECIDING_RTOL = 1e-6
SMOOTH_RTOL = 1e-5  # for explicit steps of three layers and more
IMPULSE_RTOL = 1e-4  # loss curves are then right to some 1e-5, and ten times less costs three times as much
FEW_SAMPLES = 150  # without kinks, up to which an implicit step, cubic in the samples, is cheaper than what it saves
# Samples x neurons of mirrored data up to which following takes a third of a second at most. Kink-exact runs, which sufficed up to 150
# samples, take 10 to 100 times as long there: 150 random samples of 10 inputs, 50 neurons, 0.16 s to 1e-8 instead of more than 15.
FEW_MIRRORED = 40_000
SMALL_START = 0.01  # of labels: bound of the outputs at the start of smooth runs; others are over kinks from the first step
NEARLY_ODD = 0.01  # of the squares of what is odd in labels: of the even rest of smooth runs, which takes steps over kinks without end
MOST_ERROR = 30.0  # tolerances that errors of smooth steps may add up to where neurons could be followed
SMALLEST_FOLLOWED = 1e-100  # weights
LAZY = 300.0  # root of the summed squares of what neurons put out, over the residuals: followed to 1e-6, losses are right to 1e-4
FEW_ENOUGH_TO_STOP = 500  # samples: a hundred kink-exact steps take seconds, in lazy runs and where following gives up
# Multiply-adds of a kink-exact run that costs what following does, at rtol 1e-6 and more. It costs about as much at any tolerance, while
# following takes 1.6 times as long for ten times less: of 40 random problems that were followed to 1e-8 by default, the 26 below 3e9 take a
# sixth more time in all when kink-exact to 1e-9, 2.1 s at most.
MOST_KINK_EXACT_WORK, WORK_GROWTH = 3e8, 1.0 / 3.0
# Deep networks. Measured for 24 to 720 kinks (samples x hidden neurons): locating costs 6 ms per kink at any tolerance, impulses as
# much at 1e-7 to 1e-8, whatever the size, and less in proportion to rtol^(-0.2 to -0.4) before. From 24 to 320 kinks, at 1e-6 and
# 1e-4: locating 47 to 3600 and 35 to 3500 ms, impulses 33 to 1500 and 19 to 460 ms.
LOCATING_RTOL = 3e-7  # below, kinks are located
# The rtol from which on many kinks are left to the error control: losses are right to rtol, at a third of impulses' cost.
DEEP_PLAIN_RTOL = 1e-3
FEW_KINKS = 1_000  # located by default: seconds


def checked_rtol(problem: Problem, method: str, rtol: float | None) -> float:
    """The tolerance asked for, or the one that suits the problem and the method."""
    if method not in METHODS and method != "auto":
        raise InputError(
            f"method must be auto or one of {', '.join(METHODS)}, found {method!r}{did_you_mean(method, METHODS)}"
        )
    if method == "follow" and problem.network.layers > 2:
        raise InputError(
            f"method='follow' is for two layers, found {problem.network.layers}; use kinks, impulses, plain, smooth or auto."
        )
    if rtol is None:
        return default_rtol(problem, method)
    if not is_number(rtol) or not TIGHTEST <= rtol <= LOOSEST:
        raise InputError(f"rtol must lie between {TIGHTEST:g} and {LOOSEST:g}, found {rtol!r}.")
    return rtol


def default_rtol(problem: Problem, method: str) -> float:
    """LOCATED_RTOL where kinks are located, few or folded by symmetry, and else what costs no more than a plain solver does."""
    if problem.network.layers > 2:
        chosen = deep_method(problem, method, LOCATED_RTOL if _few_kinks(problem) else IMPULSE_RTOL)
        return {"kinks": LOCATED_RTOL, "impulses": IMPULSE_RTOL, "plain": DEEP_PLAIN_RTOL, "smooth": SMOOTH_RTOL}[chosen]
    if method == "impulses":
        return IMPULSE_RTOL
    if method == "smooth":
        return FOLLOWED_RTOL if too_many_kinks(problem, LOCATED_RTOL) else LOCATED_RTOL
    if method == "plain":
        return PLAIN_RTOL
    if suited(problem, method, LOCATED_RTOL) != "follow" or _mirrored(problem):
        return LOCATED_RTOL
    samples, neurons = problem.data.samples, problem.network.widths[0]
    few = samples * neurons < FEW_FOLLOWED or max(samples, neurons) < FEW_OF_BOTH
    return FOLLOWED_RTOL_FEW if few else FOLLOWED_RTOL


def suited(problem: Problem, method: str, rtol: float) -> str:
    """The method for two layers: as asked for, or the one that costs least.

    Stopping at every kink is exact to rounding, but costs steps of the whole network, cubic in the samples. Following neurons by
    themselves pays for its own events only; loose tolerances need no events at all. Where mirror images with opposite labels fold the
    data neurons mostly come to share few patterns from small weights, and smooth steps of these are cheapest; where they do not, followed
    neurons go on.
    """
    if method != "auto":
        return method
    if problem.network.alpha == 1.0:
        return "kinks" if problem.data.samples <= FEW_SAMPLES else "smooth"
    if not too_many_kinks(problem, rtol):
        return "kinks"
    large = problem.data.samples * problem.network.widths[0] > FEW_MIRRORED
    if large and _mirrored(problem) and _nearly_odd(problem) and _starts_small(problem):
        return "smooth"
    return "plain" if rtol >= PLAIN_RTOL else "follow"


def chosen_method(problem: Problem, method: str, rtol: float) -> str:
    """The method for a problem of any depth: as asked for, or the one that costs least."""
    return deep_method(problem, method, rtol) if problem.network.layers > 2 else suited(problem, method, rtol)


def reason(problem: Problem, chosen: str) -> str:
    """Why `simulate` chose that method, in a few words."""
    if problem.network.layers > 2:
        return {
            "smooth": "there are no kinks",
            "kinks": f"rtol below {LOCATING_RTOL:g} needs every kink",
            "impulses": f"cheapest for rtol of {LOCATING_RTOL:g} and more",
            "plain": f"with many kinks rtol of {DEEP_PLAIN_RTOL:g} and more needs no single ones",
        }[chosen]
    if problem.network.alpha == 1.0:
        return "there are no kinks"
    return {
        "smooth": "samples have mirror images",
        "kinks": "few enough kinks to stop at each",
        "follow": "too many kinks to stop the network at each",
        "plain": f"rtol of {PLAIN_RTOL:g} and more needs no single kinks",
    }[chosen]


def made_to(chosen: str, rtol: float) -> float:
    """The tolerance to which a run by that method is made, where less than what was asked for costs hardly more and decides forks."""
    return DECIDING_RTOL if chosen == "follow" and DECIDING_RTOL < rtol <= LOOSEST_DECIDED else rtol


def too_many_kinks(problem: Problem, rtol: float) -> bool:
    """Whether stopping the network at every kink costs more than following neurons by themselves to this tolerance."""
    most = MOST_KINK_EXACT_WORK * max(1.0, FOLLOWED_RTOL / rtol) ** WORK_GROWTH
    few = _work_in(problem, 1) <= most and kink_exact_work(problem) <= most  # in one dimension first: a rank takes time
    return problem.network.alpha < 1.0 and not few and not _lazy(problem)


def _lazy(problem: Problem) -> bool:
    """Whether neurons put out so much more than residuals are that they hardly move: they meet few kinks, and steps must see residuals."""
    if problem.data.samples > FEW_ENOUGH_TO_STOP:
        return False
    (w, a), f = problem.weights, problem.output(problem.weights)
    pull = np.asarray(problem.loss.pull(problem.y, f))
    if not np.abs(pull).max() < STRONGEST_PULL:  # whose square may be no number any more: such a start is refused
        return False
    residual = 2.0 * float(np.mean(problem.loss.value(problem.y, f))) / max(float(np.sqrt(np.mean(pull**2))), TINY)
    outputs = np.linalg.norm(a[0] * row_lengths(w)) * row_lengths(problem.x).mean()
    return bool(outputs > LAZY * residual)


def kink_exact_work(problem: Problem) -> float:
    """Multiply-adds that a kink-exact run takes, roughly."""
    data = problem.data
    few = data.samples <= FEW_ENOUGH_TO_STOP  # what more span is not worth a decomposition
    return _work_in(problem, min(problem.x.shape[1], data.rank + problem.network.bias if few else data.samples))


def _work_in(problem: Problem, inputs: int) -> float:
    """The same where samples span so many dimensions: an implicit step, cubic in the samples, for half of all (neuron, kink).

    Neurons of one pattern move as one, and n lines that span d dimensions cut no more than some n^(d-1) patterns.
    """
    samples = float(problem.data.samples)
    groups = min(float(problem.network.widths[0]), 2.0 * samples ** min(inputs - 1, 9))
    return 5.0 * samples * groups * (samples**3 + samples**2 * groups * inputs)


def _starts_small(problem: Problem) -> bool:
    """Whether neurons can turn to few directions before they put out anything that counts."""
    w, a = problem.weights
    outputs = row_lengths(problem.x).max() * (np.abs(a[0]) @ row_lengths(w))
    return bool(outputs < SMALL_START * np.sqrt(np.mean(problem.y**2)))


def _nearly_odd(problem: Problem) -> bool:
    """Whether labels of mirror images are nearly opposite: neurons then share few patterns for long."""
    one, other = problem.data.mirror_pairs[0].T
    y = problem.y
    return bool(((y[one] + y[other]) ** 2).sum() <= NEARLY_ODD * ((y[one] - y[other]) ** 2).sum())


def _mirrored(problem: Problem) -> bool:
    """Whether every sample has its mirror image."""
    return not problem.network.bias and not len(problem.data.mirror_pairs[1])


def deep_method(problem: Problem, method: str, rtol: float) -> str:
    """The method asked for, or for three layers and more the cheaper one at this tolerance."""
    if problem.network.alpha == 1.0:
        return "smooth"  # there are no kinks
    if method not in ("auto", "follow"):
        return method
    if rtol < LOCATING_RTOL:
        return "kinks"
    return "plain" if rtol >= DEEP_PLAIN_RTOL and not _few_kinks(problem) else "impulses"


def _few_kinks(problem: Problem) -> bool:
    """Whether a deep network has few kinks: each is heavy then, and plain steps chatter across those that hold."""
    return problem.data.samples * sum(problem.network.widths) <= FEW_KINKS


def moves_in_span(problem: Problem, chosen: str) -> bool:
    """Whether the run is made in coordinates of the samples' span: where neurons are told from kinks."""
    return problem.network.layers == 2 and chosen in ("kinks", "follow")


def largest_product(problem: Problem, chosen: str) -> float:
    """Multiply-adds of the largest product that a run leaves to BLAS: matrices of samples x samples, or those of deep layers."""
    samples = problem.data.samples
    if problem.network.layers > 2:
        return min(samples, DEEP_SAMPLES_PER_PASS) * float(max(out * into for out, into in problem.network.shapes))
    return float(samples) ** 3 if chosen == "kinks" else 0.0


def first_engine(
    problem: Problem,
    field: Field,
    chosen: str,
    rtol: float,
    early_phase: bool,
    times: Array,
    all_events: bool = False,
    forks: ForkRule = ONLY_TELL,
    one_by_one: bool = False,
) -> Engine:
    """The engine to begin with: the early phase where it applies, which is followed by the one that the rest of the run needs.

    Steps are committed `one_by_one` where something is to be looked at after each.
    """
    if problem.network.layers > 2:
        if chosen == "smooth":
            return SmoothEngine(problem, field, rtol)
        if chosen == "plain" and isinstance(field, DeepField):
            return PlainDeepSteps(problem, field, rtol)
        return DeepEngine(problem, rtol) if chosen == "kinks" else ImpulseEngine(problem, rtol)
    if chosen == "impulses":
        return ImpulseEngine(problem, rtol)
    if chosen == "plain" and isinstance(field, TwoLayerField):

        def plain(start: Problem, t: float, energy: float) -> Engine:
            return plain_steps(start, field, rtol, times, t, energy, one_by_one)

        if early_phase and rtol <= PLAIN_EARLY_RTOL and ConstantPulls.applies(problem, rtol):
            return ConstantPulls(problem, rtol, times, plain)
        return plain(problem, 0.0, 0.0)
    prepare(chosen)
    decisions = Decisions(Kinks(problem))
    start = first_start(problem, decisions)

    def stopping(start: Start) -> Engine:
        return kink_exact(problem, rtol, decisions, start)

    few = problem.data.samples <= FEW_ENOUGH_TO_STOP

    def main_engine(start: Start, chosen: str = chosen) -> Engine:
        if chosen == "follow":
            work = kink_exact_work(problem) if too_many_kinks(problem, rtol) else np.inf
            alternative = Alternative(stopping, work) if few else None
            return FollowedNeurons(problem, rtol, decisions, start, times, all_events, alternative, forks)
        if chosen == "kinks":
            return stopping(start)
        many = too_many_kinks(problem, rtol)
        stand_in = partial(main_engine, chosen="follow" if many else "kinks")
        return SmoothEngine(
            problem, field, rtol, decisions, start, stand_in if few or many else None, MOST_ERROR if many else np.inf
        )

    # followed neurons make the early phase in a few sweeps themselves, as long as their squares are numbers
    closed_form = chosen != "follow" or max(float(np.abs(layer).max()) for layer in problem.weights) < SMALLEST_FOLLOWED
    if early_phase and closed_form and EarlyPhase.applies(problem):
        early = EarlyPhase(problem, decisions, start, rtol, main_engine)
        if not early.over:
            return early
    return main_engine(start)
