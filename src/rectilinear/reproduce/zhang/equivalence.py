"""Theorem 5 (v3: Theorem 8): on symmetric data an aligned two-layer network is a linear one in slower time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ... import datasets
from ...dataset import Dataset
from ...flow import descend, simulate
from ...network import Network, Weights
from ...plots import style
from ...problem import Problem
from ...theorems import predict
from ...theorems.symmetric import linear_twin
from ...trajectory import Trajectory
from ..claim import Claim, Evidence, Form, Measurement, Picture, Verdict, at_most, between, noted
from ..papers import ZHANG

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

ALPHAS = (0.0, 0.3, 0.7)
FLOW, STEPS = 1e-8, 1e-12  # how exact simulated flow and compiled steps are


def uneven_data(pairs: int = 60, seed: int = 0) -> Dataset:
    """Symmetric data whose covariance is far from white: eigenvalues from 0.1 to 6."""
    data = datasets.sine_teacher(inputs=5, pairs=pairs, seed=seed)
    return Dataset(data.x * np.array([0.3, 0.6, 1.0, 1.6, 2.5]), data.y, "uneven inputs", data.promises)


def mixed_labels(pairs: int = 60, seed: int = 0) -> Dataset:
    """The same inputs with odd random labels +-1, which no linear function separates."""
    data = uneven_data(pairs, seed)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], pairs)
    return Dataset(data.x, np.concatenate([signs, -signs]), "mixed labels", data.promises)


def aligned(data: Dataset, alpha: float, loss: str, scale: float = 0.1, l2: float = 0.0) -> Problem:
    """A problem that starts from aligned weights (Assumption 4) in a random direction."""
    network = Network(data.inputs, (40,), alpha)
    return Problem(data, network, network.init(scale, seed=1, start="rank_one"), loss, l2)


def slope_mean(problem: Problem) -> float:
    return (1.0 + problem.network.alpha) / 2.0


def flows_apart(problem: Problem, end: float = 12.0) -> tuple[float, Trajectory, Trajectory]:
    """Relative distance of weights from the linear twin's at equal rescaled times, and both runs."""
    c, clock = slope_mean(problem), np.linspace(0.0, end, 25)
    run = simulate(problem, clock / c, rtol=1e-11, method="smooth")
    twin = simulate(linear_twin(problem), clock, rtol=1e-11, method="smooth")
    return weights_apart(run, twin, c), run, twin


def weights_apart(run: Trajectory, twin: Trajectory, c: float) -> float:
    """Largest |sqrt(c) W - W_lin| over all entries and saved times, relative to the largest |W_lin|."""
    apart = max(np.abs(np.sqrt(c) * w - v).max() for w, v in zip(run.weights, twin.weights, strict=True))
    return float(apart / max(np.abs(v).max() for v in twin.weights))


def check_flow(loss: str, data: Dataset) -> Evidence:
    measurements = []
    for alpha in ALPHAS:
        error, run, twin = flows_apart(aligned(data, alpha, loss))
        functions = np.abs(run.outputs() - twin.outputs()).max()
        measurements += [
            at_most(f"α = {alpha:g}: weights against Eq. 5, largest relative error", error, FLOW),
            at_most(f"α = {alpha:g}: outputs against Eq. 4, largest error", functions, 10 * FLOW),
        ]
    eigenvalues = np.linalg.eigvalsh(data.covariance)
    return Evidence(
        measurements=(*measurements, noted("condition number of Σ", eigenvalues[-1] / eigenvalues[0])),
        settings={"inputs": data.inputs, "samples": data.samples, "width": 40, "scale": 0.1, "seed": 1},
    )


