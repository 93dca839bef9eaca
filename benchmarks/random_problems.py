"""Small random problems without any symmetry, most of which slide on kinks."""

from __future__ import annotations

import numpy as np

import rectilinear as rl

ALPHAS = (0.0, 0.2)
LOSSES = ("square", "logistic")
SCALES = (1.0, 0.1, 1e-3)
DEEP_SCALES = (1.0, 0.7, 0.4)


def random_problem(seed: int) -> rl.Problem:
    """Gaussian inputs and labels: 4 to 30 samples, 2 to 6 inputs, 2 to 30 neurons; slope, loss and scale go round with the seed.

    >>> random_problem(3)
    Problem: leaky ReLU (alpha 0.2) 2-7-1 on data (25 samples), logistic loss
    """
    rng = np.random.default_rng(seed)
    samples, inputs, neurons = (int(rng.integers(low, high + 1)) for low, high in ((4, 30), (2, 6), (2, 30)))
    alpha, loss = ALPHAS[seed % 2], LOSSES[seed // 2 % 2]
    x, y = rng.standard_normal((samples, inputs)), rng.standard_normal(samples)
    network = rl.Network(inputs, (neurons,), alpha=alpha)
    data = rl.Dataset(x, y if loss == "square" else np.sign(y))
    return rl.Problem(data, network, network.init(SCALES[seed % 3], seed), loss=loss)


def random_deep_problem(seed: int) -> rl.Problem:
    """The same with 3 to 10 samples, 2 to 4 inputs and two or three hidden layers of 2 to 8 neurons, at scales that learn.

    >>> random_deep_problem(3)
    Problem: leaky ReLU (alpha 0.2) 2-3-3-1 on data (9 samples), logistic loss
    """
    rng = np.random.default_rng(seed)
    samples, inputs, hidden = (int(rng.integers(low, high + 1)) for low, high in ((3, 10), (2, 4), (2, 3)))
    alpha, loss = ALPHAS[seed % 2], LOSSES[seed // 2 % 2]
    x, y = rng.standard_normal((samples, inputs)), rng.standard_normal(samples)
    network = rl.Network(inputs, tuple(int(width) for width in rng.integers(2, 9, hidden)), alpha=alpha)
    data = rl.Dataset(x, y if loss == "square" else np.sign(y))
    return rl.Problem(data, network, network.init(DEEP_SCALES[seed % 3], seed), loss=loss)
