"""What a theorem assumes of the network and the objective: depth, bias, trained layers, loss, weight decay."""

from __future__ import annotations

from ..problem import Problem
from .finding import Finding, measured_finding, true_or_not


def two_layers(problem: Problem) -> Finding:
    """Two layers without bias, both trained: the networks of Zhang et al., Sections 3 and 4."""
    network = problem.network
    holds = network.layers == 2 and not network.bias and all(network.trainable_layers)
    sentence = f"two layers without bias, both trained, are required; the network is {network}."
    return true_or_not("two_layers", holds, sentence)


def square_loss(problem: Problem) -> Finding:
    """The loss is the square loss."""
    sentence = f"the square loss is required; the loss is {problem.loss}."
    return true_or_not("square_loss", problem.loss.name == "square", sentence)


def no_decay(problem: Problem) -> Finding:
    """No L2 regularisation."""
    return measured_finding("no_decay", problem.l2, 0.0, f"no weight decay is required; l2 is {problem.l2:g}.")
