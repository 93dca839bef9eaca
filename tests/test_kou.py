"""Fixed second layer: closed runs, limits under frozen patterns and Kou et al.'s quantities, against flow and descent."""

from __future__ import annotations

import numpy as np
import pytest

import rectilinear as rl
from rectilinear import measures
from rectilinear.errors import HypothesisError, InputError
from rectilinear.measures.coefficients import decomposition, increment_ratios, last_switch, loss_slopes
from rectilinear.reduced.frozen_limit import class_pattern, frozen_limit, patterns
from rectilinear.reduced.stable_rank import stable_rank_of
from rectilinear.theorems import predict
from rectilinear.theorems.fixed_layer import logarithmic_rates


def problem_on(data, alpha, width=16, scale=0.1, loss="logistic", seed=0):
    net = rl.Network(data.inputs, (width,), alpha=alpha, trainable=(True, False))
    return rl.Problem(data, net, net.init(scale, seed=seed, start="two_class"), loss=loss)


def orthogonal_data(seed=0):
    norms = np.random.default_rng(seed).uniform(0.5, 3.0, 8)
    return rl.datasets.orthogonal(samples=8, inputs=12, norms=norms, seed=seed)


def nearly_orthogonal_data(seed=0, samples=8):
    return rl.datasets.nearly_orthogonal(samples=samples, inputs=60, constant=2.0, seed=seed)


class TestOrthogonalInputs:
    @pytest.mark.parametrize("loss", ["logistic", "exponential"])
    @pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5, 1.0])
    def test_the_closed_run_is_the_flow(self, alpha, loss):
        problem = problem_on(orthogonal_data(), alpha, scale=3.0, loss=loss)
        times = np.array([0.0, 0.5, 2.0, 10.0, 1e3, 1e5])
        predicted = predict(problem, times)
        run = rl.simulate(problem, times)
        assert predicted.theorem == "fixed_layer"
        np.testing.assert_allclose(predicted.weights[0], run.weights[0], atol=1e-7)
        np.testing.assert_allclose(predicted.loss, run.loss, rtol=1e-7)

    def test_any_second_layer(self):
        net = rl.Network(12, (5,), alpha=0.2, trainable=(True, False))
        weights = (net.init(2.0, seed=1)[0], np.array([[1.5, -0.3, 0.0, 0.7, -2.0]]))
        problem = rl.Problem(orthogonal_data(1), net, weights, loss="logistic")
        run = rl.simulate(problem, [1.0, 100.0])
        np.testing.assert_allclose(predict(problem, [1.0, 100.0]).weights[0], run.weights[0], atol=1e-7)

    @pytest.mark.parametrize("alpha", [0.0, 0.3])
    def test_far_times_and_the_limit(self, alpha):
        problem = problem_on(orthogonal_data(), alpha)
        run = rl.simulate(problem, log10_times=[100.0, 1000.0, 1e5])
        np.testing.assert_allclose(predict(problem, [1e100]).weights[0][0], run.weights[0][0], rtol=1e-7, atol=1e-6)
        goal = logarithmic_rates(problem)
        ratios = [np.abs(run.weights[0][k] / (run.log10_times[k] * np.log(10)) - goal).max() for k in (1, 2)]
        assert ratios[1] < 1e-3 * np.abs(goal).max()
        assert ratios[1] / ratios[0] == pytest.approx(0.01, rel=0.2)  # like 1 / ln t
        at_1000 = measures.stable_rank_by_sign(run)[1]
        positive = problem.weights[1][0] > 0
        np.testing.assert_allclose(at_1000, [stable_rank_of(goal[positive]), stable_rank_of(goal[~positive])], rtol=0.01)

    def test_the_pattern_formula_of_relu(self):
        problem = problem_on(orthogonal_data(2), 0.0, width=40)
        active = problem.weights[0] @ problem.x.T > 0
        for sign in (1.0, -1.0):
            own_neurons, own_samples = problem.weights[1][0] == sign / 20, problem.y == sign
            b = active[np.ix_(own_neurons, own_samples)].astype(float)
            b *= 20 / b.sum(axis=0) / np.linalg.norm(problem.x[own_samples], axis=1)
            assert stable_rank_of(logarithmic_rates(problem)[own_neurons]) == pytest.approx(stable_rank_of(b), rel=1e-12)

    def test_the_full_matrix_of_leaky_relu(self):
        data = rl.datasets.orthogonal(samples=8, inputs=12, norms=2.0, seed=0)
        full = stable_rank_of(logarithmic_rates(problem_on(data, 0.3)))
        assert full == pytest.approx(2 * (1 + 0.3**2) / (1 + 0.3) ** 2, rel=1e-12)

    def test_infinity(self):
        prediction = predict(problem_on(orthogonal_data(), 0.1), [1.0, np.inf], theorem="fixed_layer")
        assert prediction.loss[1] == 0.0
        assert np.isnan(prediction.weights[0][1]).all()

    def test_a_sample_that_no_neuron_sees_keeps_its_loss(self):
        net = rl.Network(2, (2,), trainable=(True, False))
        data = rl.Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0])
        problem = rl.Problem(data, net, ([[1.0, -1.0], [1.0, -1.0]], [[0.5, -0.5]]), loss="logistic")
        assert predict(problem, [np.inf], theorem="fixed_layer").loss[0] == pytest.approx(np.log(2) / 2)

    def test_refuses_trained_second_layers(self):
        net = rl.Network(12, (4,))
        problem = rl.Problem(orthogonal_data(), net, net.init(0.1, seed=0), loss="logistic")
        with pytest.raises(HypothesisError, match="first_layer_only is required"):
            predict(problem, [1.0], theorem="fixed_layer")


