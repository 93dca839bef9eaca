"""Cases where ties, zeros and changes of sign meet: against hand computations, and against gradient descent with small steps."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expi

import rectilinear as rl
from rectilinear.events import Kind
from rectilinear.flow.collocation import earliest
from rectilinear.flow.kinks import origin
from rectilinear.flow.kinks.geometry import Kinks
from rectilinear.flow.kinks.origin import _trace, count_exits, exit_from_origin, highest_potential


def test_a_neuron_that_dies_under_weight_decay_stays_dead_and_decays():
    """It rests on the kink, to rounding, while its size falls; that is one death, not one at every step."""
    x, y = [[-0.58198779, 0.65329788, 0.3096077]], [2.22827085]
    first = [
        [0.03612298, 0.01324189, 0.04462568, -0.0212093],
        [0.00402063, -0.10096215, -0.01899591, -0.0081193],
        [-0.0146465, -0.00899415, -0.01813667, 0.06144605],
        [-0.06874842, 0.02895766, 0.04616142, 0.03937272],
    ]
    second = [[0.06990331, -0.00819902, 0.027636, -0.06045184]]
    network = rl.Network(3, (4,), bias=True, trainable=(True, False))
    run = rl.simulate(rl.Problem(rl.Dataset(x, y), network, (first, second), l2=0.1), [1.0, 6.0], method="kinks")
    assert run.status is rl.Status.FINISHED
    assert run.events.count(Kind.DEATH) == 1
    np.testing.assert_allclose(run.weights[0][1, 3], np.exp(-0.5) * run.weights[0][0, 3], rtol=1e-9)


def test_proportional_neurons_whose_second_layer_changes_sign_while_held_turn_together():
    x = [[1.78816073, 0.6059871, 0.06824435], [-0.77240849, 1.2354491, -0.50144165], [-1.80350391, -0.46231085, -2.2517004]]
    data = rl.Dataset(x, [0.79615009, -0.09150788, 1.59704092])
    neuron, shares = np.array([-0.17897315, 0.06471104, 0.3263531, 0.48609192, -0.04692355]), np.sqrt([1 / 6, 2 / 6, 3 / 6])
    runs = []
    for sizes in (np.ones(1), shares):
        weights = np.outer(sizes, neuron[:4]), sizes[None, :] * neuron[4]
        problem = rl.Problem(data, rl.Network(3, (len(sizes),), bias=True), weights, l2=0.1)
        runs.append(rl.simulate(problem, [1.0, 2.0, 6.0], method="kinks"))
    one, three = runs
    assert [one.events.count(kind) for kind in (Kind.HOLD, Kind.RELEASE)] == [1, 1]
    assert [three.events.count(kind) for kind in (Kind.HOLD, Kind.RELEASE)] == [3, 3]
    assert np.sign(one.weights[1][0]) == -np.sign(neuron[4])
    np.testing.assert_allclose(three.loss, one.loss, rtol=1e-8)


def test_the_early_phase_does_not_cross_a_kink_that_lies_beyond_its_look():
    """Two crossings with the end of a look between them: rounding must not take the second for reached there."""
    x = np.array([
        [0.1257302210933933, -0.1321048632913019],
        [0.6404226504432821, 0.10490011715303971],
        [-0.535669373161111, 0.36159505490948474],
        [-0.06286511054669665, 0.06605243164565094],
        [0.6404226504432821, 0.10490011715303971],
        [0.2678346865805555, -0.18079752745474237],
    ])  # fmt: skip
    weights = (
        [[1.1009756173502471e-08, -5.048090917693679e-08, -1.0458778743585652e-08]],
        [[-3.269143047091697e-08]],
    )
    network = rl.Network(2, (1,), alpha=0.2, bias=True)
    problem = rl.Problem(rl.Dataset(x, [-1.0, 1.0, 1.0, 1.0, -1.0, -1.0]), network, weights, "logistic")
    early, stepped = (rl.simulate(problem, [6.0], method="kinks", early_phase=given) for given in (True, False))
    assert early.provenance["method"] == "early phase"
    jumps = np.isin(
        stepped.events.line, early.events.line
    )  # two equal samples with opposite labels make a kink without a jump
    np.testing.assert_allclose(early.events.time, stepped.events.time[jumps], rtol=1e-8)
    np.testing.assert_allclose(early.final[0], stepped.final[0], rtol=1e-7)


# ---------------------------------------------------------------- against gradient descent with small steps

METHODS = ("kinks", "smooth")


def made(x, y, w, a, loss="square", alpha=0.0, l2=0.0, trainable=None):
    network = rl.Network(len(x[0]), (len(w),), alpha=alpha, trainable=trainable)
    return rl.Problem(rl.Dataset(x, y), network, (w, [a]), loss, l2)


CASES = {
    "one sample, one input, one neuron": (made([[2.0]], [1.0], [[0.3]], [0.2]), 6.0),
    "one input, neurons on both sides": (
        made([[1.0], [-2.0], [1.0]], [1.0, 0.5, -2.0], [[0.4], [-0.3], [0.2]], [0.5, 0.2, -0.9]),
        8.0,
    ),
    "antipodes and duplicates at odds": (
        made(
            [[1.0, 0.0], [1.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, 1.0]],
            [1.0, -0.5, 1.0, -1.0, 1.0, 0.0],
            [[0.5, 0.4], [-0.4, 0.5], [0.3, -0.6], [-0.2, -0.2]],
            [0.6, -0.5, 0.7, -0.3],
        ),
        12.0,
    ),
    "several neurons held on one line, from both sides": (
        made(
            [[1.0, 0.0], [1.0, 1.0], [1.0, -1.0]],
            [-3.0, 1.0, 1.0],
            [[0.3, 1.0], [-0.3, 1.0], [0.2, -0.8], [-0.1, -1.2]],
            [1.1, 1.2, 0.9, 1.3],
        ),
        6.0,
    ),
    "two kinks at once in three dimensions": (
        made(
            [[1.0, 1.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.5]],
            [2.0, -3.0, -3.0, -1.0],
            [[0.5, -0.2, -0.1], [0.2, 0.3, 0.1]],
            [0.7, -0.6],
        ),
        10.0,
    ),
    "second layer zero at the start": (
        made(
            [[1.0, 0.0], [0.5, 1.0], [-1.0, 0.3]], [-1.0, 1.0, 0.5], [[0.6, 0.1], [-0.5, 0.4], [0.2, 0.7]], [0.0, 0.0, 0.0]
        ),
        8.0,
    ),
    "held at the start with a second layer of zero": (made([[1.0, 0.0], [0.5, 1.0]], [-4.0, 2.0], [[0.0, 2.0]], [0.0]), 6.0),
    "dead from the start": (made([[1.0, 0.2], [1.0, -0.2]], [1.0, -1.0], [[-1.0, 0.0], [0.6, 0.5]], [1.0, 0.8]), 6.0),
    "a sample that is fitted exactly on a held line": (
        made([[1.0, 0.0], [0.3, 1.0], [-0.3, 1.0]], [0.0, 1.0, 0.5], [[0.0, 0.6], [0.2, 0.3]], [0.6, -0.4]),
        8.0,
    ),
    "exponential loss": (
        made(
            [[1.0, 0.5], [-0.5, 1.0], [-1.0, -0.4], [0.3, -1.0]],
            [1.0, -1.0, 1.0, -1.0],
            [[0.9, 0.2], [-0.5, 0.6], [0.2, -0.9], [-0.4, -0.6]],
            [0.8, -0.9, 1.0, -0.6],
            "exponential",
        ),
        8.0,
    ),
    "weight decay and sliding": (
        made([[1.0, 0.0], [1.0, 1.0], [1.0, -1.0]], [-3.0, 1.0, 1.0], [[0.3, 1.0], [-0.3, 1.0]], [1.1, 1.2], l2=0.05),
        6.0,
    ),
    "second layer fixed and sliding, leaky": (
        made(
            [[1.0, 0.0], [1.0, 1.0], [1.0, -1.0]],
            [-1.0, 1.0, 1.0],
            [[0.3, 1.0], [-0.3, 1.0]],
            [1.1, 1.2],
            "logistic",
            alpha=0.2,
            trainable=(True, False),
        ),
        6.0,
    ),
    "held at the origin, then freed by the others": (
        made(
            [[1.0, 0.0], [1.0, 0.4], [-1.0, 0.5], [-0.5, -1.0]],
            [-1.0, -0.2, -1.0, -1.0],
            [[0.0, 0.0], [0.6, 0.1], [-0.5, 0.3], [-0.1, -0.5]],
            [1.0, -0.6, -0.5, -0.5],
        ),
        25.0,
    ),
    "held on all lines there are, then let go": (
        made(
            [
                [1.63463, -0.94023, 2.25289],
                [0.91804, -0.83632, -0.86233],
                [-1.63463, 0.94023, -2.25289],
                [-0.45902, 0.41816, 0.43117],
            ],
            [-1.0, -1.0, -1.0, -1.0],
            [[0.07091, -0.02883, 0.09951], [0.03795, -0.08876, -0.02957], [-0.01519, 0.01383, 0.07233]],
            [1.14483, 2.02907, -0.37343],
            "exponential",
            alpha=0.2,
        ),
        4.0,
    ),
    "strong second layer, sliding through the origin": (
        made([[1.0, -1.0], [0.0, 1.0], [-1.0, 1.0]], [-3.0, -6.0, 3.0], [[0.4, 0.0]], [1.0]),
        3.0,
    ),
}
STEPS = 4_000
DESCENT = 20.0  # error of gradient descent per learning rate, in units of the largest output


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", CASES)
def test_gradient_descent_with_small_steps_agrees(name, method):
    problem, end = CASES[name]
    rate = end / STEPS
    fine = rl.descend(problem, rate, STEPS, record_every=STEPS // 4)
    run = rl.simulate(problem, fine.times, method=method, rtol=1e-9 if method == "kinks" else 1e-7)
    assert run.status is rl.Status.FINISHED
    assert run.events.certified
    outputs = fine.outputs()
    np.testing.assert_allclose(run.outputs(), outputs, rtol=0, atol=DESCENT * rate * np.abs(outputs).max())
    if method == "kinks":
        assert run.audit.energy_residual < 1e-6
        assert run.audit.balance_drift is None or run.audit.balance_drift < 1e-9


# ---------------------------------------------------------------- by hand


@pytest.mark.parametrize("seed", [0, 3, 8])
def test_where_pulls_cancel_early_neurons_rest_on_kinks(seed):
    """A sample and its triple pull against each other: what rounding leaves of their sum must not send neurons from kink to kink."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((4, 4)).round(1)
    data = rl.Dataset(np.concatenate([x, 3.0 * x[-1:]]), [1.0, 1.0, 1.0, 3.0, -1.0])
    network = rl.Network(4, (8,))
    problem = rl.Problem(data, network, network.init(1e-12, seed=seed))
    runs = [rl.simulate(problem, [1.0, 5.0, 60.0], early_phase=early) for early in (True, False)]
    assert runs[0].status is rl.Status.FINISHED
    for ours, steps in zip(*(run.weights for run in runs), strict=True):
        for k in range(3):
            assert np.linalg.norm(ours[k] - steps[k]) < 1e-8 * np.linalg.norm(steps[k])


