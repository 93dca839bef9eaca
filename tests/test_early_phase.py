"""The early phase: Eq. 23 against the linearised flow, its bound against the true one, Lemma 12, and what breaks them."""

import numpy as np
import pytest
from scipy.linalg import expm

import rectilinear as rl
from rectilinear.theorems import early_phase, predict
from symmetric_problems import integrated, random_problem

ROUNDING = 1e-13


def tilde(weights):
    """[W_1^T; W_2], (d + 1, h)."""
    return np.concatenate([weights[0].T, weights[1]])


@pytest.mark.parametrize(("loss", "pull"), [("square", 1.0), ("logistic", 0.5)])
def test_equation_23_solves_the_linearised_flow(loss, pull):
    problem = random_problem(loss, alpha=0.3, scale=0.5)
    beta = pull * problem.data.correlation
    generator = np.zeros((5, 5))
    generator[:4, 4] = generator[4, :4] = 0.65 * beta
    first, second = early_phase.early_weights(problem, np.array([0.0, 1.0, 2.5]))
    for k, t in enumerate((0.0, 1.0, 2.5)):
        exact = expm(t * generator) @ tilde(problem.weights)
        np.testing.assert_allclose(tilde((first[k], second[k])), exact, atol=ROUNDING)


@pytest.mark.parametrize("loss", ["square", "logistic"])
@pytest.mark.parametrize("scale", [3e-2, 1e-3])
def test_the_error_stays_within_its_bound(loss, scale):
    problem = random_problem(loss, alpha=0.3, scale=scale)
    times = np.linspace(0.0, early_phase.validity_window(problem)[1], 6)
    told = predict(problem, times)
    assert told.theorem == "early_phase"
    truth = integrated(problem, times, rtol=1e-9)
    errors = [
        np.linalg.norm(tilde([ours[k] for ours in told.weights]) - tilde([true[k] for true in truth])) for k in range(6)
    ]
    assert (errors[1:] <= told.error_bound[1:]).all()
    assert max(errors) > 1e-4 * told.error_bound.max()  # the bound is not vacuous
    assert told.error_bound[-1] < 10 * scale  # O(u0) at the end of the window


@pytest.mark.parametrize("loss", ["square", "logistic"])
@pytest.mark.parametrize("scale", [1e-2, 2.0])
def test_norms_never_exceed_the_exponential_bound(loss, scale):
    """Lemma 12, sharpened: for all times and starts of any size."""
    problem = random_problem(loss, scale=scale, width=10)
    times = np.linspace(0.0, 12.0, 13)
    run = rl.simulate(problem, times, method="smooth", rtol=1e-7)
    norms = np.max([np.linalg.norm(layer, axis=(1, 2)) for layer in run.weights], axis=0)
    assert (norms <= early_phase.norm_bound(problem, times) * (1.0 + 1e-6)).all()


def test_lemma_12_needs_condition_three():
    """x = +-1, y = 10 at both: beta = 0, so the bound would be constant, and the even target makes the weights grow."""
    data = rl.Dataset([[1.0], [-1.0]], [10.0, 10.0])
    net = rl.Network(inputs=1, widths=(10,))
    problem = rl.Problem(data, net, net.init(1e-3, seed=0))
    run = rl.simulate(problem, [0.0, 3.0])
    norms = np.linalg.norm(run.weights[0], axis=(1, 2))
    assert norms[-1] > 100 * early_phase.norm_bound(problem, run.times)[-1]


def test_weights_align_with_beta_while_they_grow():
    problem = random_problem(scale=1e-6)
    times = np.array([0.0, early_phase.validity_window(problem)[1]])
    told = predict(problem, times)
    beta = problem.data.correlation
    cosines = np.abs(told.weights[0][-1] @ beta) / np.linalg.norm(beta) / np.linalg.norm(told.weights[0][-1], axis=1)
    assert np.median(cosines) > 0.999


def test_times_beyond_the_window_are_refused_or_visibly_wrong():
    problem = random_problem(scale=1e-3)
    late = np.array([0.0, 3.0 * early_phase.validity_window(problem)[1]])
    with pytest.raises(
        rl.HypothesisError, match=r"within_window is required; found: it speaks of times from 0 to .*two_neurons goes on"
    ):
        predict(problem, late, theorem="early_phase")
    told = predict(problem, late, theorem="early_phase", force=True)
    run = rl.simulate(problem, late, method="smooth", rtol=1e-9)
    assert np.linalg.norm(told.weights[0][-1] - run.weights[0][-1]) > 0.5 * np.linalg.norm(run.weights[0][-1])


class TestBrokenHypotheses:
    """One hypothesis fails: neurons no longer grow along beta, or at another rate."""

    def gap(self, problem):
        times = np.array([0.0, early_phase.validity_window(problem)[1]])
        told = predict(problem, times, theorem="early_phase", force=True)
        run = rl.simulate(problem, times, rtol=1e-8)
        gap = np.linalg.norm(told.weights[0][-1] - run.weights[0][-1]) / np.linalg.norm(run.weights[0][-1])
        return gap, {finding.name for finding in told.failed}

    def test_uneven_inputs(self):
        problem = random_problem(scale=1e-4)
        data = rl.Dataset(problem.data.x[:40], problem.data.y[:40])
        gap, failed = self.gap(rl.Problem(data, problem.network, problem.weights))
        assert failed == {"even_inputs"}
        assert gap > 0.1

    def test_even_target(self):
        problem = random_problem(scale=1e-4)
        data = rl.Dataset(problem.data.x, problem.data.y + 0.5 * np.abs(problem.data.x[:, 0]))
        gap, failed = self.gap(rl.Problem(data, problem.network, problem.weights))
        assert failed == {"odd_target"}
        assert gap > 0.1

    def test_decay(self):
        gap, failed = self.gap(random_problem(scale=1e-4, l2=0.5))
        assert failed == {"no_decay"}
        assert gap > 0.1

    def test_the_exponential_loss_cannot_be_forced(self):
        problem = random_problem("exponential", scale=1e-4)
        with pytest.raises(rl.HypothesisError, match="lipschitz_loss is required"):
            predict(problem, [0.0, 0.1], theorem="early_phase", force=True)


def test_large_starts_and_zero_targets_have_their_windows():
    assert early_phase.validity_window(random_problem(scale=2.0)) == (0.0, 0.0)
    data = rl.Dataset([[1.0, 2.0]], [0.0]).symmetrised()
    net = rl.Network(inputs=2, widths=(4,))
    problem = rl.Problem(data, net, net.init(0.1, seed=0))
    assert early_phase.validity_window(problem) == (0.0, np.inf)
    first, second = early_phase.early_weights(problem, np.array([0.0, 5.0]))
    np.testing.assert_array_equal(first[1], problem.weights[0])
    np.testing.assert_array_equal(second[1], problem.weights[1])
    np.testing.assert_allclose(
        early_phase.error_bound(problem, np.array([2.0])), 2.0 * early_phase.error_bound(problem, np.array([1.0]))
    )
