"""How kernels are compiled: kept on disk, without the interpreter's lock, division by zero as in NumPy.

Most of the first seconds after an install are the compiler's, and it counts functions: each has its types found, once for every kind
of arguments, is optimised in every kernel that calls it, and is typed anew where it is in line.
"""

from __future__ import annotations

from typing import Any

import numba
from numba.core.options import DefaultOptions

from ..kept_kernels import kept
from ..linked_once import CompilerOfOne, PartCompiler

# Sums may be reordered and multiply-adds fused (that is what makes them fast); nan and inf keep their meaning.
FAST = {"contract", "reassoc", "nsz"}
IS_ON: bool = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
# Said of each, as otherwise what is compiled first within a fast kernel would be fast everywhere.
EXACT_OR_FAST: tuple[dict[str, Any], ...] = ({**OPTIONS, "fastmath": False}, {**OPTIONS, "fastmath": FAST})

kernel, fast_kernel = (kept(**options) for options in EXACT_OR_FAST)
# Parts that only kernels call. Where many do, it is compiled once in a process and linked into them; where one does, it becomes lines
# of that one, and has its freedoms with rounding.
part, fast_part = (numba.njit(pipeline_class=PartCompiler, **options) for options in EXACT_OR_FAST)
in_line = numba.njit(**OPTIONS, inline="always")
# What is called by its address, so that another process may compile it, or few: see `apart`.
part_of_its_own, fast_part_of_its_own = (kept(**options, pipeline_class=CompilerOfOne) for options in EXACT_OR_FAST)
# The same for what makes no arrays: references to those that it is given are not counted, which took a tenth of following neurons.
WITHOUT_ARRAYS: dict[str, Any] = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}
part_without_arrays, fast_part_without_arrays = (
    kept(**options, **WITHOUT_ARRAYS, pipeline_class=CompilerOfOne) for options in EXACT_OR_FAST
)
