"""Neurons with |w| = |a| never change the sign of a, however close they come to w = a = 0."""

import numpy as np
import pytest

from rectilinear import Dataset, Kind, Network, Problem, simulate
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


@pytest.mark.parametrize(("alpha", "label"), [(0.0, 3.4e5), (1.0, 8.4e5)])
def test_the_early_phase_keeps_neurons_balanced_while_they_shrink(alpha: float, label: float) -> None:
    """Driven towards w = a = 0 over many decades, they never get there: rounding of w - a must not grow and turn them around."""
    net = Network(inputs=1, widths=(6,), alpha=alpha)
    w = np.array([[0.003], [0.0041], [0.0017], [0.0023], [0.0007], [0.0053]])
    problem = Problem(Dataset([[-0.2891], [0.2891]], [label, -8.4e5]), net, (w, np.nextafter(w, 1.0).T))
    times = [2e-5, 5e-5, 1e-4]
    run, steps = (simulate(problem, times, early_phase=early) for early in (True, False))
    assert "early phase" in run.provenance["method"]
    for ours, theirs in zip(run.weights, steps.weights, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=0.0)


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


def test_balance_is_restored_however_large_the_error_has_become() -> None:
    """|w|^2 - a^2 and |w| + |a| are right afterwards, also where the error of their difference is as large as the neuron."""
    net = Network(inputs=1, widths=(1,))
    problem = Problem(Dataset([[1.0]], [1.0]), net, ([[-1e-9]], [[2e-9]]))
    w, a = Balance(problem).restored(np.array([0]), np.array([[-6.6e-7, 5.7e-7]]), t=1.0)[0]
    assert a - w == pytest.approx(1.23e-6, rel=1e-12)
    assert (w - a) * (w + a) == pytest.approx(-3e-18, rel=1e-6)


@pytest.mark.parametrize("rtol", [1e-9, 1e-11])
def test_neurons_that_come_back_from_far_keep_the_sign_of_a(rtol: float) -> None:
    """Neurons grow from 1e-9 to 0.4 and shrink again: those with |w| < |a| at the start end at w = 0 and keep the sign of a."""
    net = Network(inputs=1, widths=(42,), alpha=0.9)
    w, a = net.init(scale=1e-8, seed=189778345)
    labels = [
        -67201.67061411562,
        -24638.17216812673,
        -418745.0143852492,
        -1082317.679665361,
        -195583.4226431324,
        310086.12516812154,
    ]
    problem = Problem(Dataset([[2.0], [-2.0], [1.0], [1.0], [1.0], [1.0]], labels), net, (w, a))
    run = simulate(problem, times=[0.0093], rtol=rtol)
    never = np.abs(w[:, 0]) <= np.abs(a[0])
    assert np.array_equal(np.sign(run.final[1][0, never]), np.sign(a[0, never]))


@pytest.mark.parametrize("angle", [0.3, 0.7, 1.1, 2.0])
def test_a_neuron_that_shrinks_along_a_kink_stays_on_it(angle: float) -> None:
    """What rounding leaves between it and the kink does not shrink with it: at 1e-17 of its first size it was released, and died."""
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    w = np.array([[0.6, 0.3]]) @ turn
    data = Dataset(np.array([[0.0, 1.0], [1.0, -0.1]]) @ turn, [1.0, 1.0])
    problem = Problem(data, Network(2, (1,)), (w, np.array([[-np.linalg.norm(w)]])))
    run = simulate(problem, [0.0, 50.0, 400.0], method="kinks")
    assert run.events.kind.tolist() == [Kind.HOLD]
    along = run.weights[0][-1, 0] @ turn.T
    assert 0.0 < along[0] < 1e-80
    assert abs(along[1]) < 1e-12 * along[0]


@pytest.mark.parametrize("off", [1.0, 1e2, 1e4])
def test_balance_counts_in_the_span_of_the_samples_however_long_the_rest_of_a_neuron_is(off: float) -> None:
    """One sample x, w = -a x/|x| + rest: the neuron shrinks to a = 0 for ever. Rounding of w.x, a share of |w|, let a change its sign."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x, rest = np.linalg.qr(rng.standard_normal((3, 3)))[0][:2]
        problem = Problem(Dataset([x], [1.0]), Network(3, (1,)), ([0.07 * x + off * rest], [[-0.07]]), loss="exponential")
        run = simulate(problem, times=[0.0, 70.0], method="kinks")
        np.testing.assert_array_less(run.final[1], 0.0)
        assert run.loss[-1] == pytest.approx(1.0, abs=1e-6)
        np.testing.assert_allclose(run.weights[0][0], problem.weights[0], rtol=0.0, atol=1e-15 * off)


def test_a_neuron_that_is_balanced_only_with_what_no_sample_sees_is_not_balanced() -> None:
    """|w| = |a| with a part off the span: |w.x| < |a|, so that w.x reaches zero in finite time, and the neuron dies there."""
    problem = Problem(Dataset([[1.0, 0.0]], [1.0]), Network(2, (1,)), ([[0.3, 0.4]], [[-0.5]]), loss="exponential")
    run = simulate(problem, times=[0.0, 70.0], method="kinks")
    assert run.events.kind.tolist() == [Kind.DEATH]
    assert run.final[0][0].tolist() == pytest.approx([0.0, 0.4], abs=1e-9)
    assert run.final[1][0, 0] == pytest.approx(-0.4, abs=1e-9)
