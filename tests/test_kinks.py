"""What neurons do at kinks: geometry, decisions, and motions worked out by hand.

Most tests let a single neuron drift: its second layer is fixed at 1e-9 and its weights are 1e-9 times those named here, so that
outputs vanish against the labels, the pulls are y/P, and w moves in straight lines, w' = g, from kink to kink.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rectilinear as rl
from rectilinear.events import Events, Kind
from rectilinear.flow.engines.step_events import StepEvents
from rectilinear.flow.kinks.answers import box_problem
from rectilinear.flow.kinks.contact import resolve
from rectilinear.flow.kinks.decisions import Decisions
from rectilinear.flow.kinks.geometry import Kinks
from rectilinear.flow.kinks.neuron_groups import Groups

TINY = 1e-9
METHODS = ("kinks", "smooth")
# errors of w: rtol is 1e-9; the smooth method leaves crossings to its error control, which stops at a smallest step
EXACT, SMOOTHED = 1e-7, 1e-4


def drift(x, y, w, times, method="kinks", sign=1.0, alpha=0.0, repelled=0):
    """The run, and w at the times in units of 1e-9."""
    network = rl.Network(len(x[0]), (len(w),), alpha=alpha, trainable=(True, False))
    weights = (TINY * np.array(w, dtype=float), np.full((1, len(w)), sign * TINY))
    run = rl.simulate(rl.Problem(rl.Dataset(x, y), network, weights), times, method=method)
    assert run.status is rl.Status.FINISHED
    assert run.events.choices == repelled
    assert run.events.certified or repelled
    return run, run.weights[0] / TINY


def assert_path(w, expected, method):
    np.testing.assert_allclose(w, expected, rtol=0, atol=EXACT if method == "kinks" else SMOOTHED)


def happened(run):
    """(time, neuron, first sample on that line, kind) of each event; times to the digits that the method has."""
    digits = 3 if run.provenance["method"] == "smooth" else 7
    lines, events = run.problem.data.lines, run.events
    first_on = [int(np.flatnonzero(lines.index == k)[0]) for k in range(len(lines))] + [-1]
    return [
        (round(float(t), digits), int(h), first_on[line], Kind(kind))
        for t, h, line, kind in zip(events.time, events.neuron, events.line, events.kind, strict=True)
    ]


def speeds_along(run, event, sample):
    """Velocities of w.x/|x| on the side where the sample is inactive and where it is active."""
    lines = run.problem.data.lines
    below, above = run.events.velocity_below[event], run.events.velocity_above[event]
    return (below, above) if lines.lengths[sample] > 0 else (-above, -below)


# ---------------------------------------------------------------- geometry and decisions


def random_kinks(seed, alpha=0.2):
    """Six samples on four lines: one antipode and one duplicate."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((4, 3))
    x = np.concatenate([x, -2.0 * x[:1], x[1:2]])
    network = rl.Network(3, (1,), alpha=alpha)
    return Kinks(rl.Problem(rl.Dataset(x, np.ones(6)), network, network.init(1.0, seed=0))), rng


def test_crossing_a_line_changes_the_drive_by_its_jump():
    for seed in range(20):
        kinks, rng = random_kinks(seed)
        assert len(kinks) == 4
        pull, signs = rng.standard_normal(6), rng.choice(np.array([-1, 1], dtype=np.int8), 4)
        for line in range(4):
            below, above = signs.copy(), signs.copy()
            below[line], above[line] = -1, 1
            change = (kinks.slopes(above) - kinks.slopes(below)) * pull @ kinks.x
            np.testing.assert_allclose(change, kinks.jumps(pull)[line] * kinks.normals[line], atol=1e-14)
            np.testing.assert_allclose(kinks.jump_rows[line] @ pull, kinks.jumps(pull)[line], atol=1e-14)


def test_slopes_are_those_of_the_activation():
    kinks, rng = random_kinks(3)
    w = rng.standard_normal((10, 3))
    slopes = kinks.slopes(np.sign(w @ kinks.normals.T).astype(np.int8))
    np.testing.assert_array_equal(slopes, np.where(w @ kinks.x.T > 0, 1.0, 0.2))


