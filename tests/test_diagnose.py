"""Diagnoses: verdicts of named data sets and counter-examples, outlook against simulation, any data, texts and JSON."""

import json
import math
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import rectilinear as rl
from rectilinear import cli
from rectilinear.diagnose import ENDINGS, FINDINGS, look_ahead
from rectilinear.diagnose import verify as verification
from rectilinear.diagnose.look_ahead import _told_apart
from rectilinear.diagnose.outlook import time_scale

SMALLER = {"sine_teacher": {"pairs": 100}, "linear_teacher": {"pairs": 100}}
DRAWN = [name for name in rl.datasets.NAMES if name not in ("digits", "breast_cancer", "diabetes")]
ON_START = {"small_start", "rank_one_start", "balanced_start"}


def problem_on(data, width=6, scale=1e-3, start="gaussian", **options):
    net = rl.Network(data.inputs, (width,), **{k: options.pop(k) for k in ("alpha", "bias", "trainable") if k in options})
    return rl.Problem(data, net, net.init(scale, seed=0, start=start), **options)


def verdicts(problem):
    return {name: finding.holds for name, finding in rl.diagnose(problem).findings.items()}


@pytest.mark.parametrize("name", DRAWN)
def test_named_data_sets_get_exactly_the_promised_verdicts(name):
    data = rl.datasets.make(name, **SMALLER.get(name, {}))
    found = rl.diagnose(problem_on(data))
    assert tuple(found.findings)[: len(FINDINGS)] == FINDINGS
    assert {key for key in FINDINGS if found[key].holds} - ON_START == set(data.promises)
    asked = {finding.name for reading in found.theorems for finding in reading.findings}
    assert set(found.findings) == asked | set(FINDINGS)
    for key, finding in found.findings.items():
        assert finding is found[key]
        assert finding.sentence.endswith(".")


def test_the_card_names_every_hypothesis():
    found = rl.diagnose(problem_on(rl.datasets.six_points()))
    assert all(name in repr(found) for name in found.findings)
    assert "also yes" in repr(found)
    assert len(found.findings) > len(FINDINGS)


def nudged(data, x=None, y=None):
    return rl.Dataset(data.x if x is None else x, data.y if y is None else y)


def counter_examples():
    """For each hypothesis a problem and another one in which this verdict alone is different."""
    rng = np.random.default_rng(7)
    mirrored = rl.datasets.linear_teacher(inputs=3, pairs=20, seed=1)
    moved = mirrored.x.copy()
    moved[4] *= 1.0 + 1e-9
    yield "even_inputs", problem_on(mirrored), problem_on(nudged(mirrored, x=moved))

    repeated = [[1.0, 2.0], [1.0, 2.0], [-1.0, -2.0], [-1.0, -2.0]]
    noisy = rl.Dataset(repeated, [1.0, 3.0, -1.0, -3.0])
    yield "odd_target", problem_on(noisy), problem_on(nudged(noisy, y=[1.0, 3.0, -1.0, -2.5]))

    white = rl.datasets.linear_teacher(inputs=3, pairs=20, white=True)
    yield "white_inputs", problem_on(white), problem_on(nudged(white, x=2 * white.x))

    x = rng.standard_normal((20, 3))
    linear = rl.Dataset(x, x @ [1.0, 2.0, 3.0])
    bent = linear.y.copy()
    bent[0] += 1.0
    yield "linear_target", problem_on(linear), problem_on(nudged(linear, y=bent))

    twice = np.concatenate([x, x[:1]])
    agreeing, contradicting = np.append(bent, bent[0]), np.append(bent, bent[0] + 1.0)
    yield "expressible_target", problem_on(rl.Dataset(twice, agreeing)), problem_on(rl.Dataset(twice, contradicting))

    classes = np.sign(x[:, 0])
    flipped = classes * np.where(np.arange(20) == np.argmax(np.abs(x[:, 0])), -1.0, 1.0)
    yield "separable", problem_on(rl.Dataset(x, classes)), problem_on(rl.Dataset(x, flipped))

    apart = rl.Dataset([[2.0, 0.2], [1.0, -0.2], [-1.0, 0.1]], [1.0, 1.0, -1.0])
    crossed = nudged(apart, x=[[0.1, 1.0], [1.0, -0.2], [-1.0, 0.1]])
    yield "orthogonally_separable", problem_on(apart), problem_on(crossed)

    right_angles = rl.Dataset(np.eye(3, 5), [1.0, 1.0, -1.0])
    tilted = np.eye(3, 5)
    tilted[0, 2] = 1e-3
    yield "orthogonal_inputs", problem_on(right_angles), problem_on(nudged(right_angles, x=tilted))

    close, far = np.eye(3, 5), np.eye(3, 5)
    close[:, 3], far[:, 3] = 0.1, 1.0
    yield "nearly_orthogonal", *(problem_on(rl.Dataset(inputs, [1.0, 1.0, -1.0])) for inputs in (close, far))

    yield "small_start", problem_on(linear), problem_on(linear, scale=1.0)
    aligned = problem_on(linear, start="rank_one")
    first, second = aligned.weights
    louder = np.where(second > 0, 2.0, 1.0)
    yield "rank_one_start", aligned, aligned.with_weights((first * louder.T, second * louder))
    yield "balanced_start", aligned, aligned.with_weights((2.0 * first, second))


