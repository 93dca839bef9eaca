"""Sweeps lose nothing: killed workers and drivers, runs that leave, damaged files, full disks, shards at once, clusters gone."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import rectilinear as rl
from rectilinear import whole_files
from rectilinear.errors import FileError, FlowError
from rectilinear.reproduce import reproduce
from rectilinear.studies import run_studies
from rectilinear.sweep import failures, open_sweep
from sweep_parts import executions, problem, with_folder
from test_studies import straight
from trivial_claim import CLAIM

GRID = {"height": [0.1, 0.2], "seed": range(5)}
RUNS = 10
REHEARSALS = 1  # of every call that has something to run: the first point is made once to see that it can be


def swept(folder, make="counted", **options):
    return rl.sweep(with_folder(make, folder), GRID, folder=folder, **{"jobs": 2} | options)


def twice(folder):
    """What was executed more than once, beyond rehearsals of the first point."""
    counts = Counter(executions(folder))
    counts["0.1/0"] -= 1
    return {run: count for run, count in counts.items() if count > 1}


def test_a_killed_worker_costs_one_run_which_is_made_again(tmp_path):
    table = swept(tmp_path, "killed_once")
    assert (table["status"] == "done").all()
    assert twice(tmp_path) == {"0.1/2": 2, "0.2/2": 2}
    assert len(executions(tmp_path)) == RUNS + REHEARSALS + 2


def test_a_run_that_leaves_is_given_up_and_the_others_go_on(tmp_path):
    table = swept(tmp_path, "leaving")
    assert (table["status"].sel(seed=2) == "failed").all()
    assert (table["status"].sel(seed=[0, 1, 3, 4]) == "done").all()
    assert {failure["reason"] for failure in failures(tmp_path)} == {
        "the process that ran it died 2 times, perhaps for lack of memory"
    }
    assert len(executions(tmp_path)) == RUNS + REHEARSALS + 2


def test_processes_that_never_get_anywhere_are_not_started_for_ever(tmp_path):
    with pytest.raises(FlowError, match="processes must live long enough to do a run, found that the first 4 died"):
        rl.sweep(
            with_folder("leaving_unless_rehearsed", tmp_path), {"height": [0.1], "seed": range(9)}, folder=tmp_path, jobs=2
        )


DRIVER = """
    import sys
    sys.path.insert(0, {tests!r})
    import rectilinear as rl
    from sweep_parts import with_folder

    if __name__ == "__main__":
        grid = {{"height": [0.1, 0.2], "seed": range(5)}}
        rl.sweep(with_folder("slow", {folder!r}), grid, folder={folder!r}, jobs=2, shard={shard!r})
