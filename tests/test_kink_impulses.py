"""Steps of a frozen pattern with impulses at kinks: their parts against obvious twins, and runs against the kink-exact engines."""

import numpy as np
import pytest

import naive
import rectilinear as rl
from rectilinear.flow.choose import IMPULSE_RTOL, LOCATED_RTOL, default_rtol
from rectilinear.flow.engines.kink_impulses import ImpulseEngine
from rectilinear.flow.field.sloped import SlopedField
from rectilinear.flow.kinks import passages
from rectilinear.flow.kinks.box_program import box_program
from rectilinear.flow.kinks.passages import passed, times_beyond
from rectilinear.flow.state import flatten, unflatten
from rectilinear.flow.steppers.tsitouras import ERROR_WEIGHTS, PLAIN_TABLEAU, STAGE_TIMES, interpolant, interpolant_slope
from test_deep_kinks import SETTINGS, problem_of

NONE = np.empty(0, np.intp)
WITHIN = 10.0  # times rtol: what errors of the weights must stay below


def gap(run, truth):
    """Largest distance of the weights at any saved time, relative to their size."""
    states, expected = (np.concatenate([layer.reshape(len(r), -1) for layer in r.weights], axis=1) for r in (run, truth))
    return np.max(np.linalg.norm(states - expected, axis=1) / np.linalg.norm(expected, axis=1))


