"""Products in single precision against NumPy's in double, for every number of vectors that a tile may have and more."""

import numpy as np
import pytest

from rectilinear.flow.field.single_products import LANES, MOST_VECTORS, TILE, add_row_products, product_of_rows

SHAPES = [
    *((TILE, TILE, LANES * vectors) for vectors in range(1, 2 * MOST_VECTORS + 2)),
    (5 * TILE, 1, LANES),
    (TILE, 3, 3 * LANES),
    (32, 12, 9 * LANES),
    (100, 20, 23 * LANES),
]


def factors(rows, inputs, samples):
    rng = np.random.default_rng(samples)
    return rng.standard_normal((rows, inputs)).astype(np.float32), rng.standard_normal((inputs, samples)).astype(np.float32)


@pytest.mark.parametrize(("rows", "inputs", "samples"), SHAPES)
def test_products_over_inputs_are_numpys(rows, inputs, samples):
    w, x = factors(rows, inputs, samples)
    room = np.full((rows + 1, samples), 7.0, np.float32)
    product_of_rows(w, x, room[:rows])
    np.testing.assert_allclose(room[:rows], w.astype(float) @ x.astype(float), rtol=0, atol=1e-6 * inputs)
    np.testing.assert_array_equal(room[rows], 7.0)  # nothing is written beyond


@pytest.mark.parametrize(("rows", "inputs", "samples"), [(r, -(-k // TILE) * TILE, n) for r, k, n in SHAPES])
def test_products_over_samples_are_added_with_their_scale(rows, inputs, samples):
    z, x = factors(rows, samples, inputs)[0], factors(rows, inputs, samples)[1]
    before = np.arange(float((rows + 1) * inputs)).reshape(rows + 1, inputs)
    found = before.copy()
    add_row_products(z, x, -0.25, found[:rows])
    more = -0.25 * z.astype(float) @ x.astype(float).T
    np.testing.assert_allclose(found[:rows] - before[:rows], more, rtol=0, atol=1e-6 * samples)
    np.testing.assert_array_equal(found[rows], before[rows])
