"""Theorem 5: aligned networks on symmetric data are linear ones in slower time; broken hypotheses part the two."""

import numpy as np
import pytest

import rectilinear as rl
from rectilinear.theorems import predict
from rectilinear.theorems.symmetric_data import linear_twin
from symmetric_problems import aligned_problem, integrated, random_problem, symmetric_data

TIMES = np.linspace(0.0, 30.0, 16)
AGREEMENT = 1e-9  # what the theorem must reach against simulation; the simulation's own error is about 1e-11
EXACT_STEPS = 1e-12  # two gradient descents that take the same steps differ by rounding
CASES = [(loss, white, alpha) for loss in ("square", "logistic") for white in (False, True) for alpha in (0.0, 0.3, 0.7)]


def distance(one, other):
    return max(np.abs(a - b).max() for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("l2", [0.0, 0.05])
@pytest.mark.parametrize(("loss", "white", "alpha"), [*CASES, ("exponential", False, 0.3)])
def test_weights_and_function_agree_with_simulation(loss, white, alpha, l2):
    problem = aligned_problem(loss, white, alpha, l2)
    told = predict(problem, TIMES, theorem="symmetric_data")
    run = rl.simulate(problem, TIMES, method="smooth", rtol=1e-13)
    assert distance(told.weights, run.weights) < AGREEMENT
    assert np.abs(told.outputs() - run.outputs()).max() < AGREEMENT
    assert np.abs(told.linear_map - run.linear_map).max() < AGREEMENT
    assert np.abs(told.loss - run.loss).max() < AGREEMENT
    assert told.neglected is None


def test_agrees_with_an_integration_that_is_neither_theorem_nor_flow():
    problem = aligned_problem(alpha=0.3)
    told = predict(problem, TIMES)
    assert told.theorem == "symmetric_data"
    assert distance(told.weights, integrated(problem, TIMES)) < AGREEMENT


@pytest.mark.parametrize("ratio", [0.2, 4.0])
def test_layers_of_unequal_norm_are_covered(ratio):
    problem = aligned_problem(alpha=0.3, scale=0.1)
    unbalanced = problem.with_weights((ratio * problem.weights[0], problem.weights[1]))
    told = predict(unbalanced, TIMES, theorem="symmetric_data")
    assert distance(told.weights, integrated(unbalanced, TIMES)) < AGREEMENT


def test_large_starts_are_covered():
    problem = aligned_problem(scale=2.0)
    told = predict(problem, TIMES, theorem="symmetric_data")
    assert distance(told.weights, integrated(problem, TIMES)) < AGREEMENT


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_the_linear_twin_runs_the_same_course_in_scaled_time(loss):
    problem = aligned_problem(loss, alpha=0.3, l2=0.05)
    c = 0.65
    twin = rl.simulate(linear_twin(problem), c * TIMES, method="smooth", rtol=1e-13)
    told = predict(problem, TIMES)
    assert distance(told.weights, [layer / np.sqrt(c) for layer in twin.weights]) < AGREEMENT


def test_a_twin_with_the_same_decay_parts():
    """The twin needs l2/c: with l2 itself it is visibly another network."""
    problem = aligned_problem(alpha=0.0, l2=0.05)
    twin = linear_twin(problem)
    same_decay = rl.Problem(twin.data, twin.network, twin.weights, twin.loss, problem.l2)
    maps = predict(same_decay, 0.5 * TIMES).linear_map
    assert np.abs(maps - predict(problem, TIMES).linear_map).max() > 0.01


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_gradient_descent_takes_the_twins_steps(loss):
    problem = aligned_problem(loss, alpha=0.3, scale=0.3)
    c = 0.65
    steps = rl.descend(problem, learning_rate=0.05, steps=200, record_every=50)
    twin = rl.descend(linear_twin(problem), learning_rate=0.05 * c, steps=200, record_every=50)
    assert distance(steps.weights, [layer / np.sqrt(c) for layer in twin.weights]) < EXACT_STEPS


def batch_descent(problem, rate, batches):
    weights = problem.weights
    for batch in batches:
        part = rl.Problem(rl.Dataset(problem.data.x[batch], problem.data.y[batch]), problem.network, weights, problem.loss)
        weights = tuple(w - rate * g for w, g in zip(weights, part.gradient(weights), strict=True))
    return weights


@pytest.mark.parametrize("mirrored", [True, False])
def test_mini_batches_take_the_twins_steps_if_they_are_mirrored(mirrored):
    problem = aligned_problem(alpha=0.0, scale=0.3)
    rng = np.random.default_rng(0)
    pairs = problem.data.samples // 2
    halves = [rng.choice(pairs, 5, replace=False) for _ in range(100)]
    batches = [np.concatenate([half, half + pairs]) if mirrored else half for half in halves]
    network = batch_descent(problem, 0.05, batches)
    twin = batch_descent(linear_twin(problem), 0.025, batches)
    gap = distance(network, [layer / np.sqrt(0.5) for layer in twin])
    assert gap < EXACT_STEPS if mirrored else gap > 1e-3


class TestBrokenHypotheses:
    """Exactly one hypothesis fails: the theorem refuses, and the forced prediction is visibly wrong."""

    PARTED = 0.01

    def gap(self, problem):
        told = predict(problem, TIMES, theorem="symmetric_data", force=True)
        assert told.forced
        run = rl.simulate(problem, TIMES, rtol=1e-6)
        return np.abs(told.loss - run.loss).max(), {finding.name for finding in told.failed}

    def test_uneven_inputs(self):
        problem = aligned_problem(scale=0.1)
        data = problem.data
        partly_mirrored = rl.Dataset(data.x[:40], data.y[:40])  # ten of thirty samples keep their mirror images
        gap, failed = self.gap(rl.Problem(partly_mirrored, problem.network, problem.weights))
        assert failed == {"even_inputs"}
        assert gap > self.PARTED

    def test_even_target(self):
        problem = aligned_problem(scale=0.1)
        y = problem.data.y + 0.5 * np.abs(problem.data.x[:, 0])
        gap, failed = self.gap(rl.Problem(rl.Dataset(problem.data.x, y), problem.network, problem.weights))
        assert failed == {"odd_target"}
        assert gap > self.PARTED

    def test_unequal_halves(self):
        problem = aligned_problem(scale=0.1)
        first, second = problem.weights
        louder = np.where(second > 0, 3.0, 1.0)
        gap, failed = self.gap(problem.with_weights((first * louder.T, second * louder)))
        assert failed == {"rank_one_start"}
        assert gap > self.PARTED

    def test_a_third_layer_cannot_be_forced(self):
        data = symmetric_data()
        net = rl.Network(inputs=4, widths=(5, 5))
        problem = rl.Problem(data, net, net.init(0.1, seed=0))
        with pytest.raises(rl.HypothesisError, match=r"two_layers is required; found: .*4-5-5-1.*Simulate instead\.$"):
            predict(problem, TIMES, theorem="symmetric_data", force=True)


def test_the_even_part_it_neglects_from_random_weights_is_the_simulated_one():
    problem = random_problem(width=60)
    told = predict(problem, TIMES, theorem="symmetric_data", force=True)
    run = rl.simulate(problem, TIMES, method="smooth", rtol=1e-11)
    even = [problem.network.even_part(run.weights_at(k), problem.data.x) for k in range(len(TIMES))]
    rms = np.sqrt(np.mean(np.square(even), axis=1))
    assert rms.max() > 1e-3  # there is something to neglect
    np.testing.assert_allclose(told.neglected, rms, atol=1e-6)


def test_final_weight_error_from_random_weights_is_the_imbalance_of_the_halves():
    """Fig. 1b: the end error of the weights is 2 |sin((phi - pi/4)/2)|, tan phi = |r1-|/|r1+|."""
    late = np.array([0.0, 400.0])
    for seed in (0, 1):
        problem = random_problem(white=True, width=60, seed=seed)
        beta = problem.data.correlation
        r1 = (problem.weights[0] @ beta / np.linalg.norm(beta) + problem.weights[1][0]) / 2
        phi = np.arctan2(np.linalg.norm(r1[r1 < 0]), np.linalg.norm(r1[r1 > 0]))
        told = predict(problem, late, theorem="symmetric_data", force=True)
        run = rl.simulate(problem, late, method="smooth", rtol=1e-9)
        for ours, theirs in zip(told.weights, run.weights, strict=True):
            error = np.linalg.norm(ours[-1] - theirs[-1]) / np.linalg.norm(theirs[-1])
            assert error == pytest.approx(2.0 * abs(np.sin((phi - np.pi / 4) / 2)), rel=1e-3)
