"""Data that make flows as stiff as rounding allows: runs end, keep their tolerance and say how large their error is."""

from typing import Any

import numpy as np
import pytest

from rectilinear import Dataset, Network, Problem, Status, Trajectory, simulate


def nearly_one_sample(rng: np.random.Generator) -> tuple[Any, Any]:
    """Labels that disagree where inputs agree to seven digits: weights grow to 1e6, and h |J| to 1e9."""
    return rng.standard_normal(5) + 1e-7 * rng.standard_normal((5, 5)), 5e5 * rng.standard_normal(5)


def rows_of_all_lengths(rng: np.random.Generator) -> tuple[Any, Any]:
    """Lengths from 1e-3 to 1e3 and labels of 1e6: eigenvalues of the Jacobian from 1 to 1e14."""
    return rng.standard_normal((8, 4)) * 10.0 ** rng.uniform(-3, 3, (8, 1)), 1e6 * rng.standard_normal(8)


def assert_right(problem: Problem, times: list[float]) -> None:
    run, tight = simulate(problem, times), simulate(problem, times, rtol=1e-11)
    assert run.status is tight.status is Status.FINISHED
    assert run.audit.energy_residual is not None
    assert run.audit.weight_error is not None
    assert run.audit.energy_residual < 1e-8
    assert run.audit.weight_error < 1e-6
    assert apart(run, tight) < 1e-6


def apart(run: Trajectory, other: Trajectory) -> float:
    """The largest distance of weights at a saved time, as a share of their size."""
    ours, theirs = (np.concatenate([w.reshape(len(r.times), -1) for w in r.weights], axis=1) for r in (run, other))
    return float((np.linalg.norm(ours - theirs, axis=1) / np.linalg.norm(theirs, axis=1)).max())


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_labels_that_disagree_on_nearly_one_sample(seed: int) -> None:
    """An inverse of Woodbury's matrix keeps no digit here, and Newton's steps shrank to nothing."""
    net = Network(5, (2,), alpha=1.0)
    data = Dataset(*nearly_one_sample(np.random.default_rng(seed)))
    assert_right(Problem(data, net, net.init(scale=0.01, seed=seed, start="balanced")), [0.0, 100.0, 1000.0])


@pytest.mark.parametrize("seed", [7, 9])
def test_rows_of_all_lengths(seed: int) -> None:
    """Rounding of large outputs moves no neuron, as what changes outputs is stiff; taken for a limit of Newton's it left 1e-4."""
    net = Network(4, (6,), alpha=0.2)
    data = Dataset(*rows_of_all_lengths(np.random.default_rng(seed)))
    assert_right(Problem(data, net, net.init(scale=0.1, seed=seed)), [0.0, 0.01, 0.1])


@pytest.mark.parametrize("seed", [23, 108, 219])
def test_a_flow_that_still_moves_is_not_at_rest(seed: int) -> None:
    """All its drives are such as rounding could make; but that makes drives in stiff directions, where it moves nothing.

    Runs rested at times that hung on rtol: weights differed by 0.4, 2e-5 and 9e-6.
    """
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((7, 3)) * 10.0 ** rng.uniform(-3, 3, (7, 1)), 1e6 * rng.standard_normal(7)
    net = Network(3, (3,))
    assert_right(Problem(Dataset(x, y), net, net.init(scale=0.1, seed=seed)), [0.0, 0.01, 1.0, 50.0])