def check_logistic_field(full: bool) -> Evidence:
    data = mixed_labels()
    problem = aligned(data, 0.3, "logistic", scale=2.0)
    first, second = Network(5, (40,), 0.3).init(2.0, seed=3)
    exact = _finite_differences(problem, (first, second))
    x, y = data.x, data.y
    network = problem.network
    hidden = x @ first.T
    outputs = network.activation(hidden) @ second[0]
    weight = 1.0 / (np.exp(y * outputs) + 1.0)
    fields = {}
    for name, pull in (("printed", outputs * weight), ("corrected", y * weight)):
        signal = pull[:, None] / data.samples
        fields[name] = ((signal * second * network.slope(hidden)).T @ x, signal.T @ network.activation(hidden))
    return Evidence(
        measurements=(
            at_most("Eq. 7 as printed against the gradient, relative error", _relative(fields["printed"], exact), 1e-6),
            at_most("with y in place of W₂σ(W₁x)", _relative(fields["corrected"], exact), 1e-6, Form.CORRECTED),
        ),
        settings={"inputs": 5, "samples": data.samples, "width": 40, "alpha": 0.3, "seed": 3},
        remark="The same slip runs through Eqs. 10 and 37, where also c, not c², must stand in front; Theorem 5 itself is true "
        "for logistic loss, see there. The loss is ⟨ln(1 + e^(−yf))⟩; the printed exponent lacks its sign.",
    )


def _finite_differences(problem: Problem, weights: Weights, step: float = 1e-6) -> Weights:
    """-grad L by central differences."""
    fields = []
    for layer, values in enumerate(weights):
        field = np.empty_like(values)
        for place in np.ndindex(*values.shape):
            losses = []
            for sign in (1.0, -1.0):
                moved = [w.copy() for w in weights]
                moved[layer][place] += sign * step
                losses.append(problem.objective(tuple(moved)))
            field[place] = -(losses[0] - losses[1]) / (2.0 * step)
        fields.append(field)
    return tuple(fields)


def _relative(found: Iterable[Array], exact: Iterable[Array]) -> float:
    return float(max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(found, exact, strict=True)))


def check_descent(full: bool) -> Evidence:
    measurements = []
    for loss, data in (("square", uneven_data()), ("logistic", mixed_labels())):
        for alpha in ALPHAS:
            problem = aligned(data, alpha, loss)
            apart = _steps_apart(problem, rate=0.02, steps=1000 if full else 300)
            measurements.append(at_most(f"{loss} loss, α = {alpha:g}: largest relative error of the weights", apart, STEPS))
    return Evidence(
        measurements=tuple(measurements),
        settings={
            "samples": 120,
            "width": 40,
            "scale": 0.1,
            "steps": 1000 if full else 300,
            "learning rate": 0.02,
            "seed": 1,
        },
        remark="Exact step by step, not only in the limit of small steps: what is left is rounding.",
    )


def _steps_apart(problem: Problem, rate: float, steps: int) -> float:
    c = slope_mean(problem)
    run = descend(problem, rate, steps, record_every=10)
    twin = descend(linear_twin(problem), c * rate, steps, record_every=10)
    return weights_apart(run, twin, c)


def check_decay(full: bool) -> Evidence:
    measurements: list[Measurement] = []
    for loss, data in (("square", uneven_data()), ("logistic", mixed_labels())):
        for alpha in (0.0, 0.3):
            problem = aligned(data, alpha, loss, l2=0.02)
            error, run, _ = flows_apart(problem)
            c, clock = slope_mean(problem), np.linspace(0.0, 12.0, 25)
            twin = linear_twin(problem)
            same = Problem(twin.data, twin.network, twin.weights, twin.loss, problem.l2)
            naive = weights_apart(run, simulate(same, clock, rtol=1e-11, method="smooth"), c)
            measurements += [
                at_most(f"{loss} loss, α = {alpha:g}: weights, linear twin with λ/c", error, FLOW),
                noted(f"{loss} loss, α = {alpha:g}: the same with λ unchanged", naive),
            ]
    data = uneven_data()
    threshold = 0.5 * float(np.linalg.norm(data.correlation))
    ends = [_end_with_decay(data, factor * threshold) for factor in (0.9, 1.1)]
    return Evidence(
        measurements=(
            *measurements,
            at_most("ReLU, λ 10 % above (α+1)s/2: norm of the linear map at the end", ends[1], 1e-3),
            noted("λ 10 % below: the same", ends[0]),
        ),
        settings={"samples": 120, "width": 40, "scale": 0.1, "l2": 0.02, "seed": 1},
        remark="The equivalence survives, if the linear network is regularised with λ/c = 2λ/(α+1). The network dies, w = 0, "
        "exactly from λ = (α+1)s/2 on.",
    )


