"""The loss and its descent direction in JAX, double precision, for diffrax and for plain gradient descent."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

import rectilinear as rl

jax.config.update("jax_enable_x64", True)

Loss = Callable[[tuple[jax.Array, jax.Array]], jax.Array]


def make_loss(problem: rl.Problem) -> Loss:
    """<l(y, f)> of two-layer weights, as a JAX user would write it."""
    x, y, alpha = jnp.asarray(problem.x), jnp.asarray(problem.y), problem.network.alpha

    def loss(weights: tuple[jax.Array, jax.Array]) -> jax.Array:
        first, second = weights
        z = x @ first.T
        f = (jax.nn.relu(z) if alpha == 0.0 else jnp.where(z > 0, z, alpha * z)) @ second[0]
        if problem.loss.name == "square":
            return 0.5 * jnp.mean((y - f) ** 2)
        return jnp.mean(jnp.logaddexp(0.0, -y * f))

    return loss


def start_of(problem: rl.Problem) -> tuple[jax.Array, jax.Array]:
    """The starting weights as JAX arrays."""
    first, second = problem.weights
    return jnp.asarray(first), jnp.asarray(second)