def test_neurons_of_size_zero_never_move():
    problem = made([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0], [[0.0, 0.0], [0.5, 0.5]], [0.0, 0.7])
    for method in METHODS:
        run = rl.simulate(problem, [5.0], method=method)
        assert not run.final[0][0].any()
        assert run.final[1][0, 0] == 0.0
        alone = made([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0], [[0.5, 0.5]], [0.7])
        np.testing.assert_allclose(run.final[0][1], rl.simulate(alone, [5.0], method=method).final[0][0], rtol=0, atol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_a_fixed_first_layer_is_a_linear_system(method):
    """a' = S^T (y - S a)/P with S = sigma(x W^T), also where neurons sit on kinks or are dead; solved by eigenvectors."""
    x, y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0], [-1.0, 0.5]]), np.array([1.0, -1.0, 0.5, 2.0])
    w, a = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]]), np.array([0.5, -0.2, 0.0, 0.3, -0.4])
    problem = made(x, y, w, a, trainable=(False, True))
    run = rl.simulate(problem, [0.7, 4.0], method=method)
    signal = np.maximum(x @ w.T, 0.0)
    rates, vectors = np.linalg.eigh(signal.T @ signal / 4)
    best = np.linalg.pinv(signal) @ y
    for k, t in enumerate(run.times):
        exact = best + vectors @ (np.exp(-rates * t) * (vectors.T @ (a - best)))
        np.testing.assert_allclose(run.weights[1][k, 0], exact, rtol=0, atol=1e-7)
        np.testing.assert_array_equal(run.weights[0][k], w)


