"""Elimination and Jacobi's rotations, against LAPACK and by what defines them."""

import numpy as np
import pytest

from compiled_parts import from_python
from rectilinear.flow.small_systems import factorise, principal_axes, solve_dependent, solve_in_place, substitute

SOLVE_IN_PLACE, PRINCIPAL_AXES = from_python(solve_in_place), from_python(principal_axes)


@pytest.mark.parametrize("size", [1, 2, 5, 12])
@pytest.mark.parametrize("columns", [1, 6])
def test_solutions_are_lapacks(size, columns):
    rng = np.random.default_rng(size)
    matrix, right = rng.standard_normal((size, size)), rng.standard_normal((size, columns))
    matrix[0, 0] = 0.0 if size > 1 else 1.0  # no solution without pivots
    found = right.copy()
    SOLVE_IN_PLACE(matrix.copy(), found)
    np.testing.assert_allclose(found, np.linalg.solve(matrix, right), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 5, 12])
@pytest.mark.parametrize("stiffness", [1.0, 1e12])
def test_factors_leave_no_more_than_rounding(size, stiffness):
    """Of every row: an inverse would leave `stiffness` times as much where the right side is along the stiff direction."""
    rng = np.random.default_rng(size)
    along = rng.standard_normal(size) + 1j * rng.standard_normal(size)
    matrix = np.eye(size) + stiffness * np.outer(along, along)
    right = matrix @ (rng.standard_normal(size) + 1j * rng.standard_normal(size))
    factors, order, found = matrix.copy(), np.empty(size, np.intp), right.copy()
    from_python(factorise)(factors, order)
    from_python(substitute)(factors, order, found)
    assert np.abs(matrix @ found - right).max() <= 1e-14 * size * (np.abs(matrix) @ np.abs(found)).max()


@pytest.mark.parametrize(("vectors", "dimensions"), [(1, 3), (3, 5), (4, 2), (7, 3), (5, 0)])
def test_what_dependent_vectors_add_up_to_is_lapacks(vectors, dimensions):
    """Of a Gram matrix, as large as it may be: the shares are not unique, their sum is."""
    rng = np.random.default_rng(vectors)
    normals = rng.standard_normal((vectors, dimensions))
    right = normals @ rng.standard_normal(dimensions)
    shares = right.copy()
    from_python(solve_dependent)(normals @ normals.T, shares, 1e-12)
    expected = np.linalg.lstsq(normals @ normals.T, right)[0] @ normals
    np.testing.assert_allclose(shares @ normals, expected, rtol=1e-9, atol=1e-12)
    assert np.count_nonzero(shares) <= min(vectors, dimensions)


@pytest.mark.parametrize("size", [1, 2, 3, 8, 21])
@pytest.mark.parametrize("decades", [0, 12])
def test_principal_axes_are_orthonormal_and_diagonalise(size, decades):
    rng = np.random.default_rng(size)
    rows = rng.standard_normal((3 * size, size)) * 10.0 ** -np.linspace(0, decades, size)
    moments = rows.T @ rows
    axes = PRINCIPAL_AXES(moments.copy())
    np.testing.assert_allclose(axes @ axes.T, np.eye(size), atol=1e-14 * size)
    values = np.sort(np.diag(axes @ moments @ axes.T))
    np.testing.assert_allclose(values, np.linalg.eigvalsh(moments), rtol=1e-10, atol=1e-14 * size * values[-1])
    np.testing.assert_allclose(
        axes @ moments @ axes.T - np.diag(np.diag(axes @ moments @ axes.T)), 0, atol=1e-14 * size * values[-1]
    )


def test_principal_axes_of_nothing_and_of_one_direction():
    assert (PRINCIPAL_AXES(np.zeros((3, 3))) == np.eye(3)).all()
    axes = PRINCIPAL_AXES(np.ones((4, 4)))
    np.testing.assert_allclose(np.sort((axes.sum(axis=1)) ** 2), [0, 0, 0, 4], atol=1e-14)
