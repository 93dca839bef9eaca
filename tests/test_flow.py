"""simulate, resume and descend: refusals, statuses, budgets, what is kept, and deeper networks."""

from dataclasses import fields

import numpy as np
import pytest

import rectilinear as rl
from rectilinear.events import Events, Kind
from rectilinear.flow import budgets, choose
from rectilinear.flow.engines import alternative, kink_exact
from rectilinear.flow.field.frozen import FrozenField
from rectilinear.flow.steppers import radau
from rectilinear.validation import frozen as read_only

ENGINES = {
    "kinks": {"method": "kinks", "early_phase": False},
    "smooth": {"method": "smooth", "early_phase": False},
    "early": {"method": "kinks"},
}


def six_points(width=12, scale=0.1, seed=0, **settings):
    network = rl.Network(2, (width,), **settings)
    return rl.Problem(rl.datasets.six_points(), network, network.init(scale, seed=seed))


def deep(widths=(4, 3), **settings):
    rng = np.random.default_rng(0)
    network = rl.Network(2, widths, **settings)
    return rl.Problem(rl.Dataset(rng.standard_normal((7, 2)), rng.standard_normal(7)), network, network.init(2.0, seed=1))


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"rtol": 1e-14}, "rtol must lie between 1e-13 and 0.03, found 1e-14."),
        ({"rtol": 0.5}, "rtol must lie between 1e-13 and 0.03, found 0.5."),
        ({"rtol": float("nan")}, "rtol must lie between 1e-13 and 0.03, found nan."),
        ({"method": "euler"}, "method must be auto or one of kinks, follow, plain, impulses, smooth, found 'euler'."),
        ({"max_steps": 0}, "max_steps must be positive, or None for no limit, found 0."),
        ({"max_seconds": -1.0}, "max_seconds must be positive, or None for no limit, found -1.0."),
        ({"max_seconds": float("nan")}, "max_seconds must be positive, or None for no limit, found nan."),
        ({"stop_gradient": -1.0}, "stop_gradient and stop_loss must be numbers >= 0, found -1.0 and 0.0."),
        ({"stop_loss": float("nan")}, "stop_gradient and stop_loss must be numbers >= 0, found 0.0 and nan."),
        ({"times": None}, "simulate needs times, log10_times or until; say how far to go."),
        (
            {"times": [1.0, 0.5]},
            "times must be finite, not negative and strictly rising, found [1.  0.5]; sort them and drop repeats.",
        ),
        (
            {"log10_times": [1.0]},
            "log10_times and until cannot be mixed with times, method, early_phase, stop_gradient or stop_loss; drop those.",
        ),
    ],
)
def test_simulate_refuses(options, sentence):
    with pytest.raises(rl.InputError) as refusal:
        rl.simulate(six_points(), **{"times": [1.0], **options})
    assert str(refusal.value) == sentence


@pytest.mark.parametrize("size", [1e-60, 1e50])
def test_data_whose_powers_are_no_numbers_is_refused(size):
    rng = np.random.default_rng(0)
    network = rl.Network(3, (10,))
    data = rl.Dataset(size * rng.standard_normal((10, 3)), size * rng.standard_normal(10))
    with pytest.raises(rl.FlowError, match=r"must lie between 1e-60 and 1e\+60, .* found .*; rescale x or y"):
        rl.simulate(rl.Problem(data, network, network.init(1e-3, seed=0)), [1.0])


def test_many_samples_without_mirror_images_have_a_looser_default():
    network, rng = rl.Network(2, (13,)), np.random.default_rng(0)  # 2,080 kinks: for few the default is between the two
    x, y = rng.standard_normal((160, 2)), rng.standard_normal(160)
    for data, rtol in ((rl.Dataset(x, y), 1e-6), (rl.Dataset(x, y).symmetrised(), 1e-9), (rl.Dataset(x[:9], y[:9]), 1e-9)):
        run = rl.simulate(rl.Problem(data, network, network.init(0.1, seed=0)), [1e-3])
        assert run.provenance["rtol"] == rtol


