"""Orthogonally separable data: predicted runs, classes of neurons and limits against the simulated flow."""

from __future__ import annotations

import numpy as np
import pytest

import rectilinear as rl
from rectilinear.errors import HypothesisError, InputError
from rectilinear.measures.limit_distance import approach, limit_distance
from rectilinear.reduced.class_limit import certain_classes, class_limit, neuron_classes
from rectilinear.theorems import named_theorem, predict

THEOREM = "class_max_margin"


def random_problem(seed, scale=1e-5, loss="logistic"):
    rng = np.random.default_rng(seed)
    inputs, samples, width = int(rng.integers(2, 11)), int(rng.integers(6, 41)), int(rng.integers(10, 61))
    data = rl.datasets.orthogonally_separable(samples=samples, inputs=inputs, seed=seed)
    net = rl.Network(inputs, (width,))
    return rl.Problem(data, net, net.init(scale, seed=seed), loss=loss)


def alive(weights, x):
    """Neurons that are active on some sample, up to rounding."""
    first = weights[0]
    sizes = np.outer(np.linalg.norm(first, axis=1), np.linalg.norm(x, axis=1))
    return (first @ x.T > 1e-10 * sizes).any(axis=1)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_the_network_is_two_linear_networks(seed, loss):
    problem = random_problem(seed, loss=loss)
    times = np.array([0.0, 5.0, 20.0, 80.0])
    predicted = predict(problem, times, theorem=THEOREM)
    run = rl.simulate(problem, times)
    # from weights of size 1e-5 the error is of the order of what the early phase neglects, 1e-5 and its square in the loss
    assert np.abs(predicted.loss - run.loss).max() < 1e-7
    for one, other in zip(predicted.weights, run.weights, strict=True):
        assert np.abs(one - other).max() < 1e-5
    assert predicted.statistics["sub-networks"] == 2


@pytest.mark.parametrize("seed", range(4))
def test_limit(seed):
    problem = random_problem(seed)
    run = rl.simulate(problem, log10_times=[1e5, 1e6])
    limit = class_limit(problem.data)
    early, late = (limit_distance(run.weights_at(k), problem.data, limit) for k in range(2))
    assert late.angle < 1e-5
    assert late.norms < 1e-6
    assert late.first < 1e-3
    # first falls like (ln t)^(-1/2), angle and margins like 1 / ln t
    assert late.first / early.first == pytest.approx(10**-0.5, rel=0.05)
    assert late.angle / early.angle == pytest.approx(0.1, rel=0.05)
    shortfall = 1 - run.normalised_margins.min(axis=1) / limit.normalised_margin
    assert 0 < shortfall[1] < 1e-6
    assert shortfall[1] / shortfall[0] == pytest.approx(0.1, rel=0.05)


def test_the_limit_is_approached_with_the_powers_of_theory():
    run = rl.simulate(random_problem(2), log10_times=np.geomspace(1e5, 1e7, 5))
    course = approach(run)
    powers = course.exponents
    assert powers["angle"] == pytest.approx(-0.5, abs=0.01)
    assert powers["first"] == pytest.approx(-0.5, abs=0.01)
    assert powers["norms"] == pytest.approx(-1.0, abs=0.02)
    assert powers["margin"] == pytest.approx(-1.0, abs=0.02)
    last = limit_distance(run.final, run.problem.data, class_limit(run.problem.data))
    assert course.angle[-1] == pytest.approx(np.sqrt(2 * last.angle))
    assert (course.first[-1], course.norms[-1]) == (last.first, last.norms)


@pytest.mark.parametrize("seed", range(6))
def test_neurons_join_the_predicted_class(seed):
    problem = random_problem(seed)
    run = rl.simulate(problem, log10_times=[100.0])
    joined = np.where(alive(run.final, problem.x), np.sign(run.final[1][0]), 0.0)
    np.testing.assert_array_equal(neuron_classes(problem), joined)
    certain = certain_classes(problem)
    known = ~np.isnan(certain)
    assert known.any()
    np.testing.assert_array_equal(certain[known], joined[known])


def test_certain_classes_hold_from_large_weights_too():
    for seed in range(3):
        data = rl.datasets.orthogonally_separable(samples=8, inputs=3, seed=seed)
        net = rl.Network(3, (12,))
        problem = rl.Problem(data, net, net.init(3.0, seed=seed), loss="logistic")
        run = rl.simulate(problem, log10_times=[1e3])
        joined = np.where(alive(run.final, problem.x), np.sign(run.final[1][0]), 0.0)
        certain = certain_classes(problem)
        known = ~np.isnan(certain)
        np.testing.assert_array_equal(certain[known], joined[known])


