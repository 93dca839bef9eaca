"""Nearly symmetric data: distance from Condition 3, height and duration of the plateau, and the escape, against simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rectilinear as rl
from rectilinear.conditions import even_inputs, odd_target
from rectilinear.conditions.asymmetry import asymmetry, nearly_symmetric
from rectilinear.conditions.growth import fixed_halves
from rectilinear.theorems import predict
from rectilinear.theorems.perturbed_symmetry import plateau

HEIGHT = 1e-3  # relative accuracy of the plateau's height at delta <= 0.15; the best linear fit is 2e-3 off
DURATION = 0.03  # relative accuracy of the end of the plateau at delta <= 0.15: first order in delta is left out


def six_points(delta: float, seed: int = 0) -> rl.Problem:
    net = rl.Network(inputs=2, widths=(100,))
    return rl.Problem(rl.datasets.six_points(delta), net, net.init(scale=1e-3, seed=seed))


# --- distance from Condition 3 --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0.0, 0.01, 0.3, -0.3])
def test_distance_and_nearest_symmetric_set_of_the_six_points(delta: float) -> None:
    data = rl.datasets.six_points(delta)
    found = asymmetry(data)
    assert found.distance == pytest.approx(np.sqrt(2 * delta**2 / np.sum(data.x**2)) / 2, abs=1e-9)
    assert even_inputs(found.nearest).holds
    assert odd_target(found.nearest).holds
    assert found.nearest.x[-1].tolist() == pytest.approx([1.0, delta / 2])


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000))
def test_no_symmetric_set_is_nearer(seed: int) -> None:
    """Against symmetric sets near the found one, in the same distance of optimal transport, by trying all matchings."""
    rng = np.random.default_rng(seed)
    half_x, half_y = rng.standard_normal((2, 2)), rng.standard_normal(2)
    data = rl.Dataset(
        np.concatenate([half_x, -half_x]) + 0.1 * rng.standard_normal((4, 2)),
        np.concatenate([half_y, -half_y]) + 0.1 * rng.standard_normal(4),
    )
    found = asymmetry(data)
    scales = np.mean(np.sum(data.x**2, axis=1)), np.mean(data.y**2)

    def transport(x: np.ndarray, y: np.ndarray) -> float:
        costs = (
            np.mean(np.sum((data.x - x[list(order)]) ** 2, axis=1)) / scales[0]
            + np.mean((data.y - y[list(order)]) ** 2) / scales[1]
            for order in itertools.permutations(range(4))
        )
        return float(np.sqrt(min(costs)))

    nearest = found.nearest
    assert transport(nearest.x, nearest.y) == pytest.approx(found.distance, rel=1e-9)
    first = [i for i, j in enumerate(found.partners) if i < j]
    for _ in range(10):
        x = nearest.x[first] + 0.05 * rng.standard_normal((2, 2))
        y = nearest.y[first] + 0.05 * rng.standard_normal(2)
        assert transport(np.concatenate([x, -x]), np.concatenate([y, -y])) >= found.distance - 1e-12


def test_an_odd_number_of_samples_is_matched_in_a_cycle() -> None:
    data = rl.Dataset([[1.0, 0.1], [-1.0, 0.0], [1.0, -0.1]], [1.0, -1.0, 1.1])
    found = asymmetry(data)
    assert (found.partners != np.arange(3)).all()
    assert even_inputs(found.nearest).holds
    assert "Asymmetry: distance" in repr(found)


def test_exact_pairs_are_kept_and_one_left_over_shares() -> None:
    data = rl.Dataset([[1.0, 0.0], [-1.0, 0.0], [0.9, 0.1]], [1.0, -1.0, 1.0])
    assert asymmetry(data).distance > 0
    assert asymmetry(rl.datasets.sine_teacher(inputs=3, pairs=500)).distance == 0.0


def test_refused_matchings() -> None:
    with pytest.raises(rl.InputError, match="at least two samples are required to match mirror images, found 1"):
        asymmetry(rl.Dataset([[1.0]], [1.0]))
    many = rl.Dataset(np.random.default_rng(0).standard_normal((2001, 2)), np.ones(2001))
    with pytest.raises(rl.InputError, match="at most 2000 samples without an exact mirror image can be matched, found 2001"):
        asymmetry(many)
    assert nearly_symmetric(many).holds is None


# --- the plateau ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("delta", "seed"), [(0.15, 0), (0.15, 2), (0.05, 0), (0.025, 1)])
def test_height_and_end_of_the_plateau_against_simulation(delta: float, seed: int) -> None:
    problem = six_points(delta, seed)
    found = plateau(problem)
    assert found.height == pytest.approx(found.linear_height, rel=0.02)
    times = [2 * found.begins, (1 + DURATION) * found.ends]
    run = rl.simulate(problem, times, rtol=1e-7)
    assert run.loss[0] == pytest.approx(found.height, rel=HEIGHT)
    assert run.loss[1] < 0.9 * found.height
    before = rl.simulate(problem, [(1 - DURATION) * found.ends], rtol=1e-7)
    assert before.loss[0] > 0.9 * found.height


def test_a_start_without_survivors_of_one_sign_stays_for_ever() -> None:
    """delta = 0.15, seed 1: only negative neurons survive, and what they can do lowers the loss by less than a percent."""
    problem = six_points(0.15, seed=1)
    found = plateau(problem)
    assert found.ends == np.inf
    assert set(found.survivors.signs) == {-1.0}
    run = rl.simulate(problem, [0.0, 1500.0], rtol=1e-7)
    assert run.loss[-1] > 0.99 * found.height


def test_the_law_is_linear_for_small_delta_and_bends_beyond() -> None:
    """Escape rates are first order in delta (1/9 of it here), so delta times duration is constant up to logarithms."""
    small = {delta: plateau(six_points(delta)) for delta in (0.0125, 0.025, 0.05)}
    for delta, found in small.items():
        assert found.survivors.rates / delta == pytest.approx(1 / 9, rel=1.5 * delta)
    products = [delta * found.duration for delta, found in small.items()]
    assert max(products) < 1.06 * min(products)
    bent, straight = (delta * plateau(six_points(delta, seed=2)).duration for delta in (0.4, 0.05))
    assert bent > 1.1 * straight


def test_the_whole_escape_is_a_lotka_volterra_system() -> None:
    problem = six_points(0.05)
    times = np.linspace(0.0, 2400.0, 61)
    prediction = predict(problem, times)
    assert prediction.theorem == "perturbed_symmetry"
    run = rl.simulate(problem, times, rtol=1e-8)
    assert np.abs(prediction.loss - run.loss).max() < 0.02  # on a fall from 0.44 to 0
    assert np.abs(prediction.outputs() - run.outputs()).max() < 0.06
    early = times < 1300
    assert np.abs(prediction.loss - run.loss)[early].max() < 5e-4
    shares = prediction.small.shares
    assert shares.T @ shares == pytest.approx(np.eye(shares.shape[1]))


def test_the_plateau_is_better_than_the_best_linear_fit() -> None:
    """Each half has a fit of its own; on random nearly symmetric data nothing survives, and the plateau is the limit."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((6, 3))
    y = x @ [1.0, -0.5, 0.3]
    y = y + np.sin(3 * y)
    data = rl.Dataset(np.concatenate([x, 0.05 * rng.standard_normal(x.shape) - x]), np.concatenate([y, -y]))
    net = rl.Network(inputs=3, widths=(60,))
    problem = rl.Problem(data, net, net.init(scale=1e-4, seed=1))
    found = plateau(problem)
    run = rl.simulate(problem, [3 * found.begins], rtol=1e-7)
    assert abs(run.loss[0] - found.height) < 0.05 * abs(run.loss[0] - found.linear_height)
    assert found.ends == np.inf


