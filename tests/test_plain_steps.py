"""Plain steps for loose tolerances: against the exact engines, the laws of the flow, and themselves on more threads."""

import numpy as np
import pytest

import rectilinear as rl
from rectilinear.flow import threads
from rectilinear.flow.budgets import Watch
from rectilinear.flow.engines import plain_steps as plain_module
from rectilinear.flow.engines.plain_deep import PlainDeepSteps
from rectilinear.flow.engines.plain_steps import plain_steps
from rectilinear.flow.field import make_field
from rectilinear.flow.field.single_precision import UNIT
from rectilinear.flow.run import Record, StopRules, drive
from rectilinear.flow.span import Span
from rectilinear.flow.state import flatten, unflatten
from test_followed import apart, ordinary

SETTINGS = [
    {},
    {"loss": "logistic", "alpha": 0.1},
    {"l2": 0.02, "inputs": 5, "width": 7},
    {"bias": True},
    {"trainable": (False, True), "l2": 0.01},
    {"trainable": (True, False), "l2": 0.01},
]

NO_TIMES = np.empty(0)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_plain_steps_are_as_exact_as_a_loose_tolerance_asks(setting):
    problem, times = ordinary(samples=200, scale=0.05, **setting), np.linspace(0.0, 5.0, 6)
    exact = rl.simulate(problem, times, method="follow", rtol=1e-6)
    run = rl.simulate(problem, times, method="plain", rtol=3e-3)
    assert run.status is rl.Status.FINISHED
    assert apart(run, exact) < 0.1  # single neurons may be sent another way at a kink
    assert np.abs(run.loss - exact.loss).max() < 0.003 * exact.loss[0]
    assert run.audit.energy_residual < 0.01
    assert run.events is None


def slope_of(engine, single):
    """-grad L at the engine's state in either precision, flat."""
    engine.field.single, out = single, np.empty_like(engine.now.y)
    engine.field.slope(engine.now.y, out)
    return engine.field.flat(out[None])[0]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_slopes_are_those_of_the_problem(setting):
    problem = ordinary(**setting)
    engine = plain_steps(problem, make_field(problem), 1e-2, NO_TIMES)
    expected = [
        -gradient if trains else 0 * gradient
        for gradient, trains in zip(problem.gradient(problem.weights), problem.network.trainable_layers, strict=True)
    ]
    assert np.allclose(slope_of(engine, single=False), flatten(expected), atol=1e-15, rtol=1e-12)


@pytest.mark.parametrize("loss", ["square", "logistic", "exponential"])
@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e-60])
def test_single_precision_errs_by_its_unit_whatever_the_size_of_weights_and_samples(scale, loss):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 9)) * 10.0 ** rng.uniform(-30.0, 1.0, (300, 1))  # their pulls differ as much
    x[:20] = -x[20:40]  # mirror images
    net = rl.Network(inputs=9, widths=(11,), alpha=0.1)
    first, second = net.init(scale=scale, seed=1)
    sizes = 10.0 ** rng.uniform(-50.0, 0.0, 11)
    sizes[3] = 0.0
    problem = rl.Problem(rl.Dataset(x, np.sign(rng.standard_normal(300))), net, (first * sizes[:, None], second), loss=loss)
    engine = plain_steps(problem, make_field(problem), 1e-2, NO_TIMES)
    (dw, da), (ew, ea) = (unflatten(slope_of(engine, single), net.shapes) for single in (True, False))
    reach = np.abs(x).sum(axis=1).mean() * np.exp(scale)  # of pulls, and with them of the drive
    assert np.all(np.abs(dw - ew) <= 4 * UNIT * reach * np.abs(second.T))
    assert np.all(np.abs(da - ea) <= 4 * UNIT * reach * np.linalg.norm(problem.weights[0], axis=1))


