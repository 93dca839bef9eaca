"""Kou, Chen and Gu: stable rank, margins, loss rate and patterns on (nearly) orthogonal data, second layer fixed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .. import datasets, measures
from ..dataset import Dataset
from ..flow import descend, simulate
from ..long_trajectory import LongTrajectory
from ..network import Network
from ..plots import style
from ..problem import Problem
from ..theorems import predict
from ..theorems.decomposition import decomposition, increment_ratios, last_switch, loss_slopes
from ..theorems.fixed_layer import limit_rates
from ..theorems.kou import patterns, stable_rank
from ..trajectory import Trajectory
from .claim import Claim, Evidence, Form, Measurement, Picture, Verdict, at_least, at_most, between, noted
from .papers import KOU

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

LEAK = 0.3
SAMPLES, WIDTH = 10, 40
LOG_TIMES = np.array([0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 30.0, 1e2, 1e3, 1e4])
SETTINGS = {"samples": SAMPLES, "width": WIDTH, "scale": 0.1, "leak": LEAK, "seeds": "data 1, weights 0"}
KINDS = ("orthogonal", "nearly orthogonal")


def data_of(kind: str) -> Dataset:
    if kind == "orthogonal":
        return datasets.orthogonal(SAMPLES, 2 * SAMPLES, seed=1)
    return datasets.nearly_orthogonal(SAMPLES, 500, seed=1)


def two_class_problem(data: Dataset, alpha: float, width: int = WIDTH, seed: int = 0) -> Problem:
    """The networks of Kou et al.: second layer fixed at +-1/m, logistic loss."""
    network = Network(data.inputs, (width,), alpha, trainable=(True, False))
    return Problem(data, network, network.init(0.1, seed, "two_class"), "logistic")


@cache
def long_run(kind: str, alpha: float) -> LongTrajectory:
    run = simulate(two_class_problem(data_of(kind), alpha), log10_times=LOG_TIMES)
    assert isinstance(run, LongTrajectory)
    return run


@cache
def descent(kind: str, alpha: float) -> Trajectory:
    """Gradient descent with every step kept; the rate makes the first steps about equal on both kinds of data."""
    rate = 5.0 if kind == "orthogonal" else 0.5
    return descend(two_class_problem(data_of(kind), alpha), rate, 1500, record_every=1)


def check_leaky_rank(full: bool) -> Evidence:
    measurements: list[Measurement] = []
    for kind in KINDS:
        run = long_run(kind, LEAK)
        ranks = measures.stable_rank_by_sign(run)[-1]
        distances = [_neurons_apart(run, k) for k in (3, -1)]
        measurements += [
            at_most(f"{kind}: stable rank of W₊ and W₋ at t = 10^10000, larger", ranks.max(), 1.0001),
            noted(f"{kind}: stable rank of both together", measures.stable_rank(run)[-1][0]),
            at_most(f"{kind}: distance between neurons of a class, t = 10^10000 over t = 100", distances[1] / distances[0], 2.0),
        ]
    together = measures.stable_rank(long_run("orthogonal", LEAK))[-1][0]
    foretold = 2.0 * (1.0 + LEAK**2) / (1.0 + LEAK) ** 2
    return Evidence(
        measurements=(
            *measurements,
            at_most("orthogonal: stable rank of both together against 2(1+α²)/(1+α)²", abs(together - foretold), 1e-3),
        ),
        settings=SETTINGS,
        pictures=(Picture("kou_stable_rank", RANK_CAPTION, _draw_ranks()),),
        remark="Rank one is meant for the matrix of each class. The whole first layer keeps two directions and tends to a stable "
        "rank between one and two.",
    )


def _neurons_apart(run: LongTrajectory, k: int) -> float:
    """Largest distance between two neurons of one class at the k-th saved time."""
    first, second = run.weights_at(k)
    apart = [np.linalg.norm(side[:, None] - side[None], axis=2).max() for side in (first[second[0] > 0], first[second[0] < 0])]
    return float(max(apart))


RANK_CAPTION = (
    "Stable rank of the weight matrix of each class (solid and dashed) over times far beyond floating-point range. Leaky ReLU: it "
    "falls to one. ReLU: it settles at values that depend on the activation pattern at the start; on orthogonal data they are known "
    "in closed form (dotted)."
)


@style.paper
def _draw_ranks() -> Figure:
    figure, axes = style.panels(7.6, 3.0, columns=2, sharey=True)
    for ax, kind in zip(axes, KINDS, strict=True):
        for k, (name, alpha) in enumerate((("leaky ReLU", LEAK), ("ReLU", 0.0))):
            ranks = measures.stable_rank_by_sign(long_run(kind, alpha))
            ax.plot(LOG_TIMES, ranks[:, 0], color=style.colour(k), label=name)
            ax.plot(LOG_TIMES, ranks[:, 1], color=style.colour(k), linestyle="--")
        ax.set(xscale="log", xlabel="log₁₀(time / τ)", title=f"{kind} data", ylim=(0.9, 2.3))
    for rank in _orthogonal_limits():
        axes[0].axhline(rank, color="black", linestyle=":", linewidth=1.2)
    axes[0].set_ylabel("stable rank")
    axes[0].legend()
    return figure


def _orthogonal_limits() -> tuple[float, float]:
    """The stable ranks of W_+ and W_- at infinity on orthogonal data, ReLU."""
    problem = long_run("orthogonal", 0.0).problem
    rates, positive = limit_rates(problem), problem.weights[1][0] > 0
    return stable_rank(rates[positive]), stable_rank(rates[~positive])


def check_relu_rank(full: bool) -> Evidence:
    ranks = measures.stable_rank_by_sign(long_run("orthogonal", 0.0))[-1]
    near = measures.stable_rank_by_sign(long_run("nearly orthogonal", 0.0))
    sizes = ((2, 50), (5, 50), (10, 50), (50, 200)) + (((200, 1000),) if full else ())
    means = {size: _mean_limit(*size, draws=20 if full else 6) for size in sizes}
    formula = {(n, m): 2.0 / (1.0 + 1.0 / n + 1.0 / m) for n, m in sizes}
    return Evidence(
        measurements=(
            at_most("nearly orthogonal: stable rank of W₊ and W₋, largest at any time", near.max(), 3.0),
            between("orthogonal, 5 samples a class: stable rank of W₊ at t = 10^10000", ranks[0], 1.9, 2.1),
            at_most("the same against its closed form", np.abs(ranks - _orthogonal_limits()).max(), 1e-3, Form.CORRECTED),
            *(noted(f"mean limit, {n} samples a class and {m} neurons", means[n, m]) for n, m in sizes),
            at_most(
                "these means against 2/(1 + 1/n + 1/m), largest error",
                max(abs(means[size] - formula[size]) for size in sizes[1:]),
                0.1,
                Form.CORRECTED,
            ),
        ),
        settings=SETTINGS,
        remark="The limit on orthogonal data depends on which neurons see which sample at the start. It is near 2 only for many "
        "samples and neurons: on average 2/(1 + 1/n + 1/m), the correction for finite size. So other values than 2 do occur.",
    )


def _mean_limit(class_size: int, half_width: int, draws: int) -> float:
    """The limit of the stable rank on orthogonal samples of equal length, averaged over starts.

    The limit of w_r.x_i / ln t is 1[active] m / n_active,i, for samples i of the neuron's own class.
    """
    found = []
    for seed in range(draws):
        active = np.random.default_rng(seed).standard_normal((half_width, class_size)) > 0
        found.append(stable_rank(active * (half_width / np.maximum(active.sum(axis=0), 1))))
    return float(np.mean(found))


def check_margins(full: bool) -> Evidence:
    measurements: list[Measurement] = []
    ratios: dict[str, Array] = {}
    for kind in KINDS:
        for name, alpha in (("leaky ReLU", LEAK), ("ReLU", 0.0)):
            run = long_run(kind, alpha)
            margins = run.problem.y * run.outputs()
            ratio = margins.max(axis=1) / margins.min(axis=1)
            ratios[f"{name}, {kind}"] = ratio - 1.0
            gaps = margins.max(axis=1) - margins.min(axis=1)
            measurements += [
                at_most(f"{name}, {kind}: largest margin over smallest at t = 10^10000", ratio[-1], 1.001),
                noted(f"{name}, {kind}: the same at t = 10⁴", ratio[5]),
                at_most(f"{name}, {kind}: their difference, t = 10^10000 over t = 10⁶", gaps[-1] / gaps[6], 1.5),
            ]
    return Evidence(
        measurements=tuple(measurements),
        settings=SETTINGS,
        pictures=(Picture("kou_margins", MARGIN_CAPTION, _draw_margins(ratios)),),
        numbers={"log10_time": ("time", LOG_TIMES), **{name.replace(" ", "_"): ("time", ratio) for name, ratio in ratios.items()}},
        remark="Differences stay bounded while margins grow like ln t, so that ratios tend to one, like 1/ln t.",
    )


MARGIN_CAPTION = "The largest margin over the smallest, minus one: it falls like 1/ln t on every kind of data and network."


@style.paper
def _draw_margins(ratios: dict[str, Array]) -> Figure:
    figure, (ax,) = style.panels(6.0, 3.0)
    for k, (name, ratio) in enumerate(ratios.items()):
        ax.plot(LOG_TIMES[1:], np.maximum(ratio[1:], 1e-12), color=style.colour(k), marker="o", markersize=3, label=name)
    ax.set(xscale="log", yscale="log", xlabel="log₁₀(time / τ)", ylabel="margin ratio − 1", ylim=(1e-8, 10.0))
    style.legend_beside(ax)
    return figure


def check_loss_rate(full: bool) -> Evidence:
    worst = {
        f"{name}, {kind}": np.abs(loss_slopes(long_run(kind, alpha))[-4:] + 1.0).max()
        for kind in KINDS
        for name, alpha in (("leaky ReLU", LEAK), ("ReLU", 0.0))
    }
    early = loss_slopes(long_run("nearly orthogonal", LEAK))[3]
    network = Network(4, (20,))
    data = datasets.orthogonally_separable(8, 4, seed=0)
    trained = simulate(Problem(data, network, network.init(1e-3, seed=0), "logistic"), log10_times=[100.0, 1000.0, 1e4])
    assert isinstance(trained, LongTrajectory)
    excess = np.diff(trained.log_loss + trained.log10_times * np.log(10.0)) / np.diff(np.log(trained.log10_times))
    return Evidence(
        measurements=(
            *(at_most(f"{name}: d ln L / d ln t + 1 for t > 100, largest", error, 0.02) for name, error in worst.items()),
            noted("leaky ReLU, nearly orthogonal: d ln L / d ln t at t = 10² to 10³", early),
            between("both layers trained: d ln(L t) / d ln ln t", excess[-1], -1.05, -0.95),
        ),
        settings=SETTINGS,
        remark="With both layers trained, which the paper does not treat, the loss falls faster, like 1/(t ln t).",
    )


def check_patterns(full: bool) -> Evidence:
    measurements: list[Measurement] = []
    for kind in KINDS:
        leaky = descent(kind, LEAK)
        measurements.append(at_most(f"leaky ReLU, {kind}: last step at which a neuron switches", last_switch(leaky), 20))
    near = descent("nearly orthogonal", 0.0)
    measurements += [
        at_most("ReLU, orthogonal: last step at which a neuron switches", last_switch(descent("orthogonal", 0.0)), 20),
        at_most("ReLU, nearly orthogonal: the same (of 1500)", last_switch(near), 20),
        at_most("ReLU, nearly orthogonal: active pairs of one class that fall silent", _lost(near), 0, Form.CORRECTED),
        at_most("leaky ReLU: pairs off the class pattern at the end", _off_class(descent(KINDS[1], LEAK)), 0, Form.CORRECTED),
    ]
    return Evidence(
        measurements=tuple(measurements),
        settings={**SETTINGS, "learning rate": "5 and 0.5", "steps": 1500},
        pictures=(Picture("kou_patterns", PATTERN_CAPTION, _draw_switches()),),
        remark="Leaky ReLU and exactly orthogonal data settle within a few steps. ReLU neurons on nearly orthogonal data do not: "
        "those at a sample of the other class are pushed back and forth across its kink to the last step, as gradient flow would "
        "hold them on it. What the proofs need is true: a neuron once active on a sample of its own class stays so.",
    )


def _own_class(run: Trajectory) -> NDArray[np.bool_]:
    """Pairs (neuron, sample) of one sign."""
    return np.sign(run.problem.weights[1][0])[:, None] == run.problem.y


def _lost(run: Trajectory) -> int:
    """How often a neuron that was active on a sample of its own class is not at the next step."""
    active = np.array([patterns(run.weights_at(k), run.problem.x) > 0 for k in range(len(run))])
    return int(np.sum(active[:-1] & ~active[1:] & _own_class(run)))


def _off_class(run: Trajectory) -> int:
    return int(np.sum((patterns(run.final, run.problem.x) > 0) != _own_class(run)))


PATTERN_CAPTION = (
    "Pairs of neuron and sample that change sides from one step of gradient descent to the next. Leaky ReLU stops at once; ReLU on "
    "nearly orthogonal data goes on switching to the end."
)


@style.paper
def _draw_switches() -> Figure:
    figure, (ax,) = style.panels(5.6, 2.8)
    for k, (name, alpha) in enumerate((("leaky ReLU", LEAK), ("ReLU", 0.0))):
        run = descent("nearly orthogonal", alpha)
        sides = np.array([patterns(run.weights_at(step), run.problem.x) > 0 for step in range(len(run))])
        flips = np.sum(sides[1:] != sides[:-1], axis=(1, 2))
        binned = flips[: len(flips) // 25 * 25].reshape(-1, 25).sum(axis=1)
        ax.plot(25.0 * (np.arange(len(binned)) + 0.5), binned, color=style.colour(k), label=name)
    ax.set(xlabel="step of gradient descent", ylabel="switches in 25 steps", ylim=(0.0, None))
    style.legend_beside(ax)
    return figure


def check_decomposition(full: bool) -> Evidence:
    measurements: list[Measurement] = []
    for kind in KINDS:
        for name, alpha in (("leaky ReLU", LEAK), ("ReLU", 0.0)):
            run = long_run(kind, alpha)
            found = decomposition(run)
            own = _own_class(run)
            wrong = max(np.max(-found.rho[:, own]), np.max(found.rho[:, ~own])) / np.abs(found.rho).max()
            measurements += [
                at_most(f"{name}, {kind}: weights outside the span of samples and start", found.residual.max(), 1e-10),
                at_most(f"{name}, {kind}: coefficients of the wrong sign, largest, relative", wrong, 1e-10),
                at_most(f"{name}, {kind}: largest over smallest coefficient of a sample, t > 10", _balance(run)[1:].max(), 3.0),
            ]
    return Evidence(measurements=tuple(measurements), settings=SETTINGS)


def _balance(run: Trajectory) -> Array:
    return decomposition(run).balance(run.problem.weights[1][0], run.problem.y)


def correlated(strength: float) -> Dataset:
    """Unit samples with the pairwise product `strength` and balanced labels."""
    gram = np.full((SAMPLES, SAMPLES), strength) + (1.0 - strength) * np.eye(SAMPLES)
    return Dataset(np.linalg.cholesky(gram), np.where(np.arange(SAMPLES) % 2, -1.0, 1.0), f"correlation {strength:g}")


def check_correlated(full: bool) -> Evidence:
    strengths = np.array([0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6])
    balances, ranks, margins = [], [], []
    for strength in strengths:
        run = simulate(two_class_problem(correlated(float(strength)), LEAK), log10_times=[10.0, 1e3])
        balances.append(_balance(run)[-1])
        ranks.append(measures.stable_rank_by_sign(run)[-1].max())
        values = run.problem.y * run.outputs()[-1]
        margins.append(values.max() / values.min())
    return Evidence(
        measurements=(
            at_most("stable rank of W₊ and W₋ up to correlation 0.6, largest", max(ranks), 1.01),
            at_most("largest margin over smallest up to correlation 0.6", max(margins), 1.05),
            at_most("largest over smallest coefficient up to correlation 0.6", max(balances), 3.0),
            noted("correlation up to which near-orthogonality with C = 1 holds", 1.0 / SAMPLES),
        ),
        settings={**SETTINGS, "correlations": strengths.tolist()},
        numbers={"balance": ("correlation", np.array(balances)), "correlation": ("correlation", strengths)},
        remark="Equally correlated samples, far beyond what near-orthogonality allows: for leaky ReLU coefficients stay balanced, "
        "margins become equal and the rank one. Symmetry among samples does what near-orthogonality is assumed for.",
    )


def check_increments(full: bool) -> Evidence:
    ratios = {
        f"{name}, {kind}": increment_ratios(descent(kind, alpha))
        for kind in KINDS
        for name, alpha in (("leaky ReLU", LEAK), ("ReLU", 0.0))
    }
    return Evidence(
        measurements=tuple(
            measurement
            for name, ratio in ratios.items()
            for measurement in (
                at_least(f"{name}: smallest increment in units of η|ℓ′||x|²/nm", ratio.min(), 0.2),
                at_most(f"{name}: largest", ratio.max(), 3.0),
            )
        ),
        settings={**SETTINGS, "learning rate": "5 and 0.5", "steps": 1500},
        remark="The lower bound is read as η/(5nm); it needs a fifth of the neurons of a class to see each sample.",
    )


def check_closed_form(full: bool) -> Evidence:
    measurements = []
    for name, alpha in (("leaky ReLU", LEAK), ("ReLU", 0.0)):
        problem = two_class_problem(data_of("orthogonal"), alpha)
        times = np.array([1.0, 10.0, 100.0, 1000.0, 1e5])
        run, foretold = simulate(problem, times), predict(problem, times)
        measurements += [
            at_most(f"{name}: loss against its closed form, largest relative error", np.abs(run.loss / foretold.loss - 1).max(), 1e-6),
            at_most(f"{name}: weights, largest error", np.abs(run.weights[0] - foretold.weights[0]).max(), 1e-5),
        ]
    return Evidence(
        measurements=tuple(measurements),
        settings=SETTINGS,
        remark="On orthogonal data every sample runs by a clock of its own, and the whole run is known.",
    )


CLAIMS = (
    Claim(
        name="kou_leaky_rank",
        title="Leaky ReLU: stable rank one",
        paper=KOU,
        source="Main result; first experiment 2",
        statement="On nearly orthogonal data gradient descent finds a leaky ReLU network whose weight matrices W₊ and W₋ have a "
        "stable rank that converges to 1, as neurons of a class stay at bounded distance.",
        recorded=Verdict.CONFIRMED,
        check=check_leaky_rank,
    ),
    Claim(
        name="kou_relu_rank",
        title="ReLU: bounded stable rank, about two on orthogonal data",
        paper=KOU,
        source="Main result; appendix on orthogonal data; open question 3",
        statement="For ReLU networks the stable rank stays bounded; on exactly orthogonal data it converges to about 2.",
        recorded=Verdict.CORRECTED,
        check=check_relu_rank,
    ),
    Claim(
        name="kou_margins",
        title="All samples get the same margin",
        paper=KOU,
        source="Main result",
        statement="All training samples have the same normalised margin in the limit; differences of margins stay bounded.",
        recorded=Verdict.CONFIRMED,
        check=check_margins,
    ),
    Claim(
        name="kou_loss_rate",
        title="The loss falls like 1/t",
        paper=KOU,
        source="Main result; first experiment 3",
        statement="The training loss converges to zero at the rate 1/t.",
        recorded=Verdict.CONFIRMED,
        check=check_loss_rate,
    ),
    Claim(
        name="kou_patterns",
        title="Activation patterns settle",
        paper=KOU,
        source="Key results; first experiment 1; open question 2",
        statement="Activation patterns are stable after finite time for both activation functions.",
        recorded=Verdict.CORRECTED,
        check=check_patterns,
    ),
    Claim(
        name="kou_decomposition",
        title="Weights as combinations of samples, automatically balanced",
        paper=KOU,
        source="Data-correlated decomposition; automatic balance",
        statement="w(t) = w(0) + Σ ρᵢ xᵢ/|xᵢ|² with ρ ≥ 0 for samples of the neuron's class and ≤ 0 for the others, and the "
        "coefficients of different samples keep bounded ratios.",
        recorded=Verdict.CONFIRMED,
        check=check_decomposition,
    ),
    Claim(
        name="kou_increments",
        title="Margins of all samples grow alike",
        paper=KOU,
        source="Mechanism 3, increment bound",
        statement="In each step a margin grows by η/(5nm) to 3η/(nm), times |ℓ′||x|².",
        recorded=Verdict.CONFIRMED,
        check=check_increments,
    ),
    Claim(
        name="kou_orthogonal",
        title="Orthogonal data in closed form",
        paper=KOU,
        source="Appendix on orthogonal data",
        statement="On exactly orthogonal data the run can be followed sample by sample.",
        recorded=Verdict.CONFIRMED,
        check=check_closed_form,
    ),
    Claim(
        name="kou_correlated",
        title="Beyond nearly orthogonal data",
        paper=KOU,
        source="Summary, next checks 1 and 3",
        statement="Automatic balance and with it the results for leaky ReLU survive some correlation between the samples.",
        recorded=Verdict.CONFIRMED,
        check=check_correlated,
    ),
)
