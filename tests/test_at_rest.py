"""What rests stays at rest: a run whose weights no longer move reaches its last time in a few steps."""

import numpy as np
import pytest

import rectilinear as rl
from rectilinear import Dataset, Network, Problem, Status, simulate
from rectilinear.events import Kind
from rectilinear.flow.engines.kink_exact import kink_exact
from rectilinear.flow.kinks.decisions import Decisions, first_start
from rectilinear.flow.kinks.geometry import Kinks

FEW_STEPS = 2_000  # such runs take a few hundred


def nearly_six_points(shift: float) -> Dataset:
    x = np.array([[1, 0], [-1, 0.15], [0.5, 0.866], [-0.5, -0.866], [-0.5, 0.866], [0.5, -0.866]])
    x[1] += shift * np.array([1.0, 2 / 3])
    return Dataset(x, [1, -1, 0.7, -0.7, -0.3, 0.3])


@pytest.mark.parametrize("shift", [0.0, 0.015, 0.06, 0.119])
def test_a_neuron_at_rest_on_a_kink_is_not_held_and_released_without_end(shift: float) -> None:
    """At shift 0.015 the multiplier ends a little above zero, and long steps dip below it by their own error."""
    net = Network(inputs=2, widths=(20,))
    problem = Problem(nearly_six_points(shift), net, net.init(scale=1e-3, seed=0))
    run = simulate(problem, times=[0.0, 3000.0], max_steps=FEW_STEPS)
    assert run.status is Status.FINISHED
    assert run.events is not None
    assert run.events.count(Kind.RELEASE) < 10


@pytest.mark.parametrize("seed", range(4))
def test_loose_tolerances_arrive_too(seed: int) -> None:
    net = Network(inputs=2, widths=(20,))
    problem = Problem(rl.datasets.six_points(0.15), net, net.init(scale=1e-3, seed=seed))
    assert simulate(problem, times=[3000.0], rtol=1e-3, max_steps=FEW_STEPS).status is Status.FINISHED


@pytest.mark.parametrize("size", [1.0, 1e3, 1e6])
def test_contradicting_labels_are_settled_up_to_rounding(size: float) -> None:
    """The pulls of three copies of a sample cancel; what is left of their sum is rounding, and moves nothing."""
    rng = np.random.default_rng(0)
    x, y = np.repeat(rng.standard_normal((1, 6)), 3, axis=0), size * rng.standard_normal(3)
    net = Network(inputs=6, widths=(8,), alpha=1.0)
    run = simulate(Problem(Dataset(x, y), net, net.init(scale=0.1, seed=0)), times=[300.0, 3000.0], max_steps=FEW_STEPS)
    assert run.status is Status.FINISHED
    assert run.loss[-1] == pytest.approx(0.5 * np.var(y), rel=1e-12)
    assert np.allclose(run.weights[0][0], run.weights[0][1], rtol=1e-9, atol=0.0)


def test_dead_neurons_are_looked_at_a_few_times_only() -> None:
    net = Network(inputs=2, widths=(2,))
    weights = np.array([[-1e-7, 1e-7], [-2e-7, 1e-7]]), np.array([[1e-7, 1e-7]])
    run = simulate(Problem(Dataset([[1.0, 0.0]], [1e4]), net, weights), times=[1e3])
    assert run.status is Status.FINISHED
    assert run.statistics["early steps"] < 100
    assert np.array_equal(run.final[0], weights[0])


def test_fast_directions_do_not_stall_a_run() -> None:
    """Two samples whose lengths differ by four decades: the outputs on the long one settle a million times faster than the rest moves.

    What a step leaves unsettled there must not count as an error of the next one, which no shortening would take away.
    """
    x = np.random.default_rng(1).standard_normal((2, 3)) * np.array([[0.1], [1e3]])
    net = Network(inputs=3, widths=(25,), alpha=0.2)
    problem = Problem(Dataset(x, [1.0, -0.5]), net, net.init(scale=0.1, seed=1, start="balanced"))
    run = simulate(problem, times=[7000.0], method="kinks", max_steps=FEW_STEPS)
    assert run.status is Status.FINISHED, run
    assert run.statistics["rejected"] < 0.5 * run.statistics["steps"]


