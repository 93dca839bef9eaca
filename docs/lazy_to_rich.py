"""From lazy to rich training: starts of one output scale whose layers are unequally large, and how much such a run changes."""

import numpy as np

import rectilinear as rl

DATA = rl.datasets.gaussian_teacher(inputs=2, samples=10, seed=1)
NETWORK = rl.Network(inputs=2, widths=(20,))


def make(scale, imbalance, seed):
    """Layers of size scale * 10^(-imbalance/2) and scale * 10^(imbalance/2), in pairs that cancel: the output starts at zero."""
    first, second = NETWORK.init(scale, seed, start="antisymmetric")
    factor = 10.0 ** (imbalance / 2.0)
    return rl.Problem(DATA, NETWORK, (first / factor, second * factor))


def patterns_changed(run):
    """Share of pairs of a neuron and a sample that are switched on or off at the end, but were not at the start: 0 is lazy."""
    before, after = (np.asarray(run.problem.x @ weights[0].T > 0) for weights in (run.problem.weights, run.final))
    return (before != after).mean()
