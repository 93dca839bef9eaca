"""Integer data, where neurons come to rest exactly on kinks and touch several at once: the early phase and whole runs agree."""

import numpy as np
import pytest

from rectilinear import Dataset, Kind, Network, Problem, descend, simulate

EARLY = 6.0  # in units of the mean length of the samples: the outputs are still negligible


def lattice_problem(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 8)), int(rng.integers(1, 5))
    x = rng.integers(-2, 3, (n, d)).astype(float)
    x[~x.any(axis=1)] = np.eye(d)[0]
    net = Network(inputs=d, widths=(20,))
    return Problem(Dataset(x, rng.choice([-1.0, 1.0], n)), net, net.init(scale=1e-9, seed=seed))


def tied_problem() -> Problem:
    """A neuron crosses a kink with speed exactly zero beyond it, and is pushed back later."""
    x = np.array([[-2.0, -1, 1], [0, 1, 0], [2, 0, 0], [1, 2, 0]])
    net = Network(inputs=3, widths=(20,))
    return Problem(Dataset(x, [-1.0, -1, -1, 1]), net, net.init(scale=1e-9, seed=99))


# 121 and 151: a neuron that rests on one kink meets another at w = 0; 194 to 268: it is pushed back over the one it rests on;
# 143: it moves along the kink it rests on, and a changes sign
CASES = [tied_problem(), *(lattice_problem(seed) for seed in (121, 143, 151, 194, 198, 247, 268))]


@pytest.mark.parametrize("problem", CASES)
def test_the_early_phase_agrees_with_steps(problem: Problem) -> None:
    t = EARLY / np.mean(np.linalg.norm(problem.x, axis=1))
    early, stepped = (simulate(problem, times=[t], early_phase=phase).final for phase in (True, False))
    apart, size = (np.hypot(np.linalg.norm(w, axis=1), a[0]) for w, a in
                   ((early[0] - stepped[0], early[1] - stepped[1]), stepped))  # fmt: skip
    assert np.max(apart / size) < 1e-7


@pytest.mark.parametrize("problem", CASES[:4])
def test_and_with_descent(problem: Problem) -> None:
    t, steps = EARLY / np.mean(np.linalg.norm(problem.x, axis=1)), 20_000
    flow = simulate(problem, times=[t]).final[0]
    small_steps = descend(problem, learning_rate=t / steps, steps=steps, record_every=steps).final[0]
    assert np.abs(flow - small_steps).max() < 1e-3 * np.abs(flow).max()


def dependent_normals(seed: int) -> Problem:
    """Small integers, 0 and 1, or -1, 0 and 1: many lines whose normals depend on each other meet where a neuron is held on some."""
    rng = np.random.default_rng(seed)
    n, d, h = int(rng.integers(6, 30)), int(rng.integers(2, 6)), int(rng.integers(4, 20))
    x = rng.integers(*((-2, 3), (0, 2), (-1, 2))[seed % 3], (n, d)).astype(float)
    x[~x.any(axis=1)] = np.eye(d)[0]
    y = rng.choice([-1.0, 1.0], n) if seed % 2 else rng.integers(-2, 3, n).astype(float)
    net = Network(inputs=d, widths=(h,))
    return Problem(Dataset(x, y), net, net.init(scale=float(rng.choice([1e-4, 0.01, 0.3, 1.0])), seed=seed))


# 0: a multiplier that is not unique leaves its bounds while another choice of them holds; the others: holds keep a neuron on a kink that
# repels, and descent leaves
@pytest.mark.parametrize("method", ["kinks", "follow"])
@pytest.mark.parametrize("seed", [0, 5, 17, 39])
def test_holds_on_dependent_lines_are_those_of_descent(seed: int, method: str) -> None:
    problem, steps = dependent_normals(seed), 30_000
    t = 30.0 / np.mean(np.linalg.norm(problem.x, axis=1))
    run = simulate(problem, times=[0.0, t], method=method)
    small_steps = descend(problem, learning_rate=t / steps, steps=steps, record_every=steps).final[0]
    assert np.abs(run.final[0] - small_steps).max() < 2e-3 * np.abs(small_steps).max()  # they were 0.02 to 0.3 apart
    assert not run.events.doubtful.any()
    assert (run.events.choices > 0) == (seed != 0)


# 68: a light neuron reaches three kinks at once, and they are seen only from as near as rounding; 151: and one of them comes to repel
@pytest.mark.parametrize("seed", [68, 151])
def test_light_neurons_land_on_all_kinks_that_they_meet_at_once(seed: int) -> None:
    problem = dependent_normals(seed)
    t = 30.0 / np.mean(np.linalg.norm(problem.x, axis=1))
    loose, tight = (simulate(problem, times=[0.0, t], method="kinks", rtol=rtol) for rtol in (1e-8, 1e-11))
    assert np.abs(loose.final[0] - tight.final[0]).max() < 1e-7 * np.abs(tight.final[0]).max()  # 2e-6 and 4e-2 apart
    assert loose.events.choices == tight.events.choices


# 43: on its way over several kinks a neuron is taken back over one; 146: it leaves two kinks that repel and on which holds kept it
@pytest.mark.parametrize(("seed", "method"), [(43, "follow"), (146, "kinks")])
def test_no_kink_among_several_is_said_to_be_crossed_against_the_flow(seed: int, method: str) -> None:
    problem = dependent_normals(seed)
    t = 30.0 / np.mean(np.linalg.norm(problem.x, axis=1))
    assert not simulate(problem, times=[0.0, t], method=method).events.doubtful.any()


# 23: a neuron at w = 0 is driven away, and descents near it have ended where no sample activates them; 29: several ways lead out
@pytest.mark.parametrize("method", ["kinks", "follow"])
@pytest.mark.parametrize("seed", [23, 29])
def test_ways_out_of_zero_are_said_to_be_choices(seed: int, method: str) -> None:
    problem = dependent_normals(seed)
    run = simulate(problem, times=[0.0, 30.0 / np.mean(np.linalg.norm(problem.x, axis=1))], method=method)
    assert run.events.count(Kind.ORIGIN) > 0
    assert run.events.choices > 0
