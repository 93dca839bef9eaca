"""What gradient flow conserves and what it does not see, on random small problems."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

import rectilinear as rl
from rectilinear.dataset import find_lines
from rectilinear.events import Kind

TIMES = np.array([0.0, 0.5, 2.0, 6.0])
BALANCE = 1e-9  # relative drift
RISE = 1e-13  # of the loss, relative to its first value
ENERGY = 1e-6  # relative to the first loss: the integral of |grad L|^2 is carried along, steps are not chosen for it
UNNOTICED = 1e-2  # the same for smooth steps: until a slide is noticed, the gradient on either side exceeds its speed
SAME_RUN = 1e-6  # two runs at rtol 1e-9 of one motion: neurons that part quickly amplify what they differ by
EXAMPLES = settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def problems(draw, classification=(False, True), bias=True, regularised=True, fixed=True, mirrored=True):
    """Up to eight samples, four inputs and six neurons, balanced or not, with every setting of the flow."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    samples, inputs, width = draw(st.integers(1, 8)), draw(st.integers(1, 4)), draw(st.integers(1, 6))
    x = rng.standard_normal((samples, inputs))
    if mirrored and draw(st.booleans()):
        x[samples // 2 :] = -x[: samples - samples // 2] * rng.choice([1.0, 0.5, -1.0], (samples - samples // 2, 1))
    loss = draw(st.sampled_from(["logistic", "exponential"] if draw(st.sampled_from(classification)) else ["square"]))
    y = rng.standard_normal(samples) if loss == "square" else rng.choice([-1.0, 1.0], samples)
    network = rl.Network(
        inputs,
        (width,),
        alpha=draw(st.sampled_from([0.0, 0.2, 1.0])),
        bias=bias and draw(st.booleans()),
        trainable=(True, not (fixed and draw(st.integers(0, 3)) == 0)),
    )
    scale = draw(st.sampled_from([0.05, 0.3, 1.0]))
    weights = tuple(scale * rng.standard_normal(shape) for shape in network.shapes)
    l2 = draw(st.sampled_from([0.0, 0.0, 0.1])) if regularised else 0.0
    return rl.Problem(rl.Dataset(x, y), network, weights, loss, l2)


def run_of(problem, times=TIMES, **options):
    run = rl.simulate(problem, times, **{"method": "kinks", **options})
    assert run.status is rl.Status.FINISHED
    return run


def assert_same_motion(first, second, tolerance=SAME_RUN):
    """Same losses and weights at all times."""
    np.testing.assert_allclose(second.loss, first.loss, rtol=0, atol=tolerance * max(1.0, first.loss[0]))
    for mine, other in zip(first.weights, second.weights, strict=True):
        np.testing.assert_allclose(other, mine, rtol=0, atol=tolerance * max(1.0, np.abs(mine).max()))


# ---------------------------------------------------------------- conserved


@given(problem=problems())
@EXAMPLES
def test_balance_loss_energy_and_certificates(problem):
    run = run_of(problem)
    if run.audit.balance_drift is None:
        assert not all(problem.network.trainable)
    else:
        assert run.audit.balance_drift < BALANCE
    assert run.audit.loss_rise <= RISE
    assert run.audit.energy_residual < ENERGY
    assert run.events.certified
    assert (np.diff(run.events.time) >= 0).all()


@given(problem=problems(fixed=False))
@EXAMPLES
def test_each_neuron_keeps_its_balance_and_strong_second_layers_their_signs(problem):
    """|w|^2 - a^2 falls as e^{-2 l2 t}; where it is negative a never vanishes."""
    run = run_of(problem)
    balance = np.sum(run.weights[0] ** 2, axis=2) - run.weights[1][:, 0] ** 2
    size = np.sum(run.weights[0] ** 2, axis=2).max(axis=0) + np.max(run.weights[1][:, 0] ** 2, axis=0)
    expected = np.exp(-2 * problem.l2 * TIMES)[:, None] * balance[0]
    np.testing.assert_allclose(balance / size, expected / size, rtol=0, atol=BALANCE)
    strong = balance[0] < -1e-3 * size
    signs = np.sign(run.weights[1][:, 0, strong])
    assert (signs == signs[0]).all()


@given(problem=problems(regularised=False))
@EXAMPLES
def test_the_smooth_method_conserves_too(problem):
    run = rl.simulate(problem, TIMES, method="smooth", rtol=1e-7, max_steps=3000)
    assume(run.status is rl.Status.FINISHED)
    assert run.audit.balance_drift is None or run.audit.balance_drift < BALANCE
    assert run.audit.loss_rise <= 1e-7
    assert run.audit.energy_residual < UNNOTICED


def sides(problem, weights):
    """The side of each line (neurons, lines) a neuron is on: that of the line's first sample; 0 on the kink itself."""
    lines = find_lines(problem.x)
    first_on = [int(np.flatnonzero(lines.index == k)[0]) for k in range(len(lines))]
    heights = weights[0] @ lines.normals.T * np.sign(lines.lengths[first_on])
    sizes = np.linalg.norm(np.concatenate([weights[0], weights[1].T], axis=1), axis=1)
    return np.where(np.abs(heights) > 1e-9 * sizes[:, None], np.sign(heights), 0)


@given(problem=problems(mirrored=False), scale=st.sampled_from([1.0, 1e-8]))
@settings(EXAMPLES, max_examples=60)
def test_crossings_account_for_every_change_of_side(problem, scale):
    """Where a neuron was never held, released or at the origin, it changed sides once per crossing; same for the early phase."""
    assume(problem.network.alpha < 1.0)  # there is nothing to cross in a linear network
    problem = problem.with_weights(tuple(scale * layer for layer in problem.weights))
    run = run_of(problem)
    crossings, other = np.zeros((2, problem.network.widths[0], len(find_lines(problem.x))))
    for neuron, line, kind in zip(run.events.neuron, run.events.line, run.events.kind, strict=True):
        if kind == Kind.CROSS:
            crossings[neuron, line] += 1
        else:
            other[neuron, line if line >= 0 else slice(None)] += 1
    before, after = sides(problem, problem.weights), sides(problem, run.final)
    told = (other == 0) & (before != 0) & (after != 0)
    np.testing.assert_array_equal(after[told], (before * (-1) ** crossings)[told])


# ---------------------------------------------------------------- symmetries


@given(problem=problems(), order=st.randoms(use_true_random=False))
@EXAMPLES
def test_the_order_of_neurons_and_samples_does_not_matter(problem, order):
    neurons, samples = (order.sample(range(n), n) for n in (problem.network.widths[0], problem.data.samples))
    data = rl.Dataset(problem.data.x[samples], problem.y[samples])
    first, second = problem.weights
    shuffled = rl.Problem(data, problem.network, (first[neurons], second[:, neurons]), problem.loss, problem.l2)
    run, other = run_of(problem), run_of(shuffled)
    back = np.argsort(neurons)
    moved = rl.Trajectory(problem, other.times, other.loss, (other.weights[0][:, back], other.weights[1][:, :, back]))
    assert_same_motion(run, moved)
    assert len(other.events) == len(run.events)


@given(problem=problems(bias=False), seed=st.integers(0, 10**6))
@EXAMPLES
def test_rotating_the_inputs_rotates_the_run(problem, seed):
    inputs = problem.network.inputs
    rotation = np.linalg.qr(np.random.default_rng(seed).standard_normal((inputs, inputs)))[0]
    first, second = problem.weights
    data = rl.Dataset(problem.data.x @ rotation, problem.y)
    turned = rl.Problem(data, problem.network, (first @ rotation, second), problem.loss, problem.l2)
    run, other = run_of(problem), run_of(turned)
    assert_same_motion(
        run, rl.Trajectory(problem, other.times, other.loss, (other.weights[0] @ rotation.T, other.weights[1]))
    )


@given(problem=problems())
@EXAMPLES
def test_flipping_labels_and_second_layer_flips_the_output(problem):
    first, second = problem.weights
    data = rl.Dataset(problem.data.x, -problem.y)
    run, other = run_of(problem), run_of(rl.Problem(data, problem.network, (first, -second), problem.loss, problem.l2))
    assert_same_motion(run, rl.Trajectory(problem, other.times, other.loss, (other.weights[0], -other.weights[1])))
    np.testing.assert_array_equal(other.events.kind, run.events.kind)


@given(problem=problems(bias=False))
@EXAMPLES
def test_mirroring_inputs_and_first_layer_changes_nothing(problem):
    first, second = problem.weights
    data = rl.Dataset(-problem.data.x, problem.y)
    run, other = run_of(problem), run_of(rl.Problem(data, problem.network, (-first, second), problem.loss, problem.l2))
    assert_same_motion(run, rl.Trajectory(problem, other.times, other.loss, (-other.weights[0], other.weights[1])))


@given(problem=problems(), share=st.floats(0.1, 0.9))
@EXAMPLES
def test_a_run_goes_on_from_any_of_its_states(problem, share):
    middle = 6.0 * share
    run = run_of(problem, [middle, 6.0])
    again = run_of(problem.with_weights(run.weights_at(0)), [6.0 - middle])
    for mine, other in zip(run.final, again.final, strict=True):
        np.testing.assert_allclose(other, mine, rtol=0, atol=SAME_RUN * max(1.0, np.abs(mine).max()))


@given(problem=problems(bias=False, regularised=False, fixed=False), factor=st.sampled_from([0.5, 3.0]))
@EXAMPLES
def test_scaling_samples_and_weights_only_changes_the_clock(problem, factor):
    """x / factor with weights sqrt(factor) larger: the same outputs at factor times the time."""
    first, second = (np.sqrt(factor) * layer for layer in problem.weights)
    data = rl.Dataset(problem.data.x / factor, problem.y)
    run, other = run_of(problem), run_of(rl.Problem(data, problem.network, (first, second), problem.loss), TIMES * factor)
    layers = tuple(layer / np.sqrt(factor) for layer in other.weights)
    assert_same_motion(run, rl.Trajectory(problem, TIMES, other.loss, layers))


@given(problem=problems(), parts=st.integers(2, 4))
@EXAMPLES
def test_a_neuron_split_into_proportional_ones_is_the_same_neuron(problem, parts):
    """Shares k_i of (w, a) with sum k_i^2 = 1 move as one neuron (merging lemma); needs both layers to train alike."""
    assume(all(problem.network.trainable))
    shares = np.sqrt(np.arange(1, parts + 1) / np.sum(np.arange(1, parts + 1)))
    first, second = problem.weights
    network = rl.Network(
        problem.network.inputs, (problem.network.widths[0] + parts - 1,), problem.network.alpha, problem.network.bias
    )
    weights = (
        np.concatenate([shares[:, None] * first[:1], first[1:]]),
        np.concatenate([shares * second[0, 0], second[0, 1:]])[None, :],
    )
    run = run_of(problem)
    other = run_of(rl.Problem(problem.data, network, weights, problem.loss, problem.l2))
    merged = (
        np.concatenate([other.weights[0][:, :1] / shares[0], other.weights[0][:, parts:]], axis=1),
        np.concatenate([other.weights[1][:, :, :1] / shares[0], other.weights[1][:, :, parts:]], axis=2),
    )
    assert_same_motion(run, rl.Trajectory(problem, TIMES, other.loss, merged))


# ---------------------------------------------------------------- one method against another


@given(seed=st.integers(0, 10**6), alpha=st.sampled_from([0.0, 0.3]), loss=st.sampled_from(["square", "logistic"]))
@EXAMPLES
def test_methods_agree_on_mirrored_data_where_nothing_slides(seed, alpha, loss):
    """Odd labels and an odd start (every neuron with its mirror image -(w, a)) keep the field continuous at all kinks."""
    rng = np.random.default_rng(seed)
    half = rng.standard_normal((4, 2))
    y = rng.standard_normal(4) if loss == "square" else rng.choice([-1.0, 1.0], 4)
    w, a = rng.standard_normal((2, 2)), rng.standard_normal(2)
    data = rl.Dataset(half, y).symmetrised()
    problem = rl.Problem(
        data, rl.Network(2, (4,), alpha=alpha), (np.concatenate([w, -w]), np.concatenate([a, -a])[None, :]), loss
    )
    exact, smooth = run_of(problem), run_of(problem, method="smooth")
    assert_same_motion(exact, smooth)
    assert set(exact.events.kind.tolist()) <= {0}


@given(problem=problems(regularised=False, fixed=False), scale=st.sampled_from([1e-6, 1e-9]))
@EXAMPLES
def test_the_exact_early_phase_agrees_with_stepping_through_it(problem, scale):
    small = problem.with_weights(tuple(scale * layer for layer in problem.weights))
    early, stepped = run_of(small), run_of(small, early_phase=False)
    assert "early" in early.provenance["method"]
    for mine, other in zip(stepped.weights, early.weights, strict=True):
        np.testing.assert_allclose(other, mine, rtol=0, atol=SAME_RUN * np.abs(mine).max())


@pytest.mark.parametrize("seed", range(6))
def test_gradient_descent_tends_to_the_sliding_flow_to_first_order(seed):
    """Six points, many holds: the error of gradient descent falls with its step."""
    network = rl.Network(2, (8,))
    problem = rl.Problem(rl.datasets.six_points(delta=0.3), network, network.init(0.5, seed=seed))
    run = run_of(problem, [10.0, 20.0, 30.0])
    errors = []
    for steps in (300, 3000):
        fine = rl.descend(problem, 30.0 / steps, steps, record_every=steps // 3)
        errors.append(np.abs(fine.loss[1:] - run.loss).max())
    assert errors[1] < 0.3 * errors[0]
    assert errors[1] < 1e-2


# ---------------------------------------------------------------- stationary points


def least_velocity(problem, weights):
    """Per neuron, the least |(dw/dt, da/dt)| over the generalised gradient: samples with w.x = 0 take any slope in [alpha, 1]."""
    first, second = weights
    pull = problem.loss.pull(problem.y, problem.output(weights)) / problem.data.samples
    least = []
    for w, a in zip(first, second[0], strict=True):
        heights = problem.x @ w / np.linalg.norm(problem.x, axis=1)
        on = np.abs(heights) <= 1e-9 * np.hypot(np.linalg.norm(w), a)
        fixed = (np.where(heights > 0, 1.0, problem.network.alpha) * ~on * pull) @ problem.x
        rows = (pull[:, None] * problem.x)[on]
        if len(rows):
            share = lsq_linear(a * rows.T, -a * fixed, bounds=(problem.network.alpha, 1.0), tol=1e-14)
            fixed = fixed + share.x @ rows
        least.append(np.hypot(np.linalg.norm(a * fixed), fixed @ w))
    return np.array(least)


def test_seeds_that_stay_on_the_plateau_are_stationary_in_the_sense_of_clarke():
    """Six points, width 20: some seeds keep a loss of 0.4396; zero is in the generalised gradient there, neuron by neuron."""
    stuck = 0
    for seed in range(1, 5):
        network = rl.Network(2, (20,))
        problem = rl.Problem(rl.datasets.six_points(), network, network.init(1e-3, seed=seed))
        run = rl.simulate(problem, [5000.0], stop_gradient=1e-10, stop_loss=1e-8)
        if run.status is rl.Status.STATIONARY:
            stuck += 1
            assert run.loss[-1] == pytest.approx(0.4396274887604368, abs=1e-12)
            assert least_velocity(problem, run.final).max() < 1e-7
    assert stuck >= 2


def test_the_least_velocity_of_a_moving_network_is_not_zero():
    network = rl.Network(2, (20,))
    problem = rl.Problem(rl.datasets.six_points(), network, network.init(0.1, seed=1))
    assert least_velocity(problem, run_of(problem, [3.0]).final).max() > 1e-3
