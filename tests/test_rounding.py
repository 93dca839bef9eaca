"""Hypotheses survive rounding: the same mathematical data, however they were computed, get the same verdicts and theorems."""

import numpy as np
import pytest

import rectilinear as rl

RNG = np.random.default_rng(0)
HALF = RNG.standard_normal((60, 5))
MIRRORED = np.vstack([HALF, -HALF])
W = RNG.standard_normal(5)


def odd(x):
    along = x @ RNG.permutation(np.ones(x.shape[1]))
    return along + along**3 / 10


def whitened(x):
    left, _, _ = np.linalg.svd(x, full_matrices=False)
    return left * np.sqrt(len(x))


def grid(side):
    return np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)


def circle(points):
    angle = 2 * np.pi * (np.arange(points) + 0.5) / points
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


Y = MIRRORED @ W + (MIRRORED @ W) ** 3 / 10
SHIFTED = MIRRORED + 3.0
SYMMETRIC = {
    "a polynomial": (MIRRORED, Y),
    "centred labels": (MIRRORED, Y - Y.mean()),
    "standardised labels": (MIRRORED, (Y - Y.mean()) / Y.std()),
    "standardised inputs": ((MIRRORED - MIRRORED.mean(0)) / MIRRORED.std(0), Y),
    "standardised from far away": ((SHIFTED - SHIFTED.mean(0)) / SHIFTED.std(0), Y),
    "centred from far away": (SHIFTED - SHIFTED.mean(0), Y),
    "whitened by SVD": (whitened(MIRRORED), Y),
    "a grid": (grid(np.linspace(-1, 1, 12)), odd(grid(np.linspace(-1, 1, 12)))),
    "a line": (np.linspace(-2, 2, 40)[:, None], np.linspace(-2, 2, 40) ** 3),
    "a circle": (circle(24), odd(circle(24))),
    "float32": (MIRRORED.astype(np.float32) * np.float32(0.3) + np.float32(1e-9), Y.astype(np.float32)),
    "six digits": (np.array([[float(f"{v:.6g}") for v in row] for row in MIRRORED]), [float(f"{v:.6g}") for v in Y]),
}


@pytest.mark.parametrize(("x", "y"), SYMMETRIC.values(), ids=SYMMETRIC.keys())
def test_symmetric_data_stay_symmetric(x, y):
    data = rl.Dataset(x, y)
    even, target = rl.conditions.even_inputs(data), rl.conditions.odd_target(data)
    assert even.holds, even
    assert target.holds, target
    for finding in (even, target):
        words = "to rounding" if data.precision.name == "float64" else "to the precision of the data"
        assert (words in finding.sentence) == (finding.defect > 0)
    net = rl.Network(data.inputs, (20,))
    told = rl.predict(rl.Problem(data, net, net.init(1e-6, seed=0)), [0.0, np.inf])
    assert told.theorem == "two_neurons"


def test_the_sentence_says_how_far_off_it_is():
    x = np.array([[1.0], [-1.0 - 4e-16]])
    assert rl.conditions.even_inputs(rl.Dataset(x, [1.0, -1.0])).sentence == (
        "every sample x has its mirror image -x in the data, to rounding (4.4e-16)."
    )
    assert rl.conditions.odd_target(rl.Dataset([[1.0], [-1.0]], [1.0, -1.0 + 1.23456789e-8])).sentence == (
        "labels of mirror images must be opposite, but y = 1 at sample 0 meets y = -1 at sample 1 "
        "(off by 1.2e-08, as float32 would leave it: state precision=2e-05 if that is what the data are)."
    )
    assert rl.conditions.odd_target(rl.Dataset([[1.0], [-1.0]], [1.0, -1.0 + 1.23456789e-8], precision=2e-6)).holds


def test_real_asymmetry_is_seen():
    x = MIRRORED.copy()
    x[0] *= 1 + 1e-6
    assert rl.conditions.even_inputs(rl.Dataset(x, Y)).holds is False
    y = Y.copy()
    y[0] *= 1 + 1e-6
    assert rl.conditions.odd_target(rl.Dataset(MIRRORED, y)).holds is False


FINE = np.linalg.qr(RNG.standard_normal((6, 6)))[0]
COARSE = {
    "float32": lambda values: np.asarray(values, dtype=np.float32),
    "six digits": lambda values: np.vectorize(lambda v: float(f"{v:.6g}"))(values),
}


@pytest.mark.parametrize("written", COARSE.values(), ids=COARSE.keys())
def test_other_hypotheses_hold_to_the_precision_of_the_data(written):
    x = whitened(HALF)
    white = rl.Dataset(written(x), written(x @ W))
    assert rl.conditions.white_inputs(white).holds
    assert rl.conditions.linear_target(white).holds
    assert rl.conditions.expressible_target(white).holds
    assert rl.conditions.orthogonal_inputs(rl.Dataset(written(3 * FINE), np.ones(6))).holds
    net = rl.Network(5, (8,))
    for start, finding in (("rank_one", "rank_one_start"), ("balanced", "balanced_start")):
        weights = tuple(written(layer) for layer in net.init(1e-3, seed=0, start=start))
        assert getattr(rl.conditions, finding)(rl.Problem(white, net, weights)).holds


@pytest.mark.parametrize("name", ["standardised from far away", "whitened by SVD"])
def test_rounding_costs_a_simulation_neither_digits_nor_its_fast_path(name):
    x, y = SYMMETRIC[name]
    exact = rl.Dataset(np.vstack([x[:60], -x[:60]]), np.concatenate([y[:60], -y[:60]]))
    exact, rounded = (rl.Dataset(np.tile(d.x, (2, 1)), np.tile(d.y, 2)) for d in (exact, rl.Dataset(x, y)))
    net = rl.Network(5, (20,))
    runs = [rl.simulate(rl.Problem(d, net, net.init(1e-3, seed=0)), np.linspace(0, 3, 4)) for d in (exact, rounded)]
    assert runs[0].provenance["rtol"] == runs[1].provenance["rtol"] == 1e-9
    np.testing.assert_allclose(runs[0].loss, runs[1].loss, rtol=1e-7)


@pytest.mark.parametrize("seed", range(20))
def test_chains_of_single_precision_keep_the_symmetry_they_had(seed):
    """Shifted, standardised and put through a cubic, all of it in float32: the precision of the data covers what that leaves."""
    rng = np.random.default_rng(seed)
    inputs, pairs = int(rng.integers(2, 30)), int(rng.integers(20, 400))
    half = rng.standard_normal((pairs, inputs)).astype(np.float32)
    x = np.concatenate([half, -half]) + np.float32(3)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    z = x @ rng.standard_normal(inputs).astype(np.float32)
    y = z + z**3 / np.float32(10)
    data = rl.Dataset(x, y - y.mean())
    assert data.precision.name == "float32"
    assert rl.conditions.even_inputs(data).holds
    assert rl.conditions.odd_target(data).holds
