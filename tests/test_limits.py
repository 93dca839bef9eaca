"""Corollary 6: where training on symmetric data ends, against long runs, optimality conditions and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rectilinear as rl
from rectilinear.reduced.aligned_flow import aligned_flow, aligned_start
from rectilinear.reduced.max_margin import max_margin
from rectilinear.theorems import predict
from rectilinear.theorems.limit import limit_state, linear_limit
from symmetric_problems import aligned_problem, random_problem, symmetric_data

OPTIMAL = 1e-12  # gradient norms and KKT residuals of solved convex problems
LATE = np.array([1e4])


def map_of(states):
    return states[:, :-1] * states[:, -1:]


class TestMaxMargin:
    @settings(max_examples=50, deadline=None)
    @given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 25))
    def test_is_certified_and_beats_every_other_direction(self, seed, inputs, samples):
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((samples, inputs))
        rows *= np.sign(rows @ rng.standard_normal(inputs))[:, None]  # separable by construction
        found = max_margin(rows)
        assert found.kkt_residual < 1e-8 / found.margin  # a thin margin conditions the problem
        assert (rows @ found.direction).min() == pytest.approx(found.margin, rel=1e-6)
        others = rng.standard_normal((200, inputs))
        margins = (rows @ others.T).min(axis=0) / np.linalg.norm(others, axis=1)
        assert margins.max() <= found.margin * (1.0 + 1e-9)

    def test_agrees_with_a_support_vector_machine(self):
        svm = pytest.importorskip("sklearn.svm")
        data = rl.datasets.orthogonally_separable(samples=30, inputs=4, seed=1).symmetrised()
        found = max_margin(data.y[:, None] * data.x)
        machine = svm.SVC(kernel="linear", C=1e8, tol=1e-10).fit(data.x, data.y)  # symmetric data: its intercept is zero
        np.testing.assert_allclose(found.w, machine.coef_[0], rtol=1e-5)
        assert abs(machine.intercept_[0]) < 1e-6

    def test_prints_its_certificate(self):
        assert "1 support vectors, KKT residual" in repr(max_margin(np.array([[2.0, 0.0]])))
        assert max_margin(np.array([[2.0, 0.0], [5.0, 1.0]])).support == (0,)

    def test_inseparable_rows_are_refused(self):
        rows = np.array([[1.0, 0.0], [-1.0, 0.0]])
        with pytest.raises(rl.InputError, match="that some hyperplane through the origin separates, and none does"):
            max_margin(rows)


CASES = [("square", 0.0), ("square", 0.1), ("logistic", 0.0), ("logistic", 0.02), ("exponential", 0.0)]


@pytest.mark.parametrize(("loss", "l2"), CASES)
def test_the_reduced_flow_ends_at_the_limit(loss, l2):
    problem = aligned_problem(loss, alpha=0.3, l2=l2)
    states = aligned_flow(problem, aligned_start(problem), LATE)
    np.testing.assert_allclose(map_of(states)[-1], linear_limit(problem).w, atol=1e-10)


@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize(("loss", "l2"), CASES)
def test_long_runs_end_at_the_limit(loss, l2, alpha):
    problem = aligned_problem(loss, white=True, alpha=alpha, l2=l2)  # white inputs have no slow directions
    run = rl.simulate(problem, [300.0], method="smooth", rtol=1e-11)
    told = predict(problem, [np.inf])
    assert told.theorem == "limit"
    assert told.statistics["certificate"] < OPTIMAL
    np.testing.assert_allclose(run.linear_map[-1], told.linear_map[-1], atol=1e-7)
    assert run.loss[-1] == pytest.approx(told.loss[-1], abs=1e-7)


def test_random_small_weights_end_at_least_squares():
    problem = random_problem(white=True, scale=1e-6)
    run = rl.simulate(problem, [200.0], method="smooth", rtol=1e-8)
    best = np.linalg.lstsq(problem.data.x, problem.data.y, rcond=None)[0]
    np.testing.assert_allclose(predict(problem, [np.inf]).linear_map[0], best, rtol=1e-10)
    np.testing.assert_allclose(run.linear_map[-1], best, atol=1e-6)


@pytest.mark.parametrize(("loss", "pull"), [("square", 1.0), ("logistic", 0.5)])
def test_decay_kills_the_map_exactly_from_the_critical_value(loss, pull):
    problem = aligned_problem(loss, alpha=0.3)
    critical = 0.65 * pull * np.linalg.norm(problem.data.correlation)
    for l2, alive in ((0.999 * critical, True), (1.001 * critical, False)):
        limit = linear_limit(rl.Problem(problem.data, problem.network, problem.weights, loss, l2))
        assert bool(limit.w.any()) is alive


def test_decay_penalises_the_norm_and_not_its_square():
    problem = aligned_problem(alpha=0.3, l2=0.1)
    w = linear_limit(problem).w
    data = problem.data
    stationary = data.covariance @ w - data.correlation + 0.1 / 0.65 * w / np.linalg.norm(w)
    assert np.linalg.norm(stationary) < OPTIMAL


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_the_logistic_optimum_is_stationary(loss):
    problem = aligned_problem(loss)
    assert rl.conditions.separable(problem.data).holds is False
    limit = linear_limit(problem)
    data = problem.data
    gradient = problem.loss.pull(data.y, data.x @ limit.w) @ data.x / data.samples
    assert limit.direction is None
    assert np.linalg.norm(gradient) < OPTIMAL


def test_separable_classes_go_to_the_maximum_margin():
    data = rl.datasets.orthogonally_separable(samples=10, inputs=3, seed=0).symmetrised()
    net = rl.Network(inputs=3, widths=(8,))
    problem = rl.Problem(data, net, net.init(0.1, 0, "rank_one"), "logistic")
    told = predict(problem, [1e6, np.inf])
    svm = max_margin(data.y[:, None] * data.x)
    assert told.loss[-1] == 0.0
    assert np.isnan(told.linear_map[-1]).all()
    np.testing.assert_allclose(told.direction, svm.direction)
    w = told.linear_map[0]
    assert (data.y * (data.x @ w)).min() / np.linalg.norm(w) > 0.9 * svm.margin  # margins converge like 1/ln t
    assert np.isnan(told.weights[0][-1]).all()


@pytest.mark.parametrize("ratio", [1.0, 3.0, 0.2])
def test_directions_that_no_sample_has_keep_their_start(ratio):
    """Singular Sigma: the part of w outside the data's span is fixed by the start and the conserved imbalance."""
    rng = np.random.default_rng(0)
    data = rl.Dataset(rng.standard_normal((3, 5)), rng.standard_normal(3)).symmetrised()
    net = rl.Network(inputs=5, widths=(8,), alpha=0.3)
    first, second = net.init(0.5, 1, "rank_one")
    problem = rl.Problem(data, net, (ratio * first, second))
    start = aligned_start(problem)
    limit = linear_limit(problem, start)
    states = aligned_flow(problem, start, LATE)
    np.testing.assert_allclose(map_of(states)[-1], limit.w, atol=1e-9)
    np.testing.assert_allclose(states[-1], limit_state(problem, start, limit.w), atol=1e-9)
    assert np.linalg.norm(limit.w - linear_limit(problem).w) > 1e-2  # least squares alone is not where it ends


