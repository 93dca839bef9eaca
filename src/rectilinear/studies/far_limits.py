"""Orthogonally separable data: how close to the max-margin limit a run of 10^10,000,000 time units comes, and how fast."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..datasets import orthogonally_separable
from ..kept_kernels import kept
from ..measures.limit_distance import Approach, approach, limit_distance
from ..plots import style
from ..problem import Problem
from ..reduced.class_limit import class_limit
from .problems import far_run, trained_problem
from .study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SCALE = 1e-3
FAR = (1e5, 1e7)  # log10 t
LEARNING_RATE = 0.5
RATE_TIMES = np.geomspace(1e2, 1e7, 21)  # log10 t
SOURCE = "Phuong & Lampert 2021, main result"


def random_problem(seed: int) -> Problem:
    """d from 2 to 10, n from 6 to 40, width from 10 to 100, weights of size 1e-3, logistic loss."""
    rng = np.random.default_rng([1, seed])
    inputs, samples, width = int(rng.integers(2, 11)), int(rng.integers(6, 41)), int(rng.integers(10, 101))
    return trained_problem(orthogonally_separable(samples=samples, inputs=inputs, seed=seed), width, SCALE, seed)


def far_limits(problems: int = 20, descent_steps: int = 1_000_000) -> Study:
    """1 - cos of every surviving neuron to the max-margin direction of its class, by the flow far out and by plain descent."""
    far_run(random_problem(0), [10.0])  # compiles
    angles, norms, descended, seconds = [], [], [], []
    for seed in range(problems):
        problem = random_problem(seed)
        limit = class_limit(problem.data)
        began = time.process_time()
        run = far_run(problem, FAR)
        seconds.append(time.process_time() - began)
        distances = [limit_distance(run.weights_at(k), problem.data, limit) for k in range(len(FAR))]
        angles.append([distance.angle for distance in distances])
        norms.append([distance.norms for distance in distances])
        first, second = problem.weights[0].copy(), problem.weights[1][0].copy()
        plain_descent(first, second, problem.x, problem.y, LEARNING_RATE, descent_steps)
        descended.append(limit_distance((first, second[None]), problem.data, limit).angle)
    far, plain = np.array(angles), np.array(descended)
    finding = (
        f"On {problems} random orthogonally separable problems the worst surviving neuron is within 1 - cos = "
        f"{far[:, 0].max():.1e} (median {np.median(far[:, 0]):.1e}) of its class's max-margin direction at t = 10^100,000 and "
        f"within {far[:, 1].max():.1e} at t = 10^10,000,000; {np.sum(far[:, 0] < 1e-5)} of {problems} problems are below 1e-5 "
        f"at the first of the two, and the norms |u| and |z| of the limit hold to {np.array(norms)[:, 1].max():.0e} at the "
        f"second. No run takes {math.ceil(max(seconds))} s. Plain gradient descent of {descent_steps:,} steps of size "
        f"{LEARNING_RATE:g} gets to {plain.max():.1e} (median {np.median(plain):.1e}), {np.median(plain / far[:, 0]):.0f} times "
        "as far from the limit (median)."
    )
    numbers = {
        "angle": (("problem", "far_time"), far),
        "norm_error": (("problem", "far_time"), np.array(norms)),
        "descent_angle": (("problem",), plain),
        "seconds": (("problem",), np.array(seconds)),
    }
    return Study(
        name="far_limits",
        question="How close to the max-margin limit does training come, by the flow far out and by plain descent?",
        source=SOURCE,
        finding=finding,
        numbers=numbers,
        draw=partial(_draw_far_limits, far, plain, descent_steps),
    )


@kept()
def plain_descent(first: Array, second: Array, x: Array, y: Array, rate: float, steps: int) -> None:
    """Gradient descent of a two-layer ReLU network on the logistic loss, in place, with nothing else in the loop: a million steps
    take seconds."""
    turned = x.T.copy()
    for _ in range(steps):
        heights = np.dot(first, turned)
        outputs = np.dot(second, np.maximum(heights, 0.0))
        pulls = rate / len(y) * y / (1.0 + np.exp(y * outputs))
        drive = np.dot(np.where(heights > 0.0, pulls, 0.0), x)
        growth = np.sum(drive * first, axis=1)
        first += second.reshape(-1, 1) * drive
        second += growth


@style.paper
def _draw_far_limits(far: Array, plain: Array, steps: int) -> Figure:
    figure, (ax,) = style.panels(6.0, 3.0)
    order = np.argsort(plain)
    flows = [(far[:, k], f"flow, t = 10^{FAR[k]:,.0f}") for k in range(far.shape[1])]
    for k, (values, label) in enumerate([(plain, f"descent, {steps:,} steps"), *flows]):
        ax.semilogy(values[order], "o", markersize=4, color=style.colour(k), label=label)
    ax.set(xlabel="problem, by what descent reaches", ylabel="largest 1 - cos to the limit", xticks=())
    style.legend_beside(ax)
    return figure


def limit_rates(seed: int = 0) -> Study:
    """Distance to the limit against ln t on one problem, with fitted exponents."""
    run = far_run(random_problem(seed), RATE_TIMES)
    course = approach(run)
    shown = {
        "angle of the worst neuron": "angle",
        "distance of W/|W|": "first",
        "norms |u|, |z|": "norms",
        "normalised margin": "margin",
    }
    exponents = {name: course.exponents[part] for name, part in shown.items()}
    listed = ", ".join(f"{name} {exponent:.3f}" for name, exponent in exponents.items())
    finding = (
        f"Fitted over ln t from {course.log_t[0]:.0f} to {course.log_t[-1]:.1e} the exponents of ln t are: {listed}. Angles fall "
        "like (ln t)^(-1/2), because the part of a neuron off its class's direction stays bounded while the neuron grows like "
        f"the square root of ln t; norms and margins fall like 1/ln t. At the end |u| and |z| are right to {course.norms[-1]:.0e}."
    )
    series = {part: (("time",), getattr(course, part)) for part in shown.values()}
    return Study(
        name="limit_rates",
        question="How fast do angles, norms and margins approach the limit?",
        source=SOURCE,
        finding=finding,
        numbers={
            "log10_time": (("time",), run.log10_times),
            **series,
            "exponent": (("curve",), np.array(list(exponents.values()))),
        },
        draw=partial(_draw_rates, course, shown, exponents),
    )


@style.paper
def _draw_rates(course: Approach, shown: dict[str, str], exponents: dict[str, float]) -> Figure:
    figure, (ax,) = style.panels(6.4, 3.0)
    for k, (name, part) in enumerate(shown.items()):
        label = f"{name}: {exponents[name]:.2f}"
        ax.loglog(course.log_t, getattr(course, part), "o-", markersize=3, color=style.colour(k), label=label)
    ax.set(xlabel="ln t", ylabel="distance to the limit")
    style.legend_beside(ax)
    return figure
