"""Neurons with |w| = |a| never change the sign of a, however close they come to w = a = 0."""

import numpy as np
import pytest

from rectilinear import Dataset, Network, Problem, simulate
from rectilinear.flow.kinks.balance import Balance


def balanced_to_the_last_bit(seed: int) -> Problem:
    net = Network(inputs=1, widths=(4,))
    w, a = net.init(scale=0.1, seed=seed, start="balanced")
    return Problem(Dataset([[1.0]], [1.0]), net, (np.sign(w) * np.abs(a).T, a), loss="exponential")


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("rtol", [1e-9, 1e-6])
def test_no_outgoing_weight_changes_sign(seed: int, rtol: float) -> None:
    """One sample, one input: a neuron with w > 0, a < 0 shrinks for ever; with none of w > 0, a > 0 nothing is learned."""
    problem = balanced_to_the_last_bit(seed)
    run = simulate(problem, times=[0.0, 70.0], rtol=rtol)
    w, a = problem.weights
    assert np.array_equal(np.sign(run.final[1]), np.sign(a))
    if not np.any((w[:, 0] > 0.0) & (a[0] > 0.0)):
        assert run.loss[-1] == pytest.approx(1.0, abs=1e-3)  # the rest shrink, and f rises to zero


def test_a_shrinking_neuron_keeps_its_decay_over_many_decades() -> None:
    """With y = 0 the output decays; with d = 1 and w = -a the size obeys r' = -g r exactly, as log r of two runs agree."""
    net = Network(inputs=1, widths=(2,), alpha=1.0)
    problem = Problem(Dataset([[1.0]], [1.0]), net, ([[0.5], [0.1]], [[-0.5, 0.1]]))
    tight, loose = (simulate(problem, times=[4.0, 12.0], rtol=rtol) for rtol in (1e-12, 1e-6))
    size = np.abs(tight.weights[1][:, 0, 0])
    assert np.allclose(np.abs(tight.weights[0][:, 0, 0]), size, rtol=1e-9, atol=0.0)
    assert np.allclose(loose.weights[1][:, 0, 0], tight.weights[1][:, 0, 0], rtol=1e-4, atol=0.0)


def test_balance_is_restored_by_the_least_change() -> None:
    net = Network(inputs=2, widths=(2,))
    problem = Problem(Dataset([[1.0, 0.0]], [1.0]), net, ([[3.0, 4.0], [0.0, 1.0]], [[-5.0, 2.0]]))
    balance = Balance(problem)
    assert balance.start.tolist() == [0.0, -3.0]
    theta = np.array([[3e-4, 4e-4, 5.0001e-4], [0.0, 1.0, 2.0]])
    restored = balance.restored(np.arange(2), theta, t=1.0)
    assert restored[0] == pytest.approx([3e-4, 4e-4, -5e-4], rel=2e-5)  # and the sign that a has kept
    assert np.linalg.norm(restored[0, :-1]) == pytest.approx(abs(restored[0, -1]), rel=1e-8)
    assert restored[1].tolist() == [0.0, 1.0, 2.0]
    assert not balance.restored(np.array([0]), theta[:1] * 1e-140, t=1.0).any()
