"""Neurons that do not act on each other: the exact path in a fixed field against small steps and known closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rectilinear as rl
from rectilinear.reduced.small_neurons import PullField, SmallNeuron, settle_all

STEP = 5e-4
FINE_STEP = 2e-5
STEP_ERROR = 0.02  # relative error of explicit steps of that size, chatter on kinks included


def small_steps(data: rl.Dataset, alpha: float, w: np.ndarray, a: float, duration: float, step: float) -> np.ndarray:
    """The neuron (w, a) by plain gradient steps in the field of the labels."""
    for _ in range(round(duration / step)):
        slopes = np.where(data.x @ w > 0, 1.0, alpha)
        g = (slopes * data.y) @ data.x / data.samples
        w, a = w + step * a * g, a + step * float(g @ w)
    return np.append(w, a)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), inputs=st.integers(2, 4), mirrored=st.booleans(), alpha=st.sampled_from([0.0, 0.3]))
def test_exact_paths_against_small_steps(seed: int, inputs: int, mirrored: bool, alpha: float) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rng.integers(3, 8), inputs))
    x = np.concatenate([x, -1.3 * x]) if mirrored else x
    data = rl.Dataset(x, rng.standard_normal(len(x)))
    w, a = rng.standard_normal(inputs), 2.0 * float(rng.standard_normal())
    field = PullField.of(data, data.y, alpha)
    neuron = SmallNeuron.at(w, a, field.normals)
    neuron.advance(field, 3.0)
    exact = np.append(neuron.w, neuron.a)
    error = np.inf
    for step in (STEP, FINE_STEP):  # a neuron that slides past w = 0 needs the finer one
        stepped = small_steps(data, alpha, w, a, 3.0, step)
        error = min(error, float(np.linalg.norm(exact - stepped) / np.linalg.norm(stepped)))
        if error < STEP_ERROR:
            break
    assert error < STEP_ERROR


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), inputs=st.integers(2, 4), alpha=st.sampled_from([0.0, 0.3]))
def test_a_settled_neuron_grows_in_its_own_cell_at_the_rate_of_its_output(seed: int, inputs: int, alpha: float) -> None:
    """u is extremal: s <sigma(u . x) rho> is the rate, and every line is held or on the recorded side of u."""
    rng = np.random.default_rng(seed)
    data = rl.Dataset(rng.standard_normal((6, inputs)), rng.standard_normal(6))
    net = rl.Network(inputs, (4,), alpha)
    w, a = net.init(1.0, seed=seed)
    for fate in settle_all(w, a[0], data, data.y, alpha):
        if fate is None:
            continue
        along = data.x @ fate.direction
        assert fate.sign * np.mean(net.activation(along) * data.y) == pytest.approx(fate.rate, rel=1e-9)
        distances = data.lines.normals @ fate.direction
        assert np.abs(distances[fate.sides == 0]).max(initial=0.0) < 1e-9
        assert (distances * fate.sides >= -1e-9).all()


def test_the_field_jumps_by_what_a_line_holds() -> None:
    data = rl.Dataset([[2.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [1.0, 0.5, -3.0])
    field = PullField.of(data, data.y, alpha=0.25)
    by_hand = 0.75 / 3 * (2 * 1.0 + 1 * 0.5)
    across = field.pull(np.array([1.0, 1.0])) - field.pull(np.array([-1.0, 1.0]))
    assert across == pytest.approx(by_hand * data.lines.normals[0])


def test_a_held_neuron_slides_and_is_let_go_when_its_sign_turns() -> None:
    """Both sides push w_1 to 0 while a > 0; g_2 w_2 < 0 drains a, and when it is negative both sides push away."""
    field = PullField(base=np.array([0.0, -1.0]), jumps=np.array([-1.0]), normals=np.array([[1.0, 0.0]]))
    neuron = SmallNeuron.at(np.array([0.1, 2.0]), 1.0, field.normals)
    neuron.advance(field, 0.3)
    assert neuron.held == [0]
    assert abs(neuron.w[0]) < 1e-12
    neuron.advance(field, 2.0)
    assert neuron.a < 0
    assert neuron.held == []
    assert abs(neuron.w[0]) > 0.1


def test_an_unbalanced_neuron_passes_through_the_origin() -> None:
    """|a| > |w|: it slides along its line into the origin and out on the other side."""
    field = PullField(base=np.array([0.0, -1.0]), jumps=np.array([-1.0, 0.0]), normals=np.eye(2))
    neuron = SmallNeuron.at(np.array([0.0, 0.5]), 2.0, field.normals)
    neuron.held = [0]
    neuron.advance(field, 1.0)
    assert neuron.w[1] < -0.5
    assert neuron.a**2 - neuron.w @ neuron.w == pytest.approx(4.0 - 0.25)


def test_a_field_without_pull_moves_nothing() -> None:
    field = PullField(np.zeros(2), np.zeros(1), np.array([[1.0, 0.0]]))
    neuron = SmallNeuron.at(np.array([1.0, 1.0]), 1.0, field.normals)
    assert neuron.settle(field) is None
    assert neuron.w.tolist() == [1.0, 1.0]
