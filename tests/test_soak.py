"""A slice of the soak: problems arrive, events are certified, and answers do not depend on the tolerance, unless they say so."""

import numpy as np
import pytest

from rectilinear import Status, simulate
from rectilinear.flow.state import flatten
from soak_problems import soak_problem

MOST_STEPS = 3_000  # enough for all but a few, and no stall goes unnoticed


def check(seed: int, largest: int) -> None:
    problem, times = soak_problem(seed, largest)
    usual, tight = (simulate(problem, times=times, rtol=rtol, max_steps=MOST_STEPS) for rtol in (1e-9, 1e-11))
    assert usual.status is Status.FINISHED, usual
    assert not usual.events.doubtful.any(), usual
    if tight.status is Status.FINISHED and not usual.events.choices + tight.events.choices:
        ours, exact = flatten(usual.weights), flatten(tight.weights)
        apart = np.linalg.norm(ours - exact, axis=1) / np.linalg.norm(exact, axis=1)
        assert apart.max() < 1e-6, usual


@pytest.mark.parametrize("seed", range(40))
def test_small_problems(seed: int) -> None:
    check(seed, largest=10)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_many_problems(block: int) -> None:
    for seed in range(1000 + 30 * block, 1030 + 30 * block):
        check(seed, largest=40)
