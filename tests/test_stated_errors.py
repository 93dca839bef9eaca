"""Every prediction states its error, and simulated runs of random problems lie within it."""

import numpy as np
import pytest

import rectilinear as rl
from rectilinear.theorems import THEOREMS, predict
from symmetric_problems import aligned_problem

TIGHT = 1e-10
POINTS = 40


def mirrored(rng, inputs, loss):
    x = rng.standard_normal((int(rng.integers(2, 15)), inputs)) * rng.choice([0.3, 1.0, 3.0])
    along = x @ rng.standard_normal(inputs)
    y = np.sin(2 * along) + along if loss == "square" else np.where(along > 0, 1.0, -1.0)
    return rl.Dataset(x, y).symmetrised()


def two_neurons(rng):
    loss = str(rng.choice(["square", "logistic"]))
    return mirrored(rng, int(rng.integers(1, 7)), loss), loss, float(rng.choice([0.0, 0.3])), "gaussian"


def symmetric_data(rng):
    return mirrored(rng, int(rng.integers(1, 4)), "square"), "square", float(rng.choice([0.0, 0.3])), "rank_one"


def xor(rng):
    angle, (long, short) = rng.uniform(0.0, 6.0), rng.uniform(0.5, 2.0, size=2)
    x = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]) * [[long], [short]]
    return (
        rl.Dataset(np.concatenate([x, -x]), [1.0, -1.0, 1.0, -1.0]),
        str(rng.choice(["square", "logistic"])),
        0.0,
        "gaussian",
    )


def orthogonal(rng):
    samples = int(rng.integers(2, 7))
    x = np.linalg.qr(rng.standard_normal((samples, samples)))[0] * rng.uniform(0.5, 2.0, size=(samples, 1))
    y = np.where(np.arange(samples) % 2, 1.0, -1.0)
    return rl.Dataset(x, y), str(rng.choice(["square", "logistic"])), 0.0, "gaussian"


def class_max_margin(rng):
    seed = int(rng.integers(1000))
    return rl.datasets.orthogonally_separable(int(rng.integers(4, 10)), 3, seed=seed), "logistic", 0.0, "gaussian"


def early_phase(rng):
    return two_neurons(rng)


def perturbed_symmetry(rng):
    return rl.datasets.six_points(delta=float(10 ** rng.uniform(-2.0, -1.0))), "square", 0.0, "gaussian"


DRAWS = {
    f.__name__: f for f in (two_neurons, symmetric_data, xor, orthogonal, class_max_margin, early_phase, perturbed_symmetry)
}


def problem_for(theorem, seed):
    rng = np.random.default_rng(seed)
    data, loss, alpha, start = DRAWS[theorem](rng)
    scale = 10 ** rng.uniform(-5.0, -1.8)
    network = rl.Network(data.inputs, (int(rng.integers(8, 50)),), alpha)
    return rl.Problem(data, network, network.init(scale, seed, start), loss)


def last_time(problem, theorem):
    """When most is learned; for theorems with a window its end."""
    window = THEOREMS[theorem].window(problem)[1]
    if window < 1e9:
        return window
    pulls = problem.loss.pull(problem.y, np.zeros_like(problem.y))
    rate = np.linalg.norm(pulls[:, None] * problem.data.x) / len(pulls)
    size = np.linalg.norm(problem.weights[0]) / problem.network.widths[0]
    return (np.log(1.0 / size) + 8.0) / rate


def check(theorem, seed):
    """Whether the problem of that seed could be judged: hypotheses may refuse it, the simulation may be dear."""
    problem = problem_for(theorem, seed)
    try:
        prediction = predict(problem, np.linspace(0.0, last_time(problem, theorem), POINTS), theorem=theorem)
    except rl.HypothesisError:
        return False
    run = rl.simulate(problem, prediction.times, rtol=TIGHT, max_steps=20_000)
    reached = len(run) if run.status is rl.Status.FINISHED else len(run) - 1
    off = np.abs(prediction.loss[:reached] - run.loss[:reached])
    of_the_run = 10 * TIGHT * run.loss[0]
    assert (off <= prediction.loss_error[:reached] + of_the_run).all(), (theorem, seed, float(off.max()))
    return True


@pytest.mark.parametrize("theorem", DRAWS)
def test_runs_lie_within_the_stated_error(theorem):
    judged = [check(theorem, seed) for seed in range(5)]
    assert sum(judged) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("theorem", DRAWS)
def test_many_runs_lie_within_the_stated_error(theorem):
    judged = [check(theorem, seed) for seed in range(100, 200)]
    assert sum(judged) >= 50


def test_every_theorem_states_one():
    fixed = rl.Network(4, (6,), 0.3, trainable=(True, False))
    orthogonal = rl.Dataset(np.eye(4), [1.0, -1.0, 1.0, -1.0])
    kou = rl.Problem(orthogonal, fixed, fixed.init(0.1, seed=0, start="two_class"), "logistic")
    deep = rl.Network(4, (4, 4))
    start = rl.reduced.deep_structure.aligned_deep_weights(deep, [1.0, 0.0, 0.0, 0.0], 0.3, seed=0)
    asked = {
        "limit": (aligned_problem(), [np.inf]),
        "time_course": (aligned_problem(white=True), [0.0, 1.0, np.inf]),
        "fixed_layer": (kou, [0.0, 1.0, np.inf]),
        "low_rank_bias": (kou, [np.inf]),
        "deep_reduction": (rl.Problem(aligned_problem().data, deep, start), [0.0, 1.0]),
    }
    assert set(asked) | set(DRAWS) == set(THEOREMS)
    for theorem, (problem, times) in asked.items():
        stated = predict(problem, times, theorem=theorem).loss_error
        assert stated.shape == (len(times),)
        assert (stated >= 0.0).all()


def test_a_forced_prediction_states_none():
    network = rl.Network(2, (8,))
    problem = rl.Problem(rl.datasets.six_points(delta=0.1), network, network.init(1e-3, seed=0))
    assert predict(problem, [1.0], theorem="two_neurons", force=True).loss_error is None


def test_one_input_that_falls_into_the_saddle_stays_there():
    """p r = -q beta/|beta|: nothing grows, and in z = (p r, q) rounding would."""
    data = rl.Dataset([[2.0]], [2.5]).symmetrised()
    network = rl.Network(1, (4,))
    second = np.array([[1.0, 1.0, -1.0, -1.0]]) / 100.0
    problem = rl.Problem(data, network, (-second.T, second))
    prediction = predict(problem, [0.0, 10.0, 50.0], theorem="symmetric_data")
    assert (prediction.linear_map[:, 0] <= 0.0).all()
    assert prediction.loss[-1] == pytest.approx(2.5**2 / 2, rel=1e-12)
