"""Runs in rescaled time: against ordinary time, closed forms and themselves."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import expi

import rectilinear as rl
from rectilinear.errors import InputError
from rectilinear.flow import long_run
from rectilinear.flow.collocation import ALL_NODES, END_ORDER
from rectilinear.flow.field.frozen import FrozenField
from rectilinear.flow.field.log_domain import normalised_pulls
from rectilinear.flow.steppers.elapsed_time import log_integral
from rectilinear.flow.steppers.radau import Accuracy, Nodes, collocation_step
from rectilinear.long_trajectory import LongTrajectory
from rectilinear.trajectory import Status

AGREES = 1e-8  # both runs are made with local errors of 1e-11


def gaussian_problem(
    seed, *, samples=8, inputs=3, width=6, alpha=0.0, loss="logistic", scale=0.3, trainable=None, separable=True
):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((samples, inputs))
    y = np.sign(x @ rng.standard_normal(inputs)) if separable else np.sign(rng.standard_normal(samples))
    net = rl.Network(inputs, (width,), alpha=alpha, trainable=trainable)
    return rl.Problem(rl.Dataset(x, y), net, net.init(scale, seed=seed), loss=loss)


def problem_of_one_sample(loss, length=2.0, size=0.05):
    """One balanced neuron along one sample: its margin m obeys m' = 2 length m p(m)."""
    net = rl.Network(2, (1,))
    weights = (np.array([[0.6, 0.8]]) * size, np.array([[size]]))
    return rl.Problem(rl.Dataset([[0.6 * length, 0.8 * length]], [1.0]), net, weights, loss=loss)


class TestManyKinks:
    """Neurons followed by themselves first, the kink-exact method from a time on."""

    @pytest.fixture(autouse=True)
    def _followed_to_a_hundred(self, monkeypatch):
        monkeypatch.setattr(long_run, "HANDOVER", 2.0)

    @pytest.mark.parametrize("alpha", [0.0, 0.2])
    def test_same_run_as_by_the_kink_exact_method_alone(self, monkeypatch, alpha):
        problem = gaussian_problem(1, samples=12, width=8, alpha=alpha)
        log10_times = [-np.inf, 0.0, 1.5, 2.0, 3.0, 40.0]
        exact = rl.simulate(problem, log10_times=log10_times, rtol=1e-9)
        monkeypatch.setattr(long_run, "too_many_kinks", lambda problem, rtol: True)
        run = rl.simulate(problem, log10_times=log10_times, rtol=1e-7)
        assert run.provenance["method"] == "followed neurons, kink-exact, rescaled time"
        assert run.status is Status.FINISHED
        for one, other in zip(run.weights, exact.weights, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=10 * 1e-7 * np.abs(other).max())
        np.testing.assert_allclose(run.log_loss, exact.log_loss, rtol=1e-5)
        assert run.audit.energy_residual < 1e-5
        assert [run.events.count(kind) for kind in rl.Kind] == [exact.events.count(kind) for kind in rl.Kind]
        assert np.all(np.diff(run.events.time) >= 0.0)
        assert run.statistics["sweeps"] > 0 < run.statistics["groups at most"]

    def test_no_later_time_needs_no_other_engine(self, monkeypatch):
        monkeypatch.setattr(long_run, "too_many_kinks", lambda problem, rtol: True)
        problem = gaussian_problem(2, samples=12, width=8)
        run = rl.simulate(problem, log10_times=[0.0, 2.0], rtol=1e-7)
        near = rl.simulate(problem, times=[1.0, 100.0], method="follow", rtol=1e-7)
        assert run.provenance["method"] == near.provenance["method"] == "followed neurons"
        np.testing.assert_allclose(run.log_loss, np.log(near.loss), rtol=1e-9)

    def test_directions_converge_as_they_do_without(self, monkeypatch):
        problem = gaussian_problem(3)
        exact = rl.simulate(problem, until="converges", rtol=1e-8)
        monkeypatch.setattr(long_run, "too_many_kinks", lambda problem, rtol: True)
        run = rl.simulate(problem, until="converges", rtol=1e-8)
        assert run.status is exact.status is Status.CONVERGED
        np.testing.assert_allclose(run.log_loss, exact.log_loss, rtol=1e-5)