def test_the_second_layer_may_change_sign_on_the_way():
    """First layer far larger, pointing against beta: W_2 turns negative before the map settles, and the limit says so."""
    data = symmetric_data(white=True)
    net = rl.Network(inputs=4, widths=(6,))
    first, second = net.init(0.5, 1, "rank_one", direction=-data.correlation + 1e-3)
    problem = rl.Problem(data, net, (4.0 * first, second))
    start = aligned_start(problem)
    states = aligned_flow(problem, start, LATE)
    assert states[-1, -1] < 0 < start.z[-1]
    np.testing.assert_allclose(states[-1], limit_state(problem, start, linear_limit(problem, start).w), atol=1e-9)


class TestVanishingMaps:
    data = rl.Dataset([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [1.0, -1.0, 1.0, -1.0]).symmetrised()
    net = rl.Network(inputs=2, widths=(4,))

    def limit_of(self, ratio):
        first, second = self.net.init(0.5, 1, "rank_one")
        problem = rl.Problem(self.data, self.net, (ratio * first, second))
        start = aligned_start(problem)
        return problem, start, limit_state(problem, start, linear_limit(problem, start).w)

    def test_a_larger_second_layer_keeps_its_imbalance(self):
        problem, start, state = self.limit_of(0.2)
        np.testing.assert_allclose(state, aligned_flow(problem, start, LATE)[-1], atol=1e-9)

    def test_a_larger_first_layer_leaves_its_direction_open(self):
        _, _, state = self.limit_of(3.0)
        assert np.isnan(state[:-1]).all()
        assert state[-1] == 0.0

    def test_balanced_layers_vanish(self):
        _, _, state = self.limit_of(1.0)
        np.testing.assert_allclose(state, 0.0, atol=1e-7)


class TestBrokenHypotheses:
    PARTED = 0.05

    def gap(self, problem, time):
        told = predict(problem, [np.inf], theorem="limit", force=True)
        run = rl.simulate(problem, [time], rtol=1e-5)
        return abs(told.loss[-1] - run.loss[-1]), {finding.name for finding in told.failed}

    def test_uneven_inputs_let_the_network_fit_more(self):
        problem = random_problem(scale=0.03)
        data = rl.Dataset(problem.data.x[:40], problem.data.y[:40])
        gap, failed = self.gap(rl.Problem(data, problem.network, problem.weights), 300.0)
        assert failed == {"even_inputs"}
        assert gap > self.PARTED

    def test_an_even_part_of_the_target_is_learned_too(self):
        problem = random_problem(scale=0.03)
        data = rl.Dataset(problem.data.x, problem.data.y + np.abs(problem.data.x[:, 0]))
        gap, failed = self.gap(rl.Problem(data, problem.network, problem.weights), 300.0)
        assert failed == {"odd_target"}
        assert gap > self.PARTED

    def test_finite_times_cannot_be_forced(self):
        with pytest.raises(rl.HypothesisError, match="within_window is required; found: it speaks of t = infinity only"):
            predict(aligned_problem(), [1.0, np.inf], theorem="limit", force=True)
