"""Eq. 38 and its extensions: the closed time course against simulation, the reduced flow, and its own special cases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rectilinear as rl
from rectilinear.reduced.aligned_flow import AlignedStart, aligned_flow, aligned_start
from rectilinear.theorems import predict
from rectilinear.theorems.time_course import white_states
from symmetric_problems import aligned_problem, integrated, losses_of

TIMES = np.linspace(0.0, 30.0, 16)
CLOSED = 1e-10  # agreement of the closed form with an integration whose own error is about 1e-11
HALVES = np.array([1.0, -1.0]) / np.sqrt(2.0)


def distance(one, other):
    return max(np.abs(a - b).max() for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("l2", [0.0, 0.05])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.7, 1.0])
def test_agrees_with_integration(alpha, l2):
    problem = aligned_problem(white=True, alpha=alpha, l2=l2)
    told = predict(problem, TIMES)
    truth = integrated(problem, TIMES)
    assert told.theorem == "time_course"
    assert distance(told.weights, truth) < CLOSED
    assert np.abs(told.loss - losses_of(problem, truth)).max() < CLOSED


@pytest.mark.parametrize("ratio", [0.1, 1e-6, 5.0])
def test_unbalanced_starts_agree_with_integration(ratio):
    problem = aligned_problem(white=True, alpha=0.3, scale=0.1)
    unbalanced = problem.with_weights((ratio * problem.weights[0], problem.weights[1]))
    told = predict(unbalanced, TIMES)
    assert told.theorem == "time_course"
    assert distance(told.weights, integrated(unbalanced, TIMES)) < CLOSED


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(-6.0, 0.5), st.floats(-2.0, 2.0), st.sampled_from([0.0, 0.1, 2.0]))
def test_solves_the_aligned_flow(seed, log_size, log_ratio, decay):
    """Any direction, size and imbalance against the reduced flow on the data whose Sigma is the identity."""
    rng = np.random.default_rng(seed)
    problem = aligned_problem(white=True, alpha=0.3, l2=decay * 0.65)
    r = rng.standard_normal(4)
    ratio = 1.0 if decay else 10.0**log_ratio  # with decay the closed form is for balanced starts
    size = 10.0**log_size
    start = AlignedStart(np.append(size * ratio * r / np.linalg.norm(r), size), HALVES)
    times = np.linspace(0.0, 20.0, 9)
    closed = white_states(start, problem.data.correlation, decay, 0.65 * times)
    np.testing.assert_allclose(closed, aligned_flow(problem, start, times), atol=1e-9 * max(1.0, size * ratio))


def test_reads_u0_squared_as_c_times_the_squared_norm():
    """Eq. 38 with r = beta/s: w = s / (1 + (s/U - 1) e^{-2 s c t}) beta/s, U = c |W_1(0)|^2."""
    problem = aligned_problem(white=True, alpha=0.3)
    beta = problem.data.correlation
    s = np.linalg.norm(beta)
    weights = problem.network.init(0.2, 1, "rank_one", direction=beta)
    told = predict(problem.with_weights(weights), TIMES)
    c = 0.65
    initial = c * np.linalg.norm(weights[0]) ** 2
    sizes = s / (1.0 + (s / initial - 1.0) * np.exp(-2.0 * s * c * TIMES))
    np.testing.assert_allclose(told.linear_map, sizes[:, None] * beta / s, atol=1e-13)


def test_the_saddle_start_is_no_exception():
    """r = -beta/s: the map shrinks as -e^{-2 s c t} / (1/U + (1 - e^{-2 s c t})/s) and never turns."""
    problem = aligned_problem(white=True, alpha=0.3)
    beta = problem.data.correlation
    s = np.linalg.norm(beta)
    start = problem.with_weights(problem.network.init(0.2, 1, "rank_one", direction=-beta))
    told = predict(start, TIMES[:6])
    decay = np.exp(-2.0 * s * 0.65 * TIMES[:6])
    initial = 0.65 * 0.2**2
    expected = -decay / (1.0 / initial + (1.0 - decay) / s)
    np.testing.assert_allclose(told.linear_map, expected[:, None] * beta / s, atol=1e-14)
    with pytest.raises(rl.HypothesisError, match="they run into the saddle w = 0; ask for finite times"):
        predict(start, [1.0, np.inf])


def test_without_correlation_the_map_fades():
    """beta = 0: w = U r / (1 + 2 U c t)."""
    data = rl.Dataset([[1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [1.0, -1.0]], [1.0, 1.0, -1.0, -1.0]).symmetrised()
    net = rl.Network(inputs=2, widths=(4,), alpha=0.0)
    problem = rl.Problem(data, net, net.init(0.8, 1, "rank_one"))
    told = predict(problem, TIMES)
    assert told.theorem == "time_course"
    start = aligned_start(problem)
    initial, r = start.z[-1] ** 2, start.z[:-1] / start.z[-1]
    expected = initial * r / (1.0 + 2.0 * initial * problem.network.mean_slope * TIMES[:, None])
    np.testing.assert_allclose(told.linear_map, expected, atol=1e-14)


def test_strong_decay_kills_the_map_at_the_predicted_threshold():
    problem = aligned_problem(white=True, alpha=0.3)
    s = np.linalg.norm(problem.data.correlation)
    critical = 0.65 * s
    for l2, alive in ((0.99 * critical, True), (1.01 * critical, False)):
        decaying = rl.Problem(problem.data, problem.network, problem.weights, l2=l2)
        told = predict(decaying, [1e5, np.inf], theorem="time_course")
        assert bool(np.linalg.norm(told.linear_map[0]) > 1e-3) is alive
        np.testing.assert_allclose(told.linear_map[0], told.linear_map[1], atol=1e-12)
        expected = (s - l2 / 0.65) / s * problem.data.correlation if alive else np.zeros(4)
        np.testing.assert_allclose(told.linear_map[1], expected, atol=1e-12)


def test_very_long_times_neither_overflow_nor_drift():
    problem = aligned_problem(white=True, alpha=0.3, scale=1e-8)
    told = predict(problem, [0.0, 1e3, 1e6, 1e12, np.inf])
    np.testing.assert_allclose(told.linear_map[1:], np.tile(told.linear_map[-1], (4, 1)), rtol=1e-12)
    assert np.isfinite(told.loss).all()


class TestBrokenHypotheses:
    PARTED = 0.01

    def test_non_white_inputs(self):
        problem = aligned_problem(white=False, scale=0.1)
        told = predict(problem, TIMES, theorem="time_course", force=True)
        assert {finding.name for finding in told.failed} == {"white_inputs"}
        assert np.abs(told.loss - predict(problem, TIMES).loss).max() > self.PARTED

    def test_imbalance_under_decay(self):
        problem = aligned_problem(white=True, l2=0.3, scale=1.0)
        unbalanced = problem.with_weights((5.0 * problem.weights[0], problem.weights[1]))
        told = predict(unbalanced, TIMES, theorem="time_course", force=True)
        assert {finding.name for finding in told.failed} == {"balanced_start"}
        run = rl.simulate(unbalanced, TIMES, method="smooth", rtol=1e-9)
        assert np.abs(told.linear_map - run.linear_map).max() > self.PARTED
        assert predict(unbalanced, TIMES).theorem == "symmetric_data"

    def test_other_losses_cannot_be_forced(self):
        problem = aligned_problem("logistic", white=True)
        with pytest.raises(
            rl.HypothesisError, match="square_loss is required; found: the square loss is required; the loss is logistic"
        ):
            predict(problem, TIMES, theorem="time_course", force=True)