@pytest.mark.parametrize(("margin", "x"), [(-300.0, 1.0), (-800.0, 1.0), (-1e5, 1.0), (-220.0, 1e3)])
def test_a_start_beyond_the_range_of_the_exponential_loss_is_refused(margin, x):
    problem = rl.Problem(rl.Dataset([[x]], [1.0]), rl.Network(1, (1,)), ([[1.0 / x]], [[margin]]), "exponential")
    with pytest.raises(
        rl.FlowError, match=r"the gradient must be finite at the start, found a margin of .*; start from smaller"
    ):
        rl.simulate(problem, [1.0])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"learning_rate": 0.0}, "learning_rate must be a positive number, found 0.0."),
        ({"learning_rate": float("inf")}, "learning_rate must be a positive number, found inf."),
        ({"steps": 0}, "steps must be a positive whole number, found 0."),
        ({"steps": 2.5}, "steps must be a positive whole number, found 2.5."),
        ({"record_every": 0}, "record_every must be a positive whole number, found 0."),
        ({"max_seconds": 0.0}, "max_seconds must be positive, or None for no limit, found 0.0."),
    ],
)
def test_descend_refuses(options, sentence):
    with pytest.raises(rl.InputError) as refusal:
        rl.descend(six_points(), **{"learning_rate": 0.1, "steps": 3, **options})
    assert str(refusal.value) == sentence


# ---------------------------------------------------------------- why a run ends, and what it keeps


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_that_reaches_its_end_has_every_time(engine):
    problem, times = six_points(scale=1e-6), [0.0, 1e-3, 1.0, 1.0 + 1e-9, 7.0]
    run = rl.simulate(problem, times, **ENGINES[engine])
    assert run.status is rl.Status.FINISHED
    np.testing.assert_array_equal(run.times, times)
    for start, layer in zip(problem.weights, run.weights, strict=True):
        np.testing.assert_allclose(layer[0], start, rtol=1e-13)
    expected = [problem.data_loss(run.weights_at(k)) for k in range(5)]
    np.testing.assert_allclose(run.loss, expected, rtol=1e-13)
    assert np.abs(run.weights[0][3] - run.weights[0][2]).max() <= 1e-8 * np.abs(run.weights[0][2]).max()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("rule", "status"),
    [
        ({"stop_loss": 0.3}, rl.Status.LOSS_REACHED),
        ({"stop_gradient": 0.06}, rl.Status.STATIONARY),
        ({"max_steps": 3}, rl.Status.OUT_OF_STEPS),
        ({"max_seconds": 1e-9}, rl.Status.OUT_OF_SECONDS),
    ],
    ids=["loss", "gradient", "steps", "seconds"],
)
def test_a_run_that_stops_early_keeps_its_last_state(engine, rule, status):
    """What is kept agrees with the run that went on, and is resumed as if it had."""
    network = rl.Network(2, (4,))
    weights = network.init(1e-6, seed=0) if engine == "early" else network.init(0.5, seed=0)
    problem = rl.Problem(rl.Dataset([[1.0, 0.0], [-1.0, 2.0]], [1.0, 1.0]), network, weights)
    run = rl.simulate(problem, [0.0, 200.0], **rule, **ENGINES[engine])
    assert run.status is status
    assert run.times[0] == 0.0
    assert run.times[-1] < 200.0
    assert run.times[-1] > 0.0 or status is rl.Status.OUT_OF_SECONDS
    if status is rl.Status.LOSS_REACHED:
        assert run.loss[-1] < 0.3
    if status is rl.Status.STATIONARY:
        assert np.sqrt(sum(np.sum(g**2) for g in problem.gradient(run.final))) < 0.06
    whole = rl.simulate(problem, run.times, **ENGINES[engine])
    for mine, other in zip(run.final, whole.final, strict=True):
        np.testing.assert_allclose(mine, other, rtol=0, atol=1e-7 * np.abs(other).max())


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_stop_loss_looks_at_the_loss_without_regularisation(loss):
    network = rl.Network(2, (4,))
    data = rl.Dataset([[1.0, 0.0], [-1.0, 2.0]], [1.0, 1.0])
    problem = rl.Problem(data, network, network.init(0.5, seed=0), loss, l2=0.1)
    for method in ("kinks", "smooth"):
        run = rl.simulate(problem, [500.0], stop_loss=0.2, method=method)
        assert run.status is rl.Status.LOSS_REACHED
        assert run.loss[-1] < 0.2 < run.objective[-1]


