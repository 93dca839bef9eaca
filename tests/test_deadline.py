"""Budgets of seconds within steps, by a clock that counts how often it is looked at; interrupts at any moment of a run."""

import _thread
import signal
import threading

import numpy as np
import pytest

import rectilinear as rl
from rectilinear.flow.budgets import Watch
from rectilinear.flow.deadline import CHUNK_WORK, Deadline, OutOfTime, chunks, interrupts_held, look_at_clock

RUNS = {
    "kinks": ((12,), {"method": "kinks", "early_phase": False}),
    "early phase": ((12,), {"method": "kinks"}),
    "smooth": ((12,), {"method": "smooth", "early_phase": False}),
    "deep kinks": ((6, 5), {"method": "kinks"}),
    "impulses": ((6, 5), {"method": "impulses"}),
}
BY_NO_OTHER_CLOCK = 1e6  # seconds: kernels that are read from disk take some, more so on a busy machine


def problem_of(widths, scale):
    rng = np.random.default_rng(0)
    network = rl.Network(inputs=3, widths=widths)
    return rl.Problem(rl.Dataset(rng.standard_normal((9, 3)), rng.standard_normal(9)), network, network.init(scale, seed=0))


@pytest.mark.parametrize("looks", [3, 40])
@pytest.mark.parametrize("name", RUNS)
def test_a_budget_used_up_within_a_step_keeps_the_state_before_it(name, looks, monkeypatch):
    widths, options = RUNS[name]
    problem, seen = problem_of(widths, 1e-6 if name == "early phase" else 0.5), []

    def over(watch):
        seen.append(watch)
        return len(seen) > looks

    monkeypatch.setattr(Watch, "out_of_seconds", over)
    run = rl.simulate(problem, [0.0, 50.0], max_seconds=BY_NO_OTHER_CLOCK, **options)
    assert run.status is rl.Status.OUT_OF_SECONDS
    assert len(seen) == looks + 1
    assert run.times[-1] < 50.0
    monkeypatch.undo()
    whole = rl.simulate(problem, run.times, **options)
    for mine, other in zip(run.final, whole.final, strict=True):
        np.testing.assert_allclose(mine, other, rtol=0, atol=(1e-3 if name == "impulses" else 1e-6) * np.abs(other).max())
    rest = rl.resume(run, [run.times[-1] + 1.0])
    assert rest.status is rl.Status.FINISHED


def test_the_clock_is_looked_at_within_one_step_of_many_neurons(monkeypatch):
    """One look of the early phase at two thousand neurons, in chunks of some hundred."""
    monkeypatch.setattr("rectilinear.flow.deadline.CHUNK_WORK", 1e5)
    looks = []
    monkeypatch.setattr(Watch, "out_of_seconds", lambda watch: bool(looks.append(watch)))
    run = rl.simulate(problem_of((2000,), 1e-6), [0.0, 1e-3], max_seconds=BY_NO_OTHER_CLOCK)
    assert run.statistics["early steps"] == 1
    assert len(looks) > 1


def test_work_in_chunks_is_all_the_work():
    for count, work in ((0, 0.0), (1, 1e12), (7, 3 * CHUNK_WORK), (1000, 1e3 * CHUNK_WORK)):
        parts = [np.arange(count)[part] for part in chunks(count, work)]
        np.testing.assert_array_equal(np.concatenate(parts or [np.arange(0)]), np.arange(count))
        assert len(parts) <= max(1, work / CHUNK_WORK + 1)


def test_deadlines_are_those_of_the_innermost_run():
    with Deadline(lambda: True), Deadline(lambda: False):
        look_at_clock()
    look_at_clock()
    with Deadline(lambda: True), pytest.raises(OutOfTime):
        look_at_clock()


def test_events_without_end_in_the_early_phase_end_the_run_in_a_sentence(monkeypatch):
    data, net = rl.datasets.gaussian_teacher(samples=12, inputs=3), rl.Network(inputs=3, widths=(40,))
    problem = rl.Problem(data, net, net.init(scale=1e-6, seed=0))
    monkeypatch.setattr("rectilinear.flow.engines.early_phase.MOST_EARLY_EVENTS", 0)
    run = rl.simulate(problem, [5.0])
    assert run.status is rl.Status.STUCK
    assert run.reason.endswith(
        "do not come to an end; the data may be degenerate: perturb it slightly, or use early_phase=False"
    )


ENDLESS = {
    "plain": ((30,), 0.5, {"method": "plain", "rtol": 3e-3}),
    "followed": ((30,), 0.5, {"method": "follow", "rtol": 1e-4}),
    "kinks": ((30,), 0.5, {"method": "kinks"}),
    "deep": ((20, 20), 0.7, {"rtol": 1e-3}),
}


def many_samples(widths, scale):
    rng = np.random.default_rng(5)
    x = rng.standard_normal((150, 8))
    network = rl.Network(inputs=8, widths=widths)
    return rl.Problem(rl.Dataset(x, np.sin(x[:, 0]) * x[:, 1]), network, network.init(scale, seed=0))


@pytest.mark.parametrize("name", ENDLESS)
def test_an_interrupt_at_any_moment_returns_what_there_is(name):
    """Kernels that return arrays run Python on their way back, where an exception once ended the process."""
    widths, scale, options = ENDLESS[name]
    problem = many_samples(widths, scale)
    rl.simulate(problem, [1e-3], **options)
    for seconds in (0.02, 0.05, 0.1, 0.11, 0.12):
        timer = threading.Timer(seconds, _thread.interrupt_main)
        timer.start()
        run = rl.simulate(problem, np.linspace(0.0, 1e8, 11), **options)
        timer.join()
        assert run.status is rl.Status.INTERRUPTED
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    again = rl.simulate(problem, [run.times[-1]], **options)
    np.testing.assert_allclose(again.loss, run.loss[-1:], rtol=0, atol=1e-2 * run.loss[0])


def test_descent_is_interrupted_between_its_steps():
    problem = many_samples((30,), 0.5)
    timer = threading.Timer(0.05, _thread.interrupt_main)
    timer.start()
    run = rl.descend(problem, learning_rate=1e-3, steps=10**9, record_every=10**9)
    assert run.status is rl.Status.INTERRUPTED
    steps = run.statistics["steps"]
    assert run.times[-1] == steps * 1e-3
    again = rl.descend(problem, learning_rate=1e-3, steps=steps)
    for mine, other in zip(run.final, again.final, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_interrupts_wait_for_a_look_and_a_second_one_does_not():
    with interrupts_held():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    with interrupts_held(), interrupts_held():  # a run within a run
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            look_at_clock()
        look_at_clock()  # it is heard once
    with interrupts_held():
        signal.raise_signal(signal.SIGINT)  # after the last look: what it was to end is done
    look_at_clock()


def test_interrupts_that_others_hear_are_theirs():
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append("by its owner"))
    try:
        with interrupts_held():
            signal.raise_signal(signal.SIGINT)
            look_at_clock()
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == ["by its owner"]

    def elsewhere():
        with interrupts_held():
            heard.append(signal.getsignal(signal.SIGINT) is before)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert heard[1:] == [True]
