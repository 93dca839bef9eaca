"""How errors fall: with the step on smooth stretches, with the tolerance through events, and less without locating kinks."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import rectilinear as rl
from compiled_parts import from_python
from rectilinear.events import Kind
from rectilinear.flow.collocation import END_ORDER
from rectilinear.flow.engines import explicit_steps
from rectilinear.flow.field import frozen
from rectilinear.flow.state import flatten
from rectilinear.flow.steppers import radau
from rectilinear.flow.steppers.chebyshev import Cubic, StabilisedStepper, coefficients
from rectilinear.flow.steppers.dormand_prince import ExplicitStepper
from rectilinear.flow.steppers.third_order import ThirdOrderStepper
from rectilinear.validation import frozen as read_only

velocity = from_python(frozen.velocity)


def six_points(width, scale, seed):
    network = rl.Network(2, (width,))
    return rl.Problem(rl.datasets.six_points(), network, network.init(scale, seed=seed))


def frozen_problem(loss, l2):
    """Eight neurons in three groups: the smooth stretch between two events."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((6, 2)), rng.standard_normal(6)
    seen = np.stack([x * (rng.random(6) > 0.5)[:, None] for _ in range(3)])
    theta, group = rng.standard_normal((8, 3)) * 0.5, rng.integers(0, 3, 8)
    order = np.argsort(group, kind="stable")
    theta, group = theta[order], group[order]
    labels = read_only(np.sign(y) if loss else y)
    return theta, frozen.FrozenField(group, seen, labels, np.ones(6, dtype=bool), np.ones(2), loss, l2, False)


