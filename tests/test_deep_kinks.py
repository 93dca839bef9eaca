"""Kink-exact flow of three layers and more: normals, jumps and speeds, decisions, and runs against other methods."""

import numpy as np
import pytest

import naive
import rectilinear as rl
from rectilinear.events import Kind
from rectilinear.flow.field.frozen_deep import DeepPattern
from rectilinear.flow.kinks import deep as deep_kinks
from rectilinear.flow.kinks.deep import DeepKinks
from rectilinear.flow.state import flatten

SETTINGS = [
    {},
    {"alpha": 0.3},
    {"bias": True},
    {"trainable": (True, False, True)},
    {"widths": (3, 4, 2)},
    {"loss": "logistic", "l2": 0.1},
    {"loss": "exponential", "alpha": 0.5},
]


def problem_of(seed=0, *, widths=(5, 4), samples=6, scale=0.7, loss="square", l2=0.0, x=None, **settings):
    rng = np.random.default_rng(seed)
    drawn, y = rng.standard_normal((samples, 3)), rng.choice([-1.0, 1.0], samples)
    x = drawn if x is None else x
    network = rl.Network(x.shape[1], widths, **settings)
    return rl.Problem(rl.Dataset(x, y), network, network.init(scale, seed=seed), loss, l2)


def with_companions(seed=0):
    """Samples of which some are multiples of others, of either sign: in the first layer both share a kink, above only the positive."""
    x = np.random.default_rng(seed).standard_normal((3, 2))
    return np.concatenate([x, 2.0 * x[:1], -0.5 * x[1:2]])


def pattern_at(problem):
    """The pattern of a problem's own weights."""
    return DeepKinks(problem, flatten(problem.weights)).pattern


@pytest.mark.parametrize("setting", [*SETTINGS, {"x": with_companions()}])
def test_with_the_signs_of_the_weights_the_field_is_the_gradient(setting):
    problem = problem_of(**({"samples": 5} | setting if "x" in setting else setting))
    found = pattern_at(problem).run(flatten(problem.weights))
    np.testing.assert_allclose(found.velocity, -flatten(naive.gradient(problem, problem.weights)), rtol=0, atol=1e-13)
    assert found.objective == pytest.approx(problem.objective(problem.weights), rel=1e-13)


@pytest.mark.parametrize("setting", [*SETTINGS, {"x": with_companions()}])
def test_normals_speeds_and_jumps_of_every_kink(setting):
    problem = problem_of(**({"samples": 5} | setting if "x" in setting else setting))
    pattern, theta = pattern_at(problem), flatten(problem.weights)
    found = pattern.run(theta)
    trains = np.concatenate(
        [np.full(layer.size, t) for layer, t in zip(problem.weights, problem.network.trainable_layers, strict=True)]
    )
    moves = np.where(trains, np.random.default_rng(1).standard_normal(pattern.size), 0.0)
    step = 1e-6
    slope = (pattern.heights(theta + step * moves)[0] - pattern.heights(theta - step * moves)[0]) / (2 * step)
    np.testing.assert_allclose(pattern.speeds(found, moves), slope, rtol=0, atol=1e-7)
    for kink in range(pattern.count):
        normal = pattern.normal(found, kink)
        assert normal @ moves == pytest.approx(slope[kink], abs=1e-7)
        sign = pattern.signs[kink]
        # crossing changes the field by D grad z; where z is not zero the outputs change as well, so it is made zero
        at = theta - normal * pattern.heights(theta)[0][kink] / max(normal @ normal, 1e-300)
        at = at - normal * pattern.heights(at)[0][kink] / max(normal @ normal, 1e-300)
        sides = []
        for side in (-1, 1):
            pattern.signs[kink] = side
            pattern.refresh()
            sides.append(pattern.run(at))
        pattern.signs[kink] = sign
        pattern.refresh()
        gap = abs(pattern.heights(at)[0][kink])
        expected = pattern.jump(sides[0], kink) * pattern.normal(sides[0], kink)
        np.testing.assert_allclose(sides[1].velocity - sides[0].velocity, expected, rtol=0, atol=1e-12 + 100 * gap)


