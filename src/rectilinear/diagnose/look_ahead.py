"""A short simulation of data that no theorem speaks of: when the loss falls, where it rests, how far it gets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..dataset import Dataset
from ..flow.descend import descend
from ..problem import Problem
from ..trajectory import Status, Trajectory

STEPS = (
    2_000  # of gradient descent, and as many again of half the size twice over: their difference is the error that is stated
)
KEPT = 200  # times that are kept
SHORTEST, REACH = 5.0, 12.0  # how many growth times it looks ahead, at least and at most
GENTLE = 0.25  # a step times the largest curvature expected
LATE = 0.01  # directions of a smaller share of the variance are learned later than it looks
HALVINGS = 6  # of a step that proves too large
WORK = 1_000_000  # samples x inputs x neurons that a step may take, so that a diagnosis stays a matter of seconds
FEWEST = 200  # samples that are simulated in any case
SECONDS = 10.0
LEAST_ERROR = 1e-6  # relative error that is stated at least
RESTS = 0.08  # a loss that falls by less than this share of its whole fall per factor e of time rests ...
FALLS = 0.25  # ... and one that falls by more than this falls
RISE = 1e-3  # of the first loss, by which the loss may rise between two kept times
HARDLY = 1e-3  # share of itself by which a loss falls that hardly does
SETTLED = 0.01  # share of the fall that the last tenth of the time may still bring to a run that is over


@dataclass(frozen=True, eq=False)
class LookAhead:
    """A simulated `run` of the first stretch of training: on all samples, or on `samples` of them drawn at random.

    `first_drop`: when half of its fall is done. `rests`: (from, to, loss) of the stretches in which the loss hardly falls
    between two falls. `is_over`: it hardly falls any more. `error`: what the simulation may be off by, relative to the first
    loss; beyond it there is what a part of the samples does not show.
    """

    run: Trajectory
    samples: int
    error: float
    first_drop: float | None
    rests: tuple[tuple[float, float, float], ...]
    is_over: bool

    @property
    def last_loss(self) -> float:
        return float(self.run.loss[-1])

    def __repr__(self) -> str:
        return f"LookAhead: {sentence(self)}"


def look_ahead(problem: Problem, span: float) -> LookAhead | None:
    """Simulate the problem for up to `REACH` times `span`; None where it cannot be.

    Gradient descent is run twice, with a step and with half of it. The finer one is shown, and what they differ by is the error.
    """
    part = part_of(problem, max(FEWEST, WORK // (problem.data.inputs * sum(problem.network.widths))))
    learning_rate = float(np.clip(_gentle_rate(part), SHORTEST * span / STEPS, REACH * span / STEPS))
    for _ in range(HALVINGS):
        coarse, fine = (_descended(part, learning_rate, halves) for halves in (1, 2))
        if coarse is not None and fine is not None:
            break
        learning_rate /= 2.0
    else:
        return None
    shared = min(len(coarse), len(fine))
    apart = np.abs(coarse.loss[:shared] - fine.loss[:shared]).max() / (float(fine.loss[0]) or 1.0)
    fall = float(fine.loss[0] - fine.loss.min())
    dropped = (
        np.flatnonzero(fine.loss <= fine.loss[0] - fall / 2) if fall > HARDLY * fine.loss[0] else np.empty(0, dtype=int)
    )
    late = fine.times >= 0.9 * fine.times[-1]
    return LookAhead(
        run=fine,
        samples=part.data.samples,
        error=max(float(apart), LEAST_ERROR),
        first_drop=float(fine.times[dropped[0]]) if dropped.size else None,
        rests=rests_of(fine.times, fine.loss) if dropped.size else (),
        is_over=bool(fall > HARDLY * fine.loss[0] and np.ptp(fine.loss[late]) <= SETTLED * fall),
    )


def _gentle_rate(problem: Problem) -> float:
    """A step below what the curvature allows: that of the loss at the linear fit v, about lambda_max(Sigma) (|W_1|^2 + |W_2|^2)."""
    data = problem.data
    largest = float(np.linalg.eigvalsh(data.covariance)[-1])
    fit = np.linalg.solve(data.covariance + LATE * largest * np.eye(data.inputs), data.correlation)
    size = sum(float(np.sum(layer**2)) for layer in problem.weights)
    return GENTLE / (largest * max(2.0 * float(np.linalg.norm(fit)), size, 1e-300))


def _descended(problem: Problem, learning_rate: float, halves: int) -> Trajectory | None:
    """Gradient descent in steps of a `halves`-th; None where the loss rises, so that steps are too large."""
    steps = STEPS * halves
    run = descend(problem, learning_rate / halves, steps, steps // KEPT, max_seconds=SECONDS)
    if run.status is Status.DIVERGED or np.diff(run.loss).max(initial=0.0) > RISE * float(run.loss[0]):
        return None
    return run


def rests_of(times: Array, loss: Array) -> tuple[tuple[float, float, float], ...]:
    """Stretches (from, to, median loss) in which the loss rests, after one fall and before another.

    >>> t = np.geomspace(0.1, 1000, 200)
    >>> [(a, b, level)] = rests_of(t, 1 / (1 + t**4) + 1 / (1 + (t / 100) ** 4))
    >>> a < 5 and b > 30, round(level, 2)
    (True, 1.0)
    """
    shown = times > 0
    times, loss = times[shown], loss[shown]
    loss = np.minimum.accumulate(loss)
    fall = float(loss[0] - loss[-1])
    if len(times) < 3 or fall <= 0.0:
        return ()
    speed = -np.gradient(loss, np.log(times)) / fall
    falling = np.flatnonzero(speed > FALLS)
    if not falling.size:
        return ()
    found = []
    k = int(falling[0])
    while (slow := np.flatnonzero((speed < RESTS) & (np.arange(len(speed)) > k))).size:
        start = int(slow[0])
        again = falling[falling > start]
        if not again.size:
            break
        resting = slow[(slow >= start) & (slow < again[0])]
        found.append((float(times[start]), float(times[resting[-1]]), float(np.median(loss[resting]))))
        k = int(again[0])
    return tuple(found)


def sentence(seen: LookAhead) -> str:
    """What the simulation shows, in one sentence."""
    run = seen.run
    parts = ["the loss hardly falls" if seen.first_drop is None else f"the loss falls around t = {seen.first_drop:.3g}"]
    parts += [f"rests near {level:.3g} from t = {start:.3g} to {end:.3g}" for start, end, level in seen.rests]
    ending = "and stays there" if seen.is_over else "still falling"
    parts.append(f"reaches {seen.last_loss:.3g} at t = {run.times[-1]:.3g}, {ending}")
    return ", ".join(parts)


def how_sure(seen: LookAhead, samples: int) -> str:
    """Where the sentence comes from and how far it may be off."""
    some = "" if seen.samples == samples else f" of {seen.samples} samples of {samples}, drawn at random"
    return f"simulated{some}, good to {100 * seen.error:.1g} % of the first loss"


def part_of(problem: Problem, few: int) -> Problem:
    """The problem, or the same on `few` samples drawn at random where it has more."""
    data = problem.data
    if data.samples <= few:
        return problem
    rows = np.sort(np.random.default_rng(0).choice(data.samples, few, replace=False))
    part = Dataset(data.x[rows], data.y[rows], data.name, features=data.features, precision=data.precision)
    return Problem(part, problem.network, problem.weights, problem.loss, problem.l2)
