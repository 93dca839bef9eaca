"""Full-batch gradient descent: the discrete twin of the flow."""

from __future__ import annotations

import time
from functools import partial

import numpy as np

from ..errors import InputError, is_number
from ..problem import Problem, require_problem
from ..progress import Wanted, shows_progress
from ..trajectory import Status, Trajectory
from .audit import audit_run
from .budgets import Watch, provenance
from .choose import largest_product
from .deadline import interrupts_held, look_at_clock
from .field import field_for_few
from .field.two_layer import TwoLayerField
from .first_use import prepare
from .state import flatten, unflatten
from .threads import blas_threads


@shows_progress
def descend(
    problem: Problem,
    learning_rate: float,
    steps: int,
    record_every: int = 1,
    *,
    max_seconds: float | None = None,
    progress: Wanted = None,
) -> Trajectory:
    """W <- W - learning_rate grad L, `steps` times; weights are kept every `record_every` steps, at times learning_rate * step.

    >>> import rectilinear as rl
    >>> net = rl.Network(inputs=2, widths=(20,))
    >>> problem = rl.Problem(rl.datasets.xor(), net, net.init(scale=0.5, seed=0))
    >>> run = descend(problem, learning_rate=0.1, steps=500, record_every=100)
    >>> run.times.tolist()
    [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]
    """
    require_problem("descend", problem)
    if not is_number(learning_rate) or not np.isfinite(learning_rate) or learning_rate <= 0:
        raise InputError(f"learning_rate must be a positive number, found {learning_rate!r}.")
    for name, value in (("steps", steps), ("record_every", record_every)):
        if not isinstance(value, (int, np.integer)) or value < 1:
            raise InputError(f"{name} must be a positive whole number, found {value!r}.")
    field = field_for_few(problem)
    if isinstance(field, TwoLayerField):
        prepare("descend")
    theta, velocity = flatten(problem.weights), np.empty(sum(w.size for w in problem.weights))
    kept, loss, times = [theta.copy()], [field.losses(theta[None])[0]], [0.0]
    status = Status.FINISHED
    watch = Watch(None, max_seconds, progress)
    done = 0

    def keep() -> bool:
        """Keep the weights as they are now; False if they are no longer numbers."""
        value = field.losses(theta[None])[0]
        if not np.isfinite(value) or not np.isfinite(theta).all():
            return False
        kept.append(theta.copy())
        loss.append(value)
        times.append(done * learning_rate)
        return True

    # a learning rate that is too large ends in DIVERGED, said plainly
    with interrupts_held(), blas_threads(largest_product(problem, "smooth")), np.errstate(over="ignore", invalid="ignore"):
        try:
            for done in range(1, steps + 1):
                field.velocity(theta, velocity)
                theta += learning_rate * velocity
                stop = watch.over_budget(done / steps, partial("step {:d}".format, done))
                if (done % record_every == 0 or stop) and not keep():
                    stop = Status.DIVERGED
                if stop:
                    status = stop
                    break
                look_at_clock()
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
            if done * learning_rate > times[-1]:
                keep()
    weights = unflatten(np.array(kept), problem.network.shapes)
    saved, losses = np.array(times), np.array(loss)
    return Trajectory(
        problem=problem,
        times=saved,
        loss=losses,
        weights=weights,
        status=status,
        audit=audit_run(problem, saved, losses, weights, None),
        statistics={"steps": done, "gradients": done, "seconds": time.perf_counter() - watch.began},
        provenance=provenance("gradient descent", learning_rate=float(learning_rate)),
    )
