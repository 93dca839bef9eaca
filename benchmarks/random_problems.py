"""Small random problems without any symmetry, most of which slide on kinks."""

from __future__ import annotations

import numpy as np

import rectilinear as rl

ALPHAS = (0.0, 0.2)
LOSSES = ("square", "logistic")
SCALES = (1.0, 0.1, 1e-3)


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
