"""Kernels compiled before a run calls them, by two processes: what is listed is what runs call, and nothing hangs on the other process."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from rectilinear.flow import first_use, signatures
from rectilinear.progress import compilation

SMALL = ("collocation.integrals_to", "collocation.stages_at")  # compiled within a second

# What a run called, as [place, types of the arguments]. Where kernels come from disk, none is there only for another one.
CALLED = """
import json, sys
import numpy as np
from numba.core.registry import CPUDispatcher
import rectilinear as rl
{run}
called = set()
for name, module in list(sys.modules.items()):
    if name.startswith("rectilinear.flow."):
        for kernel in vars(module).values():
            if isinstance(kernel, CPUDispatcher):
                place = f"{{kernel.py_func.__module__}}.{{kernel.py_func.__name__}}".removeprefix("rectilinear.flow.")
                called |= {{(place, str(types)) for types in kernel.overloads}}
print(json.dumps(sorted(called)))
"""
KINKS = """
net = rl.Network(inputs=2, widths=(50,))
problem = rl.Problem(rl.datasets.six_points(), net, net.init(scale=1e-3, seed=0))
rl.simulate(problem, times=np.linspace(0, 50, 51))
"""
FOLLOW = """
net = rl.Network(inputs=10, widths=(100,))
problem = rl.Problem(rl.datasets.gaussian_teacher(), net, net.init(scale=1e-3, seed=0))
rl.simulate(problem, times=np.linspace(0, 50, 101))
"""
DESCEND = """
net = rl.Network(inputs=10, widths=(1000,))
problem = rl.Problem(rl.datasets.gaussian_teacher(inputs=10, samples=100), net, net.init(scale=0.1, seed=0))
rl.descend(problem, 0.01, 2)
"""


def in_python(script, **environment):
    # kernels that only others call are forgotten in the second process, which finds all of them on disk
    for _ in range(2):
        ran = subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, **environment}, capture_output=True, text=True, check=True
        )
    return json.loads(ran.stdout)


@pytest.mark.parametrize(("method", "run"), [("descend", DESCEND), ("kinks", KINKS), ("follow", FOLLOW)])
def test_shares_hold_what_a_run_calls_and_nothing_else(method, run):
    """From Python, or by its address."""
    called = in_python(CALLED.format(run=run), RECTILINEAR_THREADS="1")
    shared = [place for share in first_use.SHARES[method] for place in share]
    assert {place for place, _ in called} == set(shared)
    assert sorted(map(tuple, called)) == sorted((place, str(signatures.signature_of(place))) for place in shared)


def test_the_other_process_leaves_its_share_on_disk(tmp_path):
    script = (
        "import json; from rectilinear.flow import first_use, collocation\n"
        f"first_use.in_two_processes({SMALL[:1]!r}, {SMALL[1:]!r}); first_use.compile_all({SMALL[1:]!r})\n"
        "print(json.dumps([sum(k.stats.cache_hits.values()) for k in (collocation.integrals_to, collocation.stages_at)]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(ran.stdout) == [0, 1]


def test_an_interrupt_ends_the_other_process(monkeypatch):
    monkeypatch.setattr(first_use, "OTHER_PROCESS", "import time; time.sleep(600)")
    helper = first_use._Helper(SMALL)

    def interrupted():
        with helper:
            helper._begin(None)
            assert helper.process.poll() is None
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert helper.process.poll() is not None


def test_an_interrupt_while_waiting_for_the_other_process_is_one_of_compiling(monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(compilation(), "interrupted", False)
    helper = first_use._Helper(SMALL)
    helper.process = SimpleNamespace(wait=interrupted)
    with pytest.raises(KeyboardInterrupt):
        helper.wait()
    assert compilation().interrupted


@pytest.mark.parametrize("executable", ["", None, "/nowhere/python", "/bin/sh"])
def test_where_no_process_can_be_begun_all_goes_on_here(monkeypatch, executable):
    monkeypatch.setattr(sys, "executable", executable)
    with first_use._Helper(SMALL) as helper:
        helper._begin(None)
        helper.wait()
    assert helper.process is None


def test_a_process_that_fails_is_no_error(monkeypatch):
    monkeypatch.setattr(first_use, "OTHER_PROCESS", "raise SystemExit(1)")
    before = compilation().seconds
    with first_use._Helper(SMALL) as helper:
        helper._begin(None)
        helper.wait()
    assert helper.process.returncode == 1
    assert compilation().seconds > before  # waiting for it counts as compiling, against no budget


@pytest.mark.parametrize("method", first_use.SHARES)
def test_on_one_core_there_is_one_process(monkeypatch, method):
    monkeypatch.setattr(first_use, "workers", lambda: 1)
    monkeypatch.setattr(first_use, "in_two_processes", lambda *_: pytest.fail("a second process"))
    first_use.prepare.__wrapped__(method)


def test_imports_take_none_of_scipys_packages():
    """They take as long as all of the rest, and most runs call none of them."""
    script = "import json, sys, rectilinear.cli; print(json.dumps([name for name in sys.modules if name in PACKAGES]))"
    packages = {f"scipy.{name}" for name in ("integrate", "linalg", "optimize", "sparse", "spatial", "special")}
    ran = subprocess.run(
        [sys.executable, "-c", f"PACKAGES = {packages}; {script}"], capture_output=True, text=True, check=True
    )
    assert json.loads(ran.stdout) == []
