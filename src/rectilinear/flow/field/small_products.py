"""Products of matrices of the sizes that steps have: some hundred neurons, samples and inputs.

BLAS is made for larger ones, and its environment may tell it to be another processor's: these take 0.7 to 1.1 of its time where it uses
the widest vectors, and half of it where it is held to shorter ones. A tile of sums stays in registers while the inputs, or the samples,
go by. Numba keeps no arrays there, so tiles are written in the compiler's own language.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, codegen, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from ...arrays import Array
from ..compiled import IS_ON, fast_kernel, in_line

Single = NDArray[np.float32]
Matrices = Array | Single

TILE = 4  # rows of a tile, and columns where sums over samples are made: what is loaded is used so many times
FEATURES: str = codegen.get_host_cpu_features()  # type: ignore[no-untyped-call]
# Bytes of a vector, and vectors beside each other in a tile: as many as there are registers for.
VECTOR_BYTES, MOST_VECTORS = (64, 6) if "+avx512f" in FEATURES else (32, 3)
SINGLE_LANES, DOUBLE_LANES = VECTOR_BYTES // 4, VECTOR_BYTES // 8  # numbers of a vector
INDEX = ir.IntType(64)
FUSED, FREE = ("contract",), ("contract", "reassoc", "nsz")


@dataclass(frozen=True)
class Vectors:
    """So many numbers side by side."""

    builder: Any
    number: Any
    lanes: int

    @property
    def kind(self) -> Any:
        return ir.VectorType(self.number, self.lanes)

    def picked(self, one: Any, other: Any, which: range | list[int]) -> Any:
        """A vector of these numbers of two."""
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(which)), list(which))
        return self.builder.shuffle_vector(one, other, mask)

    def everywhere(self, number: Any) -> Any:
        """A vector of one number."""
        unknown = ir.Constant(self.kind, ir.Undefined)
        return self.picked(self.builder.insert_element(unknown, number, INDEX(0)), unknown, [0] * self.lanes)

    def sums(self, count: int, end: Any, stride: int, terms: Any) -> list[Any]:
        """`count` vectors, each the sum of what `terms(i)` lists there as pairs of factors, for i from 0 up to `end`."""
        builder, zeros = self.builder, ir.Constant(self.kind, None)
        before, loop, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
        builder.branch(loop)
        builder.position_at_end(loop)
        i, sums = builder.phi(INDEX), [builder.phi(self.kind) for _ in range(count)]
        grown = [
            builder.fadd(builder.fmul(one, other, flags=FUSED), total, flags=FUSED)
            for total, (one, other) in zip(sums, terms(i), strict=True)
        ]
        following = builder.add(i, INDEX(stride))
        for phi, first, later in zip([i, *sums], [INDEX(0)] + [zeros] * count, [following, *grown], strict=True):
            phi.add_incoming(first, before)
            phi.add_incoming(later, loop)
        builder.cbranch(builder.icmp_signed("<", following, end), loop, after)
        builder.position_at_end(after)
        return grown

    def totals(self, vectors: list[Any]) -> list[Any]:
        """The sums of the numbers of every vector, in their order, in as few vectors as have room for them."""
        for _ in range(self.lanes.bit_length() - 1):
            halves = (range(0, 2 * self.lanes, 2), range(1, 2 * self.lanes, 2))
            pairs = zip(vectors[::2], vectors[1::2], strict=True)
            vectors = [self.builder.fadd(*(self.picked(*pair, half) for half in halves), flags=FREE) for pair in pairs]
        return vectors


class Matrix:
    """An array (rows, columns) in C order, seen by the compiler."""

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any) -> None:
        assert kind.layout == "C", "products need rows that follow each other in memory"
        array = context.make_array(kind)(context, builder, value)
        lanes = VECTOR_BYTES // (kind.dtype.bitwidth // 8)
        self.builder, self.data = builder, array.data
        self.vectors = Vectors(builder, context.get_data_type(kind.dtype), lanes)
        self.rows, self.columns = cgutils.unpack_tuple(builder, array.shape)  # type: ignore[no-untyped-call]

    def load(self, row: Any, column: Any, lanes: int | None = None) -> Any:
        """So many entries of a row."""
        return self.builder.load(self._vector_at(row, column, lanes), align=4)

    def store(self, row: Any, column: Any, vector: Any, lanes: int | None = None) -> None:
        self.builder.store(vector, self._vector_at(row, column, lanes), align=4)

    def _vector_at(self, row: Any, column: Any, lanes: int | None) -> Any:
        kind = ir.VectorType(self.vectors.number, lanes or self.vectors.lanes)
        place = self.builder.add(self.builder.mul(row, self.columns), column)
        return self.builder.bitcast(self.builder.gep(self.data, [place]), kind.as_pointer())


def _tile_of_product(typing: Any, w: Any, x: Any, turned: Any, out: Any, row: Any, column: Any, vectors: Any) -> Any:
    """out = w x, or w^T x if `turned`, for TILE rows from `row` on, and for so many vectors from `column` on."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        factors, inputs, product = (Matrix(context, builder, signature.args[n], arguments[n]) for n in (0, 1, 3))
        turned, (row, column, vectors) = arguments[2], arguments[4:]
        stride = builder.select(turned, factors.columns, INDEX(1))
        row_stride = builder.select(turned, INDEX(1), factors.columns)
        lanes, end = inputs.vectors.lanes, builder.append_basic_block()
        cases = builder.switch(vectors, end)
        for width in range(1, MOST_VECTORS + 1):
            case = builder.append_basic_block()
            cases.add_case(INDEX(width), case)
            builder.position_at_end(case)
            rows = [builder.add(row, INDEX(r)) for r in range(TILE)]
            columns = [builder.add(column, INDEX(lanes * c)) for c in range(width)]

            def terms(k: Any, rows: list[Any] = rows, columns: list[Any] = columns) -> Iterator[tuple[Any, Any]]:
                along = [inputs.load(k, c) for c in columns]
                for r in rows:
                    place = builder.add(builder.mul(r, row_stride), builder.mul(k, stride))
                    number = inputs.vectors.everywhere(builder.load(builder.gep(factors.data, [place])))
                    for vector in along:
                        yield number, vector

            sums = iter(inputs.vectors.sums(TILE * width, inputs.rows, 1, terms))
            for r in rows:
                for c in columns:
                    product.store(r, c, next(sums))
            builder.branch(end)
        builder.position_at_end(end)
        return context.get_dummy_value()

    return types.void(w, x, turned, out, types.intp, types.intp, types.intp), code