def test_single_precision_is_left_where_the_tolerance_or_a_vanishing_gradient_asks_for_more():
    problem = ordinary(samples=200, scale=0.05)
    loose, tight = (plain_steps(problem, make_field(problem), rtol, NO_TIMES).field.single for rtol in (1e-3, 1e-8))
    assert loose
    assert not tight

    rng = np.random.default_rng(0)
    x, noise = rng.uniform(0.5, 1.5, (200, 4)), rng.standard_normal(200)
    y = x.sum(axis=1) + noise - x @ np.linalg.lstsq(x, noise, rcond=None)[0]  # weights of one fit it best
    net = rl.Network(inputs=4, widths=(2,))
    fitted = rl.Problem(rl.Dataset(x, y), net, (np.ones((2, 4)), np.full((1, 2), 0.5)))
    assert not plain_steps(fitted, make_field(fitted), 1e-3, NO_TIMES).field.single


def test_without_kinks_errors_fall_in_proportion_to_the_tolerance():
    problem, times = ordinary(alpha=1.0, scale=0.5), np.linspace(0.0, 3.0, 4)
    truth = rl.simulate(problem, times, method="smooth", rtol=1e-12)
    errors = [apart(rl.simulate(problem, times, method="plain", rtol=rtol), truth) for rtol in (1e-3, 1e-6)]
    assert 50 < errors[0] / errors[1] < 20_000


def test_more_threads_give_the_same_run(monkeypatch):
    problem, runs = ordinary(samples=2_000, inputs=8, width=150, scale=0.05), []
    for number in ("1", "2"):
        monkeypatch.setenv("RECTILINEAR_THREADS", number)
        runs.append(rl.simulate(problem, [0.0, 1.0], method="plain", rtol=1e-2))
    assert apart(*runs) < 1e-12


def test_loose_tolerances_choose_plain_steps_where_neurons_would_be_followed():
    problem = ordinary(samples=200)
    methods = [rl.simulate(problem, [0.0, 0.5], rtol=rtol).provenance["method"] for rtol in (1e-2, 1e-3)]
    assert methods == ["plain steps", "followed neurons"]
    assert "plain" not in rl.simulate(ordinary(samples=5), [0.0, 0.5], rtol=1e-2).provenance["method"]


def test_an_odd_number_of_neurons_is_measured_without_its_padding():
    problem = ordinary(width=7, inputs=5)
    engine = plain_steps(problem, make_field(problem), 1e-2, NO_TIMES)
    gradient = problem.gradient(problem.weights)
    slopes = np.concatenate([gradient[0], gradient[1].T], axis=1)
    sizes = np.concatenate([problem.weights[0], problem.weights[1].T], axis=1)
    expected = np.sqrt(np.mean((slopes**2).sum(axis=1) / (sizes**2).sum(axis=1)))
    assert np.isclose(
        engine.field.relative(engine.now.y, engine.now.y, engine.stages.slopes[:1], np.ones(1)), expected, rtol=1e-12
    )


@pytest.mark.parametrize("setting", [{}, {"loss": "logistic", "alpha": 0.1, "width": 7, "inputs": 5}, {"l2": 0.02}], ids=str)
def test_steps_made_many_at_a_call_are_those_made_one_by_one(setting, monkeypatch):
    problem, times, runs = ordinary(samples=200, scale=0.05, **setting), np.linspace(0.0, 5.0, 23), []
    for most, work in (
        (32, threads.THREAD_WORK),
        (1, threads.THREAD_WORK),
        (32, 0),
    ):  # the last ones by slopes that threads share
        monkeypatch.setattr(plain_module, "MOST_AHEAD", most)
        monkeypatch.setattr(threads, "THREAD_WORK", work)
        monkeypatch.setenv("RECTILINEAR_THREADS", "2")
        runs.append(rl.simulate(problem, times, method="plain", rtol=1e-2))
    together, one_by_one, shared = runs
    assert np.array_equal(flatten(together.weights), flatten(one_by_one.weights))
    assert together.audit == one_by_one.audit
    assert apart(together, shared) < 1e-6  # sums over shares are rounded differently, in single precision
    assert np.isclose(together.audit.loss_error, shared.audit.loss_error, rtol=1e-3)
    for run in (one_by_one, shared):
        assert all(run.statistics[count] == together.statistics[count] for count in ("steps", "gradients", "rejected"))


