"""Small products against NumPy's, in either precision, for every number of vectors that a tile may have and more."""

import numpy as np
import pytest

from rectilinear.flow.field.small_products import (
    DOUBLE_LANES,
    MOST_VECTORS,
    SINGLE_LANES,
    TILE,
    add_row_products,
    product_of_columns,
    product_of_rows,
)

LANES = SINGLE_LANES  # whole vectors of either precision
ROUNDING = {np.float32: 1e-6, np.float64: 1e-14}
SHAPES = [
    *((TILE, TILE, LANES * vectors) for vectors in range(1, 2 * MOST_VECTORS + 2)),
    (5 * TILE, 1, LANES),
    (TILE, 3, 3 * LANES),
    (32, 12, 9 * LANES),
    (100, 20, 23 * LANES),
]
UNEVEN = [(rows, 3, columns) for rows in (1, 3, 5, 50) for columns in (1, LANES - 1, LANES + 1, 2 * LANES - 1, 50, 64, 211)]


def factors(rows, inputs, samples, kind):
    rng = np.random.default_rng(samples)
    return rng.standard_normal((rows, inputs)).astype(kind), rng.standard_normal((inputs, samples)).astype(kind)


def test_vectors_of_single_precision_are_whole_ones_of_double():
    assert SINGLE_LANES == 2 * DOUBLE_LANES


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("kind", ROUNDING)
@pytest.mark.parametrize(("rows", "inputs", "samples"), SHAPES + UNEVEN)
def test_products_over_inputs_are_numpys(rows, inputs, samples, kind, turned):
    w, x = factors(rows, inputs, samples, kind)
    room = np.full((rows + 1, samples), 7.0, kind)
    if turned:
        product_of_columns(np.ascontiguousarray(w.T), x, room[:rows])
    else:
        product_of_rows(w, x, room[:rows])
    np.testing.assert_allclose(room[:rows], w.astype(float) @ x.astype(float), rtol=0, atol=ROUNDING[kind] * inputs)
    np.testing.assert_array_equal(room[rows], 7.0)  # nothing is written beyond


@pytest.mark.parametrize("kind", ROUNDING)
@pytest.mark.parametrize(("rows", "inputs", "samples"), [(r, -(-k // TILE) * TILE, n) for r, k, n in SHAPES])
def test_products_over_samples_are_added_with_their_scale(rows, inputs, samples, kind):
    z, x = factors(rows, samples, inputs, kind)[0], factors(rows, inputs, samples, kind)[1]
    before = np.arange(float((rows + 1) * inputs)).reshape(rows + 1, inputs)
    found = before.copy()
    add_row_products(z, x, -0.25, found[:rows])
    more = -0.25 * z.astype(float) @ x.astype(float).T
    atol = ROUNDING[kind] * (samples + before.max())
    np.testing.assert_allclose(found[:rows] - before[:rows], more, rtol=0, atol=atol)
    np.testing.assert_array_equal(found[rows], before[rows])
