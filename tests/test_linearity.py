"""How linear a function is: closed forms, independence from the sample, honest intervals, refusals."""

import json
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rectilinear as rl

ROUNDING = 1e-12
DRAWS = 120
COVERED = range(105, 121)  # hits of a 95 % interval in 120 draws: fewer than 105 have probability 0.03 %


def normal(samples, inputs, seed=0):
    return np.random.default_rng(seed).standard_normal((samples, inputs))


def network(inputs, widths, seed=0, **options):
    net = rl.Network(inputs, widths, **options)
    weights = net.init(scale=1.0, seed=seed)
    return net, weights, lambda x: net.output(weights, x)


def exactly(estimate, value, tolerance=ROUNDING):
    return all(abs(number - value) <= tolerance for number in (estimate.value, estimate.low, estimate.high))


def test_a_linear_map_is_linear_in_every_respect():
    v = np.array([1.0, -2.0, 0.5])
    found = rl.linearity(lambda x: x @ v, normal(60, 3))
    for name, value in {
        "homogeneity_defect": 0.0,
        "even_energy": 0.0,
        "even_fraction": 0.0,
        "r_squared": 1.0,
        "pieces_from_origin": 1.0,
        "pieces_between": 1.0,
    }.items():
        assert exactly(found.estimates[name], value), name
    for vector in (found.linear_map, found.map_low, found.map_high):
        np.testing.assert_allclose(vector, v, rtol=ROUNDING)


def test_an_absolute_value_is_even_and_homogeneous():
    x = normal(400, 2)
    found = rl.linearity(lambda x: np.abs(x[:, 0]), np.concatenate([x, -x]))
    assert exactly(found.even_fraction, 1.0)
    assert exactly(found.homogeneity_defect, 0.0)
    assert exactly(found.pieces_from_origin, 1.0)
    np.testing.assert_allclose(found.linear_map, 0.0, atol=ROUNDING)
    # between samples it has one kink where the first input changes sign, which half of the pairs do
    assert found.pieces_between.low < 1.5 < found.pieces_between.high


def test_an_affine_function_is_not_homogeneous():
    """f = b + v.x: f(s x)/s - f(x) = b (1/s - 1), so the squared defect is <(b^2 + (b/2)^2)/2> / <f^2>."""
    x = normal(50, 2)
    found = rl.linearity(lambda x: 3.0 + x[:, 0], x)
    expected = np.sqrt(5 / 8 * 9.0 / np.mean((3.0 + x[:, 0]) ** 2))
    assert found.homogeneity_defect.value == pytest.approx(expected, rel=ROUNDING)
    assert found.even_energy.value == pytest.approx(9.0, rel=ROUNDING)
    assert found.odd_energy.value == pytest.approx(np.mean(x[:, 0] ** 2), rel=ROUNDING)
    assert exactly(found.pieces_between, 1.0)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), widths=st.sampled_from([(1,), (7,), (5, 4)]), alpha=st.sampled_from([0.0, 0.3, 1.0]))
def test_bias_free_networks_are_homogeneous_and_agree_with_the_measures(seed, widths, alpha):
    net, weights, f = network(3, widths, seed, alpha=alpha)
    x = normal(40, 3, seed + 1)
    found = rl.linearity(f, x)
    assert exactly(found.pieces_from_origin, 1.0)
    assert found.even_energy.value == pytest.approx(rl.measures.even_energy(net, weights, x), rel=1e-9, abs=1e-30)
    assert found.odd_energy.value == pytest.approx(rl.measures.odd_energy(net, weights, x), rel=1e-9, abs=1e-30)
    np.testing.assert_allclose(found.linear_map, rl.measures.effective_linear_map(net, weights, x), rtol=1e-9, atol=1e-12)
    if found.odd_energy.value + found.even_energy.value > 0:
        assert exactly(found.homogeneity_defect, 0.0, 1e-9)


def test_pieces_are_counted_as_the_neurons_say():
    """Between two samples a two-layer network bends where a neuron's preactivation changes sign."""
    _, weights, f = network(4, (3,), seed=2)
    x = normal(2, 4, seed=5)
    crossed = int(np.sum(np.diff(np.sign(x @ weights[0].T), axis=0) != 0))
    assert crossed > 0
    assert exactly(rl.linearity(f, x).pieces_between, 1.0 + crossed)


def test_biases_bend_rays():
    _, _, f = network(3, (20,), seed=1, bias=True)
    found = rl.linearity(f, normal(100, 3))
    assert found.pieces_from_origin.low > 2
    assert found.homogeneity_defect.low > 0.1


def test_a_smooth_function_has_no_linear_pieces_to_count():
    found = rl.linearity(lambda x: np.sin(x @ [1.0, 1.0]), normal(50, 2))
    assert found.pieces_between.value > 40


def test_single_precision_does_not_pass_for_kinks():
    v = np.array([0.3, -0.7, 0.1], dtype=np.float32)
    found = rl.linearity(lambda x: (x.astype(np.float32) @ v)[:, None], normal(100, 3))
    assert exactly(found.pieces_between, 1.0)
    assert exactly(found.r_squared, 1.0, 1e-10)


def test_r_squared_makes_up_for_what_was_fitted():
    """Pure noise with a tenth as many inputs as samples: a plain R^2 would be 0.1 too large."""
    rng = np.random.default_rng(0)
    values = [
        rl.linearity(lambda x: rng.standard_normal(len(x)), rng.standard_normal((100, 10))).r_squared.value
        for _ in range(40)
    ]
    spread = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values)) < 4 * spread
    assert spread < 0.02