COUNTER_EXAMPLES = list(counter_examples())


def test_every_finding_has_a_counter_example():
    assert {name for name, *_ in COUNTER_EXAMPLES} == set(FINDINGS)


@pytest.mark.parametrize(("name", "kept", "broken"), COUNTER_EXAMPLES, ids=[name for name, *_ in COUNTER_EXAMPLES])
def test_a_counter_example_flips_exactly_its_verdict(name, kept, broken):
    before, after = verdicts(kept), verdicts(broken)
    assert before[name] is True
    assert after[name] is False
    assert {key for key in FINDINGS if before[key] is not after[key]} == {name}


@pytest.mark.parametrize(("delta", "duration_error"), [(0.15, 0.3), (0.05, 0.15)])
def test_the_plateau_of_the_six_points_is_predicted(delta, duration_error):
    found = rl.diagnose(problem_on(rl.datasets.six_points(delta), width=100), verify=True)
    assert [reading.theorem.name for reading in found.applicable] == ["perturbed_symmetry"]
    rows = {name: (told, seen) for name, told, seen in found.verified.rows}
    for quantity, error in {"plateau height": 0.02, "plateau duration": duration_error, "first drop": 0.01}.items():
        told, seen = rows[quantity]
        assert told == pytest.approx(seen, rel=error)
    assert found.symmetry.distance == pytest.approx(0.0335 * delta / 0.15, rel=0.02)
    assert f"expect it to sit near {found.outlook.plateau.height:.4g} for about" in " ".join(repr(found).split())


def test_digits_with_mirror_images_follow_the_prediction():
    found = rl.diagnose(problem_on(rl.datasets.digits(0, 1, symmetrised=True), width=40, scale=1e-4), verify=True)
    assert found.outlook.ending.kind == "least_squares"
    assert found.verified.comparison.loss_error.max() < 1e-3 * found.verified.run.loss[0]
    rows = {name: (told, seen) for name, told, seen in found.verified.rows}
    assert rows["first drop"][0] == pytest.approx(rows["first drop"][1], rel=1e-5)


def test_digits_as_they_are_have_no_theorem_but_a_mirrored_one():
    raw = rl.datasets.digits(0, 1)
    found = rl.diagnose(problem_on(raw, width=40, scale=1e-4))
    symmetric = rl.diagnose(problem_on(raw.symmetrised(), width=40, scale=1e-4))
    assert found.applicable == ()
    assert found.outlook.prediction is None
    assert found.outlook.mirrored.theorem == symmetric.outlook.prediction.theorem
    assert found.outlook.mirrored_limit == pytest.approx(symmetric.outlook.ending.loss)
    assert found["even_inputs"].p_value <= 0.01
    assert "other data, with a mirror image (-x, -y) for every sample, would be half way down" in " ".join(
        repr(found).split()
    )


