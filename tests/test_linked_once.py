"""How kernels are compiled: what they call becomes machine code with them and not before, and any other code can still call it."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from rectilinear import kept_kernels, linked_once

needs_compiler = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


def part_and_kernel():
    part = numba.njit(pipeline_class=linked_once.PartCompiler)(lambda x: np.zeros(3) + x)
    return part, kept_kernels.kept()(lambda x: part(x).sum())


@needs_compiler
def test_a_part_becomes_machine_code_only_within_what_calls_it():
    part, kernel = part_and_kernel()
    assert kernel(2.0) == 6.0
    (of_part,), (of_kernel,) = part.overloads.values(), kernel.overloads.values()
    assert isinstance(of_part.library, linked_once.LinkedLibrary)
    assert not of_part.library._emitted
    assert of_kernel.library._emitted


@needs_compiler
def test_code_that_is_compiled_in_Numbas_own_way_can_call_a_part():
    part, kernel = part_and_kernel()
    assert kernel(2.0) == 6.0
    plain = numba.njit(lambda x: part(x).sum())
    assert plain(3.0) == 9.0
    assert not any(isinstance(one.library, linked_once.LinkedLibrary) for one in plain.overloads.values())


@needs_compiler
def test_with_another_Numba_inside_its_own_way_is_taken(monkeypatch):
    monkeypatch.setattr(linked_once, "IS_KNOWN", False)
    _, kernel = part_and_kernel()
    assert kernel(2.0) == 6.0
    assert not any(isinstance(one.library, linked_once.LinkedLibrary) for one in kernel.overloads.values())


def test_this_Numba_is_known_inside():
    assert linked_once.IS_KNOWN


@needs_compiler
def test_kernels_with_the_same_options_share_what_they_call():
    """Numba keeps that by flags: other ones would have it compiled again."""
    flags = linked_once.KernelFlags()
    flags.nrt = True
    same, other = linked_once.KernelFlags(flags), linked_once.KernelFlags()
    assert flags.copy() is same.copy()
    assert flags.copy() != other.copy()
    changed = flags.copy().copy()  # what Numba changes is a copy of a copy
    changed.no_compile = True
    assert not flags.copy().no_compile


RAISES = """
import numba
from rectilinear.kept_kernels import kept
from rectilinear.linked_once import PartCompiler

@numba.njit(pipeline_class=PartCompiler)
def checked(x):
    if x < 0.0:
        raise ValueError("negative")
    return x

@kept()
def root(x):
    return checked(x) ** 0.5
"""


@needs_compiler
@pytest.mark.parametrize("call", ["root(-1.0)", "numba.njit(lambda x: checked(x))(-1.0)"])
def test_errors_of_parts_come_through_when_compiled_and_when_found_on_disk(tmp_path, call):
    (tmp_path / "raising.py").write_text(RAISES)
    script = (
        f"import numba\nfrom raising import checked, root\ntry:\n    {call}\nexcept ValueError as error:\n    print(error)"
    )
    paths = os.pathsep.join([str(tmp_path), str(Path(linked_once.__file__).parents[1])])
    environment = {**os.environ, "PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    for _ in range(2):
        ran = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
        assert ran.stdout.strip() == "negative"
