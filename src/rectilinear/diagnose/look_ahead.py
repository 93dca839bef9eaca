"""A short simulation of data that no theorem speaks of: when the loss falls, where it rests, how far it gets."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array
from ..conditions.budget import budget
from ..dataset import Dataset
from ..flow.descend import descend
from ..problem import Problem
from ..trajectory import Status, Trajectory
from .curves import apart, when

STEPS = 2_000  # of gradient descent, and twice as many of half the size: their difference is the error of the finer ones
STEPS_OF_PARTS = 1_000  # the same where there are many samples, or a part of them stands for all and limits the error
KEPT = 200  # times that are kept
SHORTEST, REACH = 5.0, 12.0  # how many growth times it looks ahead, at least and at most
GENTLE = 0.25  # a step times the largest curvature expected
LATE = 0.01  # directions of a smaller share of the variance are learned later than it looks
HALVINGS = 6  # of a step that proves too large
WORK = 1_000_000  # samples x inputs x neurons that a step may take, so that a diagnosis stays a matter of seconds
WORK_OF_PARTS = 4_000_000  # the same for a part of the samples, whose steps are fewer
STEPS_APART = 2.0  # what finer steps may be off by, in units of their difference from the coarser ones
# What the mean of two parts may be off by, in units of their difference: holds for nine of ten normal numbers.
PARTS_APART = 3.0
HELD_OUT = 40  # times at which the loss of samples that were not trained on is looked at
FEWEST = 200  # samples that are simulated in any case
SECONDS = 10.0
NOTED = 1e-3  # share by which times are off that is worth a word
LEAST_ERROR = 1e-6  # relative error that is stated at least
RESTS = 0.08  # a loss that falls by less than this share of its whole fall per factor e of time rests ...
FALLS = 0.25  # ... and one that falls by more than this falls
WORTH_A_WORD = 0.01  # share of the first loss below which a loss that rests is as good as none
RISE = 1e-3  # of the first loss, by which the loss may rise between two kept times
HARDLY = 1e-3  # share of itself by which a loss falls that hardly does
MOST_DIGITS = 7  # in which losses that differ are told apart
SETTLED = 0.01  # share of the fall that the last tenth of the time may still bring to a run that is over


@dataclass(frozen=True, eq=False)
class LookAhead:
    """A simulated `run` of the first stretch of training: on all samples, or on `samples` of them drawn at random.

    `loss` (t,) at the times of the run is what is expected of all samples. `error`: what it may be off by, relative to the first
    loss, besides coming earlier or later by a share `time_error` of the time. `first_drop`: when half of its fall is done.
    `rests`: (from, to, loss) of the stretches in which the loss hardly falls between two falls. `is_over`: it hardly falls any more.
    """

    run: Trajectory
    loss: Array
    samples: int
    error: float
    time_error: float
    first_drop: float | None
    rests: tuple[tuple[float, float, float], ...]
    is_over: bool

    @property
    def last_loss(self) -> float:
        return float(self.loss[-1])

    def __repr__(self) -> str:
        return f"LookAhead: {sentence(self)}"


def look_ahead(problem: Problem, span: float) -> LookAhead | None:
    """Simulate the problem for up to `REACH` times `span`; None where it cannot be.

    Gradient descent is run twice, with a step and with half of it. The finer one is shown, and what they differ by is the error.
    Of many samples a part is trained on, and another part of the same size by itself: the loss is shown at the mean of
    their times, raised half way to the loss on samples that were not trained on, as a part is fitted better than all are.
    """
    size = problem.data.inputs * sum(problem.network.widths)
    few = max(FEWEST, WORK_OF_PARTS // size)
    part, other = (problem, None) if problem.data.samples <= 2 * few else parts_of(problem, few)
    steps = STEPS if problem.data.samples <= max(FEWEST, WORK // size) else STEPS_OF_PARTS
    learning_rate = float(np.clip(_gentle_rate(part), SHORTEST * span / steps, REACH * span / steps))
    for _ in range(HALVINGS):
        coarse, fine = (_descended(part, learning_rate, steps, halves) for halves in (1, 2))
        again = _descended(other, learning_rate, steps, 1) if other is not None and fine is not None else None
        if coarse is not None and fine is not None and (other is None or again is not None):
            break
        learning_rate /= 2.0
    else:
        return None
    shared = min(len(run) for run in (coarse, fine, again) if run is not None)
    times, loss = fine.times[:shared], fine.loss[:shared]
    factor, differences = apart(times, loss, coarse.loss[:shared])
    time_error, error = STEPS_APART * abs(factor - 1.0), STEPS_APART * differences
    if other is not None and again is not None:
        factor, differences = apart(times, coarse.loss[:shared], again.loss[:shared])
        time_error, error = time_error + PARTS_APART * abs(factor - 1.0), error + PARTS_APART * differences
        held_out = np.minimum(_loss_on(other, fine)[:shared], loss[0])  # the loss of all samples never rises
        unfitted = np.maximum(held_out - loss, 0.0) / 2.0
        later = 2.0 * times / (1.0 + factor)  # half way between the two parts
        loss = np.interp(later, times, loss + (1.0 - part.data.samples / problem.data.samples) * unfitted)
        error = error + unfitted
    share = max(float(error.max()) / (float(loss[0]) or 1.0), LEAST_ERROR)
    return _seen(fine, loss, part.data.samples, share, time_error)


def _seen(run: Trajectory, loss: Array, samples: int, error: float, time_error: float) -> LookAhead:
    """What can be read off the curve."""
    times = run.times[: len(loss)]
    fall = float(loss[0] - loss.min())
    dropped = np.flatnonzero(loss <= loss[0] - fall / 2) if fall > HARDLY * loss[0] else np.empty(0, dtype=int)
    late = times >= 0.9 * times[-1]
    return LookAhead(
        run=run,
        loss=loss,
        samples=samples,
        error=error,
        time_error=time_error,
        first_drop=when(times, loss, float(loss[0]) - fall / 2, int(dropped[0])) if dropped.size else None,
        rests=rests_of(times, loss) if dropped.size else (),
        is_over=bool(fall > HARDLY * loss[0] and np.ptp(loss[late]) <= SETTLED * fall),
    )


def _loss_on(problem: Problem, run: Trajectory) -> Array:
    """The loss of the run's networks on the samples of `problem`, at the times of the run."""
    looked = np.unique(np.linspace(0, len(run) - 1, HELD_OUT).astype(int))
    return np.interp(run.times, run.times[looked], [problem.data_loss(run.weights_at(int(k))) for k in looked])