@pytest.mark.parametrize(("end", "methods"), [(1e-3, 1), (1.0, 2)])
def test_methods_that_did_nothing_are_not_named(monkeypatch, end, methods):
    """What would take over after the last step is not asked to."""
    monkeypatch.setattr(alternative.Alternative, "is_due", lambda *_: True)
    run = rl.simulate(six_points(scale=0.5), [0.0, end], method="follow")
    assert run.status is rl.Status.FINISHED
    assert str(run.provenance["method"]).count(",") == methods - 1


def interrupting(after):
    """A progress function that interrupts at its call number `after`."""
    calls = []

    def progress(fraction, note):
        calls.append((fraction, note))
        if len(calls) == after:
            raise KeyboardInterrupt

    return progress, calls


@pytest.mark.parametrize("engine", ENGINES)
def test_an_interrupted_run_returns_what_there_is(monkeypatch, engine):
    monkeypatch.setattr(budgets, "REPORT_EVERY", -1.0)  # report at every step
    progress, calls = interrupting(after=6)
    run = rl.simulate(six_points(scale=1e-6), [0.0, 1e-3, 300.0], progress=progress, **ENGINES[engine])
    assert run.status is rl.Status.INTERRUPTED
    assert run.times[-1] < 300.0
    assert run.audit.energy_residual < 1e-6
    fractions = [fraction for fraction, _ in calls]
    assert fractions == sorted(fractions)
    assert 0.0 <= fractions[0] <= fractions[-1] < 1.0
    assert calls[0][1] == "t = 0"


def test_an_interrupted_run_can_be_resumed(monkeypatch):
    monkeypatch.setattr(budgets, "REPORT_EVERY", -1.0)
    problem = six_points()
    part = rl.simulate(problem, [0.0, 300.0], progress=interrupting(after=60)[0], method="kinks")
    assert part.events.count(Kind.HOLD) > 0
    joined, whole = rl.resume(part, [300.0], method="kinks"), rl.simulate(problem, [300.0], method="kinks")
    assert joined.status is rl.Status.FINISHED
    assert joined.problem is problem
    np.testing.assert_array_equal(joined.times, [0.0, part.times[-1], 300.0])
    np.testing.assert_allclose(joined.final[0], whole.final[0], rtol=0, atol=1e-7)
    assert joined.audit.balance_drift < 1e-9
    assert (np.diff(joined.events.time) >= 0).all()
    with pytest.raises(rl.InputError) as refusal:
        rl.resume(joined, [299.0])
    assert str(refusal.value) == "times to resume at must lie after the run's last one, 300, found 299."


def test_a_run_without_a_possible_step_is_stuck_and_keeps_what_there_is(monkeypatch):
    """Newton's iteration fails at every length from the tenth step on."""
    calls = []

    def failing(*arguments):
        calls.append(1)
        return radau.collocation_step(*arguments) if len(calls) < 10 else (-1.0, 1, 1.0, 0.0)

    monkeypatch.setattr(kink_exact, "collocation_step", failing)
    run = rl.simulate(six_points(), [0.0, 300.0], method="kinks")
    assert run.status is rl.Status.STUCK
    assert run.reason.startswith("the step shrank to nothing at t = ")
    assert run.reason.endswith("loosen rtol (now 1e-09), or use method='smooth'")
    assert f"{rl.Status.STUCK.value}: {run.reason}" in repr(run)
    assert 0.0 < run.times[-1] < 300.0
    assert run.audit.energy_residual < 1e-9


def test_a_step_too_long_for_newton_or_for_the_tolerance_says_so():
    theta, seen, y = np.array([[1.0, 2.0]]), np.array([[[3.0]]]), read_only(np.array([50.0]))
    field = FrozenField(np.zeros(1, dtype=np.intp), seen, y, np.ones(1, dtype=bool), np.ones(2), 0, 0.0, False)
    accuracy = radau.Accuracy(np.ones(1), np.inf, 1e-9, np.zeros((1, 1)), 0.0)
    outcomes = {}
    for h in (1e-4, 1e-2, 10.0):
        nodes = radau.Nodes(np.zeros((5, 1, 2)), np.empty(6), np.empty((6, 1)), np.empty(6))
        outcomes[h] = radau.collocation_step(theta, field, accuracy, h, False, nodes)[0]
    assert 0.0 <= outcomes[1e-4] < 1.0
    assert outcomes[1e-2] > 1.0 or outcomes[1e-2] == -1.0
    assert outcomes[10.0] == -1.0 or outcomes[10.0] > 1.0