def _tile_of_sums(typing: Any, z: Any, x: Any, scale: Any, out: Any, row: Any, column: Any) -> Any:
    """out += scale z x^T for TILE rows from `row` on and TILE columns from `column` on; `out` is in double precision."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left, right, total = (Matrix(context, builder, signature.args[n], arguments[n]) for n in (0, 1, 3))
        scale, (row, column), vectors = arguments[2], arguments[4:], left.vectors
        rows, columns = ([builder.add(first, INDEX(n)) for n in range(TILE)] for first in (row, column))

        def terms(i: Any) -> list[tuple[Any, Any]]:
            ones, others = [left.load(r, i) for r in rows], [right.load(c, i) for c in columns]
            return [(one, other) for one in ones for other in others]

        found = vectors.totals(vectors.sums(TILE * TILE, left.columns, vectors.lanes, terms))
        doubles = Vectors(builder, ir.DoubleType(), TILE)
        for n, r in enumerate(rows):
            whole, first = divmod(n * TILE, vectors.lanes)
            sums = vectors.picked(found[whole], found[whole], range(first, first + TILE))
            if vectors.number != doubles.number:
                sums = builder.fpext(sums, doubles.kind)
            more = builder.fmul(sums, doubles.everywhere(scale))
            total.store(r, column, builder.fadd(total.load(r, column, TILE), more), TILE)
        return context.get_dummy_value()

    return types.void(z, x, types.float64, out, types.intp, types.intp), code


tile_of_product: Any = intrinsic(_tile_of_product)
tile_of_sums: Any = intrinsic(_tile_of_sums)


@in_line
def product(w: Matrices, x: Matrices, turned: bool, out: Matrices) -> None:
    """out = w x, or w^T x; the last tiles overlap those before, and matrices that have no room for one are left to BLAS."""
    lanes, (rows, columns) = VECTOR_BYTES // x.itemsize, out.shape
    if rows < TILE or columns < lanes:
        np.dot(w.T if turned else w, x, out)
        return
    vectors = -(-columns // lanes)
    tiles = max(-(-vectors // MOST_VECTORS), 1 + (columns % lanes > 0))
    for tile in range(tiles):
        begin, end = vectors * tile // tiles, vectors * (tile + 1) // tiles
        column = min(begin * lanes, columns - (end - begin) * lanes)
        for row in range(0, rows, TILE):
            tile_of_product(w, x, turned, out, min(row, rows - TILE), column, end - begin)


def _product_of_rows(w: Matrices, x: Matrices, out: Matrices) -> None:
    """out = w x, of w (rows, inputs) and x (inputs, columns)."""
    product(w, x, False, out)


def _product_of_columns(w: Matrices, x: Matrices, out: Matrices) -> None:
    """out = w^T x, of w (inputs, rows) and x (inputs, columns)."""
    product(w, x, True, out)


def _add_row_products(z: Matrices, x: Matrices, scale: float, out: Array) -> None:
    """out += scale z x^T, of z (rows, samples) and x (inputs, samples), for whole tiles and samples of whole vectors."""
    for row in range(0, z.shape[0], TILE):
        for column in range(0, x.shape[0], TILE):
            tile_of_sums(z, x, scale, out, row, column)


def _by_numpy(w: Matrices, x: Matrices, out: Matrices) -> None:
    np.dot(w, x, out)


def _turned_by_numpy(w: Matrices, x: Matrices, out: Matrices) -> None:
    np.dot(w.T, x, out)


def _added_by_numpy(z: Matrices, x: Matrices, scale: float, out: Array) -> None:
    out += scale * np.dot(z, x.T).astype(np.float64)


product_of_rows, product_of_columns, add_row_products = (
    fast_kernel(tiled if IS_ON else plain)
    for tiled, plain in (
        (_product_of_rows, _by_numpy),
        (_product_of_columns, _turned_by_numpy),
        (_add_row_products, _added_by_numpy),
    )
)