@pytest.mark.parametrize(
    ("loss", "end", "steps"), [(0, 2.0, 4), (1, 8.0, 4), (2, 2.0, 6)], ids=["square", "logistic", "exponential"]
)
@pytest.mark.parametrize("l2", [0.0, 0.1])
@pytest.mark.parametrize("stagewise", [False, True])
def test_collocation_converges_with_order_nine(loss, end, steps, l2, stagewise):
    theta, field = frozen_problem(loss, l2)

    def rhs(_, flat):
        out = np.empty_like(theta)
        velocity(flat.reshape(theta.shape), field, out, np.empty((3, 2)), np.empty(6), np.empty(6))
        return out.ravel()

    exact = solve_ivp(rhs, (0.0, end), theta.ravel(), method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    errors = []
    for count in (steps, 2 * steps):
        here = theta.copy()
        for _ in range(count):
            nodes = radau.Nodes(np.zeros((5, *theta.shape)), np.empty(6), np.empty((6, 6)), np.empty(6))
            accuracy = radau.Accuracy(np.linalg.norm(here, axis=1), 1.0, 1e-12, np.zeros((3, 2)), 0.0)
            assert radau.collocation_step(here, field, accuracy, end / count, stagewise, nodes)[0] >= 0.0
            here = here + nodes.stages[-1]
        errors.append(np.abs(here.ravel() - exact).max())
    assert errors[1] > 2e-14  # still above rounding
    assert np.log2(errors[0] / errors[1]) == pytest.approx(
        END_ORDER, abs=1.0
    )  # few steps, so that errors stay above rounding


@pytest.mark.parametrize("seed", range(4))
def test_newton_converges_where_rounding_is_as_large_as_stiff_directions(seed):
    """h |J| = 5e15, where an update by Woodbury's formula keeps no digit and Newton diverged.

    A nearly linear network of large weights, whose pulls cancel in the stiff directions, as they do after a while.
    """
    rng = np.random.default_rng(seed)
    x, theta = rng.standard_normal((10, 4)) * np.geomspace(1e-3, 1e3, 10)[:, None], 1e5 * rng.standard_normal((12, 5))
    seen = np.where(theta[:, :-1] @ x.T > 0.0, 1.0, 0.999)[:, :, None] * x
    slopes = np.concatenate(
        [theta[:, -1:, None] * seen.transpose(0, 2, 1), (seen @ theta[:, :-1, None])[:, None, :, 0]], axis=1
    )
    values, axes = np.linalg.eigh(np.einsum("eji,ejm->im", slopes, slopes) / 10)
    pulls = axes[:, :6] @ axes[:, :6].T @ (100.0 * rng.standard_normal(10))
    y = read_only(np.einsum("eij,ej,e->i", seen, theta[:, :-1], theta[:, -1]) + 10 * pulls)
    field = frozen.FrozenField(np.arange(12), seen, y, np.ones(10, dtype=bool), np.ones(2), 0, 0.0, False)
    nodes = radau.Nodes(np.zeros((5, *theta.shape)), np.empty(6), np.empty((6, 10)), np.empty(6))
    accuracy = radau.Accuracy(np.linalg.norm(theta, axis=1), 1e9, 1e-9, np.zeros((12, 4)), 0.0)
    h = 5e15 / values[-1]
    assert radau.collocation_step(theta, field, accuracy, h, True, nodes)[0] >= 0.0


@pytest.mark.parametrize("seed", [2, 4, 10, 11])
def test_stiff_steps_are_solved_to_the_tolerance(seed):
    """Rows of lengths 1e-3 to 1e3: a step moves stiff directions at once, and what Newton leaves shows in |w|^2 - a^2.

    Where the second update was taken for the rate of convergence, it changed by 7e-7 to 4e-6.
    """
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((16, 8)) * 10.0 ** rng.uniform(-3, 3, (16, 1))
    network = rl.Network(8, (2,))
    problem = rl.Problem(rl.Dataset(x, x @ rng.standard_normal(8)), network, network.init(scale=1.0, seed=seed))
    run = rl.simulate(problem, [0.0, 1.0, 10.0, 100.0], method="kinks", rtol=1e-9)
    assert run.audit.balance_drift < 5e-8


def test_explicit_steps_are_of_order_eight_and_dense_output_of_order_seven():
    """y' = y (1 - y) from 0.1, a logistic curve, with steps of fixed length."""

    def exact(t):
        return 1.0 / (1.0 + 9.0 * np.exp(-t))

    ends, inside = [], []
    for steps in (4, 8):
        stepper = ExplicitStepper(
            lambda y, out: np.copyto(out, y * (1 - y)), np.array([0.1]), 0.0, 1e6, lambda a, b: np.ones(1), lambda: 0.0
        )
        errors = []
        for _ in range(steps):
            stepper.step_size = 6.0 / steps
            assert stepper.step(100.0)
            middle = stepper.t + 0.37 * stepper.h
            errors.append(abs(stepper.dense().at(np.array([middle]))[0, 0] - exact(middle)))
            stepper.accept()
        inside.append(max(errors))
        ends.append(abs(stepper.y[0] - exact(6.0)))
    assert np.log2(ends[0] / ends[1]) == pytest.approx(8.0, abs=0.5)
    assert np.log2(inside[0] / inside[1]) == pytest.approx(7.0, abs=0.5)


def test_errors_fall_with_the_tolerance_through_crossings_and_holds():
    problem, times = six_points(width=8, scale=0.5, seed=1), [10.0, 60.0, 150.0]
    exact = rl.simulate(problem, times, rtol=1e-13, method="kinks")
    assert exact.events.count(Kind.HOLD) > 2
    assert exact.events.count(Kind.CROSS) > 2
    for rtol in (1e-4, 1e-6, 1e-8, 1e-10):
        run = rl.simulate(problem, times, rtol=rtol, method="kinks")
        np.testing.assert_allclose(run.weights[0], exact.weights[0], rtol=0, atol=100 * rtol)
        assert len(run.events) == len(exact.events)
        np.testing.assert_allclose(run.events.time, exact.events.time, rtol=1e3 * rtol)


@pytest.mark.parametrize(("width", "worst"), [(6, 1e-10), (40, 1e-4)])
def test_explicit_steps_keep_the_order_where_neurons_share_few_patterns(width, worst):
    """Crossings only: kinks that are made good keep errors at the tolerance; explicit steps do so for six neurons, not for forty."""
    rng = np.random.default_rng(7)
    x, network = rng.standard_normal((12, 3)), rl.Network(3, (width,), alpha=0.5)
    weights = rng.standard_normal((width, 3)), rng.choice([-1.0, 1.0], (1, width)) * rng.uniform(0.5, 1.0, (1, width))
    problem = rl.Problem(rl.Dataset(x, rng.standard_normal(12)), network, weights)
    exact = rl.simulate(problem, [3.0], rtol=1e-13, method="kinks")
    assert exact.events.count(Kind.CROSS) > 3
    errors, rejected = {}, {}
    for method in ("kinks", "smooth"):
        run = rl.simulate(problem, [3.0], rtol=1e-10, method=method)
        errors[method] = np.abs(run.final[0] - exact.final[0]).max()
        rejected[method] = run.statistics["rejected"] / run.statistics["steps"]
    assert errors["kinks"] < 1e-10
    assert worst / 1e6 < errors["smooth"] < worst
    assert rejected["kinks"] < 0.2
    assert (rejected["smooth"] > 0.4) == (width == 40)
    assert (run.events.count(Kind.CROSS) == exact.events.count(Kind.CROSS)) == (width == 6)


@pytest.mark.parametrize("rtol", [1e-6, 1e-8, 1e-10])
def test_saved_states_are_as_good_as_steps(rtol):
    """Mirrored data, explicit steps: at many times between steps, through alignment and the kinks crossed together after it."""
    network = rl.Network(inputs=15, widths=(40,))
    problem = rl.Problem(rl.datasets.sine_teacher(inputs=15, pairs=300, seed=0), network, network.init(scale=1e-6, seed=0))
    times = np.linspace(0.0, 60.0, 121)
    exact, run = (rl.simulate(problem, times, rtol=tolerance, method="smooth") for tolerance in (1e-12, rtol))
    ours, truth = flatten(run.weights), flatten(exact.weights)
    apart = np.linalg.norm(ours - truth, axis=1) / np.linalg.norm(truth, axis=1)
    assert apart.max() < 30 * rtol
    assert np.abs(run.loss - exact.loss).max() < 30 * rtol * exact.loss[0]
    if rtol < 1e-7:
        assert run.events.count(Kind.CROSS) > 100
        assert run.events.certified


def test_slopes_along_an_interpolant_make_it_better_without_another_step():
    """y' = y (1 - y), a step whose interior is twice the tolerance off: five slopes mend it, where two halves would take 32."""

    def exact(t):
        return 1.0 / (1.0 + 9.0 * np.exp(-t))

    def rhs(y, out):
        np.copyto(out, y * (1 - y))

    times = np.linspace(0.05, 0.95, 19)
    stepper = ExplicitStepper(rhs, np.array([0.1]), 0.0, 1e3, lambda a, b: np.ones(1), lambda: 0.0)
    stepper.step_size = 1.0
    assert stepper.step(100.0)
    dense = stepper.dense()
    plain = np.abs(dense.interpolant.at(times)[:, 0] - exact(times)).max()
    stepper.rtol, before = plain / 2, stepper.evaluations
    assert np.abs(dense.at(times)[:, 0] - exact(times)).max() < stepper.rtol
    assert stepper.evaluations - before == 1 + 4 + 1


def test_the_defect_tells_the_error_of_an_interpolant():
    """y' = y (1 - y): one step with a tolerance that its end keeps and its interior does not; looking into it keeps it."""

    def exact(t):
        return 1.0 / (1.0 + 9.0 * np.exp(-t))

    def rhs(y, out):
        np.copyto(out, y * (1 - y))

    times = np.linspace(0.1, 3.9, 39)
    stepper = ExplicitStepper(rhs, np.array([0.1]), 0.0, 1e3, lambda a, b: np.ones(1), lambda: 0.0)
    stepper.step_size = 4.0
    assert stepper.step(100.0)
    stepper.rtol = 1e-6
    dense = stepper.dense()
    plain = np.abs(dense.interpolant.at(times)[:, 0] - exact(times)).max() / stepper.rtol
    assert plain > 2.0
    assert plain / 3 < dense.interpolant.error() < 3 * plain
    assert np.abs(dense.at(times)[:, 0] - exact(times)).max() < 0.1 * plain * stepper.rtol
    other = StabilisedStepper(rhs, np.array([0.1]), 0.0, 1e-6, lambda a, b: np.ones(1), 0.5)
    ends, slopes = (tuple(np.array([f(t)]) for t in (0.0, 0.5)) for f in (exact, lambda t: exact(t) * (1 - exact(t))))
    cubic = Cubic(other, 0.0, 0.5, ends, slopes)
    wrong = np.abs(cubic.at(times / 8)[:, 0] - exact(times / 8)).max() / other.rtol
    assert wrong / 5 < cubic.error() < 5 * wrong  # the fourth derivative changes sign nearby


def test_stabilised_steps_are_of_order_two_and_their_dense_output_of_order_three():
    """A stiff system with a known solution: y1' = -1000 (y1 - cos t) - sin t settles on cos t; y2' = -y2."""

    def rhs(y, out):
        out[0] = -1000.0 * (y[0] - np.cos(y[2])) - np.sin(y[2])
        out[1] = -y[1]
        out[2] = 1.0

    def exact(t):
        return np.array([np.cos(t), np.exp(-t), t])

    ends, middles, lengths = [], [], (0.1, 0.05, 0.025, 0.0125)
    for h in lengths:
        stepper = StabilisedStepper(rhs, exact(0.0), 0.0, 1e-2, lambda old, new: np.full(3, 1e6), h)
        while stepper.t < 1.0 - 1e-9:
            stepper.step_size = h
            assert stepper.step(1.0)
            if stepper.t == 0.0:
                middles.append(abs(stepper.dense().at(np.array([0.3 * h]))[0, 1] - exact(0.3 * h)[1]))
            stepper.accept()
        ends.append(np.abs(stepper.y - exact(1.0)).max())
    assert stepper.stages > 2
    assert np.polyfit(np.log(lengths), np.log(ends), 1)[0] == pytest.approx(2.0, abs=0.2)
    assert np.polyfit(np.log(lengths), np.log(middles), 1)[0] == pytest.approx(3.0, abs=0.2)  # an error made within one step


def test_third_order_steps_are_of_order_three_and_their_error_estimate_too():
    """y' = y - y^2, the logistic curve; the estimate is that of the embedded order 2."""

    def rhs(y, out):
        out[:] = y - y * y

    ends, estimates, lengths = [], [], (0.25, 0.125, 0.0625, 0.03125)
    for h in lengths:
        stepper = ThirdOrderStepper(rhs, np.array([0.1]), 0.0, 1e-2, lambda old, new: np.ones(1), h)
        while stepper.t < 2.0 - 1e-9:
            stepper.step_size = h
            assert stepper.step(2.0)
            if stepper.t == 0.0:
                estimates.append(stepper.error)
            stepper.accept()
        ends.append(abs(stepper.y[0] - 1.0 / (1.0 + 9.0 * np.exp(-2.0))))
        assert stepper.evaluations == 3 * round(2.0 / h) + 1
    assert np.polyfit(np.log(lengths), np.log(ends), 1)[0] == pytest.approx(3.0, abs=0.2)
    assert np.polyfit(np.log(lengths), np.log(estimates), 1)[0] == pytest.approx(3.0, abs=0.2)


def test_third_order_steps_give_way_to_stabilised_ones_while_stability_limits_them(monkeypatch):
    """y1' = -50 (y1 - y2), y2' = -y2/100 is slow once y1 has settled, and quick again where y2's speed is changed."""

    def rhs(y, out):
        out[0], out[1], out[2] = -50.0 * (y[0] - y[1]), -0.01 * y[1], 1.0

    def run(rhs, end):
        stepper = ThirdOrderStepper(rhs, np.array([0.0, 1.0, 0.0]), 0.0, 1e-4, lambda old, new: np.ones(3), 1e-3)
        while stepper.t < end:
            if stepper.step(end):
                stepper.accept()
        return stepper

    late = run(rhs, 100.0)
    assert late.stabilised
    assert late.y[:2] == pytest.approx([np.exp(-1.0) / (1 - 0.01 / 50), np.exp(-1.0)], abs=1e-3)
    monkeypatch.setattr(ThirdOrderStepper, "_patience", 10**9)
    assert late.evaluations < 0.3 * run(rhs, 100.0).evaluations

    def rhs_that_turns(y, out):
        rhs(y, out)
        out[1] += 5.0 * np.sin(20.0 * y[2]) if y[2] > 20.0 else 0.0  # then accuracy limits steps

    monkeypatch.undo()
    assert not run(rhs_that_turns, 30.0).stabilised


def test_stages_are_stable_as_far_as_said():
    """|R(z)| <= 1 on the real axis down to -(s^2 - 1)/1.54."""
    for stages in (2, 3, 5, 10, 40, 200):
        first, rest = coefficients(stages)
        z = -np.linspace(0.0, (stages**2 - 1) / 1.54, 5000)
        before, now = np.ones_like(z), 1.0 + first * z
        for mu, nu, mu_f, gamma_f in rest:
            before, now = now, (1.0 - mu - nu) + mu * now + nu * before + mu_f * z * now + gamma_f * z
        assert np.abs(now).max() <= 1.0 + 1e-12
        small = z > -1e-2
        np.testing.assert_allclose(now[small], np.exp(z[small]), atol=2e-7 + 0.2 * 1e-6)


@pytest.mark.parametrize("widths", [(12,), (8, 8)])
def test_late_phases_are_stepped_by_stabilised_steps(monkeypatch, widths):
    """Inputs of very different variance: the same run as with order 8 alone, for a fraction of the gradients."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 5)) * np.geomspace(1.0, 1e-2, 5)
    net = rl.Network(5, widths, alpha=1.0)
    problem = rl.Problem(rl.Dataset(x, x @ rng.standard_normal(5)), net, net.init(0.5, seed=0))
    times = [0.0, 20.0, 200.0, 1000.0]
    fast = rl.simulate(problem, times, rtol=1e-7, method="smooth")
    monkeypatch.setattr(explicit_steps, "PATIENCE", 10**9)
    plain = rl.simulate(problem, times, rtol=1e-7, method="smooth")
    assert "stabilised" not in plain.statistics
    assert fast.statistics["stabilised"] > 0
    assert 3 * fast.statistics["gradients"] < plain.statistics["gradients"]
    np.testing.assert_allclose(fast.loss, plain.loss, atol=1e-6 * plain.loss[0])


@pytest.mark.parametrize("rtol", [1e-9, 1e-11])
def test_outputs_settle_in_their_own_time_where_weights_hardly_move(rtol):
    """Large weights, labels of 1e-6, one input: f' = (y - f) x^2 (w^2 + a^2 summed), w and a constant to 1e-8. One step passed over it."""
    net = rl.Network(inputs=1, widths=(2,), alpha=1.0)
    problem = rl.Problem(rl.Dataset([[1.5]], [1e-6]), net, ([[-6.0], [-6.0]], [[-7.0, 7.0]]))
    times = np.array([0.0, 0.001, 0.005, 0.01, 1.0, 1e4])
    run = rl.simulate(problem, times=times, method="kinks", rtol=rtol)
    rate = 1.5**2 * (2 * 6.0**2 + 2 * 7.0**2)
    np.testing.assert_allclose(run.loss / run.loss[0], np.exp(-2.0 * rate * times), rtol=0.0, atol=1e-6)
    assert run.audit.energy_residual < 1e-4  # beyond, its card says that they disagree