# --- one hypothesis broken at a time --------------------------------------------------------------------------------------


def cube_points() -> rl.Problem:
    """The six points one dimension up: survivors can turn within the one kink that holds them."""
    corners = np.array([[1.0, a, b] for a in (1.0, -1.0) for b in (1.0, -1.0)] + [[1.0, 0.0, 0.0]])
    labels = np.array([1.0, 1.0, 1.0, 1.0, -1.5])
    x = np.concatenate([corners, -corners]) + 0.05 * np.random.default_rng(1).uniform(-1.0, 1.0, (10, 3))
    net = rl.Network(inputs=3, widths=(100,))
    return rl.Problem(rl.Dataset(x, np.concatenate([labels, -labels])), net, net.init(scale=1e-3, seed=1))


def test_survivors_that_can_turn_leave_at_another_time() -> None:
    problem = cube_points()
    found = plateau(problem)
    assert np.isnan(found.ends)
    run = rl.descend(problem, learning_rate=0.04, steps=25_000, record_every=2500)
    times = run.times
    with pytest.raises(rl.HypothesisError, match=r"some can turn in 1 dimension\(s\)"):
        predict(problem, times, theorem="perturbed_symmetry")
    prediction = predict(problem, times, theorem="perturbed_symmetry", force=True)
    assert run.loss[1] == pytest.approx(found.height, rel=2e-3)  # the plateau itself is there
    assert run.loss[-1] < 0.95 * prediction.loss[-1]


