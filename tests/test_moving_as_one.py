"""Neurons whose weights are proportional move as one, whatever rounding makes of them."""

import numpy as np
import pytest

import rectilinear as rl
from rectilinear.events import Events, Kind
from rectilinear.flow.moving_as_one import MovingAsOne


def ordinary(seed, width=6, **settings):
    rng = np.random.default_rng(seed)
    data, net = rl.Dataset(rng.standard_normal((14, 3)), rng.standard_normal(14)), rl.Network(3, (width,), alpha=0.1)
    return rl.Problem(data, net, net.init(scale=0.5, seed=seed), **settings)


@pytest.mark.parametrize("method", ["kinks", "follow"])
@pytest.mark.parametrize("l2", [0.0, 0.02])
def test_a_neuron_split_into_parts_moves_as_before(method, l2):
    """Neuron 2 in three parts whose squared shares are 0.5, 0.3 and 0.2."""
    problem, shares = ordinary(3, l2=l2), np.sqrt([0.5, 0.3, 0.2])
    (w, a), owner = problem.weights, [0, 1, 2, 2, 2, 3, 4, 5]
    factors = np.concatenate([[1.0, 1.0], shares, [1.0, 1.0, 1.0]])
    split = rl.Problem(
        problem.data, rl.Network(3, (8,), alpha=0.1), (w[owner] * factors[:, None], a[:, owner] * factors), l2=l2
    )
    whole, parts = (rl.simulate(each, [0.0, 3.0, 10.0], method=method, rtol=1e-9) for each in (problem, split))
    np.testing.assert_allclose(parts.loss, whole.loss, rtol=1e-10)  # a tenth of the tolerance: rounding decides on sweeps
    np.testing.assert_allclose(parts.weights[0], whole.weights[0][:, owner] * factors[:, None], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(parts.audit.energy_residual, whole.audit.energy_residual, atol=1e-9)
    of_one = whole.events.count(Kind.CROSS), int(np.sum((whole.events.neuron == 2) & (whole.events.kind == Kind.CROSS)))
    assert parts.events.count(Kind.CROSS) == of_one[0] + 2 * of_one[1]


def test_a_wide_start_of_rank_one_moves_as_two_neurons():
    rng = np.random.default_rng(0)
    data, net = rl.Dataset(rng.standard_normal((20, 3)), rng.standard_normal(20)), rl.Network(3, (400,))
    run = rl.simulate(rl.Problem(data, net, net.init(1e-3, seed=0, start="rank_one")), [0.0, 20.0], method="kinks")
    assert run.statistics["groups at most"] <= 2
    assert run.weights[0].shape == (2, 400, 3)
    np.testing.assert_allclose(run.weights[0][0], run.problem.weights[0], rtol=1e-14)
    first, last = (run.weights[0][k, 200:] / run.weights[1][k, 0, 200:, None] for k in (0, 1))
    assert np.ptp(first, axis=0).max() < 1e-12
    assert np.ptp(last, axis=0).max() < 1e-12


@pytest.mark.parametrize("seed", [77, 217, 225])
@pytest.mark.parametrize("rtol", [1e-8, 1e-9])
def test_parallel_neurons_cross_together_whatever_the_tolerance(seed, rtol):
    """By themselves some crossed a kink after a long hold, by rounding, and brought the others back: it hung on rtol which."""
    rng = np.random.default_rng(seed)
    x, net = rng.standard_normal((33, 3))[rng.integers(0, 11, 33)], rl.Network(3, (5,))
    data = rl.Dataset(x + 1e-11 * rng.standard_normal(x.shape), rng.choice([-1.0, 1.0], 33))
    run = rl.simulate(
        rl.Problem(data, net, net.init(1e-8, seed=seed, start="rank_one"), "logistic"), [0.0, 1500.0], rtol=rtol
    )
    for part in (slice(0, 2), slice(2, 5)):
        ways = run.final[0][part] / run.final[1][0, part, None]
        assert np.ptp(ways, axis=0).max() < 1e-12


def test_opposite_outgoing_weights_and_zeros_are_neurons_of_their_own():
    theta = np.array(
        [[1.0, 2.0, 3.0], [1.0, 2.0, -3.0], [0.0, 0.0, 0.0], [-1.0, -2.0, -3.0], [0.0, 0.0, 0.0], [2.0, 4.0, 6.0]]
    )
    as_one = MovingAsOne(theta)
    assert as_one.owner.tolist() == [0, 1, 2, 3, 4, 0]
    np.testing.assert_allclose(as_one.each(as_one.theta), theta, rtol=1e-15)
    np.testing.assert_array_equal(as_one.theta[1:], theta[1:5])


def test_tiny_neurons_are_seen_as_they_are():
    theta = 1e-155 * np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 1.0]])
    as_one = MovingAsOne(theta)
    assert len(as_one) in (2, 3)
    np.testing.assert_allclose(as_one.each(as_one.theta), theta, rtol=1e-14)


def test_events_are_those_of_every_member():
    as_one = MovingAsOne(np.array([[1.0, 1.0], [1.0, -1.0], [2.0, 2.0]]))
    events = Events.of_log([(0.5, 0, 3, Kind.CROSS, 1.0, 1.0, np.nan), (0.7, 1, 2, Kind.HOLD, 1.0, -1.0, 0.5)])
    each = as_one.events(events)
    assert each.time.tolist() == [0.5, 0.5, 0.7]
    assert each.neuron.tolist() == [0, 2, 1]
    assert each.line.tolist() == [3, 3, 2]
