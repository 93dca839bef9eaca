"""Forks of the flow that are nearer than the tolerance: a run may go either way there, and says so."""

from pathlib import Path
from runpy import run_path

import numpy as np
import pytest

import rectilinear as rl
from compiled_parts import from_python
from rectilinear.events import Events, Kind
from rectilinear.flow import choose, repeated
from rectilinear.flow.engines import fork_twins
from rectilinear.flow.engines.fork_twins import TIGHTER
from rectilinear.flow.kinks import repelling_points

TIMES = np.linspace(0.0, 20.0, 5)
# Found by halving: neuron 0 begins at this place of a segment, and from 2e-6 beside it ends far away. Of seed 3 it just misses a kink
# that repels, as another one deflects it, or just meets it; of seed 10 it passes by the point where two kinks meet, one of which holds it.
MISSES, MEETS, CORNER = (3, 0.12740766214880953), (3, 0.12740966214880953), (10, 0.0089874267578125)
# The same forty times as far off, and random problems of benchmarks/random_problems.py at whose forks the error of one long step decides:
# the third had a second crossing right after the one that mattered.
BESIDE = ((3, 0.12736866214880953), (3, 0.12744866214880953))
LONG_STEPS = (97_185, 200_001, 200_099)
# The same on integers: where many kinks meet, one neuron may go on to either side of one that repels, another is kept on such a one.
MANY_MEET = (500_147, 500_791)
RANDOM = run_path(str(Path(__file__).parents[1] / "benchmarks" / "random_problems.py"))


@pytest.fixture(autouse=True)
def _made_to_what_was_asked_for(monkeypatch):
    monkeypatch.setattr(choose, "DECIDING_RTOL", 1.0)


def problem(seed, place):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((20, 3)), rng.standard_normal(20)
    net = rl.Network(inputs=3, widths=(4,))
    first, second = net.init(scale=0.3, seed=seed)
    moved = first + 0.3 * place * np.outer([1.0, 0.0, 0.0, 0.0], rng.standard_normal(3))
    return rl.Problem(rl.Dataset(x, y), net, (moved, second))


def last_weights(run):
    return np.concatenate([layer[-1].ravel() for layer in run.weights])


def off(run, exact):
    truth = last_weights(exact)
    return np.abs(last_weights(run) - truth).max() / np.abs(truth).max()


def told(start, rtol, times=TIMES):
    """The run at this tolerance, forks told and not decided (test_repeated.py)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeated, "TIGHTEST_REPEATED", np.inf)
        return rl.simulate(problem(*start), times, method="follow", rtol=rtol)


@pytest.mark.parametrize("start", [MISSES, MEETS])
def test_a_kink_missed_or_met_by_less_than_the_tolerance_is_told_and_decided_by_a_smaller_one(start):
    exact = rl.simulate(problem(*start), TIMES, method="kinks")
    loose, tight = (told(start, rtol) for rtol in (1e-4, 1e-8))
    assert loose.events.count(Kind.FORK) == loose.events.choices == 1
    assert not loose.events.certified
    assert "1 fork (1 by a fork that is nearer than the tolerance)" in repr(loose)
    assert tight.events.certified
    assert off(tight, exact) < 1e-7


@pytest.mark.parametrize("start", BESIDE)
def test_a_fork_that_the_error_of_one_step_would_decide_is_decided_by_shorter_steps(start):
    exact = rl.simulate(problem(*start), TIMES, method="kinks")
    run = told(start, 1e-4)
    assert run.events.certified
    assert run.statistics["rejected"] > 0
    assert off(run, exact) < 2e-4


def test_loose_runs_only_tell_what_shorter_steps_would_decide(monkeypatch):
    shorter = told(BESIDE[1], 1e-4)
    monkeypatch.setattr("rectilinear.flow.engines.fork_twins.LOOSEST_DECIDED", 0.9e-4)
    run = told(BESIDE[1], 1e-4)
    assert run.events.count(rl.Kind.FORK) == 1
    assert run.statistics["rejected"] < shorter.statistics["rejected"]


@pytest.mark.parametrize("seed", LONG_STEPS)
def test_no_neuron_goes_another_way_within_a_long_step(seed):
    made = RANDOM["random_ordinary_problem"](seed)
    loose, tight = (rl.simulate(made, [0.0, 50.0], method="follow", rtol=rtol) for rtol in (1e-4, 1e-6))
    assert "repeated" not in tight.provenance
    assert off(loose, tight) < 3e-4


@pytest.mark.parametrize("seed", MANY_MEET)
def test_where_many_kinks_meet_neurons_go_the_same_way_at_any_tolerance(seed):
    made = RANDOM["random_ordinary_problem"](seed)
    loose, tight = (rl.simulate(made, [0.0, 50.0], method="follow", rtol=rtol) for rtol in (1e-6, 1e-8))
    assert off(loose, tight) < 1e-5


@pytest.mark.parametrize("rtol", [1e-4, 1e-5])
def test_a_kink_neared_by_less_than_the_pulls_still_change_is_not_missed_unsaid(rtol):
    """At t = 4.04 a neuron is within 0.02 rtol of a kink, which at 1e-5 the last sweep's pulls have it cross and its own do not."""
    made = RANDOM["random_ordinary_problem"](140_967)
    loose, tight = (rl.simulate(made, [0.0, 6.5], method="follow", rtol=asked) for asked in (rtol, 1e-7))
    assert loose.provenance["repeated"].startswith(f"at rtol {rtol / TIGHTER:.2g} up to t = ")
    assert off(loose, tight) < 3.0 * rtol


