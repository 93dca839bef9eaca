"""resume: one run from two."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..errors import InputError, require_kind
from ..trajectory import Trajectory, check_times
from .audit import audit_joined
from .budgets import counted_together
from .simulate import simulate


def resume(run: Trajectory, times: ArrayLike, **options: Any) -> Trajectory:
    """Go on with a run, interrupted or not, to later `times`; `options` are those of `simulate`.

    Neurons that were held on kinks are on them still, to rounding, and are held again. The result is one run from t = 0. To what its later
    part is estimated to be off by, what the first part was is added as it was: what the flow makes of that afterwards is not followed.

    >>> import rectilinear as rl
    >>> net = rl.Network(inputs=2, widths=(5,))
    >>> problem = rl.Problem(rl.datasets.six_points(), net, net.init(scale=0.1, seed=0))
    >>> run = resume(simulate(problem, times=[0.0, 5.0]), times=[10.0])
    >>> run.times.tolist()
    [0.0, 5.0, 10.0]
    """
    require_kind("resume", run, Trajectory, "simulate and descend return")
    asked = check_times(times)
    if not len(run) or asked[0] <= run.times[-1]:
        last = run.times[-1] if len(run) else 0.0
        raise InputError(f"times to resume at must lie after the run's last one, {last:g}, found {asked[0]:g}.")
    problem, before = run.problem, run.times[-1]
    more = simulate(problem.with_weights(run.final), asked - before, **options)
    joined = tuple(np.concatenate([old, new]) for old, new in zip(run.weights, more.weights, strict=True))
    later = more.times + before
    later[: len(asked)] = np.where(more.times == asked[: len(later)] - before, asked[: len(later)], later[: len(asked)])
    all_times, loss = np.concatenate([run.times, later]), np.concatenate([run.loss, more.loss])
    events = run.events.followed_by(more.events, before) if run.events is not None and more.events is not None else None
    whole = replace(
        more,
        problem=problem,
        times=all_times,
        loss=loss,
        weights=joined,
        statistics=counted_together(run.statistics, more.statistics),
        events=events,
        group_counts=_joined_counts(run.group_counts, more.group_counts, before),
    )
    return replace(whole, audit=audit_joined(whole, run.audit, more.audit, resumed=len(run)))


def _joined_counts(first: Array | None, second: Array | None, shift: float) -> Array | None:
    if first is None or second is None:
        return None
    return np.concatenate([first, second + np.array([shift, 0.0])])
