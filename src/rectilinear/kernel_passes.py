"""What Numba's compiler does with kernels, less what comes to nothing in them: that is Python's work, and most of a first run.

No kernel holds a closure, a context or an expression of whole arrays that is worth a loop of its own. A number has no memory that
would have to be counted or cleared.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from numba.core import ir, postproc, transforms
from numba.core.base import BaseContext
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.lowering import Lower
from numba.core.runtime.context import NRTContext
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import BaseNativeLowering, NativeLowering
from numba.core.types.functions import BaseFunction

UNNEEDED = ("WithLifting", "InlineClosureLikes", "InlineOverloads", "NopythonRewrites")
NEEDED = (
    (Lower, "delvar"),
    (NRTContext, "get_meminfos"),
    (postproc.PostProcessor, "_insert_var_dels"),
    (BaseFunction, "get_impl_key"),
    (BaseContext, "get_abi_sizeof"),
)
ARE_KNOWN = all(hasattr(kind, name) for kind, name in NEEDED)  # whether Numba's insides are those that this was written for
NUMBAS_RUN: Any = postproc.PostProcessor.run
NUMBAS_CALL_TYPE: Any = BaseFunction.get_call_type
NUMBAS_SIZE: Any = BaseContext.get_abi_sizeof


class KernelMemory(NRTContext):
    """How references to memory are counted: of a tuple or an array, only what points to memory is looked at."""

    def get_meminfos(self, builder: Any, kind: Any, value: Any) -> list[tuple[Any, Any]]:
        model = self._context.data_model_manager[kind]
        found = [(kind, model.get_nrt_meminfo(builder, value))] if model.has_nrt_meminfo() else []
        for member, taken_from in model.traverse(builder):
            if has_memory(self._context, member):
                found += self.get_meminfos(builder, member, taken_from(value))
        return found


@cache
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


def lifetimes_when_asked_for(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """`PostProcessor.run`, which finds out where variables live when that is asked for, not after each pass."""
    if self.func_ir.is_generator:
        NUMBAS_RUN(self, emit_dels, extend_lifetimes)
        return
    self.func_ir.blocks = transforms.canonicalize_cfg(self.func_ir.blocks)
    self.func_ir.variable_lifetime = postproc.VariableLifetime(self.func_ir.blocks)
    self.func_ir.generator_info = None
    if emit_dels:
        self._insert_var_dels(extend_lifetimes=extend_lifetimes)


def one_scope(self: Any, memo: Any) -> Any:
    """`Scope.__deepcopy__`: blocks that are put in line elsewhere take new names there, and so may share the scope of the old ones.

    Numba copies it, with all its variables, once for each block.
    """
    return self


_known_calls: dict[tuple[Any, ...], tuple[Any, Any, Any]] = {}


def known_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """`BaseFunction.get_call_type`, which looks for what fits among all that a function can be once for each kind of arguments.

    What it finds depends on how the caller is compiled, too.
    """
    key = (id(self), id(context), args, tuple(kws.items()), ConfigStack.top_or_none())
    if key in _known_calls:
        _, signature, implementation = _known_calls[key]
        self._impl_keys[signature.args] = implementation  # which may be that of a caller that is compiled otherwise
        return signature
    signature = NUMBAS_CALL_TYPE(self, context, args, kws)
    _known_calls[key] = (
        self,
        signature,
        self.get_impl_key(signature),
    )  # with the function, whose id is no other's while it lives
    return signature


_known_sizes: dict[Any, int] = {}


def known_size(self: Any, kind: Any) -> int:
    """`BaseContext.get_abi_sizeof`, which has LLVM parse a module for each variable; there is one way of laying out types in a process."""
    if kind not in _known_sizes:
        _known_sizes[kind] = NUMBAS_SIZE(self, kind)
    return _known_sizes[kind]


INSTEAD = (
    (postproc.PostProcessor, "run", lifetimes_when_asked_for),
    (ir.Scope, "__deepcopy__", one_scope),
    (BaseFunction, "get_call_type", known_call_type),
    (BaseContext, "get_abi_sizeof", known_size),
)


@contextmanager
def nothing_twice() -> Iterator[None]:
    """Within, Numba does no work that it has done or that nobody asks for; to be entered with the compiler's lock."""
    before = [(kind, name, vars(kind).get(name)) for kind, name, _ in INSTEAD]
    try:
        for kind, name, ours in INSTEAD if ARE_KNOWN else ():
            setattr(kind, name, ours)
        yield
    finally:
        for kind, name, numbas in before:
            if numbas is not None:
                setattr(kind, name, numbas)
            elif name in vars(kind):
                delattr(kind, name)
