"""Figure 1 of Zhang et al.: a wide network from tiny weights on symmetric data, where nothing slides."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import rectilinear as rl
from rectilinear.plots.style import colour, legend_beside, panels, paper
from rectilinear.theorems import predict

from . import ours
from .attempts import Array, Attempt, best_in_turns, best_seconds, loss_error, saved_weight_error, weight_error
from .peers import diffrax_solvers, scipy_solvers
from .peers.descent import jax_descent, torch_descent
from .report import Report, short, whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TIMES = np.linspace(0.0, 60.0, 301)
PEER_RTOL = 1e-6
OUR_RTOLS = (
    1e-3,
    3e-4,
    1e-4,
    3e-5,
    1e-5,
    3e-6,
    2e-6,
    1e-6,
    7e-7,
    5e-7,
    3e-7,
    2e-7,
    1.5e-7,
    1e-7,
    9e-8,
    8e-8,
    1e-8,
    1e-9,
    1e-10,
)
TRUTH_RTOL = 1e-12
LEARNING_RATE, DESCENT_STEPS, TIMED_STEPS = 0.004, 15_000, 300
CAP = 900.0


def problem_of_figure_1() -> rl.Problem:
    """20 inputs, 1000 samples and their mirror images, width 500, scale 1e-8, ReLU."""
    network = rl.Network(inputs=20, widths=(500,), alpha=0.0)
    return rl.Problem(rl.datasets.sine_teacher(), network, network.init(scale=1e-8, seed=0))


def run(folder: Path) -> dict[str, Any]:
    """Measure everything on this problem, print it and keep it."""
    report, problem = Report("figure_1", folder), problem_of_figure_1()
    truth = ours.solve(problem, TIMES, TRUTH_RTOL, CAP)
    check = scipy_solvers.dop853(problem, TIMES, TRUTH_RTOL, CAP)
    doubt = {"loss": loss_error(problem, check, truth), "weights": saved_weight_error(check, truth)}
    report.note(f"the reference and SciPy's DOP853 at rtol {TRUTH_RTOL:g} differ by {short(doubt['loss'])} in the loss, "
                f"{short(doubt['weights'])} in the weights")  # fmt: skip

    def row(attempt: Attempt) -> dict[str, Any]:
        return {
            "solver": attempt.solver,
            "rtol": attempt.rtol,
            "seconds": attempt.seconds,
            "processor": attempt.processor,
            "gradients": attempt.gradients,
            "loss_error": loss_error(problem, attempt, truth),
            "weight_error": saved_weight_error(attempt, truth),
            "last_weight_error": weight_error(attempt, truth),
        }

    solvers = (diffrax_solvers.tsit5, diffrax_solvers.dopri8, scipy_solvers.dop853)
    runs = [(solve, PEER_RTOL) for solve in solvers] + [(ours.solve, rtol) for rtol in OUR_RTOLS]
    measured = [row(a) for a in best_in_turns([partial(solve, problem, TIMES, rtol, CAP) for solve, rtol in runs])]
    peers, us = measured[: len(solvers)], measured[len(solvers) :]
    descents = descent_rows(problem, truth)
    prediction = prediction_row(problem, truth, descents[0]["seconds_a_step"])
    rows = [entry | _at_equal_error(entry, us) for entry in (*peers, *descents)]
    _show(report, rows, prediction)
    results = {"rows": rows, "ours": us, "prediction": prediction, "reference_against_scipy": doubt}
    report.save(results, work_precision_figure(us, [*peers, *descents]))
    return results


def _at_equal_error(peer: dict[str, Any], us: list[dict[str, Any]]) -> dict[str, Any]:
    """Our loosest run whose errors in loss and weights at all saved times are no larger than the peer's, and how much faster it is."""
    exact = [entry for entry in us if all(entry[error] <= peer[error] for error in ("loss_error", "weight_error"))]
    if not exact:
        return {"our_rtol": None, "our_seconds": None, "ratio": None, "processor_ratio": None}
    own, processor = exact[0], peer["processor"]
    return {
        "our_rtol": own["rtol"],
        "our_seconds": own["seconds"],
        "ratio": peer["seconds"] / own["seconds"],
        "processor_ratio": None if processor is None else processor / own["processor"],
    }


