"""Sweeps as SLURM job arrays: each task runs a shard of its own, and all share the folder."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from ..errors import InputError
from .grid import Shard


def shard_of_task(environment: Mapping[str, str]) -> Shard:
    """The shard of this task of a job array, as SLURM's variables tell; the whole sweep outside of one.

    >>> shard_of_task({"SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_COUNT": "4", "SLURM_ARRAY_TASK_MIN": "0"})
    Shard(part=3, parts=4)
    """
    if "SLURM_ARRAY_TASK_ID" not in environment:
        return Shard()
    names = ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP", "SLURM_ARRAY_TASK_COUNT")
    try:
        task, first, step, count = (int(environment.get(name, "1")) for name in names)
    except ValueError as error:
        raise InputError(f"SLURM's array variables must be whole numbers ({error}); say --shard I/N instead.") from error
    part, rest = divmod(task - first, step)
    if rest or not 0 <= part < count:
        raise InputError(
            f"the job array must be a plain range of tasks, found task {task} of {count} from {first}; say --shard I/N instead."
        )
    return Shard(part + 1, count)


def script(plan: Path, out: Path, tasks: int) -> str:
    """A script for sbatch that runs the sweep as an array of so many tasks."""
    file, folder = shlex.quote(str(plan.absolute())), shlex.quote(str(out.absolute()))
    return f"""#!/bin/bash
#SBATCH --job-name=sweep
#SBATCH --array=1-{tasks}
#SBATCH --cpus-per-task=1
#SBATCH --output="{out.absolute()}/task-%a.log"
# add what your cluster wants: --time, --mem, --partition, and lines that activate your environment
export NUMBA_CACHE_DIR={folder}/kernels  # compiled once, used by all tasks
rectilinear sweep {file} --out {folder} --jobs 1 --shard "$SLURM_ARRAY_TASK_ID/{tasks}"
"""