@pytest.mark.slow
def test_digits_as_they_are_leave_the_symmetric_course():
    problem = problem_on(rl.datasets.digits(0, 1), width=40, scale=1e-4)
    times = np.linspace(0.0, 40.0, 41)
    mirrored = rl.predict(rl.diagnose(problem).outlook.mirrored.problem, times)
    run = rl.simulate(problem, times)
    assert run.loss[-1] < 0.9 * mirrored.loss[-1]  # without the mirror images the network fits more than its linear part


def test_predictions_are_over_when_they_end():
    found = rl.diagnose(problem_on(rl.datasets.sine_teacher(inputs=5, pairs=100), width=50, scale=1e-6))
    told, ending = found.outlook.prediction, found.outlook.ending
    best = np.linalg.lstsq(found.problem.data.x, found.problem.y)[0]
    assert np.allclose(ending.linear_map, best)
    assert told.loss[-1] - ending.loss < 0.01 * (told.loss[0] - ending.loss)
    assert told.times[0] < found.outlook.first_drop < told.times[-1]
    assert found.outlook.effective_rank == pytest.approx(1.0, abs=1e-3)
    assert found.budget.loss_floor == pytest.approx(ending.loss)


ENDS = {
    "least_squares": problem_on(rl.datasets.linear_teacher(inputs=2, pairs=10)),
    "regularised_linear": problem_on(rl.datasets.linear_teacher(inputs=2, pairs=10), l2=0.01),
    "max_margin": problem_on(rl.Dataset([[1.0, 0.3], [0.5, 0.5]], [1.0, 1.0]).symmetrised(), loss="logistic"),
    "logistic_regression": problem_on(
        rl.Dataset([[1.0, 0.3], [0.5, 0.5], [1.0, 0.4]], [1.0, 1.0, -1.0]).symmetrised(), loss="logistic"
    ),
    "class_max_margin": problem_on(rl.datasets.orthogonally_separable(samples=6), loss="logistic"),
    "low_rank": problem_on(
        rl.datasets.nearly_orthogonal(samples=4, inputs=60),
        start="two_class",
        loss="logistic",
        alpha=0.1,
        trainable=(True, False),
    ),
    "zero_loss": problem_on(rl.datasets.xor(), width=40),
    "unknown": problem_on(rl.datasets.gaussian_teacher()),
}


@pytest.mark.parametrize("kind", ENDS)
def test_endings_are_told_in_words(kind):
    found = rl.diagnose(ENDS[kind])
    assert found.outlook.ending.kind == kind
    assert (ENDINGS[kind] in " ".join(repr(found).split())) is (kind != "unknown")  # what is not known is simulated


def test_one_sign_of_neurons_has_no_linear_limit():
    data = rl.datasets.linear_teacher(inputs=3, pairs=20)
    found = rl.diagnose(problem_on(data, width=1), verify=True)
    assert found.outlook.ending.kind == "unknown"
    reading = next(reading for reading in found.theorems if reading.theorem.name == "limit")
    assert [finding.name for finding in reading.missing] == ["both_signs_grow"]
    with pytest.raises(rl.HypothesisError, match="the other half of the samples is never learned"):
        rl.predict(found.problem, [np.inf], theorem="limit")
    with pytest.raises(rl.HypothesisError, match="neurons of one sign only are left"):
        rl.predict(found.problem, [np.inf], theorem="two_neurons")
    linear = problem_on(data, width=1, alpha=1.0)
    assert rl.diagnose(linear).outlook.ending.kind == "least_squares"


def drawn(samples, inputs, seed=0):
    return np.random.default_rng(seed).standard_normal((samples, inputs))


