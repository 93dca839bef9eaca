"""Small random weights on symmetric data: the width-two network against simulation, with and without its wedge."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rectilinear as rl
from rectilinear.reduced.aligned_flow import growing_part
from rectilinear.reduced.two_neuron_kernel import SquareLoss, square_velocity
from rectilinear.theorems import predict, two_neurons
from symmetric_problems import integrated, losses_of, random_problem, symmetric_data

TIMES = np.linspace(0.0, 40.0, 21)
ERROR = 1e-8  # of the loss from weights of size 1e-8, the simulation's own error included


@pytest.mark.parametrize(
    ("loss", "alpha", "l2"),
    [("square", 0.0, 0.0), ("square", 0.3, 0.02), ("square", 1.0, 0.0), ("logistic", 0.0, 0.0), ("exponential", 0.3, 0.02)],
)
def test_loss_and_function_agree_with_simulation(loss, alpha, l2):
    problem = random_problem(loss, alpha=alpha, l2=l2)
    times = TIMES if loss == "square" else 3.0 * TIMES  # classifiers leave the early phase later
    told = predict(problem, times)
    run = rl.simulate(problem, times, method="smooth", rtol=1e-13)
    assert told.theorem == "two_neurons"
    assert run.loss[-1] < 0.95 * run.loss[0]
    assert np.abs(told.loss - run.loss).max() < ERROR
    assert np.abs(told.outputs() - run.outputs()).max() < 100 * ERROR  # an error e of f costs about e^2 to e in the loss


def test_the_idealised_theory_is_far_worse():
    problem = random_problem()
    run = rl.simulate(problem, TIMES, method="smooth", rtol=1e-13)
    ideal = predict(problem, TIMES, theorem="symmetric_data", force=True)
    assert np.abs(ideal.loss - run.loss).max() > 1e-4
    assert ideal.neglected.max() > 1e-2


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_error_falls_with_the_square_of_the_scale_of_the_start(loss):
    """To first order a group's neurons act as the one that stands for it."""
    errors = []
    for scale in (1e-2, 1e-3):
        problem = random_problem(loss, scale=scale, width=10)
        run = rl.simulate(problem, 3.0 * TIMES, rtol=1e-10)
        errors.append(np.abs(predict(problem, 3.0 * TIMES, theorem="two_neurons").loss - run.loss).max())
    assert errors[0] > 50 * errors[1]


def test_full_weights_are_shares_of_the_two_neurons():
    problem = random_problem(white=True)
    told = predict(problem, np.array([0.0, 60.0]))
    run = rl.simulate(problem, np.array([0.0, 60.0]), method="smooth", rtol=1e-12)
    for ours, theirs in zip(told.weights, run.weights, strict=True):
        assert np.linalg.norm(ours[-1] - theirs[-1]) < 1e-6 * np.linalg.norm(theirs[-1])


def test_norms_of_the_layers_may_differ():
    problem = random_problem(scale=1e-6)
    for ratio in (10.0, 0.1):
        unequal = problem.with_weights((ratio * problem.weights[0], problem.weights[1]))
        run = rl.simulate(unequal, TIMES, method="smooth", rtol=1e-12)
        assert np.abs(predict(unequal, TIMES).loss - run.loss).max() < 1e-6


def test_weights_of_one_sign_leave_one_neuron():
    problem = random_problem(width=3, scale=1e-6)
    beta = problem.data.correlation
    bb = beta / np.linalg.norm(beta)
    one_sided = problem.with_weights((1e-6 * np.outer(np.ones(3), bb), 1e-6 * np.ones((1, 3))))
    told = predict(one_sided, TIMES)
    truth = losses_of(one_sided, integrated(one_sided, TIMES, rtol=1e-10))
    assert np.abs(told.loss - truth).max() < ERROR
    assert not told.small.shares[:, 1].any()


