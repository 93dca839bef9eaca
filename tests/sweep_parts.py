"""Problems, runs and measures for the tests of sweeps, in a file that other processes can import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np

import rectilinear as rl

NETWORK = rl.Network(inputs=2, widths=(3,))
DATA = rl.datasets.six_points()


def made_up(height, seed=0):
    """A run that costs nothing: its loss falls from 1 to `height`."""
    problem = rl.Problem(DATA, NETWORK, NETWORK.init(scale=1.0, seed=seed))
    loss = np.array([1.0, height])
    return rl.Trajectory(problem, np.array([0.0, 1.0]), loss, tuple(np.stack([w, w]) for w in problem.weights))


def note(folder, text):
    """Note an execution, one line in a file that all processes append to."""
    with open(Path(folder) / "executions", "a") as file:
        file.write(f"{text}\n")


def executions(folder):
    path = Path(folder) / "executions"
    return path.read_text().split() if path.exists() else []


def counted(folder, height, seed):
    note(folder, f"{height}/{seed}")
    return made_up(height, seed)


def slow(folder, height, seed):
    note(folder, f"{height}/{seed}")
    time.sleep(0.1)
    return made_up(height, seed)


def killed_once(folder, height, seed):
    """As if somebody killed the worker in the middle of one run."""
    first = f"{height}/{seed}" not in executions(folder)
    note(folder, f"{height}/{seed}")
    if seed == 2 and first:
        os.kill(os.getpid(), signal.SIGKILL)
    return made_up(height, seed)


def leaving(folder, height, seed):
    note(folder, f"{height}/{seed}")
    if seed == 2:
        os._exit(0)
    return made_up(height, seed)


def leaving_unless_rehearsed(folder, height, seed):
    if executions(folder):
        os._exit(1)
    return counted(folder, height, seed)


def failing(folder, height, seed):
    note(folder, f"{height}/{seed}")
    if seed == 2:
        raise ZeroDivisionError("two is too much")
    return made_up(height, seed)


def with_folder(name, folder):
    """One of these makers, told where to note its executions; a partial travels between processes as it is."""
    from functools import partial

    return partial(globals()[name], str(folder))


def problem(delta, seed):
    network = rl.Network(inputs=2, widths=(4,))
    return rl.Problem(rl.datasets.six_points(delta), network, network.init(scale=0.1, seed=seed))


def first_neuron(run):
    return run.final[0][0]


def always_fails(run):
    raise LookupError("nothing to see")


def needs_a_long_run(run):
    return run.loss[5]


def a_word(run):
    return "fine"