"""


def driver(tmp_path, shard="1/1"):
    script = tmp_path / f"driver_{shard[0]}.py"
    script.write_text(textwrap.dedent(DRIVER).format(tests=str(Path(__file__).parent), folder=str(tmp_path), shard=shard))
    return subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def outcome(process):
    """Its exit code and what was said, once it and its workers have ended: these hold the other end."""
    _, said = process.communicate(timeout=120)
    return process.returncode, said


def wait_for(condition, seconds=120.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def test_a_killed_driver_costs_what_was_in_flight(tmp_path):
    process = driver(tmp_path)
    wait_for(lambda: len(list((tmp_path / "runs").glob("*.nc"))) >= 3)
    process.send_signal(signal.SIGKILL)
    assert outcome(process) == (-signal.SIGKILL, "")
    executed, kept = len(executions(tmp_path)), len(list((tmp_path / "runs").glob("*.nc")))
    assert executed <= kept + REHEARSALS + 2
    table = swept(tmp_path, "slow")
    assert (table["status"] == "done").all()
    assert len(executions(tmp_path)) == executed + RUNS - kept + REHEARSALS


def test_two_shards_share_a_folder(tmp_path):
    both = [driver(tmp_path, "1/2"), driver(tmp_path, "2/2")]
    assert [outcome(process)[0] for process in both] == [0, 0]
    assert (open_sweep(tmp_path)["status"] == "done").all()
    counts = Counter(executions(tmp_path))
    counts["0.1/0"] -= 2  # each rehearses the first point
    assert set(counts.values()) == {1}


def test_two_drivers_at_the_same_runs_do_no_harm(tmp_path):
    both = [driver(tmp_path), driver(tmp_path)]
    assert [outcome(process)[0] for process in both] == [0, 0]
    table = open_sweep(tmp_path)
    assert (table["status"] == "done").all()
    assert not [path for path in (tmp_path / "runs").iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("rest", [0, 3, 100, -1])
def test_a_truncated_file_is_made_again(tmp_path, rest):
    table = swept(tmp_path, jobs=0)
    path = sorted((tmp_path / "runs").iterdir())[3]
    path.write_bytes(path.read_bytes()[:rest])
    assert (open_sweep(tmp_path)["status"] == "missing").sum() == 1
    before = len(executions(tmp_path))
    assert swept(tmp_path, jobs=0).identical(table)
    assert len(executions(tmp_path)) == before + REHEARSALS + 1


def test_a_flipped_bit_is_seen(tmp_path):
    swept(tmp_path, jobs=0)
    path = sorted((tmp_path / "runs").iterdir())[3]
    contents = bytearray(path.read_bytes())
    contents[-3] ^= 1
    path.write_bytes(contents)
    assert (open_sweep(tmp_path)["status"] == "missing").sum() == 1


def test_a_disk_that_fills_up_ends_the_sweep_with_a_sentence(tmp_path, monkeypatch):
    real = whole_files.os.fsync

    def full_after_five(number):
        if len(list((tmp_path / "runs").glob("[!.]*.nc"))) >= 5:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(number)

    monkeypatch.setattr(whole_files.os, "fsync", full_after_five)
    with pytest.raises(
        FileError, match=r"could not be written .*No space left.*what is finished is kept: make room and run again"
    ):
        swept(tmp_path, jobs=0)
    monkeypatch.undo()
    assert (open_sweep(tmp_path)["status"] == "done").sum() == 5
    assert (swept(tmp_path, jobs=0)["status"] == "done").all()
    assert len(executions(tmp_path)) == RUNS + 1 + 2 * REHEARSALS  # the run that could not be written


@pytest.fixture
def tiny_disk(tmp_path):
    place = tmp_path / "tiny"
    place.mkdir()
    try:
        mounted = (
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", place], capture_output=True).returncode == 0
        )
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("a file system of 32 kB cannot be mounted here (that needs root)")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_really_full_disk(tiny_disk, tmp_path):
    with pytest.raises(FileError, match="No space left"):
        rl.sweep(with_folder("counted", tmp_path), {"height": [0.1], "seed": range(30)}, folder=tiny_disk, jobs=2)
    table = open_sweep(tiny_disk)
    done = int((table["status"] == "done").sum())
    assert 0 < done < 30
    np.testing.assert_array_equal(table["final_loss"].values[table["status"].values == "done"], 0.1)
    subprocess.run(["mount", "-o", "remount,size=1m", tiny_disk], check=True)
    before = len(executions(tmp_path))
    rl.sweep(with_folder("counted", tmp_path), {"height": [0.1], "seed": range(30)}, folder=tiny_disk, jobs=2)
    assert (open_sweep(tiny_disk)["status"] == "done").all()
    assert len(executions(tmp_path)) == before + 30 - done + REHEARSALS


def test_what_killed_writers_left_is_removed_when_it_is_old(tmp_path):
    swept(tmp_path, jobs=0)
    old, new = (tmp_path / "runs" / f".run.nc.{name}.part" for name in ("old", "new"))
    for place in (old, new):
        place.write_bytes(b"half a run")
    os.utime(old, (time.time() - 2 * whole_files.STALE,) * 2)
    swept(tmp_path, jobs=0)
    assert not old.exists()
    assert new.exists()  # another process may be writing it


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    quiet = {"silence_logs": 50, "dashboard_address": None}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **quiet) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


class TestClusters:
    """A real cluster of two workers on this machine."""

    def test_results_do_not_depend_on_the_engine(self, client):
        grid, options = {"delta": [0.1, 0.2], "seed": range(2)}, {"run": {"until": 30.0, "points": 4}}
        measure = ["final_loss", "loss", "linear_fraction", "events"]
        here, crew = (rl.sweep(problem, grid, measure, jobs=jobs, **options) for jobs in (0, 2))
        cluster = rl.sweep(problem, grid, measure, engine=client, **options)
        assert (here["status"] == "done").all()
        assert crew.identical(here)
        assert cluster.identical(here)
        by_address = rl.sweep(problem, grid, measure, engine=client.scheduler.address, **options)
        assert by_address.identical(here)

    def test_killed_workers_cost_what_was_in_flight(self, client, tmp_path):
        killed = []

        def kill_one(tally):
            if tally.done in (3, 6) and tally.done not in killed:
                killed.append(tally.done)
                client.run(os.kill, 0, 0)  # every worker is alive
                victim = next(iter(client.run(os.getpid).values()))
                os.kill(victim, signal.SIGKILL)

        table = swept(tmp_path, "slow", engine=client, progress=kill_one)
        assert (table["status"] == "done").all()
        assert killed == [3, 6]
        assert RUNS + REHEARSALS <= len(executions(tmp_path)) <= RUNS + REHEARSALS + 2 * len(killed)

    def test_the_ledger_runs_there_too(self, client, tmp_path):
        ledger = reproduce([CLAIM], tmp_path, engine=client.scheduler.address)
        assert [entry.as_recorded for entry in ledger.entries] == [True]

    def test_the_studies_run_there_too(self, client, tmp_path):
        (study,) = run_studies((), tmp_path, {"straight": straight}, engine=client.scheduler.address)
        assert study.name == "straight"
        assert (tmp_path / "straight.png").exists()

    def test_kernels_are_compiled_by_one_worker_of_a_machine_before_any_item(self, client, tmp_path):
        from rectilinear.crew import on_cluster

        mark = tmp_path / "compiled"
        items = [str(tmp_path / "item"), str(mark)]
        found = dict(step for step in on_cluster(os.path.exists, items, client, str, mark.mkdir) if step[1] is not None)
        assert found == dict(zip(items, (False, True), strict=True))  # a second mkdir would have failed

    def test_workers_compute_on_one_thread(self, client):
        from rectilinear.crew import on_cluster

        seen = dict(step for step in on_cluster(os.getenv, ["RECTILINEAR_THREADS"], client, str) if step[1] is not None)
        assert seen == {"RECTILINEAR_THREADS": "1"}


def test_a_cluster_that_is_gone_ends_the_sweep_and_loses_nothing(tmp_path):
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    place = tmp_path / "scheduler.json"
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    }
    start = {"env": environment, "stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", place],
        **start,
    )
    worker = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            "--scheduler-file",
            place,
            "--nthreads",
            "1",
            "--no-dashboard",
        ],
        **start,
    )
    try:
        from distributed import Client

        with Client(scheduler_file=str(place), set_as_default=False) as client:
            client.wait_for_workers(1, timeout=60)

            def kill(tally):
                if tally.done == 3:
                    scheduler.kill()

            with pytest.raises(FlowError, match="the cluster must stay until the work is done, found it gone"):
                swept(tmp_path, "slow", engine=client, progress=kill)
    finally:
        for process in (scheduler, worker):
            process.terminate()
            process.wait(30)
    before, kept = len(executions(tmp_path)), int((open_sweep(tmp_path)["status"] == "done").sum())
    assert kept >= 3
    assert (swept(tmp_path, "slow")["status"] == "done").all()
    assert len(executions(tmp_path)) == before + RUNS - kept + REHEARSALS
