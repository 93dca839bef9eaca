"""Named data sets: exactly the promised hypotheses hold, by direct computation, and unusable options are refused."""

import sys

import numpy as np
import pytest
from scipy.optimize import linprog

import rectilinear as rl
from rectilinear import datasets
from rectilinear.datasets import real

ROUNDING = 1e-12
FIT = 1e-8  # relative residual of a fit that is exact up to rounding and conditioning


def same_rows(a, b):
    return sorted(map(tuple, (a + 0.0).tolist())) == sorted(map(tuple, (b + 0.0).tolist()))


def fits(features, y):
    solution = np.linalg.lstsq(features, y, rcond=None)[0]
    return bool(np.linalg.norm(features @ solution - y) <= FIT * np.linalg.norm(y))


def is_separable(data):
    signed = data.y[:, None] * data.x
    return linprog(np.zeros(data.inputs), -signed, -np.ones(data.samples), bounds=(None, None)).status == 0


def is_expressible(data):
    """Whether output weights of many ReLU neurons can fit the labels: mirrored ones, random or with a kink at a sample."""
    directions = np.random.default_rng(1).standard_normal((2 * data.samples, data.inputs))
    units = data.x / np.linalg.norm(data.x, axis=1, keepdims=True)
    directions[: data.samples] -= np.sum(directions[: data.samples] * units, axis=1, keepdims=True) * units
    return fits(np.maximum(data.x @ np.concatenate([directions, -directions]).T, 0.0), data.y)


def holding(data):
    """All hypotheses that hold in the sample."""
    x, y = data.x, data.y
    gram = x @ x.T
    others = ~np.eye(data.samples, dtype=bool)
    squares = np.diag(gram)
    zero = ROUNDING * squares.max()
    overlap = max(np.abs(gram[others]).max(), zero)
    binary = np.isin(y, (-1.0, 1.0)).all()
    same_class = y[:, None] == y
    inputs = set(map(tuple, (x + 0.0).tolist()))
    paired = np.array([[*row, label] for row, label in zip(x, y, strict=True) if tuple(0.0 - row) in inputs])
    verdicts = {
        "even_inputs": same_rows(x, -x),
        "odd_target": same_rows(paired, -paired) and len(paired) > 0,
        "white_inputs": np.abs(x.T @ x / data.samples - np.eye(data.inputs)).max() < ROUNDING,
        "linear_target": fits(x, y),
        "separable": binary and is_separable(data),
        "orthogonally_separable": binary and (gram[same_class] > zero).all() and (gram[~same_class] <= 0).all(),
        "orthogonal_inputs": overlap <= zero,
        "nearly_orthogonal": squares.min() > squares.max() / squares.min() * data.samples * overlap,
        "expressible_target": is_expressible(data),
    }
    return {name for name, verdict in verdicts.items() if verdict}


# sizes at which nothing else holds by accident: more samples than inputs, unless the geometry asks for fewer
CASES = [
    ("sine_teacher", {"inputs": 4, "pairs": 15}),
    ("sine_teacher", {"inputs": 3, "pairs": 12, "white": True}),
    ("linear_teacher", {"inputs": 4, "pairs": 15}),
    ("linear_teacher", {"inputs": 3, "pairs": 12, "white": True}),
    ("orthogonal", {}),
    ("orthogonal", {"samples": 3, "inputs": 9, "norms": [1.0, 5.0, 0.1]}),
    ("orthogonal", {"samples": 4, "inputs": 4, "norms": 2.0}),
    ("orthogonal", {"samples": 4, "inputs": 4, "norms": 1.0}),
    ("orthogonally_separable", {}),
    ("orthogonally_separable", {"samples": 7, "inputs": 2}),
    ("nearly_orthogonal", {}),
    ("nearly_orthogonal", {"samples": 6, "inputs": 20, "constant": 1.5}),
    ("gaussian_teacher", {"inputs": 4, "samples": 30}),
    ("gaussian_teacher", {"inputs": 2, "samples": 12, "neurons": 8}),
    *(
        ("monomial", {"order": order, "inputs": 5, "samples": 24, "mirrored": mirrored})
        for order in range(1, 6)
        for mirrored in (True, False)
    ),
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("name", "options"), CASES, ids=[f"{name}-{k}" for k, (name, _) in enumerate(CASES)])
def test_exactly_the_promised_hypotheses_hold(name, options, seed):
    data = datasets.make(name, seed=seed, **options)
    assert data.name == name
    assert holding(data) == data.promises