@pytest.mark.parametrize("size", [4.0, 8.0, 15.0])
def test_exponential_loss_from_margins_far_below_zero(size):
    """w = size, a = -size, x = 1, y = 1: m = -w^2 obeys Ei(m) = Ei(m_0) - 2t, from slopes up to e^225."""
    problem = made([[1.0]], [1.0], [[size]], [-size], "exponential")
    times = np.array([0.01, 1.0, 10.0])
    run = rl.simulate(problem, times, method="kinks")
    assert run.status is rl.Status.FINISHED
    start = expi(-(size**2))
    exact = [brentq(lambda m, t=t: expi(m) - start + 2 * t, -(size**2), -1e-300, xtol=1e-30) for t in times]
    np.testing.assert_allclose(run.outputs()[:, 0], exact, rtol=1e-6)


def test_a_held_neuron_whose_second_layer_changes_sign_leaves_its_kink():
    """What attracted repels from then on, so the neuron leaves to one side; both are solutions, staying is not what descent does."""
    problem = made([[1.0, 0.0], [-0.5, 1.0]], [-4.0, -2.0], [[0.0, 2.0]], [0.3])
    run = rl.simulate(problem, np.linspace(0.0, 6.0, 601), method="kinks")
    assert [Kind(kind) for kind in run.events.kind] == [Kind.HOLD, Kind.RELEASE]
    turned = run.events.time[1]
    a, height = run.weights[1][:, 0, 0], run.weights[0][:, 0, 0]
    assert (a[run.times < turned] > 0).all()
    assert (a[run.times > turned + 0.01] < 0).all()
    np.testing.assert_array_equal(height[run.times < turned], 0.0)
    assert abs(height[-1]) > 0.05
    assert run.audit.energy_residual < 1e-8
    assert run.audit.balance_drift < 1e-9
    # gradient descent that starts on the side it took, at the moment of the turn
    k = int(np.searchsorted(run.times, turned)) + 1
    begun = problem.with_weights(run.weights_at(k))
    fine = rl.descend(begun, 1e-3, round((6.0 - run.times[k]) / 1e-3))
    np.testing.assert_allclose(fine.final[0], run.final[0], rtol=0, atol=5e-3)


