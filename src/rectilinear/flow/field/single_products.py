"""Products of matrices in single precision, of the sizes that plain steps have: some hundred neurons, samples and inputs.

BLAS is made for larger ones, and its environment may tell it to be another processor's: these take 0.8 to 1.1 of its time where it uses
vectors of 16 numbers, and half of it where it is held to 8. A tile of sums stays in registers while the inputs, or the samples, go by.
Numba keeps no arrays there, so tiles are written in the compiler's own language.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from ...arrays import Array
from ..compiled import IS_ON, fast_kernel

Single = NDArray[np.float32]

TILE = 4  # rows of a tile, and columns where sums over samples are made: what is loaded is used so many times
# Numbers of a vector, and vectors beside each other in a tile: as many as there are registers for.
LANES, MOST_VECTORS = (16, 6) if llvm.get_host_cpu_features().get("avx512f") else (8, 3)
NUMBER, INDEX = ir.FloatType(), ir.IntType(64)
VECTOR = ir.VectorType(NUMBER, LANES)
ZEROS, ANY = ir.Constant(VECTOR, None), ir.Constant(VECTOR, ir.Undefined)
FUSED, FREE = ("contract",), ("contract", "reassoc", "nsz")


class Matrix:
    """An array (rows, columns) in C order, seen by the compiler."""

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any) -> None:
        array = context.make_array(kind)(context, builder, value)
        self.builder, self.data = builder, array.data
        self.rows, self.columns = cgutils.unpack_tuple(builder, array.shape)  # type: ignore[no-untyped-call]

    def at(self, row: Any, column: Any) -> Any:
        """Where an entry is."""
        builder = self.builder
        return builder.gep(self.data, [builder.add(builder.mul(row, self.columns), column)])

    def vector_at(self, row: Any, column: Any, kind: Any = VECTOR) -> Any:
        """Where so many entries begin."""
        return self.builder.bitcast(self.at(row, column), kind.as_pointer())

    def vector(self, row: Any, column: Any) -> Any:
        return self.builder.load(self.vector_at(row, column), align=4)


def _plus(builder: Any, base: Any, more: int) -> Any:
    return builder.add(base, INDEX(more))


def _sums(builder: Any, count: int, end: Any, stride: int, terms: Any) -> list[Any]:
    """`count` vectors, each the sum of what `terms(i)` lists there as pairs of factors, for i from 0 up to `end`."""
    before, loop, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
    builder.branch(loop)
    builder.position_at_end(loop)
    i, sums = builder.phi(INDEX), [builder.phi(VECTOR) for _ in range(count)]
    grown = [
        builder.fadd(builder.fmul(one, other, flags=FUSED), total, flags=FUSED)
        for total, (one, other) in zip(sums, terms(i), strict=True)
    ]
    following = _plus(builder, i, stride)
    for phi, first, later in zip([i, *sums], [INDEX(0)] + [ZEROS] * count, [following, *grown], strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(later, loop)
    builder.cbranch(builder.icmp_signed("<", following, end), loop, after)
    builder.position_at_end(after)
    return grown


def _totals(builder: Any, vectors: list[Any]) -> list[Any]:
    """The sums of the numbers of every vector, in their order, in as few vectors as have room for them."""
    for _ in range(LANES.bit_length() - 1):
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [
            builder.fadd(*(_picked(builder, one, other, range(first, 2 * LANES, 2)) for first in (0, 1)), flags=FREE)
            for one, other in pairs
        ]
    return vectors


def _picked(builder: Any, one: Any, other: Any, which: Any) -> Any:
    """A vector of these numbers of two."""
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(which)), list(which))
    return builder.shuffle_vector(one, other, mask)


def _tile_of_product(typing: Any, w: Any, x: Any, out: Any, row: Any, column: Any, vectors: Any) -> Any:
    """out = w x for TILE rows from `row` on, and for so many vectors from `column` on."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        factors, inputs, product = (
            Matrix(context, builder, kind, value) for kind, value in zip(signature.args[:3], arguments[:3], strict=True)
        )
        row, column, vectors = arguments[3:]
        end = builder.append_basic_block()
        cases = builder.switch(vectors, end)
        for width in range(1, MOST_VECTORS + 1):
            case = builder.append_basic_block()
            cases.add_case(INDEX(width), case)
            builder.position_at_end(case)
            rows = [_plus(builder, row, r) for r in range(TILE)]
            columns = [_plus(builder, column, LANES * c) for c in range(width)]

            def terms(k: Any, rows: list[Any] = rows, columns: list[Any] = columns) -> Iterator[tuple[Any, Any]]:
                along = [inputs.vector(k, c) for c in columns]
                for r in rows:
                    number = builder.insert_element(ANY, builder.load(factors.at(r, k)), INDEX(0))
                    everywhere = _picked(builder, number, ANY, [0] * LANES)
                    for vector in along:
                        yield everywhere, vector

            sums = iter(_sums(builder, TILE * width, inputs.rows, 1, terms))
            for r in rows:
                for c in columns:
                    builder.store(next(sums), product.vector_at(r, c), align=4)
            builder.branch(end)
        builder.position_at_end(end)
        return context.get_dummy_value()

    return types.void(w, x, out, types.intp, types.intp, types.intp), code