@pytest.mark.parametrize("delta", [0.15, 0.01, 0, -0.4, 0.9])
def test_exactly_the_promised_hypotheses_hold_for_six_points(delta):
    data = datasets.six_points(delta)
    assert holding(data) == data.promises
    assert ("even_inputs" in data.promises) == (delta == 0)


def test_exactly_the_promised_hypotheses_hold_for_xor():
    assert holding(datasets.xor()) == datasets.xor().promises


def test_every_promise_has_a_meaning_and_is_kept_by_some_data_set():
    made = [datasets.make(name, **options) for name, options in CASES]
    assert set().union(*(data.promises for data in made)) == set(datasets.PROMISES)


@pytest.mark.parametrize("name", [name for name in datasets.NAMES if "seed" in datasets.options_of(name)])
def test_a_seed_gives_the_same_data_every_time_and_other_data_for_other_seeds(name):
    one, again, other = (datasets.make(name, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.x, again.x)
    np.testing.assert_array_equal(one.y, again.y)
    assert (one.x != other.x).any()


def test_the_sine_teacher_is_that_of_figure_1():
    sine, linear = datasets.sine_teacher(seed=3), datasets.linear_teacher(seed=3)
    assert sine.x.shape == (2000, 20)
    np.testing.assert_array_equal(sine.x, linear.x)
    np.testing.assert_array_equal(sine.x[:1000], -sine.x[1000:])
    np.testing.assert_allclose(sine.y, linear.y + np.sin(4 * linear.y), rtol=ROUNDING)
    w = np.linalg.lstsq(linear.x, linear.y, rcond=None)[0]
    assert np.abs(w).max() <= 0.5
    assert np.abs(w).max() > 0.25  # misses with probability 2^-20
    one_draw = sine.x[:1000]
    assert abs(one_draw.mean()) < 4 / np.sqrt(one_draw.size)
    assert abs(one_draw.var() - 1) < 4 * np.sqrt(2 / one_draw.size)


def test_whitening_keeps_the_teacher_and_moves_the_sample_little():
    plain, white = datasets.linear_teacher(pairs=4000, inputs=5), datasets.linear_teacher(pairs=4000, inputs=5, white=True)
    teachers = [np.linalg.lstsq(data.x, data.y, rcond=None)[0] for data in (plain, white)]
    np.testing.assert_allclose(teachers[0], teachers[1], rtol=1e-10)
    assert np.linalg.norm(plain.x - white.x) < 0.05 * np.linalg.norm(plain.x)


def test_six_points_are_those_of_figure_2():
    data = datasets.six_points()
    assert data.x.tolist() == [[1, 1], [-1, -1], [1, -1], [-1, 1], [-1, 0], [1, 0.15]]
    assert data.y.tolist() == [1, -1, 1, -1, 1, -1]


def test_monomials_multiply_the_first_inputs():
    data = datasets.monomial(order=3, inputs=5, samples=8)
    np.testing.assert_allclose(data.y, data.x[:, 0] * data.x[:, 1] * data.x[:, 2], rtol=ROUNDING)
    assert data.samples == 8


def test_the_gaussian_teacher_needs_no_more_neurons_than_it_has():
    """With one neuron y = +-max(w.x, 0), |w| = 1: where it is not zero it is linear, with a unit w."""
    data = datasets.gaussian_teacher(inputs=3, samples=60, neurons=1)
    on = data.y != 0
    assert 10 < on.sum() < 50
    w = np.linalg.lstsq(data.x[on], data.y[on], rcond=None)[0]
    assert np.linalg.norm(w) == pytest.approx(1.0, rel=1e-10)
    np.testing.assert_allclose(np.abs(data.y), np.maximum(np.sign(data.y[on][0]) * (data.x @ w), 0.0), atol=1e-10)


@pytest.mark.parametrize(("samples", "inputs", "constant"), [(10, 500, 5.0), (5, 5, 100.0), (3, 200_00, 2.0)])
def test_nearly_orthogonal_inputs_obey_the_inequality_of_kou(samples, inputs, constant):
    x = datasets.nearly_orthogonal(samples, inputs, constant).x
    lengths = np.linalg.norm(x, axis=1)
    overlap = max(abs(x[i] @ x[j]) for i in range(samples) for j in range(i))
    ratio = lengths.min() ** 2 / ((lengths.max() / lengths.min()) ** 2 * samples * overlap)
    assert ratio >= constant
    assert datasets.near_orthogonality(x) == pytest.approx(ratio, rel=1e-10)
    assert overlap > ROUNDING  # nearly, not exactly, orthogonal


def test_high_dimensional_gaussian_inputs_are_left_as_they_are():
    drawn = np.random.default_rng(0).standard_normal((2, 20_000))
    np.testing.assert_array_equal(datasets.nearly_orthogonal(2, 20_000, constant=1.5).x, drawn)


@pytest.mark.parametrize("name", ["orthogonal", "orthogonally_separable", "nearly_orthogonal"])
@pytest.mark.parametrize("samples", [2, 5])
def test_both_classes_are_present(name, samples):
    for seed in range(5):
        assert abs(datasets.make(name, samples=samples, seed=seed).y.sum()) <= 1


def test_digits_are_centred_images_of_two_numbers():
    data = datasets.digits()
    assert data.x.shape == (360, 64)
    assert (data.y == 1).sum() == 178  # zeros in the set
    np.testing.assert_allclose(data.x.mean(axis=0), 0.0, atol=ROUNDING)
    assert np.ptp(data.x, axis=0).max() == pytest.approx(1.0)
    assert (data.name, data.promises) == ("digits_0_1", frozenset())
    swapped = datasets.digits(first=1, second=0)
    np.testing.assert_array_equal(swapped.y, -data.y)


@pytest.mark.parametrize(("name", "shape"), [("breast_cancer", (569, 30)), ("diabetes", (442, 10))])
def test_measurements_are_standardised(name, shape):
    data = datasets.make(name)
    assert data.x.shape == shape
    np.testing.assert_allclose(data.x.mean(axis=0), 0.0, atol=ROUNDING)
    np.testing.assert_allclose(data.x.std(axis=0), 1.0, rtol=ROUNDING)
    if name == "diabetes":
        assert data.y.mean() == pytest.approx(0.0, abs=ROUNDING)
        assert data.y.std() == pytest.approx(1.0)
    else:
        assert [(data.y == label).sum() for label in (1, -1)] == [357, 212]  # benign, malignant


@pytest.mark.parametrize("name", ["digits", "breast_cancer", "diabetes"])
def test_symmetrised_real_data_keeps_condition_3(name):
    data = datasets.make(name, symmetrised=True)
    assert data.promises == {"even_inputs", "odd_target"}
    assert same_rows(np.column_stack([data.x, data.y]), -np.column_stack([data.x, data.y]))
    assert data.name.endswith(" (symmetrised)")


@pytest.mark.parametrize("name", ["breast_cancer", "diabetes", "digits"])
def test_files_of_scikit_learn_hold_what_its_loaders_give(name, monkeypatch):
    read = datasets.make(name)
    monkeypatch.setitem(real.FILES, f"load_{name}", (("nowhere.csv",), ",", 0))
    loaded = datasets.make(name)
    np.testing.assert_array_equal(read.y, loaded.y)
    np.testing.assert_allclose(read.x, loaded.x, rtol=0, atol=1e-13)  # one of them is scaled there already


def test_real_data_says_what_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(rl.InputError) as refusal:
        datasets.digits()
    assert str(refusal.value) == (
        "scikit-learn is required for the real data sets and is not installed; install rectilinear[real-data]."
    )


REFUSALS = [
    (
        "five_points",
        {},
        f"a data set's name must be one of {', '.join(datasets.NAMES)}, found 'five_points'; did you mean 'six_points'?",
    ),
    ("six_points", {"epsilon": 0.1}, "an option of six_points must be one of delta, found 'epsilon'."),
    ("xor", {"seed": 1}, "an option of xor must be left out, as it has none, found 'seed'."),
    (
        "six_points",
        {"delta": 1.0},
        "delta must lie strictly between -1 and 1, where the sixth point would meet another, found 1.0.",
    ),
    (
        "six_points",
        {"delta": "a"},
        "delta must lie strictly between -1 and 1, where the sixth point would meet another, found 'a'.",
    ),
    ("sine_teacher", {"inputs": 0}, "inputs must be a whole number >= 1, found 0."),
    ("sine_teacher", {"pairs": 2.5}, "pairs must be a whole number >= 1, found 2.5."),
    ("sine_teacher", {"seed": -1}, "seed must be a whole number >= 0, found -1."),
    ("sine_teacher", {"white": "no"}, "white must be true or false, found 'no'."),
    (
        "linear_teacher",
        {"inputs": 5, "pairs": 4, "white": True},
        "pairs must be a whole number >= 5 (white inputs need a pair per input), found 4.",
    ),
    ("gaussian_teacher", {"neurons": 0}, "neurons must be a whole number >= 1, found 0."),
    ("gaussian_teacher", {"samples": True}, "samples must be a whole number >= 1, found True."),
    ("monomial", {"order": 0}, "order must be a whole number >= 1, found 0."),
    (
        "monomial",
        {"order": 4, "inputs": 3},
        "inputs must be a whole number >= 4 (the order, as each factor is an input of its own), found 3.",
    ),
    ("monomial", {"samples": 7}, "samples must be even for mirrored data, found 7."),
    ("orthogonal", {"samples": 1}, "samples must be a whole number >= 2 (one of each class), found 1."),
    (
        "orthogonal",
        {"samples": 4, "inputs": 3},
        "inputs must be a whole number >= 4 (the number of samples, as orthogonal inputs are independent), found 3.",
    ),
    (
        "orthogonal",
        {"samples": 3, "norms": [1, 2]},
        "norms must be one positive number, or one for each of the 3 samples, found [1, 2].",
    ),
    (
        "orthogonal",
        {"samples": 3, "norms": -1},
        "norms must be one positive number, or one for each of the 3 samples, found -1.",
    ),
    ("orthogonal", {"norms": "long"}, "norms must be a positive number or a list of them, found 'long'."),
    (
        "orthogonally_separable",
        {"inputs": 1},
        "inputs must be a whole number >= 2 (on a line all samples of a class are multiples of one another), found 1.",
    ),
    (
        "nearly_orthogonal",
        {"samples": 9, "inputs": 8},
        "inputs must be a whole number >= 9 (the number of samples, as nearly orthogonal inputs are independent), found 8.",
    ),
    (
        "nearly_orthogonal",
        {"constant": 1},
        "constant must lie strictly between 1 and infinity; Kou et al. need a large one, found 1.",
    ),
    ("digits", {"first": 10}, "first must be a digit from 0 to 9, found 10."),
    ("digits", {"second": "one"}, "second must be a digit from 0 to 9, found 'one'."),
    ("digits", {"first": 3, "second": 3}, "first and second must be two different digits, found 3 twice."),
    ("diabetes", {"symmetrised": 1}, "symmetrised must be true or false, found 1."),
]


@pytest.mark.parametrize(("name", "options", "sentence"), REFUSALS)
def test_unusable_options_are_refused(name, options, sentence):
    with pytest.raises(rl.InputError) as refusal:
        datasets.make(name, **options)
    assert str(refusal.value) == sentence
