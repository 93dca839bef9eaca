"""Deep networks on the structure of Eqs. 39 and 40: detection, reduced flow, closed time courses, and what breaks them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import hyp2f1

import rectilinear as rl
from rectilinear.reduced.deep_scalar import layer_norm, time_to_reach
from rectilinear.reduced.deep_structure import aligned_deep_weights, blocks, deep_structure
from rectilinear.theorems import predict
from rectilinear.theorems.deep_reduction import masked_velocity, structured_velocity

ASKED = 1e-8  # agreement of the reduced flow with simulation that the paper's claim must show
ROUNDING = 1e-13
VISIBLE = 1e-2  # relative loss error at which prediction and training have parted; gradient descent itself is within 1e-3

TIMES = np.linspace(0.0, 30.0, 16)
WIDTHS = (6, 9, 5, 7)
DIRECTION = (1.0, 0.3, -0.5, 0.2)
TILT = np.array([0.0, 0.1, 0.0, 0.0])


def network(layers: int, alpha: float = 0.0) -> rl.Network:
    return rl.Network(inputs=4, widths=WIDTHS[: layers - 1], alpha=alpha)


def aligned_problem(layers: int, alpha: float = 0.0, loss: str = "square", l2: float = 0.0) -> rl.Problem:
    """Odd but non-linear labels on mirrored, non-white inputs."""
    data = rl.datasets.sine_teacher(inputs=4, pairs=15, seed=1)
    data = rl.Dataset(data.x * [1.0, 0.5, 1.5, 1.0], np.sign(data.y) if loss == "logistic" else data.y)
    net = network(layers, alpha)
    return rl.Problem(data, net, aligned_deep_weights(net, r=DIRECTION, u=0.6, seed=0), loss, l2)


def largest(layers_a: tuple[np.ndarray, ...], layers_b: tuple[np.ndarray, ...]) -> float:
    return max(float(np.abs(a - b).max()) for a, b in zip(layers_a, layers_b, strict=True))


# --- the structure itself -------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(alpha=st.floats(0.0, 1.0))
def test_gain_of_three_layers_has_its_closed_form(alpha: float) -> None:
    found = blocks(3, alpha)
    assert found.gain == pytest.approx(np.sqrt(1 + 6 * alpha**2 + alpha**4) / (2 * np.sqrt(2)), rel=1e-12)
    assert found.off_diagonal[0] / found.diagonal[0] == pytest.approx(2 * alpha / (1 + alpha**2), abs=1e-12)


@pytest.mark.parametrize("layers", [2, 3, 4, 5])
def test_gains_at_the_ends(layers: int) -> None:
    assert blocks(layers, 0.0).gain == pytest.approx(2 ** (-layers / 2))
    assert blocks(layers, 1.0).gain == pytest.approx(1.0)
    assert blocks(2, 0.3).gain == pytest.approx(0.65)


@pytest.mark.parametrize("layers", [2, 3, 4, 5])
@pytest.mark.parametrize("alpha", [0.0, 0.2, 0.7, 1.0])
def test_weights_on_the_structure_are_found_there(layers: int, alpha: float) -> None:
    net = network(layers, alpha)
    weights = aligned_deep_weights(net, r=DIRECTION, u=0.6, seed=3)
    found = deep_structure(weights, alpha)
    assert found.distance < ROUNDING
    assert found.u == pytest.approx(0.6)
    assert found.r == pytest.approx(np.array(DIRECTION) / np.linalg.norm(DIRECTION))
    x = np.random.default_rng(0).standard_normal((20, 4))
    assert net.output(weights, x) == pytest.approx(blocks(layers, alpha).gain * 0.6**layers * (x @ found.r), abs=ROUNDING)


@pytest.mark.parametrize("layers", [2, 3, 4, 5])
def test_eq_41_the_relu_network_is_half_the_product_of_its_layers(layers: int) -> None:
    net = network(layers)
    weights = aligned_deep_weights(net, r=DIRECTION, u=0.9, seed=1)
    x = np.random.default_rng(0).standard_normal((20, 4))
    product = np.linalg.multi_dot([*weights[::-1], x.T])[0]
    assert net.output(weights, x) == pytest.approx(product / 2, abs=ROUNDING)


def test_the_permutation_shows_the_blocks_and_keeps_the_function() -> None:
    net = network(3)
    weights = aligned_deep_weights(net, r=DIRECTION, u=0.6, seed=0)
    rng = np.random.default_rng(5)
    shuffles = [rng.permutation(width) for width in net.widths]
    mixed = (weights[0][shuffles[0]], weights[1][shuffles[1]][:, shuffles[0]], weights[2][:, shuffles[1]])
    shown = deep_structure(mixed).permuted(mixed)
    positive = [int((layer > 0).sum()) for layer in deep_structure(mixed).hidden]
    assert not shown[1][positive[1] :, : positive[0]].any()
    assert not shown[1][: positive[1], positive[0] :].any()
    assert (np.diff(shown[2][0]) <= 0).all()
    x = rng.standard_normal((5, 4))
    assert net.output(shown, x) == pytest.approx(net.output(weights, x), abs=ROUNDING)


def test_distances_measure_each_way_of_leaving_the_structure() -> None:
    net = network(3)
    weights = aligned_deep_weights(net, r=DIRECTION, u=0.6, seed=0)
    exact = deep_structure(weights)
    assert exact.off_block[1] == exact.negative[1] == 0.0
    assert exact.singular_values[1][0] == pytest.approx(exact.singular_values[1][1])

    apart = [layer.copy() for layer in weights]
    opposite = np.argwhere((exact.hidden[1][:, None] > 0) != (exact.hidden[0][None, :] > 0))[0]
    apart[1][tuple(opposite)] = -0.1
    found = deep_structure(tuple(apart))
    share = 0.01 / (0.36 + 0.01)
    assert found.off_block[1] == pytest.approx(share)
    assert found.negative[1] == pytest.approx(share)
    assert found.distances[1] > 0.1

    random = deep_structure(net.init(scale=1.0, seed=0))
    assert random.distance > 0.5
    assert "off-block" in repr(random)


def test_linear_networks_need_no_equal_halves() -> None:
    """Eq. 39: any rank-one aligned weights."""
    hidden = [np.array([3.0, 4.0]) / 5, np.array([0.6, -0.8])]
    r = np.array([0.0, 1.0])
    weights = (np.outer(hidden[0], r), np.outer(hidden[1], hidden[0]), hidden[1][None, :])
    assert deep_structure(weights, alpha=1.0).distance < ROUNDING
    assert deep_structure(weights, alpha=0.0).distance > 0.1


# --- velocities -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["square", "logistic"])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("layers", [2, 3, 4, 5])
def test_eqs_43_to_45_are_the_gradient(layers: int, alpha: float, loss: str) -> None:
    problem = aligned_problem(layers, alpha, loss)
    velocity = structured_velocity(problem, deep_structure(problem.weights, alpha))
    gradient = problem.gradient(problem.weights)
    assert largest(velocity, tuple(-layer for layer in gradient)) < ROUNDING


@pytest.mark.parametrize("layers", [3, 4, 5])
def test_corrected_eq_42_is_the_gradient(layers: int) -> None:
    problem = aligned_problem(layers)
    masked = masked_velocity(problem.data, problem.weights)
    assert largest(masked, tuple(-layer for layer in problem.gradient(problem.weights))) < ROUNDING


def test_eq_42_without_its_mask_moves_the_empty_blocks() -> None:
    problem = aligned_problem(3)
    first, second, third = problem.weights
    error = problem.data.correlation / 2 - (third @ second @ first)[0] @ problem.data.covariance / 4
    printed = third.T @ (error @ first.T)[None, :]
    assert np.abs(printed + problem.gradient(problem.weights)[1]).max() > VISIBLE


# --- the reduced flow -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layers", "alpha", "loss", "l2"),
    [
        (3, 0.0, "square", 0.0),
        (4, 0.0, "square", 0.0),
        (3, 0.0, "logistic", 0.0),
        (3, 0.4, "square", 0.0),
        (4, 0.4, "logistic", 0.0),
        (3, 1.0, "square", 0.0),
        (3, 0.0, "square", 0.01),
    ],
)
def test_reduced_flow_against_simulation(layers: int, alpha: float, loss: str, l2: float) -> None:
    problem = aligned_problem(layers, alpha, loss, l2)
    prediction = predict(problem, TIMES, theorem="deep_reduction")
    run = rl.simulate(problem, TIMES, rtol=1e-11)
    assert np.abs(prediction.loss - run.loss).max() < ASKED
    assert largest(prediction.weights, run.weights) < ASKED
    assert np.abs(prediction.outputs() - run.outputs()).max() < ASKED


def test_a_deep_relu_network_is_a_deep_linear_one_at_half_the_time() -> None:
    """Independent of the reduction: a simulated linear network from its own aligned start with norm u / sqrt 2."""
    problem = aligned_problem(3)
    linear = network(3, alpha=1.0)
    start = aligned_deep_weights(linear, r=DIRECTION, u=0.6 / np.sqrt(2), seed=8)
    twin = rl.simulate(rl.Problem(problem.data, linear, start), TIMES / 2, rtol=1e-11)
    prediction = predict(problem, TIMES)
    assert prediction.theorem == "deep_reduction"
    assert np.abs(prediction.outputs() - twin.outputs()).max() < ASKED


def test_decay_is_doubled_in_the_linear_twin() -> None:
    problem = aligned_problem(3, l2=0.02)
    linear = network(3, alpha=1.0)
    start = aligned_deep_weights(linear, r=DIRECTION, u=0.6 / np.sqrt(2), seed=8)
    twin = rl.Problem(problem.data, linear, start, l2=0.04)
    difference = predict(problem, TIMES).loss - predict(twin, TIMES / 2).loss
    assert np.abs(difference).max() < ASKED


@pytest.mark.parametrize("layers", [3, 4])
def test_the_limit_is_least_squares(layers: int) -> None:
    problem = aligned_problem(layers)
    towards = aligned_deep_weights(problem.network, r=problem.data.correlation + TILT, u=0.6, seed=0)
    problem = problem.with_weights(towards)
    prediction = predict(problem, [0.0, 2000.0, np.inf])
    fit = np.linalg.lstsq(problem.data.x, problem.y, rcond=None)[0]
    assert prediction.linear_map[-1] == pytest.approx(fit, abs=1e-12)
    assert prediction.linear_map[1] == pytest.approx(fit, abs=1e-7)
    assert prediction.weights[1][-1] == pytest.approx(prediction.weights[1][1], abs=1e-7)


def test_the_limit_keeps_what_no_sample_sees() -> None:
    data = rl.Dataset([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [1.0, 0.5]).symmetrised()
    net = rl.Network(inputs=3, widths=(4, 4))
    problem = rl.Problem(data, net, aligned_deep_weights(net, r=[1.0, 1.0, 1.0], u=0.5, seed=0))
    prediction = predict(problem, [0.0, 3000.0, np.inf])
    assert prediction.linear_map[-1, 2] > 0.01
    assert prediction.linear_map[-1] == pytest.approx(prediction.linear_map[1], abs=1e-9)


def test_the_start_alone_can_be_asked_for() -> None:
    problem = aligned_problem(3)
    prediction = predict(problem, [0.0])
    assert largest(tuple(w[0] for w in prediction.weights), problem.weights) < ROUNDING


# --- closed time courses --------------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(
    layers=st.integers(2, 6),
    s=st.floats(0.1, 5.0),
    lam=st.floats(0.1, 5.0),
    fractions=st.tuples(st.floats(0.05, 0.9), st.floats(0.05, 0.99)),
)
def test_times_are_the_integral_of_the_flow(layers: int, s: float, lam: float, fractions: tuple[float, float]) -> None:
    limit = (s / lam) ** (1 / layers)
    v0, v = sorted(limit * f for f in fractions)
    expected = quad(lambda z: 1 / (z ** (layers - 1) * (s - lam * z**layers)), v0, v, epsabs=0, epsrel=1e-12)[0]
    time = time_to_reach(v, v0, layers, s, lam)
    assert time == pytest.approx(expected, rel=1e-9, abs=1e-11)
    assert layer_norm([time], v0, layers, s, lam)[0] == pytest.approx(v, rel=1e-9)


@pytest.mark.parametrize("layers", [3, 4])
def test_special_depths_agree_with_the_hypergeometric_form(layers: int) -> None:
    s, lam = 1.3, 0.7

    def general(v: float) -> float:
        power = 2 - layers
        return float(v**power * hyp2f1(1, power / layers, 2 / layers, lam * v**layers / s) / (s * power))

    assert time_to_reach(0.9, 0.1, layers, s, lam) == pytest.approx(general(0.9) - general(0.1), rel=1e-12)


@pytest.mark.parametrize(("layers", "alpha"), [(2, 0.3), (3, 0.0), (4, 0.0), (5, 0.2), (3, 1.0)])
def test_closed_course_against_the_reduced_flow(layers: int, alpha: float) -> None:
    data = rl.datasets.sine_teacher(inputs=4, pairs=15, white=True, seed=2)
    net = network(layers, alpha)
    problem = rl.Problem(data, net, aligned_deep_weights(net, r=data.correlation, u=0.4, seed=0))
    gain, s = blocks(layers, alpha).gain, float(np.linalg.norm(data.correlation))
    times = np.append(np.linspace(0.0, 40.0, 9), np.inf)
    v = layer_norm(gain ** (2 / layers) * times, gain ** (1 / layers) * 0.4, layers, s, lam=1.0)
    prediction = predict(problem, times, theorem="deep_reduction")
    assert np.linalg.norm(prediction.linear_map, axis=1) == pytest.approx(v**layers, rel=1e-8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layers": 1}, "layers must be 2 at least, found 1"),
        ({"s": 0.0}, "s and lam must be positive"),
        ({"v": 3.0}, "must lie between 0 and its limit"),
    ],
)
def test_refused_time_courses(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(rl.InputError, match=message.replace("(", r"\(")):
        time_to_reach(**{"v": 0.5, "v0": 0.1, "layers": 3, "s": 1.0, "lam": 1.0, **arguments})


# --- one hypothesis broken at a time --------------------------------------------------------------------------------------


def parted(problem: rl.Problem) -> tuple[list[str], float]:
    """The hypotheses that fail, and the largest relative loss error of the forced prediction against gradient descent."""
    run = rl.descend(problem, learning_rate=2e-3, steps=10_000, record_every=500)
    prediction = predict(problem, run.times, theorem="deep_reduction", force=True)
    return [finding.name for finding in prediction.failed], float(np.abs(prediction.loss / run.loss - 1).max())


def test_without_even_inputs_prediction_and_simulation_part() -> None:
    problem = aligned_problem(3)
    x = problem.data.x.copy()
    x[:3] *= [[1.0, -1.0, 1.0, -1.0]]
    odd = rl.Dataset(x, problem.y)
    names, error = parted(rl.Problem(odd, problem.network, problem.weights))
    assert "even_inputs" in names
    assert error > VISIBLE


def test_without_an_odd_target_prediction_and_simulation_part() -> None:
    problem = aligned_problem(3)
    even_part = rl.Dataset(problem.data.x, problem.y + 0.5)
    names, error = parted(rl.Problem(even_part, problem.network, problem.weights))
    assert names == ["odd_target"]
    assert error > VISIBLE


def test_off_the_structure_prediction_and_simulation_part() -> None:
    problem = aligned_problem(3)
    rng = np.random.default_rng(0)
    away = tuple(layer + 0.1 * rng.standard_normal(layer.shape) for layer in problem.weights)
    names, error = parted(problem.with_weights(away))
    assert names == ["deep_aligned_start"]
    assert error > VISIBLE


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_the_structure_attracts_only_while_the_norm_grows(side: float) -> None:
    """Weights 1e-4 off the structure come back to it if r . g >= 0, and leave it if the start points away from beta."""
    problem = aligned_problem(3)
    r = side * problem.data.correlation + TILT
    exact = aligned_deep_weights(problem.network, r=r, u=0.6, seed=0)
    noise = [np.random.default_rng(k).standard_normal(layer.shape) for k, layer in enumerate(exact)]
    near = tuple(layer + 1e-4 * part for layer, part in zip(exact, noise, strict=True))
    assert parted(problem.with_weights(exact))[1] < VISIBLE / 5
    error = parted(problem.with_weights(near))[1]
    assert error < VISIBLE / 5 if side > 0 else error > VISIBLE


def test_refusals_say_what_was_required_and_found() -> None:
    problem = aligned_problem(3)
    with pytest.raises(
        rl.HypothesisError, match=r"deep_aligned_start is required; found: the weights are \S+ away from the structure"
    ):
        predict(problem.with_weights(problem.network.init(0.5, seed=0)), TIMES, theorem="deep_reduction")
    fixed = rl.Network(4, WIDTHS[:2], trainable=(True, False, True))
    with pytest.raises(rl.HypothesisError, match="all layers must train, without bias"):
        predict(rl.Problem(problem.data, fixed, problem.weights), TIMES, theorem="deep_reduction", force=True)
    with pytest.raises(rl.HypothesisError, match="the limit is not known in closed form"):
        predict(aligned_problem(3, loss="logistic"), [0.0, np.inf], theorem="deep_reduction")
    even = rl.Problem(rl.Dataset(problem.data.x, np.ones_like(problem.y)), problem.network, problem.weights, "logistic")
    with pytest.raises(rl.HypothesisError, match="does not know this limit"):
        predict(even, [0.0, np.inf], theorem="deep_reduction", force=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"r": [1.0]}, r"r must be a finite non-zero vector of shape \(4,\), found shape \(1,\)"),
        ({"u": -1.0}, "u must be a positive number, found -1.0"),
        ({"network": rl.Network(4, (1, 3))}, "two neurons per hidden layer at least and no bias are required"),
    ],
)
def test_refused_aligned_weights(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(rl.InputError, match=message):
        aligned_deep_weights(**{"network": network(3), "r": DIRECTION, "u": 1.0, "seed": 0, **arguments})  # type: ignore[arg-type]


def test_refused_structures() -> None:
    with pytest.raises(rl.InputError, match="weights must hold two layers at least, found 1"):
        deep_structure((np.ones((1, 2)),))
    with pytest.raises(rl.InputError, match="layer 1 has none"):
        deep_structure((np.zeros((2, 2)), np.ones((1, 2))))


# --- Fig. 3: the structure forms from small random weights ----------------------------------------------------------------


def check_figure_3(relu: rl.Trajectory, linear: rl.Trajectory, negative: float, pair: float) -> None:
    """The paper's picture: outer layers rank one, the second rank two with equal singular values and nothing negative."""
    assert relu.loss[-1] < 1e-6
    assert linear.loss[-1] < 1e-6
    found, straight = deep_structure(relu.final, 0.0), deep_structure(linear.final, 1.0)
    assert max(found.beyond_rank) < 0.01
    assert found.negative[1] < negative
    assert found.off_block[1] is not None
    assert found.off_block[1] < 0.01
    assert found.singular_values[1][1] / found.singular_values[1][0] > pair
    assert max(straight.beyond_rank) < 0.01
    assert 0.4 < straight.negative[1] < 0.6  # about half of the entries, zero in the ReLU network
    assert found.r @ straight.r > 0.999


def test_small_random_weights_form_the_structure() -> None:
    data = rl.datasets.linear_teacher(inputs=3, pairs=20, seed=0)
    runs = []
    for alpha in (0.0, 1.0):
        net = rl.Network(inputs=3, widths=(30, 30), alpha=alpha)
        problem = rl.Problem(data, net, net.init(scale=3e-2, seed=0))
        runs.append(rl.descend(problem, learning_rate=0.2, steps=5000, record_every=5000))
    check_figure_3(*runs, negative=0.01, pair=0.95)


@pytest.mark.slow
def test_figure_3_at_full_size() -> None:
    """Half the epochs of the paper: the loss is at 1e-9 after 8000."""
    data = rl.datasets.linear_teacher(seed=0)
    runs = []
    for alpha in (0.0, 1.0):
        net = rl.Network(inputs=20, widths=(100, 100), alpha=alpha)
        problem = rl.Problem(data, net, net.init(scale=1e-2, seed=0))
        runs.append(rl.descend(problem, learning_rate=0.1, steps=10_000, record_every=10_000))
    check_figure_3(*runs, negative=0.01, pair=0.95)
