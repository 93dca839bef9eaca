"""What kernels take, written down, so that they can be compiled before a run calls them.

A letter is a type: f float64, h float32, c complex128, i int64, s int8, b bool, n None; with a number of dimensions it is an array in C
order, and a capital letter is an array that is only read; a letter repeated is a tuple of so many, and codes with commas between are
one of these. Tuples with names are called by them.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from numba import types

LETTERS = {
    "f": types.float64,
    "h": types.float32,
    "c": types.complex128,
    "i": types.int64,
    "s": types.int8,
    "b": types.boolean,
    "n": types.none,
}
TUPLES = {
    "engines.light_neuron_kernels.FreeNeurons": "f2 s2 f1 f1 i1",
    "engines.light_neuron_kernels.KnownPulls": "f2 f f1 f",
    "engines.neuron_path.End": "f2 f1 s2 f3 f3 f2",
    "engines.neuron_path.Rules": "i i f f f f f f b f3",
    "engines.neuron_path.Start": "f2 f1 s2 h2 f1 f1",
    "field.frozen.FrozenField": "i1 f3 F1 b1 f1 i f b",
    "field.frozen.Linearisation": "f2 f2 f1 f1 c1 c3 i2",
    "field.two_layer_kernels.FoldedRows": "f2 f1 f1 f1 b1 f i",
    "kinks.crossings.Carrying": "i1 i1 i1 f2",
    "kinks.geometry.KinkArrays": "F2 i1 F1 f1 F2 f",
    "kinks.single_neuron.KnownStep": "f2 f2 b2 f1",
    "kinks.single_neuron.Log": "f2 i1",
    "kinks.single_neuron.Moment": "f f f",
    "kinks.single_neuron.Neuron": "f2 f1 f2 f2 s1 i1 f2 f2",
    "kinks.single_neuron.Piece": "i f f f f f f",
    "kinks.single_neuron.Watch": "f1 i1 f2 i1 f2 b1 f1 f2",
    "steppers.radau.Accuracy": "f1 f f f2 f",
    "steppers.radau.Nodes": "f3 f1 f2 f1",
}
KERNELS = {
    "engines.carried_errors.pass_kinks": "f3 f1 f2 f2",
    "engines.light_neuron_kernels.collocate_neuron": "f1 f2 KnownPulls f f f2",
    "engines.light_neuron_kernels.first_kink": "f2 s1 F2 f",
    "engines.light_neuron_kernels.follow_free": "FreeNeurons KinkArrays KnownPulls f f2",
    "engines.light_neuron_kernels.land_on_kink": "f1 f2 KnownPulls ff F1 f f2",
    "engines.light_neuron_kernels.pulls_at": "f2 f f1",
    "engines.neuron_path.expand": "f2 f1 f2 Rules f f",
    "engines.neuron_path.follow_neurons": "i1 Start f3 KnownStep Rules End Log i1",
    "engines.neuron_path.state_at": "f2 i f f1",
    "field.frozen.rounding": "f2 i1 f3 F1 f1 f1 f",
    "field.frozen.solve": "Linearisation FrozenField i c2 c2",
    "field.log_domain.normalised_pulls": "i F1 f1 b1 f1 f1",
    "field.two_layer_kernels.drive_of_rows": "FoldedRows f2 f1 f1 i i f2",
    "field.two_layer_kernels.losses_of_rows": "FoldedRows f2 i i i f1",
    "field.two_layer_kernels.velocity_of_drive": "f2 i f2 f1 bb f2 f1",
    "kinks.answers.box_problem": "f2 f1 f1",
    "kinks.contact._one_line": "KinkArrays s1 i f1",
    "kinks.contact.multiplier": "f f",
    "kinks.contact.settle_as_descent": "f2 f1 f1 s1 f",
    "kinks.crossings.crossings": "f3 Carrying s2 f1 i i",
    "kinks.crossings.look_at_lines": "f2 f2 s2 i i",
    "kinks.forks.suspect_forks": "KnownStep Neuron Watch Log i Piece f f i b",
    "kinks.holds.first_fall": "f2 f2 f f",
    "kinks.neuron_groups.carry": "f2 i1 f2",
    "kinks.neuron_groups.lengths_of": "f2 Carrying f2",
    "kinks.neuron_groups.paths_of": "f2 i1 Carrying f3",
    "kinks.neuron_groups.restore": "f2 i1 f2 f2",
    "kinks.origin._mean_of_descents": "f2 F2 f1 f",
    "kinks.repelling_points.sides_after_turn": "f2 f1 f1 s1",
    "kinks.repelling_points.sides_of_descent": "f2 f1 f1 s1 f1",
    "kinks.settling.meet": "KnownStep Neuron Log Moment i",
    "kinks.settling.settle": "KnownStep Neuron Log Moment i f",
    "kinks.single_neuron.first_meeting": "KnownStep Neuron Watch i Piece i f",
    "kinks.single_neuron.first_release": "KnownStep Neuron f2 f2 i i f f f f",
    "kinks.single_neuron.free_drives": "s2 f2 f3",
    "kinks.single_neuron.pass_origin": "KnownStep Neuron Log f1 f f",
    "kinks.single_neuron.way_out": "KnownStep Neuron f f f f1",
    "collocation.basis": "f f1",
    "collocation.first_root": "f1 f f",
    "collocation.integrals_to": "f1 f1",
    "collocation.stages_at": "f3 f1",
    "steppers.radau.collocation_step": "f2 FrozenField Accuracy f b Nodes",
    "steppers.stagewise.solve_stagewise": "Linearisation FrozenField f f2 f2 f2 f3 f3",
}


def kernel_named(place: str) -> Any:
    """The kernel at this place below `flow`."""
    module, name = place.rsplit(".", 1)
    return getattr(import_module(f"{__package__}.{module}"), name)


def signature_of(place: str) -> tuple[Any, ...]:
    """The types of a kernel's arguments."""
    return tuple(type_of(code) for code in KERNELS[place].split())


def place_of(kernel: Any) -> str:
    """Where a kernel is below `flow`."""
    return f"{kernel.py_func.__module__}.{kernel.py_func.__name__}".removeprefix(f"{__package__}.")


@cache
def type_of(code: str) -> Any:
    """The type that a code stands for."""
    if code in LETTERS:
        return LETTERS[code]
    if code[0].lower() in LETTERS and code[1:].isdecimal():
        return types.Array(LETTERS[code[0].lower()], int(code[1:]), "C", readonly=code[0].isupper())
    if code == len(code) * code[0]:
        return types.UniTuple(LETTERS[code[0]], len(code))  # type: ignore[no-untyped-call]
    if "," in code:
        return types.Tuple([type_of(member) for member in code.split(",")])  # type: ignore[no-untyped-call]
    place = next(place for place in TUPLES if place.endswith(f".{code}"))
    members = [type_of(member) for member in TUPLES[place].split()]
    if len(set(members)) == 1:
        return types.NamedUniTuple(members[0], len(members), kernel_named(place))  # type: ignore[no-untyped-call]
    return types.NamedTuple(members, kernel_named(place))  # type: ignore[no-untyped-call]
