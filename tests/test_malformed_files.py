"""Files that cannot be used, at the command line: one sentence each on stderr, exit code 2, never a traceback."""

import io
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from rectilinear import cli


def archive(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


TWO_COLUMNS = (
    "at least two columns (one input, one label) are required, found 1; separate columns by commas, semicolons or tabs."
)
HOW_TO_SAVE = "save with np.savez(path, x=x, y=y)."
FILES = {
    "empty file": ("a.csv", b"", "a.csv: at least one row of numbers is required, found an empty file."),
    "no rows": (
        "a.csv",
        b"x1,x2,y\n",
        "a.csv: at least one row of numbers is required, found only a header; add samples.",
    ),
    "one column": ("a.csv", b"y\n1\n2\n", f"a.csv: {TWO_COLUMNS}"),
    "missing value": (
        "a.csv",
        b"x1,x2,y\n1,2,3\n4,,6\n",
        "a.csv, line 3, column 'x2': a finite number is required, found an empty cell; fill it in, or drop the row or column.",
    ),
    "missing value in words": (
        "a.csv",
        b"x1,x2,y\n1,2,3\n4,5,NA\n",
        "a.csv, line 3, column 'y': a finite number is required, found 'NA'; fill it in, or drop the row.",
    ),
    "text column": (
        "a.csv",
        b"x1,colour,y\n1,red,3\n4,blue,6\n",
        "a.csv, line 2, column 'colour': a finite number is required, found 'red'; write it as a number, or drop the column.",
    ),
    "ragged rows": (
        "a.csv",
        b"x1,x2,y\n1,2,3\n4,5\n",
        "a.csv, line 3: 3 cells are required as in the first row, found 2.",
    ),
    "one name twice": (
        "a.csv",
        b"x1,x1,y\n1,2,3\n",
        "a.csv: column names must differ, found 'x1' for columns 1 and 2; rename or drop one.",
    ),
    "no such target": ("a.csv", b"x1,x2,label\n1,2,3\n", "a.csv: target 'y' is not a column; there are x1, x2, label."),
    "no header": (
        "a.csv",
        b"1,2,3\n4,5,6\n",
        "a.csv: target 'y' needs a header row, found none; give its position, 0 for the first.",
    ),
    "huge values": (
        "a.csv",
        b"x1,y\n1,2\n1e300,3\n",
        "a.csv: x must not exceed 1e+100, whose square still is a number, found 1e+300; rescale it.",
    ),
    "not text": (
        "a.csv",
        b"\x89PNG\r\n\x1a\n\x00\xff",
        "a.csv: a text table is required ('utf-8' codec can't decode byte 0x89 in position 0: invalid start byte); "
        "save it as UTF-8 text.",
    ),
    "no archive": (
        "a.npz",
        b"x1,y\n1,2\n",
        f"a.npz: a NumPy .npz archive is required, found another kind of file; {HOW_TO_SAVE}",
    ),
    "pickled objects": (
        "a.npz",
        archive(x=np.array([[{}]], dtype=object), y=np.ones(1)),
        "a.npz: a NumPy .npz archive of plain arrays is required (Object arrays cannot be loaded when allow_pickle=False); "
        + HOW_TO_SAVE,
    ),
    "missing array": (
        "a.npz",
        archive(x=np.ones((2, 1)), labels=np.ones(2)),
        f"a.npz: arrays named x and y are required, found labels, x; {HOW_TO_SAVE}",
    ),
    "arrays that disagree": (
        "a.npz",
        archive(x=np.ones((2, 1)), y=np.ones(3)),
        "a.npz: y must have shape (2,), one label per row of x, found (3,).",
    ),
    "no samples": (
        "a.npz",
        archive(x=np.ones((0, 3)), y=np.ones(0)),
        "a.npz: x must hold at least one sample and one input, found shape (0, 3).",
    ),
}
COMMANDS = {"simulate": ("simulate", "--until", "1", "--data"), "diagnose": ("diagnose",)}


def arguments(command, path):
    target = ("--target", "y") if path.suffix == ".csv" else ()
    return [*COMMANDS[command], str(path), *target]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("name", "content", "sentence"), FILES.values(), ids=FILES.keys())
def test_a_malformed_file_is_refused_with_one_sentence(tmp_path, command, name, content, sentence):
    path = tmp_path / name
    path.write_bytes(content)
    result = CliRunner().invoke(cli.main, arguments(command, path))
    assert isinstance(result.exception, SystemExit)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"Error: {sentence}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_shell_sees_the_same(tmp_path, command):
    path = tmp_path / "a.csv"
    path.write_text("x1,x2,y\n1,,3\n")
    call = [sys.executable, "-c", "from rectilinear.cli import main; main()", *arguments(command, path)]
    result = subprocess.run(call, capture_output=True, text=True, timeout=300, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: a.csv, line 2, column 'x2': a finite number is required")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_and_a_missing_file_are_refused(tmp_path, command):
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    for path, words in ((folder, "a file is required, found a folder"), (tmp_path / "none.npz", "no such file")):
        result = CliRunner().invoke(cli.main, arguments(command, path))
        assert (result.exit_code, result.stdout) == (2, "")
        assert words in result.stderr
