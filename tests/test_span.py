"""Inputs that span fewer dimensions than they have, and samples that nearly coincide, are as good as any others."""

import numpy as np
import pytest

from rectilinear import Dataset, Network, Problem, Status, simulate
from rectilinear.flow.kinks.answers import box_problem
from rectilinear.flow.span import Span


def subspace_problems(seed: int, l2: float = 0.0) -> tuple[Problem, Problem]:
    """24 samples in a plane of R^4, and the same problem in coordinates of the plane."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((4, 2)))[0].T
    u, y = rng.standard_normal((24, 2)), rng.standard_normal(24)
    net, small = Network(inputs=4, widths=(12,)), Network(inputs=2, widths=(12,))
    w, a = net.init(scale=1.0, seed=seed)
    return Problem(Dataset(u @ basis, y), net, (w, a), l2=l2), Problem(Dataset(u, y), small, (w @ basis.T, a), l2=l2)


@pytest.mark.parametrize("seed", [21, 33, 50])
def test_a_subspace_gives_the_answer_of_its_own_coordinates(seed: int) -> None:
    full, reduced = (simulate(problem, times=[30.0, 300.0]) for problem in subspace_problems(seed))
    assert full.status is reduced.status is Status.FINISHED
    assert np.allclose(full.loss, reduced.loss, rtol=1e-7, atol=0.0)
    assert full.events is not None
    assert full.events.certified or full.events.choices


def test_the_method_is_that_of_its_own_coordinates() -> None:
    """In few dimensions few patterns are cut, and stopping at each kink is cheap, in however many inputs they are written."""
    rng = np.random.default_rng(0)
    u, y = rng.standard_normal((60, 2)), rng.standard_normal(60)
    methods = []
    for basis in (np.eye(2), np.linalg.qr(rng.standard_normal((8, 2)))[0].T):
        net = Network(inputs=basis.shape[1], widths=(60,))
        run = simulate(Problem(Dataset(u @ basis, y), net, net.init(scale=1.0, seed=0)), times=[0.1])
        methods.append(run.provenance["chosen"])
    assert methods[0] == methods[1]


def test_what_lies_outside_the_span_stays_or_decays_with_l2() -> None:
    for l2 in (0.0, 0.05):
        full, _ = subspace_problems(3, l2)
        outside = np.linalg.svd(full.x)[2][2:]
        run = simulate(full, times=[0.0, 2.0, 7.0])
        expected = np.exp(-l2 * run.times)[:, None, None] * (full.weights[0] @ outside.T)
        assert np.allclose(run.weights[0] @ outside.T, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("apart", "seed"), [(1e-12, 0), (1e-11, 4), (1e-10, 8), (1e-9, 12)])
def test_nearly_equal_samples_depend_on_no_tolerance(apart: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((6, 4))[rng.integers(0, 6, 18)]
    x = x + apart * rng.standard_normal(x.shape)
    net = Network(inputs=4, widths=(10,))
    problem = Problem(Dataset(x, rng.choice([-1.0, 1.0], 18)), net, net.init(scale=0.3, seed=seed))
    usual, tight = (simulate(problem, times=[5.0, 50.0], rtol=rtol) for rtol in (1e-9, 1e-11))
    assert usual.status is tight.status is Status.FINISHED
    assert np.allclose(usual.final[0], tight.final[0], rtol=0.0, atol=1e-6 * np.abs(tight.final[0]).max())


def test_lines_that_are_one_are_called_by_the_first_of_them() -> None:
    x = np.array([[1.0, 0.0], [1.0, 1e-10], [0.3, 1.0], [-1.0, 0.8]])
    net = Network(inputs=2, widths=(6,))
    problem = Problem(Dataset(x, [1.0, -0.5, 1.0, -1.0]), net, net.init(scale=0.5, seed=1))
    assert len(problem.data.lines) == 4
    span = Span(problem)
    assert len(span.problem.data.lines) == 3
    assert span.first_lines is not None
    assert span.first_lines.tolist() == [0, 2, 3]
    events = simulate(problem, times=[20.0]).events
    assert events is not None
    assert set(events.line.tolist()) <= {-1, 0, 2, 3}


@pytest.mark.parametrize("seed", range(20))
def test_samples_apart_by_little_more_than_rounding_share_a_line_that_has_a_name(seed: int) -> None:
    """At 1e-12 some agree and others do not, and which depends on the coordinates: left where they were, neurons chattered between them."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((2, 3))[[0, 0, 0, 1, 1, 1]] + 1e-12 * rng.standard_normal((6, 3))
    net = Network(inputs=3, widths=(4,))
    problem = Problem(Dataset(x, [1.0, -1.0, 1.0, 1.0, -1.0, 1.0]), net, net.init(scale=1.0, seed=0))
    span = Span(problem)
    assert span.first_lines is not None
    assert len(span.first_lines) == len(span.problem.data.lines) == 2
    run = simulate(problem, times=[20.0])
    assert run.events is not None
    assert set(run.events.line.tolist()) <= set(range(-1, len(problem.data.lines)))


def test_problems_that_fill_their_space_are_left_alone() -> None:
    _, reduced = subspace_problems(0)
    assert Span(reduced).problem is reduced


@pytest.mark.parametrize("seed", range(40))
def test_box_problem_meets_its_conditions_where_lines_depend(seed: int) -> None:
    """s = q - Gram mu is zero inside the box, <= 0 on its lower and >= 0 on its upper bounds."""
    rng = np.random.default_rng(seed)
    normals = rng.standard_normal((rng.integers(2, 9), rng.integers(1, 4)))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    gram, q = normals @ normals.T, normals @ rng.standard_normal(normals.shape[1])
    bounds = rng.uniform(0.01, 2.0, len(q))
    mu = box_problem(gram, q, bounds)
    s = q - gram @ mu
    assert ((mu >= 0.0) & (mu <= bounds)).all()
    assert np.max(s[mu <= 0.0], initial=0.0) < 1e-12
    assert np.min(s[mu >= bounds], initial=0.0) > -1e-12
    assert np.abs(s[(mu > 0.0) & (mu < bounds)]).max(initial=0.0) < 1e-12


@pytest.mark.parametrize("seed", range(40))
def test_box_problem_tells_lines_apart_that_nearly_coincide(seed: int) -> None:
    """Their Gram matrix is singular to rounding; which of two lines 1e-8 apart a neuron slides along is not rounding's to say."""
    rng = np.random.default_rng(seed)
    normals = rng.standard_normal((4, 3))
    normals[1] = normals[0] + 1e-8 * rng.standard_normal(3)
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    gram, q = normals @ normals.T, normals @ rng.standard_normal(3)
    bounds = rng.uniform(0.01, 2.0, len(q))
    mu = box_problem(gram, q, bounds)
    s = q - gram @ mu
    assert np.max(s[mu <= 0.0], initial=0.0) < 1e-13
    assert np.min(s[mu >= bounds], initial=0.0) > -1e-13
    assert np.abs(s[(mu > 0.0) & (mu < bounds)]).max(initial=0.0) < 1e-13
