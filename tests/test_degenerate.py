"""Cases where ties, zeros and changes of sign meet: against hand computations, and against gradient descent with small steps."""

import numpy as np
import pytest

import rectilinear as rl
from rectilinear.events import Kind


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