ANY_DATA = {
    "one sample": problem_on(rl.Dataset([[1.0, 2.0]], [1.0])),
    "one input": problem_on(rl.Dataset(drawn(20, 1), drawn(20, 1, 1)[:, 0])),
    "equal samples": problem_on(rl.Dataset(np.ones((5, 2)), np.ones(5))),
    "a contradiction": problem_on(rl.Dataset(np.ones((2, 2)), [1.0, -1.0])),
    "no labels": problem_on(rl.Dataset(drawn(10, 3), np.zeros(10))),
    "no labels, symmetric": problem_on(rl.Dataset(np.eye(3), np.zeros(3)).symmetrised()),
    "one class": problem_on(rl.Dataset(drawn(10, 3), np.ones(10)), loss="logistic"),
    "wide": problem_on(rl.Dataset(drawn(5, 40), drawn(5, 1, 1)[:, 0])),
    "biases": problem_on(rl.Dataset(drawn(10, 3), drawn(10, 1, 1)[:, 0]), bias=True),
    "constant column": problem_on(rl.Dataset(drawn(10, 3) * [1.0, 0.0, 0.0] + [0.0, 0.0, 1.0], np.ones(10))),
    "huge": problem_on(rl.Dataset(1e50 * drawn(10, 3), 1e50 * drawn(10, 1, 1)[:, 0])),
    "tiny": problem_on(rl.Dataset(1e-60 * drawn(10, 3), 1e-60 * drawn(10, 1, 1)[:, 0])),
    "large start": problem_on(rl.Dataset(drawn(10, 3), drawn(10, 1, 1)[:, 0]), scale=10.0),
    "strong decay": problem_on(rl.datasets.linear_teacher(inputs=2, pairs=5), l2=10.0),
}


@pytest.mark.parametrize("case", ANY_DATA)
def test_any_data_are_diagnosed(case):
    found = rl.diagnose(ANY_DATA[case])
    assert all(len(line) <= 120 for line in repr(found).splitlines())
    contents = json.loads(found.to_json())
    assert contents["findings"].keys() == found.findings.keys()
    assert rl.diagnose(ANY_DATA[case]).to_json() == found.to_json()  # the same question, the same numbers
    assert 0.0 <= found.symmetry.unpaired <= 1.0
    assert found.symmetry.matching_distance <= 2.0 + 1e-12
    assert rl.conditions.even_inputs(found.symmetry.nearest).holds
    assert rl.conditions.odd_target(found.symmetry.nearest).holds


def test_deep_networks_are_diagnosed():
    net = rl.Network(3, (4, 4))
    found = rl.diagnose(rl.Problem(rl.Dataset(drawn(10, 3), drawn(10, 1, 1)[:, 0]), net, net.init(0.1, seed=0)))
    assert any("has 3 layers" in warning for warning in found.warnings)


def test_a_simulation_that_was_cut_short_says_so_beside_what_mirrored_data_would_do():
    data = rl.Dataset(drawn(10, 3), drawn(10, 1, 1)[:, 0])
    net = rl.Network(3, (6,))
    found = rl.diagnose(rl.Problem(data, net, net.init(1e-3, seed=0)), verify=True, max_seconds=1e-9)
    told = " ".join(repr(found).split())
    assert "(stopped: max_seconds were used up; what was computed is returned): first drop" in told


def test_what_nobody_foretells_is_simulated():
    found = rl.diagnose(ANY_DATA["a contradiction"], verify=True)
    assert found.verified.comparison is None
    assert "from 0.5 the loss hardly falls, reaches 0.5" in " ".join(repr(found).split())


def test_symmetric_data_beyond_linear_call_for_a_layer_a_bias_or_less_symmetry():
    found = rl.diagnose(problem_on(rl.datasets.six_points(0.0), width=20))
    assert [suggestion.text.split()[:2] for suggestion in found.suggestions] == [
        ["add", "a"],
        ["add", "a"],
        ["break", "the"],
    ]
    assert "Corollary 2" in found.suggestions[0].theorem
    assert found.outlook.plateau is None  # the linear fit is the end, not a rest
    assert any("88.9 % of <y^2> can never be learned" in warning for warning in found.warnings)


def test_a_large_start_calls_for_a_smaller_one_that_is_small_enough():
    found = rl.diagnose(problem_on(rl.datasets.linear_teacher(inputs=3, pairs=10), scale=1.0))
    advice = next(suggestion for suggestion in found.suggestions if "start smaller" in suggestion.text)
    factor = float(advice.text.split("1/")[1].split()[0])
    smaller = found.problem.with_weights(tuple(layer / (1.1 * factor) for layer in found.problem.weights))
    assert rl.diagnose(smaller)["small_start"].holds