@pytest.mark.parametrize("samples", [2, 4])
def test_r_squared_is_undefined_where_any_function_fits(samples):
    found = rl.linearity(lambda x: np.abs(x[:, 0]), normal(samples, 4))
    assert np.isnan(found.r_squared.value)
    assert "R^2 undefined" in repr(found)
    assert json.loads(found.to_json())["r_squared"] == {"value": None, "low": None, "high": None}


def test_a_function_that_vanishes_has_no_ratios():
    found = rl.linearity(lambda x: np.zeros(len(x)), normal(9, 2))
    assert all(np.isnan(found.estimates[name].value) for name in ("homogeneity_defect", "even_fraction", "r_squared"))
    assert exactly(found.odd_energy, 0.0)
    assert exactly(found.pieces_between, 1.0)


def test_intervals_cover_the_population_as_often_as_they_say():
    """f = max(x1, 0) + 0.3 on N(0, I) in two inputs, where every expectation is known."""
    mean = 1 / np.sqrt(2 * np.pi)  # <max(x1, 0)>
    square = 0.5 + 0.6 * mean + 0.09
    even = 0.25 + 0.6 * mean + 0.09  # f_e = |x1|/2 + 0.3
    truths = {
        "odd_energy": 0.25,
        "even_fraction": even / (even + 0.25),
        "r_squared": 0.25 / square,
        "homogeneity_defect": np.sqrt(5 / 8 * 0.09 / square),
        "linear_map": 0.5,
    }
    hits = dict.fromkeys(truths, 0)
    for draw in range(DRAWS):
        found = rl.linearity(lambda x: np.maximum(x[:, 0], 0.0) + 0.3, normal(150, 2, seed=draw), seed=draw)
        intervals = {name: (estimate.low, estimate.high) for name, estimate in found.estimates.items()}
        intervals["linear_map"] = (found.map_low[0], found.map_high[0])
        for name, truth in truths.items():
            hits[name] += intervals[name][0] <= truth <= intervals[name][1]
    assert all(count in COVERED for count in hits.values()), hits


def test_wider_confidence_wider_interval_and_seeds_repeat():
    _, _, f = network(3, (10,))
    x = normal(80, 3)
    one, again, other, wide = (
        rl.linearity(f, x), rl.linearity(f, x), rl.linearity(f, x, seed=1), rl.linearity(f, x, confidence=0.999)
    )  # fmt: skip
    assert one.to_json() == again.to_json() != other.to_json()
    assert wide.r_squared.low < one.r_squared.low < one.r_squared.value < one.r_squared.high < wide.r_squared.high


def test_blocks_change_nothing(monkeypatch):
    _, _, f = network(3, (10,))
    x = normal(80, 3)
    whole = json.loads(rl.linearity(f, x).to_json())
    monkeypatch.setattr(sys.modules["rectilinear.linearity"], "BLOCK", 1000)
    parts = json.loads(rl.linearity(f, x).to_json())
    for name in ("homogeneity_defect", "even_energy", "r_squared", "pieces_between"):
        assert parts[name]["value"] == pytest.approx(whole[name]["value"], rel=1e-9, abs=1e-14)


def test_the_card_and_json_say_the_same():
    _, _, f = network(2, (5,))
    found = rl.linearity(f, normal(30, 2))
    card = repr(found).splitlines()
    assert card[0] == "Linearity on 30 samples, 2 inputs, 95 % intervals"
    assert [line.split("  ")[1].strip() for line in card[1:]] == [
        "homogeneity",
        "even part",
        "odd part",
        "linear map",
        "pieces",
    ]
    told = json.loads(found.to_json())
    assert told["even_fraction"]["value"] == found.even_fraction.value
    assert told["linear_map"] == found.linear_map.tolist()
    assert f"{told['even_fraction']['value']:.3g} [" in card[2]


REFUSALS = {
    "one dimension": (
        lambda x: x,
        [1.0, 2.0],
        {},
        "x must have shape (samples, inputs) with two samples at least, found (2,).",
    ),
    "one sample": (lambda x: x, [[1.0]], {}, "x must have shape (samples, inputs) with two samples at least, found (1, 1)."),
    "text": (lambda x: x, [["a"], ["b"]], {}, "x must be an array of numbers (could not convert string to float: 'a')."),
    "nan": (
        lambda x: x,
        [[1.0], [np.nan]],
        {},
        "x must hold numbers of size 1e+100 at most, found nan, inf or larger; clean or rescale it.",
    ),
    "two outputs": (
        lambda x: x,
        [[1.0, 2.0], [3.0, 4.0]],
        {},
        "f must map inputs of shape (2, 2) to numbers of shape (2,), found float64 of shape (2, 2); "
        "wrap it, or choose one of several by output=0.",
    ),
    "not numbers": (
        lambda x: ["a"] * len(x),
        [[1.0], [2.0]],
        {},
        "f must map inputs of shape (2, 1) to numbers of shape (2,), found <U1 of shape (2,); "
        "wrap it, or choose one of several by output=0.",
    ),
    "infinite": (
        lambda x: np.where(x > 3, np.inf, x),
        [[1.0], [2.0]],
        {},
        "f must be a number of size 1e+100 at most on x, -x, their multiples and means, found inf.",
    ),
    "confidence": (
        lambda x: x,
        [[1.0], [2.0]],
        {"confidence": 95},
        "confidence must lie strictly between 0 and 1, found 95.",
    ),
    "seed": (lambda x: x, [[1.0], [2.0]], {"seed": -1}, "seed must be a whole number >= 0, found -1."),
}


@pytest.mark.parametrize(("f", "x", "options", "sentence"), REFUSALS.values(), ids=REFUSALS.keys())
def test_unusable_functions_and_inputs_are_refused(f, x, options, sentence):
    with pytest.raises(rl.InputError) as refusal:
        rl.linearity(f, x, **options)
    assert str(refusal.value) == sentence
