"""What happens next: the run, its first drop, its plateau and its end, as far as theorems say."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from ..arrays import Array
from ..conditions import broken_symmetry, nearly_symmetric, separable
from ..errors import RectilinearError
from ..measures import time_to_loss
from ..prediction import Prediction
from ..problem import Problem
from ..reduced.stable_rank import stable_rank_of
from ..theorems import predict
from ..theorems.limit import Limit, linear_limit
from ..theorems.perturbed_symmetry import plateau
from ..theorems.two_neurons import TWO_NEURONS, solve
from ..trajectory import Trajectory
from .diagnosis import Ending, Outlook, PlateauForecast, Reading
from .look_ahead import look_ahead, part_of

POINTS = 201  # times of a predicted curve
OVER = 0.99  # share of the fall of the loss after which a run counts as over
AFTERWARDS = 1.3  # the curve goes on for that much longer than it takes to be over
AFTER_PLATEAU = 1.5  # the same for the end of a plateau, which is predicted less precisely
DOUBLINGS = 12  # of the time in which a run may be over
NO_LOSS = 1e-12  # a predicted loss below this share of the first one is zero
NO_FALL = 1e-6  # a loss that falls by less than this share of itself does not fall
NO_CORRELATION = 1e-10  # |<x y>| below this share of <|x| |y|> is rounding: nothing pulls towards a linear map
CANCELLED = 0.1  # a pull of all samples below this share of what some neuron sees of it has cancelled
RESTING = 0.01  # a plateau lower than this share of the first loss is no plateau
MANY = 2_000  # samples that stand for all where there are more
ROUGHLY = replace(TWO_NEURONS, solve=partial(solve, tolerance=1e-6))  # for data that are not the user's own
LIMIT_ONLY = ("limit", "low_rank_bias")  # theorems that speak of t = infinity alone
EARLY_ONLY = ("early_phase",)  # and of the beginning alone


def outlook_of(problem: Problem, readings: tuple[Reading, ...]) -> Outlook:
    """Ask the theorems that apply; where none does, the symmetrised problem shows what the linear part would do."""
    applicable = [reading.theorem.name for reading in readings if reading.applies]
    ending = ending_of(problem, applicable)
    rest = plateau_of(problem)
    courses = [name for name in applicable if name not in LIMIT_ONLY + EARLY_ONLY]
    prediction = course(problem, courses[0], ending.loss, rest) if courses else None
    mirrored, mirrored_limit, ahead = None, None, None
    if prediction is None:
        ahead = look_ahead(problem, time_scale(problem))
        mirrored, mirrored_limit = mirrored_course(problem, None if ahead is None else float(ahead.run.times[-1]))
        if rest is None and mirrored is not None and _is_perturbed(problem):
            rest = _rest_at_linear_fit(mirrored)
    shown = prediction or mirrored
    fall_to = rest.height if rest is not None else mirrored_limit if prediction is None else ending.loss
    return Outlook(
        prediction=prediction,
        first_drop=None if shown is None else first_drop(shown, fall_to),
        ending=ending,
        plateau=rest,
        effective_rank=None if prediction is None else _final_rank(prediction),
        mirrored=mirrored,
        mirrored_limit=mirrored_limit,
        ahead=ahead,
    )


def ending_of(problem: Problem, applicable: list[str]) -> Ending:
    """The final solution by the first theorem that knows it."""
    for name in applicable:
        try:
            if name == "limit":
                return _linear_ending(problem, linear_limit(problem))
            if name == "class_max_margin":
                return Ending("class_max_margin", loss=0.0)
            if name == "low_rank_bias":
                return Ending("low_rank", loss=0.0)
            if name in ("orthogonal", "xor", "fixed_layer", "deep_reduction"):
                return _predicted_ending(predict(problem, [np.inf], theorem=name))
        except RectilinearError:
            continue  # a limit that this theorem cannot give; a weaker one may
    return Ending("unknown")


def _linear_ending(problem: Problem, limit: Limit) -> Ending:
    if problem.l2:
        kind = "regularised_linear"
    elif problem.loss.name == "square":
        kind = "least_squares"
    else:
        kind = "max_margin" if separable(problem.data).holds else "logistic_regression"
    diverges = limit.direction is not None
    return Ending(kind, None if diverges else limit.w, limit.direction, limit.loss)


def _predicted_ending(limit: Prediction) -> Ending:
    loss = float(limit.loss[-1])
    at_zero = float(np.mean(limit.problem.loss.value(limit.problem.y, np.zeros_like(limit.problem.y))))
    linear_map = None if limit.predicted_map is None else limit.predicted_map[-1]
    if loss <= NO_LOSS * at_zero:
        return Ending("zero_loss", linear_map, loss=0.0)
    kind = "predicted" if linear_map is None else "least_squares"  # a deep linear map ends at least squares
    return Ending(kind, linear_map, loss=loss)


def plateau_of(problem: Problem) -> PlateauForecast | None:
    """Height, beginning and end of the plateau of nearly symmetric data; None where perturbation theory does not apply."""
    if not _is_perturbed(problem):
        return None
    try:
        found = plateau(problem)
    except RectilinearError:
        return None
    return PlateauForecast(found.height, found.begins, found.ends)


def _is_perturbed(problem: Problem) -> bool:
    """Near Condition 3 but not at it, with a linear part to rest at."""
    near = nearly_symmetric(problem.data).holds and broken_symmetry(problem).holds
    return bool(near and _is_correlated(problem))


def _is_correlated(problem: Problem) -> bool:
    sizes = np.mean(np.linalg.norm(problem.data.x, axis=1) * np.abs(problem.y))
    return bool(np.linalg.norm(problem.data.correlation) > NO_CORRELATION * sizes)


def _rest_at_linear_fit(mirrored: Prediction) -> PlateauForecast | None:
    """The plateau at the linear fit, whose end is not predicted; None where the linear fit leaves next to no loss."""
    height = float(mirrored.loss[-1])
    if height <= RESTING * float(mirrored.loss[0]):
        return None
    return PlateauForecast(height, time_over(mirrored), np.nan)


def course(problem: Problem, theorem: str, ending: float | None, rest: PlateauForecast | None = None) -> Prediction | None:
    """The run by that theorem, up to a time when it is over; None if it cannot be followed."""
    try:
        if rest is not None and np.isfinite(rest.ends):
            return predict(problem, _grid(AFTER_PLATEAU * rest.ends), theorem=theorem)
        span = time_scale(problem)
        prediction = predict(problem, _grid(span), theorem=theorem)
        for _ in range(DOUBLINGS):
            if _is_over(prediction, ending):
                break
            span *= 2
            prediction = predict(problem, _grid(span), theorem=theorem)
        return predict(problem, _grid(AFTERWARDS * time_over(prediction, ending)), theorem=theorem)
    except RectilinearError:
        return None


def mirrored_course(problem: Problem, until: float | None = None) -> tuple[Prediction | None, float | None]:
    """The run of the same network on the data with mirror images added, and its limit; None where no theorem speaks of that.

    It goes on `until` a time, or until it is over.
    """
    if not _is_correlated(problem):
        return None, None
    twin = _mirrored(problem)
    try:
        limit = linear_limit(twin).loss
        if until is not None:
            return ROUGHLY.predict(twin, _grid(until)), limit
        return course(twin, "two_neurons", limit), limit
    except RectilinearError:
        return None, None


def mirrored_prediction(problem: Problem, times: Array) -> Prediction | None:
    """The loss of that run at these times, within milliseconds; None where no theorem speaks of it."""
    if not _is_correlated(problem):
        return None
    try:
        return ROUGHLY.predict(_mirrored(problem), times)
    except RectilinearError:
        return None


def _mirrored(problem: Problem) -> Problem:
    """The same network on the data with mirror images added; of very many samples some stand for all."""
    data = part_of(problem, MANY).data
    return Problem(data.symmetrised(), problem.network, problem.weights, problem.loss, problem.l2)


def time_scale(problem: Problem) -> float:
    """The time in which small weights grow to size one: 2 ln(1/size) / rate, with the pull of all samples as the rate.

    Where that nearly cancels, as in XOR, the strongest pull of the samples that a starting neuron sees is the rate, and failing that
    their mean pull.
    """
    pull = problem.loss.pull(problem.y, np.zeros_like(problem.y))
    pulls = pull[:, None] * problem.data.x
    aligned = float(np.linalg.norm(pulls.mean(axis=0)))
    some = slice(None, None, max(1, len(pulls) // MANY))
    active = problem.network.seen(problem.data.x[some]) @ problem.weights[0].T > 0.0
    steepest = float(np.linalg.norm(active.T @ pulls[some], axis=1).max()) / len(active)
    spread = float(np.mean(np.linalg.norm(pulls, axis=1)))
    rate = aligned if aligned > CANCELLED * steepest else steepest
    if rate <= NO_CORRELATION * spread:
        rate = spread or 1.0
    size = max(float(np.linalg.norm(layer)) for layer in problem.weights)
    return 2.0 * max(1.0, float(np.log(1.0 / size)) if size else 1.0) / rate


def first_drop(run: Trajectory, fall_to: float | None = None) -> float | None:
    """When half of the fall from the first loss to `fall_to` (or to the last loss) is done; None if it never is."""
    target = float(run.loss[-1]) if fall_to is None else fall_to
    if run.loss[0] - target <= NO_FALL * run.loss[0]:
        return None
    return crossing(run, (float(run.loss[0]) + target) / 2)


def time_over(run: Trajectory, ending: float | None = None) -> float:
    """When `OVER` of the fall from the first loss to `ending` (or to the last loss) is done; the last time if it never is."""
    target = float(run.loss[-1]) if ending is None else ending
    reached = crossing(run, float(run.loss[0]) - OVER * (float(run.loss[0]) - target))
    return float(run.times[-1]) if reached is None or reached == 0.0 else reached


def crossing(run: Trajectory, level: float) -> float | None:
    """The time at which the loss falls to `level`; None if it never does, or was there from the first."""
    reached = time_to_loss(run, level)
    return reached if run.loss[0] > level and np.isfinite(reached) else None


def _grid(last: float) -> Array:
    return np.linspace(0.0, last, POINTS)


def _is_over(prediction: Prediction, ending: float | None) -> bool:
    """The loss has done its fall to `ending`; where that is unknown: it has fallen, and moves no more in the last quarter."""
    fallen = float(prediction.loss[0] - prediction.loss[-1])
    if ending is not None:
        return fallen >= OVER * float(prediction.loss[0] - ending)
    lately = float(prediction.loss[3 * POINTS // 4] - prediction.loss[-1])
    return fallen > NO_LOSS * float(prediction.loss[0]) and lately <= (1 - OVER) * fallen


def _final_rank(prediction: Prediction) -> float | None:
    """The stable rank of the first layer at the last time, from the small equivalent network where there is one."""
    if prediction.small is None and not prediction.weights:
        return None
    first = prediction.weights[0][-1] if prediction.small is None else prediction.small.first[-1]
    return stable_rank_of(first) if first.any() else None
