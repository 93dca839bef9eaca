"""The first run after an install: its kernels are compiled by two processes, where there are two cores.

Compiled code is kept on disk, so one process compiles a share and the other finds it there. Shares take about as long as each other,
and hold what runs of that method call; whatever is in none is compiled where it is called.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ..kept_kernels import why_not_kept
from ..progress import compilation
from .compiled import IS_ON
from .signatures import kernel_named, signature_of
from .threads import SETTING, workers


class Shares(NamedTuple):
    """What this process compiles, and what the other one does meanwhile."""

    here: tuple[str, ...]
    there: tuple[str, ...]


SHARES = {
    "descend": Shares(
        ("field.two_layer_kernels.drive_of_rows",),
        ("field.two_layer_kernels.losses_of_rows", "field.two_layer_kernels.velocity_of_drive"),
    ),
    "kinks": Shares(
        (
            "steppers.radau.collocation_step",
            "kinks.neuron_groups.carry",
            "kinks.neuron_groups.lengths_of",
            "kinks.neuron_groups.restore",
            "kinks.crossings.crossings",
            "field.frozen.rounding",
        ),
        (
            "field.frozen.solve",
            "engines.light_neuron_kernels.follow_free",
            "engines.light_neuron_kernels.collocate_neuron",
            "engines.light_neuron_kernels.first_kink",
            "engines.light_neuron_kernels.land_on_kink",
            "engines.light_neuron_kernels.pulls_at",
            "collocation.basis",
            "collocation.first_root",
            "kinks.contact.multiplier",
            "kinks.neuron_groups.paths_of",
            "kinks.contact._one_line",
            "collocation.stages_at",
            "collocation.integrals_to",
            "kinks.holds.first_fall",
            "kinks.origin._mean_of_descents",
        ),
    ),
    "follow": Shares(
        (
            "engines.neuron_path.follow_neurons",
            "engines.carried_errors.pass_kinks",
            "kinks.forks.suspect_forks",
            "kinks.settling.meet",
            "kinks.single_neuron.pass_origin",
            "kinks.single_neuron.way_out",
            "kinks.single_neuron.free_drives",
            "kinks.contact._one_line",
        ),
        (
            "kinks.settling.settle",
            "kinks.contact.settle_as_descent",
            "kinks.single_neuron.first_meeting",
            "kinks.single_neuron.first_release",
            "kinks.answers.box_problem",
            "kinks.repelling_points.sides_after_turn",
            "kinks.contact.multiplier",
        ),
    ),
}
# Packages are there without what they import for their users; the garbage collector never has to do.
OTHER_PROCESS = """
import gc, sys, types
gc.disable()
for name, folder in zip({packages}, sys.argv[1:3]):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [folder]
from {module} import compile_all
compile_all(sys.argv[3:])
"""


@cache
def prepare(method: str) -> None:
    """Have the kernels of a method compiled, if they are not there yet, can be kept, and there are two cores for it."""
    if IS_ON and method in SHARES and workers() > 1 and not why_not_kept():
        in_two_processes(*SHARES[method])


def in_two_processes(here: Sequence[str], there: Sequence[str]) -> None:
    """Compile some kernels here and meanwhile others elsewhere, unless the first of these are found on disk."""
    with _Helper(there) as helper:
        compile_all(here)
        helper.wait()


def compile_all(places: Sequence[str]) -> None:
    """Compile kernels, or find them on disk; the garbage collector rests from the first to the last."""
    collects = gc.isenabled()
    gc.disable()
    try:
        for place in places:
            kernel_named(place).compile(signature_of(place))
    finally:
        if collects:
            gc.enable()


class _Helper:
    """The other process: begun with the first kernel that must be compiled within, ended if that is given up.

    Where it cannot be begun, or fails, a run compiles what it misses by itself.
    """

    def __init__(self, places: Sequence[str]) -> None:
        from numba.core import event

        self._places = places
        self.process: subprocess.Popen[bytes] | None = None
        listener = type("Listener", (event.Listener,), {"on_start": self._begin, "on_end": lambda *_: None})()
        self._listening: Any = event.install_listener("numba:compile", listener)

    def _begin(self, _: object) -> None:
        program, packages = sys.executable or "", (__name__.split(".")[0], __package__)
        if self.process is not None or "python" not in Path(program).name:  # but a program that holds Python within
            return
        script = OTHER_PROCESS.format(module=__name__, packages=packages)
        command = [program, "-c", script, str(Path(__file__).parents[1]), str(Path(__file__).parent), *self._places]
        with suppress(OSError):
            self.process = subprocess.Popen(
                command,
                env={**os.environ, SETTING: "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

    def wait(self) -> None:
        """Until the other process is done; that is compiling too, which no budget of seconds counts."""
        if self.process is not None:
            since, clock = time.perf_counter(), compilation()
            try:
                self.process.wait()
            except KeyboardInterrupt:
                clock.interrupted = True
                raise
            clock.seconds += time.perf_counter() - since

    def __enter__(self) -> _Helper:
        self._listening.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.__exit__(None, None, None)
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait()