@pytest.mark.parametrize("seed", [0, 2])
def test_a_run_does_not_rest_at_its_very_start(seed: int) -> None:
    """Drives of large weights that rounding could make: runs rested at t = 0, where a step as long as the way so far moves nothing.

    The pulls cancel in stiff directions, as they do after a while; the loss falls to a half and to a fiftieth of what it was.
    """
    rng = np.random.default_rng(seed)
    x, theta = rng.standard_normal((8, 3)) * np.geomspace(1e-3, 1e3, 8)[:, None], 1e5 * rng.standard_normal((4, 4))
    net, weights = Network(3, (4,), alpha=0.999), (theta[:, :3], theta[None, :, 3])
    seen = np.where(theta[:, :3] @ x.T > 0.0, 1.0, 0.999)[:, :, None] * x
    slopes = np.concatenate([theta[:, 3, None, None] * seen, seen @ theta[:, :3, None]], axis=2)
    axes = np.linalg.eigh(np.einsum("eij,emj->im", slopes, slopes))[1][:, :5]
    y = net.output(weights, x) + axes @ axes.T @ (240.0 * rng.standard_normal(8))
    run, tight = (simulate(Problem(Dataset(x, y), net, weights), [0.0, 10.0], rtol=rtol) for rtol in (1e-9, 1e-10))
    assert run.loss[-1] < 0.6 * run.loss[0]
    assert apart(run, tight) < 1e-9


@pytest.mark.parametrize("seed", [21, 22])
def test_steps_are_as_long_as_errors_allow_where_stiff_directions_turn(seed: int) -> None:
    """With the Jacobian of a step's start Newton made more than 6,000 steps of either, and got to t = 1."""
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((6, 3)) * 10.0 ** rng.uniform(-3, 3, (6, 1)), 1e6 * rng.standard_normal(6)
    net = Network(3, (4,), alpha=0.9)
    problem, times = Problem(Dataset(x, y), net, net.init(scale=0.1, seed=seed)), [0.0, 0.01, 1.0, 50.0]
    assert_right(problem, times)
    assert simulate(problem, times, max_steps=2_000).status is Status.FINISHED


def two_nearly_one(seed: int, last_digits: int = 0) -> Problem:
    """Labels differ by 1e6 on samples 4e-7 apart: directions with rates of 1e12 are excited by events at t = 25 or later."""
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal(8) + 1e-7 * rng.standard_normal((2, 8)), 1e6 * rng.standard_normal(2)
    net, shaken = Network(8, (21,), alpha=0.999), np.random.default_rng(last_digits)
    weights = tuple(layer * (1.0 + 1e-15 * shaken.standard_normal(layer.shape)) for layer in net.init(scale=1e-8, seed=seed))
    return Problem(Dataset(x, y), net, weights)


@pytest.mark.parametrize("seed", [0, 3, 12])
def test_what_an_event_excites_settles_faster_than_the_clock_can_tell(seed: int) -> None:
    """Runs were STUCK where it did."""
    problem, times = two_nearly_one(seed), [0.0, 50.0, 200.0]
    run, tight = simulate(problem, times), simulate(problem, times, rtol=1e-11)
    assert run.status is tight.status is Status.FINISHED
    assert apart(run, tight) < 1e-6  # what is asked of degenerate data


def test_landing_on_kinks_does_not_let_neurons_go() -> None:
    """Weights of 1e6 land on a kink up to 1e-13 of their size, which moves outputs by more than is left of the residuals.

    Held neurons were let go for that without end, or approached their kink together and never got there, as last digits would have it.
    """
    runs = [simulate(two_nearly_one(4, last_digits), [0.0, 50.0, 200.0], max_steps=5_000) for last_digits in range(6)]
    assert all(run.status is Status.FINISHED for run in runs)
    assert max(apart(run, runs[0]) for run in runs) < 1e-8


@pytest.mark.parametrize("seed", [0, 3])
def test_rounding_does_not_limit_steps(seed: int) -> None:
    """Where Newton ends at rounding, the rate at which that goes on kept steps from growing: 6,619 and 1,362 of them."""
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((20, 4)), 1e6 * rng.standard_normal(20)
    net = Network(4, (1,), alpha=0.01)
    problem = Problem(Dataset(x, y), net, net.init(scale=1e-8, seed=seed, start="balanced"))
    tight, run = simulate(problem, [0.0, 600.0], rtol=1e-11, max_steps=500), simulate(problem, [0.0, 600.0])
    assert tight.status is Status.FINISHED
    assert run.audit.weight_error is not None
    assert apart(run, tight) < run.audit.weight_error < 1e-7
