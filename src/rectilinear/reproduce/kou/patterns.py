"""Activation patterns, and the decomposition of weights into samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...measures.coefficients import decomposition, last_switch
from ...plots import style
from ...reduced.frozen_limit import patterns
from ...trajectory import Trajectory
from ..claim import Claim, Evidence, Form, Measurement, Picture, Verdict, at_most
from ..papers import KOU
from .networks import KINDS, LEAK, SETTINGS, balance, descent, long_run, own_class

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check_patterns(full: bool) -> Evidence:
    measurements: list[Measurement] = []
    for kind in KINDS:
        leaky = descent(kind, LEAK)
        measurements.append(at_most(f"leaky ReLU, {kind}: last step at which a neuron switches", last_switch(leaky), 20))
    near = descent("nearly orthogonal", 0.0)
    measurements += [
        at_most("ReLU, orthogonal: last step at which a neuron switches", last_switch(descent("orthogonal", 0.0)), 20),
        at_most("ReLU, nearly orthogonal: the same (of 1500)", last_switch(near), 20),
        at_most("ReLU, nearly orthogonal: active pairs of one class that fall silent", _lost(near), 0, Form.CORRECTED),
        at_most(
            "leaky ReLU: pairs off the class pattern at the end", _off_class(descent(KINDS[1], LEAK)), 0, Form.CORRECTED
        ),
    ]
    return Evidence(
        measurements=tuple(measurements),
        settings={**SETTINGS, "learning rate": "5 and 0.5", "steps": 1500},
        pictures=(Picture("kou_patterns", PATTERN_CAPTION, _draw_switches()),),
        remark="Leaky ReLU and exactly orthogonal data settle within a few steps. ReLU neurons on nearly orthogonal data do not: "
        "those at a sample of the other class are pushed back and forth across its kink, now and then to the end, where gradient flow "
        "would hold them on it. What the proofs need is true: a neuron once active on a sample of its own class stays so.",
    )


def _lost(run: Trajectory) -> int:
    """How often a neuron that was active on a sample of its own class is not at the next step."""
    active = np.array([patterns(run.weights_at(k), run.problem.x) > 0 for k in range(len(run))])
    return int(np.sum(active[:-1] & ~active[1:] & own_class(run)))


def _off_class(run: Trajectory) -> int:
    return int(np.sum((patterns(run.final, run.problem.x) > 0) != own_class(run)))


PATTERN_CAPTION = (
    "Pairs of neuron and sample that change sides from one step of gradient descent to the next. Leaky ReLU stops at once; ReLU on "
    "nearly orthogonal data switches now and then to the end."
)


@style.paper
def _draw_switches() -> Figure:
    figure, (ax,) = style.panels(5.6, 2.8)
    for k, (name, alpha) in enumerate((("leaky ReLU", LEAK), ("ReLU", 0.0))):
        run = descent("nearly orthogonal", alpha)
        sides = np.array([patterns(run.weights_at(step), run.problem.x) > 0 for step in range(len(run))])
        flips = np.sum(sides[1:] != sides[:-1], axis=(1, 2))
        steps = np.flatnonzero(flips)
        ax.plot(steps + 1, flips[steps], color=style.colour(k), linestyle="", marker="o", markersize=5 - 2 * k, label=name)
    ax.set(xlabel="step of gradient descent", ylabel="pairs that switch", xscale="log", yscale="log", xlim=(0.8, 2000.0))
    style.legend_beside(ax)
    return figure


def check_decomposition(full: bool) -> Evidence:
    measurements: list[Measurement] = []
    for kind in KINDS:
        for name, alpha in (("leaky ReLU", LEAK), ("ReLU", 0.0)):
            run = long_run(kind, alpha)
            found = decomposition(run)
            own = own_class(run)
            wrong = max(np.max(-found.rho[:, own]), np.max(found.rho[:, ~own])) / np.abs(found.rho).max()
            measurements += [
                at_most(f"{name}, {kind}: weights outside the span of samples and start", found.residual.max(), 1e-10),
                at_most(f"{name}, {kind}: coefficients of the wrong sign, largest, relative", wrong, 1e-10),
                at_most(
                    f"{name}, {kind}: largest over smallest coefficient of a sample, t > 10", balance(run)[1:].max(), 3.0
                ),
            ]
    return Evidence(measurements=tuple(measurements), settings=SETTINGS)


CLAIMS = (
    Claim(
        name="kou_patterns",
        title="Activation patterns settle",
        paper=KOU,
        source="Proof of the main result, on activation patterns",
        statement="Activation patterns are stable after finite time for both activation functions.",
        recorded=Verdict.CORRECTED,
        check=check_patterns,
    ),
    Claim(
        name="kou_decomposition",
        title="Weights as combinations of samples, automatically balanced",
        paper=KOU,
        source="Data-correlated decomposition; automatic balance",
        statement="w(t) = w(0) + Σ ρᵢ xᵢ/|xᵢ|² with ρ ≥ 0 for samples of the neuron's class and ≤ 0 for the others, and the "
        "coefficients of different samples keep bounded ratios.",
        recorded=Verdict.CONFIRMED,
        check=check_decomposition,
    ),
)