class TestAgainstOrdinaryTime:
    @pytest.mark.parametrize("loss", ["logistic", "exponential"])
    @pytest.mark.parametrize(
        ("alpha", "trainable"), [(0.0, (True, True)), (0.2, (True, True)), (0.0, (True, False)), (0.2, (False, True))]
    )
    def test_same_weights_up_to_a_thousand(self, loss, alpha, trainable):
        problem = gaussian_problem(3, alpha=alpha, loss=loss, trainable=trainable)
        log10_times = np.array([-np.inf, -1.0, 0.0, 1.0, 2.0, 3.0])
        far = rl.simulate(problem, log10_times=log10_times, rtol=1e-11)
        near = rl.simulate(problem, times=10.0**log10_times, rtol=1e-11)
        for one, other in zip(far.weights, near.weights, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=AGREES * np.abs(other).max())
        np.testing.assert_allclose(far.log_loss, np.log(near.loss), rtol=AGREES, atol=AGREES)
        np.testing.assert_allclose(far.times, near.times, rtol=1e-13)

    def test_same_events(self):
        problem = gaussian_problem(1, samples=12, width=8, separable=False)
        far = rl.simulate(problem, log10_times=[2.0])
        near = rl.simulate(problem, times=[100.0], method="kinks")
        assert len(far.events) == len(near.events) > 10
        np.testing.assert_allclose(10**far.events.time, near.events.time, rtol=1e-6)
        np.testing.assert_array_equal(far.events.neuron, near.events.neuron)
        assert far.events.certified

    def test_a_bias_is_one_more_input(self):
        rng = np.random.default_rng(0)
        x = rng.standard_normal((6, 2))
        y = np.sign(x[:, 0] + 0.5)
        biased, plain = rl.Network(2, (5,), bias=True), rl.Network(3, (5,))
        weights = plain.init(0.5, seed=1)
        one = rl.simulate(rl.Problem(rl.Dataset(x, y), biased, weights, loss="logistic"), log10_times=[50.0])
        data = rl.Dataset(x, y).with_ones_column()
        other = rl.simulate(rl.Problem(data, plain, weights, loss="logistic"), log10_times=[50.0])
        np.testing.assert_array_equal(one.final[0], other.final[0])


class TestAgainstClosedForms:
    def test_exponential_loss_on_one_sample(self):
        # Ei(m) = Ei(m0) + 2 length t, and ln Ei(m) = m - ln m + ln(1 + 1/m + 2/m^2 + ...)
        log10_times = np.array([1.0, 100.0, 1e4, 1e7])
        run = rl.simulate(problem_of_one_sample("exponential"), log10_times=log10_times, rtol=1e-11)
        margins = run.outputs()[:, 0]
        assert expi(margins[0]) - expi(2.0 * 0.05**2) == pytest.approx(4.0 * 10.0, rel=1e-8)
        series = 1 + 1 / margins + 2 / margins**2 + 6 / margins**3 + 24 / margins**4
        log_ei = margins - np.log(margins) + np.log(series)
        np.testing.assert_allclose(log_ei[1:], np.log(4.0) + log10_times[1:] * np.log(10.0), rtol=1e-9)

    def test_log_loss_is_minus_the_margin_far_out(self):
        run = rl.simulate(problem_of_one_sample("logistic"), log10_times=[1e6])
        assert run.log_loss[0] == pytest.approx(-run.outputs()[0, 0], rel=4 * np.finfo(float).eps)
        assert run.loss[0] == 0.0
        assert run.times[0] == np.inf

    @pytest.mark.parametrize("steepness", [1e-6, 1.0, 30.0, 1e3, 1e7])
    @pytest.mark.parametrize("end", [1.0, 0.37])
    def test_log_integral_of_an_exponential(self, steepness, end):
        values = 5.0 + steepness * ALL_NODES
        exact = 5.0 + steepness * end + np.log(-np.expm1(-steepness * end) / steepness)
        assert log_integral(values, end) == pytest.approx(exact, rel=1e-12)


