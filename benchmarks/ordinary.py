"""Ordinary data: work and precision on tables without mirror images, at all saved times, in the loss and in the weights."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rectilinear as rl
from rectilinear.plots.style import colour, legend_beside, panels, paper

from . import ours
from .attempts import Array, Attempt, best_in_turns, loss_error, timed
from .peers import diffrax_solvers, scipy_solvers, sundials
from .peers.descent import jax_descent, torch_descent
from .report import Report, short, whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OUR_RTOLS = (3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6)
PLAIN_RTOLS = (1e-3, 3e-4, 1e-4)  # where `simulate` would follow neurons, plain steps as well
PEER_RTOLS = (3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5)
SLOW_RTOL = 1e-3  # for those that call a gradient from Python
TRUTH_RTOL, TRUTH_CAP = 1e-8, 300.0
EQUAL_ERRORS = (1e-3, 1e-4, 1e-5, 1e-6)  # of the loss, at which seconds are compared
DESCENT_STEPS = (2_000, 20_000)
TIMED_STEPS = 200  # of torch
CAP, SLOW_CAP = 10.0, 2.0  # seconds after which a solver is stopped


def teacher(samples: int = 1000, inputs: int = 20, stretch: float = 1.0) -> tuple[Array, Array]:
    """Gaussian inputs, labels tanh of a random direction."""
    rng = np.random.default_rng(7)
    x = rng.standard_normal((samples, inputs)) / np.sqrt(inputs) * stretch
    return x, np.tanh(x @ rng.standard_normal(inputs))


def table(name: str) -> tuple[Array, Array]:
    """A real table with standardised columns; regression targets are standardised, classes are -1 and +1."""
    from sklearn import datasets

    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    keep = x.std(axis=0) > 0
    x = (x[:, keep] - x[:, keep].mean(axis=0)) / x[:, keep].std(axis=0) / np.sqrt(keep.sum())
    classes = len(np.unique(y)) == 2
    return x, np.where(y > 0, 1.0, -1.0) if classes else (y - y.mean()) / y.std()


def digits(one: int, other: int) -> tuple[Array, Array]:
    """Images of two digits, 64 pixels in [0, 1]."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    keep = (y == one) | (y == other)
    return x[keep] / 16.0, np.where(y[keep] == one, 1.0, -1.0)


def relu_teacher() -> tuple[Array, Array]:
    """A ReLU teacher with noise."""
    rng = np.random.default_rng(11)
    x = rng.standard_normal((600, 12)) / np.sqrt(12)
    y = np.maximum(x @ rng.standard_normal((12, 5)), 0.0) @ rng.standard_normal(5)
    return x, y + 0.1 * rng.standard_normal(600)


def friedman() -> tuple[Array, Array]:
    """Friedman's first function with noise, inputs in [-1, 1]: labels of which half the inputs say nothing."""
    from sklearn.datasets import make_friedman1

    x, y = make_friedman1(n_samples=400, n_features=10, noise=1.0, random_state=0)
    return (2.0 * x - 1.0) / np.sqrt(10), (y - y.mean()) / y.std()


PROBLEMS: dict[str, tuple[partial[tuple[Array, Array]], int, str, float]] = {
    "teacher, 1000 x 20": (partial(teacher), 100, "square", 200.0),
    "teacher, 140 x 10": (partial(teacher, 140, 10, 1.5), 30, "square", 100.0),
    "digits 3 and 8": (partial(digits, 3, 8), 100, "logistic", 30.0),
    "diabetes": (partial(table, "diabetes"), 100, "square", 200.0),
    "breast cancer": (partial(table, "breast_cancer"), 40, "logistic", 60.0),
    "wine": (partial(table, "wine"), 30, "square", 100.0),
    "digits 4 and 9": (partial(digits, 4, 9), 60, "logistic", 25.0),
    "ReLU teacher, 600 x 12": (partial(relu_teacher), 60, "square", 120.0),
    "Friedman 1, 400 x 10": (partial(friedman), 60, "square", 100.0),
}


def problem_of(name: str) -> tuple[rl.Problem, Array]:
    """The problem and the 51 times at which it is compared."""
    make, width, loss, end = PROBLEMS[name]
    x, y = make()
    network = rl.Network(inputs=x.shape[1], widths=(width,))
    return rl.Problem(rl.Dataset(x, y), network, network.init(scale=1e-3, seed=1), loss=loss), np.linspace(0.0, end, 51)


def largest_weight_error(attempt: Attempt, truth: Attempt) -> float:
    """Over all saved times, relative to the largest weight."""
    return float(np.abs(attempt.states - truth.states[: len(attempt.states)]).max() / np.abs(truth.states).max())


def run(folder: Path) -> dict[str, Any]:
    """Measure everything on these problems, print it and keep it."""
    report = Report("ordinary", folder)
    results: dict[str, Any] = {}
    for name in PROBLEMS:
        problem, times = problem_of(name)
        truth = ours.solve(problem, times, TRUTH_RTOL, TRUTH_CAP)
        results[name] = measured(problem, times, OUR_RTOLS, truth) + descents(problem, times, truth)
        show(report, f"{name}, {len(times)} saved times", results[name])
    report.save(results, work_precision_figure(results))
    return results