@pytest.mark.parametrize("method", METHODS)
def test_mirror_images_meet_their_kinks_together_and_stay_mirror_images(method):
    """The data is symmetric about the second axis, and so are the neurons: events come in ties."""
    x = [[1.0, 0.5], [-1.0, 0.5], [0.4, -1.0], [-0.4, -1.0]]
    problem = made(x, [-1.0, -1.0, 1.0, 1.0], [[0.7, 0.3], [-0.7, 0.3], [0.2, -0.6], [-0.2, -0.6]], [0.8, 0.8, -0.5, -0.5])
    run = rl.simulate(problem, [1.0, 5.0, 20.0], method=method)
    mirrored = run.weights[0][:, [1, 0, 3, 2]] * [-1.0, 1.0]
    np.testing.assert_allclose(mirrored, run.weights[0], rtol=0, atol=1e-7 if method == "kinks" else 1e-4)
    if method == "kinks":
        left, right = (np.sort(run.events.time[np.isin(run.events.neuron, pair)]) for pair in ([0, 2], [1, 3]))
        np.testing.assert_allclose(left, right, rtol=1e-9)


def test_tiny_neurons_are_as_exact_as_large_ones():
    """Sizes 1 and 1e-8 in one run: the errors of each are relative to itself."""
    rng = np.random.default_rng(0)
    sizes = np.array([1.0, 1e-8, 1e-4, 1e-8])
    w, a = sizes[:, None] * rng.standard_normal((4, 2)), sizes * rng.standard_normal(4)
    problem = made(rng.standard_normal((6, 2)), rng.standard_normal(6), w, a)
    run, exact = (rl.simulate(problem, [3.0], method="kinks", rtol=rtol) for rtol in (1e-8, 1e-13))
    error = np.abs(run.final[0] - exact.final[0]).max(axis=1) / np.linalg.norm(exact.final[0], axis=1)
    assert error.max() < 1e-6


