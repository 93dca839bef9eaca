"""Measures against cases computed by hand, against Theorem 1 and against what gradient flow conserves."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rectilinear as rl
from rectilinear import measures
from rectilinear.prediction import Prediction

EXACT = 1e-12  # a few roundings of numbers of order one

ONE_NEURON = rl.Network(inputs=1, widths=(1,))
PLANE = rl.Network(inputs=2, widths=(2,))


def random_case(seed=0, inputs=3, widths=(7,), alpha=0.0, samples=11):
    rng = np.random.default_rng(seed)
    net = rl.Network(inputs=inputs, widths=widths, alpha=alpha)
    x = rng.standard_normal((samples, inputs))
    return net, net.init(scale=1.0, seed=seed), x, rng.choice([-1.0, 1.0], samples)


@pytest.fixture(scope="module")
def descent():
    net, weights, x, y = random_case(seed=3)
    return rl.descend(rl.Problem(rl.Dataset(x, y), net, weights), learning_rate=0.05, steps=60, record_every=20)


# the calling convention


CALLS = {
    "alignment": {"direction": [1.0, 2.0, 3.0]},
    "distinct_directions": {"within_degrees": 40.0},
    "distinct_neuron_patterns": {},
    "distinct_sample_patterns": {},
    "effective_linear_map": {},
    "even_energy": {},
    "even_fraction": {},
    "function_distance": {"reference": random_case(seed=8)[:2]},
    "layer_imbalance": {},
    "linear_fraction": {},
    "margins": {},
    "neuron_imbalance": {"layer": 0},
    "normalised_margin": {},
    "odd_energy": {},
    "rank_one_residual": {},
    "sign_imbalance": {},
    "singular_values": {"layer": 1},
    "stable_rank": {},
    "stable_rank_by_sign": {},
}
ON_INPUTS = {
    "distinct_neuron_patterns",
    "distinct_sample_patterns",
    "effective_linear_map",
    "even_energy",
    "even_fraction",
    "function_distance",
    "linear_fraction",
    "odd_energy",
}
ON_DATA = {"margins", "normalised_margin"}


def test_every_public_measure_is_in_the_table_of_calls():
    of_runs = {
        "activation_flips",
        "approach",
        "decomposition",
        "increment_ratios",
        "last_switch",
        "limit_distance",
        "loss_slopes",
        "plateau_begin",
        "plateau_duration",
        "plateau_end",
        "plateau_height",
        "time_to_loss",
    }
    of_data = {"linear_fit_loss"}
    assert set(CALLS) | of_runs | of_data == set(measures.__all__)


@pytest.mark.parametrize("name", CALLS)
def test_a_run_gives_the_value_of_each_saved_time(name, descent):
    measure, options = getattr(measures, name), CALLS[name]
    problem = descent.problem
    data = {"x": problem.data.x} if name in ON_INPUTS else {"x": problem.data.x, "y": problem.y} if name in ON_DATA else {}
    over_time = measure(descent, **options)
    singles = [measure(problem.network, descent.weights_at(k), **options, **data) for k in range(len(descent))]
    np.testing.assert_array_equal(over_time, np.array(singles))
    assert over_time.shape[0] == len(descent) == 4


@pytest.mark.parametrize("name", sorted(ON_INPUTS - {"function_distance"}))
def test_a_run_may_be_measured_on_fresh_inputs(name, descent):
    fresh = np.random.default_rng(5).standard_normal((6, 3))
    measure = getattr(measures, name)
    expected = measure(descent.problem.network, descent.final, fresh)
    np.testing.assert_array_equal(measure(descent, fresh)[-1], expected)


def test_fresh_inputs_never_meet_training_labels(descent):
    with pytest.raises(TypeError, match="'y'"):
        measures.margins(descent, x=descent.problem.data.x)


def test_a_network_needs_its_inputs():
    with pytest.raises(TypeError, match="'x'"):
        measures.linear_fraction(ONE_NEURON, ([[1.0]], [[1.0]]))


def test_weights_must_fit_the_network():
    with pytest.raises(rl.InputError, match=r"weights\[0\] must have shape \(2, 2\).*found \(1, 1\)"):
        measures.stable_rank(PLANE, ([[1.0]], [[1.0]]))


def test_the_first_argument_is_a_network_or_a_trajectory(descent):
    with pytest.raises(rl.InputError, match=r"a measure takes a Network with its weights, or a Trajectory.*found Problem"):
        measures.stable_rank(descent.problem)


def test_measures_of_the_function_take_predictions_without_weights(descent):
    maps = np.array([[1.0, 0.0, -2.0], [0.5, 3.0, 0.0]])
    prediction = Prediction(descent.problem, np.array([0.0, 1.0]), np.zeros(2), (), predicted_map=maps)
    data = descent.problem.data
    np.testing.assert_allclose(measures.effective_linear_map(prediction), maps, atol=EXACT)
    np.testing.assert_allclose(measures.linear_fraction(prediction), 1.0, atol=EXACT)
    np.testing.assert_allclose(measures.even_energy(prediction), 0.0, atol=EXACT)
    np.testing.assert_allclose(measures.margins(prediction), data.y * (maps @ data.x.T), atol=EXACT)


def test_measures_of_the_weights_refuse_predictions_without_weights(descent):
    prediction = Prediction(descent.problem, np.array([0.0]), np.zeros(1), (), predicted_map=np.ones((1, 3)))
    for measure in (measures.stable_rank, measures.normalised_margin, measures.activation_flips):
        with pytest.raises(rl.InputError, match="needs the weights of the network, found a prediction without weights"):
            measure(prediction)


# the function


def test_linear_fit_of_one_relu_on_asymmetric_inputs():
    # f = (1, 0) at x = (1, -2): v = argmin (1 - v)^2 + 4 v^2 = 1/5, which explains 5 v^2 = 1/5 of <f^2>
    weights, x = ([[1.0]], [[1.0]]), [[1.0], [-2.0]]
    assert measures.effective_linear_map(ONE_NEURON, weights, x)[0] == pytest.approx(0.2, rel=EXACT)
    assert measures.linear_fraction(ONE_NEURON, weights, x) == pytest.approx(0.2, rel=EXACT)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_on_symmetric_inputs_the_fit_is_the_linear_part_of_theorem_1(alpha):
    net, weights, x, _ = random_case(seed=1, alpha=alpha)
    mirrored = np.concatenate([x, -x])
    np.testing.assert_allclose(measures.effective_linear_map(net, weights, mirrored), net.linear_part(weights), atol=EXACT)
    f = net.output(weights, mirrored)
    expected = np.mean((mirrored @ net.linear_part(weights)) ** 2) / np.mean(f**2)
    assert measures.linear_fraction(net, weights, mirrored) == pytest.approx(expected, rel=EXACT)


@pytest.mark.parametrize("widths", [(7,), (4, 5)])
def test_even_and_odd_energy_add_up_on_symmetric_inputs(widths):
    net, weights, x, _ = random_case(seed=2, widths=widths, alpha=0.2)
    mirrored = np.concatenate([x, -x])
    total = measures.even_energy(net, weights, mirrored) + measures.odd_energy(net, weights, mirrored)
    assert total == pytest.approx(np.mean(net.output(weights, mirrored) ** 2), rel=EXACT)
    share = measures.even_energy(net, weights, mirrored) / total
    assert measures.even_fraction(net, weights, mirrored) == pytest.approx(share, rel=EXACT)


def test_energies_are_those_of_theorem_1s_parts():
    net, weights, x, _ = random_case(seed=4, alpha=0.4)
    assert measures.even_energy(net, weights, x) == pytest.approx(np.mean(net.even_part(weights, x) ** 2), rel=EXACT)
    assert measures.odd_energy(net, weights, x) == pytest.approx(np.mean((x @ net.linear_part(weights)) ** 2), rel=EXACT)


def test_the_odd_three_layer_function_is_odd_and_not_linear():
    # on the circle <f^2> = (1 - 1/pi)/2 and the best fit is v = (3/4, -1/4), so <(v.x)^2> = 5/16
    net, weights = rl.odd_nonlinear_network()
    angles = np.linspace(0.0, 2.0 * np.pi, 20_000, endpoint=False)
    x = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    quadrature = 1e-7  # the function has corners, so the error of the mean falls as the square of the spacing
    assert measures.even_energy(net, weights, x) < EXACT
    np.testing.assert_allclose(measures.effective_linear_map(net, weights, x), [0.75, -0.25], atol=quadrature)
    assert measures.linear_fraction(net, weights, x) == pytest.approx(5.0 / 8.0 / (1.0 - 1.0 / np.pi), abs=quadrature)


def test_fractions_of_the_zero_function_are_nan():
    zero = ([[0.0]], [[1.0]])
    assert math.isnan(measures.linear_fraction(ONE_NEURON, zero, [[1.0]]))
    assert math.isnan(measures.even_fraction(ONE_NEURON, zero, [[1.0]]))
    assert math.isnan(measures.function_distance(ONE_NEURON, zero, (ONE_NEURON, zero), [[1.0]]))


def test_function_distance_sees_functions_not_weights():
    net, weights, x, _ = random_case(seed=6)
    wide = rl.Network(inputs=3, widths=(14,))
    first, second = weights
    split = (np.concatenate([first, first]), np.concatenate([0.25 * second, 0.75 * second], axis=1))
    assert measures.function_distance(wide, split, (net, weights), x) == pytest.approx(0.0, abs=EXACT)
    assert measures.function_distance(net, (first, -second), (net, weights), x) == pytest.approx(2.0, rel=EXACT)


# spectra


def test_singular_values_of_a_known_matrix():
    net = rl.Network(inputs=3, widths=(2,))
    weights = ([[0.0, 5.0, 0.0], [-2.0, 0.0, 0.0]], [[3.0, 4.0]])
    np.testing.assert_allclose(measures.singular_values(net, weights, 0), [5.0, 2.0], atol=EXACT)
    np.testing.assert_allclose(measures.singular_values(net, weights, 1), [5.0], atol=EXACT)
    np.testing.assert_allclose(measures.stable_rank(net, weights), [29.0 / 25.0, 1.0], atol=EXACT)


@pytest.mark.parametrize("layer", [-1, 2])
def test_singular_values_of_a_layer_that_is_not_there(layer):
    with pytest.raises(rl.InputError, match=rf"layer must lie in 0\.\.1, found {layer}"):
        measures.singular_values(PLANE, PLANE.init(1.0, seed=0), layer)


def test_stable_rank_of_a_zero_layer_is_nan():
    assert np.isnan(measures.stable_rank(PLANE, (np.zeros((2, 2)), [[1.0, 1.0]]))).tolist() == [True, False]


def test_stable_rank_per_class_of_kou_et_al():
    # leaky limit on two orthogonal samples: rank one per class, 2 (1 + a^2) / (1 + a)^2 for the whole layer
    a = 0.3
    net = rl.Network(inputs=2, widths=(4,), alpha=a)
    first = [[1.0, -a], [1.0, -a], [-a, 1.0], [-a, 1.0]]
    weights = (first, [[0.5, 0.5, -0.5, -0.5]])
    np.testing.assert_allclose(measures.stable_rank_by_sign(net, weights), [1.0, 1.0], atol=EXACT)
    assert measures.stable_rank(net, weights)[0] == pytest.approx(2 * (1 + a * a) / (1 + a) ** 2, rel=EXACT)


def test_stable_rank_per_class_without_negative_neurons():
    ranks = measures.stable_rank_by_sign(PLANE, (np.eye(2), [[1.0, 1.0]]))
    assert ranks[0] == pytest.approx(2.0)
    assert math.isnan(ranks[1])


# structure


def test_assumption_4_holds_on_the_start_that_promises_it():
    net = rl.Network(inputs=4, widths=(9,))
    weights = net.init(scale=1e-3, seed=0, start="rank_one")
    assert measures.rank_one_residual(net, weights) < EXACT
    assert abs(measures.sign_imbalance(net, weights)) < EXACT


def test_rank_one_residual_by_hand():
    # r = (1, 1)/sqrt 2; |W_1 - W_2^T r^T|^2 = |W_1|^2 + |W_2|^2 - 2 |W_2 W_1| = 4 - 2 sqrt 2
    residual = measures.rank_one_residual(PLANE, (np.eye(2), [[1.0, 1.0]]))
    assert residual == pytest.approx(math.sqrt((4 - 2 * math.sqrt(2)) / 2), rel=EXACT)


def test_rank_one_residual_where_the_product_vanishes():
    net = rl.Network(inputs=1, widths=(2,))
    assert measures.rank_one_residual(net, ([[1.0], [1.0]], [[1.0, -1.0]])) == pytest.approx(math.sqrt(2), rel=EXACT)


def test_no_other_direction_has_a_smaller_rank_one_residual():
    net, (first, second), _, _ = random_case(seed=7)
    best = measures.rank_one_residual(net, (first, second))
    for r in np.random.default_rng(0).standard_normal((50, 3)):
        other = np.linalg.norm(first - second.T @ (r / np.linalg.norm(r))[None, :]) / np.linalg.norm(first)
        assert best <= other


def test_zero_weights_have_no_structure():
    zero = (np.zeros((2, 2)), np.zeros((1, 2)))
    assert math.isnan(measures.rank_one_residual(PLANE, zero))
    assert math.isnan(measures.sign_imbalance(PLANE, zero))


@pytest.mark.parametrize("name", ["rank_one_residual", "sign_imbalance", "stable_rank_by_sign"])
def test_two_layer_measures_refuse_deeper_networks(name):
    deep = rl.Network(inputs=2, widths=(2, 2))
    with pytest.raises(rl.InputError, match=f"{name} needs a two-layer network.*found 3 layers"):
        getattr(measures, name)(deep, deep.init(1.0, seed=0))


def test_layer_imbalance_by_hand():
    net = rl.Network(inputs=1, widths=(2, 1))
    weights = ([[1.0], [2.0]], [[1.0, 0.0]], [[3.0]])
    # [[1, 2], [2, 4]] - [[1, 0], [0, 0]] and [[1]] - [[9]]
    np.testing.assert_allclose(measures.layer_imbalance(net, weights), [math.sqrt(24), 8.0], atol=EXACT)
    np.testing.assert_allclose(measures.neuron_imbalance(net, weights, 0), [0.0, 4.0], atol=EXACT)
    np.testing.assert_allclose(measures.neuron_imbalance(net, weights, 1), [-8.0], atol=EXACT)


def test_neuron_imbalance_needs_a_hidden_layer():
    with pytest.raises(rl.InputError, match=r"layer must name a hidden layer, 0\.\.0, found 1"):
        measures.neuron_imbalance(PLANE, PLANE.init(1.0, seed=0), layer=1)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_gradient_flow_keeps_every_neurons_balance_and_for_linear_networks_the_matrix(alpha):
    net = rl.Network(inputs=3, widths=(6,), alpha=alpha)
    data = rl.datasets.sine_teacher(inputs=3, pairs=20, seed=0)
    run = rl.simulate(rl.Problem(data, net, net.init(0.3, seed=0)), times=np.linspace(0.0, 5.0, 6))
    neurons, layers = measures.neuron_imbalance(run), measures.layer_imbalance(run)
    conserved = 1e-9  # weights of order one: what the flow promises of its balance drift
    np.testing.assert_allclose(neurons - neurons[0], 0.0, atol=conserved)
    assert (np.ptp(layers) < conserved) == (alpha == 1.0)


# margins


def test_margins_need_as_many_labels_as_inputs():
    with pytest.raises(rl.InputError, match=r"y must have shape \(2,\), one label per row of x, found \(1,\)"):
        measures.margins(ONE_NEURON, ([[1.0]], [[1.0]]), [[1.0], [2.0]], [1.0])


@pytest.mark.parametrize("widths", [(5,), (4, 3)])
def test_normalised_margin_is_the_margin_over_the_norm_to_the_depth(widths):
    net, weights, x, y = random_case(seed=9, widths=widths)
    norm = math.sqrt(sum(np.sum(w**2) for w in weights))
    expected = np.min(y * net.output(weights, x)) / norm**net.layers
    assert measures.normalised_margin(net, weights, x, y) == pytest.approx(expected, rel=EXACT)


def test_normalised_margin_counts_only_layers_that_train():
    net = rl.Network(inputs=1, widths=(2,), trainable=(True, False))
    weights = ([[3.0], [-4.0]], [[1.0, -1.0]])
    assert measures.normalised_margin(net, weights, [[1.0], [-1.0]], [1.0, -1.0]) == pytest.approx(3.0 / 5.0, rel=EXACT)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_normalised_margin_neither_under_nor_overflows(size):
    margin = measures.normalised_margin(ONE_NEURON, ([[size]], [[size]]), [[1.0]], [1.0])
    assert margin == pytest.approx(0.5, rel=EXACT)


def test_normalised_margin_of_zero_weights_is_nan():
    assert math.isnan(measures.normalised_margin(ONE_NEURON, ([[0.0]], [[0.0]]), [[1.0]], [1.0]))