@pytest.mark.parametrize(
    ("data", "warns"),
    [
        (rl.datasets.xor(), True),  # not separable: with mirror images nothing is left to learn
        (rl.datasets.orthogonally_separable(), False),
        (rl.datasets.six_points(0.0), False),  # has its mirror images already
        (rl.Dataset(drawn(20, 3), np.abs(drawn(20, 3)[:, 0])), True),
        (rl.Dataset(drawn(20, 3), drawn(20, 3)[:, 0]), False),
    ],
)
def test_augmentation_by_mirror_images_is_warned_of_where_it_hurts(data, warns):
    found = rl.diagnose(problem_on(data))
    assert (found.augmentation is not None) is warns
    assert not any("mirror images" in warning for warning in found.warnings)  # nobody asked
    if warns:  # the warning is right: with mirror images the best two-layer fit is the linear one
        mirrored = rl.conditions.budget(data.symmetrised())
        assert mirrored.loss_floor > found.budget.loss_floor + 0.001
        assert math.isclose(mirrored.fractions[1], 0.0, abs_tol=1e-12)


def test_an_unknown_finding_is_refused():
    found = rl.diagnose(problem_on(rl.datasets.xor()))
    with pytest.raises(rl.InputError, match=r"a finding's name must be one of even_inputs, .* found 'evenness'"):
        found["evenness"]


def test_progress_is_told():
    told = []
    rl.diagnose(problem_on(rl.datasets.xor()), verify=True, progress=lambda share, note: told.append((share, note)))
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert [note for _, note in told[:3]] == ["hypotheses", "mirror images", "matching of x and -x"]


SIX = ("diagnose", "six_points", "--width", "20")


@pytest.fixture
def call():
    return lambda *arguments: CliRunner().invoke(cli.main, [str(argument) for argument in arguments])


def test_the_command_prints_the_diagnosis_of_the_library(call):
    result = call(*SIX)
    net = rl.Network(2, (20,))
    problem = rl.Problem(rl.datasets.six_points(), net, net.init(1e-3, seed=0))
    assert result.exit_code == 0
    assert result.stdout == f"{rl.diagnose(problem)!r}\n"


def test_the_command_verifies_in_json(call):
    contents = json.loads(call(*SIX, "--json", "--verify", "--set", "delta=0.2").stdout)
    assert contents["findings"]["odd_target"]["holds"] is True
    assert contents["outlook"]["plateau"]["height"] == pytest.approx(0.44, abs=0.01)
    assert [row["quantity"] for row in contents["verified"]["rows"]] == [
        "first drop",
        "plateau height",
        "plateau duration",
        "last loss",
    ]


