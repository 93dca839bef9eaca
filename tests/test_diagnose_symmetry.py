"""Numbers of symmetry: matchings against brute force, half-spaces against Lemma 10, calibrated p-values."""

from importlib import import_module
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rectilinear as rl
from rectilinear import conditions
from rectilinear.conditions import half_spaces, matching_distance, near_pairs, population_test
from rectilinear.diagnose.symmetry import nearest_symmetric
from rectilinear.studies import noise

seeds = st.integers(0, 10_000)


def points(seed, samples, inputs):
    return np.random.default_rng(seed).standard_normal((samples, inputs))


@settings(max_examples=20, deadline=None)
@given(seeds, st.integers(1, 6), st.integers(1, 3))
def test_the_matching_distance_is_the_best_of_all_permutations(seed, samples, inputs):
    x = points(seed, samples, inputs)
    best = min(np.mean(np.sum((x + x[list(order)]) ** 2, axis=1)) for order in permutations(range(samples)))
    found = matching_distance(x)
    assert found.at_least == found.at_most == pytest.approx(np.sqrt(best / np.mean(np.sum(x**2, axis=1))), abs=1e-12)


@pytest.mark.parametrize("jitter", [1e-3, 0.1, np.inf])
@pytest.mark.parametrize("inputs", [1, 2, 10])
def test_bounds_for_many_samples_enclose_the_optimal_matching(monkeypatch, jitter, inputs):
    x = points(0, 200, inputs)
    if np.isfinite(jitter):
        x = np.concatenate([x[:100], -x[:100] + jitter * x[100:]])
    exact = matching_distance(x).at_most
    monkeypatch.setattr("rectilinear.conditions.mirror.MATCHED_AT_ONCE", 20)
    monkeypatch.setattr("rectilinear.conditions.mirror.CHUNK", 32)
    found = matching_distance(x)
    assert found.at_least * (1 - 1e-12) <= exact <= found.at_most * (1 + 1e-12)
    assert sorted(found.partners) == list(range(200))
    if jitter == 1e-3:
        assert found.at_most < 3 * exact


def test_exact_images_of_many_samples_are_at_distance_zero(monkeypatch):
    monkeypatch.setattr("rectilinear.conditions.mirror.MATCHED_AT_ONCE", 20)
    x = points(0, 50, 3)
    found = matching_distance(np.concatenate([x, -x]))
    assert (found.at_least, found.at_most, found.method) == (0.0, 0.0, "exact mirror images")


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(1, 40), st.integers(1, 3), st.floats(0.01, 0.5))
def test_near_pairs_are_near_disjoint_and_leave_nobody_who_could_pair(seed, samples, inputs, tolerance):
    x = np.round(points(seed, samples, inputs), 1) + 0.05  # on a lattice, so that there are duplicates
    pairs, alone = near_pairs(x, tolerance)
    reach = tolerance * np.sqrt(np.mean(np.sum(x**2, axis=1)))
    paired = {int(k) for pair in pairs for k in pair}
    assert len(paired) == sum(len(set(map(int, pair))) for pair in pairs)
    assert paired | set(alone.tolist()) == set(range(samples))
    assert not paired & set(alone.tolist())
    assert all(np.linalg.norm(x[i] + x[j]) <= reach * (1 + 1e-12) for i, j in pairs)
    gaps = np.linalg.norm(x[alone][:, None] + x[alone][None, :], axis=2)
    assert (gaps >= reach * (1 - 1e-12)).all()


def test_half_spaces_measure_lemma_10():
    data = rl.datasets.gaussian_teacher(inputs=5, samples=40)
    x, y = data.x, data.y
    net = rl.Network(data.inputs, (3,))
    problem = rl.Problem(data, net, net.init(1e-3, seed=0))
    found = half_spaces(problem)

    def deviations(r):
        side = x @ r > 0
        moment = 2 * x[side].T @ x[side] / len(x) - data.covariance
        labels = 2 * x[side].T @ y[side] / len(x) - data.correlation
        scale = np.sqrt(np.mean(np.sum(x**2, axis=1)) * np.mean(y**2))
        return np.linalg.norm(moment) / np.linalg.norm(data.covariance), np.linalg.norm(labels) / scale

    some = [data.correlation, np.linalg.lstsq(x, y)[0], *problem.weights[0], *np.linalg.eigh(data.covariance)[1].T[-4:]]
    assert found.inputs == pytest.approx(max(deviations(r)[0] for r in some), rel=1e-9)
    assert found.labels == pytest.approx(max(deviations(r)[1] for r in some), rel=1e-9)
    mirrored = half_spaces(rl.Problem(data.symmetrised(), net, problem.weights))
    assert mirrored.inputs < 1e-12
    assert mirrored.labels < 1e-12


