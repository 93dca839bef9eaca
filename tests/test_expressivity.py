"""Theorem 1, Corollary 2, Eq. 3 and the expressivity budget, against networks, projections and training."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rectilinear as rl
from rectilinear import odd_nonlinear_network
from rectilinear.conditions import budget, exact_linearity, interpolating_network

EXPRESSED = 1e-10  # share of <y^2> that rounding may leave of a network's own outputs
ROUNDING = 1e-12


def network_and_weights(seed, alpha=0.0, inputs=3, width=7):
    net = rl.Network(inputs=inputs, widths=(width,), alpha=alpha)
    return net, net.init(1.0, seed=seed)


class TestLinearity:
    @settings(max_examples=40, deadline=None)
    @given(st.integers(0, 10_000), st.sampled_from([0.0, 0.3, 1.0]))
    def test_splits_every_network_exactly(self, seed, alpha):
        net, weights = network_and_weights(seed, alpha)
        found = exact_linearity(net, weights)
        x = np.random.default_rng(seed).standard_normal((20, 3))
        np.testing.assert_allclose(x @ found.linear_map + found.even_part(x), net.output(weights, x), atol=ROUNDING)
        assert found.is_linear is (alpha == 1.0)

    @settings(max_examples=40, deadline=None)
    @given(st.integers(0, 10_000), st.integers(1, 4))
    def test_neurons_that_cancel_on_every_line_make_a_linear_function(self, seed, lines):
        """Each line carries neurons of any lengths and sides whose a_h |w_h| sum to zero."""
        rng = np.random.default_rng(seed)
        rows, seconds = [], []
        for _ in range(lines):
            normal = rng.standard_normal(3)
            lengths = rng.uniform(0.5, 2.0, 3) * rng.choice([-1.0, 1.0], 3)
            a = rng.standard_normal(3)
            a[2] = -(a[:2] @ np.abs(lengths[:2])) / abs(lengths[2])
            rows.append(np.outer(lengths, normal))
            seconds.append(a)
        net = rl.Network(inputs=3, widths=(3 * lines,))
        weights = (np.concatenate(rows), np.concatenate(seconds)[None])
        found = exact_linearity(net, weights)
        assert found.is_linear
        assert found.bound == 0.0
        x = rng.standard_normal((20, 3))
        np.testing.assert_allclose(net.output(weights, x), x @ found.linear_map, atol=1e-11)
        weights[1][0, 0] += 1e-6  # one weight off and the even part is back
        assert not exact_linearity(net, weights).is_linear

    def test_an_odd_network_is_linear(self):
        """Corollary 2: f(x) - f(-x) is a two-layer network too, and it is odd."""
        _, (first, second) = network_and_weights(1)
        twice = rl.Network(inputs=3, widths=(14,))
        found = exact_linearity(twice, (np.concatenate([first, -first]), np.concatenate([second, -second], axis=1)))
        assert found.is_linear

    def test_bounds_the_even_part_on_the_sphere(self):
        for seed in range(20):
            net, weights = network_and_weights(seed)
            found = exact_linearity(net, weights)
            x = np.random.default_rng(seed).standard_normal((4000, 3))
            x /= np.linalg.norm(x, axis=1, keepdims=True)
            assert 0.2 * found.bound < found.largest_even_part(x) <= found.bound

    def test_dead_neurons_count_for_nothing(self):
        net = rl.Network(inputs=2, widths=(3,))
        dead = exact_linearity(net, (np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]), np.array([[1.0, 0.0, 0.0]])))
        assert dead.is_linear
        assert not dead.linear_map.any()
        assert repr(dead) == "ExactLinearity: linear; neurons on 0 lines cancel"

    def test_says_how_much_is_not_linear(self):
        net = rl.Network(inputs=2, widths=(1,))
        found = exact_linearity(net, (np.array([[3.0, 4.0]]), np.array([[2.0]])))
        assert repr(found) == "ExactLinearity: not linear; even part up to 5 |x| from 1 lines"


class TestBudget:
    @settings(max_examples=30, deadline=None)
    @given(st.integers(0, 10_000), st.sampled_from([0.0, 0.3]), st.booleans())
    def test_a_networks_own_outputs_are_expressible(self, seed, alpha, mirrored):
        net, weights = network_and_weights(seed, alpha)
        x = np.random.default_rng(seed).standard_normal((25, 3))
        x = np.concatenate([x, -x, 2.0 * x[:5]]) if mirrored else x
        parts = budget(rl.Dataset(x, net.output(weights, x)))
        assert parts.fractions[2] < EXPRESSED
        assert sum(parts.fractions) == pytest.approx(1.0, abs=ROUNDING)

    def test_mirrored_data_split_into_linear_even_and_odd_rest_exactly(self):
        rng = np.random.default_rng(0)
        half = rng.standard_normal((200, 4))
        x = np.concatenate([half, -half])
        w = rng.standard_normal(4)
        even = np.abs(x @ rng.standard_normal(4))
        cubic = x[:, 0] ** 3
        parts = budget(rl.Dataset(x, x @ w + even + cubic))
        np.testing.assert_allclose(parts.even, even, atol=ROUNDING)
        leftover = cubic - x @ np.linalg.lstsq(x, cubic, rcond=None)[0]
        np.testing.assert_allclose(parts.inexpressible, leftover, atol=1e-11)

    @pytest.mark.parametrize("order", [3, 5])
    def test_odd_monomials_are_beyond_two_layers(self, order):
        """All that is not linear is inexpressible; what is linear is sampling noise of order inputs/samples."""
        data = odd_monomial(order)
        linear, even, rest = budget(data).fractions
        assert even < EXPRESSED
        assert rest == pytest.approx(1.0 - linear, abs=ROUNDING)
        assert linear < 20 * order / data.samples

    @settings(max_examples=30, deadline=None)
    @given(st.integers(0, 10_000), st.sampled_from([0.0, 0.3]))
    def test_the_floor_is_attained_and_cannot_be_undercut(self, seed, alpha):
        """Repeated, opposite and collinear samples with arbitrary labels: a built network reaches the floor exactly."""
        rng = np.random.default_rng(seed)
        base = rng.standard_normal((6, 3))
        x = np.concatenate([base, -base[:4], 2.0 * base[:2], base[:2], -0.5 * base[2:3]])
        data = rl.Dataset(x, rng.standard_normal(len(x)))
        parts = budget(data)
        net, weights = interpolating_network(data, alpha)
        loss = net.loss(weights, data.x, data.y, rl.Problem(data, net, weights).loss)
        assert loss == pytest.approx(parts.loss_floor, rel=1e-6)
        features = np.concatenate(
            [net.activation(x @ rng.standard_normal((3, 400))), net.activation(-x @ np.eye(3))], axis=1
        )
        fit = features @ np.linalg.lstsq(features, data.y, rcond=None)[0]
        assert np.mean((data.y - fit) ** 2) / 2 >= parts.loss_floor * (1.0 - 1e-6)

    def test_linear_networks_have_no_even_part_to_interpolate_with(self):
        with pytest.raises(rl.InputError, match="interpolation needs alpha < 1, found 1"):
            interpolating_network(rl.Dataset([[1.0]], [1.0]), alpha=1.0)

    def test_a_zero_target_costs_nothing(self):
        parts = budget(rl.Dataset([[1.0], [-1.0]], [0.0, 0.0]))
        assert parts.fractions == (0.0, 0.0, 0.0)
        assert parts.loss_floor == 0.0


def odd_monomial(order, pairs=20_000, seed=0):
    """The product of `order` Gaussian inputs, mirrored."""
    x = np.random.default_rng(seed).standard_normal((pairs, order))
    return rl.Dataset(x, np.prod(x, axis=1)).symmetrised()


def test_three_layers_separate_from_two():
    """Eq. 3: the odd nonlinear function of three layers is beyond every two-layer network on mirrored data."""
    for alpha in (0.0, 0.3):
        net, weights = odd_nonlinear_network(alpha)
        half = np.random.default_rng(0).standard_normal((2000, 2))
        x = np.concatenate([half, -half])
        data = rl.Dataset(x, net.output(weights, x))
        assert rl.conditions.odd_target(data).holds
        assert rl.conditions.expressible_target(data).holds is False
        rms_left = np.sqrt(2.0 * budget(data).loss_floor)
        assert rms_left == pytest.approx(0.234 * (1.0 - alpha) ** 2, rel=0.05)


def test_training_three_layers_passes_the_floor_of_two():
    """x1 x2 x3: two layers never fall below their floor, three layers do."""
    data = odd_monomial(3, pairs=100)
    floor = budget(data).loss_floor
    runs = {}
    for widths in ((30,), (30, 30)):
        net = rl.Network(inputs=3, widths=widths)
        problem = rl.Problem(data, net, net.init(3.0, seed=0))
        runs[len(widths)] = rl.descend(problem, learning_rate=0.02, steps=3000, record_every=3000).loss
    assert runs[1][-1] >= floor * (1.0 - ROUNDING)
    assert runs[2][-1] < 0.5 * floor