def _tile_of_sums(typing: Any, z: Any, x: Any, scale: Any, out: Any, row: Any, column: Any) -> Any:
    """out += scale z x^T for TILE rows from `row` on and TILE columns from `column` on."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left, right = (Matrix(context, builder, signature.args[n], arguments[n]) for n in (0, 1))
        total = Matrix(context, builder, signature.args[3], arguments[3])
        scale, (row, column) = arguments[2], arguments[4:]
        rows, columns = ([_plus(builder, first, n) for n in range(TILE)] for first in (row, column))

        def terms(i: Any) -> list[tuple[Any, Any]]:
            ones, others = [left.vector(r, i) for r in rows], [right.vector(c, i) for c in columns]
            return [(one, other) for one in ones for other in others]

        found = _totals(builder, _sums(builder, TILE * TILE, left.columns, LANES, terms))
        doubles = ir.VectorType(ir.DoubleType(), TILE)
        scales = builder.insert_element(ir.Constant(doubles, ir.Undefined), scale, INDEX(0))
        scales = _picked(builder, scales, ir.Constant(doubles, ir.Undefined), [0] * TILE)
        for n, r in enumerate(rows):
            first = n * TILE % LANES
            sums = _picked(builder, found[n * TILE // LANES], ANY, range(first, first + TILE))
            more = builder.fmul(builder.fpext(sums, doubles), scales)
            place = total.vector_at(r, column, doubles)
            builder.store(builder.fadd(builder.load(place, align=8), more), place, align=8)
        return context.get_dummy_value()

    return types.void(z, x, types.float64, out, types.intp, types.intp), code


tile_of_product: Any = intrinsic(_tile_of_product)
tile_of_sums: Any = intrinsic(_tile_of_sums)


def product(w: Single, x: Single, out: Single) -> None:
    """out = w x, of w (rows, inputs) and x (inputs, samples), for rows of whole tiles and samples of whole vectors."""
    vectors = x.shape[1] // LANES
    tiles = -(-vectors // MOST_VECTORS)
    for tile in range(tiles):
        begin, end = vectors * tile // tiles, vectors * (tile + 1) // tiles
        for row in range(0, w.shape[0], TILE):
            tile_of_product(w, x, out, row, begin * LANES, end - begin)


def add_products(z: Single, x: Single, scale: float, out: Array) -> None:
    """out += scale z x^T, of z (rows, samples) and x (inputs, samples), for whole tiles and samples of whole vectors."""
    for row in range(0, z.shape[0], TILE):
        for column in range(0, x.shape[0], TILE):
            tile_of_sums(z, x, scale, out, row, column)


def _plain_product(w: Single, x: Single, out: Single) -> None:
    np.dot(w, x, out)


def _plain_add_products(z: Single, x: Single, scale: float, out: Array) -> None:
    out += scale * np.dot(z, x.T).astype(np.float64)


product_of_rows, add_row_products = (
    fast_kernel(tiled if IS_ON else plain)
    for tiled, plain in ((product, _plain_product), (add_products, _plain_add_products))
)