class TestKernels:
    @pytest.mark.parametrize("loss", ["logistic", "exponential"])
    def test_normalised_pulls_are_pulls_over_the_sum_of_losses(self, loss):
        rng = np.random.default_rng(0)
        y, f = np.sign(rng.standard_normal(7)), 5 * rng.standard_normal(7)
        live = np.array([True] * 6 + [False])
        kind = rl.Problem(rl.Dataset(np.ones((7, 1)), y), rl.Network(1, (1,)), ([[1.0]], [[1.0]]), loss=loss).loss
        total = kind.value(y, f)[live].sum()
        pull, curvature = np.empty(7), np.empty(7)
        log_loss = normalised_pulls(kind.code, y, f, live, pull, curvature)
        assert log_loss == pytest.approx(np.log(total / 7), rel=1e-14)
        np.testing.assert_allclose(pull, np.where(live, kind.pull(y, f) / total, 0.0), rtol=1e-13)
        np.testing.assert_allclose(curvature, np.where(live, kind.curvature(y, f) / total, 0.0), rtol=1e-13)

    @pytest.mark.parametrize("code", [1, 2])
    @pytest.mark.parametrize("size", [1e6, -1e6])
    def test_margins_of_a_million_stay_finite(self, code, size):
        y, f = np.array([1.0, -1.0, 1.0]), np.array([size, -size - 1.0, size + 2.0])
        pull, curvature = np.empty(3), np.empty(3)
        log_loss = normalised_pulls(code, y, f, np.ones(3, dtype=bool), pull, curvature)
        assert np.isfinite([log_loss, *pull, *curvature]).all()
        if size > 0 or code == 2:  # pulls are then in the ratio of e^{-m}
            np.testing.assert_allclose(np.abs(pull), np.exp([0, -1, -2]) / np.exp([0, -1, -2]).sum(), rtol=1e-9)

    def test_the_step_converges_with_its_order(self):
        problem = gaussian_problem(0, samples=5, inputs=2, width=4, alpha=0.3, scale=1.5)
        theta = np.concatenate([problem.weights[0], problem.weights[1].T], axis=1)
        slopes = np.where(problem.x @ problem.weights[0].T > 0, 1.0, 0.3).T
        seen = np.ascontiguousarray(slopes[:, :, None] * problem.x)  # frozen patterns: one group a neuron

        field = FrozenField(np.arange(4), seen, problem.y, np.ones(5, dtype=bool), np.ones(2), 1, 0.0, True)

        accuracy = Accuracy(np.ones(4), np.inf, 1e-13, np.zeros((4, 2)), 0.0)

        def end(steps, length=8.0):
            here = theta.copy()
            for _ in range(steps):
                nodes = Nodes(np.zeros((5, *theta.shape)), np.empty(6), np.empty((6, 5)), np.empty(6))
                error, *_ = collocation_step(here, field, accuracy, length / steps, False, nodes)
                assert error >= 0
                here = here + nodes.stages[-1]
            return here

        reference = end(64)
        errors = [np.abs(end(steps) - reference).max() for steps in (8, 16)]
        assert errors[1] > 2e-14  # still above rounding
        assert np.log2(errors[0] / errors[1]) == pytest.approx(END_ORDER, abs=1.0)