def test_shares_solve_their_equations():
    limit = class_limit(rl.datasets.orthogonally_separable(10, 4, seed=3))
    (plus, minus), (u, z) = limit.lengths, limit.shares
    # |W/|W|_F| = 1, |a/|a|| = 1 and equal margins of both classes
    assert (u * plus) ** 2 + (z * minus) ** 2 == pytest.approx(1)
    assert u**2 * plus == pytest.approx(z**2 * minus)


def test_the_limit_is_at_no_distance_from_itself():
    data = rl.datasets.orthogonally_separable(10, 4, seed=3)
    limit = class_limit(data)
    u = limit.shares[0] * np.array([0.6, 0.8, 0.0])
    z = limit.shares[1] * np.array([0.0, 0.0, 1.0])
    first = 7.0 * (np.outer(u, limit.positive.w) + np.outer(z, limit.negative.w))
    second = 3.0 * (u * limit.lengths[0] - z * limit.lengths[1])
    distance = limit_distance((first, second[None]), data, limit)
    assert max(distance.first, distance.norms, distance.angle) < 1e-12
    turned = limit_distance((first[::-1], second[None]), data, limit)
    assert min(turned.first, turned.angle) > 0.1


def test_infinity_is_predicted():
    problem = random_problem(1)
    prediction = predict(problem, [1.0, np.inf])
    assert prediction.theorem == THEOREM
    assert prediction.loss[1] == 0.0
    assert np.isnan(prediction.weights[0][1]).all()
    assert prediction.statistics["certificate"] < 1e-10


class TestRefusals:
    def data(self, **changes):
        base = rl.datasets.orthogonally_separable(6, 2, seed=0)
        return rl.Dataset(changes.get("x", base.x), changes.get("y", base.y))

    def refused(self, data, match, alpha=0.0, width=4, scale=1e-5):
        net = rl.Network(data.inputs, (width,), alpha=alpha)
        with pytest.raises(HypothesisError, match=match):
            predict(rl.Problem(data, net, net.init(scale, seed=0), loss="logistic"), [1.0], theorem=THEOREM)

    def test_leaky(self):
        self.refused(self.data(), "neurons of one class also see the other", alpha=0.2)

    def test_large_start(self):
        self.refused(self.data(), "small_start is required", scale=1.0)

    def test_one_class(self):
        data = self.data()
        one = data.y > 0
        self.refused(rl.Dataset(data.x[one], data.y[one]), "the smaller class has 0 sample")
        with pytest.raises(InputError, match="needs samples of both classes, found none with label -1"):
            class_limit(rl.Dataset(data.x[one], data.y[one]))
        with pytest.raises(InputError, match=r"found none with label \+1"):
            class_limit(rl.Dataset(data.x[~one], data.y[~one]))

    def test_not_orthogonally_separable(self):
        self.refused(
            rl.Dataset([[1.0, 0.0], [1.0, 1.0]], [1.0, -1.0]), "orthogonally_separable is required.*sample 0 and sample 1"
        )

    def test_a_class_without_neurons(self):
        data = rl.Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0])
        net = rl.Network(2, (1,))
        problem = rl.Problem(data, net, ([[1e-4, 1e-4]], [[2e-4]]), loss="logistic")
        with pytest.raises(HypothesisError, match=r"0 neuron.s. join the class with fewer"):
            predict(problem, [1.0], theorem=THEOREM)

    def test_other_labels(self):
        with pytest.raises(InputError, match="labels must be -1 or \\+1, found 2"):
            class_limit(rl.Dataset([[1.0, 0.0], [0.0, 1.0]], [2.0, -1.0]))

    def test_a_class_that_no_line_bounds(self):
        with pytest.raises(InputError, match="a maximum margin needs labels that some hyperplane"):
            class_limit(rl.Dataset([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [1.0, 1.0, -1.0]))

    def test_the_square_loss(self):
        net = rl.Network(2, (4,))
        problem = rl.Problem(self.data(), net, net.init(1e-5, seed=0))
        with pytest.raises(HypothesisError, match="falling_loss is required"):
            named_theorem(THEOREM).predict(problem, np.array([1.0]))
