"""Runs that go on: the same as in one go, events and audit included."""

from __future__ import annotations

import numpy as np
import pytest

import rectilinear as rl

AGREEMENT = 1e-7  # two runs at the default tolerance, one of them restarted


@pytest.fixture(scope="module")
def problem() -> rl.Problem:
    net = rl.Network(inputs=2, widths=(12,))
    return rl.Problem(rl.datasets.six_points(), net, net.init(scale=0.1, seed=3))


@pytest.mark.parametrize("method", ["kinks", "smooth"])
def test_a_resumed_run_equals_one_in_one_go(problem: rl.Problem, method: str) -> None:
    whole = rl.simulate(problem, [0.0, 3.0, 10.0, 40.0], method=method)
    part = rl.resume(rl.simulate(problem, [0.0, 3.0], method=method), [10.0, 40.0], method=method)
    assert part.times.tolist() == whole.times.tolist()
    assert part.problem is problem
    tolerance = AGREEMENT if method == "kinks" else 1e-3  # crossings are not located by the smooth method
    for first, second in zip(part.weights, whole.weights, strict=True):
        np.testing.assert_allclose(first, second, atol=tolerance)
    assert part.audit is not None
    assert part.audit.balance_drift is not None
    assert part.audit.balance_drift < 1e-9
    assert part.statistics["steps"] > whole.statistics["steps"] / 3


def test_an_interrupted_run_resumes(problem: rl.Problem) -> None:
    stopped = rl.simulate(problem, [40.0], max_steps=10)
    assert stopped.status is rl.Status.OUT_OF_STEPS
    whole = rl.simulate(problem, [40.0])
    again = rl.resume(stopped, [40.0])
    np.testing.assert_allclose(again.final[0], whole.final[0], atol=AGREEMENT)
    assert again.group_counts is not None
    assert (np.diff(again.group_counts[:, 0]) >= 0).all()


def test_events_keep_their_times_when_joined(problem: rl.Problem) -> None:
    whole = rl.simulate(problem, [0.0, 40.0])
    part = rl.resume(rl.simulate(problem, [0.0, 3.0]), [40.0])
    assert whole.events is not None
    assert part.events is not None
    crossings = [run.events.time[run.events.kind == rl.Kind.CROSS] for run in (whole, part)]
    np.testing.assert_allclose(crossings[0], crossings[1], rtol=1e-6)


def test_neurons_that_stay_held_are_counted_once(problem: rl.Problem) -> None:
    whole = rl.simulate(problem, [0.0, 40.0])
    part = rl.resume(rl.simulate(problem, [0.0, 20.0]), [40.0])
    assert part.events.count(rl.Kind.HOLD) == whole.events.count(rl.Kind.HOLD) > 0
    assert [len(its) for its in part.events.held(12)] == [len(its) for its in whole.events.held(12)]
    assert part.statistics["groups at most"] == whole.statistics["groups at most"]


@pytest.mark.parametrize("method", ["kinks", "follow"])
def test_a_resumed_run_states_its_error_and_keeps_it(method: str) -> None:
    net = rl.Network(inputs=4, widths=(20,))
    problem = rl.Problem(rl.datasets.gaussian_teacher(samples=30, inputs=4), net, net.init(scale=0.1, seed=1))
    first = rl.simulate(problem, [0.0, 2.0, 4.0], method=method)
    part = rl.resume(first, [8.0, 16.0], method=method)
    whole = rl.simulate(problem, part.times, method=method)
    tight = rl.simulate(problem, part.times, method="kinks", rtol=1e-11)
    assert first.audit.weight_error < part.audit.weight_error < 3 * whole.audit.weight_error
    assert (
        first.audit.loss_error <= part.audit.loss_error < 10 * whole.audit.loss_error
    )  # that of one run dies out as its loss falls
    assert np.abs(part.loss - tight.loss).max() <= part.audit.loss_error * tight.loss[0]
    assert first.audit.energy_residual <= part.audit.energy_residual < 1e-6
    assert "error     estimated at" in str(part)


def test_what_follows_a_descent_states_no_error(problem: rl.Problem) -> None:
    audit = rl.resume(rl.descend(problem, 0.1, 10), [2.0]).audit
    assert (audit.energy_residual, audit.weight_error, audit.loss_error) == (None, None, None)


def test_a_run_saved_at_one_time_states_its_error(problem: rl.Problem) -> None:
    two, one = rl.simulate(problem, [0.0, 3.0]).audit, rl.simulate(problem, [3.0]).audit
    assert one.loss_error == pytest.approx(two.loss_error, rel=1e-6)
    assert rl.simulate(problem, [0.0]).audit.loss_error is None


def test_times_must_lie_ahead(problem: rl.Problem) -> None:
    run = rl.simulate(problem, [0.0, 3.0])
    with pytest.raises(rl.InputError, match="times to resume at must lie after the run's last one, 3, found 2"):
        rl.resume(run, [2.0])


def test_stretches_of_sliding_begin_with_a_pin_and_end_with_a_release() -> None:
    events = rl.Events(
        time=np.array([1.0, 2.0, 3.0, 4.0]),
        neuron=np.array([0, 1, 0, 0]),
        line=np.array([2, 2, 2, 1]),
        kind=np.array([rl.Kind.HOLD, rl.Kind.HOLD, rl.Kind.RELEASE, rl.Kind.CROSS], dtype=np.int8),
        velocity_below=np.ones(4),
        velocity_above=-np.ones(4),
        multiplier=np.full(4, 0.5),
    )
    assert events.held(2) == [[(1.0, 3.0, 2)], [(2.0, np.inf, 2)]]
    assert not events.certified  # that crossing was pushed back
    assert str(events) == "1 cross, 2 hold, 1 release (NOT all certified)"


def test_group_counts_survive_saving(problem: rl.Problem, tmp_path) -> None:
    run = rl.simulate(problem, [0.0, 3.0])
    again = rl.load(run.save(tmp_path / "run.nc"))
    np.testing.assert_array_equal(run.group_counts, again.group_counts)
    np.testing.assert_array_equal(run.events.time, again.events.time)


def test_events_are_drawn_with_a_bar_for_each_stretch_of_sliding(problem: rl.Problem) -> None:
    run = rl.simulate(problem, [0.0, 40.0])
    top, bottom = rl.plots.kink_events(run).axes
    stretches = sum(map(len, run.events.held(12)))
    assert stretches > 0
    assert len(top.lines) == stretches + 1  # one more for the legend
    assert sum(len(marks.get_offsets()) for marks in top.collections) == len(run.events)
    assert bottom.lines[0].get_ydata().max() == run.statistics["groups at most"]


def test_runs_that_leave_kinks_to_the_error_control_have_no_events_to_draw() -> None:
    net = rl.Network(inputs=2, widths=(3, 3))
    run = rl.simulate(rl.Problem(rl.datasets.xor(), net, net.init(scale=0.5, seed=0)), [0.0, 1.0], method="smooth")
    with pytest.raises(rl.InputError, match="kink_events needs a run whose kinks were followed"):
        rl.plots.kink_events(run)
