"""Numba's compiler with less work: kernels compute what they did, give back all memory, and Numba's own code is compiled as before."""

from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba.core.compiler import DefaultPassBuilder, Flags
from numba.core.runtime import _nrt_python as memory
from numba.core.runtime import rtsys

from rectilinear import kept_kernels, kernel_passes, linked_once

needs_compiler = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


class Pair(NamedTuple):
    row: np.ndarray
    factor: float
    table: np.ndarray


def rows_and_tables(count):
    """Arrays that are made anew, kept in tuples, cut and let go, on ways that differ from turn to turn."""
    total, kept, last = 0.0, np.ones(3), 1
    for n in range(count):
        pair = Pair(np.full(3, 1.0 * n), 0.5, np.ones((2, 3)))
        if n % 2:
            kept = pair.table[1]
        elif n % 3:
            pair = Pair(kept, 2.0, pair.table)
        last = n
        for k in range(3):
            total += pair.factor * pair.row[k] * kept[k] + last
    return total, kept


@needs_compiler
def test_kernels_compute_the_same_and_give_back_all_memory():
    kernel = kept_kernels.kept()(rows_and_tables)
    expected, row = rows_and_tables(10)
    memory.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        found, last = kernel(10)
        assert found == expected
        np.testing.assert_array_equal(last, row)
        del last
        after = rtsys.get_allocation_stats()
    finally:
        memory.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free > 20
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free


@needs_compiler
def test_less_is_made_of_a_kernel_than_by_Numbas_passes(monkeypatch):
    """Before LLVM takes away what comes to nothing."""
    ours = text_of_part()
    monkeypatch.setattr(kernel_passes, "ARE_KNOWN", False)
    numbas = text_of_part()
    assert ours.count(" extractvalue ") < 0.8 * numbas.count(" extractvalue ")
    assert ours.count(" store ") < numbas.count(" store ")


def text_of_part():
    part = numba.njit(pipeline_class=linked_once.PartCompiler)(rows_and_tables)
    part.compile((numba.int64,))
    (compiled,) = part.overloads.values()
    return str(compiled.library._final_module)


def test_passes_that_are_left_out_are_Numbas():
    state = numba.core.compiler.StateDict(func_ir=None, flags=Flags())
    names = {kind.__name__ for kind, _ in DefaultPassBuilder.define_nopython_pipeline(state).passes}
    assert {*kernel_passes.UNNEEDED, "NativeLowering"} <= names
    assert kernel_passes.ARE_KNOWN


def test_Numbas_own_way_is_there_again_even_after_an_error():
    def now():
        return [vars(kind).get(name) for kind, name, _ in kernel_passes.INSTEAD]

    own, within = now(), []
    with pytest.raises(AttributeError), kernel_passes.nothing_twice(), kernel_passes.nothing_twice():
        within.extend(now()).missing()
    assert within == [ours for *_, ours in kernel_passes.INSTEAD]
    assert now() == own


@needs_compiler
def test_what_an_operation_means_is_found_out_once(monkeypatch):
    asked = []

    def counted(*arguments):
        asked.append(arguments)
        return numbas(*arguments)

    numbas = kernel_passes.NUMBAS_CALL_TYPE
    monkeypatch.setattr(kernel_passes, "NUMBAS_CALL_TYPE", counted)
    monkeypatch.setattr(kernel_passes, "_known_calls", {})
    text_of_spread()
    once = len(asked)
    text_of_spread()
    assert len(asked) == once > 0


@needs_compiler
def test_an_operation_of_exact_and_of_fast_parts_is_compiled_as_each_of_them():
    """Whichever of them met it first, or last."""
    texts = [text_of_spread(fastmath=fast) for fast in (False, True, False, True)]
    assert [" fast " in text for text in texts] == [False, True, False, True]


def text_of_spread(**options):
    def spread(x):
        return np.var(x)

    part = numba.njit(pipeline_class=linked_once.PartCompiler, **options)(spread)
    part.compile((numba.float64[::1],))
    (compiled,) = part.overloads.values()
    return str(compiled.library._final_module)


@needs_compiler
def test_what_is_in_line_many_times_has_names_of_its_own():
    @numba.njit(inline="always")
    def turned(x, times):
        for _ in range(times):
            x = 1.0 - 2.0 * x
        return x

    def both(x):
        return turned(x, 1) + 10.0 * turned(turned(x, 2), 3)

    kernel = numba.njit(pipeline_class=linked_once.LinkingCompiler)(both)
    assert kernel(0.25) == turned(0.25, 1) + 10.0 * turned(turned(0.25, 2), 3)


@needs_compiler
def test_with_another_Numba_inside_its_own_passes_are_taken(monkeypatch):
    monkeypatch.setattr(kernel_passes, "ARE_KNOWN", False)
    kernel = numba.njit(pipeline_class=linked_once.LinkingCompiler)(
        lambda x: x.sum() + 1.0
    )  # not kept: compiled by every run
    assert kernel(np.ones(3)) == 4.0
    (compiled,) = kernel.overloads.values()
    assert any("native_lowering" in name for name in compiled.metadata["pipeline_times"]["nopython"])