def descent_rows(problem: rl.Problem, truth: Attempt) -> list[dict[str, Any]]:
    """Gradient descent to t = 60, from the time of some steps; its error is that of the same steps taken by `descend`.

    The weights after the timed steps are held against `descend`, so that all rows descend the same loss.
    """
    run = rl.descend(problem, LEARNING_RATE, DESCENT_STEPS, record_every=DESCENT_STEPS // (len(TIMES) - 1))
    whole_run = Attempt("gradient descent", LEARNING_RATE, TIMES, ours.flat_states(run), 60.0, 0.0, DESCENT_STEPS)
    same_steps = ours.flat_states(rl.descend(problem, LEARNING_RATE, TIMED_STEPS, record_every=TIMED_STEPS))[-1]
    measured = {
        "torch descent": torch_descent(problem, LEARNING_RATE, TIMED_STEPS),
        "torch descent, float32": torch_descent(problem, LEARNING_RATE, TIMED_STEPS, torch.float32),
        "JAX scan descent": jax_descent(problem, LEARNING_RATE, TIMED_STEPS),
    }
    return [
        {
            "solver": name,
            "rtol": None,
            "seconds": DESCENT_STEPS * a_step,
            "processor": None,
            "seconds_a_step": a_step,
            "gradients": DESCENT_STEPS,
            "loss_error": loss_error(problem, whole_run, truth),
            "weight_error": saved_weight_error(whole_run, truth),
            "differs_from_descend": float(np.linalg.norm(weights - same_steps) / np.linalg.norm(same_steps)),
        }
        for name, (weights, a_step) in measured.items()
    ]


def prediction_row(problem: rl.Problem, truth: Attempt, torch_step: float) -> dict[str, Any]:
    """The two-neuron prediction of the whole run, its cost also in steps of torch descent."""
    prediction = predict(problem, TIMES, theorem="two_neurons")
    true_loss = np.array([problem.data_loss(_layers(problem, theta)) for theta in truth.states])
    seconds = best_seconds(lambda: predict(problem, TIMES, theorem="two_neurons"))
    return {
        "seconds": seconds,
        "torch_steps": seconds / torch_step,
        "loss_error": float(np.max(np.abs(prediction.loss - true_loss)) / true_loss[0]),
    }


def _layers(problem: rl.Problem, theta: Array) -> tuple[Array, ...]:
    first, second = problem.network.shapes
    return theta[: first[0] * first[1]].reshape(first), theta[first[0] * first[1] :].reshape(second)


def _show(report: Report, rows: list[dict[str, Any]], prediction: dict[str, Any]) -> None:
    report.table(
        "Figure 1 problem to t = 60, 301 saved times",
        [
            "solver",
            "rtol",
            "seconds",
            "gradients",
            "loss error",
            "weight error",
            "our rtol",
            "our seconds",
            "times ours",
            "by processor",
        ],
        [
            [
                entry["solver"],
                short(entry["rtol"]),
                short(entry["seconds"]),
                whole(entry["gradients"]),
                short(entry["loss_error"]),
                short(entry["weight_error"]),
                short(entry["our_rtol"]),
                short(entry["our_seconds"]),
                short(entry["ratio"]),
                short(entry["processor_ratio"]),
            ]
            for entry in rows
        ],
    )
    report.note(
        f"a torch step takes {1e3 * _of(rows, 'torch descent')['seconds_a_step']:.2f} ms, a JAX step "
        f"{1e3 * _of(rows, 'JAX scan descent')['seconds_a_step']:.2f} ms; the two-neuron prediction of all times takes "
        f"{1e3 * prediction['seconds']:.2f} ms ({prediction['torch_steps']:.2f} torch steps), "
        f"loss error {prediction['loss_error']:.1e}"
    )


def _of(rows: list[dict[str, Any]], solver: str) -> dict[str, Any]:
    return next(entry for entry in rows if entry["solver"] == solver)


@paper
def work_precision_figure(us: list[dict[str, Any]], others: list[dict[str, Any]]) -> Figure:
    """Error of the loss curve against seconds."""
    figure, (ax,) = panels(6.4, 3.6)
    curve = [(entry["seconds"], entry["loss_error"]) for entry in us]
    ax.plot(*zip(*curve, strict=True), "o-", color=colour(0), label=ours.NAME)
    for k, entry in enumerate(others, 1):
        ax.plot(entry["seconds"], entry["loss_error"], "s", color=colour(k), label=entry["solver"])
    ax.set(xscale="log", yscale="log", xlabel="seconds", ylabel="largest error of the loss")
    legend_beside(ax)
    return figure
