"""Nearly symmetric data: the plateau of a two-layer network at an almost linear fit, and its end (square loss).

Perturbation theory around Condition 3 for the setting of Fig. 2 and, in v3, Fig. 6b of Zhang et al.; `rise` has its first
act. On the plateau, with residuals rho, a small neuron of sign s climbs s <sigma(u . x) rho> over unit vectors u and grows
along an extremal direction u_k (mostly on a kink) at the rate G_k = s_k <sigma(u_k . x) rho>, of first order in the
asymmetry. Let A_k be the sum of |a||w| at u_k, phi_k(x) = s_k sigma(u_k . x), and let the two large groups fit at any time
what is left. Then the loss is <(M (y - sum_k A_k phi_k))^2>/2, M projecting out the functions of the groups, and gradient
flow is the Lotka-Volterra system

    A_k' = 2 A_k (G_k - sum_j Q_kj A_j),   G_k = <phi_k M y>,   Q_kj = <phi_k M phi_j>.

So the plateau lasts for about ln(A needed / A at its beginning) / 2G, inversely proportional to the asymmetry while that is
small against the rates at which the groups fit. The u_k must not turn when the residuals change: kinks pin them in the plane
and where d - 1 of them meet; elsewhere survivors turn once the first of them have grown, and leave earlier or later.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, Mask
from ..conditions import (
    Finding,
    asymmetry,
    broken_symmetry,
    fixed_halves,
    held_survivors,
    nearly_symmetric,
    no_decay,
    small_start,
    square_loss,
    two_layers,
)
from ..errors import HypothesisError, InputError
from ..problem import Problem
from ..reduced.escape import Escape, survivor_features
from ..reduced.linear_loss import best_linear_map
from ..reduced.rise import Rise, rise_of
from ..reduced.small_network import SmallNetwork
from ..reduced.subnetworks import SubNetworks, flow_of, small_network
from .stated_error import first_loss
from .theorem import WITHIN_WINDOW, Solution, Theorem, finite_times

# What a prediction may be off by, measured: the share of a time, and the share of the first loss per asymmetry
TIMING, HEIGHT = 0.1, 0.5
LEFT = 1e-6  # share of the first loss by which a network that keeps its halves never differs from the escape
DROP = 0.1  # share of the plateau's height by which the loss must fall for the plateau to end


@dataclass(frozen=True, eq=False)
class Plateau:
    """The plateau of a problem: `height` of the loss, `linear_height` of the best linear fit, when it `begins` and `ends`.

    It ends when the loss is `drop` of its height lower; never (infinity) where no survivor grows or what grows cannot lower
    the loss enough; nan where survivors can turn, see `held_survivors`. `residuals` (n,) are those of the plateau,
    `survivors` the small neurons at its beginning, grouped by direction, with their growth `rates`.
    """

    height: float
    linear_height: float
    begins: float
    ends: float
    drop: float
    residuals: Array
    survivors: SubNetworks

    @property
    def duration(self) -> float:
        return self.ends - self.begins

    def __repr__(self) -> str:
        rates = ", ".join(f"{rate:.3g}" for rate in self.survivors.rates) or "none"
        return (
            f"Plateau: height {self.height:.6g} (best linear fit {self.linear_height:.6g}), from t = {self.begins:.4g} "
            f"to {self.ends:.4g}, escape rates {rates}"
        )


def plateau(problem: Problem, drop: float = DROP) -> Plateau:
    """Where the loss of a nearly symmetric problem stays, and until when: `drop` (0 to 1) of it is then gone.

    >>> import rectilinear as rl
    >>> net = rl.Network(inputs=2, widths=(100,))
    >>> plateau(rl.Problem(rl.datasets.six_points(delta=0.05), net, net.init(scale=1e-3, seed=0)))
    Plateau: height 0.444259 (best linear fit 0.444352), from t = 59.3 to 1712, escape rates 0.00564, 0.00518
    """
    if not 0 < drop < 1:
        raise InputError(f"drop must lie between 0 and 1, found {drop!r}.")
    failed = [finding for finding in _setting(problem) if not finding.holds]
    if failed:
        raise HypothesisError(
            f"{failed[0].name} is required to predict a plateau; found: {failed[0].sentence} Simulate the problem instead."
        )
    rise = rise_of(problem)
    held = rise.turning_room(problem.data.lines.normals) == 0
    ends = rise.end + Escape.of(problem, rise).time_to((1 - drop) * rise.height) if held else np.nan
    linear_height = float(np.mean((problem.y - problem.data.x @ best_linear_map(problem.data)) ** 2)) / 2
    return Plateau(rise.height, linear_height, rise.end, ends, drop, rise.residuals, rise.survivors)


def _solve(problem: Problem, times: Array) -> Solution:
    if not np.isfinite(times).all():
        raise InputError("times must be finite: perturbed_symmetry does not predict the end of the escape.")
    rise = rise_of(problem)
    small, loss, left = _course(problem, rise, times)
    shifted = times[:, None] * (1.0 + TIMING * np.linspace(-1.0, 1.0, 5))
    instants, index = np.unique(shifted, return_inverse=True)
    around = _course(problem, rise, instants)[1][index.reshape(shifted.shape)]
    first = first_loss(problem)
    measured = np.abs(around - loss[:, None]).max(axis=1) + HEIGHT * asymmetry(problem.data).distance * first
    # during the rise survivors are shown as large as they are at its end
    shown = float(np.sqrt(np.mean((survivor_features(problem, rise.survivors) @ np.exp(rise.survivors.log_sizes)) ** 2)))
    measured[times <= rise.end] += np.sqrt(2.0 * first) * shown + shown**2 / 2.0
    at_most = np.maximum(loss, first - loss)  # as the true loss is between 0 and the first one
    return Solution(
        loss=loss,
        loss_error=np.where(left, at_most, np.minimum(measured, at_most)),
        small=small,
        statistics={"plateau": rise.height, "begins": rise.end, "survivors": int((rise.survivors.shares > 0).sum())},
    )


def _course(problem: Problem, rise: Rise, times: Array) -> tuple[SmallNetwork, Array, Mask]:
    """The network of groups and survivors at rising finite times, its loss (t,), and whether a group has left its half, (t,).

    Its loss is then no longer the one that the escape descends, and the theory has come to its end.
    """
    escape = Escape.of(problem, rise)
    rising = times <= rise.end
    sizes = np.repeat(np.exp(escape.log_start)[None, :], len(times), axis=0)
    sizes[~rising] = escape.course(times[~rising] - rise.end)
    small = _joined(problem, rise, times[rising], sizes)
    hidden = problem.network.activation(problem.data.x @ np.swapaxes(small.first, 1, 2))
    loss = np.mean((problem.y - (hidden * small.second).sum(axis=2)) ** 2, axis=1) / 2
    descended = np.array([escape.loss(row) for row in sizes])
    apart = ~rising & (np.abs(loss - descended) > LEFT * first_loss(problem))
    return small, loss, np.logical_or.accumulate(apart)


def _joined(problem: Problem, rise: Rise, rising: Array, sizes: Array) -> SmallNetwork:
    """The large groups, by their flow at times `rising` and refitted later, with the survivors of sizes A (t, k) beside."""
    survivors = rise.survivors
    directions = np.broadcast_to(survivors.directions, (len(sizes), *survivors.directions.shape))
    beside = small_network(survivors, sizes, directions)
    parts = [_refitted(problem, rise, sizes[len(rising) :])]
    if rising.size:
        parts.insert(0, flow_of(rise.groups, problem, rising))
    first = np.concatenate([np.concatenate([part.first for part in parts]), beside.first], axis=1)
    second = np.concatenate([np.concatenate([part.second for part in parts]), beside.second], axis=2)
    large = rise.groups.shares * ~survivors.shares.any(axis=1, keepdims=True)  # who survives small is in no large group
    return SmallNetwork(first, second, np.concatenate([large / np.linalg.norm(large, axis=0), survivors.shares], axis=1))


def _refitted(problem: Problem, rise: Rise, sizes: Array) -> SmallNetwork:
    """The large groups when they fit what survivors of sizes A (t, k) leave."""
    left = problem.y - sizes @ survivor_features(problem, rise.survivors).T
    maps = np.linalg.lstsq(rise.design, left.T, rcond=None)[0].T.reshape(len(sizes), 2, problem.data.inputs)
    norms = np.linalg.norm(maps, axis=2)
    return small_network(rise.groups, norms, maps * rise.groups.signs[:, None] / norms[:, :, None])


def _setting(problem: Problem) -> list[Finding]:
    return [
        two_layers(problem),
        square_loss(problem),
        no_decay(problem),
        small_start(problem),
        nearly_symmetric(problem.data),
        fixed_halves(problem),
    ]


def _hypotheses(problem: Problem) -> list[Finding]:
    findings = [*_setting(problem), broken_symmetry(problem)]
    if all(finding.holds for finding in findings):
        findings.append(held_survivors(problem))  # costly, and meaningless where another one fails
    return findings


PERTURBED_SYMMETRY = Theorem(
    name="perturbed_symmetry",
    title="nearly symmetric data: a plateau at the linear fit that lasts inversely to the asymmetry",
    source="Zhang, Saxe & Latham, arXiv:2406.12615, Fig. 2 (v3: also Fig. 6b)",
    strength=20,
    hypotheses=_hypotheses,
    breaks={
        "two_layers": "there are no independent neurons to group",
        "square_loss": "the two halves have no least-squares fits to rest at",
        "no_decay": "survivors decay instead of growing",
        "small_start": "too many neurons miss the two groups",
        "nearly_symmetric": "growth off the linear fit is as fast as the fit itself, and there is no plateau",
        "fixed_halves": "a large group is caught on a kink while it turns",
        "broken_symmetry": "there is no escape to predict",
        "held_survivors": "survivors turn while they grow, and the escape takes another time",
        WITHIN_WINDOW: "the end of the escape is not predicted; ask for finite times",
    },
    solve=_solve,
    window=finite_times,
    essential=("two_layers", "square_loss", WITHIN_WINDOW),
    basis="perturbation theory",
)
