"""`rectilinear sweep`: TOML files in, runs, scripts, summaries, plots and counter-examples out."""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import rectilinear as rl
from rectilinear import cli
from rectilinear.errors import InputError
from rectilinear.sweep import open_sweep, read_plan, seek
from rectilinear.sweep.grid import Shard
from rectilinear.sweep.seek import Condition
from rectilinear.sweep.slurm import shard_of_task
from sweep_parts import executions

GRID = """
measure = ["final_loss", "time_to_loss(0.45)"]

[problem]
data = "six_points"
width = 4
scale = 0.1

[run]
until = 20
points = 11

[grid]
delta = { from = 0.1, to = 0.3, points = 2 }
seed = { from = 0, to = 2 }
"""
OWN = """
make = "mine.py:make"
measure = ["final_loss", "mine.py:norm"]

[grid]
height = [0.1, 0.2]
seed = [0, 1]
"""
MINE = """
import sys
sys.path.insert(0, {tests!r})
from sweep_parts import made_up

def make(height, seed):
    return made_up(height, seed)

def norm(run):
    return (run.final[0] ** 2).sum()
"""
SEARCHED = """
measure = ["mine.py:sum_of_sizes"]
make = "mine.py:make"

[grid]
height = { from = 0, to = 40 }
width = { from = 0, to = 40 }
seed = { from = 0, to = 1000000 }
"""
SEARCHER = """
import sys
sys.path.insert(0, {tests!r})
from sweep_parts import made_up, note

def make(height, width, seed):
    note({folder!r}, f"{{height}}/{{width}}/{{seed}}")
    return made_up(height + width + 0.5 * (seed % 2))

def sum_of_sizes(run):
    return run.loss[-1]
"""
TESTS = str(Path(__file__).parent)


@pytest.fixture
def call():
    runner = CliRunner()

    def invoke(*arguments):
        return runner.invoke(cli.main, ["sweep", *(str(argument) for argument in arguments)])

    return invoke


