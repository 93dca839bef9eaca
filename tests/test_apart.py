"""Kernels that others call by their address: the same numbers, whoever compiles them and when."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from rectilinear import kept_kernels
from rectilinear.flow import apart as calling
from rectilinear.flow import compiled, signatures

needs_compiler = pytest.mark.skipif(not compiled.IS_ON, reason="nothing is compiled")


def doubled_root(x):
    if x < 0.0:
        raise ValueError("negative")
    return 2.0 * np.sqrt(x)


@pytest.fixture
def alone(monkeypatch):
    """`doubled_root` by itself, with the types of its arguments written down; what calls it here is in no file, and cannot be kept."""
    monkeypatch.setattr(kept_kernels, "_unkept", [])
    kernel = compiled.part_of_its_own(doubled_root)
    monkeypatch.setitem(signatures.KERNELS, signatures.place_of(kernel), "f")
    return kernel


@needs_compiler
def test_a_kernel_calls_another_by_its_address(alone):
    called = calling.apart(alone, "f")
    kernel = compiled.kernel(by_address(called))
    assert kernel(4.0) == 5.0
    with pytest.raises(ValueError, match=r"^negative$"):
        kernel(-1.0)


@needs_compiler
def test_what_is_called_by_its_address_is_compiled_when_it_is_first_called(alone):
    kernel = compiled.kernel(by_address(calling.apart(alone, "f")))
    kernel.compile((signatures.type_of("f"),))
    assert not alone.overloads
    assert kernel(4.0) == 5.0
    assert alone.overloads


@needs_compiler
def test_an_interrupt_while_it_is_compiled_is_one_of_the_call(alone, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    kernel = compiled.kernel(by_address(calling.apart(alone, "f")))
    with monkeypatch.context() as patched:
        patched.setattr(calling, "_address", interrupted)
        with pytest.raises(KeyboardInterrupt):
            kernel(4.0)
    assert kernel(4.0) == 5.0


@needs_compiler
def test_another_type_than_it_returns_is_refused(alone, capsys):
    kernel = compiled.kernel(by_address(calling.apart(alone, "i")))
    with pytest.raises(RuntimeError, match="doubled_root cannot be compiled, for the reason given above; report it"):
        kernel(4.0)
    assert "doubled_root must return int64, found float64; correct what `apart` is told." in capsys.readouterr().err


def by_address(called):
    """A function that calls it by a name of its own module, as kernels do."""
    scope = {"called": called}
    exec("def caller(x):\n    return called(x) + 1.0", scope)
    return scope["caller"]


ORDERS = """
import json, sys
import numpy as np
import rectilinear as rl
from rectilinear.flow import first_use
first_use.compile_all(sys.argv[1:])
net = rl.Network(inputs=3, widths=(5,))
problem = rl.Problem(rl.datasets.gaussian_teacher(inputs=3, samples=20), net, net.init(scale=0.1, seed=0))
run = rl.simulate(problem, times=np.linspace(0, 20, 3), method="follow")
print(json.dumps([value.hex() for value in run.loss.tolist()]))
"""


@pytest.mark.slow
@needs_compiler
def test_numbers_do_not_depend_on_the_order_in_which_kernels_are_compiled(tmp_path):
    """A part that is not fast was, where a fast kernel had it compiled first."""
    found = []
    for n, first in enumerate(
        ("kinks.settling.settle", "engines.neuron_path.follow_neurons", "kinks.single_neuron.free_drives")
    ):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / str(n)), "RECTILINEAR_THREADS": "1"}
        ran = subprocess.run(
            [sys.executable, "-c", ORDERS, first], env=environment, capture_output=True, text=True, check=True
        )
        found.append(json.loads(ran.stdout))
    assert found[0] == found[1] == found[2]
