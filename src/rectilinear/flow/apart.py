"""Kernels that others call by their address: compiled once and by themselves, at the same time as what calls them.

What a kernel calls becomes part of it otherwise, and so must be there first. Here the caller knows the types alone; the address is
where both look for it, and is written there when a caller is compiled or loaded.
"""

from __future__ import annotations

import ctypes
import inspect
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from ..kept_kernels import finds_addresses
from .compiled import IS_ON
from .signatures import place_of, signature_of, type_of

MISSING = "{place} must be compiled before it is called, but that was interrupted; begin a new Python process."


def apart(kernel: Any, returns: str) -> Any:
    """What kernels call instead of this one, whose types are in `signatures`, with the type that it returns."""
    if not IS_ON or not finds_addresses(kernel):
        return kernel
    place, function, address = place_of(kernel), kernel.py_func, ctypes.c_void_p()
    symbol = f"rectilinear.{place}"
    llvm.add_symbol(symbol, ctypes.addressof(address))

    def typed(_: Any, *arguments: Any) -> Any:
        return type_of(returns)(*signature_of(place)), call

    def call(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        convention, types = context.call_conv, (signature.return_type, signature.args)
        kind, known = convention.get_function_type(*types).as_pointer(), builder.module.globals
        slot = known[symbol] if symbol in known else ir.GlobalVariable(builder.module, kind, symbol)
        pointer = builder.load(slot)
        with cgutils.if_unlikely(builder, cgutils.is_null(builder, pointer)):  # type: ignore[no-untyped-call]
            convention.return_user_exc(builder, RuntimeError, (MISSING.format(place=place),))
        status, value = convention.call_function(builder, pointer, *types, arguments)
        with cgutils.if_unlikely(builder, status.is_error):  # type: ignore[no-untyped-call]
            convention.return_status_propagate(builder, status)
        return value

    def find() -> None:
        if address.value is None:
            types = signature_of(place)
            kernel.compile(types)
            compiled = kernel.overloads[types]
            found = compiled.signature.return_type
            if found != type_of(returns):
                raise TypeError(f"{place} must return {type_of(returns)}, found {found}; correct what `apart` is told.")
            address.value = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)

    own = inspect.signature(function)
    typing = inspect.Parameter("typing", inspect.Parameter.POSITIONAL_ONLY)
    typed.__signature__ = own.replace(parameters=[typing, *own.parameters.values()])  # type: ignore[attr-defined]
    called: Any = intrinsic(typed)
    called.find, called.types = find, f"{place}: {returns}"
    return called