class TestNearlyOrthogonalData:
    @pytest.mark.parametrize("alpha", [0.1, 0.5])
    def test_leaky_ends_with_rank_one_and_equal_margins(self, alpha):
        problem = problem_on(nearly_orthogonal_data(), alpha)
        run = rl.simulate(problem, log10_times=[10.0, 100.0, 1000.0])
        limit = frozen_limit(problem, class_pattern(problem))
        assert limit.consistent
        assert limit.equal_margins
        np.testing.assert_array_equal(patterns(run.final, problem.x), class_pattern(problem))
        np.testing.assert_allclose(measures.stable_rank_by_sign(run)[-1], 1.0, rtol=1e-4)
        assert measures.stable_rank(run)[-1, 0] == pytest.approx(stable_rank_of(limit.first), rel=1e-3)
        distances = [limit.distance(first) for first in run.weights[0]]
        assert distances[2] / distances[1] == pytest.approx(0.1, rel=0.1)
        spread = np.ptp(run.normalised_margins, axis=1) / run.normalised_margins.mean(axis=1)
        assert spread[2] < 1e-3
        assert spread[2] / spread[1] == pytest.approx(0.1, rel=0.1)
        predicted = predict(problem, [np.inf], theorem="low_rank_bias")
        assert predicted.loss[0] == 0.0
        assert predicted.statistics["stable rank of W_+"] == pytest.approx(1.0, abs=1e-12)
        assert predicted.statistics["stable rank of W"] == pytest.approx(stable_rank_of(limit.first))

    def test_relu_freezes_with_neurons_held_and_ends_at_their_program(self):
        problem = problem_on(nearly_orthogonal_data(), 0.0)
        run = rl.simulate(problem, log10_times=[100.0, 1000.0, 1e4, 1e5])
        assert run.events.certified
        final = patterns(run.final, problem.x)
        np.testing.assert_array_equal(final, patterns(run.weights_at(2), problem.x))
        own = class_pattern(problem) > 0
        assert (final[own] != 0).all()  # on its own class a neuron is active, or silent for good
        assert (final[~own] == 0).any()  # on the other it may slide along the kink for ever
        limit = frozen_limit(problem, final)
        assert limit.consistent
        distances = [limit.distance(first) for first in run.weights[0]]
        assert distances[3] < 1e-3
        assert distances[3] / distances[2] == pytest.approx(0.1, rel=0.1)
        positive = problem.weights[1][0] > 0
        expected = [stable_rank_of(limit.first[positive]), stable_rank_of(limit.first[~positive])]
        np.testing.assert_allclose(measures.stable_rank_by_sign(run)[-1], expected, rtol=1e-3)

    def test_held_neurons_stay_held(self):
        problem = problem_on(nearly_orthogonal_data(), 0.0)
        run = rl.simulate(problem, log10_times=[1e3, 1e4])
        signs = patterns(run.final, problem.x)
        limit = frozen_limit(problem, signs)
        assert limit.holds_last
        moving = limit.first.any(axis=1)
        np.testing.assert_array_equal(~np.isnan(limit.shares), (signs == 0) & moving[:, None])
        # the drive at the limit, with those shares of the held samples, has no part along them and is the neuron itself
        pulls = limit.multipliers * problem.y
        slopes = np.where(np.isnan(limit.shares), signs > 0, limit.shares)
        drives = problem.weights[1][0][:, None] * ((slopes * pulls) @ problem.x)
        np.testing.assert_allclose(drives[moving], limit.first[moving], atol=1e-10 * np.abs(limit.first).max())
        np.testing.assert_array_equal(patterns(run.weights_at(0), problem.x), signs)

    def test_a_hold_of_the_wrong_pattern_does_not_last(self):
        problem = problem_on(nearly_orthogonal_data(), 0.0)
        signs = class_pattern(problem)
        own = int(np.flatnonzero(problem.y == np.sign(problem.weights[1][0, 0]))[0])
        signs[0, own] = 0  # the neuron is pulled towards that sample, not pushed onto its kink
        limit = frozen_limit(problem, signs)
        assert not limit.holds_last

    def test_a_sample_inside_the_others_has_a_larger_margin(self):
        # the third positive sample is twice the sum of the first two: it is fitted by them
        x = np.eye(5)[:, :4]
        x[4] = 2 * (x[0] + x[1])
        problem = problem_on(rl.Dataset(x, [1.0, 1.0, -1.0, -1.0, 1.0]), 0.3)
        limit = frozen_limit(problem, class_pattern(problem))
        assert not limit.equal_margins
        assert limit.margins[4] > 2.0
        run = rl.simulate(problem, log10_times=[1e4])
        np.testing.assert_allclose(run.outputs()[0] * problem.y / (1e4 * np.log(10)), limit.margins, rtol=1e-2)

    def test_refusals(self):
        problem = problem_on(nearly_orthogonal_data(), 0.1)
        with pytest.raises(HypothesisError, match="it speaks of t = infinity only"):
            predict(problem, [1.0], theorem="low_rank_bias")
        uneven = rl.Problem(problem.data, problem.network, (problem.weights[0], 2 * problem.weights[1]), loss="logistic")
        with pytest.raises(HypothesisError, match="two_class_layer is required"):
            predict(uneven, [np.inf], theorem="low_rank_bias")
        correlated = problem_on(rl.Dataset([[1.0, 0.8], [0.8, 1.0]], [1.0, -1.0]), 0.1)
        with pytest.raises(HypothesisError, match="nearly_orthogonal is required"):
            predict(
                rl.Problem(correlated.data, correlated.network, correlated.weights, loss="logistic"),
                [np.inf],
                theorem="low_rank_bias",
            )