def test_a_held_neuron_is_not_driven_off_its_kinks():
    kinks, rng = random_kinks(4)
    for held in ([1], [0, 2], [0, 1, 3]):
        signs = np.ones(4, dtype=np.int8)
        signs[held] = 0
        drive = rng.standard_normal(6) @ kinks.seen(signs)
        np.testing.assert_allclose(kinks.normals[held] @ drive, 0.0, atol=1e-14)
    assert not kinks.seen(signs).any()  # three independent lines in three dimensions leave nothing


@given(seed=st.integers(0, 10**6), lines=st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_multipliers_meet_the_conditions_of_sliding(seed, lines):
    """0 <= mu <= b; the velocity q - Gram mu is zero inside, points down at mu = 0 and up at mu = b."""
    rng = np.random.default_rng(seed)
    normals = rng.standard_normal((lines, 5))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    gram, q, bounds = normals @ normals.T, rng.standard_normal(lines), rng.uniform(0.1, 2.0, lines)
    mu = box_problem(gram, q, bounds)
    assert ((mu >= 0) & (mu <= bounds)).all()
    velocity = q - gram @ mu
    assert (np.abs(velocity[(mu > 0) & (mu < bounds)]) < 1e-10).all()
    assert (velocity[mu == 0] < 1e-10).all()
    assert (velocity[mu == bounds] > -1e-10).all()


@given(seed=st.integers(0, 10**6), touching=st.integers(1, 3), sign_a=st.sampled_from([-1.0, 1.0]))
@settings(max_examples=60, deadline=None)
def test_a_verdict_moves_every_neuron_into_the_pattern_it_names(seed, touching, sign_a):
    """Lines that attract: with the new pattern's own drive, n.w rises where the sign is +, falls where it is -, rests where held."""
    kinks, rng = random_kinks(seed)
    lines = rng.permutation(4)[:touching]
    pull, signs = rng.standard_normal(6), rng.choice(np.array([-1, 1], dtype=np.int8), 4)
    verdict = resolve(kinks, signs, lines, sign_a, pull)
    attracting = sign_a * kinks.jumps(pull)[lines] < 0
    after = signs.copy()
    after[lines] = verdict.signs
    velocity = sign_a * kinks.normals[lines] @ (pull @ kinks.seen(after))
    assert (velocity[attracting] * verdict.signs[attracting] >= -1e-12).all()
    assert (np.abs(velocity[verdict.signs == 0]) < 1e-12).all()
    inside = verdict.multipliers[verdict.signs == 0]
    assert ((inside > 0) & (inside < 1)).all()


@pytest.mark.parametrize(("weak", "held"), [(1e-3, True), (1e-11, True), (1e-14, False)])
@pytest.mark.parametrize("sign_a", [-1.0, 1.0])
def test_a_kink_holds_what_is_hardly_pushed_in_from_one_side(weak, held, sign_a):
    """Sent away because its multiplier is next to 0, a neuron comes back for ever, unless what pushes it is rounding."""
    net = rl.Network(2, (1,))
    kinks = Kinks(rl.Problem(rl.Dataset([[0.0, 1.0], [1.0, weak]], [1.0, 1.0]), net, net.init(1.0, seed=0)))
    (line, other), outwards = kinks.line, np.sign(kinks.lengths).astype(np.int8)
    signs = np.empty(2, dtype=np.int8)
    signs[line], signs[other] = -outwards[0], outwards[1]
    verdict = resolve(kinks, signs, np.array([line]), sign_a, sign_a * np.array([-1.0, 1.0]))
    assert verdict.signs[0] == (0 if held else -outwards[0])


def test_what_pushes_in_is_rounding_only_against_what_acts_on_that_side():
    """Below its kink a neuron sees one sample, whose pull is 1e-20 of the other's, and comes back for ever if it is sent there."""
    net = rl.Network(2, (1,))
    kinks = Kinks(rl.Problem(rl.Dataset([[0.0, 1.0], [1.0, 1.0]], [1.0, 1.0]), net, net.init(1.0, seed=0)))
    (line, other), outwards = kinks.line, np.sign(kinks.lengths).astype(np.int8)
    signs = np.empty(2, dtype=np.int8)
    signs[line], signs[other] = -outwards[0], outwards[1]
    assert resolve(kinks, signs, np.array([line]), 1.0, np.array([-1.0, 1e-20])).signs[0] == 0


# ---------------------------------------------------------------- one kink

PUSH = [[1.0, 0.0], [1.0, 2.0]], [2.0, 2.0]  # active on w = (4, -1): drive (4/3, 4/3) with P = 3; the third sample is (0, 1)


@pytest.mark.parametrize("method", METHODS)
def test_crossing(method):
    """y = 2: beyond the kink the sample adds 2/3 to the drive."""
    run, w = drift([*PUSH[0], [0.0, 1.0]], [*PUSH[1], 2.0], [[4.0, -1.0]], [0.0, 0.75, 2.0], method)
    assert_path(w[:, 0], [[4.0, -1.0], [5.0, 0.0], [20 / 3, 2.5]], method)
    if method == "kinks":
        assert happened(run) == [(0.75, 0, 2, Kind.CROSS)]
        assert speeds_along(run, 0, 2) == pytest.approx((4 / 3, 2.0))


@pytest.mark.parametrize("method", METHODS)
def test_sliding(method):
    """y = -6: pushed back with 4/3 - 2 beyond the kink, so the neuron slides, and the sample counts for two thirds."""
    run, w = drift([*PUSH[0], [0.0, 1.0]], [*PUSH[1], -6.0], [[4.0, -1.0]], [0.5, 0.75, 3.0], method)
    assert_path(w[:, 0], [[14 / 3, -1 / 3], [5.0, 0.0], [8.0, 0.0]], method)
    assert happened(run) == [(0.75, 0, 2, Kind.HOLD)]
    assert speeds_along(run, 0, 2) == pytest.approx((4 / 3, -2 / 3))
    share = run.events.multiplier[0]
    assert share == pytest.approx(2 / 3 if run.problem.data.lines.lengths[2] > 0 else 1 / 3)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("alpha", [0.0, 0.25])
def test_samples_of_one_line_make_one_kink(method, alpha):
    """(0, 1) twice with y = -4 and (0, -2) with y = -1: below the kink only the antipode counts in full, above only the others."""
    x, y = [[6.0, 3.0], [0.0, 1.0], [0.0, 1.0], [0.0, -2.0]], [2.0, -4.0, -4.0, -1.0]
    below = np.array([3.0, 1.5 + 0.5 - alpha * 2.0])
    above = np.array([3.0, 1.5 + alpha * 0.5 - 2.0])
    run, w = drift(x, y, [[1.0, -0.3]], [0.1, 2.0], method, alpha=alpha)
    hit = 0.3 / below[1]
    assert hit > 0.1
    assert_path(w[0, 0], [1.3, -0.3 + 0.1 * below[1]], method)
    assert_path(w[1, 0], [7.0, 0.0], method)
    assert happened(run) == [(round(hit, 3 if method == "smooth" else 7), 0, 1, Kind.HOLD)]
    assert speeds_along(run, 0, 1) == pytest.approx((below[1], above[1]))


@pytest.mark.parametrize("method", METHODS)
def test_a_negative_second_layer_mirrors_the_motion(method):
    """Labels and second layer of the opposite sign give the same motion."""
    run, w = drift([*PUSH[0], [0.0, 1.0]], [-2.0, -2.0, 6.0], [[4.0, -1.0]], [0.75, 3.0], method, sign=-1.0)
    assert_path(w[:, 0], [[5.0, 0.0], [8.0, 0.0]], method)
    assert [kind for *_, kind in happened(run)] == [Kind.HOLD]


@pytest.mark.parametrize("method", METHODS)
def test_a_neuron_that_leaves_its_last_active_sample_dies_there(method):
    """x = (1, 0), y = -1: w = (1, 2) moves back to the kink at t = 1 and stops; beyond it nothing acts."""
    run, w = drift([[1.0, 0.0]], [-1.0], [[1.0, 2.0]], [0.5, 1.0, 50.0], method)
    assert_path(w[:, 0], [[0.5, 2.0], [0.0, 2.0], [0.0, 2.0]], method)
    if method == "kinks":
        assert happened(run)[-1] == (1.0, 0, -1, Kind.DEATH)


# ---------------------------------------------------------------- neurons that start on a kink


@pytest.mark.parametrize("method", METHODS)
def test_start_on_a_kink_that_attracts(method):
    run, w = drift([*PUSH[0], [0.0, 1.0]], [*PUSH[1], -6.0], [[5.0, 0.0]], [3.0], method)
    assert_path(w[0, 0], [9.0, 0.0], method)
    assert happened(run) == [(0.0, 0, 2, Kind.HOLD)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("label", "height"), [(2.0, 2.0), (-1.0, 1.0)])
def test_start_on_a_kink_that_lets_through(method, label, height):
    """The drive across is 4/3 on one side and 4/3 + y/3 on the other: through it goes, upwards."""
    _, w = drift([*PUSH[0], [0.0, 1.0]], [*PUSH[1], label], [[5.0, 0.0]], [3.0], method)
    assert_path(w[0, 0], [9.0, 3.0 * height], method)


@pytest.mark.parametrize("method", METHODS)
def test_start_on_a_kink_that_repels_leaves_as_descent_does(method):
    """Drive across -2/3 below, 4/3 above: both sides are solutions; at zero the sample is not active, so descent goes below."""
    x, y = [[1.0, 0.0], [1.0, -1.0], [0.0, 1.0]], [2.0, 2.0, 6.0]
    run, w = drift(x, y, [[5.0, 0.0]], [3.0], method, repelled=1)
    assert_path(w[0, 0], [9.0, -2.0], method)
    assert Kind.HOLD not in [kind for *_, kind in happened(run)]


# ---------------------------------------------------------------- several kinks


@pytest.mark.parametrize("method", METHODS)
def test_a_hold_ends_because_another_kink_is_crossed(method):
    """Held on w_3 = 0 until (0, 1, 3) switches on at t = 1 and lifts the neuron off."""
    x, y = [[1.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 1.0, 3.0]], [3.0, -6.0, 3.0]
    run, w = drift(x, y, [[5.0, -1.0, 0.0]], [1.0, 2.0], method)
    assert_path(w[:, 0], [[6.0, 0.0, 0.0], [7.0, 2.0, 2.0]], method)
    if method == "kinks":
        assert happened(run)[0] == (0.0, 0, 1, Kind.HOLD)
        assert sorted(happened(run)[1:]) == [(1.0, 0, 1, Kind.RELEASE), (1.0, 0, 2, Kind.CROSS)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("labels", "kinds", "end"),
    [
        ((3.0, 3.0), {Kind.CROSS}, [7.0, 2.0, 2.0]),
        ((-6.0, -6.0), {Kind.HOLD}, [7.0, 0.0, 0.0]),
        ((3.0, -6.0), {Kind.CROSS, Kind.HOLD}, [7.0, 2.0, 0.0]),
    ],
    ids=["crosses both", "is held on both", "crosses one and is held on the other"],
)
def test_two_kinks_at_the_same_moment(method, labels, kinds, end):
    """w = (5, -1, -1) under the drive (1, 1, 1) meets w_2 = 0 and w_3 = 0 at t = 1."""
    x = [[1.0, 1.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    run, w = drift(x, [3.0, *labels], [[5.0, -1.0, -1.0]], [1.0, 2.0], method)
    assert_path(w[:, 0], [[6.0, 0.0, 0.0], end], method)
    if method == "kinks":
        assert {kind for *_, kind in happened(run)} == kinds
        assert [t for t, *_ in happened(run)] == [1.0, 1.0]


@pytest.mark.parametrize("method", METHODS)
def test_held_on_two_kinks_that_are_not_at_right_angles(method):
    """Lines (0, 1, 0) and (0, 3, 4)/5, drive (1, 1, 1): shares from the 2 x 2 Gram system, w moves along the first axis only."""
    x, y = [[1.0, 1.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.6, 0.8]], [3.0, -3.0, -9.0]
    run, w = drift(x, y, [[5.0, 0.0, 0.0]], [4.0], method)
    assert_path(w[0, 0], [9.0, 0.0, 0.0], method)
    assert [kind for *_, kind in happened(run)] == [Kind.HOLD, Kind.HOLD]
    shares = np.array(run.events.multiplier)
    lengths = run.problem.data.lines.lengths[1:]
    active = np.where(lengths > 0, shares, 1 - shares)
    # (1, 1) = l_1 (1, 0) + 3 l_2 (0.6, 0.8) in the plane of the two lines
    np.testing.assert_allclose(active, [0.25, 1.25 / 3], rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_neuron_held_on_as_many_kinks_as_inputs_stays_at_the_origin(method):
    """y = -1 on +-e_1 and +-e_2 with a > 0: the origin attracts from all sides; w = (1, 0.25) slides into it."""
    x = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    run, w = drift(x, [-1.0] * 4, [[1.0, 0.25]], [1.0, 2.0, 4.0, 9.0], method)
    assert_path(w[:, 0], [[0.75, 0.0], [0.5, 0.0], [0.0, 0.0], [0.0, 0.0]], method)
    assert happened(run)[0] == (1.0, 0, 2, Kind.HOLD)


@pytest.mark.parametrize("method", METHODS)
def test_a_sliding_neuron_passes_through_the_origin(method):
    """Held on w_2 = 0, pulled to the left by (1, -1) before and by (-1, 1) after the origin, which it passes at t = 2."""
    x, y = [[1.0, -1.0], [0.0, 1.0], [-1.0, 1.0]], [-3.0, -6.0, 3.0]
    run, w = drift(x, y, [[2.0, 0.0]], [1.0, 2.0, 3.0, 5.0], method)
    assert_path(w[:, 0], [[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0], [-3.0, 0.0]], method)
    assert (2.0, 0, -1, Kind.ORIGIN) in happened(run)


@pytest.mark.parametrize("method", METHODS)
def test_one_input_crosses_the_origin(method):
    """One dimension: w = 1 is pulled left at speed 1, and beyond zero at speed 2."""
    _, w = drift([[1.0], [-1.0]], [-2.0, 4.0], [[1.0]], [1.0, 3.0], method)
    assert_path(w[:, 0, 0], [0.0, -4.0], method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("w", [[0.0, 0.0], [1e-14, -1e-14]], ids=["at the origin", "as good as at the origin"])
def test_a_neuron_that_starts_at_the_origin_leaves_along_its_own_drive(method, w):
    """Labels 1 on (1, 0) and (1, 1): the direction (2, 1) activates both samples and is the drive they give."""
    _, end = drift([[1.0, 0.0], [1.0, 1.0]], [1.0, 1.0], [w], [2.0], method)
    assert_path(end[0, 0], [2.0, 1.0], method)


@pytest.mark.parametrize("method", METHODS)
def test_the_only_way_out_of_the_origin_is_found(method):
    """Leaky, a < 0, labels 1: only directions that activate no sample lead out, and -(1, 2) is the one that drives itself."""
    _, end = drift([[-1.0, 1.0], [2.0, 1.0]], [1.0, 1.0], [[0.0, 0.0]], [2.0], method, sign=-1.0, alpha=0.2)
    assert_path(end[0, 0], [-0.2, -0.4], method)


# ---------------------------------------------------------------- ties and certificates


@pytest.mark.parametrize("method", METHODS)
def test_identical_neurons_stay_identical(method):
    run, w = drift([*PUSH[0], [0.0, 1.0]], [*PUSH[1], -6.0], [[4.0, -1.0]] * 4, [0.75, 3.0], method)
    np.testing.assert_array_equal(w, np.repeat(w[:, :1], 4, axis=1))
    assert sorted(happened(run)) == [(0.75, h, 2, Kind.HOLD) for h in range(4)]


def test_events_are_in_order_and_tampered_ones_are_not_certified():
    net = rl.Network(2, (12,))
    problem = rl.Problem(rl.datasets.six_points(), net, net.init(0.1, seed=0))
    events = rl.simulate(problem, [200.0], method="kinks").events
    assert events.count(Kind.HOLD) > 0
    assert events.count(Kind.CROSS) > 0
    assert (np.diff(events.time) >= 0).all()
    assert events.certified
    assert str(events).endswith("(all certified)")
    for kind in (Kind.HOLD, Kind.CROSS):
        k = np.flatnonzero(events.kind == kind)[0]
        velocity = events.velocity_above.copy()
        velocity[k] = -events.velocity_above[k] or 1.0
        tampered = replace(events, velocity_above=velocity)
        assert not tampered.certified
        assert str(tampered).endswith("(NOT all certified)")


def test_multipliers_of_holds_lie_between_zero_and_one():
    net = rl.Network(2, (12,))
    events = rl.simulate(rl.Problem(rl.datasets.six_points(), net, net.init(0.1, seed=0)), [200.0], method="kinks").events
    held = events.multiplier[events.kind == Kind.HOLD]
    assert ((held >= 0) & (held <= 1)).all()


def test_no_events_read_as_none():
    assert str(Events()) == "none"
    assert len(Events()) == 0
    assert Events().certified


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("method", METHODS)
def test_a_neuron_that_starts_on_a_kink_without_speed(method, alpha):
    """The speed across is zero up to rounding, of either sign, and only its growth tells which way the neuron goes."""
    x, y = [[1.0, 1.0, 1.0, 1.0], [-2.0, 2.0, -1.0, 1.0], [0.0, 2.0, -1.0, 1.0]], [-1.0, -1.0, 2.0]
    weights = [[0.5, -0.5, -1.0, 0.5], [-1.0, 1.0, 0.5, -0.5]], [[1.0, 0.5]]
    network = rl.Network(4, (2,), alpha=alpha, trainable=(True, False))
    problem = rl.Problem(rl.Dataset(x, y), network, weights)
    run = rl.simulate(problem, [1.0], method=method)
    assert run.status is rl.Status.FINISHED
    np.testing.assert_allclose(run.final[0], rl.descend(problem, 1e-3, 1000).final[0], rtol=0, atol=2e-3)


@pytest.mark.parametrize(("delta", "seed"), [(0.15, 9), (0.1, 14), (0.05, 26)])
def test_a_long_step_is_cut_at_its_event_from_its_own_polynomial(delta, seed):
    """Starts whose step to an event does not converge from a guess of nothing."""
    network = rl.Network(2, (100,))
    problem = rl.Problem(rl.datasets.six_points(delta), network, network.init(1e-3, seed=seed))
    run = rl.simulate(problem, [300 / delta], stop_loss=1e-12)
    assert run.status.name == "LOSS_REACHED"


@pytest.mark.parametrize("seed", [1, 2])
def test_saved_times_are_as_exact_as_steps_where_neurons_stop_on_kinks(seed):
    """Orthogonal inputs: beyond the kink of a sample nothing moves a neuron along that sample any more."""
    data, network = rl.datasets.orthogonal(samples=6, inputs=8, seed=0), rl.Network(8, (60,))
    problem = rl.Problem(data, network, network.init(1e-3, seed=seed), "logistic")
    times = np.linspace(0.0, 150.0, 61)
    loose, tight = (rl.simulate(problem, times, rtol=rtol) for rtol in (1e-8, 1e-11))
    np.testing.assert_allclose(loose.loss, tight.loss, atol=1e-8)
    assert loose.audit.energy_residual < 1e-7


def test_smooth_steps_go_to_the_kink_that_catches_a_neuron():
    """Logistic loss, fixed second layer: neuron 0 is caught by the third line at t = 2.6603, neuron 4 at 4.6119."""
    x = [
        [-0.80193143, -1.324359, -0.24836162, 0.42044524],
        [1.13604653, 0.1097064, -0.55264732, -0.78478036],
        [0.74874577, 1.63478304, 0.27276878, -1.23332866],
        [-0.95826521, 1.60001909, 0.20288244, -1.73213484],
        [-0.08369619, -1.16322597, -0.62928809, -0.48800582],
    ]
    w = [
        [-0.58943126, 0.40963783, 0.82985531, -1.64302337],
        [-0.25673013, -0.98074736, -0.17315522, -1.28941875],
        [0.02069039, -0.03788574, -0.30433775, -1.04792651],
        [-0.39619033, -1.0913289, -1.35520875, 0.22478573],
        [-1.10934994, 1.1702961, 0.71658766, -1.99781669],
        [0.27212887, -1.10171663, 0.03305722, 0.04363199],
    ]
    a = [[-1.98842979, -0.23342252, -0.25579003, 0.96200053, -1.18144681, 0.7380419]]
    network = rl.Network(4, (6,), 0.2, trainable=(True, False))
    problem = rl.Problem(rl.Dataset(x, [1.0, 1.0, 1.0, -1.0, -1.0]), network, (w, a), "logistic")
    exact, smooth = (rl.simulate(problem, [6.0], method=method) for method in METHODS)
    for run, tolerance in ((exact, 1e-6), (smooth, 1e-3)):
        caught = run.events.kind == Kind.HOLD
        np.testing.assert_allclose(run.events.time[caught], [2.6602985, 4.6118824], atol=tolerance)
    assert (
        smooth.statistics["kinks stepped over"] < 50
    )  # crossings; steps that end on the side they came from do not pile up


@pytest.mark.parametrize(("behind", "crosses"), [(3e-7, True), (1e-6, False), (2e-6, False), (3e-6, False)])
def test_who_is_turned_back_by_those_that_cross_before_it_does_not_depend_on_the_tolerance(behind, crosses):
    """Six neurons near a kink that repels, one behind: as they cross, the long sample's pull turns all others round within 1e-7.

    No weight shows that by then, so that a loose run followed all seven over the kink as if none felt the others.
    """
    x = np.array([[0.0, 1e3], [1.0, 1.0], [-1.0, 0.0]])
    w = np.stack([-1.001 - np.append(1e-9 * np.arange(6), behind), np.ones(7)], axis=1)
    a = np.append(np.ones(6), 0.1)
    w[-1] *= 0.1
    y = [1e3 * float(a @ w[:, 1]), 60.0, -5.0]
    problem = rl.Problem(rl.Dataset(x, y), rl.Network(2, (7,)), (w, a[None]))
    for rtol in (1e-4, 1e-5, 1e-9):
        last = rl.simulate(problem, times=[0.01], method="kinks", rtol=rtol).final[0]
        assert (last[:6] @ x[1] > 0.0).all()
        assert bool(last[6] @ x[1] > 0.0) == crosses


def test_velocities_that_rounding_may_have_made_are_noted_as_zero():
    """At a loss of 1e-23 residuals are what rounding of outputs leaves: no crossing is doubtful for which way they point."""
    network = rl.Network(2, (1,))
    problem = rl.Problem(rl.Dataset(np.eye(2), [0.0, 1.0]), network, network.init(1.0, seed=0))
    decisions = Decisions(Kinks(problem))
    for decisions.rounded, told in ((0.0, True), (1e-15, False)):
        decisions.note(1.0, 0, 0, Kind.CROSS, -4e-16, 9e-16)
        assert decisions.events().doubtful[-1] == told


@pytest.mark.parametrize(("held_before", "kept"), [(False, True), (True, False)])
def test_who_was_sent_back_and_arrives_again_does_what_pulls_are_about_to_make_it_do(held_before, kept):
    """Its speed away is rounding; but a line that held it at this very moment already would hold and let go by turns."""
    network = rl.Network(2, (1,))
    problem = rl.Problem(
        rl.Dataset([[1.0, 0.0], [1.0, 1.0]], [1.0, 1.0]), network, (np.array([[0.0, 1.0]]), np.ones((1, 1)))
    )
    decisions = Decisions(Kinks(problem))
    line, before = int(decisions.kinks.line[0]), np.sign(decisions.kinks.normals @ [0.1, 1.0]).astype(np.int8)
    theta, still, soon = np.array([0.0, 1.0, 1.0]), np.array([0.0, 1e-9]), np.array([-3.0, 1.0])
    if held_before:
        decisions.note(1.0, 0, line, Kind.HOLD)
    events = StepEvents(Groups(decisions.kinks, theta[None].copy(), before[None].copy(), False), decisions)
    pattern, _ = events._settled(0, theta, before, line, still, 1.0, soon)
    assert (pattern[line] == 0) == kept
    assert decisions.events().count(Kind.HOLD) == 1
