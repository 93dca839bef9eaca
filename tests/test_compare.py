"""Comparisons of trajectories whose errors are known by construction."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import rectilinear as rl
from rectilinear.compare import compare
from rectilinear.prediction import Prediction
from rectilinear.trajectory import Status, Trajectory

DATA = rl.Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0])
NET = rl.Network(inputs=2, widths=(1,), alpha=1.0)
START = ([[1.0, 0.0]], [[2.0]])
TIMES = np.array([0.0, 1.0, 2.0, 4.0])


def problem(**changes):
    parts = {"data": DATA, "network": NET, "weights": START, "loss": "square", "l2": 0.0} | changes
    return rl.Problem(**parts)


def run_of(loss, maps=None, times=TIMES, changes=None):
    """A run whose function at time k is maps[k] . x, through a linear network of one neuron."""
    count = len(times)
    maps = np.ones((count, 2)) if maps is None else np.asarray(maps, dtype=float)
    return Trajectory(
        problem(**changes or {}), np.asarray(times), np.asarray(loss), (maps[:, None, :], np.ones((count, 1, 1)))
    )


def prediction_of(loss, maps=None, times=TIMES):
    maps = None if maps is None else np.asarray(maps, dtype=float)
    return Prediction(problem(), np.asarray(times), np.asarray(loss), (), predicted_map=maps, theorem="a theorem")


def test_errors_of_loss_and_function_by_hand():
    run = run_of([1.0, 0.5, 0.25, 0.0], maps=[[0, 0], [1, 1], [2, 0], [0, 2]])
    prediction = prediction_of([1.0, 0.6, 0.2, 0.0], maps=[[0, 0], [1, 1], [2, 1], [3, 2]])
    comparison = compare(prediction, run)
    np.testing.assert_allclose(comparison.times, TIMES)
    np.testing.assert_allclose(comparison.loss_error, [0.0, 0.1, 0.05, 0.0], atol=1e-15)
    np.testing.assert_allclose(comparison.relative_loss_error, [0.0, 0.2, 0.2, 0.0], atol=1e-15)
    # on the inputs e1 and e2 the function is its map: errors (0, 0), (0, 0), (0, 1), (3, 0)
    np.testing.assert_allclose(comparison.function_error, np.array([0.0, 0.0, 1.0, 3.0]) / math.sqrt(2))
    np.testing.assert_allclose(comparison.relative_function_error, [0.0, 0.0, 0.5, 1.5])


def test_a_loss_that_vanishes_in_the_run_alone_is_infinitely_wrong():
    comparison = compare(prediction_of([1.0, 0.0], times=TIMES[:2]), run_of([1.0, 0.0], times=TIMES[:2]))
    assert comparison.relative_loss_error.tolist() == [0.0, 0.0]
    comparison = compare(prediction_of([1.0, 0.1], times=TIMES[:2]), run_of([1.0, 0.0], times=TIMES[:2]))
    assert comparison.relative_loss_error.tolist() == [0.0, math.inf]


def test_where_they_part():
    run = run_of([1.0, 1.0, 1.0, 1.0], maps=np.ones((4, 2)))
    prediction = prediction_of([1.0, 1.02, 0.9, 1.0], maps=[[1, 1], [1, 1], [1, 1], [3, 3]])
    comparison = compare(prediction, run)
    assert comparison.diverges_at(0.01) == 1.0
    assert comparison.diverges_at(0.05) == 2.0
    assert comparison.diverges_at(0.2) is None
    assert comparison.diverges_at(0.05, error="loss_error") == 2.0
    assert comparison.diverges_at(1.0, error="relative_function_error") == 4.0
    assert comparison.diverges_at(2.5, error="function_error") is None


def test_a_prediction_that_is_not_a_number_has_parted():
    run = run_of([1.0, 1.0, 1.0, 1.0])
    assert compare(prediction_of([1.0, 1.0, math.nan, 1.0]), run).diverges_at(0.5) == 2.0


def test_two_simulations_can_be_compared():
    data = rl.datasets.six_points()
    net = rl.Network(inputs=2, widths=(6,), alpha=1.0)
    task = rl.Problem(data, net, net.init(scale=0.1, seed=0))
    flow = rl.simulate(task, times=np.linspace(0.0, 2.0, 5))
    coarse, fine = (
        compare(rl.descend(task, rate, steps=round(2.0 / rate), record_every=round(0.5 / rate)), flow).loss_error.max()
        for rate in (0.02, 0.01)
    )
    assert coarse / fine == pytest.approx(2.0, abs=0.1)  # gradient descent is a first-order method


def test_a_run_that_ended_early_is_compared_while_it_lasts():
    comparison = compare(prediction_of([1.0, 1.0, 1.0, 1.0], maps=np.ones((4, 2))), run_of([1.0, 2.0], times=TIMES[:2]))
    np.testing.assert_allclose(comparison.times, [0.0, 1.0])
    np.testing.assert_allclose(comparison.relative_loss_error, [0.0, 0.5])
    assert comparison.function_error.shape == (2,)


def test_the_moment_at_which_a_run_stopped_is_not_compared():
    stopped = replace(run_of([1.0, 2.0, 3.0], times=[0.0, 1.0, 1.7]), status=Status.STATIONARY)
    np.testing.assert_allclose(compare(prediction_of(np.ones(4)), stopped).times, [0.0, 1.0])
    np.testing.assert_allclose(compare(stopped, prediction_of(np.ones(4))).times, [0.0, 1.0])
    for times in ([0.0, 1.1, 1.7], [0.7]):
        lost = replace(run_of(np.ones(len(times)), times=times), status=Status.STATIONARY)
        with pytest.raises(rl.InputError, match="must have the same times"):
            compare(prediction_of(np.ones(4)), lost)


def test_a_theorem_of_the_loss_alone_has_no_function_error():
    comparison = compare(prediction_of([1.0, 1.0, 1.0, 1.0]), run_of([1.0, 1.0, 1.0, 1.0]))
    assert comparison.function_error is None
    assert comparison.relative_function_error is None
    assert "not compared: one of the two predicts the loss only" in repr(comparison)
    with pytest.raises(rl.InputError, match="function_error needs the functions of both trajectories"):
        comparison.diverges_at(0.1, error="function_error")


def test_an_unknown_error_is_refused():
    comparison = compare(prediction_of(np.ones(4)), run_of(np.ones(4)))
    with pytest.raises(rl.InputError, match=r"error must be one of relative_loss_error, .* found 'size'"):
        comparison.diverges_at(0.1, error="size")


@pytest.mark.parametrize("times", [[0.0, 1.0, 2.0, 5.0], [0.0, 2.0], [0.5, 1.0, 2.0, 4.0], [0.0, 1.0, 2.0, 4.0 + 1e-9], []])
def test_times_are_never_interpolated(times):
    run = run_of(np.ones(len(times)), times=np.array(times))
    with pytest.raises(rl.InputError, match=r"must have the same times, found .* nothing is interpolated"):
        compare(prediction_of(np.ones(4)), run)


def test_infinity_is_a_time_like_any_other():
    forever = np.array([0.0, np.inf])
    comparison = compare(prediction_of([1.0, 0.0], times=forever), run_of([1.0, 0.5], times=forever))
    assert comparison.diverges_at(0.5) == np.inf


def test_times_that_differ_by_rounding_are_the_same():
    compare(prediction_of(np.ones(4)), run_of(np.ones(4), times=TIMES * (1 + 1e-15)))


@pytest.mark.parametrize(
    ("changes", "different"),
    [
        ({"data": rl.Dataset([[1.0, 0.5], [0.0, 1.0]], DATA.y)}, "inputs"),
        ({"data": rl.Dataset(DATA.x, [1.0, 1.0])}, "labels"),
        ({"network": rl.Network(inputs=2, widths=(1,), alpha=0.0)}, "networks"),
        ({"weights": ([[1.0, 0.0]], [[3.0]])}, "starting weights"),
        ({"loss": "logistic"}, "losses"),
        ({"l2": 0.1}, "l2"),
    ],
)
def test_only_one_problem_at_a_time(changes, different):
    with pytest.raises(rl.InputError, match=f"must be of one problem, found different {different}; predict"):
        compare(prediction_of(np.ones(4)), run_of(np.ones(4), changes=changes))


def test_the_card():
    run = run_of([1.0, 0.5, 0.25, 0.125], maps=np.ones((4, 2)))
    comparison = compare(prediction_of([1.0, 0.5, 0.3, 0.125], maps=[[1, 1], [1, 1], [1, 2], [1, 1]]), run)
    assert repr(comparison).splitlines() == [
        "Comparison",
        "  problem   linear 2-1-1 on data (2 samples), square loss",
        "  times     4 from 0 to 4",
        "  loss      largest error 0.05 at t = 2, largest relative error 0.2",
        "  function  largest error 0.71 at t = 2, largest relative error 0.71",
        "  diverge   loss off by 1 %: t = 2; by 10 %: t = 2",
    ]
