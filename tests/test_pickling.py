"""Whatever the package returns can be sent to other processes, and comes back equal and as frozen as it was."""

import pickle
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
import pytest

import rectilinear as rl
from rectilinear.losses import LOSSES
from rectilinear.theorems import THEOREMS

NETWORK = rl.Network(2, (12,))
TIMES = np.array([0.0, 10.0, 20.0])


def problem_with(loss="square"):
    data = rl.datasets.orthogonally_separable(6, 2)
    return rl.Problem(data, NETWORK, NETWORK.init(1e-3, seed=0), loss, l2=0.0)


def copy_of(value):
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("name", LOSSES)
def test_problems_with_every_loss(name):
    problem = problem_with(name)
    again = copy_of(problem)
    assert again.loss == problem.loss
    assert again.network == problem.network
    assert again.objective(again.weights) == problem.objective(problem.weights)
    np.testing.assert_array_equal(again.data.x, problem.data.x)
    assert (again.data.name, again.data.promises) == (problem.data.name, problem.data.promises)


def test_copies_are_frozen():
    again = copy_of(problem_with())
    for array in (again.data.x, again.data.y, *again.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


@pytest.mark.parametrize("name", THEOREMS)
def test_theorems(name):
    assert copy_of(THEOREMS[name]).hypotheses is THEOREMS[name].hypotheses


def test_runs_predictions_and_comparisons():
    problem = rl.Problem(rl.datasets.sine_teacher(inputs=2, pairs=5), NETWORK, NETWORK.init(1e-3, seed=0))
    run, prediction = rl.simulate(problem, TIMES), rl.predict(problem, TIMES)
    for original in (run, prediction, rl.descend(problem, 0.01, 3)):
        again = copy_of(original)
        assert repr(again) == repr(original)
        for mine, other in zip(again.weights, original.weights, strict=True):
            np.testing.assert_array_equal(mine, other)
    assert copy_of(prediction).findings == prediction.findings
    comparison = rl.compare(prediction, run)
    assert repr(copy_of(comparison)) == repr(comparison)


def test_long_runs_keep_their_logarithms():
    run = rl.simulate(problem_with("logistic"), log10_times=[1.0, 100.0])
    np.testing.assert_array_equal(copy_of(run).log_loss, run.log_loss)


def test_diagnoses_and_linearity():
    diagnosis = rl.diagnose(problem_with())
    assert copy_of(diagnosis).to_json() == diagnosis.to_json()
    linearity = rl.linearity(_first_input, diagnosis.problem.data.x)
    assert repr(copy_of(linearity)) == repr(linearity)


def _first_input(x):
    return x[:, 0]


def test_a_pool_of_processes_gives_what_one_process_does():
    starts = [problem_with().with_weights(NETWORK.init(1e-2, seed=seed)) for seed in range(3)]
    with ProcessPoolExecutor(2) as pool:
        apart = list(pool.map(partial(rl.simulate, times=TIMES), starts))
    for problem, run in zip(starts, apart, strict=True):
        np.testing.assert_array_equal(run.loss, rl.simulate(problem, times=TIMES).loss)
