"""Hypotheses on what small weights grow into: which signs grow, which classes neurons join, who survives small."""

from __future__ import annotations

import numpy as np

from ..errors import FlowError, HypothesisError
from ..problem import Problem
from ..reduced.aligned_flow import growing_part
from ..reduced.class_limit import neuron_classes
from ..reduced.linear_loss import best_linear_map
from ..reduced.rise import rise_of
from .finding import Direction, Finding, measured_finding, undecided

MOST_WORK = 200_000  # lines times neurons that are followed one by one; a minute or so


def both_signs_grow(problem: Problem) -> Finding:
    """Neurons of both signs grow: a group of one sign is silent on a half-space. `measured` is the smaller share of |r1|^2.

    A linear network (alpha = 1) has no silent side and needs one sign only.
    """
    if problem.network.layers != 2 or problem.network.bias:
        sentence = f"it is defined for two layers without bias, found {problem.network}."
        return measured_finding("both_signs_grow", 0.0, 0.0, sentence, direction="above")
    squares = growing_part(problem)[0]
    squares = squares * np.abs(squares)
    smaller = float(min(squares[squares > 0].sum(), -squares[squares < 0].sum()) / (np.abs(squares).sum() or 1.0))
    sentence = f"neurons of the weaker sign have {smaller:.3g} of the growing weights; some are required."
    direction: Direction = "at_least" if problem.network.alpha == 1.0 else "above"
    return measured_finding("both_signs_grow", smaller, 0.0, sentence, direction=direction)


def neurons_for_both(problem: Problem) -> Finding:
    """A neuron that joins each class; `measured` is how many join the class with fewer."""
    classes = neuron_classes(problem)
    fewer = int(min(np.sum(classes > 0), np.sum(classes < 0)))
    sentence = f"{fewer} neuron(s) join the class with fewer of them; at least one is required."
    return measured_finding("neurons_for_both", fewer, 1.0, sentence, direction="at_least")


def fixed_halves(problem: Problem) -> Finding:
    """No sample lies between beta and the best linear fit w, so that the large groups need not turn across a kink.

    `measured` is minus the smallest (beta . x)(w . x) / (|beta||w||x|^2); at most 0 is required.
    """
    data, fit = problem.data, best_linear_map(problem.data)
    scale = np.linalg.norm(fit) * np.linalg.norm(data.correlation) * np.sum(data.x**2, axis=1)
    if not scale.all():
        return measured_finding("fixed_halves", np.inf, 0.0, "the best linear fit is zero, so there is no rise.")
    cosines = (data.x @ fit) * (data.x @ data.correlation) / scale
    worst = int(np.argmin(cosines))
    sentence = (
        "every sample is on the same side of beta and of the best linear fit."
        if cosines[worst] >= 0
        else f"sample {worst} changes sides between beta and the best linear fit."
    )
    return measured_finding("fixed_halves", -float(cosines[worst]), 0.0, sentence, (worst,))


def held_survivors(problem: Problem) -> Finding:
    """Every survivor lies on d - 1 independent kinks, so that it cannot turn; `measured` is the largest number that lack."""
    work = len(problem.data.lines) * problem.network.widths[0]
    if work > MOST_WORK:
        sentence = f"undecided: {work} pairs of lines and neurons are too many to follow ({MOST_WORK} at most)."
        return undecided("held_survivors", 0.0, sentence)
    try:
        rise = rise_of(problem)
    except (FlowError, HypothesisError) as error:
        return measured_finding("held_survivors", np.nan, 0.0, str(error))
    room = rise.turning_room(problem.data.lines.normals)
    found = f"{(rise.survivors.shares > 0).sum()} neurons survive small"
    sentence = f"{found}, each held by kinks." if room == 0 else f"{found}, and some can turn in {room} dimension(s)."
    return measured_finding("held_survivors", float(room), 0.0, sentence)
