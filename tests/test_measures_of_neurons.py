"""Directions, activation patterns and flips of neurons against cases computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rectilinear as rl
from rectilinear import measures
from rectilinear.trajectory import Trajectory

EXACT = 1e-12  # a few roundings of numbers of order one

ONE_NEURON = rl.Network(inputs=1, widths=(1,))
PLANE = rl.Network(inputs=2, widths=(2,))


def by_hand(network, layers, times, x, y):
    """A trajectory through the given weights, each layer (t, out, in)."""
    layers = tuple(np.asarray(layer, dtype=float) for layer in layers)
    problem = rl.Problem(rl.Dataset(x, y), network, tuple(layer[0] for layer in layers))
    return Trajectory(problem, np.asarray(times, dtype=float), np.zeros(len(times)), layers)


def test_alignment_of_a_zero_neuron_is_nan():
    cosines = measures.alignment(PLANE, ([[0.0, 0.0], [0.0, 3.0]], [[1.0, 1.0]]), [1.0, 1.0])
    assert math.isnan(cosines[0])
    assert cosines[1] == pytest.approx(1 / math.sqrt(2), rel=EXACT)


@pytest.mark.parametrize("direction", [[1.0], [0.0, 0.0], [1.0, math.nan]])
def test_alignment_needs_a_direction(direction):
    with pytest.raises(rl.InputError, match=r"direction must be a finite non-zero vector of shape \(2,\)"):
        measures.alignment(PLANE, PLANE.init(1.0, seed=0), direction)


def test_alignment_with_biases_takes_one_entry_more():
    net = rl.Network(inputs=1, widths=(1,), bias=True)
    assert measures.alignment(net, ([[3.0, 4.0]], [[1.0]]), [0.0, 1.0])[0] == pytest.approx(0.8, rel=EXACT)


@pytest.mark.parametrize(("degrees", "groups"), [(0.05, 6), (1.0, 3), (95.0, 2), (180.0, 1)])
def test_directions_group_by_angle(degrees, groups):
    angles = np.radians([0.0, 0.2, 90.0, 90.3, 250.0, 250.5])
    lengths = np.array([1e-8, 1.0, 3.0, 2.0, 1e-3, 5.0])
    net = rl.Network(inputs=2, widths=(7,))
    first = np.concatenate([lengths[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1), np.zeros((1, 2))])
    assert measures.distinct_directions(net, (first, np.ones((1, 7))), within_degrees=degrees) == groups


def test_a_chain_of_small_steps_is_not_one_direction():
    angles = np.radians(np.linspace(0.0, 90.0, 200) ** 1.01)
    net = rl.Network(inputs=2, widths=(200,))
    first = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert 9 <= measures.distinct_directions(net, (first, np.ones((1, 200))), within_degrees=10.0) <= 20


@pytest.mark.parametrize(("first", "count"), [([[0.0, 0.0], [0.0, 0.0]], 0), ([[0.0, 0.0], [1.0, 0.0]], 1)])
def test_neurons_without_direction_are_not_counted(first, count):
    assert measures.distinct_directions(PLANE, (first, [[1.0, 1.0]])) == count


def test_an_angle_must_be_an_angle():
    with pytest.raises(rl.InputError, match=r"within_degrees must be an angle in \[0, 180\], found -1"):
        measures.distinct_directions(PLANE, PLANE.init(1.0, seed=0), within_degrees=-1)


def test_patterns_by_hand():
    net = rl.Network(inputs=2, widths=(3,))
    weights = ([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]], [[1.0, 1.0, 1.0]])
    x = [[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [2.0, 2.0]]
    # neurons are active on samples {0, 3}, {0, 3}, {0, 1, 3}; samples activate {0, 1, 2}, {2}, {}, {0, 1, 2}
    assert measures.distinct_neuron_patterns(net, weights, x) == 2
    assert measures.distinct_sample_patterns(net, weights, x) == 3


def test_sample_patterns_of_deep_networks_see_every_layer():
    net = rl.Network(inputs=1, widths=(1, 1), alpha=0.5)
    x = [[1.0], [-1.0]]
    assert measures.distinct_sample_patterns(net, ([[1.0]], [[1.0]], [[1.0]]), x) == 2
    blind_first = rl.Network(inputs=2, widths=(2, 1))
    # both samples activate both first-layer neurons, and differ in the second layer only
    weights = (np.eye(2), [[1.0, -1.0]], [[1.0]])
    assert measures.distinct_sample_patterns(blind_first, weights, [[2.0, 1.0], [1.0, 2.0]]) == 2


def test_flips_per_time_by_hand():
    # one neuron turns from e1 to e2 to -e1; the samples e1 and e2 see 2 flips in 2 units of time, then 1 in half a unit
    net = rl.Network(inputs=2, widths=(1,))
    first = [[[1.0, -0.1]], [[-0.1, 1.0]], [[-1.0, -0.1]]]
    run = by_hand(net, (first, np.ones((3, 1, 1))), [0.0, 2.0, 2.5], np.eye(2), [1.0, 1.0])
    np.testing.assert_allclose(measures.activation_flips(run), [1.0, 2.0])
    np.testing.assert_allclose(measures.activation_flips(run, x=[[1.0, 0.0]]), [0.5, 0.0])


def test_flips_need_two_times():
    run = by_hand(ONE_NEURON, ([[[1.0]]], [[[1.0]]]), [0.0], [[1.0]], [1.0])
    assert measures.activation_flips(run).shape == (0,)