def test_the_wedge_matters_for_narrow_networks(monkeypatch):
    problem = random_problem(width=6, seed=1)
    truth = rl.simulate(problem, TIMES, method="smooth", rtol=1e-13).loss
    with_wedge = predict(problem, TIMES).loss
    for share in ("NEGLIGIBLE_WEDGE", "NEGLIGIBLE_PASSING"):
        monkeypatch.setattr(two_neurons, share, np.inf)
    without = predict(problem, TIMES).loss
    assert np.abs(with_wedge - truth).max() < ERROR
    assert np.abs(without - truth).max() > 10 * ERROR


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.3, 1.0]))
def test_compiled_velocity_agrees_with_sums_over_samples(seed, alpha):
    """The collapsed field with its wedge against the plain sums, at random states of the two neurons."""
    rng = np.random.default_rng(seed)
    problem = random_problem(alpha=alpha, l2=0.1)
    states = rng.standard_normal((2, 6))
    states[:, 4] = np.abs(states[:, 4]) * (1.0, -1.0)
    states[:, :5] /= np.linalg.norm(states[:, :5], axis=1, keepdims=True)
    _, direction = growing_part(problem)
    near = two_neurons.near_samples(problem, direction)
    data = problem.data
    mean = SquareLoss(data.correlation, data.covariance, (1 + alpha) / 2, 0.1)
    ours = square_velocity(0.0, states.ravel(), mean, near)
    plain = two_neurons._sampled_velocity(0.0, states.ravel(), problem)
    np.testing.assert_allclose(ours, plain, rtol=1e-10, atol=1e-10 * np.abs(plain).max())


def test_the_even_part_agrees_with_the_samples():
    problem = random_problem(width=6, seed=1)
    run = two_neurons.two_neuron_run(problem, TIMES)
    for state, square, loss in zip(run.states, run.even_square, run.loss, strict=True):
        weights = (state[:, :-1], state[None, :, -1])
        assert square == pytest.approx(np.mean(problem.network.even_part(weights, problem.data.x) ** 2), rel=1e-9, abs=1e-14)
        assert loss == pytest.approx(problem.data_loss(weights), abs=1e-12)


def test_infinity_is_the_least_squares_fit():
    problem = random_problem(width=60)
    told = predict(problem, [1000.0, np.inf], theorem="two_neurons")
    best = np.linalg.lstsq(problem.data.x, problem.data.y, rcond=None)[0]
    np.testing.assert_allclose(told.linear_map[-1], best, rtol=1e-10)
    assert told.loss[-1] == pytest.approx(told.loss[0], abs=1e-9)
    np.testing.assert_allclose(told.outputs()[-1], problem.data.x @ best, rtol=1e-9, atol=1e-12)


class TestBrokenHypotheses:
    PARTED = 0.01

    def gap(self, problem, times=TIMES):
        told = predict(problem, times, theorem="two_neurons", force=True)
        run = rl.simulate(problem, times, rtol=1e-6)
        return np.abs(told.loss - run.loss).max(), {finding.name for finding in told.failed}

    def test_large_start(self):
        gap, failed = self.gap(random_problem(scale=1.0))
        assert failed == {"small_start"}
        assert gap > self.PARTED

    def test_uneven_inputs(self):
        problem = random_problem(scale=1e-3)
        data = rl.Dataset(problem.data.x[:40], problem.data.y[:40])
        gap, failed = self.gap(rl.Problem(data, problem.network, problem.weights))
        assert failed == {"even_inputs"}
        assert gap > self.PARTED

    def test_even_target(self):
        problem = random_problem(scale=1e-3)
        data = rl.Dataset(problem.data.x, problem.data.y + 0.5 * np.abs(problem.data.x[:, 0]))
        gap, failed = self.gap(rl.Problem(data, problem.network, problem.weights))
        assert failed == {"odd_target"}
        assert gap > self.PARTED


def test_the_figure_one_setting_is_predicted_to_a_hundred_millionth():
    """20 inputs, 2000 samples, width 500, scale 1e-8; the reference is the network of width two, simulated on all samples."""
    data = rl.datasets.sine_teacher()
    net = rl.Network(inputs=20, widths=(500,))
    problem = rl.Problem(data, net, net.init(1e-8, seed=0))
    times = np.linspace(0.0, 60.0, 31)
    told = predict(problem, times)
    small = rl.Network(inputs=20, widths=(2,))
    start = (told.small.first[0], told.small.second[0])
    run = rl.simulate(rl.Problem(data, small, start), times, method="smooth", rtol=1e-12)
    assert np.abs(told.loss - run.loss).max() < ERROR


def test_symmetric_data_of_the_tests_hold_condition_three():
    for loss in ("square", "logistic"):
        for white in (True, False):
            data = symmetric_data(loss, white)
            assert rl.conditions.even_inputs(data).holds
            assert rl.conditions.odd_target(data).holds