def test_the_command_reads_files_and_writes_pages(call, tmp_path):
    table = tmp_path / "data.csv"
    table.write_text("a,y,b\n1,1,0\n0,-1,1\n2,3,1\n")
    page = tmp_path / "page.html"
    result = call("diagnose", table, "--target", "y", "--width", "5", "--report", page, "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "even_inputs" in text


def test_the_command_refuses_in_sentences(call, tmp_path):
    result = call(*SIX, "--report", tmp_path / "nowhere" / "page.html")
    assert result.exit_code == 2
    assert "no such folder to write in; create it first." in result.stderr
    result = call(*SIX, "--report", tmp_path)
    assert result.exit_code == 2
    assert "the page could not be written" in result.stderr


def unfitted(x, y):
    found = rl.conditions.budget(rl.Dataset(x, y)).unfitted
    return tuple(round(100 * share, 1) for share in (found.odd_nonlinear, found.not_homogeneous, found.conflicting))


LINE = np.linspace(-2, 2, 40)[:, None]


def test_what_cannot_be_fitted_is_split_by_its_cause():
    assert unfitted(LINE, LINE[:, 0] ** 2) == (0.0, 6.2, 0.0)  # even, and no two layers more would help
    assert unfitted([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, -1.0, 1.0]) == (0.0, 0.0, 66.7)
    angles = np.array([0.0, 2.0, 4.0]) * np.pi / 6
    star = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    odd, _, _ = shares = unfitted(np.vstack([star, -star]), [1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    assert odd > 50
    assert shares[1:] == (0.0, 0.0)


def test_each_cause_has_its_own_remedy():
    net = rl.Network(1, (20,))
    curved = rl.diagnose(rl.Problem(rl.Dataset(LINE, LINE[:, 0] ** 2), net))
    assert any(advice.text.startswith("add a bias (or a constant input 1): 6.23 %") for advice in curved.suggestions)
    assert not any("add a layer" in advice.text for advice in curved.suggestions)
    torn = rl.Dataset([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, -1.0, 1.0])
    found = rl.diagnose(rl.Problem(torn, rl.Network(2, (20,))))
    assert any("one input comes with several labels (see sample 0 and sample 1)" in text for text in found.warnings)
    assert not any("add a" in advice.text for advice in found.suggestions)


def test_the_data_themselves_are_looked_at():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.standard_normal(40) + 9, 1e6 * rng.standard_normal(40), np.ones(40), np.zeros(40)])
    x[-1], x[-2] = 0.0, x[-3]
    data = rl.Dataset(x, np.append(x[:-1, 0] + 70, 5.0), features=["a", "b", "one", "none"])
    found = rl.diagnose(rl.Problem(data, rl.Network(4, (10,))))
    said = " | ".join(advice.text for advice in found.suggestions)
    for words in (
        "centre the inputs",
        "'a'",
        "drop 'none': always zero",
        "standardise the inputs",
        "'b' is",
    ):
        assert words in said
    assert "centre the labels" not in said  # 'one' fits their mean
    assert any("1 sample is zero (first: sample 39): no gradient there, and no" in text for text in found.warnings)
    assert any("1 sample repeats others" in text for text in found.warnings)
    constant = rl.diagnose(rl.Problem(rl.Dataset(x[:-1, :3], x[:-1, 0] > 9), rl.Network(3, (10,))))
    said = " | ".join(advice.text for advice in constant.suggestions)
    assert "drop input 2 or know it for a bias" in said
    assert "recode the labels 0 and 1 as -1 and +1" in said


def test_a_look_ahead_agrees_with_the_simulation_within_the_error_it_states():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 4))
    data = rl.Dataset(x, x @ [1.0, -2.0, 0.5, 1.5] + 0.1 * rng.standard_normal(60))
    net = rl.Network(4, (20,))
    found = rl.diagnose(rl.Problem(data, net), verify=True)
    seen = found.outlook.ahead
    assert found.verified.agrees
    assert max(seen.error, seen.time_error) < 0.1
    assert repr(found).splitlines()[1].startswith(f"  next            from {seen.loss[0]:.3g} the loss falls around t = ")


def test_the_card_keeps_to_the_width_of_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    found = rl.diagnose(rl.Problem(rl.datasets.six_points(), rl.Network(2, (10,))))
    assert max(map(len, repr(found).splitlines()[1:])) <= 80


def test_a_loss_stays_only_where_none_is_lower():
    """Noise that a wide network fits slowly is still being fitted when the look ahead ends; where labels conflict, nothing is left."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((120, 6))
    noisy = rl.Dataset(x, x @ [1.0, -1.0, 0.5, 0.0, 0.0, 0.0] + 0.5 * rng.standard_normal(120))
    network = rl.Network(6, (60,))
    ahead = rl.diagnose(rl.Problem(noisy, network, network.init(1e-3, seed=0))).outlook.ahead
    assert ahead.is_over
    assert "stays there" not in repr(ahead)
    run = rl.simulate(ahead.run.problem, [0.0, 10.0 * ahead.run.times[-1]], rtol=1e-2)
    assert run.loss[-1] < 0.9 * ahead.last_loss
    line = rl.Dataset(np.repeat([[1.0], [-1.0]], 4, axis=0), [1.0, 1.4, 0.6, 1.0, -1.0, -1.2, -0.8, -1.0])
    network = rl.Network(1, (10,))
    ahead = rl.diagnose(rl.Problem(line, network, network.init(1e-3, seed=0))).outlook.ahead
    assert ahead is None or "stays there" in repr(ahead)


def test_little_noise_that_is_left_to_fit_is_no_rest():
    """A hundredth of the first loss is left, all of which a wide network fits later."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((60, 5))
    noisy = rl.Dataset(x, x @ [1.0, -2.0, 0.5, 0.0, 1.5] + 0.3 * rng.standard_normal(60))
    ahead = rl.diagnose(rl.Problem(noisy, rl.Network(5, (30,)))).outlook.ahead
    assert ahead.is_over
    assert ahead.last_loss < 0.01 * ahead.loss[0]
    assert "falling slowly by then" in repr(ahead)


