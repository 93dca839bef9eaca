"""The command line: runs, files, JSON, exit codes and sentences."""

import importlib.metadata
import json
import os
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import click
import numpy as np
import pytest
from click.testing import CliRunner
from numba.core import event

import rectilinear as rl
import rectilinear_command
from rectilinear import cli, datasets, kept_kernels
from rectilinear.progress import compilation
from rectilinear.tables import KINDS

SMALL = ("six_points", "--width", "6", "--scale", "0.1")
SIMULATE = ("simulate", *SMALL, "--alpha", "1", "--until", "2", "--points", "5")
DESCEND = ("descend", *SMALL, "--learning-rate", "0.1", "--steps", "30")


@pytest.fixture
def call():
    def invoke(*arguments):
        return CliRunner().invoke(cli.main, [str(argument) for argument in arguments])

    return invoke


@pytest.fixture
def answer(call):
    """What a successful run prints as JSON."""

    def read(*arguments):
        result = call(*arguments, "--json")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    return read


def small_problem(alpha, **options):
    data = rl.datasets.six_points()
    net = rl.Network(2, (6,), alpha)
    return rl.Problem(data, net, net.init(scale=0.1, seed=0), **options)


def test_version(call):
    told = f"rectilinear {importlib.metadata.version('rectilinear')}\n"
    assert call("--version").stdout == told
    module = subprocess.run([sys.executable, "-m", "rectilinear", "--version"], capture_output=True, text=True, check=True)
    assert module.stdout == told


def test_simulate_prints_the_card_of_the_run(call):
    result = call(*SIMULATE)
    run = rl.simulate(small_problem(1.0), times=np.linspace(0, 2, 5))
    assert result.exit_code == 0
    card = result.stdout.splitlines()
    assert card[:5] == repr(run).splitlines()[:5]
    assert card[1] == "  problem   linear 2-6-1 on six_points (6 samples), square loss"
    assert card[3] == "  times     5 from 0 to 2"


def test_simulate_says_where_inputs_make_times_very_long(call, tmp_path):
    file = tmp_path / "houses.csv"
    file.write_text("tax,rooms,price\n400,6,1\n300,5,2\n-350,4,-1\n")
    long, standard = (call("simulate", file, "--alpha", "1", "--until", "2", *more) for more in ((), ("--standardise",)))
    assert long.exit_code == standard.exit_code == 0
    assert (
        "inputs are of size 3.5e+02 (root mean square), so that t = 2 is as long as 2.5e+05 with inputs of size 1; "
        "take --standardise or a smaller --until if that is not meant"
    ) in long.stderr
    assert "inputs are of size" not in standard.stderr


def test_simulate_gives_the_numbers_of_the_library(answer):
    printed = answer(*SIMULATE)
    run = rl.simulate(small_problem(1.0), times=np.linspace(0, 2, 5))
    assert printed["times"] == run.times.tolist()
    assert printed["loss"] == run.loss.tolist()
    assert (printed["status"], printed["ended"]) == ("FINISHED", run.status.value)
    assert printed["audit"]["balance_drift"] == run.audit.balance_drift
    assert printed["provenance"]["asked"] == {
        "start": "gaussian",
        "scale": 0.1,
        "seed": 0,
        "source": "six_points",
        "settings": [],
    }


def test_predict_gives_the_numbers_of_the_library(answer, call):
    asked = ("predict", "--data", "xor", "--width", "8", "--scale", "1e-4", "--until", "20", "--points", "5")
    net = rl.Network(2, (8,))
    expected = rl.predict(rl.Problem(datasets.xor(), net, net.init(scale=1e-4, seed=0)), np.linspace(0, 20, 5))
    assert answer(*asked)["loss"] == expected.loss.tolist()
    assert expected.theorem in call(*asked).stdout
    refused = call("predict", *SMALL, "--until", "2", "--theorem", "xor")
    assert refused.exit_code == 2
    assert "xor" in refused.stderr


def test_predict_needs_a_time(call):
    result = call("predict", *SMALL, "--until", "converges")
    assert result.exit_code == 2
    assert "--until must be a positive time, found 'converges'." in result.stderr


def test_descend_gives_the_numbers_of_the_library(answer):
    printed = answer(*DESCEND, "--record-every", 10, "--loss", "logistic", "--l2", "0.01")
    run = rl.descend(small_problem(0.0, loss="logistic", l2=0.01), learning_rate=0.1, steps=30, record_every=10)
    assert printed["times"] == run.times.tolist()
    assert printed["loss"] == run.loss.tolist()
    assert (printed["loss_name"], printed["l2"]) == ("logistic", 0.01)