def measured(problem: rl.Problem, times: Array, our_rtols: tuple[float, ...], truth: Attempt) -> list[dict[str, Any]]:
    """Ours and diffrax in turns, the others once; a row per solver and tolerance."""
    solvers = (diffrax_solvers.tsit5, diffrax_solvers.dopri5, diffrax_solvers.dopri8)
    plain = partial(ours.solve, method="plain")
    runs = [(ours.solve, rtol) for rtol in our_rtols] + [(plain, rtol) for rtol in PLAIN_RTOLS]
    runs += [(solve, rtol) for solve in solvers for rtol in PEER_RTOLS]
    attempts = best_in_turns([partial(solve, problem, times, rtol, CAP) for solve, rtol in runs])
    if problem.network.layers == 2:
        slow = (scipy_solvers.dop853, scipy_solvers.lsoda, sundials.cvode)
        attempts += [timed(partial(solve, problem, times, SLOW_RTOL, SLOW_CAP)) for solve in slow]
    return [row_of(problem, attempt, truth) for attempt in attempts]


def row_of(problem: rl.Problem, attempt: Attempt, truth: Attempt) -> dict[str, Any]:
    """What a solver took, and its largest errors over all saved times."""
    return {
        "solver": attempt.solver,
        "rtol": attempt.rtol,
        "seconds": attempt.seconds,
        "processor": attempt.processor,
        "gradients": attempt.gradients,
        "finished": attempt.finished,
        "loss_error": loss_error(problem, attempt, truth),
        "weight_error": largest_weight_error(attempt, truth),
    }


def descents(problem: rl.Problem, times: Array, truth: Attempt) -> list[dict[str, Any]]:
    """Gradient descent by a JAX scan and by torch, which takes the same steps."""
    rows = []
    for steps in DESCENT_STEPS:
        states, seconds = jax_descent(problem, float(times[-1]) / steps, steps, len(times) - 1)
        _, torch_seconds = torch_descent(problem, float(times[-1]) / steps, TIMED_STEPS)
        reached = Attempt("descent", 0.0, times, np.vstack([truth.states[:1], states]), float(times[-1]), 0.0, steps)
        errors = {"loss_error": loss_error(problem, reached, truth), "weight_error": largest_weight_error(reached, truth)}
        for solver, each in (("JAX descent", seconds), ("torch descent", torch_seconds)):
            row = {
                "solver": solver,
                "rtol": None,
                "seconds": each * steps,
                "processor": None,
                "gradients": steps,
                "finished": True,
            }
            rows.append({**row, **errors})
    return rows


def fastest(rows: list[dict[str, Any]], error: float) -> dict[str, Any] | None:
    """The run among these that takes least processor time of those whose loss error is at most that; None if there is none."""
    good = [row for row in rows if row["finished"] and row["loss_error"] <= error]
    return min(good, key=lambda row: row["processor"] or row["seconds"], default=None)


def show(report: Report, title: str, rows: list[dict[str, Any]]) -> None:
    report.table(
        title,
        ["solver", "rtol", "seconds", "processor", "gradients", "loss error", "weight error"],
        [
            [
                row["solver"],
                short(row["rtol"]),
                short(row["seconds"]),
                short(row["processor"]),
                whole(row["gradients"]),
                short(row["loss_error"]),
                short(row["weight_error"]),
            ]
            for row in rows
        ],
    )
    us = [row for row in rows if ours.is_ours(row["solver"])]
    peers = [row for row in rows if not ours.is_ours(row["solver"]) and row["rtol"] is not None]
    for error in EQUAL_ERRORS:
        mine, theirs = fastest(us, error), fastest(peers, error)
        said = f"{_said(mine)}, best peer {_said(theirs)}"
        ratio = _ratios(mine, theirs) if mine and theirs else ""
        report.note(f"loss error {error:g}: {said}{ratio}")
    for row in rows:
        if row["rtol"] is None and (mine := fastest(us, row["loss_error"])):
            ratio = row["seconds"] / mine["seconds"]
            report.note(f"{row['solver']}, {row['gradients']:,} steps: {ratio:.0f} times {_said(mine)} at its own error")


def _ratios(mine: dict[str, Any], theirs: dict[str, Any]) -> str:
    on_processors = theirs["processor"] / mine["processor"]
    return f" ({theirs['seconds'] / mine['seconds']:.2f} times ours; {on_processors:.2f} in processor time)"


def _said(row: dict[str, Any] | None) -> str:
    return "nobody" if row is None else f"{row['solver']} at {row['rtol']:g} {short(row['seconds'])} s"


@paper
def work_precision_figure(results: dict[str, list[dict[str, Any]]]) -> Figure:
    """Largest error of the weights against seconds, a panel per problem."""
    figure, axes = panels(11.0, 3.0 * -(-len(results) // 4), rows=-(-len(results) // 4), columns=4)
    for ax, (name, rows) in zip(axes, results.items(), strict=False):
        for k, solver in enumerate(dict.fromkeys(row["solver"] for row in rows)):
            curve = [
                (row["seconds"], row["weight_error"])
                for row in rows
                if row["solver"] == solver and row["finished"] and row["rtol"]
            ]
            if curve:
                ax.plot(*zip(*curve, strict=True), "o-", color=colour(k), label=solver)
        ax.set(xscale="log", yscale="log", xlabel="seconds", ylabel="error of weights", title=name)
    legend_beside(axes[min(3, len(results) - 1)])
    return figure