def _end_with_decay(data: Dataset, l2: float) -> float:
    run = simulate(aligned(data, 0.0, "square", l2=l2), [400.0], rtol=1e-6, method="smooth")
    return float(np.linalg.norm(run.linear_map[-1]))


def check_large_start(full: bool) -> Evidence:
    data = uneven_data()
    exact = max(flows_apart(aligned(data, 0.0, "square", scale=scale))[0] for scale in (1.0, 3.0))
    scales = np.geomspace(1e-4, 3.0, 10 if full else 6)
    seeds = range(5 if full else 2)
    apart = np.array([[_random_start_apart(data, float(scale), seed) for seed in seeds] for scale in scales])
    typical = np.median(apart, axis=1)
    return Evidence(
        measurements=(
            at_most("aligned weights of norm 1 and 3: largest relative error of the weights", exact, FLOW),
            at_most("random weights of norm 10⁻⁴: largest distance of loss curves, relative", typical[0], 0.05),
            noted("random weights of norm 3: the same", typical[-1]),
        ),
        settings={"samples": 120, "width": 100, "scales": f"{scales[0]:g} to {scales[-1]:g}", "seeds": len(seeds)},
        pictures=(Picture("large_start", LARGE_CAPTION, _draw_scales(scales, apart)),),
        numbers={"distance": (("scale", "seed"), apart), "scale": ("scale", scales)},
        remark="For aligned weights the size does not matter at all. For random weights it does: small ones align while they "
        "grow, large ones keep their even part, and the curves part.",
    )


def _random_start_apart(data: Dataset, scale: float, seed: int) -> float:
    """Largest distance of the loss curve of gradient descent from the linear twin's, relative to the largest loss."""
    network = Network(data.inputs, (100,))
    problem = Problem(data, network, network.init(scale, seed))
    run = descend(problem, 0.04, 1200, record_every=10)
    twin = descend(linear_twin(problem), 0.02, 1200, record_every=10)
    return float(np.abs(run.loss - twin.loss).max() / twin.loss.max())


LARGE_CAPTION = (
    "Largest distance between the loss curves of a ReLU network and of its linear twin, for random starts of different size. "
    "From small weights it is set by the imbalance of positive and negative neurons, from large ones by the even part that "
    "they have from the beginning."
)


@style.paper
def _draw_scales(scales: Array, apart: Array) -> Figure:
    figure, (ax,) = style.panels(4.6, 3.0)
    ax.plot(scales, apart, color=style.colour(0), linestyle="", marker="o", markersize=4)
    ax.plot(scales, np.median(apart, axis=1), color=style.colour(0), linewidth=1.2)
    ax.set(
        xscale="log", yscale="log", xlabel="norm of the starting weights", ylabel="distance of the loss curves (relative)"
    )
    return figure


def check_large_rate(full: bool) -> Evidence:
    data = datasets.sine_teacher(inputs=20, pairs=200)
    network = Network(20, (100,))
    problem = Problem(data, network, network.init(1e-3, seed=0))
    sharpest = 2.0 / (2.0 * float(np.linalg.norm(data.correlation)))  # where the minimum loses its stability, roughly
    rates = [0.004, 0.1 * sharpest, 0.5 * sharpest, 0.9 * sharpest]
    exact = [_steps_apart(aligned(data, 0.0, "square"), rate, steps=200) for rate in rates]
    runs = {rate: descend(problem, rate, int(np.ceil(40.0 / rate)), record_every=1) for rate in rates[1:]}
    limit = predict(problem, [np.inf]).loss[-1]
    excess = [run.loss[-1] - limit for run in runs.values()]
    return Evidence(
        measurements=(
            *(
                at_most(f"aligned weights, rate {rate:.3g}: largest relative error", error, STEPS)
                for rate, error in zip(rates, exact, strict=True)
            ),
            at_most("random small weights, three large rates: loss at the end above its limit", max(excess), 1e-4),
            between("largest rate in units of 1/s", rates[-1] * float(np.linalg.norm(data.correlation)), 0.5, 1.0),
        ),
        settings={"inputs": 20, "samples": data.samples, "width": 100, "learning rates": rates, "seed": 0},
        pictures=(Picture("large_rate", RATE_CAPTION, _draw_rates(problem, runs)),),
        remark="From aligned weights the equivalence is an identity of each step, so it holds at any rate at which gradient "
        "descent itself does not blow up.",
    )