class TestDecomposition:
    def test_descent_accumulates_it(self):
        problem = problem_on(nearly_orthogonal_data(), 0.1)
        run = rl.descend(problem, learning_rate=0.1, steps=50)
        x, y, a = problem.x, problem.y, problem.weights[1][0]
        rho = np.zeros((len(a), len(y)))
        squares = np.sum(x**2, axis=1)
        for k in range(50):
            first = run.weights[0][k]
            heights = first @ x.T
            slopes = np.where(heights > 0, 1.0, 0.1)
            pulls = y / (1 + np.exp(y * problem.network.output((first, problem.weights[1]), x)))
            rho += 0.1 / len(y) * a[:, None] * slopes * pulls * squares
        found = decomposition(run)
        np.testing.assert_allclose(found.rho[-1], rho, atol=1e-12)
        assert found.residual.max() < 1e-12

    @pytest.mark.parametrize("alpha", [0.0, 0.1])
    def test_signs_and_balance_at_far_times(self, alpha):
        problem = problem_on(nearly_orthogonal_data(), alpha)
        run = rl.simulate(problem, log10_times=[-np.inf, 1.0, 1e2, 1e4])
        found = decomposition(run)
        assert found.residual.max() < 1e-12
        own = class_pattern(problem) > 0
        size = np.abs(found.rho[-1]).max()
        assert found.rho[-1][own].min() > -1e-10 * size
        assert found.rho[-1][~own].max() < 1e-10 * size
        balance = found.balance(problem.weights[1][0], problem.y)
        assert np.isnan(balance[0])
        assert (balance[1:] < 10).all()

    def test_refusals(self):
        net = rl.Network(60, (4,))
        both = rl.Problem(nearly_orthogonal_data(), net, net.init(0.1, seed=0), loss="logistic")
        with pytest.raises(InputError, match="the second one fixed"):
            decomposition(rl.descend(both, 0.1, 2))
        crowded = problem_on(rl.datasets.orthogonally_separable(6, 3), 0.0)
        with pytest.raises(InputError, match=r"linearly independent samples.*6 samples of rank 3"):
            decomposition(rl.descend(crowded, 0.1, 2))