@pytest.mark.parametrize("loss", ["square", "logistic"])
@pytest.mark.parametrize("noise", [1e-9, 1e-3])
def test_pulls_that_nearly_cancel_set_no_pace(noise, loss):
    """XOR with noise is learned as XOR is; its linear part alone would take 1/noise as long, and was followed for minutes."""
    data, net = rl.datasets.xor(), rl.Network(2, (20,))
    near = rl.Dataset(data.x + noise * np.random.default_rng(0).standard_normal(data.x.shape), data.y)
    exactly, nearly = (time_scale(rl.Problem(one, net, loss=loss)) for one in (data, near))
    assert 0.3 < nearly / exactly < 3.0
    found = rl.diagnose(rl.Problem(near, net, loss=loss))
    run = rl.simulate(rl.Problem(data, net, loss=loss), found.outlook.ahead.run.times)
    assert found.outlook.ahead.first_drop == pytest.approx(rl.measures.time_to_loss(run, run.loss[0] / 2), rel=0.05)


def test_a_column_that_counts_the_rows_is_named():
    x = np.column_stack([np.arange(3.0, 33.0), np.random.default_rng(0).standard_normal(30)])
    said = [
        s.text
        for s in rl.diagnose(rl.Problem(rl.Dataset(x, x[:, 1], features=["id", "a"]), rl.Network(2, (5,)))).suggestions
    ]
    assert "drop 'id' unless the order of the rows means something: it counts them" in said
    alone = rl.diagnose(rl.Problem(rl.Dataset(x[:, :1], x[:, 1]), rl.Network(1, (5,))))
    assert not any("counts them" in advice.text for advice in alone.suggestions)


@pytest.mark.parametrize(
    ("shift", "said"), [(0.0, True), (9.0, False)], ids=["centred inputs", "inputs that fit a constant"]
)
def test_labels_with_a_mean_are_to_be_centred_where_nothing_fits_it(shift, said):
    x = drawn(40, 3) + shift
    found = rl.diagnose(rl.Problem(rl.Dataset(x, x[:, 0] + 70.0), rl.Network(3, (5,))))
    assert any("centre the labels" in advice.text for advice in found.suggestions) is said


def test_columns_for_kinds_are_known_for_a_bias():
    kinds = np.eye(3)[np.arange(40) % 3]
    x = np.column_stack([1e6 * drawn(40, 1), kinds])
    data = rl.Dataset(x, drawn(40, 1, 5)[:, 0], features=["income", "red", "green", "blue"])
    said = [advice.text for advice in rl.diagnose(rl.Problem(data, rl.Network(4, (5,)))).suggestions]
    assert "know 'red', 'green', 'blue' for a bias, or leave one out: they make a constant together" in said
    without = rl.Dataset(x[:, :3], data.y, features=["income", "red", "green"])
    said = [advice.text for advice in rl.diagnose(rl.Problem(without, rl.Network(3, (5,)))).suggestions]
    assert not any("make a constant" in text for text in said)


def test_a_zero_sample_with_label_zero_is_fitted():
    x = drawn(20, 2)
    x[3] = 0.0
    found = rl.diagnose(rl.Problem(rl.Dataset(x, x[:, 0]), rl.Network(2, (5,))))
    assert "1 sample is zero (first: sample 3): no gradient there." in found.warnings