def test_descend_keeps_about_two_hundred_states_unless_told(answer):
    assert len(answer("descend", *SMALL, "--learning-rate", "0.01", "--steps", 1000)["times"]) == 201
    assert len(answer("descend", *SMALL, "--learning-rate", "0.01", "--steps", 7)["times"]) == 8


def test_every_option_reaches_the_problem(answer):
    options = ("--width", 4, "--width", 3, "--alpha", "0.5", "--bias", "--seed", 7, "--loss", "exponential", "--l2", "0.1")
    printed = answer("descend", "--data", "xor", *options, "--scale", "0.3", "--learning-rate", "0.1", "--steps", 1)
    net = rl.Network(2, (4, 3), 0.5, bias=True)
    problem = rl.Problem(rl.datasets.xor(), net, net.init(0.3, seed=7), "exponential", 0.1)
    assert printed["loss"][0] == pytest.approx(problem.data_loss(problem.weights), rel=1e-14)
    assert printed["network"] == {
        "inputs": 2,
        "widths": [4, 3],
        "alpha": 0.5,
        "bias": True,
        "trainable": [True, True, True],
    }
    assert printed["l2"] == 0.1


def test_starts_go_by_name(answer):
    printed = answer(*DESCEND, "--start", "rank_one")
    problem = small_problem(0.0)
    aligned = problem.with_weights(problem.network.init(0.1, seed=0, start="rank_one"))
    assert printed["loss"][0] == pytest.approx(aligned.data_loss(aligned.weights), rel=1e-14)


def test_data_options_are_numbers_switches_and_lists(answer):
    run = ("--width", 2, "--learning-rate", "0.1", "--steps", 1)
    white = answer("descend", "--data", "sine_teacher", "--set", "inputs=3", "--set", "pairs=6", "--set", "white=true", *run)
    assert white["network"]["inputs"] == 3
    assert "white_inputs" in white["data"]["promises"]
    norms = answer("descend", "--data", "orthogonal", "--set", "samples=2", "--set", "norms=[1, 2.5]", *run)
    assert norms["data"]["name"] == "orthogonal"


def test_files_of_the_user(answer, tmp_path):
    table = tmp_path / "points.csv"
    table.write_text("y,a,b\n1,0.5,1\n-1,2,-1\n")
    run = ("--width", 3, "--learning-rate", "0.1", "--steps", 1)
    by_name = answer("descend", "--data", table, "--target", "y", *run)
    by_position = answer("descend", "--data", table, "--target", "0", *run)
    assert by_name["loss"] == by_position["loss"]
    assert by_name["data"]["name"] == "points"
    np.savez(tmp_path / "points.npz", x=[[0.5, 1.0], [2.0, -1.0]], y=[1.0, -1.0])
    assert answer("descend", "--data", tmp_path / "points.npz", *run)["loss"] == by_name["loss"]
    last_column = answer("descend", "--data", table, *run)
    assert last_column["loss"] != by_name["loss"]


def test_a_run_is_saved_and_drawn(call, tmp_path):
    result = call(*SIMULATE, "--out", tmp_path / "run.nc", "--plot", tmp_path / "loss.png", "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    saved = rl.load(tmp_path / "run.nc")
    np.testing.assert_array_equal(saved.loss, rl.simulate(small_problem(1.0), times=np.linspace(0, 2, 5)).loss)
    assert saved.provenance["asked"]["seed"] == 0
    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")


def test_quiet_json_is_still_json(call):
    assert json.loads(call(*DESCEND, "--json", "--quiet").stdout)["status"] == "FINISHED"


def test_a_used_up_budget_keeps_what_there_is(call, tmp_path):
    result = call(*SIMULATE, "--max-steps", 1, "--out", tmp_path / "run.nc")
    assert result.exit_code == 0
    assert "stopped: max_steps were used up" in result.stdout
    assert rl.load(tmp_path / "run.nc").status is rl.Status.OUT_OF_STEPS
    assert "max_seconds were used up" in call(*DESCEND, "--max-seconds", "1e-9").stdout


def test_an_interrupted_run_keeps_what_there_is(call, tmp_path, monkeypatch):
    def interrupted(self, fraction, note):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.ProgressBar, "__call__", interrupted)
    monkeypatch.setattr("rectilinear.flow.budgets.REPORT_EVERY", 0.0)
    result = call(*DESCEND, "--out", tmp_path / "run.nc")
    assert result.exit_code == 130
    assert "stopped: interrupted by the user" in result.stdout
    saved = rl.load(tmp_path / "run.nc")
    assert saved.status is rl.Status.INTERRUPTED
    assert 1 <= len(saved) < 31


