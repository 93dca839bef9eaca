"""What no order parameter may see: the order of neurons, a rotation of the inputs, the units of a neuron."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

import rectilinear as rl
from rectilinear import measures

ROUNDING = 1e-9  # relative to values of order one: sums of a few dozen terms, and the condition of the linear fits

# each measure as numbers that do not depend on the order of neurons, of (network, weights, x, y, direction)
OF_THE_FUNCTION = {
    "linear_fraction": lambda net, w, x, y, v: measures.linear_fraction(net, w, x),
    "even_energy": lambda net, w, x, y, v: measures.even_energy(net, w, x),
    "odd_energy": lambda net, w, x, y, v: measures.odd_energy(net, w, x),
    "even_fraction": lambda net, w, x, y, v: measures.even_fraction(net, w, x),
    "effective_linear_map": lambda net, w, x, y, v: measures.effective_linear_map(net, w, x) @ v,
    "margins": lambda net, w, x, y, v: measures.margins(net, w, x, y),
}
OF_THE_DIRECTIONS = {
    "alignment": lambda net, w, x, y, v: np.sort(measures.alignment(net, w, v)),
    "distinct_directions": lambda net, w, x, y, v: measures.distinct_directions(net, w, within_degrees=30.0),
    "distinct_neuron_patterns": lambda net, w, x, y, v: measures.distinct_neuron_patterns(net, w, x),
    "distinct_sample_patterns": lambda net, w, x, y, v: measures.distinct_sample_patterns(net, w, x),
}
OF_THE_WEIGHTS = {
    "singular_values": lambda net, w, x, y, v: measures.singular_values(net, w, 0),
    "stable_rank": lambda net, w, x, y, v: measures.stable_rank(net, w),
    "layer_imbalance": lambda net, w, x, y, v: measures.layer_imbalance(net, w),
    "neuron_imbalance": lambda net, w, x, y, v: np.sort(measures.neuron_imbalance(net, w)),
    "normalised_margin": lambda net, w, x, y, v: measures.normalised_margin(net, w, x, y),
}
OF_TWO_LAYERS = {
    "stable_rank_by_sign": lambda net, w, x, y, v: measures.stable_rank_by_sign(net, w),
    "rank_one_residual": lambda net, w, x, y, v: measures.rank_one_residual(net, w),
    "sign_imbalance": lambda net, w, x, y, v: measures.sign_imbalance(net, w),
}
ANY_DEPTH = OF_THE_FUNCTION | OF_THE_DIRECTIONS | OF_THE_WEIGHTS


@st.composite
def cases(draw, depths=(1, 2)):
    """A random network with weights, inputs, labels and a direction, and a generator for the transformation."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    inputs = draw(st.integers(2, 4))
    widths = tuple(draw(st.integers(2, 6)) for _ in range(draw(st.sampled_from(depths))))
    net = rl.Network(inputs=inputs, widths=widths, alpha=draw(st.sampled_from([0.0, 0.3, 1.0])))
    weights = tuple(rng.standard_normal(shape) for shape in net.shapes)
    samples = draw(st.integers(inputs + 2, 12))
    x, y = rng.standard_normal((samples, inputs)), rng.choice([-1.0, 1.0], samples)
    return net, weights, x, y, rng.standard_normal(inputs), rng


def agree(measure, before, after):
    np.testing.assert_allclose(measure(*after), measure(*before), rtol=ROUNDING, atol=ROUNDING)


def permuted(net, weights, rng):
    weights = list(weights)
    for k, width in enumerate(net.widths):
        order = rng.permutation(width)
        weights[k] = weights[k][order]
        weights[k + 1] = weights[k + 1][:, order]
    return tuple(weights)


@pytest.mark.parametrize("name", ANY_DEPTH)
@given(case=cases())
@settings(max_examples=25, deadline=None)
def test_the_order_of_neurons_does_not_matter(name, case):
    net, weights, x, y, v, rng = case
    agree(ANY_DEPTH[name], (net, weights, x, y, v), (net, permuted(net, weights, rng), x, y, v))


@pytest.mark.parametrize("name", OF_TWO_LAYERS)
@given(case=cases(depths=(1,)))
@settings(max_examples=25, deadline=None)
def test_the_order_of_neurons_does_not_matter_in_two_layers(name, case):
    net, weights, x, y, v, rng = case
    agree(OF_TWO_LAYERS[name], (net, weights, x, y, v), (net, permuted(net, weights, rng), x, y, v))


@pytest.mark.parametrize("name", ANY_DEPTH | OF_TWO_LAYERS)
@given(case=cases(depths=(1,)))
@settings(max_examples=25, deadline=None)
def test_a_rotation_of_the_inputs_does_not_matter(name, case):
    net, (first, second), x, y, v, rng = case
    turn = ortho_group.rvs(net.inputs, random_state=rng)
    before, after = (net, (first, second), x, y, v), (net, (first @ turn.T, second), x @ turn.T, y, turn @ v)
    agree((ANY_DEPTH | OF_TWO_LAYERS)[name], before, after)


@pytest.mark.parametrize("name", OF_THE_FUNCTION | OF_THE_DIRECTIONS)
@given(case=cases(depths=(1,)))
@settings(max_examples=25, deadline=None)
def test_the_units_of_a_neuron_do_not_matter(name, case):
    net, (first, second), x, y, v, rng = case
    factors = 10.0 ** rng.uniform(-3, 3, net.widths[0])
    before, after = (net, (first, second), x, y, v), (net, (first * factors[:, None], second / factors), x, y, v)
    agree((OF_THE_FUNCTION | OF_THE_DIRECTIONS)[name], before, after)


@given(case=cases())
@settings(max_examples=50, deadline=None)
def test_normalised_margin_does_not_see_the_size_of_the_weights(case):
    net, weights, x, y, _, rng = case
    size = 10.0 ** rng.uniform(-6, 6)
    scaled = tuple(size * w for w in weights)
    expected = measures.normalised_margin(net, weights, x, y)
    assert measures.normalised_margin(net, scaled, x, y) == pytest.approx(expected, rel=ROUNDING)


@given(case=cases())
@settings(max_examples=50, deadline=None)
def test_fractions_and_ranks_stay_in_their_range(case):
    net, weights, x, _, _, _ = case
    assume(net.output(weights, x).any())  # a dead network has no output of which a share could be linear
    assert -ROUNDING <= measures.linear_fraction(net, weights, x) <= 1.0 + ROUNDING
    assert 0.0 <= measures.even_fraction(net, weights, x) <= 1.0
    for rank, layer in zip(measures.stable_rank(net, weights), weights, strict=True):
        assert 1.0 <= rank <= min(layer.shape) + ROUNDING
    neurons = net.widths[0]
    assert 1 <= measures.distinct_directions(net, weights) <= neurons
    assert 1 <= measures.distinct_neuron_patterns(net, weights, x) <= neurons
    assert 1 <= measures.distinct_sample_patterns(net, weights, x) <= len(x)
