"""How kernels are compiled: what they call is linked into them as it is, and all of it becomes machine code once, with them.

Numba optimises each function and makes machine code of it as soon as it is compiled, and does so again within each that calls it. What
only kernels call needs neither by itself. Where Numba's insides are not those that this was written for, its own way is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm
from numba.core import codegen as insides
from numba.core.compiler import Compiler
from numba.core.environment import lookup_environment

ENVIRONMENT = "_ZN08NumbaEnv"  # how names begin of what points to the Python objects of a function
LINKED = "linked"  # the kind of a library on disk that holds no machine code
NEEDED = ("_module_pass_manager", "_pass_builder", "_check_llvm_bugs", "_library_class", "set_env")  # of what makes code
IS_KNOWN = all(hasattr(insides.JITCPUCodegen, name) for name in NEEDED)  # whether Numba's insides are these


class LinkedLibrary(insides.JITCodeLibrary):
    """The code of a function and of all that it calls; machine code is made of it when its way in from Python is asked for."""

    _emitted = False

    def _optimize_functions(self, ll_module: Any) -> None:
        """Not yet: all is optimised together."""
        ll_module.data_layout = self._codegen._data_layout
        self._tidy(ll_module, "dead_code_elimination")

    def _tidy(self, module: Any, *steps: str) -> None:
        passes = llvm.create_new_module_pass_manager()
        for step in (*steps, "global_dead_code_eliminate"):
            getattr(passes, f"add_{step}_pass")()
        passes.run(module, self._codegen._pass_builder())

    def finalize(self) -> None:
        """Link in what is called, and no more.

        Kernels that are called are there by their addresses too, which no other process could load; nothing uses them.
        """
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        if self._dynamic_globals:
            self._tidy(self._final_module, "simplify_cfg", "sroa", "dead_code_elimination")
            self._dynamic_globals = []
            self._finalize_dynamic_globals()
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
        self._dynamic_globals = []
        super()._finalize_final_module()
        self._emitted = True

    @property
    def codegen(self) -> Any:
        return self._codegen if self._emitted else _NoMachineCode

    def serialize_using_object_code(self) -> Any:
        if self._emitted:
            return super().serialize_using_object_code()
        return self.name, LINKED, self._get_module_for_linking().as_bitcode()

    @classmethod
    def _unserialize(cls, codegen: Any, state: tuple[str, str, Any]) -> Any:
        name, kind, data = state
        if kind != LINKED:
            return super()._unserialize(codegen, state)
        library = codegen.create_library(name)
        library.enable_object_caching()
        library._final_module, library._finalized = llvm.parse_bitcode(data), True
        return library


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


class LinkingCompiler(Compiler):
    """Numba's compiler, which links first."""

    def compile_extra(self, function: Any) -> Any:
        with linked_once(self.state.targetctx.codegen()):
            return super().compile_extra(function)