@pytest.mark.parametrize(
    ("compiled", "kept", "said"),
    [
        (False, True, "interrupted before there was anything to keep"),
        (True, True, "interrupted while kernels were compiled; those that are done are kept"),
        (True, False, "interrupted while kernels were compiled; none of them can be kept"),
    ],
)
def test_an_interrupt_before_a_run_is_a_sentence(call, monkeypatch, compiled, kept, said):
    def interrupted(*_, **__):
        if not compiled:
            raise KeyboardInterrupt
        with event.trigger_event("numba:compile", {"dispatcher": SimpleNamespace(py_func=interrupted)}):
            raise KeyboardInterrupt

    monkeypatch.setattr(compilation(), "interrupted", False)
    monkeypatch.setattr(kept_kernels, "_unkept", [] if kept else ["a full disk"])
    monkeypatch.setattr("rectilinear.cli.runs.simulate", interrupted)
    result = call(*SIMULATE)
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", said + "\n")


def test_an_interrupt_while_the_command_line_is_imported_is_a_sentence(monkeypatch, capsys):
    class Interrupted:
        @staticmethod
        def find_spec(name, *_):
            if name == "rectilinear.cli":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "rectilinear.cli")
    monkeypatch.setattr(sys, "meta_path", [Interrupted, *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        rectilinear_command.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "interrupted before anything was begun\n"


def test_the_command_is_the_command_line(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["rectilinear", "--version"])
    with pytest.raises(SystemExit, match="0"):
        rectilinear_command.main()
    assert capsys.readouterr().out == f"rectilinear {rl.__version__}\n"


@pytest.mark.parametrize("status", [rl.Status.DIVERGED, rl.Status.CHATTERING])
def test_a_run_that_cannot_go_on_is_told_by_its_exit_code(call, monkeypatch, status):
    run = rl.descend(small_problem(0.0), learning_rate=0.1, steps=1)
    monkeypatch.setattr(
        "rectilinear.cli.runs.descend", lambda *_, **__: replace(run, status=status, loss=np.array([0.5, np.inf]))
    )
    result = call(*DESCEND, "--json")
    assert result.exit_code == 1
    printed = json.loads(result.stdout, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert (printed["status"], printed["loss"]) == (status.name, [0.5, None])


def test_data_sets_are_listed_with_their_promises(call):
    result = call("datasets")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[lines.index("six_points (delta=0.15)") + 1] == "  expressible_target, odd_target"
    assert lines[lines.index("xor") + 1] == "  even_inputs, expressible_target, white_inputs"
    for promise, meaning in datasets.PROMISES.items():
        assert f"  {promise:<22} {meaning}" in lines


def test_data_sets_are_listed_for_programs(call):
    listing = json.loads(call("datasets", "--json").stdout)
    assert list(listing["datasets"]) == list(datasets.NAMES)
    assert listing["datasets"]["six_points"] == {
        "options": {"delta": 0.15},
        "promises": ["expressible_target", "odd_target"],
    }
    assert listing["promises"] == datasets.PROMISES


def test_listing_does_without_scikit_learn(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    lines = call("datasets").stdout.splitlines()
    assert lines[lines.index("diabetes (symmetrised=False)") + 1] == "  needs scikit-learn"


NAMES = ", ".join(datasets.NAMES)
REFUSALS = {
    "unknown data": (
        ("simulate", "--data", "seven_points", "--until", 1),
        f"the data must be a file ({', '.join(KINDS)}) or one of {NAMES}, found 'seven_points'; did you mean 'six_points'?",
    ),
    "no data": (
        ("simulate", "--until", 1),
        "one data set or file must be named, found none; write table.csv or six_points after the command "
        "('rectilinear datasets' lists what has a name).",
    ),
    "data twice": (
        (*DESCEND, "--data", "xor"),
        "one data set or file must be named, found six_points and xor; write table.csv or six_points after the command "
        "('rectilinear datasets' lists what has a name).",
    ),
    "missing file": (("simulate", "--data", "none.csv", "--until", 1), "none.csv: no such file; check the path."),
    "unknown option": (
        (*DESCEND, "--set", "epsilon=1"),
        "an option of six_points must be one of delta, found 'epsilon'.",
    ),
    "unusable option": (
        (*DESCEND, "--set", "delta=wide"),
        "delta must lie strictly between -1 and 1, where the sixth point would meet another, found 'wide'.",
    ),
    "no value": ((*DESCEND, "--set", "delta"), "--set must read NAME=VALUE, found 'delta'."),
    "target of a named set": (
        (*DESCEND, "--target", "y"),
        "--target belongs to a file, found the named data set six_points; drop it.",
    ),
    "drop of a named set": (
        (*DESCEND, "--drop", "y"),
        "--drop belongs to a file, found the named data set six_points; drop it.",
    ),
    "precision of a named set": (
        (*DESCEND, "--precision", 0.1),
        "--precision belongs to a file, found the named data set six_points; drop it.",
    ),
    "setting of a file": (
        ("simulate", "--data", "a.csv", "--set", "delta=1", "--until", 1),
        "--set belongs to a named data set, found the file a.csv; drop it.",
    ),
    "negative time": ((*SIMULATE, "--until", -1), "--until must be a positive time, found -1."),
    "endless time": ((*SIMULATE, "--until", "inf"), "--until must be a positive time, found inf."),
    "one point": ((*SIMULATE, "--points", 1), "--points must be 2 at least, the first and the last, found 1."),
    "width": ((*DESCEND, "--width", 0), "widths[1] must be a positive whole number, found 0."),
    "alpha": ((*DESCEND, "--alpha", 2), "alpha must lie in [0, 1] (0 is ReLU, 1 is linear), found 2.0."),
    "scale": ((*DESCEND, "--scale", 0), "scale must be a positive number, found 0.0; the papers use 1e-8 to 1e-2."),
    "l2": ((*DESCEND, "--l2", -1), "l2 must be a number >= 0, found -1.0."),
    "labels": (
        ("descend", "--data", "monomial", "--loss", "logistic", "--learning-rate", 1, "--steps", 1),
        f"labels must be -1 or +1 for the logistic loss, found {datasets.monomial().y[0]:g}; "
        "recode them, e.g. y = np.where(y > 0, 1, -1).",
    ),
    "folder for the run": (
        (*DESCEND, "--out", "nowhere/run.nc"),
        "--out nowhere/run.nc: no such folder to save in; create it first.",
    ),
    "folder for the figure": (
        (*DESCEND, "--plot", "nowhere/loss.png"),
        "--plot nowhere/loss.png: no such folder to save in; create it first.",
    ),
}


@pytest.mark.parametrize(("arguments", "sentence"), REFUSALS.values(), ids=REFUSALS.keys())
def test_refusals_are_one_sentence_on_stderr_with_exit_code_2(call, arguments, sentence):
    result = call(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"Error: {sentence}\n"


def test_an_unknown_kind_of_figure_is_refused_before_the_run(call, monkeypatch):
    monkeypatch.setattr("rectilinear.cli.runs.descend", lambda *_, **__: pytest.fail("the run had begun"))
    result = call(*DESCEND, "--plot", "loss.doc")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: --plot loss.doc: the name must end in one of ")


def test_a_figure_that_cannot_be_written_is_refused(call, tmp_path):
    (tmp_path / "loss.png").mkdir()
    result = call(*DESCEND, "--plot", tmp_path / "loss.png")
    assert result.exit_code == 2
    assert "loss.png: the figure could not be written (" in result.stderr


def test_too_large_a_run_is_refused(call, monkeypatch):
    def exhausted(*_, **__):
        raise MemoryError("Unable to allocate 3 TiB")

    monkeypatch.setattr("rectilinear.cli.runs.descend", exhausted)
    result = call(*DESCEND)
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: the run must fit in memory (Unable to allocate 3 TiB); keep fewer points, or take a smaller network.\n"
    )


@pytest.mark.parametrize(
    "arguments", [("descend", "six_points"), (*DESCEND, "--start", "zeros"), (*DESCEND, "--steps", "many")]
)
def test_misused_options_are_explained(call, arguments):
    result = call(*arguments)
    assert result.exit_code == 2
    assert "Usage: " in result.stderr


class Terminal:
    """Stands in for a terminal and remembers what was written to it."""

    def __init__(self):
        self.text = ""

    def isatty(self):
        return True

    def write(self, text):
        self.text += text
        return len(text)

    def flush(self):
        pass


@pytest.mark.parametrize(("patience", "shown"), [(0.0, True), (1e9, False)])
def test_the_bar_appears_when_patience_ends(monkeypatch, patience, shown):
    monkeypatch.setattr("rectilinear.progress.PATIENCE", patience)
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with cli.ProgressBar(shown=True) as bar:
        bar(0.25, "t = 3")
        bar(0.5, "t = 6")
    assert ("t = 6" in sys.stderr.text) == shown
    assert ("50%" in sys.stderr.text) == shown


def test_the_bar_stays_away_when_unwanted_or_without_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr("rectilinear.progress.PATIENCE", 0.0)
    with cli.ProgressBar(shown=True) as bar:  # stderr is captured here, so it is no terminal
        bar(0.5, "t = 6")
    assert capsys.readouterr().err == ""  # nothing to say so soon
    monkeypatch.setattr(sys, "stderr", Terminal())
    with cli.ProgressBar(shown=False) as bar:
        bar(0.5, "t = 6")
    assert sys.stderr.text == ""


def test_progress_is_told_in_lines_where_output_is_piped(monkeypatch, capsys):
    monkeypatch.setattr("rectilinear.progress.PATIENCE", 0.0)
    monkeypatch.setattr("rectilinear.progress.SPEAKS_EVERY", 0.0)
    with cli.ProgressBar() as bar:
        bar(0.0, "t = 0")
        bar(0.5, "t = 6")
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith("no estimate yet: t = 0")
    assert second.startswith("50 % after ")
    assert second.endswith(" s more at this pace: t = 6")


def test_python_shows_progress_where_asked_to(monkeypatch, capsys):
    for name in ("progress.PATIENCE", "progress.SPEAKS_EVERY", "flow.budgets.REPORT_EVERY"):
        monkeypatch.setattr(f"rectilinear.{name}", 0.0)
    rl.descend(small_problem(0.0), 0.1, 3, progress=True)
    assert "t" in capsys.readouterr().err
    rl.descend(small_problem(0.0), 0.1, 3, progress=False)
    assert capsys.readouterr().err == ""


def test_compilation_is_announced_once(tmp_path):
    """In a process of its own, with a cache that is empty: the kernel of a single network output is compiled anew."""
    code = (
        "import numba, rectilinear.progress as p\n"
        "p.compilation(); p.compilation()\n"
        "def kernel(x): return x + 1\n"
        "kernel.__module__ = 'rectilinear.flow'\n"
        "numba.njit(kernel)(1); numba.njit(kernel)(1.0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "rectilinear: compiling kernels, once after an install (some 10 s) ...\n"


@pytest.mark.parametrize("data", ["six_points", "diabetes", "breast_cancer"])
def test_diagnoses_of_ordinary_tables_compile_nothing(tmp_path, data):
    done = subprocess.run(
        [sys.executable, "-m", "rectilinear", "diagnose", data, "--json"],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "compiling" not in done.stderr
    assert json.loads(done.stdout)["outlook"]


def test_kernels_are_compiled_ahead(call, monkeypatch):
    asked = []
    monkeypatch.setattr("rectilinear.kernels.compile_kernels", lambda: asked.append(True))
    assert call("compile").stdout == "all kernels are compiled and kept for later runs\n"
    assert call("compile", "--quiet").stdout == ""
    assert json.loads(call("compile", "--json").stdout) == {"kept": True}
    assert asked == [True, True, True]


@pytest.mark.parametrize(
    ("option", "wrong", "meant"),
    [("--loss", "mse", "square"), ("--loss", "logistik", "logistic"), ("--start", "gausian", "gaussian")],
)
def test_names_misspelt_are_guessed(call, option, wrong, meant):
    result = call("diagnose", *SMALL, option, wrong)
    assert result.exit_code == 2
    assert result.stderr.endswith(f"; did you mean '{meant}'?\n")
    assert call("diagnose", *SMALL, option, "nothing").stderr.endswith("'.\n")


def test_a_sweep_of_a_file_that_is_not_there_says_so(call, tmp_path):
    result = call("sweep", tmp_path / "nowhere.toml", "--out", tmp_path / "runs")
    assert (result.exit_code, result.stderr) == (2, f"Error: {tmp_path / 'nowhere.toml'}: no such file; check the path.\n")


def commands(group, *path):
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, *path, name)
        else:
            yield (*path, name), command


def test_every_command_prints_json_where_asked():
    silent = [path for path, command in commands(cli.main) if not any("--json" in param.opts for param in command.params)]
    assert silent == []
