"""White inputs: the whole time course in closed form (Corollary 14, Eq. 38 of Zhang et al., corrected and extended).

In the bar-scaled state z = sqrt(c) (p r, q) of the aligned flow, with Sigma = I, s = |beta|, k = |z_p|^2 - z_q^2, mu = l2/c
and time c t,

    z = Q / sqrt(1 + int |Q|^2),   Q' = (F - mu) Q,   Q(0) = z(0),   F = [[k/2, beta], [beta^T, -k/2]],

exactly where k = 0 or mu = 0: then z' = (F - mu) z - z |z|^2/2 is the flow. F has eigenvalues +-sqrt(s^2 + k^2/4) in the
plane of (beta, 0) and (0, 1), and k/2 across it. With k = mu = 0 this is Eq. 38 with u0^2 read as c |W_1(0)|^2, and no
division by 1 - r.beta/s occurs, so r = -beta/s is no exception.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..conditions import Finding, balanced_start, either, no_decay, rank_one_start, square_loss, white_inputs
from ..problem import Problem
from ..reduced.aligned_flow import AlignedStart
from .limit import linear_limit
from .symmetric_data import CONDITION_THREE_BREAKS, aligned_solution, condition_three, neglected_even_part, start_of
from .theorem import Solution, Theorem


def white_states(start: AlignedStart, beta: Array, decay: float, scaled_times: Array) -> Array:
    """z at the rescaled times c t, (t, d + 1), for white inputs; `decay` is mu = l2/c, zero unless |z_p| = |z_q|.

    >>> start = AlignedStart(z=np.array([0.1, 0.1]), v=np.array([1.0, -1.0]) / np.sqrt(2))
    >>> z = white_states(start, np.array([2.0]), 0.0, np.array([0.0, 50.0]))
    >>> (z[:, 0] * z[:, 1]).round(12).tolist()
    [0.01, 2.0]
    """
    t = scaled_times[:, None]
    top, bottom = start.z[:-1], start.z[-1]
    s = float(np.linalg.norm(beta))
    bb = beta / s if s else np.zeros_like(beta)
    imbalance = float(top @ top - bottom**2)
    omega = float(np.hypot(s, imbalance / 2))
    plane = np.array([bb @ top, bottom])
    turned = np.array([[imbalance / 2, s], [s, -imbalance / 2]]) @ plane / (omega or 1.0)
    across = top - plane[0] * bb
    parts = [((plane + turned) / 2, omega - decay), ((plane - turned) / 2, -omega - decay), (across, imbalance / 2 - decay)]

    fastest = max(omega - decay, 0.0)  # common growth, taken out of numerator and denominator
    grown = [vector * np.exp((rate - fastest) * t) for vector, rate in parts]
    integral = sum(float(vector @ vector) * _growth_integral(rate, fastest, t) for vector, rate in parts)
    in_plane = grown[0] + grown[1]
    numerator = np.concatenate([in_plane[:, :1] * bb + grown[2], in_plane[:, 1:]], axis=1)
    return np.asarray(numerator / np.sqrt(np.exp(-2.0 * fastest * t) + integral))


def _growth_integral(rate: float, fastest: float, t: Array) -> Array:
    """e^{-2 fastest t} int_0^t e^{2 rate t'} dt', for rate <= fastest."""
    if rate == 0.0:
        return np.asarray(t * np.exp(-2.0 * fastest * t))
    lead = max(rate, 0.0)  # so that neither factor overflows, and a tiny rate loses no digits
    return np.asarray(np.exp(2.0 * (lead - fastest) * t) * -np.expm1(-2.0 * abs(rate) * t) / (2.0 * abs(rate)))


def hypotheses(problem: Problem) -> list[Finding]:
    return [
        *condition_three(problem),
        square_loss(problem),
        white_inputs(problem.data),
        rank_one_start(problem),
        either(balanced_start(problem), no_decay(problem)),
    ]


def solve(problem: Problem, times: Array) -> Solution:
    """Eq. 38 at finite times, Corollary 6 at infinity."""
    finite = times[np.isfinite(times)]
    start, c = start_of(problem), problem.network.mean_slope
    states = white_states(start, problem.data.correlation, problem.l2 / c, c * finite)
    limit = linear_limit(problem, start) if finite.size < times.size else None
    return aligned_solution(problem, start, states, limit, neglected_even_part(problem, finite))


TIME_COURSE = Theorem(
    name="time_course",
    title="white inputs: the whole time course in closed form",
    source="Zhang, Saxe & Latham, arXiv:2406.12615, Corollary 14, Eq. 38 (corrected)",
    strength=60,
    hypotheses=hypotheses,
    breaks={
        **CONDITION_THREE_BREAKS,
        "square_loss": "the pull is not a linear function of the output and there is no closed form",
        "white_inputs": "input directions interact and there is no closed form; symmetric_data integrates that case",
        "rank_one_start": "the function has an even part; from small random weights it follows the two_neurons theorem",
        "balanced_start": "imbalance decays under l2 and there is no closed form; symmetric_data integrates that case",
    },
    solve=solve,
    essential=("two_layers", "square_loss"),
)
