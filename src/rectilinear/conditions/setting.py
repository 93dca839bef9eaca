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


def first_layer_only(problem: Problem) -> Finding:
    """Two layers, of which only the first is trained: the networks of Kou et al."""
    network = problem.network
    holds = network.layers == 2 and network.trainable_layers == (True, False)
    sentence = f"two layers, the second one fixed, are required; the network is {network}."
    return true_or_not("first_layer_only", holds, sentence)


def every_layer_trains(problem: Problem) -> Finding:
    """All layers train, and there is no bias: the deep networks of Zhang et al., Appendix F."""
    network = problem.network
    holds = all(network.trainable_layers) and not network.bias
    sentence = f"all layers must train, without bias; the network is {network}."
    return true_or_not("every_layer_trains", holds, sentence)


def relu(problem: Problem) -> Finding:
    """The network is a ReLU network, alpha = 0: the negative side of a neuron is silent."""
    return measured_finding(
        "relu", problem.network.alpha, 0.0, f"alpha = 0 is required; alpha is {problem.network.alpha:g}."
    )


def growing_loss(problem: Problem) -> Finding:
    """The loss is the square or the logistic loss, whose margins have closed forms."""
    holds = problem.loss.name in ("square", "logistic")
    sentence = f"the square or the logistic loss is required; the loss is {problem.loss}."
    return true_or_not("growing_loss", holds, sentence)


def falling_loss(problem: Problem) -> Finding:
    """The logistic or the exponential loss: it falls for ever on separable data."""
    sentence = f"the logistic or the exponential loss is required; the loss is {problem.loss}."
    return true_or_not("falling_loss", problem.loss.is_classification, sentence)


def lipschitz_loss(problem: Problem) -> Finding:
    """-l'(y, f) is Lipschitz in f, so that small outputs change pulls little: the square and the logistic loss."""
    holds = problem.loss.name in ("square", "logistic")
    sentence = f"a pull that is Lipschitz in the output (square or logistic loss) is required; the loss is {problem.loss}."
    return true_or_not("lipschitz_loss", holds, sentence)
