"""What a card says when the run's own audit contradicts it, and what counts against max_seconds."""

import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import rectilinear as rl
from rectilinear.flow.budgets import Watch
from rectilinear.progress import compilation
from rectilinear.trajectory import Audit


def test_a_run_whose_energy_residual_exceeds_the_tolerance_says_so() -> None:
    net = rl.Network(inputs=2, widths=(4,))
    run = rl.simulate(rl.Problem(rl.datasets.xor(), net, net.init(scale=0.1, seed=0)), times=[0.0, 1.0])
    assert run.ended == "reached the last time asked for"
    doubtful = replace(run, audit=Audit(0.0, 0.0, 2e-7))
    assert doubtful.ended == (
        "reached the last time asked for; but loss and gradients along the run disagree by 2.0e-07 (rtol was 1e-09): tighten rtol"
    )
    assert doubtful.ended in repr(doubtful)


def test_compiling_does_not_count_against_max_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    watch, clock = Watch(None, 5.0, None), compilation()
    monkeypatch.setattr(clock, "seconds", clock.seconds)
    kernel = SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=SimpleNamespace(__module__="elsewhere"))})
    clock._start(kernel)
    clock._start(kernel)  # compiles another that it calls
    now[0] = 30.0
    clock._end(kernel)
    clock._end(kernel)
    now[0] = 34.0
    assert watch.over_budget(0.1, str) is None
    now[0] = 36.0
    assert watch.over_budget(0.1, str) is rl.Status.OUT_OF_SECONDS


@pytest.mark.parametrize("rtol", [1e-2, 1e-3, 1e-5])
def test_stated_errors_cover_those_made_on_ordinary_data(rtol):
    net = rl.Network(inputs=6, widths=(20,))
    data = rl.datasets.gaussian_teacher(samples=120, inputs=6, seed=3)
    problem, times = rl.Problem(data, net, net.init(scale=0.01, seed=3)), np.linspace(0.0, 20.0, 11)
    run, exact = (rl.simulate(problem, times, rtol=wanted) for wanted in (rtol, 1e-8))
    lost = np.abs(run.loss - exact.loss).max() / exact.loss[0]
    assert lost < run.audit.loss_error < 1e3 * rtol
    wrong = max(np.abs(one - two).max() / np.abs(two).max() for one, two in zip(run.weights, exact.weights, strict=True))
    assert wrong < 3 * run.audit.weight_error
    assert f"error     estimated at {run.audit.weight_error:.0e} of the weights" in str(run)


@pytest.mark.parametrize(
    ("samples", "options", "words"),
    [
        (200, {}, "followed neurons (too many kinks to stop the network at each)"),
        (200, {"rtol": 1e-2}, "plain steps (rtol of 0.003 and more needs no single kinks)"),
        (200, {"method": "smooth"}, "smooth (asked for)"),
        (5, {}, "kink-exact (few enough kinks to stop at each)"),
    ],
)
def test_the_card_says_which_way_was_taken_and_why(samples, options, words):
    net = rl.Network(inputs=3, widths=(5,))
    data = rl.datasets.gaussian_teacher(samples=samples, inputs=3, seed=0)
    run = rl.simulate(rl.Problem(data, net, net.init(scale=1.0, seed=0)), [0.0, 0.1], **options)
    assert f"method    {words}" in str(run)


@pytest.mark.parametrize("l2", [0.0, 0.1])
def test_neurons_followed_through_a_step_count_in_the_work_that_the_loss_is_held_against(l2: float) -> None:
    """27 neurons of two directions cross kinks together, each by itself within one step; left out, that is 5e-6 of the loss."""
    rng = np.random.default_rng(4)
    net = rl.Network(inputs=4, widths=(27,))
    problem = rl.Problem(
        rl.Dataset(rng.standard_normal((3, 4)), rng.standard_normal(3)), net, net.init(1.0, seed=4, start="rank_one"), l2=l2
    )
    run = rl.simulate(problem, np.linspace(0.0, 3.0, 40), rtol=1e-9)
    assert run.events.count(rl.Kind.CROSS) > 5
    assert run.audit.energy_residual < 1e-8