def test_far_from_symmetry_there_is_no_plateau() -> None:
    """delta = 0.6 is 0.13 away from Condition 3: the loss has fallen long before the forced prediction ends its plateau."""
    problem = six_points(0.6)
    assert not nearly_symmetric(problem.data).holds
    with pytest.raises(rl.HypothesisError, match="nearly_symmetric is required to predict a plateau"):
        plateau(problem)
    times = np.linspace(0.0, 400.0, 41)
    prediction = predict(problem, times, theorem="perturbed_symmetry", force=True)
    assert [finding.name for finding in prediction.failed] == ["nearly_symmetric"]
    run = rl.simulate(problem, times, rtol=1e-7)
    assert np.abs(prediction.loss - run.loss).max() > 0.05


def test_from_large_weights_the_prediction_parts() -> None:
    net = rl.Network(inputs=2, widths=(100,))
    problem = rl.Problem(rl.datasets.six_points(0.05), net, net.init(scale=0.7, seed=0))
    times = np.linspace(0.0, 1500.0, 31)
    prediction = predict(problem, times, theorem="perturbed_symmetry", force=True)
    assert [finding.name for finding in prediction.failed] == ["small_start"]
    run = rl.simulate(problem, times, rtol=1e-7)
    assert np.abs(prediction.loss - run.loss).max() > 0.05


def test_samples_between_beta_and_the_fit_are_found() -> None:
    data = rl.Dataset([[1.0, 0.0], [0.0, 3.0], [1.0, -0.2]], [1.0, 3.0, 0.5]).symmetrised()
    problem = rl.Problem(data, rl.Network(2, (10,)), rl.Network(2, (10,)).init(1e-4, seed=0))
    finding = fixed_halves(problem)
    assert finding.holds is False
    assert "sample 2 changes sides between beta and the best linear fit" in finding.sentence
    flat = rl.Problem(rl.datasets.xor(), problem.network, problem.weights)
    assert fixed_halves(flat).sentence == "the best linear fit is zero, so there is no rise."


@pytest.mark.parametrize("drop", [0.0, 1.0, np.nan])
def test_refused_drops(drop: float) -> None:
    with pytest.raises(rl.InputError, match="drop must lie between 0 and 1"):
        plateau(six_points(0.1), drop=drop)


def test_refusals_of_the_theorem() -> None:
    with pytest.raises(rl.HypothesisError, match="the data are exactly symmetric: use two_neurons"):
        predict(six_points(0.0), [0.0, 1.0], theorem="perturbed_symmetry")
    with pytest.raises(rl.HypothesisError, match="the end of the escape is not predicted; ask for finite times"):
        predict(six_points(0.1), [0.0, np.inf], theorem="perturbed_symmetry")
    with pytest.raises(rl.InputError, match="times must be finite"):
        predict(six_points(0.6), [0.0, np.inf], theorem="perturbed_symmetry", force=True)
    one_sign = six_points(0.1)
    positive = (np.array([[1e-4, 0.0], [2e-4, 1e-5]]), np.array([[1e-4, 1e-4]]))
    narrow = rl.Problem(one_sign.data, rl.Network(2, (2,)), positive)
    with pytest.raises(rl.HypothesisError, match="neurons of both signs must grow, but one sign has none"):
        plateau(narrow)
    wide = rl.Network(2, (60_000,))
    with pytest.raises(rl.HypothesisError, match="too many to follow"):
        predict(rl.Problem(one_sign.data, wide, wide.init(1e-3, seed=0)), [0.0], theorem="perturbed_symmetry")


def test_a_prediction_says_where_its_stated_error_rules_nothing_out() -> None:
    prediction = predict(six_points(0.3), np.geomspace(1.0, 3000.0, 40), theorem="perturbed_symmetry")
    assert prediction.loss.max() > 5.0  # ten times the first loss, which no run exceeds: the theory has come to its end
    told = prediction.loss[prediction.says_something]
    assert prediction.says_something[0]
    assert told.size > 20
    assert told.max() < 0.51
    assert not prediction.says_something[-1]
    figure = rl.plots.loss_curves(prediction)
    assert max(figure.axes[0].lines[0].get_ydata()) < 0.51


def test_a_good_prediction_speaks_of_all_times() -> None:
    assert predict(six_points(0.05), [0.0, 30.0, 500.0], theorem="perturbed_symmetry").says_something.all()
