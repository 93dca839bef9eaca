"""What neurons of frozen patterns miss as they cross kinks within a step, against runs that stop at every kink."""

import numpy as np
import pytest

import rectilinear as rl
from rectilinear.flow.field.common_patterns import CommonPatterns
from rectilinear.flow.kinks.geometry import Kinks
from rectilinear.flow.kinks.impulses import SIXTHS, Impulses
from rectilinear.flow.state import neurons_of
from rectilinear.flow.steppers.dormand_prince import ExplicitStepper


def crossing_problem(loss, l2, width=24):
    """Neurons around two directions, a few samples whose kinks are close to the first, before or behind it, and many others.

    Each line holds two samples.
    """
    rng = np.random.default_rng(2)
    centres = np.array([[1.0, 0.3, -0.2], [-0.8, 0.5, 0.4]])
    half = rng.standard_normal((60, 3))
    heights = np.where(np.arange(60) < 8, rng.uniform(-0.003, 0.003, 60) - half @ centres[0], 0.0)
    half += heights[:, None] * centres[0] / np.sum(centres[0] ** 2)
    x = np.concatenate([half, -1.5 * half])
    network = rl.Network(inputs=3, widths=(width,), alpha=0.1)
    w = np.repeat(centres, width // 2, axis=0) + 0.0002 * rng.standard_normal((width, 3))
    sizes = rng.uniform(0.2, 1.0, (width, 1))
    a = np.repeat([[1.0, -1.0]], width // 2, axis=1) * rng.uniform(0.5, 1.0, (1, width))
    labels = np.sign(x @ [0.3, -1.0, 0.5] + 0.3 * rng.standard_normal(len(x)))
    return rl.Problem(rl.Dataset(x, labels), network, (0.3 * sizes * w, 0.3 * sizes.T * a), loss=loss, l2=l2)


def frozen_step(problem, length):
    """A step of frozen patterns, of any length: neurons, energy and impulses at its end."""
    kinks, theta = Kinks(problem), neurons_of(problem.weights)
    signs = np.sign(theta[:, :-1] @ kinks.normals.T).astype(np.int8)
    patterns, index = np.unique(signs, axis=0, return_inverse=True)
    field = CommonPatterns(problem, theta, index.ravel(), kinks.slopes(patterns), kinks.normals, kinks.line, kinks.lengths)

    def rhs(y, out):
        _, out[-1] = field.velocity(y[:-1], out[:-1])

    stepper = ExplicitStepper(rhs, np.append(field.start, 0.0), 0.0, 1e-12, lambda y, _: np.ones_like(y), lambda: 0.0)
    states = {0.0: stepper.y}
    for end in length * SIXTHS[1:]:
        while stepper.t < end:
            if stepper.step(end):
                stepper.accept()
        states[end] = stepper.y
    thetas = np.stack([field.neurons(y[:-1]) for y in states.values()])
    crossed = np.argwhere((thetas[-1][:, :-1] @ kinks.normals.T) * signs < 0.0)
    return thetas[-1], stepper.y[-1], Impulses(field, kinks, crossed, signs, thetas, 0.0, length)


@pytest.mark.parametrize(("loss", "l2"), [("square", 0.0), ("logistic", 0.0), ("square", 0.02), ("exponential", 0.01)])
def test_what_crossings_change_is_made_good_to_second_order(loss, l2):
    """All but a twentieth of it, and what is left out is not more than estimated."""
    problem, lengths = crossing_problem(loss, l2), (0.05, 0.1, 0.2)
    exact = rl.simulate(problem, lengths, rtol=1e-12, method="kinks")
    assert exact.events.count(rl.Kind.CROSS) == len(exact.events) > 50
    for k, length in enumerate(lengths):
        theta, energy, impulses = frozen_step(problem, length)
        assert len(impulses.time) > 30
        weights = tuple(layer[k] for layer in exact.weights)
        truth, fallen = neurons_of(weights), problem.objective(problem.weights) - problem.objective(weights)

        def apart(found, truth=truth):
            return np.sqrt(np.mean(np.sum((found - truth) ** 2, axis=1) / np.sum(truth**2, axis=1)))

        missed = impulses.by(length, theta)
        error = apart(theta + missed.first + missed.second)
        assert error < apart(theta + missed.first) < 0.1 * apart(theta)
        assert error < 0.05 * apart(theta)
        assert error < impulses.left_out(length, theta, missed)
        assert abs(energy + missed.energy - fallen) < 0.1 * abs(energy - fallen)
        first = exact.events.time[0]  # before which nothing was missed
        assert impulses.time.min() == pytest.approx(first, abs=1e-7)


def test_nothing_is_missed_before_the_first_kink():
    theta, _, impulses = frozen_step(crossing_problem("square", 0.0), 0.2)
    missed = impulses.by(0.99 * impulses.time.min(), theta)
    assert not missed.first.any()
    assert not missed.second.any()
    assert missed.energy == 0.0
    assert impulses.left_out(0.99 * impulses.time.min(), theta, missed) == 0.0