def test_gradient_descent_that_diverges_says_so():
    run = rl.descend(six_points(scale=1.0), learning_rate=100.0, steps=50, record_every=10)
    assert run.status is rl.Status.DIVERGED
    assert np.isfinite(run.weights[0]).all()


def test_gradient_descent_interrupted_or_out_of_time_returns_what_there_is(monkeypatch):
    monkeypatch.setattr(budgets, "REPORT_EVERY", -1.0)
    run = rl.descend(six_points(), 0.1, 100, record_every=2, progress=interrupting(after=5)[0])
    assert run.status is rl.Status.INTERRUPTED
    np.testing.assert_allclose(run.times, [0.0, 0.2, 0.4, 0.5])
    run = rl.descend(six_points(), 0.1, 100, max_seconds=1e-9)
    assert run.status is rl.Status.OUT_OF_SECONDS
    assert len(run) >= 1


def test_gradient_descent_is_the_plain_loop():
    problem = six_points(width=5, alpha=0.1)
    run = rl.descend(problem, learning_rate=0.05, steps=12, record_every=4)
    assert run.statistics["gradients"] == 12
    weights = problem.weights
    for step in range(1, 13):
        weights = tuple(w - 0.05 * g for w, g in zip(weights, problem.gradient(weights), strict=True))
        if step % 4 == 0:
            for mine, theirs in zip(weights, run.weights_at(step // 4), strict=True):
                np.testing.assert_allclose(theirs, mine, rtol=0, atol=1e-14)
    np.testing.assert_allclose(run.times, [0.0, 0.2, 0.4, 0.6])


# ---------------------------------------------------------------- the run does not depend on how it is asked for


@pytest.mark.parametrize("engine", ENGINES)
def test_saved_times_do_not_change_the_run(engine):
    problem = six_points(scale=1e-6 if engine == "early" else 0.1)
    many = rl.simulate(problem, np.linspace(0.0, 60.0, 601), **ENGINES[engine])
    few = rl.simulate(problem, [60.0], **ENGINES[engine])
    np.testing.assert_array_equal(many.final[0], few.final[0])
    assert (np.diff(many.loss) <= 1e-13 * many.loss[0]).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_call_gives_the_same_numbers(engine):
    first, second = (rl.simulate(six_points(), [0.0, 50.0], **ENGINES[engine]) for _ in range(2))
    for mine, other in zip(first.weights, second.weights, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_states_between_steps_are_as_good_as_those_at_their_ends():
    """Dense output within one step against runs that end there."""
    problem, times = six_points(width=6), np.linspace(20.0, 40.0, 9)
    run = rl.simulate(problem, times, method="kinks", rtol=1e-8)
    for k, t in enumerate(times):
        ending = rl.simulate(problem, [t], method="kinks", rtol=1e-12)
        np.testing.assert_allclose(run.weights[0][k], ending.final[0], rtol=0, atol=100 * 1e-8)


def test_events_of_a_run_survive_saving(tmp_path):
    run = rl.simulate(six_points(), [0.0, 100.0], method="kinks")
    again = rl.load(run.save(tmp_path / "run.nc"))
    assert len(again.events) == len(run.events) > 0
    for entry in fields(Events):
        np.testing.assert_array_equal(getattr(again.events, entry.name), getattr(run.events, entry.name))
    assert again.events.certified
    assert repr(again) == repr(run)


def test_auto_takes_the_method_that_costs_least(monkeypatch):
    assert rl.simulate(six_points(), [0.1]).provenance["method"] == "kink-exact"
    assert rl.simulate(deep(), [0.1]).provenance["method"] == "kink-exact"
    monkeypatch.setattr(choose, "MOST_KINK_EXACT_WORK", 1.0)
    assert rl.simulate(six_points(), [0.1], rtol=1e-3).provenance["method"].startswith("followed neurons")
    assert rl.simulate(six_points(), [0.1], method="kinks").provenance["method"] == "kink-exact"
    monkeypatch.setattr(choose, "FEW_SAMPLES", 3)
    without_kinks = rl.Network(inputs=2, widths=(3,), alpha=1.0)
    linear = rl.Problem(rl.datasets.xor(), without_kinks, without_kinks.init(scale=0.1, seed=0))
    assert rl.simulate(linear, [0.1]).provenance["method"] == "smooth"


@pytest.mark.parametrize(
    ("few", "scale", "method"), [(1e9, 1e-2, "followed neurons"), (0, 1e-2, "smooth"), (0, 0.5, "followed neurons")]
)
def test_many_mirrored_samples_take_smooth_steps_from_small_weights(few, scale, method, monkeypatch):
    monkeypatch.setattr(choose, "MOST_KINK_EXACT_WORK", 1.0)
    monkeypatch.setattr(choose, "FEW_MIRRORED", few)
    net = rl.Network(inputs=2, widths=(3,))
    mirrored = rl.Problem(rl.datasets.sine_teacher(inputs=2, pairs=5), net, net.init(scale=scale, seed=0))
    assert rl.simulate(mirrored, [0.1], rtol=1e-6).provenance["method"] == method


def test_mirrored_samples_whose_neurons_share_no_patterns_keep_the_tolerance():
    """Steps over kinks that are not located would be off by thousands of tolerances: neurons are followed before that."""
    rng = np.random.default_rng(2)
    x, w, noise = rng.standard_normal((150, 4)), rng.standard_normal(4), rng.standard_normal(150)
    data, net = rl.Dataset(x, np.sin(2.0 * x @ w) + 0.1 * noise).symmetrised(), rl.Network(inputs=4, widths=(150,))
    problem, times = rl.Problem(data, net, net.init(scale=0.05, seed=2)), [0.0, 2.0, 8.0, 20.0]
    run, exact = rl.simulate(problem, times, rtol=1e-9), rl.simulate(problem, times, method="follow", rtol=1e-9)
    assert run.provenance["method"] == "smooth, followed neurons"
    assert run.audit.weight_error < 500e-9
    for one, two in zip(run.weights, exact.weights, strict=True):
        assert np.abs(one - two).max() < run.audit.weight_error * np.abs(two).max()


def test_mirrored_samples_with_labels_that_are_not_opposite_are_followed():
    rng = np.random.default_rng(1)
    x, net = rng.standard_normal((150, 4)), rl.Network(inputs=4, widths=(150,))
    data = rl.Dataset(np.concatenate([x, -x]), rng.standard_normal(300))
    run = rl.simulate(rl.Problem(data, net, net.init(scale=0.05, seed=1)), [0.0, 0.5])
    assert run.provenance["method"] == "followed neurons"


# ---------------------------------------------------------------- deeper networks


@pytest.mark.parametrize("setting", [{}, {"alpha": 0.3}, {"bias": True}, {"trainable": (True, False, True)}])
def test_deep_runs_agree_with_fine_descent_and_conserve_balance(setting):
    problem = deep(**setting)
    fine = rl.descend(problem, 1e-3, 1000, record_every=500)
    exact, smooth = (rl.simulate(problem, [0.5, 1.0], method=method) for method in ("kinks", "smooth"))
    for run in (exact, smooth):
        for layer, other in zip(run.weights, fine.weights, strict=True):
            np.testing.assert_allclose(layer, other[1:], rtol=0, atol=5e-3 * np.abs(other).max())
        assert run.audit.loss_rise == 0.0
    assert smooth.audit.balance_drift is None or smooth.audit.balance_drift < 1e-4  # rtol is 1e-5
    assert (
        smooth.audit.energy_residual < 1e-2
    )  # where neurons slide, the gradient on either side exceeds the speed of the slide
    assert smooth.events is None
    assert exact.audit.balance_drift is None or exact.audit.balance_drift < 1e-8
    assert exact.audit.energy_residual < 1e-8


def test_deep_linear_network_follows_its_scalar_equation():
    """One neuron a layer, equal weights v: v' = v^2 (y - v^3) for x = 1; the time to reach v has a closed form."""
    start = 0.3
    network = rl.Network(1, (1, 1), alpha=1.0)
    problem = rl.Problem(rl.Dataset([[1.0]], [1.0]), network, ([[start]], [[start]], [[start]]))

    def clock(v):
        return -1 / v + np.log((1 + v + v**2) / (1 - v) ** 2) / 6 - np.arctan((2 * v + 1) / np.sqrt(3)) / np.sqrt(3)

    run = rl.simulate(problem, [1.0, 2.0, 3.0], rtol=1e-10)
    for layer in run.weights:
        np.testing.assert_allclose(clock(layer[:, 0, 0]) - clock(start), run.times, rtol=1e-8)
