"""The parts of kink-exact runs by themselves: groups, the polynomial of a step, crossings, holds, light neurons, early kernels."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.special import roots_jacobi

import rectilinear as rl
from compiled_parts import from_python
from rectilinear.flow.collocation import (
    ALL_NODES,
    DIP,
    NODES,
    basis_at,
    earliest,
    fall,
    first_root,
    integrals_to,
    may_fall,
    stages_at,
    value_at,
)
from rectilinear.flow.engines.early_phase_kernels import (
    ConstantPull,
    EarlyNeurons,
    advance_free,
    advance_held,
    move,
    next_kink,
    sign_change,
)
from rectilinear.flow.engines.light_neuron_kernels import DONE, FreeNeurons, KnownPulls, collocate_neuron, follow_free
from rectilinear.flow.engines.light_neurons import KnownStep
from rectilinear.flow.kinks.crossings import all_crossings, crossings
from rectilinear.flow.kinks.decisions import Decisions
from rectilinear.flow.kinks.geometry import Kinks
from rectilinear.flow.kinks.holds import Holds
from rectilinear.flow.kinks.neuron_groups import Groups

ROUNDING = 1e-13
NONE_BEFORE = 2.0  # beyond the end of a step


def made_kinks(samples=5, inputs=3, alpha=0.2, seed=0):
    rng = np.random.default_rng(seed)
    network = rl.Network(inputs, (1,), alpha=alpha)
    data = rl.Dataset(rng.standard_normal((samples, inputs)), rng.standard_normal(samples))
    return Kinks(rl.Problem(data, network, network.init(1.0, seed=0))), rng


def patterns_of(kinks, theta):
    return np.sign(theta[:, :-1] @ kinks.normals.T).astype(np.int8)


# ---------------------------------------------------------------- groups


def made_groups(neurons=60, seed=0):
    kinks, rng = made_kinks(seed=seed)
    theta = rng.standard_normal((neurons, 4)) * 10.0 ** rng.uniform(-6, 0, (neurons, 1))
    return Groups(kinks, theta, patterns_of(kinks, theta)), theta, rng


def test_nodes_are_those_of_Radau():
    inner, _ = roots_jacobi(len(NODES) - 1, 1.0, 0.0)
    np.testing.assert_allclose(NODES, [*((1.0 + inner) / 2.0), 1.0], rtol=1e-15)


def test_carriers_carry_every_neuron_and_what_the_output_sees():
    groups, theta, _ = made_groups()
    assert len(groups.carried) < len(theta)
    sizes = np.linalg.norm(theta, axis=1, keepdims=True)
    np.testing.assert_allclose(
        groups.neurons(groups.carried) / sizes, theta / sizes, atol=1e-11
    )  # four decades share a basis
    for k, group in enumerate(groups.groups):
        assert (groups.patterns[group.members] == group.pattern).all()
        assert groups.counts[k] <= theta.shape[1]
        mine, carried = theta[group.members], groups.carried[groups.group == k]
        np.testing.assert_allclose(carried.T @ carried, mine.T @ mine, rtol=0, atol=ROUNDING * np.abs(mine.T @ mine).max())


def test_carriers_that_move_linearly_move_their_neurons_so():
    groups, theta, rng = made_groups(seed=1)
    turn = rng.standard_normal((4, 4))
    before = groups.neurons(groups.carried)
    after = groups.neurons(groups.carried @ turn)
    sizes = np.linalg.norm(theta, axis=1, keepdims=True)
    np.testing.assert_allclose(after / sizes, before @ turn / sizes, atol=1e-10)
    np.testing.assert_allclose(groups.lengths(groups.carried @ turn), np.linalg.norm(after, axis=1), rtol=1e-14)
    some = np.array([3, 17, 40])
    np.testing.assert_allclose(groups.some(some, groups.carried), before[some], rtol=0, atol=ROUNDING)


def test_neurons_that_change_their_pattern_change_their_group():
    groups, theta, _ = made_groups(seed=2)
    h = int(groups.groups[0].members[0])
    moved = groups.neurons(groups.carried)[[h]]
    moved[0, :-1] *= -1.0
    groups.replace(np.array([h]), moved, patterns_of(groups.kinks, moved))
    expected = theta.copy()
    expected[h] = moved
    sizes = np.linalg.norm(theta, axis=1, keepdims=True)
    np.testing.assert_allclose(groups.neurons(groups.carried) / sizes, expected / sizes, atol=1e-10)
    for k, group in enumerate(groups.groups):
        assert (groups.of_neuron[group.members] == k).all()
        assert (h in group.members) == (groups.of_neuron[h] == k)


def test_small_neurons_do_not_drown_in_the_basis_of_large_ones():
    kinks, rng = made_kinks()
    direction = rng.standard_normal((1, 4))
    theta = np.concatenate([direction * (1.0 + 1e-3 * k) for k in range(6)] + [1e-12 * direction])
    groups = Groups(kinks, theta, patterns_of(kinks, theta))
    assert len(groups.groups) == 2
    np.testing.assert_allclose(groups.neurons(groups.carried)[-1], theta[-1], rtol=1e-15)


# ---------------------------------------------------------------- the polynomial of a step


def polynomial(rng):
    """Coefficients of degree five, highest first, and the values at the six nodes."""
    coefficients = rng.standard_normal(6)
    return coefficients, np.polyval(coefficients, ALL_NODES)


def test_values_and_integrals_of_the_polynomial_are_exact():
    rng, at = np.random.default_rng(0), from_python(value_at)
    for u in (0.0, 0.3, NODES[2], 1.0, 1.4):
        coefficients, values = polynomial(rng)
        assert at(values, u) == pytest.approx(np.polyval(coefficients, u), abs=1e-12)
        assert basis_at(u) @ values == pytest.approx(np.polyval(coefficients, u), abs=1e-12)
        stages = (values - values[0])[1:, None, None] * np.array([[1.0, -2.0, 0.5]])
        expected = (basis_at(u) @ values - values[0]) * np.array([[1.0, -2.0, 0.5]])
        np.testing.assert_allclose(stages_at(stages, np.array([0.5, u]))[1], expected, atol=1e-12)
        quartic = coefficients[1:]
        integral = np.polyval(np.polyint(quartic), u)
        assert integrals_to(np.polyval(quartic, NODES), np.array([0.5, u]))[1] == pytest.approx(integral, abs=1e-12)


def test_the_first_root_is_where_the_polynomial_first_falls_through_zero():
    rng, found = np.random.default_rng(1), 0
    for _ in range(200):
        coefficients, values = polynomial(rng)
        coefficients[-1] += abs(values[0]) + 0.1 - values[0]  # it begins above zero
        values = np.polyval(coefficients, ALL_NODES)
        roots = np.roots(coefficients)
        inside = np.sort(roots[(np.abs(roots.imag) < 1e-12) & (roots.real > 0) & (roots.real < 1)].real)
        root = first_root(values, 0.0, NONE_BEFORE)
        if (values > 0.0).all():
            assert root == NONE_BEFORE  # dips between two nodes are too small to matter
            continue
        found += 1
        assert np.abs(inside - root).min() < 1e-10
        node = ALL_NODES[np.argmax(values < 0.0)]
        assert root <= node
        assert first_root(values, 0.0, root / 2) in (NONE_BEFORE, pytest.approx(root))
    assert found > 50


def test_halving_finds_the_fall_and_the_earliest_moment():
    values = 1.0 - ALL_NODES**3
    low, high = from_python(fall)(values, 0.5, 0.0, 1.0)
    assert low <= high
    assert low == pytest.approx(0.5 ** (1 / 3), rel=1e-14)
    assert earliest(lambda u: u**2 > 0.3, 1e-12) == pytest.approx(np.sqrt(0.3), abs=1e-12)


# ---------------------------------------------------------------- crossings and holds


def test_crossings_are_the_first_of_every_neuron():
    groups, theta, rng = made_groups(seed=3)
    kinks = groups.kinks
    drift = 0.4 * rng.standard_normal((4, 4))
    turns = np.array([np.eye(4) + u * drift for u in ALL_NODES])
    heights = np.array([(groups.carried @ turn)[:, :-1] @ kinks.normals.T for turn in turns])
    bands = 1e-13 * groups.sizes
    arguments = (heights, groups.carrying, groups.patterns, bands)
    times, neurons, lines = all_crossings(*arguments)
    starts = theta[:, :-1] @ kinks.normals.T
    ends = (theta @ (np.eye(4) + drift))[:, :-1] @ kinks.normals.T
    with np.errstate(divide="ignore"):
        met = np.where(starts * ends < 0.0, starts / (starts - ends), np.inf)  # heights are linear in u here
    expected = np.flatnonzero(np.isfinite(met).any(axis=1))
    np.testing.assert_array_equal(np.sort(neurons), expected)
    np.testing.assert_array_equal(lines, met[neurons].argmin(axis=1))
    np.testing.assert_allclose(times, met[neurons].min(axis=1), atol=1e-9)
    among = (neurons >= 5) & (neurons < 20)
    for some, all_of_them in zip(crossings(*arguments, 5, 20), (times, neurons, lines), strict=True):
        np.testing.assert_array_equal(some, all_of_them[among])


def test_a_hold_ends_where_its_multiplier_leaves_the_unit_interval():
    ended = 0
    for seed in range(40):
        kinks, rng = made_kinks(seed=seed)
        theta = rng.standard_normal((1, 4))
        line = int(rng.integers(len(kinks)))
        theta[0, :-1] -= (theta[0, :-1] @ kinks.normals[line]) * kinks.normals[line]
        pattern = patterns_of(kinks, theta)
        pattern[0, line] = 0
        first, last = rng.standard_normal((2, len(kinks.line)))

        def multiplier(u, kinks=kinks, pattern=pattern, first=first, last=last):
            share, jump = kinks.holds(pattern[0], (1.0 - u) * first + u * last)
            return float(share[0] / jump[0]), float(-np.sign(theta[0, -1]) * jump[0])  # noqa: B023

        begins, attracts = multiplier(0.0)
        if not (0.0 < begins < 1.0 and attracts > 0.0):
            continue  # it is not held to begin with
        pulls = np.array([(1.0 - u) * first + u * last for u in ALL_NODES])
        end = Holds(Groups(kinks, theta, pattern)).first_end(pulls, 0.0, 0.0)
        looks = np.linspace(0.0, 1.0, 2001)
        outside = [not (0.0 <= multiplier(u)[0] <= 1.0 and multiplier(u)[1] > 0.0) for u in looks]
        assert (end is not None) == any(outside)
        if end is not None:
            ended += 1
            u, group, at, side = end
            assert (group, at) == (0, line)
            assert looks[max(np.argmax(outside) - 1, 0)] - 1e-9 <= u <= looks[np.argmax(outside)] + 1e-9
            bound, attracts = multiplier(u)
            if attracts > 1e-6:
                assert bound == pytest.approx(1.0 if side > 0 else 0.0, abs=1e-6)
    assert ended >= 5


# ---------------------------------------------------------------- single neurons


def reference(neuron, x, pull_at, alpha, l2, end, train=(1.0, 1.0)):
    """One neuron by small explicit steps with the slope that it has at each moment."""

    def rhs(u, state):
        w, a = state[:-1], state[-1]
        slopes = np.where(x @ w > 0.0, 1.0, alpha)
        g = (slopes * pull_at(u)) @ x
        return np.append(train[0] * (a * g - l2 * w), train[1] * (g @ w - l2 * a))

    return solve_ivp(rhs, (0.0, end), neuron, method="DOP853", rtol=1e-10, atol=1e-13, max_step=end / 400).y[:, -1]


@pytest.mark.parametrize(("l2", "train"), [(0.0, (1.0, 1.0)), (0.3, (1.0, 1.0)), (0.1, (1.0, 0.0)), (0.0, (0.0, 1.0))])
def test_a_neuron_under_known_pulls_is_collocated_exactly(l2, train):
    rng = np.random.default_rng(0)
    seen, theta = rng.standard_normal((4, 2)), rng.standard_normal(3)
    pulls = np.array([np.cos(u + np.arange(4)) for u in ALL_NODES])  # the interpolant of these is what it moves in
    path = np.empty((6, 3))
    step = KnownPulls(pulls, 0.4, np.array(train), l2)
    collocate_neuron(theta, seen, step, 0.2, 0.9, path)

    def rhs(u, state):
        g = basis_at(u) @ pulls @ seen
        w, a = state[:-1], state[-1]
        return 0.4 * np.append(train[0] * (a * g - l2 * w), train[1] * (g @ w - l2 * a))

    exact = solve_ivp(rhs, (0.2, 0.9), theta, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    np.testing.assert_allclose(path[-1], exact, atol=1e-8)
    np.testing.assert_array_equal(path[0], theta)


def apart(theta):
    """|w|^2 - a^2, which neurons (..., inputs + 1) conserve."""
    return np.sum(theta[..., :-1] ** 2, axis=-1) - theta[..., -1] ** 2


def followed(kinks, theta, pulls, h):
    thetas, signs = theta.copy(), patterns_of(kinks, theta)
    reached, status, events = np.zeros(len(theta)), np.zeros(len(theta), dtype=np.intp), np.empty((1000, 6))
    sizes = np.linalg.norm(theta, axis=1)
    free = FreeNeurons(thetas, signs, 1e-13 * sizes, reached, status)
    count = follow_free(free, kinks.arrays, KnownPulls(pulls, h, np.ones(2), 0.0), 1.0, events)
    return thetas, signs, status, events[:count]


@pytest.mark.parametrize("j", range(1, 6))
def test_a_path_that_dips_below_zero_between_two_nodes_is_seen(j):
    """A parabola is negative only around the middle of two nodes; nowhere at the nodes, and not at all if it is lifted."""
    middle, half = 0.5 * (ALL_NODES[j - 1] + ALL_NODES[j]), 0.5 * (ALL_NODES[j] - ALL_NODES[j - 1])
    depth = (0.6 * half) ** 2
    values = (ALL_NODES - middle) ** 2 - depth
    assert values.min() > 0.0
    assert first_root(values, 1e-13, NONE_BEFORE) == pytest.approx(middle - 0.6 * half, abs=1e-12)
    assert from_python(may_fall)(values, 1e-13)
    assert first_root(values + 1.01 * depth, 1e-13, NONE_BEFORE) == NONE_BEFORE


def test_a_polynomial_falls_no_farther_below_its_nodes_than_is_said():
    u = np.linspace(0.0, 1.0, 2001)
    reach = np.abs(np.array([basis_at(v) for v in u])).sum(axis=1).max()  # of polynomials between -1 and 1 at the nodes
    assert 0.5 * (reach - 1.0) < DIP


def test_velocities_at_kinks_that_are_rounding_are_zero():
    """The pulls of a sample and its triple cancel but for the last bits, which a very long step takes over their kink."""
    kinks = Kinks(rl.Problem(rl.Dataset([[0.1], [0.3]], [1.0, 1.0]), rl.Network(1, (1,)), ([[1.0]], [[1.0]])))
    pulls = np.repeat([[0.7, -(1.0 + 1e-14) * 0.7 / 3.0]], 6, axis=0)
    before = np.array([[1e-8, 1.0]])
    _, signs, _, events = followed(kinks, before, pulls, h=2e-8 / (0.07 * 1e-14))
    assert signs[0, 0] == -patterns_of(kinks, before)[0, 0]
    assert len(events) == 1
    assert not events[0, 3:5].any()


def test_light_neurons_cross_kinks_as_small_steps_do():
    kinks, rng = made_kinks(samples=6, inputs=2, alpha=0.5, seed=3)
    theta = rng.standard_normal((200, 3))
    pulls = np.repeat(0.3 * rng.standard_normal((1, 6)), 6, axis=0)
    thetas, signs, status, events = followed(kinks, theta, pulls, 0.1)
    free = np.flatnonzero((status == DONE) & (signs != 0).all(axis=1))
    crossed = np.intersect1d(free, events[np.isnan(events[:, 5]), 0].astype(int))
    assert len(crossed) >= 5
    for h in np.concatenate([crossed, free[:10]]):
        exact = reference(theta[h], kinks.x, lambda u: pulls[0], kinks.alpha, 0.0, 0.1)
        np.testing.assert_allclose(thetas[h], exact, atol=1e-6)  # small steps do not know where the kink is
    for _, u, _, below, above, held in events:
        assert 0.0 < u < 1.0
        assert below * above > 0.0 if np.isnan(held) else below > 0.0 > above


def test_a_hold_that_begins_within_a_step_may_end_within_it():
    """One sample makes the kink and pulls down, the other pushes up until its pull changes sign: held in between, and only there."""
    net = rl.Network(inputs=2, widths=(1,))
    problem = rl.Problem(rl.Dataset([[1.0, 0.0], [1.0, 1.0]], [1.0, 1.0]), net, ([[-0.1, 1.0]], [[1.0]]))
    decisions = Decisions(Kinks(problem))
    h, ends = 0.5, 0.625
    pulls = np.stack([np.full(6, -2.0), 1.0 - ALL_NODES / ends], axis=1)
    theta = np.array([[-0.1, 1.0, 1.0]])
    signs = patterns_of(decisions.kinks, theta)
    step = KnownStep(problem, decisions, np.ones(2), pulls, 0.0, h, 1.0)
    after, signs = step.follow(np.array([0]), theta, signs, np.array([1e-13]))
    line = int(decisions.kinks.line[0])
    events = [(event[2], event[3]) for event in decisions.log]
    assert events == [(line, rl.Kind.HOLD), (line, rl.Kind.RELEASE)]
    assert decisions.log[1][0] == pytest.approx(ends * h, rel=1e-12)
    assert signs[0, line] != 0
    assert after[0, 0] == pytest.approx(-h * (1.0 - ends) ** 2 / (2.0 * ends) * after[0, -1], rel=0.05)  # a changes by 3 %


def test_constant_drives_move_neurons_by_the_exponential_of_the_arrow():
    rng = np.random.default_rng(1)
    g, theta = rng.standard_normal(3), rng.standard_normal(4)
    arrow = np.zeros((4, 4))
    arrow[:3, 3], arrow[3, :3] = g, g
    moved = theta.copy()
    move(moved, g, apart(theta), 0.7)
    np.testing.assert_allclose(moved, expm(0.7 * arrow) @ theta, rtol=1e-13)
    still = theta.copy()
    move(still, np.zeros(3), 0.0, 0.7)
    np.testing.assert_array_equal(still, theta)


def test_a_neuron_that_is_driven_towards_zero_is_turned_around_by_what_it_conserves_and_not_by_rounding():
    g, size = np.array([3.0, 1.0]) / 7.0, np.sqrt(10.0) / 7.0
    for beyond in (0.0, 1e-12):
        theta = np.append(g / size, -1.0 - beyond)
        exact = -beyond * (2.0 + beyond)  # |w|^2 - a^2
        for _ in range(40):
            move(theta, g, exact, 1.0)
        grown = 0.5 * exact / (2.0 + beyond) * np.exp(40.0 * size)
        left = 0.5 * (2.0 + beyond) * np.exp(-40.0 * size)
        assert theta[-1] == pytest.approx(grown - left, rel=1e-9)
        assert sign_change(theta, g, exact) == np.inf


def constant_pull(lines: int, matters: bool = True, slowest: float = 0.0) -> ConstantPull:
    """What `next_kink` knows of pulls."""
    return ConstantPull(np.zeros(0), np.zeros(lines), np.full(lines, matters), slowest)


def test_the_next_kink_under_a_constant_drive_is_the_first_on_the_way():
    rng, met = np.random.default_rng(2), 0
    normals = rng.standard_normal((5, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    for _ in range(50):
        g, theta = rng.standard_normal(3), rng.standard_normal(4)
        signs = np.sign(normals @ theta[:-1]).astype(np.int8)
        wait, line = next_kink(theta, g, apart(theta), signs, normals, constant_pull(5))
        times = np.linspace(0.0, 6.0, 3001)
        size = np.linalg.norm(g)
        along = g @ theta[:-1] / size
        ahead = 0.5 * ((along + theta[-1]) * np.exp(size * times) + (along - theta[-1]) * np.exp(-size * times))
        w = theta[:-1] + (ahead - along)[:, None] * g / size
        left = (signs * (w @ normals.T) < 0.0).any(axis=1)
        if not left.any():
            assert wait > 6.0
            continue
        met += 1
        first = np.argmax(left)
        assert times[first - 1] <= wait <= times[first]
        assert signs[line] * (w[first] @ normals[line]) < 0.0
        assert next_kink(theta, g, apart(theta), signs, normals, constant_pull(5, matters=False)) == (np.inf, -1)
    assert met > 20


def test_what_rounding_leaves_of_pulls_that_cancel_pushes_no_neuron_over_a_kink():
    theta, signs = np.array([0.0, 1.0, -1.0]), np.array([1, 1], dtype=np.int8)
    for speed, met in ((1e-17, (np.inf, -1)), (1e-3, (0.0, 0))):
        assert next_kink(theta, np.array([speed, 0.0]), 0.0, signs, np.eye(2), constant_pull(2, slowest=1e-14)) == met


def test_early_neurons_go_from_kink_to_kink_as_small_steps_do():
    kinks, rng = made_kinks(samples=6, inputs=2, alpha=0.5, seed=3)
    theta, pull = rng.standard_normal((30, 3)), 0.3 * rng.standard_normal(6)
    thetas, signs = theta.copy(), patterns_of(kinks, theta)
    used, energies, where, events = np.zeros(30), np.zeros(30), np.full(30, -1, dtype=np.intp), np.empty((500, 5))
    drive = ConstantPull(pull, kinks.jumps(pull), np.ones(len(kinks), dtype=bool), 0.0)
    count = advance_free(EarlyNeurons(thetas, signs, apart(theta), used, energies, where), kinks.arrays, drive, 0.8, events)
    assert count > 5
    through = np.flatnonzero(where < 0)
    assert len(through) > 20
    for h in np.union1d(
        through[:4], np.intersect1d(through, events[:count, 0].astype(int))[:6]
    ):  # the slow part of this test
        np.testing.assert_allclose(thetas[h], reference(theta[h], kinks.x, lambda u: pull, kinks.alpha, 0.0, 0.8), atol=1e-6)
        assert used[h] == 0.8
    for h in np.flatnonzero(where >= 0):
        assert abs(kinks.normals[where[h]] @ thetas[h, :-1]) < 1e-12
    assert (energies[through] > 0.0).all()  # the integral of |velocity|^2
    # with room for few events at a time it goes on where it was
    again = EarlyNeurons(
        theta.copy(), patterns_of(kinks, theta), apart(theta), np.zeros(30), np.zeros(30), np.full(30, -1, dtype=np.intp)
    )
    parts = []
    while not parts or len(parts[-1]) == 2:
        room = np.empty((2, 5))
        parts.append(room[: advance_free(again, kinks.arrays, drive, 0.8, room)])
    np.testing.assert_array_equal(np.concatenate(parts), events[:count])
    np.testing.assert_array_equal(again.theta, thetas)
    np.testing.assert_array_equal(again.energies, energies)


def test_held_early_neurons_move_unless_something_happens_to_them():
    kinks, rng = made_kinks(samples=6, inputs=2, alpha=0.5, seed=3)
    theta, signs = rng.standard_normal((40, 3)), np.zeros((40, len(kinks)), dtype=np.int8)
    signs[:, 1:] = patterns_of(kinks, theta)[:, 1:]
    free, held, drives = np.arange(0, 40, 2), np.arange(1, 40, 2), rng.standard_normal((20, 2))
    pull = constant_pull(len(kinks))
    moved = EarlyNeurons(
        theta.copy(), signs.copy(), apart(theta), np.zeros(40), np.zeros(40), np.full(40, -1, dtype=np.intp)
    )
    advance_held(moved, held, drives, kinks.arrays, pull, 0.4)
    np.testing.assert_array_equal(moved.theta[free], theta[free])
    stayed = 0
    for h, g in zip(held, drives, strict=True):
        expected, turns = theta[h].copy(), sign_change(theta[h], g, apart(theta[h]))
        if turns < np.inf:
            move(expected, g, apart(theta[h]), turns)
            assert abs(expected[-1]) < 1e-14
            expected = theta[h].copy()
        happens = min(turns, next_kink(theta[h], g, apart(theta[h]), signs[h], kinks.normals, pull)[0])
        stayed += happens < 0.4
        if happens >= 0.4:
            move(expected, g, apart(theta[h]), 0.4)
        np.testing.assert_array_equal(moved.theta[h], expected)
        assert moved.used[h] == (0.4 if happens >= 0.4 else 0.0)
    assert 3 < stayed < 17


def test_paths_of_neurons_are_the_neurons_at_each_moment():
    rng = np.random.default_rng(0)
    net = rl.Network(inputs=2, widths=(7,))
    kinks = Kinks(rl.Problem(rl.datasets.six_points(), net, net.init(scale=1.0, seed=0)))
    theta = rng.standard_normal((7, 3))
    groups = Groups(kinks, theta, np.sign(theta[:, :-1] @ kinks.normals.T).astype(np.int8), decays=False)
    moved = np.stack([groups.carried, groups.carried + rng.standard_normal(groups.carried.shape)])
    paths = groups.all_paths(moved)
    for k in range(2):
        np.testing.assert_array_equal(paths[k], groups.neurons(moved[k]))
        np.testing.assert_array_equal(paths[k, [2, 5]], groups.some(np.array([2, 5]), moved[k]))
    np.testing.assert_allclose(paths[0], theta, atol=1e-14)


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_two_ways_of_moving_that_share_no_kernel_agree(seed):
    """Neurons followed by themselves and groups by collocation, through crossings, holds and releases."""
    rng = np.random.default_rng(seed)
    net = rl.Network(2, (6,))
    problem = rl.Problem(rl.Dataset(rng.standard_normal((9, 2)), rng.standard_normal(9)), net, net.init(0.4, seed=seed))
    times, rtol = [0.0, 3.0, 10.0], 1e-5
    followed, grouped = (rl.simulate(problem, times, method=method, rtol=rtol) for method in ("follow", "kinks"))
    assert grouped.events.count(rl.Kind.CROSS) > 9
    assert grouped.events.count(rl.Kind.HOLD) > 1
    for kind in (rl.Kind.CROSS, rl.Kind.HOLD, rl.Kind.RELEASE):
        assert followed.events.count(kind) == grouped.events.count(kind)
    for one, other in zip(followed.weights, grouped.weights, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=10 * rtol * np.abs(other).max())
