"""simulate: gradient flow of a problem at the asked times."""

from __future__ import annotations

from dataclasses import replace

from numpy.typing import ArrayLike

from ..errors import InputError
from ..problem import Problem, require_problem
from ..progress import Wanted, shows_progress
from ..trajectory import Trajectory, check_times
from .budgets import Watch
from .choose import (
    checked_rtol,
    chosen_method,
    first_engine,
    largest_product,
    made_to,
    moves_in_span,
    reason,
    too_many_kinks,
)
from .engines.fork_twins import ONLY_TELL, TIGHTER, ForkRule
from .field import field_for_few, make_field
from .long_run import simulate_long
from .repeated import decided
from .run import Record, StopRules, drive
from .span import Span
from .threads import blas_threads


@shows_progress
def simulate(
    problem: Problem,
    times: ArrayLike | None = None,
    *,
    log10_times: ArrayLike | None = None,
    until: str | None = None,
    direction_tolerance: float | None = None,
    method: str = "auto",
    early_phase: bool = True,
    rtol: float | None = None,
    max_steps: int | None = None,
    max_seconds: float | None = None,
    stop_gradient: float = 0.0,
    stop_loss: float = 0.0,
    all_events: bool = False,
    progress: Wanted = None,
) -> Trajectory:
    """Solve dW/dt = -grad L from the problem's weights and return the run at `times` (t = 0 is the start).

    The run ends early, with what there is and the reason, when |grad L| < `stop_gradient`, the loss < `stop_loss`, a budget of
    steps or seconds is used up, or the user interrupts; the state at that moment is then the last one kept.
    `progress=True` shows a bar; a function `progress(fraction, note)` is called ten times a second.
    Of more than a million events of followed neurons, crossings are counted but only the last of every neuron are listed, unless
    `all_events` are asked for (56 bytes each).

    `method` is, in two layers, "kinks" (the whole network stops at every kink), "follow" (every neuron is followed by itself, for
    ordinary data), "plain" (steps of order 5 that leave all kinks to the error control, for loose tolerances), "smooth" (explicit steps
    of order 8; sliding is followed exactly) or "auto", the one that costs least; for three layers and more "kinks", "impulses" (all
    kinks met in a step are accounted for at its end), "plain", "smooth" or "auto": kinks below an `rtol` of 3e-7, impulses below 1e-3,
    else plain steps. In two layers
    kinks, smooth and, from an `rtol` of 3e-3 down, plain are preceded by the exact early phase,
    unless `early_phase` is False, while outputs are below a tenth of `rtol` of the labels. `rtol` is 1e-9 by default, 1e-6 where
    neurons are followed by themselves (1e-8 below 2,000 samples times neurons, or 100 of both; 1e-9 where all samples have mirror
    images), and 1e-4 for three layers and more
    with over 1000 kinks (samples times hidden neurons). Followed runs asked for 1e-4 or less are made to 1e-6 at least, which hardly
    takes longer; one that passed forks of the flow nearer than its tolerance is made once more, up to them with a thirtieth of it, unless
    budgets leave too little. The card says so.

    Classification (logistic or exponential loss, two layers) goes far beyond the range of floating-point numbers: instead of
    `times`, ask for t = 10^`log10_times` (up to 10^(2.6 10^8); -inf is the start), or go on `until="direction converges"`
    ("converges" is short for it): until theta/|theta| has changed by less than `direction_tolerance` (1e-3) since a quarter
    of log10 t. Both give a `LongTrajectory`. On ordinary data neurons are followed by themselves up to t = 10^12.

    >>> import numpy as np, rectilinear as rl
    >>> data = rl.datasets.sine_teacher(inputs=3, pairs=50, seed=0)
    >>> net = rl.Network(inputs=3, widths=(10,))
    >>> run = simulate(rl.Problem(data, net, net.init(scale=1e-3, seed=0)), times=np.linspace(0, 30, 4))
    >>> run.status.name, bool(run.audit.balance_drift < 1e-9)
    ('FINISHED', True)

    >>> data, net = rl.datasets.orthogonally_separable(samples=6, inputs=2), rl.Network(inputs=2, widths=(4,))
    >>> far = simulate(rl.Problem(data, net, net.init(1e-3, seed=0), loss="logistic"), log10_times=[2, 1e5])
    >>> far.log_loss.round(1).tolist()
    [-4.6, -230270.3]
    """
    require_problem("simulate", problem)
    rtol = checked_rtol(problem, method, rtol)
    watch, rules = Watch(max_steps, max_seconds, progress), StopRules(stop_gradient, stop_loss)
    if direction_tolerance is not None and until is None:
        raise InputError("direction_tolerance belongs to until='direction converges'; give that as well, or drop it.")
    if log10_times is not None or until is not None:
        if times is not None or method != "auto" or not early_phase or stop_gradient or stop_loss:
            raise InputError(
                "log10_times and until cannot be mixed with times, method, early_phase, stop_gradient or stop_loss; drop those."
            )
        to = made_to("follow" if too_many_kinks(problem, rtol) else "kinks", rtol)
        far = decided(
            lambda forks: simulate_long(
                problem, log10_times, until, direction_tolerance, to / TIGHTER if forks.tight_until else to, watch
            ),
            to,
            watch,
            whole=True,
        )
        return replace(far, provenance={**far.provenance, "rtol": rtol})
    if times is None:
        raise InputError("simulate needs times, log10_times or until; say how far to go.")
    asked = check_times(times)
    chosen = chosen_method(problem, method, rtol)
    to = made_to(chosen, rtol)
    with blas_threads(largest_product(problem, chosen)):
        by_neurons = moves_in_span(problem, chosen)
        field = field_for_few(problem) if by_neurons else make_field(problem)  # only losses are asked of the first
        span = Span(problem, whole=not by_neurons)
        one_by_one = max_steps is not None or rules.looks

        def make(forks: ForkRule) -> Trajectory:
            engine = first_engine(span.problem, field, chosen, to, early_phase, asked, all_events, forks, one_by_one)
            record = Record(span, field, engine, len(asked) + 1)  # and where it stopped
            return record.trajectory(drive(record, asked, watch, rules), watch, rtol)

        run = decided(make, to, watch) if chosen != "kinks" else make(ONLY_TELL)
    why = reason(problem, chosen) if method == "auto" else "asked for"
    why += f", at rtol {to:.2g} to decide forks" if to < rtol else ""
    return replace(run, provenance={**run.provenance, "chosen": why, **_pairing(problem), **span.said})


def _pairing(problem: Problem) -> dict[str, str]:
    """How mirror images were paired, where they are so only to the precision of the data."""
    data = problem.data
    if problem.network.layers != 2 or problem.network.bias or not data.mirror_defect:
        return {}
    return {"mirror_images": f"samples are paired with their mirror images{data.precision.excuse(data.mirror_defect)}"}
