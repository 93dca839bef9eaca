"""Starting weights: each start's defining property, and what is refused."""

import numpy as np
import pytest

import rectilinear as rl
from rectilinear.starts import STARTS

ROUNDING = 1e-13
NET = rl.Network(inputs=5, widths=(12,))


@pytest.mark.parametrize("start", STARTS)
def test_a_seed_gives_the_same_weights_on_every_call_and_others_on_other_seeds(start):
    one, again, other = (NET.init(1e-3, seed=seed, start=start) for seed in (3, 3, 4))
    for a, b, shape in zip(one, again, NET.shapes, strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.shape == shape
    assert (one[0] != other[0]).any()


@pytest.mark.parametrize("start", STARTS)
def test_the_scale_multiplies_what_is_random(start):
    small, large = (NET.init(scale, seed=0, start=start) for scale in (1.0, 1e-8))
    np.testing.assert_allclose(large[0], 1e-8 * small[0], rtol=ROUNDING)


def test_gaussian_layers_have_the_variance_of_the_paper():
    net = rl.Network(inputs=40, widths=(200, 100))
    for layer in net.init(scale=0.1, seed=0):
        standard = layer * np.sqrt(layer.size) / 0.1
        three_sigma = 3.0
        assert abs(standard.mean()) < three_sigma / np.sqrt(layer.size)
        assert abs(standard.var() - 1.0) < three_sigma * np.sqrt(2.0 / layer.size)


def test_balanced_neurons_have_equal_weights_in_and_out():
    first, second = NET.init(1.0, seed=0, start="balanced")
    np.testing.assert_allclose(np.sum(first**2, axis=1), second[0] ** 2, rtol=ROUNDING)
    assert set(np.sign(second[0])) == {-1.0, 1.0}


@pytest.mark.parametrize("width", [2, 7, 12])
@pytest.mark.parametrize("direction", [None, [0.0, 3.0, 0.0, -4.0, 0.0]])
def test_rank_one_start_is_assumption_4(width, direction):
    first, second = rl.Network(5, (width,)).init(1e-3, seed=1, start="rank_one", direction=direction)
    r = second[0] @ first / (second[0] @ second[0])
    np.testing.assert_allclose(first, np.outer(second[0], r), rtol=ROUNDING, atol=1e-18)
    assert np.linalg.norm(r) == pytest.approx(1.0, rel=ROUNDING)
    positive, negative = second[second > 0], second[second < 0]
    assert np.linalg.norm(positive) == pytest.approx(np.linalg.norm(negative), rel=ROUNDING)
    assert np.linalg.norm(first) == pytest.approx(1e-3, rel=ROUNDING)
    assert np.linalg.norm(second) == pytest.approx(1e-3, rel=ROUNDING)
    if direction is not None:
        np.testing.assert_allclose(r, np.array(direction) / 5.0, atol=ROUNDING)


def test_antisymmetric_start_outputs_nothing():
    x = np.random.default_rng(0).standard_normal((20, 5))
    weights = NET.init(1.0, seed=0, start="antisymmetric")
    np.testing.assert_allclose(NET.output(weights, x), 0.0, atol=1e-15)
    assert NET.output((weights[0], np.abs(weights[1])), x).any()


def test_antisymmetric_start_has_the_expected_norm():
    squares = [[np.sum(layer**2) for layer in NET.init(2.0, seed=seed, start="antisymmetric")] for seed in range(400)]
    spread = 4.0 * np.sqrt(
        2.0 / 6 / 400
    )  # of the mean of 400 sums of 6 squares, each twice; the second layer is the wider one
    np.testing.assert_allclose(np.mean(squares, axis=0), 4.0, atol=4 * spread)


def test_two_class_start_fixes_the_second_layer_of_kou():
    _, second = NET.init(1e-2, seed=0, start="two_class")
    assert second[0].tolist() == [1 / 6] * 6 + [-1 / 6] * 6


@pytest.mark.parametrize(
    ("net", "options", "sentence"),
    [
        (NET, {"scale": 0.0}, "scale must be a positive number, found 0.0; the papers use 1e-8 to 1e-2."),
        (NET, {"scale": float("nan")}, "scale must be a positive number, found nan; the papers use 1e-8 to 1e-2."),
        (NET, {"seed": -1}, "seed must be a whole number >= 0, found -1."),
        (NET, {"seed": 0.5}, "seed must be a whole number >= 0, found 0.5."),
        (
            NET,
            {"start": "zeros"},
            "start must be one of gaussian, balanced, rank_one, antisymmetric, two_class, found 'zeros'.",
        ),
        (
            rl.Network(5, (4, 4)),
            {"start": "balanced"},
            "start 'balanced' is defined for two layers, found 3; use 'gaussian'.",
        ),
        (NET, {"direction": np.ones(5)}, "direction belongs to start 'rank_one', found start 'gaussian'; drop it."),
        (
            NET,
            {"start": "rank_one", "direction": np.ones(3)},
            "direction must be a finite non-zero vector of shape (5,), found shape (3,).",
        ),
        (
            NET,
            {"start": "rank_one", "direction": np.zeros(5)},
            "direction must be a finite non-zero vector of shape (5,), found shape (5,).",
        ),
        (
            rl.Network(5, (1,)),
            {"start": "rank_one"},
            "start 'rank_one' needs a neuron of each sign, so a width of 2 at least, found 1.",
        ),
        (
            rl.Network(5, (3,)),
            {"start": "antisymmetric"},
            "start 'antisymmetric' pairs the neurons, so the width must be even, found 3.",
        ),
        (
            rl.Network(5, (3,)),
            {"start": "two_class"},
            "start 'two_class' has as many positive as negative neurons, so the width must be even, found 3.",
        ),
    ],
)
def test_impossible_starts_are_refused(net, options, sentence):
    with pytest.raises(rl.InputError) as refusal:
        net.init(**{"scale": 1.0, "seed": 0, **options})
    assert str(refusal.value) == sentence
