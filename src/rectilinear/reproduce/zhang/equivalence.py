"""Theorem 5 (v3: Theorem 8): on symmetric data an aligned two-layer network is a linear one in slower time."""

from __future__ import annotations

import numpy as np

from ... import datasets
from ...flow import descend
from ...network import Network
from ...problem import Problem
from ...theorems.symmetric import linear_twin
from ...trajectory import Trajectory
from ..claim import Claim, Evidence, Verdict, at_most
from ..papers import ZHANG

STEPS, RATE = 300, 0.05


def weights_apart(run: Trajectory, twin: Trajectory, c: float) -> float:
    """Largest |sqrt(c) W - W_lin| over all entries and saved times, relative to the largest |W_lin|."""
    apart = max(np.abs(np.sqrt(c) * w - v).max() for w, v in zip(run.weights, twin.weights, strict=True))
    return float(apart / max(np.abs(v).max() for v in twin.weights))


def check_descent(full: bool) -> Evidence:
    data = datasets.sine_teacher(inputs=20, pairs=1000 if full else 100)
    labelled = datasets.orthogonally_separable(samples=60, inputs=8).symmetrised()
    found = []
    for loss, set_ in (("square", data), ("logistic", labelled)):
        for alpha in (0.0, 0.3, 0.7):
            network = Network(set_.inputs, (100,), alpha)
            problem = Problem(set_, network, network.init(0.1, seed=1, start="rank_one"), loss)
            c = (1.0 + alpha) / 2.0
            run = descend(problem, RATE, STEPS, record_every=30)
            twin = descend(linear_twin(problem), c * RATE, STEPS, record_every=30)
            found.append(
                at_most(
                    f"{loss} loss, α = {alpha:g}: largest relative error of the weights", weights_apart(run, twin, c), 1e-12
                )
            )
    return Evidence(
        measurements=tuple(found),
        settings={"samples": data.samples, "width": 100, "scale": 0.1, "steps": STEPS, "learning rate": RATE, "seed": 1},
        remark="Exact step by step, not only in the limit of small steps: what is left is rounding.",
    )


CLAIMS = (
    Claim(
        name="gradient_descent",
        title="Gradient descent obeys the equivalence exactly",
        paper=ZHANG,
        source="Theorem 5 (v3: Theorem 8), for steps instead of flow",
        statement="From aligned weights (Assumption 4), k steps of gradient descent with learning rate η on a (leaky) ReLU "
        "network are k steps with rate (α+1)η/2 on the linear network, weights divided by √((α+1)/2).",
        recorded=Verdict.CONFIRMED,
        check=check_descent,
    ),
)
