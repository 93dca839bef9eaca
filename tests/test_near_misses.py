"""Neurons right behind one that meets a kink: where it turns them back, errors decide who came first, and the run says so."""

import numpy as np
import pytest

import rectilinear as rl
from rectilinear.flow.engines.near_misses import AS_NEAR, FAR_AGAIN, NearMisses
from rectilinear.flow.kinks.geometry import Kinks
from rectilinear.flow.kinks.neuron_groups import Groups

ERROR = 1e-6
PULL = np.array([0.0, -1.0])  # drives neurons towards the kink of the first sample, x = 0


def groups_at(heights):
    """Neurons of outgoing weight one at these distances from the kink, and the kinks."""
    network = rl.Network(2, (len(heights),))
    theta = np.array([[height, 1.0, 1.0] for height in heights])
    problem = rl.Problem(
        rl.Dataset([[1.0, 0.0], [1.0, 1.0]], [1.0, -1.0]), network, (theta[:, :-1], np.ones((1, len(theta))))
    )
    kinks = Kinks(problem)
    return kinks, Groups(kinks, theta, np.sign(theta[:, :-1] @ kinks.normals.T).astype(np.int8))


@pytest.mark.parametrize(("height", "told"), [(0.9, True), (2.0, False)])
def test_who_was_as_near_and_turns_back_is_told(height, told):
    near = AS_NEAR * ERROR * np.sqrt(2.0)
    kinks, before = groups_at([0.0, height * near, 0.5])
    line = int(kinks.line[0])
    side = int(before.patterns[1, line])
    misses = NearMisses(kinks)
    misses.await_others(line, side, before, PULL, ERROR)
    assert misses.turned_back(before) == []
    _, after = groups_at([-0.1, 2.0 * FAR_AGAIN * near, 0.6])
    assert misses.turned_back(after) == ([(1, line)] if told else [])
    assert misses.turned_back(after) == []


def test_who_follows_over_the_kink_or_was_moving_away_is_not():
    near = AS_NEAR * ERROR
    kinks, before = groups_at([0.0, 0.9 * near])
    line, misses = int(kinks.line[0]), NearMisses(kinks)
    side = int(before.patterns[1, line])
    misses.await_others(line, side, before, -PULL, ERROR)
    assert not misses.awaited
    misses.await_others(line, side, before, PULL, ERROR)
    assert misses.awaited
    assert misses.turned_back(groups_at([-0.1, -0.1])[1]) == []
    assert not misses.awaited
