"""Findings: each verdict against direct computation, flipped by breaking exactly one hypothesis."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import rectilinear as rl
from rectilinear import conditions
from rectilinear.conditions import Finding, either, measured_finding

DATA_CONDITIONS = (
    "even_inputs",
    "odd_target",
    "white_inputs",
    "linear_target",
    "separable",
    "orthogonally_separable",
    "orthogonal_inputs",
    "nearly_orthogonal",
    "expressible_target",
)
DRAWN = [name for name in rl.datasets.NAMES if name not in ("digits", "breast_cancer", "diabetes")]
REAL = ("digits", "breast_cancer", "diabetes")


def holding(data):
    return {name for name in DATA_CONDITIONS if getattr(conditions, name)(data).holds}


@pytest.mark.parametrize("name", DRAWN)
def test_exactly_the_promised_hypotheses_hold(name):
    data = rl.datasets.make(name)
    assert holding(data) == set(data.promises)


@pytest.mark.parametrize("name", REAL)
def test_real_data_keep_their_promises_and_have_no_exact_symmetry(name):
    data = rl.datasets.make(name)
    found = holding(data)
    assert set(data.promises) <= found
    assert not conditions.even_inputs(data).holds


def test_one_moved_sample_breaks_evenness_only():
    data = rl.datasets.linear_teacher(inputs=3, pairs=20, seed=1)
    x = data.x.copy()
    x[4] *= 1.0 + 1e-9  # more than rounding leaves
    moved = rl.Dataset(x, data.y)
    assert holding(data) - holding(moved) == {"even_inputs"}
    assert conditions.even_inputs(moved).witness == (4, 24)
    assert conditions.even_inputs(moved).measured == pytest.approx(2 / 40)


def test_an_even_change_of_two_labels_breaks_oddness_and_linearity_only():
    data = rl.datasets.linear_teacher(inputs=3, pairs=20, seed=1)
    y = data.y.copy()
    y[[4, 24]] += 0.5  # the same at both mirror images: even, so two layers can still express it
    changed = rl.Dataset(data.x, y)
    assert holding(data) - holding(changed) == {"odd_target", "linear_target"}
    assert set(conditions.odd_target(changed).witness) == {4, 24}
    assert conditions.linear_target(changed).witness[0] in (4, 24)


def test_an_odd_change_of_two_labels_is_beyond_two_layers():
    data = rl.datasets.linear_teacher(inputs=3, pairs=20, seed=1)
    y = data.y.copy()
    y[[4, 24]] += 0.5, -0.5
    changed = rl.Dataset(data.x, y)
    assert holding(data) - holding(changed) == {"linear_target", "expressible_target"}
    assert conditions.expressible_target(changed).witness[0] in (4, 24)


def test_noisy_labels_at_repeated_points_are_odd_as_a_distribution():
    x = [[1.0, 2.0], [1.0, 2.0], [-1.0, -2.0], [-1.0, -2.0]]
    assert conditions.odd_target(rl.Dataset(x, [1.0, 3.0, -1.0, -3.0])).holds
    assert conditions.odd_target(rl.Dataset(x, [1.0, 3.0, -3.0, -1.0])).holds
    finding = conditions.odd_target(rl.Dataset(x, [1.0, 3.0, -1.0, -2.0]))
    assert finding.holds is False
    assert finding.measured == pytest.approx(1 / 3)


def test_oddness_is_undecided_without_mirror_images():
    finding = conditions.odd_target(rl.Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0]))
    assert finding.holds is None
    assert "cannot tell" in finding.sentence


@settings(max_examples=40, deadline=None)
@given(arrays(np.float64, (5, 3), elements=st.floats(-3, 3)), arrays(np.float64, 5, elements=st.floats(-3, 3)))
def test_symmetrised_data_are_even_and_odd(x, y):
    x[np.abs(x).max(axis=1) < 1e-3] = 1.0  # a data set has no zero rows
    data = rl.Dataset(x, y).symmetrised()
    assert conditions.even_inputs(data).holds
    assert conditions.odd_target(data).holds


def test_white_inputs_name_the_worst_entry():
    finding = conditions.white_inputs(rl.Dataset([[1.0, 0.0], [0.0, 3.0]], [0.0, 0.0]))
    assert finding.holds is False
    assert finding.witness == (1, 1)
    assert finding.measured == pytest.approx(3.5)


def test_orthogonal_inputs_name_the_worst_pair():
    data = rl.Dataset([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1e-3, 1.0]], [1.0, 1.0, -1.0])
    finding = conditions.orthogonal_inputs(data)
    assert finding.holds is False
    assert finding.witness == (1, 2)
    assert finding.measured == pytest.approx(1e-3, rel=1e-5)
    many = conditions.orthogonal_inputs(rl.Dataset(np.ones((3, 2)), np.ones(3)))
    assert "3 samples cannot all be orthogonal in 2 inputs" in many.sentence


def test_blocks_of_the_gram_matrix_agree_with_all_of_it(monkeypatch):
    rng = np.random.default_rng(0)
    near = rl.Dataset(rng.standard_normal((40, 60)), np.where(rng.uniform(size=40) < 0.5, 1.0, -1.0))
    apart = rl.datasets.orthogonally_separable(samples=40, seed=1)
    whole = conditions.nearly_orthogonal(near), conditions.orthogonally_separable(apart)
    monkeypatch.setattr("rectilinear.conditions.inputs.BLOCK", 100)
    monkeypatch.setattr("rectilinear.conditions.targets.BLOCK", 100)
    near, apart = rl.Dataset(near.x, near.y), rl.Dataset(apart.x, apart.y)  # findings of one data set are remembered
    for one, other in zip(
        whole, (conditions.nearly_orthogonal(near), conditions.orthogonally_separable(apart)), strict=True
    ):
        assert one.holds is other.holds
        assert one.measured == pytest.approx(other.measured, rel=1e-12)
        assert set(one.witness) == set(other.witness)
    crowded = rl.Dataset(near.x[:, :1], near.y)
    finding = conditions.orthogonally_separable(crowded)
    assert finding.holds is False
    i, j = finding.witness
    assert (crowded.x[i] @ crowded.x[j] > 0) != (crowded.y[i] == crowded.y[j])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 10))
def test_more_samples_than_inputs_are_never_nearly_orthogonal(seed, inputs, extra):
    """The bound given instead of a comparison of all pairs is a true one."""
    data = rl.Dataset(np.random.default_rng(seed).standard_normal((inputs + extra, inputs)), np.ones(inputs + extra))
    finding = conditions.nearly_orthogonal(data)
    gram = np.abs(data.x @ data.x.T)
    squares = np.diag(gram).copy()
    np.fill_diagonal(gram, 0.0)
    exact = squares.max() / squares.min() * data.samples * gram.max() / squares.min()
    assert finding.holds is False
    assert 1.0 < finding.measured <= exact * (1.0 + 1e-12)


def test_findings_of_a_data_set_are_remembered():
    data = rl.datasets.xor()
    assert conditions.separable(data) is conditions.separable(data)
    assert conditions.separable(data) is not conditions.separable(rl.datasets.xor())


def test_near_orthogonality_is_undecided_for_very_many_samples(monkeypatch):
    monkeypatch.setattr("rectilinear.conditions.inputs.MAX_GRAM_SAMPLES", 3)
    finding = conditions.nearly_orthogonal(rl.Dataset(np.eye(4), np.ones(4)))
    assert finding.holds is None
    assert "undecided beyond 3 samples" in finding.sentence


def test_separability_gives_a_separating_direction_or_none():
    data = rl.datasets.orthogonally_separable(seed=2)
    finding = conditions.separable(data)
    assert finding.holds
    assert (data.y * (data.x @ np.array(finding.witness)) > 0).all()
    assert conditions.separable(rl.datasets.xor()).holds is False
    undecided = conditions.separable(rl.Dataset([[1.0]], [0.5]))
    assert undecided.holds is None
    assert "labels -1 and +1, found 0.5" in undecided.sentence


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_separability_of_many_samples_is_decided_from_those_that_bind(monkeypatch, noise):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((400, 3))
    y = np.sign(x @ rng.standard_normal(3)) * np.where(rng.uniform(size=400) < noise, -1.0, 1.0)
    at_once = conditions.separable(rl.Dataset(x, y))
    monkeypatch.setattr("rectilinear.conditions.targets.ROWS_AT_ONCE", 5)
    piecewise = conditions.separable(rl.Dataset(x, y))
    assert at_once.holds is piecewise.holds is (noise == 0.0)
    if at_once.holds:
        assert piecewise.measured == pytest.approx(at_once.measured, rel=1e-6)
        assert (y * (x @ np.array(piecewise.witness)) > 0).all()


def test_orthogonal_separability_names_the_faulty_pair():
    x = np.array([[1.0, 0.2], [1.0, -0.2], [-1.0, 0.1], [-0.3, 1.0]])
    assert conditions.orthogonally_separable(rl.Dataset(x, [1.0, 1.0, -1.0, -1.0])).holds
    finding = conditions.orthogonally_separable(rl.Dataset(x, [1.0, 1.0, -1.0, 1.0]))
    assert finding.holds is False
    assert set(finding.witness) == {1, 3}
    assert "one class must have a positive product" in finding.sentence
    touching = conditions.orthogonally_separable(rl.Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0]))
    assert touching.holds is False
    assert "must have a positive product" in touching.sentence


def test_findings_print_survive_json_and_combine():
    finding = Finding("small_start", False, np.inf, 1e-3, (1, 2), "the output is large.")
    assert repr(finding) == "no         small_start: the output is large."
    finite = replace(finding, measured=0.5, direction="at_least")
    assert Finding.from_json(json.loads(json.dumps(finite.to_json(), allow_nan=False))) == finite
    assert finding.to_json()["measured"] is None
    assert np.isnan(Finding.from_json(finding.to_json()).measured)
    holds = Finding("rank_one_start", True, 0.0, 1e-10, None, "aligned.")
    assert either(finding, holds) is holds
    assert either(finding, finding) is finding


@pytest.mark.parametrize(
    ("direction", "below", "equal", "above", "text"),
    [
        ("at_most", True, True, False, "≤ 2"),
        ("at_least", False, True, True, "≥ 2"),
        ("above", False, False, True, "> 2"),
    ],
)
def test_a_finding_holds_on_its_side_of_the_threshold(direction, below, equal, above, text):
    found = [measured_finding("name", value, 2.0, "so.", direction=direction) for value in (1.0, 2.0, 3.0, np.nan)]
    assert [finding.holds for finding in found] == [below, equal, above, False]
    assert found[0].requirement == text
    assert (conditions.true_or_not("name", True, "so.").holds, conditions.undecided("name", 1.0, "why.").holds) == (
        True,
        None,
    )


class TestStarts:
    net = rl.Network(inputs=3, widths=(6,))
    data = rl.Dataset([[1.0, 0.0, 2.0]], [2.0]).symmetrised()

    def problem(self, weights):
        return rl.Problem(self.data, self.net, weights)

    def test_small_start_bounds_the_output(self):
        for scale in (1e-4, 3e-2, 1.0):
            problem = self.problem(self.net.init(scale, seed=1))
            finding = conditions.small_start(problem)
            rms = np.sqrt(np.mean(problem.output(problem.weights) ** 2))
            assert rms / 2.0 <= finding.measured
            assert finding.holds == (finding.measured <= 1e-3)
        assert conditions.small_start(self.problem(self.net.init(1e-4, seed=1))).holds
        assert conditions.small_start(self.problem(self.net.init(1.0, seed=1))).holds is False

    def test_rank_one_and_balanced_fail_one_at_a_time(self):
        first, second = self.net.init(0.1, seed=1, start="rank_one")
        both = self.problem((first, second))
        assert conditions.rank_one_start(both).holds
        assert conditions.balanced_start(both).holds
        unbalanced = self.problem((2.0 * first, second))
        assert conditions.rank_one_start(unbalanced).holds
        assert conditions.balanced_start(unbalanced).holds is False
        loud = second * np.where(second > 0, 2.0, 1.0)
        unequal = self.problem((first * np.where(second > 0, 2.0, 1.0).T, loud))
        assert conditions.balanced_start(unequal).holds
        finding = conditions.rank_one_start(unequal)
        assert finding.holds is False
        assert finding.measured == pytest.approx(0.6)  # |v+|^2 - |v-|^2 = (4 - 1)/(4 + 1)
        assert conditions.rank_one_start(self.problem(self.net.init(0.1, seed=1))).holds is False

    def test_balanced_start_names_the_worst_neuron_of_a_deep_network(self):
        net = rl.Network(inputs=3, widths=(2, 2))
        weights = [np.zeros((2, 3)), np.eye(2), np.ones((1, 2))]
        weights[0][0, 0] = 1.0
        finding = conditions.balanced_start(rl.Problem(self.data, net, tuple(weights)))
        assert finding.holds is False
        assert finding.witness == (0, 1)
        assert "neuron 1 of layer 1" in finding.sentence

    def test_rank_one_start_is_for_two_layers(self):
        net = rl.Network(inputs=3, widths=(2, 2))
        finding = conditions.rank_one_start(rl.Problem(self.data, net, net.init(0.1, seed=0)))
        assert finding.holds is False
        assert "two layers, found 3" in finding.sentence
