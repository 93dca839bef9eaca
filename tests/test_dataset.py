"""Data sets: what is refused, their moments, their mirror pairs and the lines through the origin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rectilinear as rl
from rectilinear.conditions.budget import budget
from rectilinear.dataset import find_lines

ROUNDING = 1e-12


def partition(index):
    """Which samples share a line, whatever the lines are called."""
    return {frozenset(np.flatnonzero(index == k).tolist()) for k in set(index.tolist())}


@st.composite
def collinear_samples(draw):
    """Directions, no two parallel, and samples that are multiples of them."""
    inputs = draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    directions = rng.standard_normal((draw(st.integers(1, 6)), inputs))
    owner = np.array(draw(st.lists(st.integers(0, len(directions) - 1), min_size=1, max_size=20)))
    multiples = draw(st.lists(st.sampled_from([1.0, -1.0, 3.0, -0.1, 1e-6, -7e5]), min_size=len(owner), max_size=len(owner)))
    return owner, np.array(multiples)[:, None] * directions[owner], rng


@given(collinear_samples())
def test_lines_gather_duplicate_antipodal_and_collinear_samples(case):
    owner, x, _ = case
    lines = rl.Dataset(x, np.zeros(len(x))).lines
    assert partition(lines.index) == partition(owner)
    assert len(lines) == len(set(owner.tolist()))
    np.testing.assert_allclose(np.linalg.norm(lines.normals, axis=1), 1.0, rtol=ROUNDING)
    np.testing.assert_allclose(lines.lengths[:, None] * lines.normals[lines.index], x, rtol=ROUNDING, atol=0)


@given(collinear_samples())
def test_lines_do_not_depend_on_rotation_or_order(case):
    _, x, rng = case
    index = rl.Dataset(x, np.zeros(len(x))).lines.index
    rotation, _ = np.linalg.qr(rng.standard_normal((x.shape[1], x.shape[1])))
    np.testing.assert_array_equal(rl.Dataset(x @ rotation, np.zeros(len(x))).lines.index, index)
    order = rng.permutation(len(x))
    assert partition(rl.Dataset(x[order], np.zeros(len(x))).lines.index) == partition(index[order])


def test_lines_are_numbered_by_first_appearance_and_exact_on_axes():
    lines = rl.Dataset([[0.0, 2.0], [1.0, 0.0], [0.0, -1.0], [-3.0, 0.0], [1.0, 1.0]], np.zeros(5)).lines
    assert lines.index.tolist() == [0, 1, 0, 1, 2]
    assert np.abs(lines.lengths).tolist() == [2.0, 1.0, 1.0, 3.0, pytest.approx(np.sqrt(2))]


def test_close_lines_stay_apart():
    assert len(rl.Dataset([[1.0, 0.0], [1.0, 1e-9]], [0.0, 0.0]).lines) == 2


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)).filter(any), min_size=1, max_size=25))
def test_mirror_pairs_are_disjoint_exact_and_as_many_as_possible(rows):
    x = np.array(rows, dtype=float)
    pairs, alone = rl.Dataset(x, np.zeros(len(x))).mirror_pairs
    assert sorted([*pairs.ravel(), *alone]) == list(range(len(x)))
    np.testing.assert_array_equal(x[pairs[:, 0]], -x[pairs[:, 1]])
    assert alone.tolist() == sorted(alone)
    left = {tuple(row) for row in x[alone].tolist()}
    assert not any((-a, -b) in left for a, b in left)


def test_mirror_pairs_see_through_negative_zero():
    pairs, alone = rl.Dataset([[1.0, 0.0], [-1.0, 0.0], [2.0, -0.0], [-2.0, -0.0]], np.zeros(4)).mirror_pairs
    assert pairs.tolist() == [[0, 1], [2, 3]]
    assert alone.size == 0


def test_moments_are_means_over_samples_without_centring():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((7, 3)) + 5.0, rng.standard_normal(7)
    data = rl.Dataset(x, y)
    np.testing.assert_allclose(data.covariance, sum(np.outer(row, row) for row in x) / 7, rtol=ROUNDING)
    np.testing.assert_allclose(
        data.correlation, sum(label * row for label, row in zip(y, x, strict=True)) / 7, rtol=ROUNDING
    )
    assert (data.samples, data.inputs) == (7, 3)


def test_arrays_are_frozen_copies():
    x = np.ones((2, 2))
    data = rl.Dataset(x, [1, -1])
    x[0, 0] = 7.0
    assert data.x[0, 0] == 1.0
    assert data.y.dtype == np.float64
    for array in (data.x, data.y, data.covariance, data.correlation, data.lines.normals):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0
    with pytest.raises(AttributeError):
        data.x = x


def test_symmetrised_data_mirrors_every_sample_and_keeps_what_mirroring_keeps():
    data = rl.datasets.orthogonal(samples=3, inputs=3, norms=np.sqrt(3.0))
    both = data.symmetrised()
    np.testing.assert_array_equal(both.x, np.concatenate([data.x, -data.x]))
    np.testing.assert_array_equal(both.y, np.concatenate([data.y, -data.y]))
    np.testing.assert_allclose(both.covariance, np.eye(3), atol=ROUNDING)
    assert both.name == "orthogonal (symmetrised)"
    kept = {"even_inputs", "odd_target", "white_inputs", "linear_target", "separable", "expressible_target"}
    assert both.promises == kept
    assert rl.datasets.xor().symmetrised().promises == {"even_inputs", "odd_target", "white_inputs"}


def test_ones_column_makes_no_promises():
    data = rl.datasets.xor().with_ones_column()
    assert data.x[:, -1].tolist() == [1.0] * 4
    assert data.promises == frozenset()
    assert data.name == "xor (with ones)"


def test_data_prints_itself():
    assert repr(rl.datasets.xor()) == "Dataset xor: 4 samples, 2 inputs, 2 lines through the origin"


REFUSALS = {
    "one dimension": (
        np.ones(3),
        np.ones(3),
        "x must have shape (samples, inputs), found (3,); reshape it to two dimensions.",
    ),
    "no samples": (np.ones((0, 2)), [], "x must hold at least one sample and one input, found shape (0, 2)."),
    "no inputs": (np.ones((2, 0)), [1, 1], "x must hold at least one sample and one input, found shape (2, 0)."),
    "a million inputs": (
        np.ones((1, 1_000_000)),
        [1.0],
        "x must have at most 20000 inputs, found 1000000: its covariance would not fit in memory; "
        "project the data first (PCA), or check that rows and columns are not swapped.",
    ),
    "labels missing": (np.ones((3, 2)), [1, 1], "y must have shape (3,), one label per row of x, found (2,)."),
    "labels as a column": (
        np.ones((3, 2)),
        np.ones((3, 2)),
        "y must have shape (3,), one label per row of x, found (3, 2); take one output at a time, y[:, 0].",
    ),
    "nan in x": (
        [[1.0, 2.0], [3.0, np.nan]],
        [1, 1],
        "x must be finite, found nan at x[1, 1]; remove or impute such samples.",
    ),
    "missing in x": (
        [[1.0, None]],
        [1],
        "x must be finite, found nan at x[0, 1]; remove or impute such samples.",
    ),
    "infinite y": ([[1.0], [2.0]], [1, -np.inf], "y must be finite, found -inf at y[1]; remove or impute such samples."),
    "zero rows only": (
        [[0.0, 0.0], [0.0, -0.0]],
        [1, 1],
        "some sample must be non-zero, found none: a bias-free network outputs 0 on all of them.",
    ),
    "masked values": (
        np.ma.masked_less([[1.0], [-1.0]], 0.0),
        [1, 1],
        "x must have no masked values, found 1; drop or fill them in.",
    ),
    "huge values": (
        [[1.0], [-1e200]],
        [1, 1],
        "x must not exceed 1e+100, whose square still is a number, found 1e+200; rescale it.",
    ),
    "huge labels": (
        [[1.0], [1.0]],
        [1, 1e150],
        "y must not exceed 1e+100, whose square still is a number, found 1e+150; rescale it.",
    ),
    "tiny sample": (
        [[1.0], [1e-200]],
        [1, 1],
        "every sample but zero ones must have an entry of size 1e-100 at least, whose square still is a number, "
        "found 1e-200 at x[1]; rescale x.",
    ),
    "complex": (
        np.array([[1j]]),
        [1],
        "x and y must be arrays of numbers (complex numbers have no sign for a ReLU to see); "
        "convert text and missing values first.",
    ),
}


@pytest.mark.parametrize(("x", "y", "sentence"), REFUSALS.values(), ids=REFUSALS.keys())
def test_unusable_arrays_are_refused(x, y, sentence):
    with pytest.raises(rl.InputError) as refusal:
        rl.Dataset(x, y)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize("x", [[["a", "b"]], [[1.0, 2.0], [3.0]]], ids=["text", "ragged"])
def test_text_and_ragged_arrays_are_refused(x):
    wanted = r"^x and y must be arrays of numbers \(.+\); convert text and missing values first\.$"
    with pytest.raises(rl.InputError, match=wanted):
        rl.Dataset(x, np.ones(len(x)))


def test_labels_may_come_as_a_column():
    assert rl.Dataset(np.ones((3, 2)), np.ones((3, 1))).y.shape == (3,)


def test_names_come_from_a_data_frame():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"height": [1.0, 2.0], "width": [3.0, 4.0], "y": [1.0, -1.0]})
    assert rl.Dataset(frame[["height", "width"]], frame["y"]).features == ("height", "width")
    with pytest.raises(rl.InputError) as refusal:
        rl.Dataset([[1.0, 2.0]], [1.0], features=["a"])
    assert str(refusal.value) == "features must name each of the 2 inputs, found 1 names."


def test_zero_rows_lie_on_the_first_line_with_length_zero():
    data = rl.Dataset([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0], [-0.0, 0.0]], np.ones(4))
    lines = data.lines
    assert (lines.index.tolist(), np.abs(lines.lengths).tolist(), len(lines)) == ([0, 0, 1, 0], [0.0, 5.0, 1.0, 0.0], 2)
    np.testing.assert_allclose(lines.lengths[:, None] * lines.normals[lines.index], data.x)
    np.testing.assert_allclose(data.units, [[0, 0], [0.6, 0.8], [0, 1], [0, 0]])


@pytest.mark.parametrize("samples", [5, 200], ids=["kinks", "smooth"])
def test_zero_rows_have_a_loss_and_no_gradient(samples):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((samples, 2)), rng.standard_normal(samples)
    net = rl.Network(2, (6,))
    weights = net.init(scale=0.1, seed=0)
    without = rl.Problem(rl.Dataset(x, y), net, weights)
    with_zero = rl.Problem(rl.Dataset(np.vstack([np.zeros(2), x]), np.append(3.0, y)), net, weights)
    shorter = samples / (samples + 1)  # the mean is over one sample more, so that everything takes longer
    runs = [rl.simulate(without, [0.0, 2.0 * shorter]), rl.simulate(with_zero, [0.0, 2.0])]
    expected = shorter * runs[0].loss + (1 - shorter) * 3.0**2 / 2
    np.testing.assert_allclose(runs[1].loss, expected, rtol=1e-6)


def test_centring_is_kept_and_named():
    data = rl.Dataset([[1.0, 7.0], [3.0, 7.0], [5.0, 7.0]], [1.0, 2.0, 6.0], name="flats", features=["a", "one"])
    done = data.centred()
    assert (done.x.tolist(), done.y.tolist()) == ([[-2.0, 0.0], [0.0, 0.0], [2.0, 0.0]], [-2.0, -1.0, 3.0])
    assert (done.name, done.features) == ("flats (centred)", ("a", "one"))
    np.testing.assert_array_equal(done.transformation.inputs(data.x), done.x)
    np.testing.assert_array_equal(done.transformation.original_labels(done.y), data.y)


def test_standardising_leaves_classes_and_constant_inputs_alone():
    rng = np.random.default_rng(0)
    x = np.column_stack([5 + 3 * rng.standard_normal((50, 2)), np.ones(50)])
    classes = rl.Dataset(x, np.sign(rng.standard_normal(50))).standardised()
    np.testing.assert_allclose(classes.x.mean(axis=0), 0.0, atol=ROUNDING)
    np.testing.assert_allclose(classes.x.std(axis=0), [1.0, 1.0, 0.0], atol=ROUNDING)
    assert set(classes.y.tolist()) == {-1.0, 1.0}
    regression = rl.Dataset(x, rng.standard_normal(50) + 9).standardised()
    assert (round(regression.y.mean(), 12), round(regression.y.std(), 12)) == (0.0, 1.0)


PRECISIONS = {
    "float64": (lambda values: values, "float64"),
    "float32": (lambda values: values.astype(np.float32), "float32"),
    "six digits": (lambda values: [[float(f"{v:.6g}") for v in row] for row in values], "6 digits"),
    "few digits": (lambda values: np.round(values, 2), "float64"),
    "whole numbers": (lambda values: np.round(1e7 * values), "float64"),
}


@pytest.mark.parametrize(("written", "name"), PRECISIONS.values(), ids=PRECISIONS.keys())
def test_precision_is_seen_in_the_numbers(written, name):
    values = np.random.default_rng(0).standard_normal((50, 3))
    data = rl.Dataset(written(values), np.ones(50))
    assert data.precision.name == name
    assert np.abs(data.x - values).max() < data.precision.tolerance * 3 or name == "float64"


def test_precision_can_be_stated_and_grows_with_what_is_subtracted():
    assert rl.Dataset([[1.0]], [1.0], precision=1e-3).precision.tolerance == 1e-3
    with pytest.raises(rl.InputError) as refusal:
        rl.Dataset([[1.0]], [1.0], precision=2.0)
    assert str(refusal.value) == "precision must be a relative tolerance from 0 up to 1, found 2.0."
    far = rl.Dataset(np.float32(np.random.default_rng(0).uniform(999, 1001, (50, 1))), np.ones(50))
    assert far.centred().precision.tolerance > 500 * far.precision.tolerance


@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.0), (1e6, 1.0, 1e-3)])
def test_lines_are_told_apart_to_the_precision_of_the_data(scale):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((100, 3))
    x = (np.concatenate([x, -x]) * scale).astype(np.float32)
    moved = x + np.float32(3.0) * np.asarray(scale, dtype=np.float32)
    centred = (moved - moved.mean(axis=0)).astype(
        np.float64
    )  # a chain in float32: mirror images are no longer on one line to the bit
    data = rl.Dataset(centred, centred[:, 0])
    assert len(find_lines(centred)) > 100
    assert len(data.lines) == 100
    rebuilt = data.lines.lengths[:, None] * data.lines.normals[data.lines.index]
    np.testing.assert_allclose(
        rebuilt / scale, centred / scale, atol=data.precision.tolerance * np.abs(centred / scale).max()
    )
    odd = rl.Dataset(centred, (centred / scale).sum(axis=1) ** 3)
    assert budget(odd).fractions[1] < 1e-8  # odd labels have no even part, whatever rounding does


def test_a_dense_circle_is_not_one_line():
    angles = np.linspace(0.0, np.pi, 1_000, endpoint=False)
    data = rl.Dataset(np.stack([np.cos(angles), np.sin(angles)], axis=1), np.ones(1_000), precision=5e-3)
    widths = [np.ptp(np.sort(angles[data.lines.index == k])) for k in range(len(data.lines))]
    assert len(data.lines) > 200
    assert np.sort(widths)[-2] < 0.02  # one may reach over the end of the half circle
