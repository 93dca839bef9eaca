"""Random problems without any symmetry: small ones, most of which slide on kinks, and ones of ordinary size."""

from __future__ import annotations

import numpy as np

import rectilinear as rl

ALPHAS = (0.0, 0.2)
LOSSES = ("square", "logistic")
SCALES = (1.0, 0.1, 1e-3)
DEEP_SCALES = (1.0, 0.7, 0.4)
KINDS = ("gauss", "correlated", "heavy tails", "zeros and ones", "integers", "shared lines", "subspace")


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


def random_ordinary_problem(seed: int) -> rl.Problem:
    """50 to 500 samples of seven kinds, 2 to 50 inputs, 5 to 200 neurons, three losses, slopes 0 to 0.9, some with decay or biases.

    >>> random_ordinary_problem(3)
    Problem: leaky ReLU (alpha 0.772461) 4-96-1 on data (56 samples), square loss
    """
    rng = np.random.default_rng(seed)
    samples, inputs, neurons = (
        int(np.exp(rng.uniform(np.log(low), np.log(high + 1)))) for low, high in ((50, 500), (2, 50), (5, 200))
    )
    x = _inputs(rng, KINDS[seed % len(KINDS)], samples, inputs) / np.sqrt(inputs)
    x = x[np.any(x != 0.0, axis=1)]
    y = np.tanh(x @ rng.standard_normal(inputs)) + 0.3 * rng.standard_normal(len(x))
    loss = str(rng.choice(["square", "logistic", "exponential"], p=[0.5, 0.3, 0.2]))
    alpha = float(rng.choice([0.0, rng.uniform(0.0, 0.9)]))
    network = rl.Network(inputs, (neurons,), alpha=alpha, bias=bool(rng.random() < 0.2))
    data = rl.Dataset(x, y if loss == "square" else np.where(y > 0.0, 1.0, -1.0))
    l2 = float(rng.choice([0.0, 10.0 ** rng.uniform(-4.0, -1.0)], p=[0.8, 0.2]))
    return rl.Problem(data, network, network.init(float(rng.choice([1.0, 0.1, 1e-3])), seed), loss=loss, l2=l2)


def _inputs(rng: np.random.Generator, kind: str, samples: int, inputs: int) -> np.ndarray:
    x = rng.standard_normal((samples, inputs))
    few = max(1, inputs // 2)
    if kind == "correlated":
        return x @ (np.eye(inputs) + 0.5 * rng.standard_normal((inputs, inputs)) / np.sqrt(inputs)) + 0.5
    if kind == "heavy tails":
        return rng.standard_t(3.0, (samples, inputs))
    if kind == "zeros and ones":
        return rng.integers(0, 2, (samples, inputs)).astype(float)
    if kind == "integers":
        return rng.integers(-5, 6, (samples, inputs)).astype(float)
    if kind == "shared lines":
        return x[rng.integers(0, samples // 2, samples)] * rng.choice([-1.5, 0.5, 1.0, 2.0], samples)[:, None]
    if kind == "subspace":
        return x[:, :few] @ rng.standard_normal((few, inputs)) / np.sqrt(few)
    return x