RATE_CAPTION = (
    "Gradient descent from small random weights at large learning rates (dots, in units of 1/s), against gradient flow "
    "(black). Large steps lag behind in the exponential growth, and end in the same place."
)


@style.paper
def _draw_rates(problem: Problem, runs: dict[float, Trajectory]) -> Figure:
    s = float(np.linalg.norm(problem.data.correlation))
    figure, (ax,) = style.panels(5.0, 3.0)
    times = np.linspace(0.0, 40.0, 161)
    ax.plot(times, predict(problem, times).loss, color="black", linewidth=1.2, label="flow (theory)")
    for k, (rate, run) in enumerate(runs.items()):
        look = {"color": style.colour(k), "marker": "o", "markersize": 3.0, "linewidth": 0.8}
        ax.plot(run.times, run.loss, **look, label=f"rate {rate * s:.2g}/s", markevery=max(1, len(run) // 60))
    ax.set(xlabel=style.TIME, ylabel="loss", ylim=(0.0, None), xlim=(0.0, 40.0))
    style.legend_beside(ax)
    return figure


CLAIMS = (
    Claim(
        name="theorem_5_square",
        title="The equivalence, square loss",
        paper=ZHANG,
        source="Theorem 5 (v3: Theorem 8), Eqs. 4 and 5",
        statement="From aligned weights (Assumption 4) on symmetric data, W(t) = c^(−1/2) W_lin(ct) and f(x; t) = f_lin(x; ct), "
        "c = (α+1)/2, with square loss and any covariance.",
        recorded=Verdict.CONFIRMED,
        check=lambda full: check_flow("square", uneven_data()),
    ),
    Claim(
        name="theorem_5_logistic",
        title="The equivalence, logistic loss",
        paper=ZHANG,
        source="Theorem 5 (v3: Theorem 8), Eqs. 4 and 5",
        statement="The same with logistic loss, here with labels that no linear function separates.",
        recorded=Verdict.CONFIRMED,
        check=lambda full: check_flow("logistic", mixed_labels()),
    ),
    Claim(
        name="equation_7",
        title="The dynamics under logistic loss",
        paper=ZHANG,
        source="Eqs. 7, 10 and 37",
        statement="Gradient flow under logistic loss is τW₁′ = ⟨σ′(W₁x) ⊙ W₂ᵀ W₂σ(W₁x) xᵀ/(e^(yf)+1)⟩, and likewise for W₂.",
        recorded=Verdict.CORRECTED,
        check=check_logistic_field,
    ),
    Claim(
        name="gradient_descent",
        title="Gradient descent obeys the equivalence exactly",
        paper=ZHANG,
        source="Theorem 5 (v3: Theorem 8), for steps instead of flow",
        statement="From aligned weights (Assumption 4), k steps of gradient descent with learning rate η on a (leaky) ReLU "
        "network are k steps with rate (α+1)η/2 on the linear network, weights divided by √((α+1)/2).",
        recorded=Verdict.CONFIRMED,
        check=check_descent,
    ),
    Claim(
        name="l2_regularisation",
        title="L2 regularisation",
        paper=ZHANG,
        source="v3, Appendix C.4",
        statement="The equivalence survives L2 regularisation.",
        recorded=Verdict.CONFIRMED,
        check=check_decay,
    ),
    Claim(
        name="large_start",
        title="Large initialisation",
        paper=ZHANG,
        source="v3, Appendix C.5",
        statement="The equivalence survives large weights at the start.",
        recorded=Verdict.CONFIRMED,
        check=check_large_start,
    ),
    Claim(
        name="large_rate",
        title="Moderately large learning rates",
        paper=ZHANG,
        source="v3, Appendix C.6",
        statement="The equivalence survives learning rates far from those of gradient flow.",
        recorded=Verdict.CONFIRMED,
        check=check_large_rate,
    ),
)
