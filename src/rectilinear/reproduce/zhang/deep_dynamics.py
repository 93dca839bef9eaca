"""Appendix F: what a deep network on the low-rank structure computes, how it moves, and that it stays there."""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from ... import datasets
from ...flow import simulate
from ...network import Network, Weights
from ...problem import Problem
from ...reduced.deep_scalar import layer_norm
from ...reduced.deep_structure import aligned_deep_weights, blocks, deep_structure
from ...theorems.deep_reduction import masked_velocity, structured_velocity
from ..claim import Claim, Evidence, Form, Verdict, at_least, at_most
from ..papers import ZHANG

ROUNDING = 1e-12
DEPTHS = (3, 4, 5)


def _on_structure(depth: int, alpha: float = 0.0, u: float = 0.8) -> Problem:
    data = datasets.linear_teacher(inputs=4, pairs=30, seed=depth)
    network = Network(4, (6,) * (depth - 1), alpha)
    return Problem(data, network, aligned_deep_weights(network, np.array([1.0, -0.5, 0.3, 0.8]), u, seed=depth))


def check_function(full: bool) -> Evidence:
    errors = []
    for depth in (2, *DEPTHS):
        problem = _on_structure(depth)
        structure = deep_structure(problem.weights)
        x = np.random.default_rng(0).standard_normal((50, 4))
        product = list(accumulate(problem.weights, lambda below, layer: layer @ below))[-1][0]
        output = problem.network.output(problem.weights, x)
        errors += [
            np.abs(output - x @ product / 2.0).max(),
            np.abs(output - (structure.u / np.sqrt(2.0)) ** depth * (x @ structure.r)).max(),
        ]
    return Evidence(
        measurements=(at_most("f against ½·W_L…W₁x and (u/√2)^L r·x, largest error", max(errors), ROUNDING),),
        settings={"layers": [2, *DEPTHS], "inputs": 4, "width": 6},
    )


def _relative(found: Weights, exact: Weights) -> float:
    return float(max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(found, exact, strict=True)))


def check_products(full: bool) -> Evidence:
    unmasked, masked = [], []
    for depth in DEPTHS:
        problem = _on_structure(depth)
        exact = tuple(-layer for layer in problem.gradient(problem.weights))
        masked.append(_relative(masked_velocity(problem.data, problem.weights), exact))
        unmasked.append(_relative(_printed_velocity(problem), exact))
    return Evidence(
        measurements=(
            at_most("Eq. 42 with its limits of products mended, against the gradient", max(unmasked), ROUNDING),
            at_most(
                "the same, masked to the two diagonal blocks of intermediate layers", max(masked), ROUNDING, Form.CORRECTED
            ),
        ),
        settings={"layers": list(DEPTHS), "inputs": 4, "width": 6},
        remark="Besides the mask, the last product must run to l − 1. Eqs. 43 to 45 say the same without either slip.",
    )


def _printed_velocity(problem: Problem) -> Weights:
    """Eq. 42 without its mask: every layer moved by the product of the others."""
    weights, data = problem.weights, problem.data
    above = list(accumulate(weights[:0:-1], np.matmul, initial=np.ones((1, 1))))[::-1]
    below = list(accumulate(weights, lambda product, layer: layer @ product, initial=np.eye(data.inputs)))
    error = data.correlation / 2 - below[-1][0] @ data.covariance / 4
    return tuple(up.T @ (down @ error)[None, :] for up, down in zip(above, below, strict=False))


def check_kept(full: bool) -> Evidence:
    velocities, drifts = [], []
    for depth in DEPTHS:
        problem = _on_structure(depth)
        exact = tuple(-layer for layer in problem.gradient(problem.weights))
        velocities.append(_relative(structured_velocity(problem, deep_structure(problem.weights)), exact))
        start = problem.with_weights(tuple(0.5 * layer for layer in problem.weights))
        run = simulate(start, np.linspace(0.0, 40.0, 21), rtol=1e-9)
        drifts.append(max(deep_structure(run.weights_at(k)).distance for k in range(len(run))))
    return Evidence(
        measurements=(
            at_most("Eqs. 43 to 45 against the gradient, largest relative error", max(velocities), ROUNDING),
            at_most("distance from the structure along the runs, largest", max(drifts), 1e-7),
            at_most(
                "white inputs, r along ⟨yx⟩: norm of the layers against its closed form, relative",
                max(map(_course_error, DEPTHS)),
                1e-7,
            ),
        ),
        settings={"layers": list(DEPTHS), "inputs": 4, "width": 6},
        remark="With σ′(0) = 0: other values move the empty blocks, harmlessly while the loss falls along r.",
    )