@pytest.fixture
def grid(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(GRID)
    return path


def test_a_sweep_from_a_file(call, grid, tmp_path):
    done = call(grid, "--out", tmp_path / "runs", "--jobs", 0)
    assert done.exit_code == 0, done.output
    assert "6 of 6 runs" in done.output
    assert "rectilinear sweep show" in done.output
    table = open_sweep(tmp_path / "runs")
    assert dict(table.sizes) == {"delta": 2, "seed": 3}
    again = call(grid, "--out", tmp_path / "runs", "--jobs", 0, "--json")
    assert json.loads(again.stdout) == {"runs": 6, "found": 6, "done": 0, "failed": 0}


def test_functions_of_the_users(call, tmp_path):
    (tmp_path / "own.toml").write_text(OWN)
    (tmp_path / "mine.py").write_text(MINE.format(tests=TESTS))
    done = call(tmp_path / "own.toml", "--out", tmp_path / "runs", "--jobs", 1)
    assert done.exit_code == 0, done.output
    assert (open_sweep(tmp_path / "runs")["norm"] > 0).all()


def test_a_changed_function_makes_new_runs(call, tmp_path):
    (tmp_path / "own.toml").write_text(OWN)
    (tmp_path / "mine.py").write_text(MINE.format(tests=TESTS))
    before = read_plan(tmp_path / "own.toml").base
    (tmp_path / "mine.py").write_text(MINE.format(tests=TESTS).replace("** 2", "** 4"))
    assert read_plan(tmp_path / "own.toml").base != before


def test_changed_data_make_new_runs(tmp_path):
    (tmp_path / "points.csv").write_text("1,0,1\n0,1,-1\n")
    (tmp_path / "grid.toml").write_text('[problem]\ndata = "points.csv"\n[grid]\nseed = [0]\n')
    before = read_plan(tmp_path / "grid.toml").base
    (tmp_path / "points.csv").write_text("1,0,1\n0,2,-1\n")
    assert read_plan(tmp_path / "grid.toml").base != before


def test_shards_follow_the_tasks_of_slurm(call, grid, tmp_path, monkeypatch):
    for name, value in (("ID", "2"), ("COUNT", "3"), ("MIN", "1"), ("STEP", "1")):
        monkeypatch.setenv(f"SLURM_ARRAY_TASK_{name}", value)
    done = call(grid, "--out", tmp_path / "runs", "--jobs", 0, "--json")
    assert json.loads(done.stdout)["runs"] == 2
    assert open_sweep(tmp_path / "runs")["status"].values.ravel().tolist() == ["missing", "done", "missing"] * 2


def test_tasks_and_shards():
    task = {
        "SLURM_ARRAY_TASK_ID": "7",
        "SLURM_ARRAY_TASK_COUNT": "3",
        "SLURM_ARRAY_TASK_MIN": "3",
        "SLURM_ARRAY_TASK_STEP": "2",
    }
    assert shard_of_task(task) == Shard(3, 3)
    assert shard_of_task({}) == Shard(1, 1)
    with pytest.raises(InputError, match="the job array must be a plain range of tasks, found task 7 of 2 from 3"):
        shard_of_task(task | {"SLURM_ARRAY_TASK_COUNT": "2", "SLURM_ARRAY_TASK_STEP": "1"})
    with pytest.raises(InputError, match="SLURM's array variables must be whole numbers"):
        shard_of_task(task | {"SLURM_ARRAY_TASK_ID": "x"})


SBATCH = """#!{python}
import os, re, subprocess, sys
first, last = re.search(r"--array=(\\d+)-(\\d+)", open(sys.argv[1]).read()).groups()
for task in range(int(first), int(last) + 1):
    subprocess.run(["bash", sys.argv[1]], check=True, env=os.environ | {{"SLURM_ARRAY_TASK_ID": str(task)}})
"""


def test_the_printed_script_runs_under_an_sbatch(call, tmp_path):
    (tmp_path / "own.toml").write_text(OWN)
    (tmp_path / "mine.py").write_text(MINE.format(tests=TESTS))
    done = call(tmp_path / "own.toml", "--out", tmp_path / "my runs", "--slurm", 2)
    assert done.exit_code == 0
    assert f'--output="{tmp_path}/my runs/task-%a.log"' in done.stdout
    assert (tmp_path / "my runs").is_dir()  # SLURM makes no folder for logs
    (tmp_path / "job.sh").write_text(done.stdout)
    programs = {
        "sbatch": SBATCH.format(python=sys.executable),
        "rectilinear": f'#!{sys.executable}\nfrom rectilinear.cli import main\nif __name__ == "__main__":\n    main()\n',
    }
    for name, text in programs.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(stat.S_IRWXU)
    environment = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(["sbatch", tmp_path / "job.sh"], check=True, env=environment, capture_output=True, timeout=300)
    assert (open_sweep(tmp_path / "my runs")["status"] == "done").all()


def test_show_prints_a_summary_and_draws(call, grid, tmp_path):
    call(grid, "--out", tmp_path / "runs", "--jobs", 0, "--shard", "1/2")
    shown = call("show", tmp_path / "runs", "--csv", tmp_path / "table.csv")
    assert shown.exit_code == 0, shown.output
    assert "2 delta x 3 seed = 6 runs" in shown.output
    assert "3 done, 0 failed, 3 missing" in shown.output
    assert "final_loss" in shown.output
    assert (tmp_path / "runs" / "overview.png").stat().st_size > 1000
    assert len((tmp_path / "table.csv").read_text().splitlines()) == 7
    refused = call("show", tmp_path / "runs", "--measure", "height")
    assert refused.exit_code == 2
    assert "measure must be one of final_loss, time_to_loss(0.45), found 'height'" in refused.output
    assert call("show", tmp_path / "runs", "--plot", tmp_path / "no" / "where.png").exit_code == 2


def test_show_prints_runs_as_strict_json(call, grid, tmp_path):
    call(grid, "--out", tmp_path / "runs", "--jobs", 0, "--shard", "1/2")
    shown = json.loads(call("show", tmp_path / "runs", "--json").stdout, parse_constant=pytest.fail)
    assert [run["status"] for run in shown["runs"]].count("done") == 3
    assert [run["final_loss"] is None for run in shown["runs"]].count(True) == 3
    assert (tmp_path / "runs" / "overview.png").samefile(shown["plot"])


def test_consolidate(call, grid, tmp_path):
    call(grid, "--out", tmp_path / "runs", "--jobs", 0)
    assert "packs" in call("consolidate", tmp_path / "runs").output
    assert call("consolidate", tmp_path / "runs").output == "nothing to pack\n"
    assert json.loads(call("consolidate", tmp_path / "runs", "--json").stdout) == {"packed": None}


def test_a_failed_run_ends_with_code_1(call, tmp_path):
    (tmp_path / "own.toml").write_text(OWN)
    (tmp_path / "mine.py").write_text(
        MINE.format(tests=TESTS)
        + "\nreal = make\ndef make(height, seed):\n    1 / (1 - seed)\n    return real(height, seed)\n"
    )
    done = call(tmp_path / "own.toml", "--out", tmp_path / "runs", "--jobs", 0)
    assert done.exit_code == 1
    assert "2 failed" in done.output
    assert "failed 2 times: ZeroDivisionError" in call("show", tmp_path / "runs").output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not toml", "a TOML file is required, this cannot be read as one"),
        ("[grid]\nseed = [0]\n[gird]\n", "entries must be among measure, make, keep_runs, problem, run, grid, found 'gird'"),
        ("[problem]\n", "a table [grid] with the axes is required, found problem"),
        ("grid = 3", "grid must be a table, written [grid], found 3"),
        ('make = "mine.py:f"\n[problem]\n[grid]\nseed = [0]', "either make or [problem] is required, found both"),
        ('make = "mine.py:f"\n[grid]\nseed = [0]', "a function must be given as FILE.py:NAME"),
        ('[problem]\ndata = "six_points"\n[grid]\nseed = []', "axis seed must have one value at least, found none"),
        ('[problem]\ndata = "six_points"\n[grid]\nsede = [0]', "sede = 0 fails: a setting must be one of"),
        ('measure = "lss"\n[problem]\ndata = "six_points"\n[grid]\nseed = [0]', "a measure must be a function"),
    ],
)
def test_bad_files_are_refused_with_a_sentence(call, tmp_path, text, message):
    (tmp_path / "grid.toml").write_text(text)
    refused = call(tmp_path / "grid.toml", "--out", tmp_path / "runs", "--jobs", 0)
    assert refused.exit_code == 2
    assert message in refused.output.replace("\n", " ")
    assert not (tmp_path / "runs").exists()


