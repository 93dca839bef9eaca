"""Cases where ties, zeros and changes of sign meet: against hand computations, and against gradient descent with small steps."""

import numpy as np

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
    assert [one.events.count(kind) for kind in (Kind.PIN, Kind.RELEASE)] == [1, 1]
    assert [three.events.count(kind) for kind in (Kind.PIN, Kind.RELEASE)] == [3, 3]
    assert np.sign(one.weights[1][0]) == -np.sign(neuron[4])
    np.testing.assert_allclose(three.loss, one.loss, rtol=1e-8)
