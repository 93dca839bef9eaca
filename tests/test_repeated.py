"""Runs that tell forks are made once more, up to these at a tolerance that decides them, as far as budgets go."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

import rectilinear as rl
from rectilinear.events import Events, Kind
from rectilinear.flow import budgets, choose
from rectilinear.flow.budgets import Watch
from rectilinear.flow.engines.fork_twins import TIGHTER, ForkRule
from rectilinear.flow.repeated import TIGHTEST_REPEATED, decided
from test_forks import CORNER, MISSES, TIMES, last_weights, off, problem, told

RTOL = 1e-4
SAID = "at rtol 3.3e-06 up to t = {}, as forks (1) were nearer than 0.0001"
PASSED = {MISSES: "2.147", CORNER: "9.01"}
FARTHER = ((3, 0.12740666214880953), (3, 0.12741066214880953))  # twice as far from the fork as MISSES and MEETS
PLENTY = 10**6  # of a budget


@pytest.fixture(autouse=True)
def _made_to_what_was_asked_for(monkeypatch):
    monkeypatch.setattr(choose, "DECIDING_RTOL", 1.0)


def followed(start, **options):
    return rl.simulate(problem(*start), TIMES, method="follow", **{"rtol": RTOL, **options})


def steps_of(run):
    return run.statistics["steps"] + run.statistics["rejected"]


@pytest.mark.parametrize("start", FARTHER)
def test_a_fork_within_the_tolerance_is_decided_by_a_smaller_one(start):
    run, exact = followed(start), rl.simulate(problem(*start), TIMES, method="kinks")
    assert off(run, exact) < RTOL
    assert run.events.certified
    assert run.provenance["rtol"] == RTOL
    assert f"  repeated  {SAID.format(PASSED[MISSES])}\n" in repr(run)


def test_a_fork_within_the_smaller_tolerance_too_is_told():
    """Which way it goes is then up to the steps. From 5e-10 beside this place it ends far away."""
    run = followed((MISSES[0], 0.12740866263709077), rtol=3e-5)
    assert run.events.choices == run.events.count(Kind.FORK) == 1
    assert run.provenance["repeated"] == "at rtol 1e-06 up to t = 2.147, as forks (1) were nearer than 3e-05"


def test_it_is_the_run_at_that_tolerance_up_to_the_fork_and_goes_on_at_the_one_asked_for():
    times = [0.0, 2.1, *TIMES[1:]]
    tight, loose = (told(MISSES, rtol, times) for rtol in (RTOL / TIGHTER, RTOL))
    run = rl.simulate(problem(*MISSES), times, method="follow", rtol=RTOL, max_steps=PLENTY)
    assert np.array_equal(run.weights[0][1], tight.weights[0][1])
    assert 0.0 < off(run, tight) < RTOL
    assert steps_of(loose) < steps_of(run) < steps_of(loose) + steps_of(tight)


def test_without_budgets_it_is_made_again_where_it_tells_a_fork():
    at_once, at_the_end = followed(MISSES), followed(MISSES, max_steps=PLENTY)
    assert np.array_equal(last_weights(at_once), last_weights(at_the_end))
    assert at_once.provenance["repeated"] == at_the_end.provenance["repeated"]
    assert steps_of(told(MISSES, RTOL)) < steps_of(at_once) < steps_of(at_the_end)


def test_loose_runs_only_tell_their_forks(monkeypatch):
    monkeypatch.setattr("rectilinear.flow.repeated.LOOSEST_DECIDED", 0.9 * RTOL)
    run = followed(MISSES)
    assert run.events.count(Kind.FORK) == 1
    assert "repeated" not in run.provenance


def test_without_forks_nothing_is_repeated():
    run = followed(MISSES, rtol=1e-8)
    assert "repeated" not in run.provenance


def test_a_budget_of_which_too_little_is_left_leaves_the_fork_told():
    run = followed(CORNER, max_steps=2 * steps_of(told(CORNER, RTOL)) - 1)
    assert run.status is rl.Status.FINISHED
    assert run.events.count(Kind.FORK) == 1
    assert "repeated" not in run.provenance


def test_a_budget_that_ends_meanwhile_returns_the_first_run():
    first = told(CORNER, RTOL)
    run = followed(CORNER, max_steps=2 * steps_of(first))
    assert run.status is rl.Status.FINISHED
    assert np.array_equal(run.times, TIMES)
    assert np.array_equal(last_weights(run), last_weights(first))
    assert f"  repeated  but not to the end {SAID.format('9.01')}\n" in repr(run)


def test_an_interrupt_meanwhile_returns_the_first_run_and_is_heard(monkeypatch):
    monkeypatch.setattr(budgets, "REPORT_EVERY", -1.0)
    seen = [0.0]

    def progress(fraction, note):
        if fraction < seen[-1]:
            raise KeyboardInterrupt
        seen.append(fraction)

    run = followed(CORNER, progress=progress, max_steps=PLENTY)
    assert run.status is rl.Status.INTERRUPTED
    assert np.array_equal(run.times, TIMES)
    assert run.events.count(Kind.FORK) == 1


@pytest.fixture
def forked():
    """A maker of runs that all tell as many forks, later than what they were to decide, and what it was asked for."""

    def maker(forks):
        run, tried = told(MISSES, 1e-8), []

        def make(asked):
            tried.append(asked)
            time = 1.0 + asked.tight_until if isinstance(asked, ForkRule) else 0.5
            return replace(run, events=Events.of_log([(time, 0, 1, Kind.FORK, 0.0, 1.0, np.nan)] * forks))

        return make, tried

    return maker


@pytest.mark.parametrize(("rtol", "forks"), [(RTOL, int(TIGHTER)), (TIGHTEST_REPEATED, 1)])
def test_very_many_forks_and_tiny_tolerances_are_left_as_they_are(forked, rtol, forks):
    make, tried = forked(forks)
    assert decided(make, rtol, Watch(None, None, None)).events.choices == forks
    assert len(tried) == 1


def test_where_ever_later_forks_are_told_the_tolerance_becomes_smaller_to_the_end(forked):
    make, tried = forked(2)
    run = decided(make, RTOL, Watch(None, None, None))
    assert [rule.tight_until for rule in tried] == [0.0, 1.0, np.inf]
    assert run.provenance["repeated"] == "at rtol 3.3e-06, as forks (4) were nearer than 0.0001"


def test_runs_to_any_time_are_repeated_too(forked, monkeypatch):
    make, tried = forked(1)
    monkeypatch.setattr(import_module("rectilinear.flow.simulate"), "simulate_long", lambda *settings: make(settings[-2]))
    rl.simulate(problem(*MISSES), log10_times=[1.0], rtol=RTOL)
    assert tried == [RTOL, RTOL / TIGHTER]