@pytest.mark.parametrize("rule", [{"stop_loss": 0.38}, {"stop_gradient": 0.05}], ids=str)
def test_rules_end_a_run_between_steps_that_were_made_at_one_call(rule, monkeypatch):
    problem, runs = ordinary(samples=200, scale=0.5), []
    for most in (32, 1):
        monkeypatch.setattr(plain_module, "MOST_AHEAD", most)
        runs.append(rl.simulate(problem, [0.0, 1.0, 50.0], method="plain", rtol=1e-2, **rule))
    assert runs[0].status is runs[1].status is not rl.Status.FINISHED
    assert runs[0].statistics["steps"] < 32
    assert np.array_equal(runs[0].times, runs[1].times)
    assert np.array_equal(runs[0].final[0], runs[1].final[0])


def test_a_budget_of_steps_ends_a_run_within_steps_that_were_made_at_one_call():
    run = rl.simulate(ordinary(samples=200, scale=0.5), [0.0, 50.0], method="plain", rtol=1e-2, max_steps=3)
    assert run.status is rl.Status.OUT_OF_STEPS
    assert run.statistics["steps"] + run.statistics["rejected"] == 3
    assert 0.0 < run.times[-1] < 50.0


def test_the_loosest_tolerance_still_bounds_the_error_of_the_loss():
    problem, times = ordinary(samples=200, scale=0.05), np.linspace(0.0, 5.0, 6)
    exact, run = rl.simulate(problem, times, rtol=1e-6), rl.simulate(problem, times, rtol=3e-2)
    assert np.abs(run.loss - exact.loss).max() < 3e-2 * exact.loss[0]


def deep_ordinary(l2=0.0, **setting):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((150, 5))
    net = rl.Network(inputs=5, widths=(16, 16), **setting)
    return rl.Problem(rl.Dataset(x, np.tanh(x @ rng.standard_normal(5))), net, net.init(scale=1.5, seed=0), l2=l2)


@pytest.mark.parametrize(
    "setting", [{}, {"l2": 0.01}, {"alpha": 0.2, "bias": True}, {"trainable": (True, False, True)}], ids=str
)
def test_deep_networks_take_plain_steps_too(setting):
    problem, times = deep_ordinary(**setting), np.linspace(0.0, 4.0, 9)
    run, exact = (rl.simulate(problem, times, rtol=rtol) for rtol in (1e-3, 1e-5))
    assert run.provenance["method"] == "plain steps"
    assert np.abs(run.loss - exact.loss).max() < 1e-3 * exact.loss[0]
    assert np.abs(run.loss - exact.loss).max() < run.audit.loss_error * exact.loss[0] < 0.02
    assert apart(run, exact) < 0.1
    assert run.audit.energy_residual < 0.01
    for k, moves in enumerate(problem.network.trainable_layers):
        assert moves or np.array_equal(run.final[k], problem.weights[k])


def test_deep_plain_steps_without_kinks_have_order_three():
    problem, times = deep_ordinary(alpha=1.0), np.linspace(0.0, 3.0, 4)
    truth = rl.simulate(problem, times, method="smooth", rtol=1e-12)
    errors = []
    for rtol in (1e-3, 1e-5):
        record = Record(
            Span(problem, whole=True), make_field(problem), PlainDeepSteps(problem, make_field(problem), rtol), 9
        )
        drive(record, times, Watch(None, None, None), StopRules(0.0, 0.0))
        errors.append(np.abs(record.states[:4] - flatten(truth.weights)).max())
    assert 50 < errors[0] / errors[1] < 200  # 100: steps like rtol^(1/3), their errors' sum like the third power of that


def test_more_threads_give_the_same_deep_run(monkeypatch):
    monkeypatch.setattr(threads, "THREAD_WORK", 0)
    problem, runs = deep_ordinary(), []
    for number in ("1", "2"):
        monkeypatch.setenv("RECTILINEAR_THREADS", number)
        runs.append(rl.simulate(problem, [0.0, 0.5, 1.0], rtol=1e-2))
    assert apart(*runs) < 1e-9
