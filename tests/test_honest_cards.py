"""What a card says when the run's own audit contradicts it, and what counts against max_seconds."""

import time
from dataclasses import replace
from types import SimpleNamespace

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
    assert watch.over_budget(0.1, "") is None
    now[0] = 36.0
    assert watch.over_budget(0.1, "") is rl.Status.OUT_OF_SECONDS