def test_bad_files_of_functions_are_refused(call, tmp_path):
    (tmp_path / "own.toml").write_text(OWN)
    (tmp_path / "mine.py").write_text("def other():\n    pass\n")
    assert "mine.py must define a function 'make', found none" in call(tmp_path / "own.toml").output
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "own.toml").write_text(OWN.replace("mine.py", "broken.py"))
    assert "must be a Python file that can be loaded, found ZeroDivisionError" in call(tmp_path / "own.toml").output


class TestSeeking:
    @pytest.fixture
    def searched(self, tmp_path):
        (tmp_path / "search.toml").write_text(SEARCHED)
        (tmp_path / "mine.py").write_text(SEARCHER.format(tests=TESTS, folder=str(tmp_path)))
        return tmp_path / "search.toml"

    def test_the_smallest_counter_example(self, searched, tmp_path):
        found = seek(read_plan(searched), "sum_of_sizes > 30.2", tmp_path / "runs", jobs=0)
        assert found.point is not None
        assert found.point["height"] + found.point["width"] == 30  # 30.5 with an odd seed, and no smaller one
        assert found.point["seed"] % 2 == 1
        assert found.value == 30.5

    def test_a_rare_one_is_found_near_the_best(self, searched, tmp_path):
        found = seek(read_plan(searched), "sum_of_sizes > 78.9", tmp_path / "runs", jobs=0)
        assert found.point is not None
        assert found.value > 78.9

    def test_none_is_found_where_there_is_none(self, searched, tmp_path):
        found = seek(read_plan(searched), "sum_of_sizes > 81", tmp_path / "runs", jobs=0, trials=64)
        assert found.point is None
        assert found.runs <= 64
        assert found.value > 60.0

    def test_an_interrupted_search_goes_on_without_running_anything_twice(self, searched, tmp_path):
        plan = read_plan(searched)
        first = seek(plan, "sum_of_sizes > 60", tmp_path / "runs", jobs=0)
        before = len(executions(tmp_path))
        assert seek(plan, "sum_of_sizes > 60", tmp_path / "runs", jobs=0) == first
        assert len(executions(tmp_path)) == before + 1  # the rehearsal

    def test_on_the_command_line_and_again_by_one_command(self, call, searched, tmp_path):
        done = call(searched, "--out", tmp_path / "runs", "--jobs", 0, "--seek", "sum_of_sizes > 30.2")
        assert done.exit_code == 0, done.output
        assert "the smallest counter-example" in done.output
        command = shlex.split(done.stdout.splitlines()[1])
        assert command[:2] == ["rectilinear", "sweep"]
        alone = call(*command[2:], "--json")
        assert json.loads(alone.stdout) == {"sum_of_sizes": 30.5}
        none = call(searched, "--out", tmp_path / "runs", "--jobs", 0, "--seek", "sum_of_sizes > 81", "--trials", 32)
        assert none.exit_code == 1
        assert "no counter-example; the nearest point" in none.output
        as_json = call(searched, "--out", tmp_path / "runs", "--jobs", 0, "--seek", "sum_of_sizes > 30.2", "--json")
        assert json.loads(as_json.stdout)["found"] == json.loads(as_json.stdout)["nearest"]

    def test_refusals(self, call, searched, tmp_path):
        for text, message in (
            ("sum_of_sizes", "what to seek must read MEASURE > NUMBER"),
            ("sum_of_sizes > x", "what to seek must read MEASURE > NUMBER"),
            ("loss > 1", "what is sought must be a measure of the sweep (sum_of_sizes), found 'loss'"),
        ):
            assert message in call(searched, "--out", tmp_path / "runs", "--seek", text).output
        assert "--at must give each of height, width, seed once, found height" in call(searched, "--at", "height=1").output
        assert "--at must read NAME=VALUE, found 'height'" in call(searched, "--at", "height").output

    def test_conditions(self):
        assert Condition.of("time_to_loss(0.1) < 3e2") == Condition("time_to_loss(0.1)", "<", 300.0)
        assert Condition.of("x > 1").excess(float("nan")) == float("-inf")
        assert Condition.of("x < 1").excess(0.25) == 0.75

    def test_a_grid_to_seek_in_is_no_table(self, searched, tmp_path):
        seek(read_plan(searched), "sum_of_sizes > 60", tmp_path / "runs", jobs=0)
        with pytest.raises(InputError, match="a table holds up to 10,000,000 runs, found a grid of"):
            open_sweep(tmp_path / "runs")


def test_the_public_names():
    assert {"sweep", "open_sweep"} <= set(rl.__all__)