def test_samples_of_one_ray_share_all_kinks_and_those_of_one_line_the_first_ones():
    problem = problem_of(samples=5, x=with_companions())
    first, second = DeepPattern(problem).tables
    assert first.index.tolist() == [0, 1, 2, 0, 1]
    assert first.signs.tolist() == [1, 1, 1, 1, -1]
    assert first.scales == pytest.approx([1, 1, 1, 2, 0.5])
    assert len(second.first) == 4
    assert second.index[0] == second.index[3]
    assert second.index[1] != second.index[4]


@pytest.mark.parametrize("seed", [0, 3, 5])
def test_a_deep_network_that_is_a_shallow_one_moves_like_it(seed):
    """One neuron above that is always active and does not train: the kink-exact method of two layers is the judge."""
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((7, 3)), rng.uniform(0.5, 2.0, 7)
    w, a = rng.standard_normal((8, 3)), rng.uniform(0.3, 1.0, (1, 8))
    shallow = rl.Problem(rl.Dataset(x, y), rl.Network(3, (8,)), (w, a))
    deep = rl.Network(3, (8, 1), trainable=(True, True, False))
    times = np.linspace(0.0, 60.0, 31)
    expected = rl.simulate(shallow, times, early_phase=False)
    run = rl.simulate(rl.Problem(rl.Dataset(x, y), deep, (w, a, np.ones((1, 1)))), times)
    assert expected.outputs().min() > 0.1
    assert expected.events.count(Kind.HOLD) > 6
    for layer in (0, 1):
        np.testing.assert_allclose(run.weights[layer], expected.weights[layer], rtol=0, atol=1e-7)
    np.testing.assert_allclose(run.events.time, expected.events.time, rtol=0, atol=1e-6)
    what = [
        sorted(zip(events.time.round(4), events.neuron, events.kind, strict=True))
        for events in (run.events, expected.events)
    ]
    assert what[0] == what[1]
    assert run.events.choices == expected.events.choices


