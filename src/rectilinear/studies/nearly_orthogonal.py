"""Nearly orthogonal data and a fixed second layer: ranks, margins, loss and patterns to infinite time (Kou, Chen & Gu)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..datasets import nearly_orthogonal, orthogonal
from ..flow import descend
from ..long_trajectory import LongTrajectory
from ..measures import activation_flips, stable_rank, stable_rank_by_sign
from ..measures.coefficients import decomposition, increment_ratios, last_switch, loss_slopes
from ..plots import style
from ..problem import Problem
from ..reduced.frozen_limit import FrozenLimit, frozen_limit, patterns
from ..reduced.stable_rank import stable_rank_of
from .problems import far_run, fixed_layer_problem
from .study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure


LOG10_TIMES = np.concatenate([np.arange(0.0, 11.0), np.geomspace(20.0, 1000.0, 9)])
SIX_DECADES = slice(4, 10)  # slopes between 10^4 and 10^10
LATE = slice(11, None)  # times over which the spread of margins is fitted
PATTERN_TIMES = (10.0, 1e3, 1e5)  # log10 t
LEARNING_RATE = 0.1
SOURCE = "Kou, Chen & Gu 2023"


@dataclass(frozen=True, eq=False)
class Case:
    """A problem of the study, its run, and the limit under the patterns at its end."""

    problem: Problem
    run: LongTrajectory
    limit: FrozenLimit

    @classmethod
    def of(cls, problem: Problem, log10_times: Array | tuple[float, ...]) -> Case:
        run = far_run(problem, log10_times)
        return cls(problem, run, frozen_limit(problem, patterns(run.final, problem.x)))

    @property
    def held(self) -> int:
        """Pairs of neuron and sample whose kink holds the neuron at the end."""
        return int(np.sum(patterns(self.run.final, self.problem.x) == 0))

    @property
    def spread(self) -> Array:
        """(max - min) / mean of the normalised margins, (t,)."""
        margins = self.run.normalised_margins
        return np.asarray(np.ptp(margins, axis=1) / margins.mean(axis=1))

    @property
    def predicted_ranks(self) -> tuple[float, float, float]:
        """Stable ranks of W_+, W_- and W at the limit."""
        first, positive = self.limit.first, self.problem.weights[1][0] > 0
        return stable_rank_of(first[positive]), stable_rank_of(first[~positive]), stable_rank_of(first)

    @property
    def last_event(self) -> float:
        """log10 t of the last time that a neuron met a kink."""
        events = self.run.events
        return float(events.time.max()) if events is not None and len(events) else -np.inf


def stable_ranks(samples: tuple[int, ...] = (10, 20, 40), half: int = 20) -> Study:
    """Stable ranks, margins, coefficients and loss of leaky and ReLU networks up to t = 10^1000."""
    near = nearly_orthogonal(samples[0], 500, constant=2.0)
    problems = {
        "leaky 0.1": fixed_layer_problem(near, 0.1, half),
        "leaky 0.5": fixed_layer_problem(near, 0.5, half),
        "ReLU, orthogonal": fixed_layer_problem(orthogonal(samples[0], 50, norms=10.0), 0.0, half),
    } | {f"ReLU, n = {n}": fixed_layer_problem(nearly_orthogonal(n, 1000, constant=2.0), 0.0, half) for n in samples}
    cases = [Case.of(problem, LOG10_TIMES) for problem in problems.values()]
    ranks = np.array([stable_rank_by_sign(case.run) for case in cases])
    full = np.array([stable_rank(case.run)[:, 0] for case in cases])
    ends = np.array([case.predicted_ranks for case in cases])
    spreads = np.array([case.spread for case in cases])
    slopes = np.array([loss_slopes(case.run)[SIX_DECADES] for case in cases])
    parts = [decomposition(case.run) for case in cases]
    residual = max(float(part.residual.max()) for part in parts)
    balances = np.array([
        part.balance(case.problem.weights[1][0], case.problem.y) for part, case in zip(parts, cases, strict=True)
    ])  # fmt: skip
    falls = [np.polyfit(np.log(LOG10_TIMES[LATE]), np.log(spread[LATE]), 1)[0] for spread in spreads]
    relu = slice(3, None)
    largest = ", ".join(f"{rank:.2f} (n = {n})" for n, rank in zip(samples, ranks[relu, -1].max(axis=1), strict=True))
    finding = (
        f"At t = 10^1000 the stable ranks of W_+ and W_- are within {np.abs(ranks[:2, -1] - 1).max():.1e} of 1 for leaky ReLU; "
        f"the whole matrix is at {full[0, -1]:.4f} and {full[1, -1]:.4f}, where the max-margin program of the final pattern says "
        f"{ends[0, 2]:.4f} and {ends[1, 2]:.4f}. For ReLU the larger of the two ends at {largest}; on exactly "
        f"orthogonal data both are within {np.abs(ranks[2, -1] / ends[2, :2] - 1).max():.1e} of the pattern formula, on nearly "
        f"orthogonal data within {np.abs(ranks[relu, -1] / ends[relu, :2] - 1).max():.1e} of the same program with the kinks that "
        f"hold neurons projected out. Samples are {'all' if all(c.limit.equal_margins for c in cases) else 'not all'} support "
        f"vectors; normalised margins differ by at most {spreads[:, 10].max():.1e} of their mean at t = 10^10 and by "
        f"{spreads[:, -1].max():.1e} at 10^1000, falling like (ln t)^p with p between {min(falls):.3f} and {max(falls):.3f}. The "
        f"slope of ln L against ln t is between {slopes.min():.4f} and {slopes.max():.4f} from 10^4 to 10^10. The decomposition "
        f"leaves {residual:.0e}; its coefficients stay balanced within a factor {np.nanmax(balances[:, 2:]):.2f} from t = 100 on."
    )
    return Study(
        name="stable_ranks",
        question="Where do stable ranks, margins and the loss go on nearly orthogonal data?",
        source=f"{SOURCE}, main results",
        finding=finding,
        numbers={
            "log10_time": (("time",), LOG10_TIMES),
            "stable_rank": (("case", "time", "class"), ranks),
            "stable_rank_full": (("case", "time"), full),
            "predicted_rank": (("case", "matrix"), ends),
            "margin_spread": (("case", "time"), spreads),
            "loss_slope": (("case", "decade"), slopes),
            "coefficient_balance": (("case", "time"), balances),
        },
        draw=partial(_draw_ranks, list(problems), ranks, spreads),
    )


@style.paper
def _draw_ranks(labels: list[str], ranks: Array, spreads: Array) -> Figure:
    figure, (left, right) = style.panels(8.6, 3.0, columns=2)
    log_t = LOG10_TIMES * np.log(10)
    for k, label in enumerate(labels):
        left.semilogx(log_t[1:], ranks[k, 1:].mean(axis=1), color=style.colour(k), label=label)
        right.loglog(log_t[1:], spreads[k, 1:], color=style.colour(k), label=label)
    left.set(xlabel="ln t", ylabel="stable rank, mean of both classes")
    right.set(xlabel="ln t", ylabel="relative spread of margins")
    style.legend_beside(right)
    return figure


def frozen_patterns(steps: int = 3000, half: int = 20, samples: int = 10, inputs: int = 500) -> Study:
    """Do activation patterns freeze? Descent and the kink-exact flow side by side."""
    near = nearly_orthogonal(samples, inputs, constant=2.0)
    problems = {
        "leaky 0.1": fixed_layer_problem(near, 0.1, half, scale=0.01),
        "ReLU, orthogonal": fixed_layer_problem(orthogonal(samples, inputs, norms=10.0), 0.0, half, scale=0.01),
        "ReLU, nearly orthogonal": fixed_layer_problem(near, 0.0, half, scale=0.01),
    }
    descents = [descend(problem, LEARNING_RATE, steps) for problem in problems.values()]
    switches = [last_switch(run) for run in descents]
    flips = [np.rint(activation_flips(run) * LEARNING_RATE) for run in descents]  # counts a step, not a unit of time
    late = [int(count[-steps // 3 :].sum()) for count in flips]
    increments = [increment_ratios(run) for run in descents]
    cases = [Case.of(problem, PATTERN_TIMES) for problem in problems.values()]
    relu = cases[2]
    shares = relu.limit.shares[~np.isnan(relu.limit.shares)]
    settled = relu.limit.consistent and relu.limit.holds_last
    between = f" (between {shares.min():.1e} and {shares.max():.2f})" if shares.size else ""
    finding = (
        f"Leaky ReLU: the last switch of gradient descent is at step {switches[0]}, of the flow at t = 10^{cases[0].last_event:.1f}. "
        f"ReLU on orthogonal data: step {switches[1]}. ReLU on nearly orthogonal data: descent still makes {late[2]} switches in "
        f"its last {steps // 3} steps (leaky {late[0]}, orthogonal {late[1]}). The kink-exact flow tells what they mean: a neuron "
        f"at a sample of the other class is pushed onto w . x = 0 from both sides and held there, which steps of finite size turn "
        f"into switching. {relu.held} pairs of neuron and sample end held, and the last event of the flow is at t = "
        f"10^{relu.last_event:.1f}. At the limit that these patterns give all signs agree and all multipliers of holds lie "
        f"strictly between 0 and 1{between}: {'yes' if settled else 'no'}; the flow is {relu.limit.distance(relu.run.final[0]):.0e} "
        f"from it at t = 10^{PATTERN_TIMES[-1]:g}. So patterns of the flow "
        f"{'freeze, with neurons on kinks' if settled else 'are not shown to freeze'}; those of descent need not. Increments of "
        f"margins lie between {min(r.min() for r in increments):.2f} and {max(r.max() for r in increments):.2f} of the paper's unit; "
        "its lower bound 0.2 needs a fifth of the neurons to see each sample."
    )
    return Study(
        name="frozen_patterns",
        question="Does a neuron switch for ever, or do activation patterns freeze?",
        source=f"{SOURCE}, proof of the main result, on activation patterns",
        finding=finding,
        numbers={
            "last_switch_step": (("case",), np.array(switches)),
            "late_switches": (("case",), np.array(late)),
            "held_pairs": (("case",), np.array([case.held for case in cases])),
            "last_event_log10_time": (("case",), np.array([case.last_event for case in cases])),
            "hold_share": (("held",), shares),
            "increment_ratio": (("case", "bound"), np.array([(r.min(), r.max()) for r in increments])),
        },
        draw=partial(_draw_switches, list(problems), [np.cumsum(count) for count in flips]),
    )


@style.paper
def _draw_switches(labels: list[str], totals: list[Array]) -> Figure:
    figure, (ax,) = style.panels(6.0, 3.0)
    for k, (label, total) in enumerate(zip(labels, totals, strict=True)):
        ax.loglog(np.arange(1, len(total) + 1), np.maximum(total, 0.5), color=style.colour(k), label=label)
    ax.set(xlabel="step of gradient descent", ylabel="switches so far")
    style.legend_beside(ax)
    return figure