def test_a_neuron_leaves_the_origin_as_descent_does_where_several_ways_lead_out():
    """Three neurons slide into w = 0 and could go straight on; descent with small steps takes another way, and so do they."""
    rng = np.random.default_rng(39)
    basis = np.linalg.qr(rng.standard_normal((4, 2)))[0].T
    data = rl.Dataset(rng.standard_normal((24, 2)), rng.standard_normal(24))
    first, second = rl.Network(inputs=4, widths=(12,)).init(scale=1.0, seed=39)
    problem = rl.Problem(data, rl.Network(inputs=2, widths=(12,)), (first @ basis.T, second))
    flow = rl.simulate(problem, [100.0, 150.0, 300.0], method="kinks")
    descent = rl.descend(problem, learning_rate=0.004, steps=75_000, record_every=12_500)
    np.testing.assert_allclose(flow.loss, descent.loss[[2, 3, 6]], rtol=0, atol=1e-5)
    assert flow.events.choices == 3
    assert not flow.events.certified
    assert "3 through w = 0, where several ways lead out" in str(flow.events)
    ways = 1.0 / flow.events.multiplier[flow.events.kind == Kind.ORIGIN]
    assert ways.min() == 1.0
    assert ways.max() >= 3.0


def test_ways_out_of_the_origin_are_found_where_the_potential_is_highest():
    """Against traces from every sample's own direction: there is a way out for the one where there is for the other."""
    left = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        samples, inputs = int(rng.integers(2, 16)), int(rng.integers(1, 6))
        x, network = rng.standard_normal((samples, inputs)), rl.Network(inputs, (2,), alpha=float(rng.choice([0.0, 0.2])))
        kinks = Kinks(rl.Problem(rl.Dataset(x, np.ones(samples)), network, network.init(1.0, seed=0)))
        pull = rng.standard_normal(samples)
        pull *= np.where(pull > 0.0, rng.choice([0.05, 0.1, 0.3, 1.0]), 1.0)
        own = np.sign(pull)[:, None] * x
        ways = [_trace(kinks, direction, 1.0, pull) for direction in [own.sum(axis=0), *own]]
        found = exit_from_origin(kinks, 1.0, pull, [])
        assert (found is None) == all(way is None for way in ways)
        left += found is not None
    assert 5 < left < 40


def test_descents_through_the_origin_are_those_of_a_plain_loop() -> None:
    rng = np.random.default_rng(0)
    starts, x, push = rng.normal(size=(9, 3)), rng.normal(size=(7, 3)), rng.normal(size=7)
    w, mean = starts, np.zeros_like(starts)
    for step in range(origin.ORIGIN_DESCENT_STEPS):
        w = w + (np.where(w @ x.T > 0.0, 1.0, 0.2) * push) @ x
        mean += w if step >= origin.ORIGIN_DESCENT_STEPS // 2 else 0.0
    assert origin._mean_of_descents(starts, x, push, 0.2) == pytest.approx(mean, rel=1e-9)


