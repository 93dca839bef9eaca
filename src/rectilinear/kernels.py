"""Compile what runs compute with, once and before processes share the work.

Compiled code is kept on disk and used by all processes. Rounding may depend on the order in which kernels are compiled; when one
process compiles them all, the first run after an install gives the same numbers as any later one.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from . import datasets
from .flow.descend import descend
from .flow.simulate import simulate
from .network import Network
from .problem import Problem
from .theorems import predict


@cache
def compile_kernels(_: object = None) -> bool:
    """Run every way of moving on small problems; a matter of seconds if all is compiled already."""
    times = np.array([0.0, 1.0, 40.0])
    plane, separable, orthogonal = datasets.six_points(), datasets.orthogonally_separable(6, 2), datasets.orthogonal(4, 5)
    symmetric, many = datasets.sine_teacher(inputs=2, pairs=5), datasets.sine_teacher(inputs=2, pairs=600)
    shallow, leaky, deep = Network(2, (6,)), Network(2, (6,), 0.3), Network(2, (4, 4))
    classes = Network(5, (8,), 0.3, trainable=(True, False))
    biased, wide = Network(2, (6,), bias=True), Network(2, (200,))
    for problem in (
        Problem(plane, shallow, shallow.init(1e-8, seed=0)),
        Problem(many, wide, wide.init(1e-8, seed=0)),
        Problem(plane, leaky, leaky.init(0.5, seed=0), "logistic"),
        Problem(plane, biased, biased.init(0.1, seed=0)),
        Problem(plane, shallow, shallow.init(0.5, seed=0), l2=0.01),
        Problem(orthogonal, classes, classes.init(0.1, seed=0, start="two_class"), "logistic"),
        Problem(symmetric, deep, deep.init(0.5, seed=0)),
    ):
        simulate(problem, times)
        descend(problem, 0.01, 2)
    for network in (shallow, leaky):
        simulate(Problem(symmetric, network, network.init(1e-3, seed=0)), times, method="smooth")
        simulate(Problem(separable, network, network.init(1e-3, seed=0), "logistic"), log10_times=[1.0, 10.0])
    simulate(Problem(orthogonal, classes, classes.init(0.1, seed=0, start="two_class"), "logistic"), log10_times=[1.0, 10.0])
    for data, kind in ((symmetric, shallow), (separable, shallow)):
        loss = "logistic" if data is separable else "square"
        predict(Problem(data, kind, kind.init(1e-6, seed=0), loss), times)
    return True
