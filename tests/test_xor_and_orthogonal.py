"""XOR and orthogonal inputs: independent linear sub-networks against simulation, and what happens without each hypothesis."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import rectilinear as rl
from rectilinear.conditions.classes import xor_samples
from rectilinear.reduced.one_margin import logistic_margin, square_margin
from rectilinear.theorems import predict
from rectilinear.theorems.orthogonal import class_amplitude, class_margin

REFERENCE = 1e-12  # relative tolerance of the simulations, far below the errors that are measured against them
VISIBLE = 0.02  # loss error at which prediction and simulation have parted


def problem_on(
    data: rl.Dataset, scale: float, loss: str = "square", alpha: float = 0.0, start: str = "gaussian"
) -> rl.Problem:
    net = rl.Network(data.inputs, (50,), alpha)
    return rl.Problem(data, net, net.init(scale, seed=0, start=start), loss)


def learning_times(scale: float, loss: str, rate: float) -> np.ndarray:
    """Until well after the loss has fallen; `rate` is the early growth rate of the square loss."""
    return np.linspace(0.0, 1.5 * np.log(10 / scale) / rate * (1 if loss == "square" else 2), 61)


def loss_error(problem: rl.Problem, times: np.ndarray, theorem: str, force: bool = False) -> float:
    run = rl.simulate(problem, times, rtol=REFERENCE)
    assert len(run) == len(times), run.status
    prediction = predict(problem, times, theorem=theorem, force=force)
    assert run.loss[-1] < 0.2 * run.loss[0] or force
    return float(np.abs(prediction.loss - run.loss).max())


# --- closed forms of one margin -------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(log_start=st.floats(-20.0, -0.1), rate=st.floats(0.1, 3.0))
def test_margins_solve_their_equations(log_start: float, rate: float) -> None:
    times = np.array([0.0, 2.0, 20.0])
    equations = {
        square_margin: lambda _, z: rate * (1 - np.exp(z)),
        logistic_margin: lambda _, z: rate / (1 + np.exp(np.exp(z))),
    }
    for closed, equation in equations.items():
        run = solve_ivp(equation, (0.0, 20.0), [log_start], t_eval=times, rtol=1e-11, atol=1e-11)
        assert np.log(closed(times, log_start, rate)) == pytest.approx(run.y[0], abs=1e-8)


def test_margins_at_infinity() -> None:
    assert square_margin([np.inf], -5.0, 1.0).tolist() == [1.0]
    assert logistic_margin([np.inf], -5.0, 1.0).tolist() == [np.inf]


# --- XOR ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_xor_against_simulation_with_an_error_that_falls_like_the_scale_squared(loss: str) -> None:
    errors = {
        scale: loss_error(problem_on(rl.datasets.xor(), scale, loss), learning_times(scale, loss, 0.35), "xor")
        for scale in (1e-3, 1e-4, 1e-6)
    }
    assert errors[1e-6] < 1e-9
    assert errors[1e-3] < 1e-6
    assert errors[1e-4] == pytest.approx(errors[1e-3] / 100, rel=0.1)


def test_a_turned_and_stretched_xor() -> None:
    """Any two orthogonal lines, lengths and labels: nothing but signs is asked of them; unbalanced start with |a| > |w|."""
    pair = np.array([[0.6, 0.8, 0.0], [-1.6, 1.2, 0.0]])
    data = rl.Dataset([pair[0], -pair[0], pair[1], -pair[1]], [2.0, 2.0, -1.0, -1.0])
    problem = problem_on(data, 1e-5)
    assert loss_error(problem, np.linspace(0.0, 80.0, 41), "xor") < 1e-7


def test_xor_gives_weights_outputs_and_the_limit() -> None:
    problem = problem_on(rl.datasets.xor(), 1e-4)
    prediction = predict(problem, [0.0, 20.0, 60.0, np.inf])
    assert prediction.theorem == "xor"
    assert prediction.loss[-1] == 0.0
    assert prediction.outputs()[-1] == pytest.approx(problem.y)
    assert prediction.statistics["sub-networks"] == 4
    run = rl.simulate(problem, [0.0, 20.0, 60.0])
    for predicted, simulated in zip(prediction.weights, run.weights, strict=True):
        assert predicted[2] == pytest.approx(simulated[2], abs=1e-3)  # neurons keep components of the size of the start
    shares = prediction.small.shares
    assert shares.T @ shares == pytest.approx(np.eye(4))


def test_logistic_xor_ends_at_zero_loss_with_diverging_weights() -> None:
    prediction = predict(problem_on(rl.datasets.xor(), 1e-4, "logistic"), [0.0, np.inf])
    assert prediction.loss.tolist()[-1] == 0.0
    assert np.isnan(prediction.small.first[-1]).all()


def test_a_sample_that_no_neuron_reaches_keeps_its_loss() -> None:
    data = rl.datasets.xor()
    net = rl.Network(2, (2,))
    first, second = np.array([[1e-4, 1.2e-4], [1e-4, -1.1e-4]]), np.array([[2e-4, -2e-4]])
    prediction = predict(rl.Problem(data, net, (first, second)), [0.0, 30.0, np.inf])
    assert prediction.loss[-1] == pytest.approx(0.25)
    assert prediction.loss[1] == pytest.approx(rl.simulate(prediction.problem, [0.0, 30.0]).loss[1], abs=1e-6)


def test_without_relu_xor_parts() -> None:
    problem = problem_on(rl.datasets.xor(), 1e-4, alpha=0.3)
    assert [finding.name for finding in predict(problem, [0.0], "xor", force=True).failed] == ["relu"]
    assert loss_error(problem, learning_times(1e-4, "square", 0.35), "xor", force=True) > VISIBLE


def test_from_large_weights_xor_parts() -> None:
    problem = problem_on(rl.datasets.xor(), 1.0)
    assert [finding.name for finding in predict(problem, [0.0], "xor", force=True).failed] == ["small_start"]
    assert loss_error(problem, np.linspace(0.0, 10.0, 21), "xor", force=True) > VISIBLE


def test_off_its_corners_xor_parts() -> None:
    x = rl.datasets.xor().x.copy()
    x[2:] = [[1.3, -0.6], [-1.3, 0.6]]
    problem = problem_on(rl.Dataset(x, rl.datasets.xor().y), 1e-4)
    assert [finding.name for finding in predict(problem, [0.0], "xor", force=True).failed] == ["xor_samples"]
    assert loss_error(problem, learning_times(1e-4, "square", 0.35), "xor", force=True) > VISIBLE


def test_with_decay_xor_parts() -> None:
    bare = problem_on(rl.datasets.xor(), 1e-4)
    problem = rl.Problem(bare.data, bare.network, bare.weights, l2=0.05)
    assert [finding.name for finding in predict(problem, [0.0], "xor", force=True).failed] == ["no_decay"]
    assert loss_error(problem, learning_times(1e-4, "square", 0.35), "xor", force=True) > VISIBLE


def test_xor_refusals() -> None:
    assert xor_samples(rl.datasets.xor()).holds
    with pytest.raises(rl.HypothesisError, match="two antipodal pairs with equal labels"):
        predict(problem_on(rl.datasets.six_points(), 1e-4), [0.0, 1.0], theorem="xor")
    with pytest.raises(rl.HypothesisError, match="the square or the logistic loss is required; the loss is exponential"):
        predict(problem_on(rl.datasets.xor(), 1e-4, "exponential"), [0.0, 1.0], theorem="xor", force=True)


# --- orthogonal inputs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_orthogonal_inputs_against_simulation_with_an_error_that_falls_with_the_scale(loss: str) -> None:
    data = rl.datasets.orthogonal(samples=6, inputs=8, seed=1)
    errors = {
        scale: loss_error(problem_on(data, scale, loss), learning_times(scale, loss, 0.2), "orthogonal")
        for scale in (1e-2, 1e-4, 1e-6)
    }
    assert errors[1e-6] < 1e-8
    assert errors[1e-4] < 0.02 * errors[1e-2]
    assert errors[1e-6] < 0.05 * errors[1e-4]


def test_orthogonal_inputs_of_unequal_length() -> None:
    """Long samples overshoot; the start has every neuron inactive at the other class, so that none can wake up there."""
    data = rl.datasets.orthogonal(samples=6, inputs=8, norms=[1.0, 2.0, 1.5, 1.0, 0.8, 1.2], seed=0)
    problem = problem_on(data, 1e-5, start="balanced")
    first, second = problem.weights
    units = data.x / np.linalg.norm(data.x, axis=1, keepdims=True)
    active = (first @ units.T > 0) & (second.T * data.y < 0)
    problem = problem.with_weights((first - 2 * (active * (first @ units.T)) @ units, second))
    assert loss_error(problem, learning_times(1e-5, "square", 0.2), "orthogonal") < 1e-6
    assert predict(problem, np.linspace(0.0, 120.0, 121), "orthogonal").statistics["overshoot"] > 0.01


def aligned_classes(data: rl.Dataset, size: float, loss: str) -> rl.Problem:
    """One neuron per class along sum y_i x_i, balanced."""
    rows = []
    for sign in (1.0, -1.0):
        direction = np.abs(data.y[data.y * sign > 0]) @ data.x[data.y * sign > 0]
        rows.append(size * direction / np.linalg.norm(direction))
    return rl.Problem(data, rl.Network(data.inputs, (2,)), (np.array(rows), size * np.array([[1.0, -1.0]])), loss)


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_one_aligned_neuron_per_class_has_a_closed_form(loss: str) -> None:
    data = rl.datasets.orthogonal(samples=6, inputs=6, norms=2.0, seed=3)
    problem, times = aligned_classes(data, 1e-2, loss), np.linspace(0.0, 60.0, 31)
    members = [int((data.y > 0).sum()), int((data.y < 0).sum())]
    if loss == "square":
        courses = [class_amplitude(times, 1e-4, 2.0, np.ones(count), 6) * 2.0 / np.sqrt(count) for count in members]
    else:
        courses = [class_margin(times, 1e-4 * 2.0 / np.sqrt(count), 2.0, count, 6) for count in members]
    margins = np.where(data.y > 0, courses[0][:, None], courses[1][:, None])
    run = rl.simulate(problem, times, rtol=1e-11)
    assert run.outputs() * data.y == pytest.approx(margins, abs=1e-8)
    prediction = predict(problem, times, theorem="orthogonal")
    assert prediction.outputs() * data.y == pytest.approx(margins, abs=1e-7)


def test_orthogonal_limits() -> None:
    data = rl.datasets.orthogonal(samples=4, inputs=5, seed=2)
    square = predict(problem_on(data, 1e-3), [0.0, np.inf], theorem="orthogonal")
    assert square.loss[-1] == 0.0
    assert square.outputs()[-1] == pytest.approx(data.y, abs=1e-9)
    logistic = predict(problem_on(data, 1e-3, "logistic"), [0.0, np.inf], theorem="orthogonal")
    assert logistic.loss[-1] == 0.0
    assert np.isnan(logistic.small.first[-1]).all()


def test_one_sub_network_per_sign_and_active_set() -> None:
    """Two samples of opposite labels: a neuron serves the one of its final sign, if it was active there at the start."""
    data = rl.Dataset(np.eye(2), [1.0, -1.0])
    prediction = predict(problem_on(data, 1e-4), [0.0, 20.0], theorem="orthogonal")
    assert prediction.statistics["sub-networks"] == 2
    net = rl.Network(2, (1,))
    silent = rl.Problem(data, net, (np.array([[-1e-4, -1e-4]]), np.array([[1e-4]])))
    nobody = predict(silent, [0.0, 20.0, np.inf], theorem="orthogonal")
    assert nobody.statistics["sub-networks"] == 0
    assert nobody.loss.tolist() == [0.5, 0.5, 0.5]


def test_without_orthogonal_inputs_prediction_and_simulation_part() -> None:
    data = rl.datasets.orthogonal(samples=6, inputs=8, seed=1)
    x = data.x.copy()
    x[1] += 0.8 * x[0]
    problem = problem_on(rl.Dataset(x, data.y), 1e-4)
    assert [finding.name for finding in predict(problem, [0.0], "orthogonal", force=True).failed] == ["orthogonal_inputs"]
    assert loss_error(problem, learning_times(1e-4, "square", 0.2), "orthogonal", force=True) > VISIBLE


def test_leaky_networks_part_on_orthogonal_inputs() -> None:
    problem = problem_on(rl.datasets.orthogonal(samples=6, inputs=8, seed=1), 1e-4, alpha=0.4)
    assert [finding.name for finding in predict(problem, [0.0], "orthogonal", force=True).failed] == ["relu"]
    assert loss_error(problem, learning_times(1e-4, "square", 0.2), "orthogonal", force=True) > VISIBLE
