"""One neuron without a kink on one sample: the oldest exact course of learning (Saxe, McClelland and Ganguli 2014)."""

import numpy as np

import rectilinear as rl
from rectilinear.conditions import balanced_start, no_decay, square_loss, true_or_not
from rectilinear.measures.calling import measure
from rectilinear.reproduce import Claim, Evidence, Paper, Verdict
from rectilinear.reproduce.claim import at_most
from rectilinear.theorems import Solution, Theorem


def one_point(x=1.0, y=1.0):
    """One sample on a line."""
    return rl.Dataset([[x]], [y], name="one_point")


@measure
def slope(network, weights):
    """s = a w, the slope of a line that the network computes if alpha = 1 and it has one input."""
    return float((weights[1] @ weights[0])[0, 0])


def _single(problem):
    network = problem.network
    single = (network.inputs, network.widths, network.alpha, problem.data.samples) == (1, (1,), 1.0, 1)
    return true_or_not("single_line", single, f"{network} on {problem.data.samples} samples.")


def _rising(problem):
    holds = bool(problem.data.x.sum() * problem.data.y.sum() > 0 and problem.weights[0].sum() * problem.weights[1].sum() > 0)
    return true_or_not("rising_start", holds, "the product a w and the sample's y / x must both be positive.")


def _hypotheses(problem):
    return [_single(problem), _rising(problem), balanced_start(problem), square_loss(problem), no_decay(problem)]


def _solve(problem, times):
    """s(t) = s* / (1 + (s*/s(0) - 1) e^{-2xyt}), s* = y/x: the solution of ds/dt = 2 s x (y - s x)."""
    x, y = problem.data.x[0, 0], problem.data.y[0]
    first = slope(problem.network, problem.weights)
    s = (y / x) / (1 + (y / x / first - 1) * np.exp(-2 * x * y * times))
    return Solution(loss=(y - s * x) ** 2 / 2, linear_map=s[:, None])


ONE_LINE = Theorem(
    name="one_line",
    title="One linear neuron on one sample learns along a logistic curve",
    source="Saxe, McClelland and Ganguli, Section 1.2",
    strength=1000,
    hypotheses=_hypotheses,
    breaks={
        "single_line": "several modes compete, or kinks bend the course",
        "rising_start": "the weights pass the saddle at zero, or stay there",
        "balanced_start": "the speed is no function of a w alone",
        "square_loss": "the pull is not linear",
        "no_decay": "the decay pulls too",
    },
    solve=_solve,
    essential=("single_line",),
)

SAXE = Paper(
    "Saxe, McClelland and Ganguli",
    "Exact solutions to the nonlinear dynamics of learning in deep linear neural networks",
    "A. M. Saxe, J. L. McClelland and S. Ganguli, ICLR 2014, arXiv:1312.6120.",
    "https://arxiv.org/abs/1312.6120",
)


def _check(full):
    network = rl.Network(inputs=1, widths=(1,), alpha=1.0)
    problem = rl.Problem(one_point(2.0, 3.0), network, ([[0.01]], [[0.01]]))
    times = np.linspace(0.0, 2.0, 21)
    told, run = rl.predict(problem, times, theorem="one_line"), rl.simulate(problem, times)
    return Evidence(measurements=(at_most("largest error of the loss", np.abs(told.loss - run.loss).max(), 1e-6),))


CLAIM = Claim(
    "one_line_course",
    "One linear neuron learns along a logistic curve",
    "saxe",
    "Section 1.2",
    "The product of two balanced weights follows a logistic curve from its start to y / x.",
    Verdict.CONFIRMED,
    _check,
)