def test_a_fork_is_told_for_the_time_at_which_it_was_passed(monkeypatch):
    """However much later its twin came to be off by as much as matters, which are many steps here."""
    monkeypatch.setattr(fork_twins, "TOLD", 3e3)
    run = told(MISSES, 1e-4)
    (fork,) = np.flatnonzero(run.events.kind == Kind.FORK)
    there = rl.simulate(problem(*MISSES), [0.0, float(run.events.time[fork])], method="kinks")
    w, normal = there.weights[0][-1, 0], there.problem.data.lines.normals[run.events.line[fork]]
    assert abs(w @ normal) < 1e-3 * np.linalg.norm(w)


def test_both_sides_of_the_fork_end_apart():
    first, second = (rl.simulate(problem(*start), TIMES, method="kinks") for start in (MISSES, MEETS))
    assert off(first, second) > 0.1


def test_a_run_that_goes_the_other_way_at_a_corner_says_so():
    exact = rl.simulate(problem(*CORNER), TIMES, method="kinks")
    runs = [told(CORNER, rtol) for rtol in (1e-4, 1e-5, 1e-8)]
    assert [run.events.count(Kind.FORK) for run in runs] == [1, 1, 0]
    assert off(runs[0], exact) > 0.1
    assert all(off(run, exact) < 1e-5 for run in runs[1:])


def test_a_fork_tells_the_kink_that_parts_the_ways():
    run = told(MISSES, 1e-4)
    (fork,) = np.flatnonzero(run.events.kind == Kind.FORK)
    below, above = run.events.velocity_below[fork], run.events.velocity_above[fork]
    assert run.events.neuron[fork] == 0
    assert below < 0.0 < above  # both sides lead away, as another kink has turned it back


def test_forks_are_choices():
    events = Events.of_log([(0.5, 0, 1, Kind.FORK, 0.0, 1.0, np.nan)])
    assert events.choices == 1
    assert not events.certified


@pytest.mark.parametrize("seed", [182, 275, 359])
def test_a_hold_that_turns_leaves_to_the_side_of_descent_whatever_decay_makes_of_a_rounded_height(seed):
    rng = np.random.default_rng(seed)
    data, net = rl.Dataset(rng.standard_normal((12, 3)), rng.standard_normal(12)), rl.Network(inputs=3, widths=(6,))
    decaying = rl.Problem(data, net, net.init(scale=0.3, seed=seed), l2=0.01)
    followed, exact = (rl.simulate(decaying, TIMES, method=method, rtol=1e-6) for method in ("follow", "kinks"))
    assert followed.events.choices == exact.events.choices == 1
    assert not followed.events.doubtful.any()
    assert off(followed, exact) < 1e-6


def one_by_one(gram, below, pushes, signs, coming):
    """`sides_of_descent`, a descent at a time."""
    size, ways = len(pushes), {}
    places = [sorted(range(size), key=lambda j: (pushes[j], below[j], j)).index(k) for k in range(size)]
    speed = np.abs(coming).max() or np.abs(below).max() + np.abs(pushes).max()
    for n in range(repelling_points.DESCENTS_AT_POINT):
        aside = [2.0 * (((n + 1) * np.sqrt(repelling_points.GOLDEN + 1 + place)) % 1.0) - 1.0 for place in places]
        away = repelling_points.POINT_DISTANCE + ((n + 1) * np.sqrt(repelling_points.GOLDEN)) % 1.0
        z = speed * (gram @ np.array(aside)) / size - away * coming
        heights = []
        for _ in range(repelling_points.POINT_DESCENT_STEPS):
            heights.append(np.abs(z).max())
            z = z + below + gram @ (pushes * (z > 0.0))
        farthest = np.abs(z).max()
        left = farthest > repelling_points.LEAVING * heights[len(heights) // 2]
        sided = left & (pushes >= 0.0) & (np.abs(z) > repelling_points.ALONG * farthest)
        way = (*np.where(sided, np.where(z > 0.0, 1, -1), signs).tolist(), bool(left))
        ways[way] = ways.get(way, 0) + 1
    most = max(ways, key=ways.__getitem__)
    return list(most[:-1]), len(ways), most[-1]


@pytest.mark.parametrize("seed", range(8))
def test_descents_made_side_by_side_are_those_made_one_by_one(seed):
    rng = np.random.default_rng(seed)
    normals = rng.standard_normal((4, 2))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    gram, pushes = normals @ normals.T, rng.standard_normal(4)
    below, coming = normals @ rng.standard_normal(2) - gram @ np.maximum(pushes, 0.0) / 2, normals @ rng.standard_normal(2)
    signs = np.where(coming > 0.0, -1, 1).astype(np.int8)
    sides, ways, leaves = from_python(repelling_points.sides_of_descent)(gram, below, pushes, signs, coming)
    assert (sides.tolist(), ways, leaves) == one_by_one(gram, below, pushes, signs, coming)