@pytest.mark.parametrize("method", ["kinks", "follow", "smooth"])
def test_where_a_kink_comes_to_repel_most_descents_are_left_on_the_side_that_pushes_less(method):
    """Held on w_2 = 0 (1 from below, -5 from above, times |a|), a neuron leaves as a passes through zero: both sides lead away."""
    net = rl.Network(inputs=2, widths=(1,))
    problem = rl.Problem(
        rl.Dataset([[1.0, -1.0], [0.0, 1.0]], [1.0, 6.0]), net, (np.array([[1e-3, 1e-5]]), np.array([[-5e-4]]))
    )
    flow = rl.simulate(problem, times=[2.0], method=method, rtol=1e-8, early_phase=False)
    assert (flow.events.count(Kind.HOLD), flow.events.count(Kind.RELEASE), flow.events.choices) == (1, 1, 1)
    assert str(flow.events).endswith("(1 off a kink that came to repel, to the side of descent)")
    for steps in (4_000, 4_567, 5_432):
        small_steps = rl.descend(problem, learning_rate=2.0 / steps, steps=steps, record_every=steps)
        np.testing.assert_allclose(small_steps.final[0], flow.final[0], atol=5e-6)


def test_neurons_that_rest_on_kinks_stay_there_when_they_meet_another():
    """Orthogonal inputs: beyond the kink of a sample nothing moves a neuron along it, so it rests there, up to rounding."""
    net = rl.Network(inputs=10, widths=(20,))
    problem = rl.Problem(rl.datasets.orthogonal(seed=153), net, net.init(scale=1e-3, seed=153))
    flow, steps = rl.simulate(problem, times=[20.0]), 4_000
    small_steps = rl.descend(problem, learning_rate=20.0 / steps, steps=steps, record_every=steps)
    apart, sizes = (np.linalg.norm(w, axis=1) for w in (small_steps.final[0] - flow.final[0], flow.final[0]))
    assert np.max(apart / sizes) < 2e-2


def test_neurons_that_slide_into_zero_pass_it_at_any_tolerance() -> None:
    """In the plane a neuron held on a kink meets another one only at w = 0; loose steps landed beside it, and such neurons died."""
    x = np.array(rl.datasets.six_points(0.15).x)
    x[5] = 1.129, -0.019
    net = rl.Network(inputs=2, widths=(100,))
    problem = rl.Problem(rl.Dataset(x, rl.datasets.six_points(0.15).y), net, net.init(scale=1e-3, seed=0))
    loose, tight = (rl.simulate(problem, times=[1000.0, 3000.0], rtol=rtol) for rtol in (1e-4, 1e-9))
    assert np.abs(loose.loss - tight.loss).max() < 1e-6  # it was 6e-4
    assert loose.events.count(Kind.ORIGIN) == tight.events.count(Kind.ORIGIN) == 4


def test_lines_that_meet_do_not_hold_a_neuron_and_let_it_go_by_turns() -> None:
    """Three lines with dependent normals, multipliers within 1e-9 of their bounds: one let it go that another had it grazing."""
    x = [[2.0, 2.0, 2.0], [-1.0, 2.0, 0.0], [0.0, -2.0, 1.0], [-2.0, -2.0, 0.0], [1.0, 0.0, -1.0]]
    y = [0.4904693832807488, -2.329167771633173, 0.0, 0.6703518287037054, -0.0]
    start = (
        np.array(
            [
                [0.05027649991158701, -0.04159081211186889, 0.005327620589839019],
                [0.05948613145225335, -0.01999634323398969, -0.01686132802060751],
            ]
        ),
        np.array([[0.03457128987052776, 0.12050810799168574]]),
    )
    problem = rl.Problem(rl.Dataset(x, y), rl.Network(inputs=3, widths=(2,)), start)
    usual, tight = (rl.simulate(problem, times=[228.0, 5658.0], rtol=rtol) for rtol in (1e-9, 1e-11))
    assert usual.status is tight.status is rl.Status.FINISHED
    np.testing.assert_allclose(usual.loss, tight.loss, rtol=1e-9)


