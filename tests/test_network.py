"""The NumPy definition of the network against plain loops, finite differences and the identities of the paper."""

import itertools

import numpy as np
import pytest

import naive
import rectilinear as rl
from rectilinear.losses import named_loss

ROUNDING = 1e-13  # relative; sums of a few dozen products
DIFFERENCE_STEP = 1e-6
DIFFERENCE_ERROR = 1e-8  # central differences: step^2 plus rounding / step

SETTINGS = list(itertools.product([(5,), (4, 3), (3, 4, 2)], [0.0, 0.3, 1.0], [False, True]))


def random_problem(widths, alpha, bias, loss="square", l2=0.0, trainable=None, samples=6, inputs=3, seed=0):
    rng = np.random.default_rng(seed)
    data = rl.Dataset(rng.standard_normal((samples, inputs)), rng.choice([-1.0, 1.0], samples))
    net = rl.Network(inputs, widths, alpha, bias, trainable)
    return rl.Problem(data, net, tuple(rng.standard_normal(shape) for shape in net.shapes), loss, l2)


@pytest.mark.parametrize(("widths", "alpha", "bias"), SETTINGS)
def test_output_objective_and_gradient_equal_plain_loops(widths, alpha, bias):
    for loss in ("square", "logistic", "exponential"):
        problem = random_problem(widths, alpha, bias, loss, l2=0.1)
        w = problem.weights
        np.testing.assert_allclose(problem.output(w), naive.outputs(problem, w), rtol=ROUNDING, atol=ROUNDING)
        assert problem.objective(w) == pytest.approx(naive.objective(problem, w), rel=ROUNDING)
        for ours, loops in zip(problem.gradient(w), naive.gradient(problem, w), strict=True):
            np.testing.assert_allclose(ours, loops, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("samples", range(1, 10))
@pytest.mark.parametrize("width", range(1, 6))
def test_gradient_equals_plain_loops_at_every_small_size(samples, width):
    problem = random_problem((width,), 0.2, False, samples=samples, inputs=1 + samples % 3, seed=samples)
    for ours, loops in zip(problem.gradient(problem.weights), naive.gradient(problem, problem.weights), strict=True):
        np.testing.assert_allclose(ours, loops, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize(("widths", "alpha", "bias"), SETTINGS)
def test_gradient_equals_finite_differences(widths, alpha, bias):
    problem = random_problem(widths, alpha, bias, "logistic", l2=0.05, seed=1)
    for layer, gradient in enumerate(problem.gradient(problem.weights)):
        for position in np.ndindex(gradient.shape):
            ends = []
            for sign in (1, -1):
                moved = [w.copy() for w in problem.weights]
                moved[layer][position] += sign * DIFFERENCE_STEP
                ends.append(problem.objective(tuple(moved)))
            difference = (ends[0] - ends[1]) / (2 * DIFFERENCE_STEP)
            assert gradient[position] == pytest.approx(difference, abs=DIFFERENCE_ERROR)


def test_fixed_layers_neither_move_nor_are_penalised():
    fixed = random_problem((4, 3), 0.1, False, l2=0.5, trainable=(True, False, True))
    free = random_problem((4, 3), 0.1, False, l2=0.5)
    ours, all_moving = fixed.gradient(fixed.weights), free.gradient(free.weights)
    assert not ours[1].any()
    np.testing.assert_array_equal(ours[0], all_moving[0])
    np.testing.assert_array_equal(ours[2], all_moving[2])
    missing = free.objective(free.weights) - fixed.objective(fixed.weights)
    assert missing == pytest.approx(0.25 * np.sum(free.weights[1] ** 2), rel=ROUNDING)


@pytest.mark.parametrize(("widths", "at_zero"), [((1,), 0.6), ((1, 1), 0.2)])
def test_slope_at_zero_is_the_mean_for_two_layers_and_alpha_for_deeper_ones(widths, at_zero):
    net = rl.Network(1, widths, alpha=0.2)
    np.testing.assert_array_equal(net.slope(np.array([-2.0, 0.0, 3.0])), [0.2, at_zero, 1.0])
    # a sample on a neuron's hyperplane: loops and arrays must agree on the convention
    data = rl.Dataset([[1.0, 0.0], [1.0, 2.0]], [1.0, -2.0])
    plane = rl.Network(2, (*widths[:-1], 2), alpha=0.2)
    first = np.zeros(plane.shapes[0])
    first[:, 1] = 1.0
    problem = rl.Problem(data, plane, (first, *(np.full(shape, 0.7) for shape in plane.shapes[1:])))
    for ours, loops in zip(problem.gradient(problem.weights), naive.gradient(problem, problem.weights), strict=True):
        np.testing.assert_allclose(ours, loops, rtol=ROUNDING)


@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
def test_two_layers_split_into_a_linear_and_an_even_part(alpha):
    problem = random_problem((7,), alpha, False, inputs=4)
    net, w = problem.network, problem.weights
    x = np.random.default_rng(3).standard_normal((50, 4))
    forward, mirrored = net.output(w, x), net.output(w, -x)
    np.testing.assert_allclose((forward - mirrored) / 2, x @ net.linear_part(w), atol=ROUNDING * 10)
    np.testing.assert_allclose((forward + mirrored) / 2, net.even_part(w, x), atol=ROUNDING * 10)
    np.testing.assert_array_equal(net.even_part(w, x), net.even_part(w, -x))


@pytest.mark.parametrize("widths", [(5,), (4, 3), (3, 3, 3)])
def test_output_is_homogeneous_in_inputs_and_in_weights(widths):
    problem = random_problem(widths, 0.3, False)
    net, w, x = problem.network, problem.weights, problem.data.x
    np.testing.assert_allclose(net.output(w, 2.5 * x), 2.5 * net.output(w, x), rtol=ROUNDING)
    scaled = tuple(2.5 * layer for layer in w)
    np.testing.assert_allclose(net.output(scaled, x), 2.5**net.layers * net.output(w, x), rtol=ROUNDING)


def test_alpha_one_is_the_product_of_the_layers():
    problem = random_problem((4, 3), 1.0, False)
    w = problem.weights
    np.testing.assert_allclose(problem.output(w), problem.data.x @ (w[2] @ w[1] @ w[0])[0], rtol=ROUNDING)


@pytest.mark.parametrize("alpha", [0.0, 0.25, 0.9])
def test_three_layers_express_an_odd_function_that_is_not_linear(alpha):
    net, w = rl.odd_nonlinear_network(alpha)
    x = np.random.default_rng(0).standard_normal((40, 2))

    def sigma(z):
        return np.maximum(z, alpha * z)

    x1, x2 = x.T
    equation_3 = sigma(sigma(x1) - sigma(x2)) - sigma(sigma(-x1) - sigma(-x2))
    np.testing.assert_allclose(net.output(w, x), equation_3, atol=ROUNDING)
    np.testing.assert_allclose(net.output(w, -x), -net.output(w, x), atol=ROUNDING)
    e1, e2, both = net.output(w, [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert e1 + e2 - both == pytest.approx((1 - alpha) ** 2)


def test_biases_equal_a_constant_input():
    with_bias = random_problem((4,), 0.1, True)
    trick = rl.Network(4, (4,), 0.1)
    ones = with_bias.data.with_ones_column().x
    np.testing.assert_array_equal(with_bias.output(with_bias.weights), trick.output(with_bias.weights, ones))
    np.testing.assert_array_equal(with_bias.x, ones)


def test_network_describes_itself():
    assert str(rl.Network(20, (500,))) == "ReLU 20-500-1"
    assert str(rl.Network(2, (4, 3), 1.0)) == "linear 2-4-3-1"
    fixed = rl.Network(2, np.int64(4), 0.3, bias=True, trainable=(True, False))
    assert str(fixed) == "leaky ReLU (alpha 0.3) 2-4-1 with bias, layer 2 fixed"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"inputs": 0, "widths": (3,)}, "inputs must be a positive whole number, found 0."),
        ({"inputs": 2.5, "widths": (3,)}, "inputs must be a positive whole number, found 2.5."),
        ({"inputs": 2, "widths": (3, -1)}, "widths[1] must be a positive whole number, found -1."),
        ({"inputs": 2, "widths": (True,)}, "widths[0] must be a positive whole number, found True."),
        (
            {"inputs": 2, "widths": ()},
            "widths must name at least one hidden layer, found none; for a linear network use alpha=1.",
        ),
        ({"inputs": 2, "widths": (3,), "alpha": 1.5}, "alpha must lie in [0, 1] (0 is ReLU, 1 is linear), found 1.5."),
        (
            {"inputs": 2, "widths": (3,), "alpha": float("nan")},
            "alpha must lie in [0, 1] (0 is ReLU, 1 is linear), found nan.",
        ),
        (
            {"inputs": 2, "widths": (3,), "trainable": (True,)},
            "trainable must hold 2 truth values, one per layer, with one true at least, found (True,).",
        ),
        (
            {"inputs": 2, "widths": (3,), "trainable": (False, False)},
            "trainable must hold 2 truth values, one per layer, with one true at least, found (False, False).",
        ),
    ],
)
def test_impossible_networks_are_refused(options, sentence):
    with pytest.raises(rl.InputError) as refusal:
        rl.Network(**options)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ((np.ones((3, 2)),), "weights must hold 2 arrays, one per layer, found 1."),
        (
            (np.ones((2, 3)), np.ones((1, 3))),
            "weights[0] must have shape (3, 2) (neurons out, neurons in), found (2, 3).",
        ),
        (
            (np.ones((3, 2)), np.full((1, 3), np.nan)),
            "weights[1] must be finite, found nan or inf; start from finite weights.",
        ),
    ],
)
def test_unfit_weights_are_refused(weights, sentence):
    with pytest.raises(rl.InputError) as refusal:
        rl.Network(2, (3,)).check_weights(weights)
    assert str(refusal.value) == sentence