def test_cards_say_it_in_plain_words():
    assert repr(rl.diagnose(problem_on(rl.datasets.gaussian_teacher())).outlook).startswith(
        "Outlook: from 0.871 the loss falls"
    )
    told = " ".join(repr(rl.diagnose(problem_on(rl.datasets.six_points()))).split())
    assert "; where it ends is not predicted by any theorem here" in told
    assert "% of |W_1| away from W_1, and |W_2+|^2, |W_2-|^2 differ by" in told
    stretched = rl.Dataset([[3.0, 0.0], [0.0, 1.0]], [1.0, -1.0], features=["long", "short"])
    assert "its entry (0, 0), that of 'long', is off by 3.5" in rl.diagnose(problem_on(stretched))["white_inputs"].sentence


def test_no_line_of_a_card_breaks_between_a_number_and_its_unit(monkeypatch):
    found = rl.diagnose(problem_on(rl.datasets.gaussian_teacher()))
    for columns in range(60, 100):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = [line.strip() for line in str(found).splitlines()]
        assert max(map(len, str(found).splitlines()[1:])) <= columns
        assert not any(line.startswith(("%", "=")) or line.endswith("=") for line in lines), columns


def test_a_loss_that_rests_far_below_the_first_has_rested():
    t = np.geomspace(0.1, 1000, 400)
    [(begin, end, level)] = look_ahead.rests_of(t, 10 / (1 + t**6) + 0.4 / (1 + (t / 60) ** 6))
    assert 1 < begin < 5
    assert 20 < end < 60
    assert level == pytest.approx(0.4, rel=0.02)
    assert look_ahead.rests_of(t, 10 / (1 + t**6) + 0.04 / (1 + (t / 60) ** 6)) == ()  # too little to speak of
    assert look_ahead.rests_of(t, 1 / (1 + t)) == ()


def test_losses_that_differ_are_written_so():
    assert _told_apart([0.5, 0.49912, 0.49884]) == ["0.5", "0.4991", "0.4988"]
    assert _told_apart([0.5, 0.5]) == ["0.5", "0.5"]


def test_a_look_ahead_that_is_interrupted_ends_the_diagnosis(call, monkeypatch):
    """Each of its descents would otherwise swallow one interrupt, and the next begin."""
    begun = []

    def interrupted(problem, *how, **options):
        begun.append(how)
        return replace(rl.descend(problem, 0.1, 1), status=rl.Status.INTERRUPTED)

    monkeypatch.setattr(look_ahead, "descend", interrupted)
    result = call("diagnose", "gaussian_teacher", "--width", 5)
    assert result.exit_code == 130
    assert result.stderr.endswith("interrupted before there was anything to tell\n")
    assert len(begun) == 1


INTERRUPTED_WHILE_IT_VERIFIES = """
import os, signal, sys
from rectilinear.cli import main
from rectilinear.flow import budgets
from rectilinear.progress import ProgressBar

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background may have been told to ignore
budgets.REPORT_EVERY = 0.0
ProgressBar.__call__ = lambda self, fraction, note: os.kill(os.getpid(), signal.SIGINT) if fraction > 0.6 else None
sys.exit(main(["diagnose", "gaussian_teacher", "--width", "5", "--verify", "--report", sys.argv[1]]))
"""


def test_ctrl_c_while_it_verifies_keeps_the_diagnosis(tmp_path):
    page = tmp_path / "page.html"
    command = [sys.executable, "-c", INTERRUPTED_WHILE_IT_VERIFIES, str(page)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 130
    assert re.search(r"interrupted: the simulation is kept up to t = [\d.]+, the diagnosis is whole\n$", ended.stderr)
    for kept in (" next ", " how sure ", "(stopped: interrupted by the user;", " budget "):
        assert kept in ended.stdout
    assert "interrupted by the user" in page.read_text()


def test_who_interrupts_before_the_first_step_keeps_the_diagnosis(call, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(verification, "simulate", interrupted)
    result = call("diagnose", "six_points", "--width", 5, "--verify")
    assert result.exit_code == 130
    assert "up to t = 0 (stopped: interrupted by the user; what was computed is returned): first drop" in " ".join(
        result.stdout.split()
    )
    assert "none simulated" in result.stdout
    assert result.stderr.endswith("interrupted: the simulation is kept up to t = 0, the diagnosis is whole\n")