def test_neurons_that_reach_a_kink_together_cross_it_together() -> None:
    """Some point the same way up to rounding. The first to cross brought others back before they were seen beyond the kink, so that
    rounding chose who crossed."""
    x = [[2.03, -2.03, 0], [3.58, 0, 0], [-6.8, -6.8, 6.8], [.144, -.823, -1.05], [.504, -2, -4.22], [2.2, 3.67, 2.21], [.34, .34, -.34],
         [-3.38, -.28, 3.88], [1.58, -1.58, 0], [5.88, -5.88, 0], [-.352, 0, -.352], [0, -.121, 0], [1.75, 14.8, 26], [-.49, .0312, .0385],
         [0, -1.26, -1.26], [.629, -.629, -.629]]  # fmt: skip
    net = rl.Network(inputs=3, widths=(21,), alpha=0.2)
    problem = rl.Problem(rl.Dataset(x, np.ones(16)), net, net.init(scale=0.01, seed=0, start="balanced"))
    loose, tight = (rl.simulate(problem, times=[1800.0], rtol=rtol) for rtol in (1e-8, 1e-10))
    np.testing.assert_allclose(loose.final[0], tight.final[0], rtol=0.0, atol=1e-6 * np.abs(tight.final[0]).max())


def test_a_neuron_lands_on_kinks_as_exactly_as_its_size_allows() -> None:
    """It has grown by eight orders of magnitude since the last event: what rounding leaves of its height is not above the kink."""
    x = [[-1, 0, 2], [2, -1, -2], [-1, -2, -2], [-1, 0, 1], [-2, -1, 2], [2, -1, -1], [0, -2, 1], [1, 2, 2], [-2, -2, 0], [-2, -2, -1],
         [-1, 2, -2]]  # fmt: skip
    w = [[-7.759697895944497e-10, 7.164088620940537e-09, 4.4851384615401005e-09],
         [2.530899610127325e-10, 3.83851811852785e-09, -1.7355316090848122e-10]]  # fmt: skip
    a = [[8.487800769471396e-09, -3.850765712724332e-09]]
    data = rl.Dataset(x, [1, -1, -1, 1, 1, -1, -1, -1, -1, -1, -1])
    problem = rl.Problem(data, rl.Network(inputs=3, widths=(2,), alpha=0.2), (np.array(w), np.array(a)), loss="logistic")
    assert rl.simulate(problem, times=[300.0], max_steps=2_000).status is rl.Status.FINISHED


def test_where_the_pull_of_a_held_sample_changes_sign_neurons_stay_on_the_side_that_does_not_push() -> None:
    """Two proportional neurons are held; nothing pushes from one side, and when the pull changes sign the other begins to repel. They left
    by rounding, once even to different sides."""
    x = [[-0.9116, 0.2088, 0.2214, 0.2764], [-0.8422, 0.1276, 0.4802, -0.2094], [-0.2782, -0.1851, -0.5906, -0.7345]]
    direction, sizes = np.array([-0.459, 0.344, 0.192, 0.175]), np.array([0.1, 0.05, -0.0127, -0.1115])
    weights = sizes[:, None] * direction, sizes[None] * np.linalg.norm(direction)
    problem = rl.Problem(rl.Dataset(x, [182_781.0, 137_077.0, -1_423_198.0]), rl.Network(inputs=4, widths=(4,)), weights)
    descent = unit_rows(rl.descend(problem, learning_rate=5e-9, steps=60_000).final[0])
    for rtol in (1e-6, 1e-8, 1e-9, 1e-11):
        run = rl.simulate(problem, times=[3e-4], rtol=rtol, method="kinks")
        np.testing.assert_allclose(unit_rows(run.final[0]), descent, atol=1e-3)  # its steps leave 1e-4
        assert run.events.choices == 2