class TestFarOut:
    def test_ten_million_decades(self):
        data = rl.datasets.orthogonally_separable(samples=12, inputs=5, seed=0)
        net = rl.Network(5, (20,))
        run = rl.simulate(rl.Problem(data, net, net.init(1e-3, seed=0), loss="logistic"), log10_times=[1e5, 1e7])
        assert run.status is Status.FINISHED
        assert isinstance(run, LongTrajectory)
        assert run.audit.balance_drift < 1e-9
        assert run.audit.energy_residual < 1e-6
        # 1/L = t ln t up to factors of order one: ln(1/L) - ln t grows only like ln ln t
        np.testing.assert_allclose(-run.log_loss, run.log10_times * np.log(10), rtol=1e-4)

    def test_tolerances_agree(self):
        problem = gaussian_problem(4, samples=10, inputs=4, width=10, separable=False)
        times = [3.0, 1e3, 1e5]
        fine, coarse = rl.simulate(problem, log10_times=times, rtol=1e-11), rl.simulate(problem, log10_times=times)
        for one, other in zip(fine.directions, coarse.directions, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-7)

    def test_more_inputs_than_samples_is_a_rotation(self):
        small = gaussian_problem(5, inputs=3, scale=0.5)
        rng = np.random.default_rng(0)
        axes, _ = np.linalg.qr(rng.standard_normal((40, 40)))
        inside, outside = axes[:3], axes[3:]
        rest = rng.standard_normal((6, 37)) @ outside
        net = rl.Network(40, (6,))
        weights = (small.weights[0] @ inside + rest, small.weights[1])
        wide = rl.Problem(rl.Dataset(small.data.x @ inside, small.y), net, weights, loss="logistic")
        one, other = (rl.simulate(problem, log10_times=[1.0, 500.0]) for problem in (small, wide))
        np.testing.assert_allclose(other.weights[0] @ inside.T, one.weights[0], atol=1e-8)
        np.testing.assert_allclose(other.weights[0] @ outside.T, np.broadcast_to(rest @ outside.T, (2, 6, 37)), atol=1e-12)

    def test_flipped_classes_and_permuted_neurons(self):
        problem = gaussian_problem(6)
        order = np.random.default_rng(0).permutation(6)
        first, second = problem.weights
        data = rl.Dataset(problem.data.x, -problem.y)
        twin = rl.Problem(data, problem.network, (first[order], -second[:, order]), loss="logistic")
        one, other = (rl.simulate(p, log10_times=[100.0]) for p in (problem, twin))
        np.testing.assert_allclose(other.final[0], one.final[0][order], atol=1e-8)
        np.testing.assert_allclose(other.final[1], -one.final[1][:, order], atol=1e-8)


class TestUntil:
    def test_stops_where_the_direction_converges(self):
        data = rl.datasets.orthogonally_separable(samples=12, inputs=5, seed=0)
        net = rl.Network(5, (20,))
        problem = rl.Problem(data, net, net.init(1e-3, seed=0), loss="logistic")
        run = rl.simulate(problem, until="direction converges", direction_tolerance=1e-2)
        assert run.direction_converged
        assert run.direction_change < 1e-2
        theta = np.concatenate([layer.reshape(len(run), -1) for layer in run.weights], axis=1)
        theta /= np.linalg.norm(theta, axis=1, keepdims=True)
        assert np.linalg.norm(theta[-1] - theta[-2]) == pytest.approx(run.direction_change, rel=1e-6)
        assert run.log10_times[-1] == 4 * run.log10_times[-2]
        farther = rl.simulate(problem, log10_times=[100 * run.log10_times[-1]])
        assert np.abs(farther.directions[0][-1] - run.directions[0][-1]).max() < 2e-2
        assert "converged" in repr(run)

    def test_a_direction_that_creeps_has_not_converged(self):
        # a neuron outside the limit shrinks against the others like a small power of ln t only
        rng = np.random.default_rng(4)
        x = rng.standard_normal((12, 3))
        data, net = rl.Dataset(x, np.sign(x @ rng.standard_normal(3))), rl.Network(3, (20,))
        problem = rl.Problem(data, net, net.init(1e-3, seed=6), loss="logistic")
        run = rl.simulate(problem, until="direction converges", direction_tolerance=0.03, log10_times=[1e5, 1e6])
        assert run.direction_change < 0.03
        assert not run.direction_converged
        directions = rl.simulate(problem, log10_times=[1e6, 1e8]).directions[0]
        assert np.linalg.norm(directions[1] - directions[0]) > 0.02  # it still moves by as much

    def test_with_times_the_last_state_is_the_converged_one(self):
        run = rl.simulate(gaussian_problem(5), until="direction converges", log10_times=[0.0, 1e8], direction_tolerance=0.05)
        assert run.direction_converged
        assert run.status is Status.CONVERGED
        assert len(run) == 2
        assert run.log10_times[-1] < 1e6

    def test_a_finite_limit_is_told(self):
        problem = gaussian_problem(0, samples=12, inputs=2, alpha=1.0, separable=False)
        run = rl.simulate(problem, until="direction converges")
        assert run.status is Status.AT_REST
        assert "stopped: nothing moves any more, the weights have a finite limit" in repr(run)
        assert np.abs(np.concatenate([g.ravel() for g in problem.gradient(run.final)])).max() < 1e-10


