"""Neurons followed by themselves: against the kink-exact method, descent, closed forms, and the laws of the flow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import polynomial

import rectilinear as rl
from compiled_parts import from_python
from rectilinear.flow import choose, polynomials
from rectilinear.flow.choose import FEW_ENOUGH_TO_STOP, first_engine
from rectilinear.flow.deadline import Deadline, OutOfTime
from rectilinear.flow.engines import alternative, event_log, neuron_path
from rectilinear.flow.engines.followed import FollowedNeurons
from rectilinear.flow.field import make_field
from rectilinear.flow.field.sample_lines import SampleLines
from rectilinear.flow.kinks import answers, single_neuron
from rectilinear.flow.steppers.legendre_curves import LegendreCurves, gauss_rules

WITHIN = 10  # times the tolerance: what a run may be off by


def ordinary(seed=0, samples=40, inputs=4, width=8, loss="square", scale=0.3, l2=0.0, x=None, **network):
    """Gaussian inputs without mirror images, and labels of no structure."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((samples, inputs)) if x is None else x
    y = rng.standard_normal(len(x))
    y = y if loss == "square" else np.where(y > 0, 1.0, -1.0)
    net = rl.Network(inputs=x.shape[1], widths=(width,), **network)
    return rl.Problem(rl.Dataset(x, y), net, net.init(scale=scale, seed=seed), loss=loss, l2=l2)


def apart(run, other):
    """Largest distance of weights at any saved time, over the largest weight."""
    pairs = zip(run.weights, other.weights, strict=True)
    return max(np.abs(one - two).max() / np.abs(two).max() for one, two in pairs)


def shared_lines(seed=1):
    x = np.random.default_rng(seed).standard_normal((20, 3))
    return np.concatenate([x, -1.5 * x[:8], 0.5 * x[:5]])


def rank_deficient(seed=2):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((30, 2)) @ rng.standard_normal((2, 4))


@pytest.mark.parametrize(
    "setting",
    [
        {},
        {"loss": "logistic"},
        {"loss": "exponential", "alpha": 0.1},
        {"alpha": 0.5},
        {"l2": 0.02},
        {"bias": True},
        {"trainable": (False, True)},
        {"trainable": (True, False), "l2": 0.01},
        {"x": shared_lines()},
        {"x": rank_deficient()},
        {"samples": 12, "inputs": 1},
    ],
    ids=str,
)
def test_followed_neurons_agree_with_the_kink_exact_method(setting):
    problem, times = ordinary(**setting), np.linspace(0.0, 12.0, 7)
    exact = rl.simulate(problem, times, method="kinks", rtol=1e-11)
    for rtol in (1e-4, 1e-7):
        run = rl.simulate(problem, times, method="follow", rtol=rtol)
        assert run.status is rl.Status.FINISHED
        assert apart(run, exact) < WITHIN * rtol
        assert np.abs(run.loss - exact.loss).max() < WITHIN * rtol * exact.loss[0]
        assert run.audit.energy_residual < WITHIN * rtol
        assert run.audit.balance_drift is None or run.audit.balance_drift < WITHIN * rtol
        assert run.audit.loss_rise < rtol
        assert run.events.certified
    if problem.network.inputs > 1:  # with one input, being held is the same as resting at the origin
        counted = [[r.events.count(kind) for kind in rl.Kind] for r in (run, exact)]
        assert counted[0] == counted[1]


