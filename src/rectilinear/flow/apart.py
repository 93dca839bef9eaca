"""Kernels that others call by their address: compiled by themselves, when they are first called.

What a kernel calls becomes part of it otherwise, and so must be there first. Here the caller knows the types alone, and what few runs
call is compiled by few. The address is where both look for it; where it is missing, the caller goes back to Python for it.
"""

from __future__ import annotations

import ctypes
import inspect
import traceback
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from .compiled import IS_ON
from .signatures import place_of, signature_of, type_of

FIND = ir.FunctionType(ir.IntType(32), ())
FOUND, INTERRUPTED, FAILED = 0, 1, 2
NOT_FOUND = "{place} cannot be compiled, for the reason given above; report it."


def apart(kernel: Any, returns: str) -> Any:
    """What kernels call instead of this one, whose types are in `signatures`, with the type that it returns."""
    if not IS_ON:
        return kernel
    place, address = place_of(kernel), ctypes.c_void_p()
    symbol, way_back = f"rectilinear.{place}", f"rectilinear.find.{place}"

    @ctypes.CFUNCTYPE(ctypes.c_int)
    def find() -> int:
        """Called by kernels, through which no exception of Python's may pass."""
        try:
            address.value = _address(kernel, place, returns)
        except KeyboardInterrupt:
            return INTERRUPTED
        except Exception:
            traceback.print_exc()
            return FAILED
        return FOUND

    llvm.add_symbol(symbol, ctypes.addressof(address))
    llvm.add_symbol(way_back, ctypes.cast(find, ctypes.c_void_p).value)

    def typed(_: Any, *arguments: Any) -> Any:
        return type_of(returns)(*signature_of(place)), call

    def call(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        convention, types = context.call_conv, (signature.return_type, signature.args)
        kind, known = convention.get_function_type(*types).as_pointer(), builder.module.globals
        slot = known[symbol] if symbol in known else ir.GlobalVariable(builder.module, kind, symbol)
        with cgutils.if_unlikely(builder, cgutils.is_null(builder, builder.load(slot))):  # type: ignore[no-untyped-call]
            outcome = builder.call(cgutils.get_or_insert_function(builder.module, FIND, way_back), ())  # type: ignore[no-untyped-call]
            for failure, *error in (
                (INTERRUPTED, KeyboardInterrupt, ()),
                (FAILED, RuntimeError, (NOT_FOUND.format(place=place),)),
            ):
                with builder.if_then(builder.icmp_signed("==", outcome, FIND.return_type(failure))):
                    convention.return_user_exc(builder, *error)
        status, value = convention.call_function(builder, builder.load(slot), *types, arguments)
        with cgutils.if_unlikely(builder, status.is_error):  # type: ignore[no-untyped-call]
            convention.return_status_propagate(builder, status)
        return value

    own = inspect.signature(kernel.py_func)
    typing = inspect.Parameter("typing", inspect.Parameter.POSITIONAL_ONLY)
    typed.__signature__ = own.replace(parameters=[typing, *own.parameters.values()])  # type: ignore[attr-defined]
    called: Any = intrinsic(typed)
    called.by_address, called.way_back = f"{place}: {returns}", find  # which lives as long as what calls it
    return called


def _address(kernel: Any, place: str, returns: str) -> int:
    """Of a kernel's machine code, which is made if it is not there yet."""
    types = signature_of(place)
    kernel.compile(types)
    compiled = kernel.overloads[types]
    found = compiled.signature.return_type
    if found != type_of(returns):
        raise TypeError(f"{place} must return {type_of(returns)}, found {found}; correct what `apart` is told.")
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))