class TestEndings:
    def test_a_network_at_rest_is_given_at_all_times(self):
        problem = gaussian_problem(0, samples=12, inputs=2, alpha=1.0, separable=False)
        run = rl.simulate(problem, log10_times=[1.0, 10.0, 1e6])
        assert run.status is Status.FINISHED
        assert run.ended.endswith("asked for: nothing moves any more, the weights have a finite limit")
        np.testing.assert_array_equal(run.weights[0][1], run.weights[0][2])
        near = rl.simulate(problem, times=[1e5])
        np.testing.assert_allclose(run.final[0], near.final[0], atol=1e-7)

    def test_dead_neurons_stay(self):
        net = rl.Network(2, (1,))
        data = rl.Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0])
        run = rl.simulate(rl.Problem(data, net, ([[-1.0, -1.0]], [[1.0]]), loss="logistic"), log10_times=[1e6])
        np.testing.assert_array_equal(run.final[0], [[-1.0, -1.0]])
        assert run.log_loss[0] == pytest.approx(np.log(np.log(2)))

    def test_samples_that_no_neuron_sees_do_not_stop_the_clock(self):
        # one neuron sees the first sample only; the second keeps its loss
        net = rl.Network(2, (1,))
        data = rl.Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0])
        run = rl.simulate(rl.Problem(data, net, ([[1.0, -1.0]], [[1.5]]), loss="logistic"), log10_times=[100.0, 1e5])
        assert run.status is Status.FINISHED
        np.testing.assert_allclose(run.loss, np.log(2) / 2, rtol=1e-12)
        np.testing.assert_allclose(run.outputs()[:, 0], run.log10_times * np.log(10), rtol=0.05)
        assert run.audit.energy_residual < 1e-7

    def test_a_loss_that_settles_while_weights_grow(self):
        # two opposite labels at one point never agree, while the third sample is fitted ever better
        data = rl.Dataset([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, -1.0, 1.0])
        net = rl.Network(2, (2,))
        weights = ([[1.0, -0.1], [-0.1, 1.0]], [[1.0], [1.0]])
        problem = rl.Problem(data, net, (weights[0], np.array(weights[1]).T), loss="logistic")
        run = rl.simulate(problem, log10_times=[1.0, 1e5])
        assert run.status is Status.SETTLED
        assert "the loss settles above zero while weights still grow; no later time can be reached" in repr(run)
        assert json.loads(run.to_json())["ended"] == run.ended == Status.SETTLED.value
        assert run.log10_times[-1] > 5
        assert np.exp(run.log_loss[-1]) == pytest.approx(2 * np.log(2) / 3, rel=1e-3)

    def test_budgets(self):
        run = rl.simulate(gaussian_problem(0), log10_times=[1e6], max_steps=20)
        assert run.status is Status.OUT_OF_STEPS
        assert len(run) == 1
        assert run.log10_times[0] < 1e6

    def test_progress_is_in_log_t(self):
        heard = []
        rl.simulate(gaussian_problem(0, samples=20, width=20), log10_times=[1e6], progress=lambda *told: heard.append(told))
        fractions = [fraction for fraction, _ in heard]
        assert fractions == sorted(fractions)
        assert all(note.startswith("t = 10^") for _, note in heard)


