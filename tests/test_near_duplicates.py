"""Samples measured twice: kinks so near each other that a neuron held on one gets over the other a billion times more slowly."""

import numpy as np
import pytest

from rectilinear import Dataset, Network, Problem, diagnose, simulate


def near_duplicates(seed: int, gap: float) -> Problem:
    """18 samples about 6 places, each off its own by the gap times a direction of its own."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((6, 4))[rng.integers(0, 6, 18)]
    x = x + gap * rng.standard_normal(x.shape)
    net = Network(inputs=4, widths=(10,))
    return Problem(Dataset(x, rng.choice([-1.0, 1.0], 18)), net, net.init(scale=0.3, seed=seed))


@pytest.mark.parametrize(("seed", "gap", "t"), [(14, 1e-9, 5.0), (11, 1e-8, 50.0)])
def test_when_a_held_neuron_gets_over_a_near_kink_does_not_depend_on_rounding(seed: int, gap: float, t: float) -> None:
    problem = near_duplicates(seed, gap)
    runs = [simulate(problem, times=[t], rtol=rtol).final[0] for rtol in (1e-9, 1e-10, 1e-11)]
    assert max(np.abs(run - runs[-1]).max() for run in runs) < 1e-8 * np.abs(runs[-1]).max()  # 1e-6 where heights n.w decide


def test_and_is_told_by_wider_gaps() -> None:
    """Where holds cut a near kink depends on the directions of the gaps, not on how wide they are: what is left falls with them."""
    narrow, wide, wider = (
        simulate(near_duplicates(11, gap), times=[50.0], rtol=1e-9).final[0] for gap in (1e-8, 1e-7, 1e-6)
    )
    slope = (wider - wide) / 9e-7
    assert np.abs(wide - 9e-8 * slope - narrow).max() < 3e-8 * np.abs(narrow).max()


@pytest.mark.parametrize(("gap", "said"), [(1e-11, True), (1e-7, False), (0.0, False)])
def test_a_run_says_that_samples_share_kinks(gap: float, said: bool) -> None:
    run = simulate(near_duplicates(0, gap), times=[0.0, 0.1])
    assert ("samples share the kink of another whose direction is within 1e-09" in repr(run)) == said
    assert ("shared_kinks" in run.provenance) == said


@pytest.mark.parametrize(("gap", "said"), [(1e-7, True), (1e-4, False), (0.0, False)])
def test_a_diagnosis_names_samples_that_nearly_coincide(gap: float, said: bool) -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((12, 3))
    x[9] = x[4] + [0.0, gap * np.sqrt(np.mean(np.sum(x**2, axis=1))), 0.0]
    data = Dataset(x, rng.standard_normal(12), features=("age", "height", "weight"), file_lines=tuple(range(2, 14)))
    warnings = " ".join(diagnose(Problem(data, Network(3, (5,)))).warnings)
    named = "2 samples lie next to others (first: line 6 and line 11, 1e-07 of their size apart, most in 'height')"
    assert (named in warnings) == said
    assert ("lie next to others" in warnings) == said