class TestRuns:
    def test_leaky_patterns_freeze_within_a_few_steps(self):
        run = rl.descend(problem_on(nearly_orthogonal_data(), 0.1, scale=0.01), learning_rate=0.1, steps=60)
        assert 0 <= last_switch(run) < 10

    def test_orthogonal_relu_patterns_freeze_at_once(self):
        data = rl.datasets.orthogonal(samples=8, inputs=12, norms=10.0, seed=0)
        run = rl.descend(problem_on(data, 0.0, scale=1e-3), learning_rate=0.1, steps=60)
        assert last_switch(run) <= 1

    def test_nearly_orthogonal_relu_descent_keeps_switching_where_the_flow_holds(self):
        problem = problem_on(nearly_orthogonal_data(), 0.0)
        run = rl.descend(problem, learning_rate=0.1, steps=3000)
        late = measures.activation_flips(run)[-500:]
        assert late.sum() > 0
        far = rl.simulate(problem, log10_times=[3.0])
        held = patterns(far.final, problem.x) == 0
        assert held.any()

    def test_a_frozen_run_never_switches(self):
        problem = problem_on(orthogonal_data(), 0.1)
        settled = class_pattern(problem) @ problem.x
        run = rl.descend(problem.with_weights((settled, problem.weights[1])), learning_rate=0.1, steps=3)
        assert last_switch(run) == -1

    def test_increments_lie_in_the_bounds_of_the_paper(self):
        for alpha in (0.0, 0.1):
            run = rl.descend(problem_on(nearly_orthogonal_data(), alpha, width=40), learning_rate=0.01, steps=200)
            ratios = increment_ratios(run)
            assert 0.2 < ratios.min() < ratios.max() < 3.0

    def test_increments_need_every_step(self):
        problem = problem_on(nearly_orthogonal_data(), 0.1)
        with pytest.raises(InputError, match="every step saved, found 3 saved times of 4 steps"):
            increment_ratios(rl.descend(problem, 0.1, 4, record_every=2))

    def test_the_loss_falls_like_one_over_t(self):
        for alpha in (0.0, 0.1):
            run = rl.simulate(problem_on(nearly_orthogonal_data(), alpha), log10_times=np.arange(4.0, 11.0))
            np.testing.assert_allclose(loss_slopes(run), -1.0, atol=0.02)

    def test_slopes_of_ordinary_runs(self):
        problem = problem_on(nearly_orthogonal_data(), 0.1)
        times = [1.0, 10.0, 100.0]
        near, far = rl.simulate(problem, times), rl.simulate(problem, log10_times=np.log10(times))
        np.testing.assert_allclose(loss_slopes(near), loss_slopes(far), rtol=1e-7)
        with pytest.raises(InputError, match="needs positive times, found t = 0"):
            loss_slopes(rl.simulate(problem, [0.0, 1.0]))

    def test_descent_tends_to_the_flow_with_order_one(self):
        problem = problem_on(nearly_orthogonal_data(), 0.1)
        exact = rl.simulate(problem, [20.0]).final[0]
        rates = np.array([0.04, 0.02, 0.01, 0.005, 0.0025])
        errors = [np.linalg.norm(rl.descend(problem, rate, round(20 / rate)).final[0] - exact) for rate in rates]
        order = np.polyfit(np.log(rates), np.log(errors), 1)[0]  # single ratios vary: steps miss kinks by chance
        assert order == pytest.approx(1.0, abs=0.1)
