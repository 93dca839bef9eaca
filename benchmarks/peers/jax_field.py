"""The loss and its descent direction in JAX, double precision, for diffrax and for plain gradient descent."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

import rectilinear as rl

jax.config.update("jax_enable_x64", True)

Layers = tuple[jax.Array, ...]
Loss = Callable[[Layers], jax.Array]


def make_loss(problem: rl.Problem) -> Loss:
    """<l(y, f)> of the weights, as a JAX user would write it."""
    x, y, alpha = jnp.asarray(problem.x), jnp.asarray(problem.y), problem.network.alpha

    def loss(weights: Layers) -> jax.Array:
        below = x
        for layer in weights[:-1]:
            z = below @ layer.T
            below = jax.nn.relu(z) if alpha == 0.0 else jnp.where(z > 0, z, alpha * z)
        f = below @ weights[-1][0]
        if problem.loss.name == "square":
            return 0.5 * jnp.mean((y - f) ** 2)
        return jnp.mean(jnp.logaddexp(0.0, -y * f))

    return loss


def start_of(problem: rl.Problem) -> Layers:
    """The starting weights as JAX arrays."""
    return tuple(jnp.asarray(layer) for layer in problem.weights)
