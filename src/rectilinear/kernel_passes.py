"""What Numba's compiler does with kernels, less what comes to nothing in them: that is Python's work, and most of a first run.

No kernel holds a closure, a context or an expression of whole arrays that is worth a loop of its own. A number has no memory that
would have to be counted or cleared.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import postproc, transforms
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.lowering import Lower
from numba.core.runtime.context import NRTContext
from numba.core.typed_passes import BaseNativeLowering, NativeLowering

UNNEEDED = ("WithLifting", "InlineClosureLikes", "InlineOverloads", "NopythonRewrites")
NEEDED = ((Lower, "delvar"), (NRTContext, "get_meminfos"), (postproc.PostProcessor, "_insert_var_dels"))
ARE_KNOWN = all(hasattr(kind, name) for kind, name in NEEDED)  # whether Numba's insides are those that this was written for


class KernelMemory(NRTContext):
    """How references to memory are counted: of a tuple or an array, only what points to memory is looked at."""

    def get_meminfos(self, builder: Any, kind: Any, value: Any) -> list[tuple[Any, Any]]:
        model = self._context.data_model_manager[kind]
        found = [(kind, model.get_nrt_meminfo(builder, value))] if model.has_nrt_meminfo() else []
        for member, taken_from in model.traverse(builder):
            if has_memory(self._context, member):
                found += self.get_meminfos(builder, member, taken_from(value))
        return found


def has_memory(context: Any, kind: Any) -> bool:
    """Whether values of a type point to memory whose references are counted."""
    return bool(context.data_model_manager[kind].contains_nrt_meminfo())


class KernelLower(Lower):
    """How statements become LLVM's: a variable without memory is not cleared when it has been used for the last time."""

    def delvar(self, name: str) -> None:
        if has_memory(self.context, self.typeof(name)):
            super().delvar(name)


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(BaseNativeLowering):
    """Numba's last pass but one, with these two."""

    _name: Any = "kernel_lowering"

    @property
    def lowering_class(self) -> Any:
        return KernelLower

    def run_pass(self, state: Any) -> bool:
        state.targetctx.nrt = KernelMemory(state.targetctx, state.targetctx.enable_nrt)
        return bool(super().run_pass(state))


def of_kernels(passes: PassManager) -> PassManager:
    """The passes that kernels need, of all that Numba has."""
    if ARE_KNOWN:
        needed = [(kind, told) for kind, told in passes.passes if kind.__name__ not in UNNEEDED]
        passes.passes = [(KernelLowering if kind is NativeLowering else kind, told) for kind, told in needed]
        passes.finalize()
    return passes


@contextmanager
def lifetimes_when_asked_for() -> Iterator[None]:
    """Within, Numba finds out where variables live when that is asked for, not after each pass; to be entered with the compiler's lock."""
    processor: Any = postproc.PostProcessor
    numbas = processor.run

    def run(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        if self.func_ir.is_generator:
            numbas(self, emit_dels, extend_lifetimes)
            return
        self.func_ir.blocks = transforms.canonicalize_cfg(self.func_ir.blocks)
        self.func_ir.variable_lifetime = postproc.VariableLifetime(self.func_ir.blocks)
        self.func_ir.generator_info = None
        if emit_dels:
            self._insert_var_dels(extend_lifetimes=extend_lifetimes)

    processor.run = run if ARE_KNOWN else numbas
    try:
        yield
    finally:
        processor.run = numbas