class TestTrajectory:
    def test_save_and_load(self, tmp_path):
        run = rl.simulate(gaussian_problem(2), until="direction converges", direction_tolerance=0.05)
        again = rl.load(run.save(tmp_path / "far.nc"))
        assert type(again) is LongTrajectory
        for name in ("log10_times", "log_loss", "times", "loss"):
            np.testing.assert_array_equal(getattr(again, name), getattr(run, name))
        np.testing.assert_array_equal(again.weights[0], run.weights[0])
        assert again.direction_change == run.direction_change
        assert again.direction_converged == run.direction_converged
        assert repr(again) == repr(run)

    def test_normalised_margins_and_directions(self):
        run = rl.simulate(gaussian_problem(2), log10_times=[10.0, 1e3])
        size = np.sqrt(np.sum(run.weights[0] ** 2, axis=(1, 2)) + np.sum(run.weights[1] ** 2, axis=(1, 2)))
        np.testing.assert_allclose(run.normalised_margins, run.problem.y * run.outputs() / size[:, None] ** 2)
        np.testing.assert_allclose(np.linalg.norm(run.directions[0], axis=(1, 2)), 1.0)

    def test_only_layers_that_train_normalise_margins(self):
        run = rl.simulate(gaussian_problem(2, trainable=(True, False)), log10_times=[10.0])
        np.testing.assert_allclose(run.normalised_margins, run.problem.y * run.outputs() / np.linalg.norm(run.final[0]))

    def test_the_card_speaks_of_powers_of_ten(self):
        card = repr(rl.simulate(gaussian_problem(2), log10_times=[0.0, 1e3]))
        assert "from t = 10^0 to 10^1000" in card
        assert "ln L" in card


@pytest.mark.parametrize(
    ("changes", "asked", "message"),
    [
        ({"loss": "square"}, {"log10_times": [1.0]}, "need a loss that falls for ever"),
        ({"l2": 0.1}, {"log10_times": [1.0]}, "need l2 = 0, found 0.1"),
        ({"widths": (3, 3)}, {"log10_times": [1.0]}, "need a two-layer network, found 3 layers"),
        ({}, {"log10_times": [2.0, 1.0]}, "strictly rising"),
        ({}, {"log10_times": []}, "strictly rising"),
        ({}, {"log10_times": [np.nan]}, "strictly rising"),
        ({}, {"log10_times": [1e12]}, "up to 2.68435e\\+08"),
        ({}, {"log10_times": ["far"]}, "log10_times must be numbers"),
        ({}, {"until": "the end"}, "until must be None or 'direction converges', found 'the end'"),
        ({}, {"until": "direction converges", "direction_tolerance": 0.0}, "must lie between 0 and 1"),
        ({}, {"log10_times": [1.0], "times": [1.0]}, "cannot be mixed with times"),
        (
            {},
            {"log10_times": [1.0], "stop_loss": 0.1},
            "cannot be mixed with times, method, early_phase, stop_gradient or stop_loss",
        ),
        ({}, {"log10_times": [1.0], "early_phase": False}, "cannot be mixed with times, method, early_phase"),
        (
            {},
            {"log10_times": [1.0], "direction_tolerance": 0.1},
            "direction_tolerance belongs to until='direction converges'",
        ),
        ({}, {"times": [1.0], "direction_tolerance": 0.1}, "direction_tolerance belongs to until='direction converges'"),
        ({}, {}, "needs times, log10_times or until"),
    ],
)
def test_refusals(changes, asked, message):
    net = rl.Network(2, changes.get("widths", (3,)))
    data = rl.Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0])
    loss, l2 = changes.get("loss", "logistic"), changes.get("l2", 0.0)
    problem = rl.Problem(data, net, net.init(0.1, seed=0), loss, l2)
    with pytest.raises(InputError, match=message):
        rl.simulate(problem, **asked)