def _course_error(depth: int) -> float:
    """The layers' norm u along a run whose reduced flow v = K^{1/L} u is one number, against its closed time course."""
    data, network = datasets.sine_teacher(inputs=4, pairs=15, white=True, seed=depth), Network(4, (6,) * (depth - 1))
    start, gain = aligned_deep_weights(network, data.correlation, u=0.4, seed=depth), blocks(depth, network.alpha).gain
    run = simulate(Problem(data, network, start), np.linspace(0.0, 40.0, 21), rtol=1e-9)
    u = np.array([deep_structure(run.weights_at(k)).u for k in range(len(run))])
    pull = float(np.linalg.norm(data.correlation))
    v = layer_norm(gain ** (2 / depth) * run.times, gain ** (1 / depth) * 0.4, depth, pull, lam=1.0)
    return float(np.abs(gain ** (1 / depth) * u / v - 1.0).max())


def check_deep_equivalence(full: bool) -> Evidence:
    apart = []
    for depth in DEPTHS:
        problem = _on_structure(depth, u=0.5)
        linear = Network(4, problem.network.widths, alpha=1.0)
        twin = Problem(problem.data, linear, _linear_twin(problem))
        times = np.linspace(0.0, 60.0, 25)
        run, other = simulate(problem, times, rtol=1e-10), simulate(twin, times / 2.0, rtol=1e-10)
        apart.append(float(np.abs(run.outputs() - other.outputs()).max()))
    return Evidence(
        measurements=(
            at_least(
                "aligned weights: outputs of ReLU and deep linear network at half the time, distance", max(apart), 0.01
            ),
            at_most("the same", max(apart), 1e-6, Form.CORRECTED),
        ),
        settings={"layers": list(DEPTHS), "inputs": 4, "width": 6, "norm of the layers": 0.5},
        remark="On the structure of Eq. 40 it does extend: a deep ReLU network is, for every depth, the deep linear network at "
        "time t/2 with weights divided by √2. What fails in depth is that random weights need not come to it.",
    )


def _linear_twin(problem: Problem) -> Weights:
    """Rank-one weights of norm u/sqrt(2) along the same vectors (Eq. 39)."""
    structure = deep_structure(problem.weights)
    u = structure.u / np.sqrt(2.0)
    middle = (np.outer(above, below) for above, below in zip(structure.hidden[1:], structure.hidden[:-1], strict=True))
    first = np.outer(structure.hidden[0], structure.r)
    return tuple(u * layer for layer in (first, *middle, structure.hidden[-1][None, :]))


CLAIMS = (
    Claim(
        name="equation_41",
        title="On the structure a deep network is linear",
        paper=ZHANG,
        source="Eq. 41",
        statement="With the weights of Eq. 40 the network computes (u/√2)^L r·x = ½·W_L…W₁x.",
        recorded=Verdict.CONFIRMED,
        check=check_function,
    ),
    Claim(
        name="equation_42",
        title="The dynamics of low-rank weights as products of layers",
        paper=ZHANG,
        source="Eq. 42",
        statement="On the structure every layer moves by the product of the others with β/2 − W_L…W₁Σ/4, as in a deep linear "
        "network.",
        recorded=Verdict.CORRECTED,
        check=check_products,
    ),
    Claim(
        name="equations_43_45",
        title="Low-rank weights stay low-rank",
        paper=ZHANG,
        source="Eqs. 43 to 45, Appendix F.2 (v3: Proposition 12)",
        statement="Once formed, the structure is kept: the layers move along it, W₁ along r₁gᵀ and the others along themselves.",
        recorded=Verdict.CONFIRMED,
        check=check_kept,
    ),
    Claim(
        name="deep_equivalence",
        title="Whether the equivalence extends to deep networks",
        paper=ZHANG,
        source="Section 4.2, text",
        statement="The equivalence of Theorem 5 does not extend to deep ReLU networks.",
        recorded=Verdict.CORRECTED,
        check=check_deep_equivalence,
    ),
)
