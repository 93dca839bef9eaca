"""The early phase of plain runs: against the one that certifies every event, and against followed neurons to the end."""

import numpy as np
import pytest

import rectilinear as rl
from rectilinear.flow.engines.constant_pulls import ConstantPulls
from rectilinear.flow.engines.early_phase import EarlyPhase
from rectilinear.flow.kinks.decisions import Decisions, first_start
from rectilinear.flow.kinks.geometry import Kinks
from rectilinear.flow.state import flatten, layers_of
from test_followed import apart, ordinary, rank_deficient, shared_lines

RTOL = 1e-2
ROUNDING = 1e-6  # products with normals are made in single precision, 6e-8, and some hundred of them add up

SETTINGS = [
    {},
    {"inputs": 2, "width": 30},
    {"loss": "logistic", "alpha": 0.3},
    {"bias": True},
    {"samples": 150, "width": 30},
    {"samples": 500, "inputs": 6, "width": 8},  # many kinks, in rows that they do not fill
    {"x": shared_lines()},
    {"x": rank_deficient()},
]


def moved(problem, times):
    """An early phase that has come as far as the last of these times, and its states at them (t, size)."""
    engine, states = ConstantPulls(problem, RTOL, times, then=None), []
    while engine.t < times[-1] and not engine.over:
        if engine.attempt(times[-1]):
            inside = times[(times > engine.t) & (times <= engine.step_end)]
            states += list(engine.states(inside).weights) if len(inside) else []
            engine.commit()
    return engine, np.array(states)


def certified(problem, t):
    """The neurons (h, inputs + 1) at t by the other early phase, and its events."""
    decisions = Decisions(Kinks(problem))
    phase = EarlyPhase(problem, decisions, first_start(problem, decisions), RTOL, lambda start: None)
    phase.limit, phase.step_size = np.inf, t
    assert phase.attempt(t)
    phase.commit()
    return phase.end.theta, phase.events()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: ", ".join(setting))
def test_neurons_are_where_certified_events_lead_them(setting, seed):
    problem = ordinary(seed=seed, scale=1e-8, **setting)
    engine, states = moved(problem, np.array([1.0, 3.0]))
    neurons = np.concatenate([engine.neurons.w, engine.neurons.a[:, None]], axis=1)
    exact, events = certified(problem, engine.t)  # a neuron that comes to w = 0 ends the phase
    off = np.linalg.norm(neurons - exact, axis=1) / np.linalg.norm(exact, axis=1)
    assert off.max() < ROUNDING
    assert events.count(rl.Kind.CROSS) > 5
    halfway = flatten(layers_of(certified(problem, 1.0)[0]))
    assert np.abs(states[0] - halfway).max() < ROUNDING * np.abs(halfway).max()


def test_neurons_that_begin_on_a_kink_go_on():
    x = np.random.default_rng(0).standard_normal((40, 2))
    x[0] = 1.0, 0.0
    problem = ordinary(x=x, seed=0, scale=1e-8, width=30)
    first, second = problem.weights
    problem = problem.with_weights(
        (first * [0.0, 1.0], second)
    )  # all of them on the first one, and half are pushed below it
    engine, _ = moved(problem, np.array([1.0, 3.0]))
    neurons = np.concatenate([engine.neurons.w, engine.neurons.a[:, None]], axis=1)
    exact, _ = certified(problem, engine.t)
    assert (np.linalg.norm(neurons - exact, axis=1) / np.linalg.norm(exact, axis=1)).max() < ROUNDING


@pytest.mark.parametrize("setting", [{}, {"loss": "logistic", "alpha": 0.3}], ids=str)
def test_weights_of_any_size_move_alike(setting):
    problem, times = ordinary(seed=1, scale=1e-8, **setting), np.array([1.0, 3.0])
    small = 2.0**-400
    tiny, _ = moved(problem.with_weights(tuple(small * layer for layer in problem.weights)), times)
    engine, _ = moved(problem, times)
    assert engine.counts["crossings"] > 20
    np.testing.assert_array_equal(tiny.neurons.w, small * engine.neurons.w)
    np.testing.assert_array_equal(tiny.neurons.a, small * engine.neurons.a)