@pytest.mark.parametrize("setting", SETTINGS)
def test_with_the_slopes_of_the_weights_the_field_is_the_gradient(setting):
    problem = problem_of(**setting)
    field, theta = SlopedField(problem), flatten(problem.weights)
    found = field.run(theta, field.new_pass(), np.zeros(field.count), NONE, False)
    np.testing.assert_allclose(found.velocity, -flatten(naive.gradient(problem, problem.weights)), rtol=0, atol=1e-13)
    assert found.objective == pytest.approx(problem.objective(problem.weights), rel=1e-13)
    given = field.run(theta, field.new_pass(), found.slopes.copy(), NONE, True)
    np.testing.assert_allclose(given.velocity, found.velocity, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(field.heights(theta, found.slopes.copy(), NONE, False), found.z)


@pytest.mark.parametrize("setting", SETTINGS)
def test_normals_are_gradients_of_heights(setting):
    problem = problem_of(**setting)
    field, theta = SlopedField(problem), flatten(problem.weights)
    found = field.run(theta, field.new_pass(), np.zeros(field.count), NONE, False)
    slopes, kinks = found.slopes.copy(), np.arange(field.count)
    trains = np.concatenate(
        [np.full(layer.size, t) for layer, t in zip(problem.weights, problem.network.trainable_layers, strict=True)]
    )
    rows = np.empty((field.count, field.size))

    def heights(theta):
        return field.heights(theta, slopes, NONE, True).copy()

    for i, step in enumerate(1e-6 * np.diag(trains.astype(float))):
        rows[:, i] = (heights(theta + step) - heights(theta - step)) / 2e-6
    normals, amounts = field.normals(found, kinks), np.random.default_rng(0).standard_normal(field.count)
    np.testing.assert_allclose(normals.gram(), rows @ rows.T, rtol=0, atol=1e-7)
    np.testing.assert_allclose(normals.squares(), np.diag(rows @ rows.T), rtol=0, atol=1e-7)
    np.testing.assert_allclose(field.push(found, amounts.copy()), amounts @ rows, rtol=0, atol=1e-7)
    half, velocity = kinks % 2 == 0, unflatten(found.velocity, field.shapes)
    np.testing.assert_allclose(normals.of(half).along(velocity), (rows @ found.velocity)[half], rtol=0, atol=1e-7)


@pytest.mark.parametrize("seed", range(20))
def test_impulses_within_bounds_are_optimal(seed):
    """The conditions of Karush, Kuhn and Tucker, also where normals are parallel."""
    rng = np.random.default_rng(seed)
    normals = rng.standard_normal((12, (4, 30)[seed % 2]))
    gram, target = normals @ normals.T, normals @ rng.standard_normal(normals.shape[1])
    low, high = -rng.uniform(0, 0.2, 12), rng.uniform(0, 0.2, 12)
    q = box_program(gram, target, low, high)
    slope = gram @ q - target
    assert np.all((q >= low) & (q <= high))
    tolerance = 1e-7 * np.abs(target).max()
    assert np.all(np.abs(slope[(q > low) & (q < high)]) < tolerance)
    assert np.all(slope[q == low] > -tolerance)
    assert np.all(slope[q == high] < tolerance)


def test_times_beyond_a_kink_are_those_of_the_cubic():
    rng = np.random.default_rng(0)
    heights, signs = rng.standard_normal((4, 300)), rng.choice([-1, 0, 1], 300).astype(np.int8)
    u = (np.arange(20_000) + 0.5) / 20_000
    cubics = np.linalg.solve(np.vander([0, 1 / 3, 2 / 3, 1], increasing=True), heights)
    beyond = (np.vander(u, 4, increasing=True) @ cubics) * signs < 0
    found = passed(signs, heights)
    assert set(np.flatnonzero(beyond.any(axis=0))) <= set(found)
    for until in (1.0, 0.4):
        whole, first = times_beyond(signs, heights, found, until)
        counted = beyond[:, found] & (u < until)[:, None]
        fine = np.abs(whole - counted.mean(axis=0)) < 2e-4
        assert fine.mean() > 0.98  # pairs of roots closer than a piece are missed
        np.testing.assert_allclose(first[fine], (u @ counted / len(u))[fine], rtol=0, atol=2e-4)


def test_a_root_that_was_found_is_not_sought_again_by_halvings(monkeypatch):
    """Newton's last step lands on an end of the bracket; some 50 halvings from there on would lead back to it."""
    looks, height = [], passages._height
    monkeypatch.setattr(passages, "_height", lambda *at: looks.append(at) or height(*at))
    heights = np.random.default_rng(0).uniform([[-1.5], [-1.0], [0.5], [1.0]], [[-1.0], [-0.5], [1.0], [1.5]], (4, 200))
    times_beyond.py_func(np.ones(200, np.int8), heights, np.arange(200), 1.0)
    assert len(looks) < 200 * (passages.PIECES + 10)


def test_the_pair_has_order_five_and_its_interpolant_order_four():
    def step(h):
        """The slopes of a step of y' = -y^2 from y(0) = 1, whose solution is 1/(1 + t)."""
        slopes = [-1.0]
        for row in PLAIN_TABLEAU[1:]:
            slopes.append(-((1.0 + h * row @ slopes) ** 2))
        return np.array(slopes)

    for row, node in zip(PLAIN_TABLEAU, STAGE_TIMES, strict=True):
        assert sum(row) == pytest.approx(node, abs=1e-14)
    assert abs(ERROR_WEIGHTS.sum()) < 1e-14
    errors = [abs(1.0 + h * interpolant(1.0) @ step(h) - 1.0 / (1.0 + h)) for h in (0.2, 0.1)]
    assert errors[0] / errors[1] > 40
    within = [abs(1.0 + h * interpolant(0.3) @ step(h) - 1.0 / (1.0 + 0.3 * h)) for h in (0.2, 0.1)]
    assert within[0] / within[1] > 20
    assert interpolant_slope(0.3) @ step(0.1) == pytest.approx(-1.0 / 1.03**2, abs=1e-5)


@pytest.mark.parametrize("seed", range(6))  # in 3 a sample that activates nothing wakes up
def test_runs_that_slide_are_within_tolerance(seed):
    problem, times = problem_of(seed, scale=1.0, samples=12), np.linspace(0.0, 10.0, 41)
    truth = rl.simulate(problem, times, method="kinks", rtol=1e-9)
    assert len(truth.events) > 0
    for rtol in (1e-3, 1e-4):
        run = rl.simulate(problem, times, method="impulses", rtol=rtol)
        assert run.status is rl.Status.FINISHED
        assert gap(run, truth) < WITHIN * rtol


@pytest.mark.parametrize("seed", range(3))
def test_runs_of_leaky_classifiers_with_weight_decay_are_within_tolerance(seed):
    problem, times = problem_of(seed, scale=1.0, samples=12, loss="logistic", l2=0.05, alpha=0.2), [1.0, 4.0, 10.0]
    truth = rl.simulate(problem, times, method="kinks", rtol=1e-9)
    for rtol in (1e-3, 1e-4):
        assert gap(rl.simulate(problem, times, method="impulses", rtol=rtol), truth) < WITHIN * rtol


@pytest.mark.parametrize("setting", [{"bias": True}, {"trainable": (True, False, True)}, {"widths": (4, 4, 3)}])
def test_biases_fixed_layers_and_more_of_them(setting):
    problem, times = problem_of(2, scale=1.2, **setting), [0.5, 2.0, 8.0]
    truth = rl.simulate(problem, times, method="kinks", rtol=1e-9)
    assert gap(rl.simulate(problem, times, method="impulses", rtol=1e-4), truth) < WITHIN * 1e-4


def test_two_layers_move_as_their_own_exact_method_says():
    rng = np.random.default_rng(1)
    network = rl.Network(4, (10,))
    problem = rl.Problem(
        rl.Dataset(rng.standard_normal((30, 4)), rng.standard_normal(30)), network, network.init(2.0, seed=1)
    )
    times = [1.0, 5.0, 20.0]
    truth = rl.simulate(problem, times, method="kinks")
    assert truth.events.count(rl.Kind.HOLD) > 3
    assert gap(rl.simulate(problem, times, method="impulses", rtol=1e-4), truth) < WITHIN * 1e-4


def test_samples_on_one_ray_share_their_kinks():
    x = np.random.default_rng(3).standard_normal((5, 3))
    problem = problem_of(3, samples=10, scale=1.0, x=np.concatenate([x, 2.0 * x[:3], -x[3:]]))
    times = [1.0, 5.0]
    truth = rl.simulate(problem, times, method="kinks", rtol=1e-9)
    run = rl.simulate(problem, times, method="impulses", rtol=1e-4)
    # kinks are few and heavy: 1 to 42 rtol, as rounding falls on one machine or another, and said
    assert gap(run, truth) < min(50 * 1e-4, run.audit.weight_error)


def ordinary(samples=60, widths=(16, 16), seed=0, loss="square"):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((samples, 5))
    y = np.tanh(x @ rng.standard_normal(5)) if loss == "square" else np.sign(x[:, 0] + x[:, 1] * x[:, 2])
    network = rl.Network(5, widths)
    return rl.Problem(rl.Dataset(x, y), network, network.init(2.5, seed=seed), loss)


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_ordinary_runs_keep_the_laws_of_the_flow_and_agree_with_tighter_ones(loss):
    problem, times = ordinary(loss=loss), np.linspace(0.0, 6.0, 31)
    run = rl.simulate(problem, times)
    assert run.provenance["method"] == "kink impulses"
    assert run.provenance["rtol"] == IMPULSE_RTOL
    assert run.statistics["crossings"] > 100
    assert run.statistics["holds"] > 3
    assert run.audit.energy_residual < 1e-3
    assert run.audit.balance_drift < 1e-3
    tight = rl.simulate(problem, times, rtol=3e-6)
    assert gap(run, tight) < WITHIN * IMPULSE_RTOL
    assert np.abs(run.loss - tight.loss).max() < IMPULSE_RTOL * run.loss[0]


def test_ordinary_runs_agree_with_located_kinks():
    problem, end = ordinary(samples=30, widths=(8, 8)), [4.0]
    truth = rl.simulate(problem, end, method="kinks")
    gaps = [gap(rl.simulate(problem, end, method="impulses", rtol=rtol), truth) / rtol for rtol in (1e-3, 1e-4, 1e-5)]
    assert max(gaps) < WITHIN


def test_states_within_steps_are_as_exact_as_at_their_ends():
    problem = ordinary(samples=40, widths=(10, 10))
    many = rl.simulate(problem, np.linspace(0.0, 4.0, 101), rtol=1e-4)
    tight = rl.simulate(problem, np.linspace(0.0, 4.0, 101), rtol=3e-6)
    assert gap(many, tight) < WITHIN * 1e-4


def test_runs_go_on_where_they_stopped():
    problem = ordinary(samples=40, widths=(10, 10))
    whole = rl.simulate(problem, [2.0, 4.0])
    again = rl.resume(rl.simulate(problem, [2.0]), [4.0])
    for layer, other in zip(whole.final, again.final, strict=True):
        np.testing.assert_allclose(layer, other, rtol=0, atol=WITHIN * IMPULSE_RTOL * np.abs(layer).max())


def test_a_step_too_long_is_refused():
    engine = ImpulseEngine(ordinary(samples=30, widths=(8, 8)), 1e-6)
    engine.step_size = 1e6
    assert not engine.attempt(1e9)
    assert engine.step_size < 1e6
    assert engine.statistics()["rejected"] == 1
    assert not engine.chattering


def test_networks_that_cannot_move_stay_where_they_are():
    network = rl.Network(2, (3, 3))
    weights = (-np.ones((3, 2)), np.ones((3, 3)), np.ones((1, 3)))  # no sample activates the first layer
    problem = rl.Problem(rl.Dataset([[1.0, 1.0], [2.0, 1.0]], [1.0, -1.0]), network, weights)
    run = rl.simulate(problem, [1.0, 100.0], method="impulses")
    assert run.status is rl.Status.FINISHED
    for layer, start in zip(run.final, weights, strict=True):
        np.testing.assert_array_equal(layer, start)


def test_the_engine_of_a_deep_run_is_chosen_by_its_cost():
    few, many = problem_of(), ordinary()
    assert default_rtol(few, "auto") == LOCATED_RTOL
    assert default_rtol(many, "auto") == IMPULSE_RTOL
    assert rl.simulate(few, [0.01]).provenance["method"] == "kink-exact"
    assert rl.simulate(few, [0.01], rtol=1e-2).provenance["method"] == "kink impulses"
    assert rl.simulate(many, [0.01], rtol=1e-3).provenance["method"] == "plain steps"
    assert rl.simulate(many, [0.01], rtol=1e-6).provenance["method"] == "kink impulses"
    assert rl.simulate(many, [0.01], method="smooth").provenance["method"] == "smooth"
