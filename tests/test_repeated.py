"""Runs that tell forks are made once more, at a tolerance that decides them, as far as budgets go."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

import rectilinear as rl
from rectilinear.events import Events, Kind
from rectilinear.flow import budgets
from rectilinear.flow.budgets import Watch
from rectilinear.flow.repeated import TIGHTER, TIGHTEST_REPEATED, decided
from test_forks import CORNER, MEETS, MISSES, TIMES, last_weights, off, problem, told

RTOL = 1e-4
SAID = "at rtol 3.3e-06, as forks (1) were nearer than 0.0001"


def followed(start, **options):
    return rl.simulate(problem(*start), TIMES, method="follow", **{"rtol": RTOL, **options})


def steps_of(run):
    return run.statistics["steps"] + run.statistics["rejected"]


@pytest.mark.parametrize("start", [MISSES, MEETS])
def test_a_fork_within_the_tolerance_is_decided_by_a_smaller_one(start):
    run, exact = followed(start), rl.simulate(problem(*start), TIMES, method="kinks")
    assert off(run, exact) < RTOL
    assert run.events.certified
    assert run.provenance["rtol"] == RTOL
    assert f"  repeated  {SAID}\n" in repr(run)


def test_a_fork_within_the_smaller_tolerance_too_is_told():
    """Which way it goes is then up to the steps. From 2.4e-9 beside this place it ends far away."""
    run = followed((CORNER[0], 0.0089859619140625), rtol=3e-5)
    assert run.events.choices == run.events.count(Kind.FORK) == 1
    assert run.provenance["repeated"] == "at rtol 1e-06, as forks (1) were nearer than 3e-05"


def test_it_is_the_run_at_that_tolerance_and_counts_what_both_took():
    loose, tight, run = told(MISSES, RTOL), told(MISSES, RTOL / TIGHTER), followed(MISSES)
    assert np.array_equal(last_weights(run), last_weights(tight))
    assert steps_of(run) == steps_of(loose) + steps_of(tight)


@pytest.mark.parametrize(("name", "limit"), [("LOOSEST_DECIDED", 0.9 * RTOL), ("MOST_REPEATED_PIECES", 10)])
def test_loose_and_long_runs_only_tell_their_forks(name, limit, monkeypatch):
    monkeypatch.setattr(f"rectilinear.flow.repeated.{name}", limit)
    run = followed(MISSES)
    assert run.events.count(Kind.FORK) == 1
    assert "repeated" not in run.provenance


def test_long_runs_are_repeated_where_much_is_asked_for(monkeypatch):
    monkeypatch.setattr("rectilinear.flow.repeated.MOST_REPEATED_PIECES", 10)
    monkeypatch.setattr("rectilinear.flow.repeated.ALWAYS_REPEATED", RTOL)
    assert followed(MISSES).provenance["repeated"] == SAID


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
    assert f"  repeated  but not to the end {SAID}\n" in repr(run)


def test_an_interrupt_meanwhile_returns_the_first_run_and_is_heard(monkeypatch):
    monkeypatch.setattr(budgets, "REPORT_EVERY", -1.0)
    seen = [0.0]

    def progress(fraction, note):
        if fraction < seen[-1]:
            raise KeyboardInterrupt
        seen.append(fraction)

    run = followed(CORNER, progress=progress)
    assert run.status is rl.Status.INTERRUPTED
    assert np.array_equal(run.times, TIMES)
    assert run.events.count(Kind.FORK) == 1


@pytest.fixture
def forked():
    """A maker of runs that all tell as many forks, and the tolerances at which it was asked for them."""

    def maker(forks):
        run, tried = told(MISSES, 1e-8), []
        events = Events.of_log([(0.5, 0, 1, Kind.FORK, 0.0, 1.0, np.nan)] * forks)

        def make(tolerance):
            tried.append(tolerance)
            return replace(run, events=events)

        return make, tried

    return maker


@pytest.mark.parametrize(("rtol", "forks"), [(RTOL, int(TIGHTER)), (TIGHTEST_REPEATED, 1)])
def test_very_many_forks_and_tiny_tolerances_are_left_as_they_are(forked, rtol, forks):
    make, tried = forked(forks)
    assert decided(make, rtol, Watch(None, None, None)).events.choices == forks
    assert tried == [rtol]


def test_runs_to_any_time_are_repeated_too(forked, monkeypatch):
    make, tried = forked(1)
    monkeypatch.setattr(import_module("rectilinear.flow.simulate"), "simulate_long", lambda *settings: make(settings[-2]))
    rl.simulate(problem(*MISSES), log10_times=[1.0], rtol=RTOL)
    assert tried == [RTOL, RTOL / TIGHTER]
