"""How kernels are compiled: kept on disk, without the interpreter's lock, division by zero as in NumPy.

Most of the first minute after an install is the compiler's, and it counts functions: each brings a way in from Python, is optimised
again in all that call it, and is typed anew where it is in line.
"""

from __future__ import annotations

from typing import Any

import numba

from ..kept_kernels import kept

# Sums may be reordered and multiply-adds fused (that is what makes them fast); nan and inf keep their meaning.
FAST = {"contract", "reassoc", "nsz"}
IS_ON: bool = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]


def _compiled(**options: Any) -> Any:
    return kept(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)


kernel, fast_kernel = _compiled(), _compiled(fastmath=FAST)
# Parts that only kernels call. Where many do, it is compiled once and has no way in from Python; where one does, it becomes lines of
# that one, and has its freedoms with rounding.
part, fast_part = _compiled(no_cpython_wrapper=True), _compiled(no_cpython_wrapper=True, fastmath=FAST)
in_line = _compiled(inline="always")