def test_balanced_neurons_that_only_shrink_reach_the_last_time_in_a_few_looks() -> None:
    """Their growing part is exactly zero, and the exponential that multiplies it is beyond the range of numbers."""
    net = Network(inputs=1, widths=(2,))
    weights = np.array([[1e-5], [-1e-5]]), np.array([[1e-5, 1e-5]])
    run = simulate(Problem(Dataset([[1.0], [-0.5]], [-1e5, -2e5]), net, weights), times=[1e4])
    assert run.status is Status.FINISHED
    assert not run.final[0].any()
    assert run.statistics["early steps"] < 100


def test_a_neuron_at_zero_whose_outgoing_weight_decays_rests_there_until_it_can_leave() -> None:
    """It is held on every kink at once: what ends each of these holds by itself says nothing."""
    rng = np.random.default_rng(199)
    data, net = Dataset(rng.standard_normal((12, 3)), rng.standard_normal(12)), Network(inputs=3, widths=(6,))
    problem = Problem(data, net, net.init(scale=0.3, seed=199), l2=0.01)
    exact, followed = (simulate(problem, times=[0.0, 5.0, 20.0], method=method, rtol=1e-8) for method in ("kinks", "follow"))
    assert exact.status is Status.FINISHED
    assert exact.events is not None
    assert exact.events.count(Kind.DEATH) == 1
    for one, other in zip(exact.weights, followed.weights, strict=True):
        np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-6)


def test_a_hold_that_ends_while_fast_directions_settle_ends_when_it_does() -> None:
    """It lasts for 0.01, and the step after it for 70: what is fast settles within its first node, and so does what ends the hold."""
    x = np.array([[-0.0752, 2.3449], [-2.8019, -0.0629]])
    first = [[3.2886, -0.6222], [0.1442, 0.1588], [-0.9025, -2.5347], [-1.0558, -0.2874], [1.3613, -3.4129]]
    net = Network(inputs=2, widths=(5,), alpha=0.999)
    data = Dataset(np.concatenate([x, -x]), [0.70957804, 0.0, -0.39691367, 0.0])
    problem = Problem(data, net, (np.array(first), np.array([[-3.8379, -4.2201, -4.8934, 7.4196, 0.527]])))
    usual, tight = (simulate(problem, times=[0.0, 1000.0, 3000.0], method="kinks", rtol=rtol) for rtol in (1e-9, 1e-12))
    assert usual.events is not None
    assert tight.events is not None
    assert usual.events.time[-1] == pytest.approx(tight.events.time[-1], rel=1e-9)
    for one, other in zip(usual.weights, tight.weights, strict=True):
        np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-8)


def test_events_at_one_moment_are_doubted_less_only_beyond_two_for_every_group_and_never_without_bound() -> None:
    """Many may release there for good; and a power of their number is no number any more."""
    net = Network(inputs=2, widths=(20,))
    problem = Problem(nearly_six_points(0.0), net, net.init(scale=1e-3, seed=0))
    decisions = Decisions(Kinks(problem))
    engine = kink_exact(problem, 1e-9, decisions, first_start(problem, decisions))
    assert engine.attempt(1.0)
    groups, bands = len(engine.groups.groups), {}
    for standing in (0, 2 * groups, 2 * groups + 3, 100_000):
        engine.standing = standing
        bands[standing] = engine._hold_band()
    assert bands[2 * groups] == bands[0]
    assert bands[2 * groups + 3] == 8.0 * bands[0]
    assert bands[100_000] == 2.0**40 * bands[0]


@pytest.mark.parametrize("seed", [3, 5])
def test_groups_that_see_the_same_rest_although_their_sums_round_differently(seed: int) -> None:
    """What makes them part changes no output, so that nothing stiff brings it back; steps were cut down to what rounding did in them."""
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((4, 2))[rng.integers(0, 4, 15)], 1e6 * rng.standard_normal(15)
    net = Network(inputs=2, widths=(54,), alpha=0.9)
    problem = Problem(Dataset(x, y), net, net.init(scale=1.0, seed=seed))
    tight, usual = (simulate(problem, times=[1.0, 100.0], rtol=rtol, max_steps=FEW_STEPS) for rtol in (1e-11, 1e-9))
    assert tight.status is usual.status is Status.FINISHED
    assert np.linalg.norm(tight.weights[0] - usual.weights[0]) < 1e-6 * np.linalg.norm(tight.weights[0])
