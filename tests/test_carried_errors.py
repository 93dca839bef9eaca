"""Errors that the flow carries along: against runs that start elsewhere, and what runs state."""

import numpy as np
import pytest

import rectilinear as rl
from rectilinear.flow.engines.carried_errors import CarriedErrors, Present, pass_kinks
from rectilinear.flow.engines.neuron_path import End
from rectilinear.flow.field.sample_lines import SampleLines
from rectilinear.flow.kinks.single_neuron import CROSS, DEATH, HOLD, RELEASE

ASIDE = 1e-7  # how far aside runs start: far more than errors at rtol 1e-11, far less than kinks are apart


def student(seed, loss="square", alpha=0.0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((60, 4))
    y = np.maximum(x @ rng.standard_normal((4, 3)), 0.0) @ rng.standard_normal(3)
    data = rl.Dataset(x, y if loss == "square" else np.sign(y - np.median(y)))
    net = rl.Network(inputs=4, widths=(12,), alpha=alpha)
    return rl.Problem(data, net, net.init(scale=0.1, seed=seed), loss=loss)


def beside(problem, shift):
    """The problem, from weights that are further by `shift` (neurons, inputs + 1)."""
    w, a = problem.weights
    return rl.Problem(problem.data, problem.network, (w + shift[:, :-1], a + shift[None, :, -1]), loss=problem.loss.name)


def apart(one, other):
    """The difference (neurons, inputs + 1) of two runs' last weights."""
    (w, a), (v, b) = ([layer[-1] for layer in run.weights] for run in (one, other))
    return np.column_stack([w - v, a[0] - b[0]])


@pytest.mark.parametrize(
    ("seed", "loss", "alpha"), [(0, "square", 0.0), (1, "square", 0.3), (2, "logistic", 0.0), (3, "square", 0.0)]
)
def test_errors_are_carried_as_the_flow_carries_neighbours(seed, loss, alpha, monkeypatch):
    problem, times = student(seed, loss, alpha), np.array([0.0, 4.0])
    shift = ASIDE * np.random.default_rng(seed).standard_normal((12, 5))
    here, there = (rl.simulate(each, times, method="follow", rtol=1e-11) for each in (problem, beside(problem, shift)))
    truth, carried = apart(there, here), []

    def begin(self, problem, lines, w, a, off):
        initialise(self, problem, lines, w, a, off)
        self.errors[:] = np.column_stack([lines.into(shift[:, :-1]), shift[:, -1]])[:, None]
        carried.append(self)

    initialise = CarriedErrors.__init__
    monkeypatch.setattr(CarriedErrors, "__init__", begin)
    rl.simulate(problem, times, method="follow", rtol=1e-9)
    (found,) = carried
    errors = np.column_stack([found.lines.back(found.errors[:, 0, :-1]), found.errors[:, 0, -1]])
    assert np.linalg.norm(errors - truth) < 0.1 * np.linalg.norm(
        truth
    )  # 0.01 to 0.05; the flow makes them 1 to 17 times as large


def event(kind, below=0.0, above=0.0, upwards=True, line=0):
    return np.array([[0.0, 0.5, line, kind, below, above, np.nan, 2.0 if upwards else -2.0]])


@pytest.mark.parametrize(
    ("happened", "along"),
    [
        (event(CROSS, 2.0, 6.0), 3e-3),  # thrice as fast after it
        (event(CROSS, -2.0, -6.0, upwards=False), 1e-3 / 3.0),
        (event(CROSS, 1e-5, 6.0), 1e-3 + 3.0 * (6.0 - 1e-5) * np.sqrt(2.0 * 1e-3 / (3.0 * 6.0))),  # it just reaches the kink
        (event(CROSS, 0.0, 6.0), 1e-3),
        (np.concatenate([event(CROSS, 2.0, 6.0), event(CROSS, 2.0, 8.0)]), 4e-3),  # at one moment: once, as by all together
        (event(HOLD, 1.0, -1.0), 0.0),
        (event(RELEASE, 1.0, 2.0), 1e-3),
        (event(DEATH, line=-1), 1e-3),
    ],
)
def test_what_kinks_do_to_an_error_along_their_normal(happened, along):
    errors = np.array([[[1e-3, 2e-3, 5e-3], [0.0, 2e-3, 5e-3]]])
    pass_kinks(errors, np.array([3.0]), np.array([[1.0, 0.0]]), happened)
    np.testing.assert_allclose(errors, [[[along, 2e-3, 5e-3], [0.0, 2e-3, 5e-3]]], rtol=1e-14)


def test_errors_are_no_larger_than_their_neurons():
    problem = student(0)
    lines = SampleLines(problem)
    w, a = lines.into(problem.weights[0]), problem.weights[1][0]
    carried = CarriedErrors(problem, lines, w, a, 0.0)
    carried.errors[0], carried.errors[1] = 1e3, 1e-6
    f = problem.output(problem.weights)
    now = Present(w, a, np.sign(w @ lines.normals.T).astype(np.int8), f, problem.y - f)
    carried.carry(now, End(w, a, now.signs, *[np.empty(0)] * 3), 1e-9, np.empty((0, 8)), np.zeros((12, 5)), 1e-6)
    assert carried.over_sizes(w, a)[0] == pytest.approx(1.0)
    assert carried.over_sizes(w, a)[1] < 1e-3


@pytest.mark.parametrize("fixed", [0, 1])
def test_layers_that_do_not_train_are_not_off(fixed):
    data = student(0).data
    net = rl.Network(inputs=4, widths=(12,), trainable=tuple(layer != fixed for layer in range(2)))
    problem = rl.Problem(data, net, net.init(scale=0.3, seed=1))
    lines, added = SampleLines(problem), np.ones((12, 5))
    w, a = lines.into(problem.weights[0]), problem.weights[1][0]
    carried, f = CarriedErrors(problem, lines, w, a, 1e-6), problem.output(problem.weights)
    now = Present(w, a, np.sign(w @ lines.normals.T).astype(np.int8), f, problem.y - f)
    carried.carry(now, End(w, a, now.signs, *[np.empty(0)] * 3), 0.1, np.empty((0, 8)), 1e-6 * added, 1e-6)
    of_layers = np.abs(carried.errors[:, :, :-1]).max(), np.abs(carried.errors[:, :, -1]).max()
    assert of_layers[fixed] == 0.0 < of_layers[1 - fixed]


def test_losses_at_the_edge_of_the_range_of_numbers_carry_nothing():
    problem = student(0)
    lines = SampleLines(problem)
    w, a = lines.into(problem.weights[0]), problem.weights[1][0]
    carried, f = CarriedErrors(problem, lines, w, a, 1e-6), np.full(60, 1e200)
    before = carried.over_sizes(w, a)
    now = Present(1e160 * w, 1e160 * a, np.sign(w @ lines.normals.T).astype(np.int8), f, f)
    carried.carry(now, End(w, a, now.signs, *[np.empty(0)] * 3), 1.0, np.empty((0, 8)), np.zeros((12, 5)), 0.0)
    np.testing.assert_allclose(carried.over_sizes(w, a), before)


@pytest.mark.parametrize("seed", range(4))
def test_stated_errors_hold_what_the_flow_makes_of_early_ones(seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((100, 3)) / np.sqrt(3.0)
    data = rl.Dataset(x, np.sin(4.0 * x @ rng.standard_normal(3)) + 0.5 * rng.standard_normal(100))
    net = rl.Network(inputs=3, widths=(50,))
    problem, times = rl.Problem(data, net, net.init(scale=1e-2, seed=seed)), np.linspace(0.0, 300.0, 31)
    run, truth = (rl.simulate(problem, times, method="follow", rtol=rtol) for rtol in (1e-6, 1e-9))
    largest = max(np.abs(layer).max() for layer in truth.weights)
    off = max(np.abs(u - v).max() for u, v in zip(run.weights, truth.weights, strict=True)) / largest
    assert off < run.audit.weight_error < 300.0 * off
    loss_off = np.abs(run.loss - truth.loss).max() / truth.loss[0]
    assert loss_off < run.audit.loss_error < 3000.0 * loss_off
