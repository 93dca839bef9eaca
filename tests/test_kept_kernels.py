"""Compiled kernels on disk: found again while nothing they are made of has changed, and done without where nothing can be kept."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rectilinear import kept_kernels
from rectilinear.kept_kernels import HINT, made_of

OUTER = """
from numbers_below import FACTOR, tripled
from rectilinear.kept_kernels import kept

@kept()
def outer(x):
    return later(x) + FACTOR

@kept()
def later(x):
    return tripled(x)

print(outer(1.0), sum(outer.stats.cache_hits.values()))
"""
BELOW = """
from rectilinear.kept_kernels import kept
FACTOR = {factor}

@kept()
def tripled(x):
    return {times} * x
"""
SOURCES = Path(kept_kernels.__file__).parents[1]


def printed(folder, script, **environment):
    paths = os.pathsep.join([str(folder), str(SOURCES)])
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        check=True,
    )


def outcome(folder, factor, times):
    (folder / "numbers_below.py").write_text(BELOW.format(factor=factor, times=times))
    (folder / "above.py").write_text(OUTER)
    ran = printed(folder, "import above", NUMBA_CACHE_DIR=str(folder / "kept"), PYTHONDONTWRITEBYTECODE="1")
    value, found = ran.stdout.split()
    return float(value), int(found)


def test_a_kernel_is_compiled_anew_when_a_file_of_what_it_calls_changes(tmp_path):
    """Its own file stays the same throughout; what it calls is defined after it, and calls what is in another file."""
    assert outcome(tmp_path, 10.0, 3.0) == (13.0, 0)
    assert outcome(tmp_path, 10.0, 3.0) == (13.0, 1)
    assert outcome(tmp_path, 10.0, 5.0) == (15.0, 0)
    assert outcome(tmp_path, 20.0, 5.0) == (25.0, 0)
    assert outcome(tmp_path, 20.0, 5.0) == (25.0, 1)


def test_what_a_kernel_is_made_of_names_files_of_other_rooms_and_constants():
    from rectilinear.flow.engines.neuron_path import follow_neurons

    function = getattr(follow_neurons, "py_func", follow_neurons)
    found = made_of(function)
    assert "rectilinear.flow.engines.neuron_path.follow_neurons" in found
    if function is not follow_neurons:
        assert {"rectilinear.flow.polynomials.recentre", "rectilinear.flow.kinks.single_neuron.turn_to"} < set(found)
    assert found["rectilinear.flow.engines.neuron_path.follow_neurons:MOST_PIECES"] == b"1000"


@pytest.fixture
def read_only(tmp_path):
    """A copy of the package in which no folder takes a compiled kernel, as on a disk that is only read."""
    shutil.copytree(SOURCES / "rectilinear", tmp_path / "rectilinear", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [tmp_path / "rectilinear", *(tmp_path / "rectilinear").rglob("*/")]:
        if folder.is_dir():
            (folder / "__pycache__").write_text("")
    return tmp_path


NOWHERE = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "NUMBA_CACHE_DIR"), os.devnull)
ONE_KERNEL = """
import rectilinear.progress as progress
progress.compilation()
from rectilinear.flow.collocation import basis_at
print(basis_at(0.5).sum())
"""


def test_where_nothing_can_be_kept_runs_work_and_say_what_it_costs(read_only):
    ran = printed(read_only, ONE_KERNEL, PYTHONDONTWRITEBYTECODE="1", **NOWHERE)
    assert float(ran.stdout) == pytest.approx(1.0)
    assert "in every process anew" in ran.stderr
    assert HINT in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_the_other_process_is_not_begun_where_it_could_leave_nothing(monkeypatch):
    from rectilinear.flow import first_use

    monkeypatch.setattr(kept_kernels, "_unkept", ["no folder"])
    monkeypatch.setattr(first_use, "workers", lambda: 2)
    monkeypatch.setattr(first_use, "in_two_processes", lambda *_: pytest.fail("begun"))
    first_use.prepare.__wrapped__("kinks")


def test_a_disk_that_takes_no_more_is_said_once_and_the_result_given(monkeypatch, capsys):
    from numba.core.caching import IndexDataCacheFile

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept_kernels, "_unkept", [])
    monkeypatch.setattr(IndexDataCacheFile, "save", full)
    one, two = kept_kernels.kept()(first_example), kept_kernels.kept()(second_example)
    assert (one(1.0), two(1.0)) == (2.0, 3.0)
    said = capsys.readouterr().err
    assert said.count("every process compiles kernels anew") == 1
    assert "No space left" in kept_kernels.why_not_kept()


def first_example(x):
    return x + 1.0


def second_example(x):
    return x + 2.0
