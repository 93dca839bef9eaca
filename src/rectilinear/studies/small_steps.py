"""Gradient descent tends to the flow as its step goes to zero: with which order?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..datasets import nearly_orthogonal, orthogonally_separable
from ..flow import descend, simulate
from ..plots import style
from ..problem import Problem
from .problems import fixed_layer_problem, trained_problem
from .study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure


RATES: Array = np.asarray(0.04 / 2.0 ** np.arange(6))
END = 20.0  # time


def small_steps(rates: Array = RATES) -> Study:
    """|theta| of descent minus that of the flow at one time, against the step."""
    near = nearly_orthogonal(8, 60, constant=2.0)
    problems = {
        "fixed second layer, leaky 0.1": fixed_layer_problem(near, 0.1, 8),
        "fixed second layer, ReLU": fixed_layer_problem(near, 0.0, 8),
        "both layers, orthogonally separable": trained_problem(orthogonally_separable(12, 4), 20, 0.1, 0),
    }
    errors = np.array([_errors(problem, rates) for problem in problems.values()])
    orders = np.array([np.polyfit(np.log(rates), np.log(row), 1)[0] for row in errors])
    listed = ", ".join(f"{order:.2f} ({name})" for name, order in zip(problems, orders, strict=True))
    finding = (
        f"Between steps of {rates.max():g} and {rates.min():g} the relative error of gradient descent at t = {END:g} falls with the "
        f"step to the power of {listed} (fitted); it is at most {errors[:, -1].max():.0e} at the smallest. Theory says one for smooth "
        "flows; kinks that are crossed or hold neurons do not spoil it."
    )
    return Study(
        name="small_steps",
        question="Does gradient descent tend to gradient flow as the step goes to zero?",
        source="Kou, Chen & Gu 2023 treat descent, Phuong & Lampert 2021 the flow",
        finding=finding,
        numbers={"rate": (("rate",), rates), "error": (("problem", "rate"), errors), "order": (("problem",), orders)},
        draw=partial(_draw, rates, list(problems), errors),
    )


def _errors(problem: Problem, rates: Array) -> list[float]:
    """Relative errors of the first layer."""
    exact = simulate(problem, [END]).final[0]
    ends = [descend(problem, float(rate), round(END / rate), record_every=round(END / rate)).final[0] for rate in rates]
    return [float(np.linalg.norm(end - exact) / np.linalg.norm(exact)) for end in ends]


@style.paper
def _draw(rates: Array, labels: list[str], errors: Array) -> Figure:
    figure, (ax,) = style.panels(6.6, 3.0)
    for k, label in enumerate(labels):
        ax.loglog(rates, errors[k], "o-", markersize=3, color=style.colour(k), label=label)
    ax.loglog(rates, errors.max() * rates / rates.max(), **style.PREDICTION, label="order one")
    ax.set_xticks(rates, [f"{rate:g}" for rate in rates])  # those of half a decade would lie over each other
    ax.xaxis.minorticks_off()
    ax.set(xlabel="step", ylabel="relative error at one time")
    style.legend_beside(ax)
    return figure