def unit_rows(w):
    return np.asarray(w / np.linalg.norm(w, axis=1, keepdims=True))


def test_a_descent_that_ends_at_the_origin_has_no_direction() -> None:
    kinks = Kinks(rl.Problem(rl.Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0]), rl.Network(2, (1,)), ([[1.0, 1.0]], [[1.0]])))
    nothing = np.zeros(2)
    assert not origin._descents(kinks, 1.0, nothing, nothing).any()
    assert origin.way_of_descent(kinks, 1.0, nothing, nothing) == (None, 0)


@pytest.mark.parametrize("seed", [0, 27, 75, 122])
def test_rounding_ends_no_hold_where_outputs_are_large(seed):
    """Rows of lengths 1e-3 to 1e3: what long ones leave of the rounding of outputs in the drive held neurons and let them go for ever."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((5, 5)) * 10.0 ** rng.uniform(-3, 3, (5, 1))
    y = rng.standard_normal(5) * (rng.random(5) < 0.5)
    network = rl.Network(5, (6,), alpha=0.01)
    problem = rl.Problem(rl.Dataset(x, y), network, network.init(scale=1e-8, seed=seed))
    run = rl.simulate(problem, [0.0, 1e2, 1e3, 1e4], rtol=1e-9, max_steps=3_000)
    assert run.status is rl.Status.FINISHED
    assert run.events.count(Kind.HOLD) < 40
    assert not run.events.doubtful.any()


@pytest.mark.parametrize("seed", [2, 4])
def test_a_neuron_leaves_the_origin_as_soon_as_its_potential_is_positive(seed: int) -> None:
    """Many kinks pass through its ray: what rounding leaves along those that it rests on must not seem ahead of it."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-1, 2, (30, 4)).astype(float)
    x = x[x.any(axis=1)]
    network = rl.Network(4, (1,))
    kinks = Kinks(rl.Problem(rl.Dataset(x, np.ones(len(x))), network, network.init(1.0, seed=0)))
    first, change = rng.normal(size=(2, len(x)))
    first, change = first - 3.0 * np.abs(first), 8.0 * np.abs(change)

    def share(u: float) -> float:
        pull = first + u * change
        return highest_potential(kinks, 1.0, pull) / float(np.abs(pull) @ np.linalg.norm(x, axis=1))

    for least in (2e-9, 5e-9, 1e-8, 3e-8):  # below 1e-9 the velocity is rounding
        u = earliest(lambda u, least=least: share(u) > least, 1e-15)
        assert share(u) < 10.0 * least
        assert exit_from_origin(kinks, 1.0, first + u * change, []) is not None
    assert exit_from_origin(kinks, 1.0, first, []) is None


@pytest.mark.parametrize("seed", range(60))
def test_where_several_ways_lead_out_of_the_origin_more_than_one_is_counted(seed):
    """In the plane they are the positive maxima of a potential on the circle, some of which are low and narrow."""
    rng = np.random.default_rng(seed)
    x, pull, net = rng.standard_normal((25, 2)), rng.choice([-1.0, 1.0], 25) / 25, rl.Network(2, (1,))
    angles = np.linspace(0.0, 2.0 * np.pi, 20_001)[:-1]
    potential = np.maximum(np.stack([np.cos(angles), np.sin(angles)], axis=1) @ x.T, 0.0) @ pull
    highest = (potential > np.roll(potential, 1)) & (potential >= np.roll(potential, -1))
    ways = int(np.sum(highest & (potential > 1e-6 * np.abs(potential).max())))
    counted = count_exits(Kinks(rl.Problem(rl.Dataset(x, np.ones(25)), net, net.init(1.0, seed=0))), 1.0, pull)
    assert min(ways, 2) <= counted <= ways