def test_labels_of_any_size_move_weights_alike_in_their_time():
    problem, small, times = ordinary(seed=1, scale=1e-150), 2.0**-400, np.array([1.0, 3.0])
    engine, _ = moved(problem, times)
    weak = rl.Problem(rl.Dataset(problem.x, small * problem.y), problem.network, problem.weights)
    slow, _ = moved(weak, times / small)
    assert engine.counts["crossings"] > 20
    np.testing.assert_array_equal(slow.neurons.w, engine.neurons.w)


def test_the_settings_hold_release_and_turn():
    problems = [ordinary(seed=seed, scale=1e-8, **setting) for setting in SETTINGS for seed in range(3)]
    ends = [certified(problem, 3.0) for problem in problems]
    assert sum(events.count(rl.Kind.HOLD) for _, events in ends) > 20
    assert sum(events.count(rl.Kind.RELEASE) for _, events in ends) > 3
    pairs = zip(ends, problems, strict=True)
    assert any((np.sign(theta[:, -1]) != np.sign(problem.weights[1][0])).any() for (theta, _), problem in pairs)


@pytest.mark.parametrize(("setting", "end"), [({}, 48.0), ({"loss": "logistic"}, 100.0), ({"alpha": 0.3}, 48.0)], ids=str)
@pytest.mark.parametrize("rtol", [3e-3, 1e-3])
def test_plain_runs_fall_when_they_should(setting, end, rtol):
    problem = ordinary(samples=200, inputs=6, width=20, scale=1e-3, **setting)
    times = np.linspace(0.0, end, 9)  # once the loss has fallen, single neurons may go another way
    exact = rl.simulate(problem, times, method="follow", rtol=1e-6)
    run = rl.simulate(problem, times, method="plain", rtol=rtol)
    assert run.provenance["method"] == "early phase, plain steps"
    assert np.abs(run.loss - exact.loss).max() < 0.3 * rtol * exact.loss[0]
    assert exact.loss[-1] < 0.99 * exact.loss[0]
    assert run.audit.energy_residual < 3.0 * rtol
    assert run.audit.balance_drift < 3.0 * rtol  # of a single neuron: 0.2 to 1.2 with six seeds


def test_a_run_that_ends_early_says_where_it_was():
    problem = ordinary(samples=200, scale=1e-6)
    times = np.array([0.0, 0.1, 0.2])
    run = rl.simulate(problem, times, method="plain", rtol=1e-3)
    exact = rl.simulate(problem, times, method="follow", rtol=1e-6)
    assert run.provenance["method"] == "early phase"
    assert apart(run, exact) < 1e-4  # a tenth of rtol, which is what outputs may come to
    assert rl.simulate(problem, times, method="plain", rtol=1e-3, early_phase=False).provenance["method"] == "plain steps"
    stopped = rl.simulate(problem, np.array([0.0, 100.0]), method="plain", rtol=1e-3, max_steps=1)
    assert stopped.status is rl.Status.OUT_OF_STEPS
    assert 0.0 < stopped.times[-1] < 100.0


@pytest.mark.parametrize("setting", [{"scale": 0.3}, {"l2": 0.01}, {"trainable": (True, False)}, {"inputs": 1}], ids=str)
def test_it_does_not_apply_to_large_weights_or_decay_or_layers_at_rest_or_one_input(setting):
    assert not ConstantPulls.applies(ordinary(**{"scale": 1e-8, **setting}), RTOL)
    assert ConstantPulls.applies(ordinary(scale=1e-8), RTOL)


def test_a_step_that_is_far_too_long_is_refused_without_a_warning():
    """Weights of a neuron that slides overflow in it."""
    net = rl.Network(inputs=2, widths=(20,))
    problem = rl.Problem(rl.datasets.six_points(), net, net.init(1e-8, seed=0))
    decisions = Decisions(Kinks(problem))
    phase = EarlyPhase(problem, decisions, first_start(problem, decisions), 1e-9, lambda start: None)
    phase.step_size = 4e3
    assert not phase.attempt(1e9)
    assert phase.step_size == 2e3
