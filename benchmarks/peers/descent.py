"""Full-batch gradient descent as users of torch and JAX write it."""

from __future__ import annotations

import time
from collections.abc import Callable

import jax
import numpy as np
import torch

import rectilinear as rl

from ..attempts import REPEATS, WORTH_REPEATING, Array
from .jax_field import Layers, make_loss, start_of


def torch_descent(
    problem: rl.Problem, learning_rate: float, steps: int, dtype: torch.dtype = torch.float64
) -> tuple[Array, float]:
    """Flat weights after `steps` steps of torch.optim.SGD on the whole of the data, and the seconds of a step."""

    def run() -> tuple[Array, float]:
        weights, loss = torch_loss(problem, dtype)
        optimiser = torch.optim.SGD(weights, lr=learning_rate)
        began = time.perf_counter()
        for _ in range(steps):
            optimiser.zero_grad()
            loss().backward()
            optimiser.step()
        seconds = time.perf_counter() - began
        return np.concatenate([layer.detach().numpy().ravel() for layer in weights]), seconds / steps

    return min((run() for _ in range(REPEATS)), key=lambda result: result[1])


def torch_loss(problem: rl.Problem, dtype: torch.dtype) -> tuple[list[torch.Tensor], Callable[[], torch.Tensor]]:
    """Trainable starting weights, and the loss of the ReLU network with them."""
    x, y = torch.tensor(problem.x, dtype=dtype), torch.tensor(problem.y, dtype=dtype)
    first, second = (torch.tensor(layer, dtype=dtype, requires_grad=True) for layer in problem.weights)

    def loss() -> torch.Tensor:
        f = torch.relu(x @ first.T) @ second[0]
        return (
            0.5 * torch.mean((y - f) ** 2) if problem.loss.name == "square" else torch.nn.functional.softplus(-y * f).mean()
        )

    return [first, second], loss


def jax_descent(problem: rl.Problem, learning_rate: float, steps: int, saves: int = 1) -> tuple[Array, float]:
    """Flat weights (saves, size) after equal shares of `steps` steps of a compiled lax.scan, and the seconds of a step."""
    slope = jax.grad(make_loss(problem))

    def step(weights: Layers, _: None) -> tuple[Layers, None]:
        return jax.tree.map(lambda layer, change: layer - learning_rate * change, weights, slope(weights)), None

    def stretch(weights: Layers, _: None) -> tuple[Layers, Layers]:
        weights = jax.lax.scan(step, weights, length=steps // saves)[0]
        return weights, weights

    start = start_of(problem)
    run = jax.jit(lambda weights: jax.lax.scan(stretch, weights, length=saves)[1]).lower(start).compile()
    took = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        saved = jax.block_until_ready(run(start))
        took.append(time.perf_counter() - began)
        if took[-1] > WORTH_REPEATING:
            break
    return np.concatenate([np.asarray(layer).reshape(saves, -1) for layer in saved], axis=1), min(took) / steps