def test_half_spaces_of_wide_data_agree_with_those_of_tall_ones():
    x = points(0, 6, 6)
    data = rl.Dataset(x, np.ones(6))
    wide = rl.Dataset(np.column_stack([x, np.zeros(6)]), np.ones(6))
    weights = rl.Network(6, (2,)).init(1.0, seed=0)
    padded = (np.column_stack([weights[0], np.zeros(2)]), weights[1])
    tall_found = half_spaces(rl.Problem(data, rl.Network(6, (2,)), weights))
    wide_found = half_spaces(rl.Problem(wide, rl.Network(7, (2,)), padded))
    assert wide_found.inputs == pytest.approx(tall_found.inputs, rel=1e-9)
    assert wide_found.labels == pytest.approx(tall_found.labels, rel=1e-9)


@pytest.mark.parametrize("population", noise.POPULATIONS)
def test_p_values_are_calibrated_on_even_populations(population):
    """300 draws: the standard deviation of a rejection rate of 5 % is 1.3 %; the study has 1000."""
    rates = noise.rejection_rates(population, draws=300, samples=40)
    assert (np.abs(rates - 0.05) < 0.035).all()


@pytest.mark.parametrize(
    ("x_shift", "label", "even", "odd"),
    [(0.0, "odd", False, False), (0.0, "even", False, True), (0.5, "odd", True, True)],
)
def test_broken_symmetry_of_the_population_is_seen(x_shift, label, even, odd):
    x = points(3, 400, 4) + x_shift
    along = x @ [1.0, -1.0, 0.5, 0.0]
    found = population_test(rl.Dataset(x, np.sin(2 * along) if label == "odd" else np.abs(along)))
    assert (found.even_inputs < 0.01) is even
    assert (found.odd_target < 0.01) is odd


def test_mirrored_samples_are_as_even_as_can_be():
    data = rl.datasets.sine_teacher(inputs=3, pairs=50)
    assert population_test(data) == conditions.PopulationTest(1.0, 1.0, 499)


def test_the_nearest_symmetric_data_set_of_many_samples_is_symmetric_and_as_near_as_said(monkeypatch):
    monkeypatch.setattr(import_module("rectilinear.conditions.asymmetry"), "MAX_UNMATCHED", 10)
    monkeypatch.setattr("rectilinear.conditions.mirror.MATCHED_AT_ONCE", 10)
    x = points(0, 100, 3)
    labels = np.tanh(x[:, 0])
    jittered = np.concatenate([x, -x + 1e-3 * points(1, 100, 3)])
    data = rl.Dataset(jittered, np.concatenate([labels, -labels]))
    distance, is_exact, nearest = nearest_symmetric(data, near_pairs(data.x))
    assert not is_exact
    assert 0 < distance < 1e-3
    assert conditions.even_inputs(nearest).holds
    assert conditions.odd_target(nearest).holds


def test_orthogonal_separability_of_very_many_samples(monkeypatch):
    monkeypatch.setattr("rectilinear.conditions.targets.MAX_GRAM_SAMPLES", 10)
    monkeypatch.setattr("rectilinear.conditions.targets.BLOCK", 40)
    fan = np.array([[np.cos(a), np.sin(a)] for a in np.linspace(0.0, np.pi / 2 - 0.01, 20)])
    y = np.where(np.arange(20) % 2, 1.0, -1.0)
    narrow = rl.Dataset(y[:, None] * fan, y)
    finding = conditions.orthogonally_separable(narrow)
    assert finding.holds
    assert "degrees of their mean" in finding.sentence
    apart = narrow.x.copy()
    apart[-1] = -apart[-1]
    assert conditions.orthogonally_separable(rl.Dataset(apart, narrow.y)).holds is False
    skewed = np.concatenate([fan, np.tile(fan[:1], (60, 1))])  # a mean far from the middle of the cone
    finding = conditions.orthogonally_separable(rl.Dataset(skewed, np.ones(80)))
    assert finding.holds is None
    assert "undecided beyond 10 samples" in finding.sentence


def test_the_noise_study_tells_and_draws_what_it_measured():
    study = noise.symmetry_noise(draws=20, samples=20, repeats=2)
    verdict, unpaired, distance, p_value = np.moveaxis(study.numbers["by_jitter"][1], 2, 0)
    assert verdict[0].all()
    assert not verdict[1:].any()
    assert (np.diff(distance.mean(axis=1)) > 0).all()
    assert (p_value[1:] > noise.LEVEL).all()
    assert (unpaired[-1] > 0.9).all()
    shares = study.numbers["by_share"][1][:, :, 1]
    assert shares == pytest.approx(np.repeat(noise.UNPAIRED[:, None], 2, axis=1))
    figure = study.draw()
    assert [text.get_text() for text in figure.axes[1].get_legend().get_texts()] == [
        "verdict holds",
        "unpaired share",
        "matching distance",
        "p-value",
    ]
