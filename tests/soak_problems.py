"""Random two-layer problems from a wide world: sizes, losses, slopes, scales, starts, and data that are degenerate in many ways."""

from typing import Any

import numpy as np

from rectilinear import Dataset, Network, Problem

KINDS = ("gauss", "lattice", "copies", "mirrored", "collinear", "near", "subspace", "norms", "sparse")
LABELS = ("signs", "gauss", "zeros", "big", "small", "integer", "constant")


def inputs(rng: np.random.Generator, kind: str, n: int, d: int) -> Any:
    x = rng.standard_normal((n, d))
    few = x[rng.integers(0, max(1, n // 3), n)]
    made = {
        "gauss": x,
        "lattice": rng.integers(-2, 3, (n, d)).astype(float),
        "copies": few,
        "mirrored": np.concatenate([x, -x])[:: 2 if n > 1 else 1],
        "collinear": few * rng.choice([-2.0, -1.0, 0.5, 3.0], n)[:, None],
        "near": few + 10.0 ** rng.choice([-12, -11, -10, -9, -7]) * x,
        "subspace": x[:, : max(1, d // 2)] @ rng.standard_normal((max(1, d // 2), d)),
        "norms": x * 10.0 ** rng.uniform(-3, 3, (n, 1)),
        "sparse": x * (rng.random((n, d)) < 0.4),
    }[kind][:n]
    made[~made.any(axis=1)] = np.eye(d)[0]
    return made


def soak_problem(seed: int, largest: int) -> tuple[Problem, Any]:
    """A problem with up to `largest` samples and neurons, and times at which to look at it."""
    rng = np.random.default_rng(seed)
    n, h = (int(np.round(np.exp(rng.uniform(0, np.log(largest))))) for _ in range(2))
    d = int(rng.integers(1, 9))
    x = inputs(rng, str(rng.choice(KINDS)), n, d)
    n = len(x)
    loss = str(rng.choice(["square", "logistic", "exponential"], p=[0.6, 0.25, 0.15]))
    y = rng.choice([-1.0, 1.0], n)
    if loss == "square":
        plain = rng.standard_normal(n)
        y = {"signs": y, "gauss": plain, "zeros": plain * (rng.random(n) < 0.5), "big": 1e6 * plain, "small": 1e-6 * plain,
             "integer": rng.integers(-2, 3, n).astype(float), "constant": np.ones(n)}[str(rng.choice(LABELS))]  # fmt: skip
    start = str(rng.choice(["gaussian", "balanced", "rank_one", "antisymmetric"], p=[0.6, 0.2, 0.1, 0.1]))
    net = Network(
        inputs=d, widths=(h + h % 2,), alpha=float(rng.choice([0.0, 0.01, 0.2, 0.9, 1.0], p=[0.5, 0.1, 0.2, 0.1, 0.1]))
    )
    weights = net.init(scale=float(10.0 ** rng.choice([-12, -8, -4, -2, -1, 0])), seed=seed, start=start)  # type: ignore[arg-type]
    own_time = max(float(np.mean(np.abs(y) * np.linalg.norm(x, axis=1))), 1e-3)
    last = min(1e4, float(10.0 ** rng.uniform(-1, 3)) / own_time)
    return Problem(Dataset(x, y), net, weights, loss=loss), last * np.array([0.0, 0.01, 0.3, 0.7, 1.0])