def _gentle_rate(problem: Problem) -> float:
    """A step below what the curvature allows: that of the loss at the linear fit v, about lambda_max(Sigma) (|W_1|^2 + |W_2|^2)."""
    data = problem.data
    largest = float(np.linalg.eigvalsh(data.covariance)[-1])
    fit = np.linalg.solve(data.covariance + LATE * largest * np.eye(data.inputs), data.correlation)
    size = sum(float(np.sum(layer**2)) for layer in problem.weights)
    return GENTLE / (largest * max(2.0 * float(np.linalg.norm(fit)), size, 1e-300))


def _descended(problem: Problem, learning_rate: float, steps: int, halves: int) -> Trajectory | None:
    """Gradient descent in steps of a `halves`-th; None where the loss rises, so that steps are too large."""
    run = descend(problem, learning_rate / halves, steps * halves, steps * halves // KEPT, max_seconds=SECONDS)
    if run.status is Status.INTERRUPTED:
        raise KeyboardInterrupt  # half a look ahead tells nothing, and the user wants no more of them
    if run.status is Status.DIVERGED or np.diff(run.loss).max(initial=0.0) > RISE * float(run.loss[0]):
        return None
    return run


def rests_of(times: Array, loss: Array) -> tuple[tuple[float, float, float], ...]:
    """Stretches (from, to, median loss) in which the loss rests, after one fall and before another.

    Falls are looked for in the loss, and in its logarithm down to `WORTH_A_WORD` of the first loss, as a loss that falls from 10 to 0.4 and
    long after that to 0.04 has rested.

    >>> t = np.geomspace(0.1, 1000, 200)
    >>> [(a, b, level)] = rests_of(t, 1 / (1 + t**4) + 1 / (1 + (t / 100) ** 4))
    >>> a < 5 and b > 30, round(level, 2)
    (True, 1.0)
    """
    shown = times > 0
    times, loss = times[shown], np.minimum.accumulate(loss[shown])
    if len(times) < 3 or loss[0] <= 0.0:
        return ()
    found = _stretches(times, loss)
    for first, last in _stretches(times, np.log(np.maximum(loss, WORTH_A_WORD * loss[0]))):
        if not any(first <= end and begin <= last for begin, end in found):
            found.append((first, last))
    return tuple(
        (float(times[first]), float(times[last]), float(np.median(loss[first : last + 1]))) for first, last in sorted(found)
    )


def _stretches(times: Array, heights: Array) -> list[tuple[int, int]]:
    """Positions (first, last) of the stretches in which the heights rest, after one fall and before another."""
    fall = float(heights[0] - heights[-1])
    if fall <= 0.0:
        return []
    speed = -np.gradient(heights, np.log(times)) / fall
    falling = np.flatnonzero(speed > FALLS)
    found: list[tuple[int, int]] = []
    k = int(falling[0]) if falling.size else len(speed)
    while (slow := np.flatnonzero((speed < RESTS) & (np.arange(len(speed)) > k))).size:
        start = int(slow[0])
        again = falling[falling > start]
        if not again.size:
            break
        found.append((start, int(slow[slow < again[0]][-1])))
        k = int(again[0])
    return found


def sentence(seen: LookAhead) -> str:
    """What the simulation shows, in one sentence."""
    first, *rests, last = _told_apart([float(seen.loss[0]), *(level for *_, level in seen.rests), seen.last_loss])
    parts = [
        f"from {first} the loss "
        + ("hardly falls" if seen.first_drop is None else f"falls around t = {seen.first_drop:.3g}")
    ]
    parts += [
        f"rests near {level} from t = {start:.3g} to {end:.3g}"
        for level, (start, end, _) in zip(rests, seen.rests, strict=True)
    ]
    parts.append(f"reaches {last} at t = {seen.run.times[len(seen.loss) - 1]:.3g}, {_ending(seen)}")
    return ", ".join(parts)


def _told_apart(losses: list[float]) -> list[str]:
    """Three digits of each, or as many more as it takes to see that they differ."""
    written = [[f"{loss:.{digits}g}" for loss in losses] for digits in range(3, MOST_DIGITS + 1)]
    return next((texts for texts in written if len(set(texts)) == len(texts)), written[0])


def _ending(seen: LookAhead) -> str:
    """Whether the loss goes on to fall. A loss that hardly falls may still fall for long: it stays only where none is lower."""
    if not seen.is_over:
        return "still falling"
    problem = seen.run.problem
    network = problem.network
    bounded = network.layers == 2 and not network.bias and problem.loss.name == "square"
    floor = budget(problem.data).loss_floor if bounded else 0.0
    at_the_floor = seen.last_loss - floor <= max(SETTLED * seen.last_loss, LEAST_ERROR * float(seen.loss[0]))
    return "and stays there" if at_the_floor else "falling slowly by then"


def how_sure(seen: LookAhead, samples: int) -> str:
    """Where the sentence comes from and how far it may be off."""
    some = "" if seen.samples == samples else f" of {seen.samples} samples of {samples}, drawn at random"
    times = f"times good to {_percent(seen.time_error)}, losses to" if seen.time_error >= NOTED else "good to"
    return f"simulated{some}, {times} {_percent(seen.error)} of the first loss"


def _percent(share: float) -> str:
    """Rounded up to one digit, or two from 10 % on."""
    unit = 10.0 ** min(np.floor(np.log10(100 * share)), 0.0)
    return f"{np.ceil(100 * share / unit - 1e-9) * unit:g} %"


def part_of(problem: Problem, few: int) -> Problem:
    """The problem, or the same on `few` samples drawn at random where it has more."""
    return problem if problem.data.samples <= few else parts_of(problem, few)[0]


def parts_of(problem: Problem, few: int) -> tuple[Problem, Problem]:
    """The same problem on `few` samples drawn at random, and on as many others."""
    data = problem.data
    order = np.random.default_rng(0).permutation(data.samples)
    first, second = (np.sort(rows) for rows in (order[:few], order[few : 2 * few]))
    one, other = (
        Dataset(data.x[rows], data.y[rows], data.name, features=data.features, precision=data.precision)
        for rows in (first, second)
    )
    return replace(problem, data=one), replace(problem, data=other)