def test_ragged_weights_are_refused():
    with pytest.raises(rl.InputError, match=r"^weights\[0\] must be an array of numbers \(.*\)\.$"):
        rl.Network(2, (2,)).check_weights(([[1.0, 2.0], [3.0]], [[1.0, 1.0]]))


def test_checked_weights_are_frozen_copies():
    mine = np.ones((3, 2))
    first, _ = rl.Network(2, (3,)).check_weights((mine, np.ones((1, 3))))
    mine[0, 0] = 5.0
    assert first[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        first[0, 0] = 2.0


def test_inputs_of_the_wrong_size_are_refused():
    with pytest.raises(rl.InputError) as refusal:
        rl.Network(2, (3,)).output((np.ones((3, 2)), np.ones((1, 3))), np.ones((4, 5)))
    assert str(refusal.value) == "inputs must have shape (samples, 2), found (4, 5)."


@pytest.mark.parametrize(("widths", "bias", "found"), [((3, 3), False, "3 layers"), ((3,), True, "2 layers with bias")])
def test_theorem_1_is_refused_beyond_its_hypotheses(widths, bias, found):
    net = rl.Network(2, widths, bias=bias)
    weights = net.init(1.0, seed=0)
    for what, call in (("linear_part", net.linear_part), ("even_part", lambda w: net.even_part(w, np.ones((1, 2))))):
        with pytest.raises(rl.InputError) as refusal:
            call(weights)
        assert str(refusal.value) == f"{what} needs a two-layer network without bias (Theorem 1), found {found}."


def test_mean_loss_does_not_depend_on_how_often_the_data_is_repeated():
    problem = random_problem((4,), 0.2, False)
    x, y = np.tile(problem.data.x, (3, 1)), np.tile(problem.y, 3)
    once = problem.network.gradient(problem.weights, problem.data.x, problem.y, named_loss("square"))
    thrice = problem.network.gradient(problem.weights, x, y, named_loss("square"))
    for a, b in zip(once, thrice, strict=True):
        np.testing.assert_allclose(a, b, rtol=ROUNDING, atol=ROUNDING)