def test_a_shipped_student_teacher_problem_finishes_and_descent_comes_to_agree():
    """100 samples of 10 inputs, 20 neurons: where stopping at every kink never arrives."""
    data, net = rl.datasets.gaussian_teacher(), rl.Network(inputs=10, widths=(20,))
    problem = rl.Problem(data, net, net.init(scale=1e-3, seed=0))
    run = rl.simulate(problem, [0.0, 10.0, 20.0])
    assert run.status is rl.Status.FINISHED
    assert run.provenance["method"].endswith("followed neurons")
    steps = 20_000
    coarse, fine = (rl.descend(problem, 20.0 / n, n, record_every=n // 2) for n in (steps, 2 * steps))
    distances = [apart(run, descent) for descent in (coarse, fine)]
    assert distances[1] < 0.6 * distances[0] < 1e-3  # descent is of first order


@pytest.mark.parametrize("rtol", [1e-6, 1e-10])
def test_losses_of_any_size_are_followed_from_the_start(rtol):
    """The first steps are a minute share of the time asked for."""
    problem, times = ordinary(samples=8, inputs=3, width=6, loss="exponential", scale=18.0), np.array([0.0, 0.01, 1.0])
    run, exact = rl.simulate(problem, times, method="follow", rtol=rtol), rl.simulate(problem, times, method="kinks")
    assert exact.loss[0] > 1e15
    assert run.status is rl.Status.FINISHED
    assert apart(run, exact) < WITHIN * max(rtol, 1e-9)


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_errors_fall_with_the_tolerance(loss):
    problem, times = ordinary(seed=3, samples=60, inputs=5, width=12, loss=loss), np.linspace(0.0, 10.0, 11)
    truth = rl.simulate(problem, times, method="follow", rtol=1e-9)
    errors = [apart(rl.simulate(problem, times, method="follow", rtol=rtol), truth) for rtol in (1e-3, 1e-5, 1e-7)]
    assert errors[0] < 1e-2
    assert errors[1] < 1e-4
    assert errors[2] < 1e-6


def test_bits_do_not_depend_on_the_number_of_threads(monkeypatch):
    problem = ordinary(samples=300, inputs=6, width=40)
    runs = []
    for threads in ("1", "3"):
        monkeypatch.setenv("RECTILINEAR_THREADS", threads)
        runs.append(rl.simulate(problem, [0.0, 2.0, 4.0], method="follow", rtol=1e-4))
    for one, other in zip(runs[0].weights, runs[1].weights, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(runs[0].events.time, runs[1].events.time)


def test_a_run_goes_on_where_it_was_interrupted():
    problem = ordinary(seed=5)
    whole = rl.simulate(problem, [0.0, 5.0, 10.0], method="follow", rtol=1e-7)
    begun = rl.simulate(problem, [0.0, 5.0], method="follow", rtol=1e-7)
    resumed = rl.resume(begun, [10.0], method="follow", rtol=1e-7)
    assert apart(resumed, whole) < WITHIN * 1e-7


def test_budgets_return_what_there_is():
    run = rl.simulate(ordinary(), np.linspace(0.0, 50.0, 11), method="follow", max_steps=3)
    assert run.status is rl.Status.OUT_OF_STEPS
    assert 0.0 < run.times[-1] < 50.0


@pytest.fixture
def never_agrees(monkeypatch):
    """Pulls and paths that do not come to agree once the run has got to t = 2."""
    agreed = FollowedNeurons._sweep
    monkeypatch.setattr(FollowedNeurons, "_sweep", lambda engine, h: agreed(engine, h) if engine.t < 2.0 else None)


def test_where_sweeps_never_agree_the_network_stops_at_each_kink(never_agrees):
    problem, times = ordinary(seed=1), [0.0, 1.0, 4.0, 10.0]
    run, exact = rl.simulate(problem, times, method="follow", rtol=1e-8), rl.simulate(problem, times, method="kinks")
    assert run.status is rl.Status.FINISHED
    assert run.provenance["method"].startswith("followed neurons, kink-exact")
    assert apart(run, exact) < WITHIN * 1e-8
    assert [run.events.count(kind) for kind in rl.Kind] == [exact.events.count(kind) for kind in rl.Kind]
    assert (np.diff(run.events.time) >= 0.0).all()
    assert run.audit.energy_residual < WITHIN * 1e-8


def test_where_steps_are_many_and_little_happens_in_them_the_network_stops_at_each_kink(monkeypatch):
    monkeypatch.setattr(alternative, "MANY_STEPS", 5)
    monkeypatch.setattr(alternative, "PIECE_WORK", 0.0)
    monkeypatch.setattr(choose, "MOST_KINK_EXACT_WORK", 1.0)
    rare = rl.simulate(ordinary(seed=1, samples=6, width=2), [0.0, 20.0, 40.0], method="follow", rtol=1e-8)
    exact = rl.simulate(rare.problem, rare.times, method="kinks")
    assert rare.provenance["method"].startswith("followed neurons, kink-exact")
    assert apart(rare, exact) < WITHIN * 1e-8
    assert rare.events.happened == exact.events.happened
    often = rl.simulate(ordinary(), [0.0, 20.0], method="follow", rtol=1e-4)
    assert often.events.happened > often.statistics["steps"] > 5
    assert often.provenance["method"] == "followed neurons"


def test_what_costs_more_than_stopping_at_each_kink_goes_on_so(monkeypatch):
    problem, times = ordinary(seed=1), [0.0, 1.0, 4.0, 10.0]
    exact = rl.simulate(problem, times, method="kinks")
    monkeypatch.setattr(choose, "MOST_KINK_EXACT_WORK", 1.0)
    monkeypatch.setattr(alternative, "PIECE_WORK", 1e6)
    run = rl.simulate(problem, times, method="follow", rtol=1e-8)
    assert run.provenance["method"].startswith("followed neurons, kink-exact")
    assert apart(run, exact) < WITHIN * 1e-8


def test_following_asked_for_by_name_goes_on_whatever_it_costs(monkeypatch):
    monkeypatch.setattr(alternative, "PIECE_WORK", 1e9)
    monkeypatch.setattr(alternative, "MANY_STEPS", 1)
    run = rl.simulate(ordinary(seed=1, samples=6, width=2), [0.0, 20.0], method="follow", rtol=1e-8)
    assert run.provenance["method"] == "followed neurons"


def test_where_kinks_are_too_many_for_that_the_run_says_what_to_do(never_agrees):
    run = rl.simulate(ordinary(samples=FEW_ENOUGH_TO_STOP + 1, width=2), [0.0, 10.0], method="follow", rtol=1e-3)
    assert run.status is rl.Status.STUCK
    assert run.reason == f"no step could be made at t = {run.times[-1]:g}; loosen rtol, or use method='kinks'"


def test_pulls_beyond_the_range_of_numbers_shorten_the_step():
    """Extrapolated too far, exponential losses overflow: a step too long, without a warning on the way."""
    problem = ordinary(seed=3, loss="exponential")
    engine = first_engine(problem, make_field(problem), "follow", 1e-6, False, np.array([0.0, 1.0]))
    assert engine._sweep(1e-3) is not None
    engine._pull = lambda f: np.where(np.arange(f.shape[-1]) % 2, np.inf, -np.inf) * np.ones(f.shape)
    assert engine._sweep(1e-3) is None


def test_a_run_reaches_times_of_convergence_in_few_steps(monkeypatch):
    """Late, the kernel's leading directions are solved for: time costs decades, not steps of the fastest rate."""
    monkeypatch.setattr(choose, "DECIDING_RTOL", 1e-4)
    rng = np.random.default_rng(1)
    x = rng.standard_normal((200, 30)) / np.sqrt(30)
    net = rl.Network(inputs=30, widths=(50,))
    problem = rl.Problem(rl.Dataset(x, np.tanh(x @ rng.standard_normal(30))), net, net.init(scale=0.01, seed=0))
    run = rl.simulate(problem, [0.0, 1e2, 1e3, 1e4], method="follow", rtol=1e-4, max_steps=120)
    assert run.status is rl.Status.FINISHED
    assert run.loss[3] < 1e-8 < run.loss[2] < run.loss[1] < run.loss[0]


def test_deeper_networks_are_refused():
    net = rl.Network(inputs=2, widths=(3, 3))
    problem = rl.Problem(rl.datasets.xor(), net, net.init(scale=0.1, seed=0))
    with pytest.raises(rl.InputError) as refusal:
        rl.simulate(problem, [1.0], method="follow")
    assert str(refusal.value) == "method='follow' is for two layers, found 3; use kinks, impulses, plain, smooth or auto."


def test_followed_neurons_may_be_smaller_than_the_root_of_the_smallest_number():
    """Their lengths are zero in numbers, their heights over kinks are not."""
    net = rl.Network(inputs=2, widths=(2,))
    weights = (np.array([[1e-170, 2e-170], [1.0, 0.5]]), np.array([[1e-170, 1.0]]))
    problem = rl.Problem(rl.Dataset([[1.0, 0.0], [0.5, 1.0], [-1.0, 0.3]], [1.0, 0.5, -1.0]), net, weights)
    run = rl.simulate(problem, [0.0, 1.0], method="follow", early_phase=False)
    alone = rl.Problem(problem.data, rl.Network(inputs=2, widths=(1,)), (weights[0][1:], weights[1][:, 1:]))
    assert run.status is rl.Status.FINISHED
    np.testing.assert_allclose(run.loss, rl.simulate(alone, [0.0, 1.0], method="follow").loss, rtol=1e-6)


# ---------------------------------------------------------------- its parts

FIRST_FALL = from_python(polynomials.first_fall)


@given(st.integers(0, 10_000), st.integers(0, 5))
def test_first_fall_finds_the_first_root(seed, degree):
    rng = np.random.default_rng(seed)
    c = rng.standard_normal(degree + 1) * rng.choice([0.1, 1.0, 10.0], degree + 1)
    c[0] = abs(c[0])
    work = np.zeros(degree + 1)
    found = FIRST_FALL(c, 0, degree, 1.0, work)
    fine = polynomial.polyval(np.linspace(0.0, 1.0, 20_001), c)
    below = np.flatnonzero(fine < -1e-9)
    if below.size:
        assert found <= below[0] / 20_000
    if np.isfinite(found):
        assert abs(polynomial.polyval(found, c)) < 1e-9 * np.abs(c).sum()
        assert not (fine[: int(found * 20_000)] < -1e-9).any()


def test_first_fall_sees_a_dip_of_a_polynomial_that_bends_ever_more():
    """By its first bend it would turn after the end: it turns at 0.78, below zero, and is above again at the end."""
    c = np.array([0.85, -2.1, 1.0, 0.3])
    found = FIRST_FALL(c, 0, 3, 1.0, np.zeros(4))
    assert 0.6 < found < 0.78
    assert abs(polynomial.polyval(found, c)) < 1e-12
    c[0] = 0.9  # now it turns above zero
    assert FIRST_FALL(c, 0, 3, 1.0, np.zeros(4)) == np.inf


def test_a_neuron_without_kinks_follows_the_closed_form():
    """Under a constant drive g, w.g/|g| + a grows as e^(|g| t)."""
    normals = np.array([[1.0, 0.0, 0.0, 0.0]])
    drive = np.zeros((1, 3, 4))
    drive[0, 0] = [0.3, 0.4, 0.0, 0.0]
    w, a = np.array([[1.0, 2.0, 0.5, 0.0]]), np.array([0.7])
    signs = np.array([[1]], dtype=np.int8)
    start = neuron_path.Start(w, a, signs, np.abs(w @ normals.T).astype(np.float32), np.ones(1), np.zeros(1))
    step = single_neuron.KnownStep(normals, np.zeros((1, 3)), np.ones((1, 2), dtype=bool), np.array([0.5]))
    rules = neuron_path.Rules(4, 14, 1e-14, 1.0, 0.0, 1.0, 1.0, 0.0, True, gauss_rules())
    end = neuron_path.End(
        np.empty((1, 4)), np.empty(1), np.empty((1, 1), np.int8), np.empty((1, 3, 4)), np.empty((1, 1, 4)), np.empty((1, 1))
    )
    log = single_neuron.Log(np.empty((64, 11)), np.zeros(1, np.intp))
    status, _ = neuron_path.follow_neurons(np.array([0]), start, drive, step, rules, end, log, np.zeros(1, np.intp))
    assert status == neuron_path.FOLLOWED
    along = np.array([0.6, 0.8, 0.0, 0.0])
    for tau, got_w, got_a in ((0.5, end.saved_w[0, 0], end.saved_a[0, 0]), (1.0, end.w[0], end.a[0])):
        grown = (w[0] @ along + a[0]) * np.exp(0.5 * tau)
        np.testing.assert_allclose(got_w @ along + got_a, grown, rtol=1e-12)
        np.testing.assert_allclose(got_w @ along - got_a, (w[0] @ along - a[0]) * np.exp(-0.5 * tau), rtol=1e-12)
        np.testing.assert_allclose(got_w - (got_w @ along) * along, w[0] - (w[0] @ along) * along, atol=1e-13)


@pytest.mark.parametrize("order", [1, 3, 8])
@pytest.mark.parametrize("degree", [3, 6])
def test_moments_of_short_series_are_exact(order, degree):
    """A neuron that hardly moves needs few terms; the polynomials it is multiplied with keep their degree."""
    w, a, moments = np.ones((order + 1, 2)), np.ones(order + 1), np.zeros((degree + 1, 2))
    w[2:], a[1:] = 0.0, 0.0  # w = 1 + tau, a = 1
    neuron_path.add_moments(w, a, order, 0.0, 1.0, gauss_rules(), np.zeros(2), moments)
    expected = np.zeros(degree + 1)
    expected[:2] = 1.5, 1 / 6  # 1 + tau = 3/2 + P_1 / 2, and P_1 has the square 1/3
    np.testing.assert_allclose(moments, expected[:, None] * np.ones(2), atol=1e-14)


@given(st.integers(0, 1000), st.sampled_from([0.0, 0.3]), st.booleans())
def test_products_with_signs_are_those_of_the_plain_definition(seed, alpha, shared):
    problem = ordinary(seed=seed, samples=9, inputs=3, width=5, alpha=alpha, x=shared_lines(seed) if shared else None)
    lines = SampleLines(problem)
    w, a = lines.into(problem.weights[0]), problem.weights[1][0]
    signs = np.sign(w @ lines.normals.T).astype(np.int8)
    f = problem.output(problem.weights)
    np.testing.assert_allclose(lines.outputs(w, a), f, atol=1e-12)
    np.testing.assert_allclose(lines.outputs_of(signs, (a[:, None] * w)[:, None, :])[:, 0], f, atol=1e-12)
    pull = problem.loss.pull(problem.y, f)
    drive = lines.back(lines.drives(signs, pull[:, None])[:, 0])
    gradient = problem.gradient(problem.weights)
    np.testing.assert_allclose(a[:, None] * drive, -gradient[0], atol=1e-12)


@pytest.mark.parametrize("degree", [2, 5])
def test_curves_project_integrate_and_multiply_polynomials(degree):
    rng = np.random.default_rng(degree)
    curves = LegendreCurves(degree)
    first, second = rng.standard_normal((2, degree + 1))
    c, e = ((k @ curves.monomials) for k in (first, second))
    np.testing.assert_allclose(curves.project(polynomial.polyval(curves.nodes, c)), first, atol=1e-12)
    np.testing.assert_allclose(
        curves.size(first) ** 2, polynomial.polyval(1.0, polynomial.polyint(polynomial.polymul(c, c))), atol=1e-12
    )
    wanted = polynomial.polyval(0.7, polynomial.polyint(polynomial.polymul(polynomial.polyder(c), e)))
    np.testing.assert_allclose(curves.products(first[None], second[None], np.array([0.7])), wanted, atol=1e-12)
    integral = polynomial.polyint(c)
    damped = first @ curves.damped_integration
    np.testing.assert_allclose(damped[:-1], curves.project(polynomial.polyval(curves.nodes, integral))[:-1], atol=1e-12)
    np.testing.assert_allclose(damped.sum(), polynomial.polyval(1.0, integral), atol=1e-12)


@pytest.mark.parametrize("seed", [15, 36, 94])
def test_neurons_that_pass_the_origin_leave_it_as_the_kink_exact_method_says(seed):
    rng = np.random.default_rng(seed)
    samples = int(rng.integers(4, 12))
    data, net = (
        rl.Dataset(rng.standard_normal((samples, 2)), rng.standard_normal(samples)),
        rl.Network(inputs=2, widths=(6,)),
    )
    problem = rl.Problem(data, net, net.init(scale=0.5, seed=seed))
    exact, run = (rl.simulate(problem, [0.0, 20.0, 60.0], method=method, rtol=1e-7) for method in ("kinks", "follow"))
    assert run.events.count(rl.Kind.ORIGIN) == exact.events.count(rl.Kind.ORIGIN) == 1
    assert apart(run, exact) < WITHIN * 1e-7


def test_neurons_pushed_back_to_the_origin_rest_there_and_wake_when_driven_away():
    rng = np.random.default_rng(83)
    samples = int(rng.integers(4, 12))
    data, net = (
        rl.Dataset(rng.standard_normal((samples, 2)), rng.standard_normal(samples)),
        rl.Network(inputs=2, widths=(6,)),
    )
    problem = rl.Problem(data, net, net.init(scale=0.5, seed=83))
    exact, run = (rl.simulate(problem, [0.0, 20.0, 60.0], method=method, rtol=1e-7) for method in ("kinks", "follow"))
    assert run.events.count(rl.Kind.DEATH) == exact.events.count(rl.Kind.DEATH) == 1
    assert apart(run, exact) < 1e-3  # when it wakes is located to a hundredth of a step


@pytest.mark.parametrize(("method", "samples"), [("follow", 60), ("plain", 20_000)])
def test_long_steps_look_at_the_clock(method, samples, monkeypatch):
    monkeypatch.setenv("RECTILINEAR_THREADS", "2")
    problem = ordinary(samples=samples, inputs=8, width=40)
    engine = first_engine(problem, make_field(problem), method, 1e-2, False, np.array([5.0]))
    with Deadline(lambda: True), pytest.raises(OutOfTime):
        engine.attempt(5.0)
    assert engine.t == 0.0
    assert engine.attempt(5.0)  # what was given up is made anew


@pytest.mark.parametrize("seed", [0, 3])
def test_kinks_whose_normals_depend_on_each_other_are_settled_together(seed):
    """Inputs of zeros and ones lie on few lines with dependent normals, so that more kinks meet in a point than it has dimensions."""
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((120, 3)) < 0.5, 0.0, 1.0)
    x = x[x.any(axis=1)]
    problem = ordinary(seed=seed, x=x, width=30, scale=0.3, loss="logistic")
    runs = [rl.simulate(problem, np.linspace(0.0, 40.0, 9), method="follow", rtol=rtol) for rtol in (1e-4, 1e-6)]
    exact = rl.simulate(problem, np.linspace(0.0, 40.0, 9), method="kinks", rtol=1e-8)
    for run, rtol in zip(runs, (1e-4, 1e-6), strict=True):
        assert run.status is rl.Status.FINISHED
        assert apart(run, exact) < WITHIN * rtol


def test_multipliers_move_to_a_vertex_without_changing_the_push():
    normals = np.array([[1.0, 0.0], [0.0, 1.0], [np.sqrt(0.5), np.sqrt(0.5)]])
    bounds, mu = np.array([1.0, 2.0, 1.5]), np.array([0.4, 0.7, 0.9])
    push = mu @ normals
    from_python(answers.to_vertex)(normals @ normals.T, bounds, mu)
    np.testing.assert_allclose(mu @ normals, push, atol=1e-12)
    assert ((mu > 1e-9) & (mu < bounds - 1e-9)).sum() <= 2
    assert (mu >= 0.0).all()
    assert (mu <= bounds).all()


def test_of_very_many_crossings_the_last_of_every_neuron_are_listed_and_all_are_counted(monkeypatch, tmp_path):
    problem, times = ordinary(samples=150, width=6), np.linspace(0.0, 20.0, 5)
    whole = rl.simulate(problem, times, method="follow", rtol=1e-4)
    assert whole.events.unlisted == 0
    monkeypatch.setattr(event_log, "MOST_LISTED", 60)
    everything = rl.simulate(problem, times, method="follow", rtol=1e-4, all_events=True)
    run = rl.simulate(problem, times, method="follow", rtol=1e-4)
    assert np.array_equal(everything.events.time, whole.events.time)
    assert 0 < run.events.unlisted == whole.events.happened - len(run.events)
    assert [run.events.count(kind) for kind in rl.Kind] == [whole.events.count(kind) for kind in rl.Kind]
    assert run.events.certified == whole.events.certified
    assert run.events.held(6) == whole.events.held(6)  # holds are never left out
    for h in range(6):
        last, lasts = (e.time[(e.neuron == h) & (e.kind == rl.Kind.CROSS)] for e in (run.events, whole.events))
        assert len(last) >= min(len(lasts), 5)
        assert np.array_equal(last, lasts[len(lasts) - len(last) :])
    assert f"{run.events.unlisted} crossings not listed" in repr(run)
    again = rl.load(run.save(tmp_path / "run.nc"))
    assert again.events.unlisted == run.events.unlisted
    longer = rl.resume(again, [25.0])
    assert longer.events.unlisted >= run.events.unlisted
    assert len(rl.plots.kink_events(run).axes) == 1


@pytest.mark.parametrize("seed", [70, 101])
def test_neurons_at_zero_wake_when_any_direction_drives_them(seed):
    """Neurons slide into w = 0 and wake in the midst of steps, in directions that are no sample's own: as by method="kinks"."""
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((20, 2)), rng.integers(-2, 3, 20).astype(float)
    net = rl.Network(inputs=2, widths=(20,), alpha=0.01)
    problem = rl.Problem(rl.Dataset(x, y), net, net.init(scale=1.0, seed=seed))
    followed, exact = (rl.simulate(problem, times=[2.0], rtol=1e-9, method=method) for method in ("follow", "kinks"))
    assert followed.events.count(rl.Kind.ORIGIN) > 0
    assert np.abs(followed.final[0] - exact.final[0]).max() < 1e-7 * np.abs(exact.final[0]).max()


@pytest.mark.parametrize("seed", [3, 4])
def test_short_runs_state_an_error_that_covers_theirs(seed):
    """In a single step the pulls' defect says next to nothing, and what is left where sweeps agree is the error."""
    rng = np.random.default_rng(seed)
    x, net = rng.standard_normal((40, 4)), rl.Network(inputs=4, widths=(8,))
    problem = rl.Problem(rl.Dataset(x, rng.standard_normal(40)), net, net.init(scale=0.3, seed=seed))
    run, exact = (rl.simulate(problem, times=[0.05], rtol=rtol, method="follow") for rtol in (1e-6, 1e-11))
    off = np.linalg.norm(run.final[0] - exact.final[0]) / np.linalg.norm(exact.final[0])
    assert off < run.audit.weight_error < 1e3 * off


def test_few_kinks_are_followed_more_exactly_by_default() -> None:
    data = rl.datasets.gaussian_teacher()
    few, many = (rl.Network(inputs=10, widths=(width,)) for width in (15, 20))
    rtols = [
        rl.simulate(rl.Problem(data, net, net.init(scale=1e-3, seed=0)), times=[1e-3]).provenance["rtol"]
        for net in (few, many)
    ]
    assert rtols == [1e-8, 1e-6]


@pytest.mark.parametrize(
    ("samples", "width", "rtol"),
    [
        (90, 90, choose.FOLLOWED_RTOL_FEW),
        (200, 9, choose.FOLLOWED_RTOL_FEW),
        (100, 20, choose.FOLLOWED_RTOL),
        (90, 100, choose.FOLLOWED_RTOL),
    ],
)
def test_few_kinks_are_followed_to_a_tighter_tolerance_by_default(samples, width, rtol):
    assert choose.default_rtol(ordinary(samples=samples, inputs=10, width=width), "follow") == rtol


def test_smooth_steps_give_way_where_events_leave_no_time_between_them():
    """A neuron that passes near w = 0 meets its kinks within the rounding of a time: its steps went on without end at one moment."""
    data, net = rl.datasets.gaussian_teacher(), rl.Network(inputs=10, widths=(20,))
    problem = rl.Problem(data, net, net.init(scale=1e-3, seed=0))
    run = rl.simulate(problem, [0.0, 5.0], method="smooth", rtol=1e-4, max_steps=2_000)
    assert run.status is rl.Status.FINISHED
    assert run.provenance["method"].endswith("smooth, followed neurons")
    exact = rl.simulate(problem, [0.0, 5.0], rtol=1e-7)
    assert run.loss[-1] == pytest.approx(exact.loss[-1], abs=1e-3 * exact.loss[0])
    assert choose.default_rtol(problem, "smooth") == choose.FOLLOWED_RTOL


@pytest.mark.parametrize("seed", [7, 17])
def test_neurons_are_followed_again_when_only_the_samples_beyond_a_kink_pull_otherwise(seed):
    rng = np.random.default_rng(seed)
    x, net = rng.standard_normal((40, 1)), rl.Network(inputs=1, widths=(20,))
    data = rl.Dataset(x, np.sign(x[:, 0] + rng.standard_normal(40)))
    problem = rl.Problem(data, net, net.init(scale=0.01, seed=seed), loss="exponential")
    followed, exact = (rl.simulate(problem, [0.0, 20.0, 40.0], method=method, rtol=1e-6) for method in ("follow", "kinks"))
    errors = [np.abs(one - other).max() for one, other in zip(followed.weights, exact.weights, strict=True)]
    assert max(errors) < 1e-6 * max(np.abs(layer).max() for layer in exact.weights)


def test_steps_that_are_too_long_are_refused_after_their_first_sweep(monkeypatch):
    network = rl.Network(inputs=10, widths=(20,))
    problem = rl.Problem(rl.datasets.gaussian_teacher(), network, network.init(scale=1e-3, seed=0))
    early = rl.simulate(problem, [0.0, 10.0], method="follow", rtol=1e-6).statistics
    monkeypatch.setattr(FollowedNeurons, "_is_too_long", lambda engine, step: False)
    late = rl.simulate(problem, [0.0, 10.0], method="follow", rtol=1e-6).statistics
    assert early["rejected"] > 0
    assert early["sweeps"] / (early["steps"] + early["rejected"]) < 0.9 * late["sweeps"] / (late["steps"] + late["rejected"])


@pytest.mark.parametrize("log10_times", [None, [0.5]])
def test_runs_to_ten_thousandths_are_made_to_what_decides_most_forks(log10_times, monkeypatch):
    """It hardly takes longer. The run says what was asked for, and looser ones are made as asked for."""
    monkeypatch.setattr(choose, "MOST_KINK_EXACT_WORK", 1.0)
    problem = ordinary(loss="logistic")
    times = {"times": [0.0, 3.0]} if log10_times is None else {"log10_times": log10_times}
    asked, as_made, loose = (rl.simulate(problem, **times, rtol=rtol) for rtol in (1e-4, choose.DECIDING_RTOL, 1.1e-4))
    assert asked.provenance["rtol"] == 1e-4
    assert all(np.array_equal(one, other) for one, other in zip(asked.final, as_made.final, strict=True))
    assert not all(np.array_equal(one, other) for one, other in zip(asked.final, loose.final, strict=True))
    assert loose.statistics["gradients"] <= asked.statistics["gradients"]
    assert (f"at rtol {choose.DECIDING_RTOL:g} to decide forks" in repr(asked)) == (log10_times is None)