@pytest.mark.parametrize("seed", range(8))
def test_deep_runs_that_slide_are_exact(seed):
    """Against a hundred times smaller tolerance, against the law dL/dt = -|v|^2, and in what the flow conserves."""
    loss, alpha = ("square", "logistic")[seed % 2], (0.0, 0.2)[seed // 2 % 2]
    problem = problem_of(seed, loss=loss, alpha=alpha, scale=1.0)
    times = [1.0, 5.0, 20.0, 50.0]
    run, tight = (rl.simulate(problem, times, rtol=rtol) for rtol in (1e-9, 1e-11))
    assert run.status is tight.status is rl.Status.FINISHED
    for layer, other in zip(run.weights, tight.weights, strict=True):
        np.testing.assert_allclose(layer, other, rtol=0, atol=1e-6 * np.abs(other).max())
    assert run.audit.energy_residual < 1e-7
    assert run.audit.balance_drift < 1e-7
    assert run.audit.loss_rise == 0.0
    assert run.events.certified
    assert run.events.count(Kind.HOLD) + run.events.count(Kind.CROSS) > 0


def sliding_problem():
    return problem_of(6, alpha=0.2, scale=0.3)


def test_errors_fall_with_the_tolerance_through_deep_events_and_much_less_without_locating_them():
    problem, end = problem_of(3, scale=1.0), [20.0]
    truth = rl.simulate(problem, end, rtol=1e-12).final[0]

    def error(rtol, method):
        return np.abs(rl.simulate(problem, end, rtol=rtol, method=method).final[0] - truth).max()

    located = [error(rtol, "kinks") for rtol in (1e-3, 1e-6, 1e-9)]
    assert located[0] < 1e-5
    assert located[1] < 0.1 * located[0]
    assert located[2] < 0.1 * located[1]
    assert located[0] < 1e-2 * error(1e-3, "smooth")


def test_deep_weights_agree_with_fine_descent_while_they_slide():
    problem = problem_of(3, loss="logistic", scale=1.0)
    run = rl.simulate(problem, [10.0])
    assert run.events.count(Kind.HOLD) > 0
    gaps = []
    for rate in (4e-3, 2e-3):
        fine = rl.descend(problem, rate, round(10.0 / rate), record_every=round(10.0 / rate))
        gaps.append(max(np.abs(layer[-1] - other[-1]).max() for layer, other in zip(run.weights, fine.weights, strict=True)))
    assert gaps[1] < 5e-3
    assert 1.5 < gaps[0] / gaps[1] < 3.0


def test_held_kinks_stay_at_zero_and_their_shares_within_bounds():
    problem = problem_of(3, loss="logistic", scale=1.0)
    run = rl.simulate(problem, [20.0])
    kinks = DeepKinks(problem.with_weights(run.final), flatten(run.final))
    assert len(kinks.held) > 0  # on their kinks still, to rounding, and held again
    found, velocity, missing = kinks._move(flatten(run.final))
    shares, attracting = kinks._find_shares(flatten(run.final), found, missing)
    assert attracting.all()
    assert np.all((shares >= 0.0) & (shares <= 1.0))
    assert np.abs(kinks.pattern.speeds(found, velocity)[kinks.held]).max() < 1e-12
    again = rl.resume(rl.simulate(problem, [10.0]), [20.0])
    for layer, other in zip(run.final, again.final, strict=True):
        np.testing.assert_allclose(layer, other, rtol=0, atol=1e-7)


def test_shares_solve_the_inclusion():
    """With the shares found for held kinks of two layers, the field itself, not only its projection, keeps them at zero."""
    problem = problem_of(9, loss="logistic", scale=1.0)
    run = rl.simulate(problem, [60.0])
    theta = flatten(run.final)
    kinks = DeepKinks(problem.with_weights(run.final), theta)
    layers = {kinks.pattern.place(k)[0] for k in kinks.held}
    assert layers == {0, 1}
    found, velocity, missing = kinks._move(theta)
    kinks.pattern.shares[kinks.held] = kinks._find_shares(theta, found, missing)[0]
    kinks.pattern.refresh()
    np.testing.assert_allclose(kinks.pattern.run(theta).velocity, velocity, rtol=0, atol=1e-12)


def test_networks_that_cannot_move_stay_where_they_are():
    network = rl.Network(2, (3, 3))
    for weights in (
        tuple(np.zeros(shape) for shape in network.shapes),
        (-np.ones((3, 2)), np.ones((3, 3)), np.ones((1, 3))),  # no sample activates the first layer
    ):
        problem = rl.Problem(rl.Dataset([[1.0, 1.0], [2.0, 1.0]], [1.0, -1.0]), network, weights)
        run = rl.simulate(problem, [1.0, 100.0])
        assert run.status is rl.Status.FINISHED
        assert len(run.events) == 0
        for layer, start in zip(run.final, weights, strict=True):
            np.testing.assert_array_equal(layer, start)


def test_neurons_that_start_on_kinks_are_decided():
    """Both inputs of the second neuron are orthogonal to the first sample; the flow takes it to the side it is pushed to."""
    network = rl.Network(2, (2, 1))
    weights = ([[1.0, 0.5], [0.0, 1.0]], [[1.0, 1.0]], [[1.0]])
    problem = rl.Problem(rl.Dataset([[1.0, 0.0], [1.0, 1.0]], [3.0, 4.0]), network, weights)
    run = rl.simulate(problem, [0.0, 1e-3])
    assert run.events.kind.tolist() == [Kind.CROSS]
    assert (run.events.time[0], run.events.neuron[0], run.events.line[0]) == (0.0, 1, 0)
    assert run.weights[0][1, 1, 0] > 0.0


def test_kinks_that_cannot_be_decided_end_the_run_with_what_there_is(monkeypatch):
    settle = DeepKinks._settle

    def only_at_the_start(kinks, theta, touching, t):
        monkeypatch.setattr(deep_kinks, "MOST_DECISIONS", 20 if t == 0.0 else 0)
        settle(kinks, theta, touching, t)

    monkeypatch.setattr(DeepKinks, "_settle", only_at_the_start)
    run = rl.simulate(sliding_problem(), [0.0, 50.0])
    assert run.status is rl.Status.STUCK
    assert "could not be decided; the data may be degenerate: perturb it slightly, or use method='smooth'" in run.ended
    assert 0.0 < run.times[-1] < 50.0


def test_events_without_end_are_an_error():
    kinks = DeepKinks(sliding_problem(), flatten(sliding_problem().weights))
    kinks._event, kinks._decided = (0, 0), (1.0, deep_kinks.MOST_AT_ONCE + 1, 0)
    with pytest.raises(rl.FlowError, match="events at t = 1 do not end; the data may be degenerate"):
        kinks.apply(flatten(sliding_problem().weights), 1.0, 0.0)


def test_deep_events_are_drawn():
    run = rl.simulate(sliding_problem(), [0.0, 20.0])
    (top,) = rl.plots.kink_events(run).axes
    assert sum(len(marks.get_offsets()) for marks in top.collections) == len(run.events)
    assert "cross" in repr(run)


def test_few_kinks_are_located_and_many_are_not():
    assert rl.simulate(sliding_problem(), [0.1]).provenance == rl.simulate(sliding_problem(), [0.1], rtol=1e-9).provenance
    many = problem_of(samples=30, widths=(40, 40), scale=0.3)
    assert rl.simulate(many, [0.01]).provenance["method"] == "kink impulses"
    assert rl.simulate(many, [0.01], method="kinks").provenance["method"] == "kink-exact"
    assert rl.simulate(problem_of(alpha=1.0), [0.1]).provenance["method"] == "smooth"  # there are no kinks


def test_a_sample_of_zeros_adds_a_constant_to_the_loss_and_no_kinks():
    """It puts out 0 whatever the weights: the same run as without it, in the time of a mean over one sample more."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((5, 3)), rng.standard_normal(5)
    network = rl.Network(3, (4, 3))
    weights = network.init(0.7, seed=1)
    for place in (0, 2):
        data = rl.Dataset(np.insert(x, place, 0.0, axis=0), np.insert(y, place, 0.5))
        run = rl.simulate(rl.Problem(data, network, weights), [6.0, 12.0], method="kinks")
        without = rl.simulate(rl.Problem(rl.Dataset(x, y), network, weights), [5.0, 10.0], method="kinks")
        assert len(run.events) == len(without.events) > 0
        for mine, other in zip(run.weights, without.weights, strict=True):
            np.testing.assert_allclose(mine, other, rtol=0, atol=1e-8)


def test_kinks_that_a_hold_kept_in_place_are_not_decided_by_rounding_when_it_ends():
    """No neuron of the first layer is active on a sample: above it all have z = 0 there, and leave as one of their holds ends.

    Their speeds are zero at that moment. By the signs of what rounding made of them, this run left the others, and all descents, at
    rtol 1e-9 and at no other tolerance.
    """
    rng = np.random.default_rng(28)
    samples, inputs, hidden = (int(rng.integers(low, high + 1)) for low, high in ((3, 10), (2, 4), (2, 3)))
    x, y = rng.standard_normal((samples, inputs)), rng.standard_normal(samples)
    network = rl.Network(inputs, tuple(int(width) for width in rng.integers(2, 9, hidden)))
    problem = rl.Problem(rl.Dataset(x, y), network, network.init(0.7, 28))
    run = rl.simulate(problem, times=[0.0, 30.0, 72.0, 100.0], rtol=1e-9, method="kinks")
    steps = rl.descend(problem, 0.002, 50_000, record_every=50_000)
    apart = max(np.abs(w - v).max() for w, v in zip(run.final, steps.final, strict=True))
    assert apart < 5e-4  # 1.9e-3 on the other way; descents are as exact as their steps are short
    assert run.events.certified
