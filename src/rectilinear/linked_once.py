"""How kernels are compiled: what they call is linked into them as it is, and all of it becomes machine code once, with them.

Numba optimises each function and makes machine code of it as soon as it is compiled, and does so again within each that calls it. What
only kernels call needs neither by itself. Where Numba's insides are not those that this was written for, its own way is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from numba.core import codegen as insides
from numba.core.compiler import Compiler, Flags
from numba.core.environment import lookup_environment

from .kernel_passes import nothing_twice, of_kernels

ENVIRONMENT = "_ZN08NumbaEnv"  # how names begin of what points to the Python objects of a function
NEEDED = ("_module_pass_manager", "_pass_builder", "_check_llvm_bugs", "_library_class", "set_env")  # of what makes code
IS_KNOWN = all(hasattr(insides.JITCPUCodegen, name) for name in NEEDED)  # whether Numba's insides are these


class LinkedLibrary(insides.JITCodeLibrary):
    """The code of a function and of all that it calls; machine code is made of it when its way in from Python is asked for."""

    _emitted = False

    def _optimize_functions(self, ll_module: Any) -> None:
        """Not yet: all is optimised together."""
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Link in what is called, and no more."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        if not self._emitted:
            if all(function.name != name for function in self.get_defined_functions()):
                return 0
            self._emit()
        return int(super().get_pointer_to_function(name))

    def _emit(self) -> None:
        self._codegen._check_llvm_bugs()
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)
        self._final_module.verify()
        self._finalize_final_module()
        for variable in self._final_module.global_variables:
            environment = lookup_environment(variable.name) if variable.name.startswith(ENVIRONMENT) else None
            if environment is not None:
                self.codegen.set_env(variable.name, environment)

    def _finalize_final_module(self) -> None:
        super()._finalize_final_module()
        self._emitted = True

    @property
    def codegen(self) -> Any:
        return self._codegen if self._emitted else _NoMachineCode


class _NoMachineCode:
    """Of a library without machine code: there is nothing that could point to Python objects."""

    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        pass


@contextmanager
def linked_once(codegen: Any) -> Iterator[None]:
    """What is compiled or loaded within becomes machine code once; to be entered with the compiler's lock."""
    if not IS_KNOWN:
        yield
        return
    before, codegen._library_class = codegen._library_class, LinkedLibrary
    try:
        yield
    finally:
        codegen._library_class = before


class SharedFlags(Flags):
    """What kernels are compiled with: the same for all that have the same, and so equal to no other.

    Numba looks for what a kernel calls by this, at each of its operations; flags of its own all have the same hash, and are slow to
    compare.
    """

    __eq__, __hash__ = object.__eq__, object.__hash__

    def copy(self) -> Flags:
        return Flags(self)


class KernelFlags(Flags):
    """What a kernel is compiled with, before it is shared."""

    _shared: ClassVar[dict[str, SharedFlags]] = {}

    def copy(self) -> SharedFlags:
        return self._shared.setdefault(repr(sorted(self.values().items())), SharedFlags(self))


class LinkingCompiler(Compiler):
    """Numba's compiler, which links first."""

    _has_way_in = True

    def compile_extra(self, function: Any) -> Any:
        self.state.flags = KernelFlags(self.state.flags)
        with linked_once(self.state.targetctx.codegen()), nothing_twice():
            return super().compile_extra(function)

    def define_pipelines(self) -> Any:
        self.state.flags.no_cpython_wrapper = not self._has_way_in  # now, as what kernels and parts call is the same
        return [of_kernels(passes) for passes in super().define_pipelines()]


class PartCompiler(LinkingCompiler):
    """For what only kernels call: there is no way in from Python."""

    _has_way_in = False


class CompilerOfOne(PartCompiler):
    """For what is called by its address: it has machine code of its own."""

    def compile_extra(self, function: Any) -> Any:
        compiled = super().compile_extra(function)
        compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
        return compiled
