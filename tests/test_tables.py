"""Data from text and NumPy files: round trips, and one sentence for every way a file can be wrong."""

import io
import pickle
import sys
import zipfile

import numpy as np
import pytest

import rectilinear as rl


@pytest.fixture
def write(tmp_path):
    def write_file(text, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write_file


def refusal(call, *arguments, **options):
    with pytest.raises(rl.FileError) as refused:
        call(*arguments, **options)
    return str(refused.value)


def test_csv_with_header_and_named_target(write):
    data = rl.Dataset.from_file(write("\ufeffheight, label ,width\n1,1,2\n\n 3.5 ,-1,-4e0\n"), target="label")
    assert data.x.tolist() == [[1.0, 2.0], [3.5, -4.0]]
    assert data.y.tolist() == [1.0, -1.0]
    assert data.name == "table"
    assert data.promises == frozenset()


@pytest.mark.parametrize(("target", "y"), [(-1, [3.0, 6.0]), (0, [1.0, 4.0]), ("1", [2.0, 5.0]), ("-2", [2.0, 5.0])])
def test_csv_without_header_takes_the_target_by_position(write, target, y):
    assert rl.Dataset.from_file(write("1,2,3\n4,5,6\n"), target=target).y.tolist() == y


def test_csv_columns_may_be_named_by_numbers(write):
    path = write("0,1,y\n1.5,2.5,1\n3.5,4.5,-1\n")
    assert rl.Dataset.from_file(path, target="y").x.tolist() == [[1.5, 2.5], [3.5, 4.5]]
    assert rl.Dataset.from_file(write("5,1,y\n1.5,2.5,1\n"), target="1").y.tolist() == [2.5]


def test_csv_constant_columns_and_labels_are_data_like_any_other(write):
    """A constant input is a bias, and constant labels are a target."""
    data = rl.Dataset.from_file(write("one,a,y\n1,2,5\n1,3,5\n"))
    assert data.x.tolist() == [[1.0, 2.0], [1.0, 3.0]]
    assert data.y.tolist() == [5.0, 5.0]


def test_csv_single_input_and_single_sample(write):
    data = rl.Dataset.from_file(write("a,y\n2,5\n"))
    assert (data.x.tolist(), data.y.tolist()) == ([[2.0]], [5.0])


def test_csv_numbers_survive_to_the_last_bit(write):
    numbers = np.random.default_rng(0).standard_normal((20, 4))
    text = "\n".join(",".join(map(repr, row)) for row in numbers.tolist())
    data = rl.Dataset.from_file(write(text))
    np.testing.assert_array_equal(np.column_stack([data.x, data.y]), numbers)


FILL_IN = "fill it in, or drop the row or column."
WRITE_NUMBERS = "write it as a number, or drop the column."
WRITE_LABELS = "write it as a number, or drop the row."
NO_THOUSANDS = "write it without separators of thousands."
FILL_IN_LABELS = "fill it in, or drop the row."
BAD_CSV = {
    "empty file": ("", -1, "table.csv: at least one row of numbers is required, found an empty file."),
    "blank lines": ("\n , \n", -1, "table.csv: at least one row of numbers is required, found an empty file."),
    "only a header": (
        "a,b\n",
        -1,
        "table.csv: at least one row of numbers is required, found only a header; add samples.",
    ),
    "one column": (
        "a\n1\n",
        -1,
        "table.csv: at least two columns (one input, one label) are required, found 1; "
        "separate columns by commas, semicolons or tabs.",
    ),
    "only comments": ("# a,b\n", -1, "table.csv: at least one row of numbers is required, found an empty file."),
    "three classes": (
        "a,kind\n1,cat\n2,dog\n3,cow\n",
        -1,
        "table.csv, column 'kind': labels must be numbers or words of two kinds, found 3: 'cat', 'cow', 'dog'; "
        "keep the rows of two classes, or write numbers.",
    ),
    "one class in words": (
        "a,kind\n1,cat\n2,cat\n",
        -1,
        "table.csv, column 'kind': labels must be numbers or words of two kinds, found 1: 'cat'; "
        "keep the rows of two classes, or write numbers.",
    ),
    "dates": (
        "day,a,y\n2024-01-31,1,2\n",
        -1,
        "table.csv, line 2, column 'day': a finite number is required, found '2024-01-31'; "
        "write dates as numbers, e.g. days since the first, or drop the column.",
    ),
    "thousands with decimal commas": (
        "a;y\n1,5;2\n1.000,5;3\n",
        -1,
        f"table.csv, line 3, column 'a': a finite number is required, found '1.000,5'; {NO_THOUSANDS}",
    ),
    "text cell": (
        "a,b\n1,2\n\n3,red\n",
        -1,
        f"table.csv, line 4, column 'b': a finite number is required, found 'red'; {WRITE_LABELS}",
    ),
    "text in the first row": (
        "0.5,red\n1,2\n",
        -1,
        f"table.csv, line 1, column 2: a finite number is required, found 'red'; {WRITE_LABELS}",
    ),
    "missing cell": (
        "a,b,c\n1,,2\n",
        -1,
        f"table.csv, line 2, column 'b': a finite number is required, found an empty cell; {FILL_IN}",
    ),
    "missing cell in the first row": (
        "1,,2\n3,4,5\n",
        -1,
        f"table.csv, line 1, column 2: a finite number is required, found an empty cell; {FILL_IN}",
    ),
    "NA in the first row": (
        "1,NA,2\n3,4,5\n",
        -1,
        f"table.csv, line 1, column 2: a finite number is required, found 'NA'; {FILL_IN}",
    ),
    "nan": ("1,nan\n", -1, f"table.csv, line 1, column 2: a finite number is required, found 'nan'; {FILL_IN_LABELS}"),
    "infinity": (
        "a,b\n1,-inf\n",
        -1,
        f"table.csv, line 2, column 'b': a finite number is required, found '-inf'; {FILL_IN_LABELS}",
    ),
    "short row": ("1,2,3\n4,5\n", -1, "table.csv, line 2: 3 cells are required as in the first row, found 2."),
    "long row": ("a,b\n1,2\n1,2,3\n", -1, "table.csv, line 3: 2 cells are required as in the first row, found 3."),
    "unnamed column": (
        ",a,b\n0,1,2\n",
        "b",
        "table.csv: every column must have a name, found none for column 1; "
        "name it, or drop it if it only numbers the rows (pandas: to_csv(index=False)).",
    ),
    "unknown target": ("a,b\n1,2\n", "label", "table.csv: target 'label' is not a column; there are a, b."),
    "two targets": (
        "a,y,y\n1,2,3\n",
        "y",
        "table.csv: column names must differ, found 'y' for columns 2 and 3; rename or drop one.",
    ),
    "one name twice": (
        "a,b, a\n1,2,3\n",
        "b",
        "table.csv: column names must differ, found 'a' for columns 1 and 3; rename or drop one.",
    ),
    "huge value": (
        "a,b,y\n1,2,1\n1e200,2,1\n",
        "y",
        "table.csv: x must not exceed 1e+100, whose square still is a number, found 1e+200; rescale it.",
    ),
    "beyond all numbers": (
        "a,y\n1e999,1\n",
        "y",
        f"table.csv, line 2, column 'a': a finite number is required, found '1e999'; {FILL_IN}",
    ),
    "thousands": (
        'a,y\n"1,000",1\n',
        "y",
        f"table.csv, line 2, column 'a': a finite number is required, found '1,000'; {NO_THOUSANDS}",
    ),
    "target without header": (
        "1,2\n",
        "label",
        "table.csv: target 'label' needs a header row, found none; give its position, 0 for the first.",
    ),
    "target beyond": ("1,2\n", 2, "table.csv: target must be a column from 0 to 1, found 2."),
    "target before": ("1,2\n", "-3", "table.csv: target must be a column from 0 to 1, found -3."),
    "zero rows only": (
        "a,b,y\n0,0,1\n0,0,1\n",
        -1,
        "table.csv: some sample must be non-zero, found none: a bias-free network outputs 0 on all of them.",
    ),
    "a million columns": (
        "1" + ",1" * 1_000_000 + "\n",
        -1,
        "table.csv: x must have at most 20000 inputs, found 1000000: its covariance would not fit in memory; "
        "project the data first (PCA), or check that rows and columns are not swapped.",
    ),
}


@pytest.mark.parametrize(("text", "target", "sentence"), BAD_CSV.values(), ids=BAD_CSV.keys())
def test_bad_csv_files_are_refused(write, text, target, sentence):
    assert refusal(rl.Dataset.from_file, write(text), target) == sentence


@pytest.mark.parametrize("text", [b"\xff\x00,\x80\n", b'"' + b"1" * 200_000 + b'",2\n'], ids=["binary", "endless cell"])
def test_files_that_are_not_csv_are_refused(write, text):
    sentence = refusal(rl.Dataset.from_file, write(text))
    assert sentence.startswith("table.csv: a text table is required (")


def test_a_folder_is_not_a_csv(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    assert refusal(rl.Dataset.from_file, tmp_path / "folder.csv").endswith(
        "a file is required, found a folder; name a file in it."
    )


@pytest.mark.parametrize("name", ["none.csv", "none.npz", "none.npy", "none.parquet"])
def test_missing_files_are_named(tmp_path, name):
    assert refusal(rl.Dataset.from_file, tmp_path / name) == f"{tmp_path / name}: no such file; check the path."


def test_other_kinds_of_files_are_refused(tmp_path):
    sentence = refusal(rl.Dataset.from_file, tmp_path / "table.xlsx")
    assert sentence == (
        "table.xlsx: a file must end in one of .csv, .tsv, .txt, .dat, .csv.gz, .tsv.gz, .txt.gz, .dat.gz, .npy, .npz, "
        ".parquet; convert it, e.g. to .csv."
    )


def test_columns_are_dropped_by_name(write):
    path = write("day,a,y\n2024-01-31,1,2\n2024-02-01,3,4\n")
    data = rl.Dataset.from_file(path, drop=["day"])
    assert (data.x.tolist(), data.features) == ([[1.0], [3.0]], ("a",))
    assert refusal(rl.Dataset.from_file, path, drop=["date"]) == (
        "table.csv: 'date' cannot be dropped, it is not a column; there are day, a, y."
    )
    assert refusal(rl.Dataset.from_file, write("1,2\n"), drop=["a"]) == (
        "table.csv: columns are dropped by name, found no header row; add one."
    )


def test_samples_are_called_by_their_lines_and_inputs_by_their_names(write):
    data = rl.Dataset.from_file(write("# made by hand\n\nheight,width,y\n1,2,3\n# and again\n4,5,6\n"))
    assert (data.sample(0), data.sample(1), data.feature(1)) == ("line 4", "line 6", "'width'")
    plain = rl.Dataset([[1.0]], [2.0])
    assert (plain.sample(0), plain.feature(0)) == ("sample 0", "input 0")


def test_a_header_in_a_comment_is_one(tmp_path):
    np.savetxt(tmp_path / "saved.csv", [[1.0, 2.0], [3.0, 4.0]], delimiter=",", header="a,y")
    data = rl.Dataset.from_file(tmp_path / "saved.csv", target="y")
    assert (data.features, data.y.tolist()) == (("a",), [2.0, 4.0])


def test_a_single_array_holds_the_labels_in_a_column(tmp_path):
    np.save(tmp_path / "array.npy", [[1.0, 2.0, 5.0], [3.0, 4.0, 6.0]])
    data = rl.Dataset.from_file(tmp_path / "array.npy")
    assert (data.x.tolist(), data.y.tolist()) == ([[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0])
    assert rl.Dataset.from_file(tmp_path / "array.npy", target=0).y.tolist() == [1.0, 3.0]


@pytest.mark.parametrize(
    ("array", "found"), [(np.ones(3), "float64 of shape (3,)"), (np.array([["a", "b"]]), "<U1 of shape (1, 2)")]
)
def test_other_single_arrays_are_refused(tmp_path, array, found):
    np.save(tmp_path / "array.npy", array)
    assert refusal(rl.Dataset.from_file, tmp_path / "array.npy") == (
        "array.npy: one array of numbers of shape (samples, columns) with the labels in a column is required, "
        f"found {found}; {HOW}"
    )


def test_files_that_are_not_single_arrays_are_refused(write):
    sentence = refusal(rl.Dataset.from_file, write(b"1,2\n", "array.npy"))
    assert sentence.startswith("array.npy: a NumPy .npy file of plain numbers is required (")
    assert sentence.endswith("save with np.save(path, table).")


def test_numpy_files_have_no_column_names(tmp_path):
    np.save(tmp_path / "array.npy", np.ones((2, 2)))
    np.savez(tmp_path / "arrays.npz", x=np.ones((2, 2)), y=[1.0, 2.0])
    for name in ("array.npy", "arrays.npz"):
        assert refusal(rl.Dataset.from_file, tmp_path / name, drop=["a"]) == (
            f"{name}: columns are dropped by name, and NumPy files have none; drop 'a' in NumPy."
        )
    assert refusal(rl.Dataset.from_file, tmp_path / "arrays.npz", target=0) == (
        "arrays.npz: a target belongs to a table, the labels of an archive are its array y; drop it."
    )


def test_parquet_without_pyarrow_is_refused(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert refusal(rl.Dataset.from_file, write(b"PAR1", "table.parquet")) == (
        "table.parquet: pyarrow is required for .parquet and is not installed; install it, or write .csv."
    )


def test_damaged_gz_is_refused(write):
    assert refusal(rl.Dataset.from_file, write(b"1,2\n", "table.csv.gz")).startswith(
        "table.csv.gz: a text table is required ("
    )


def test_npz_round_trip(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((5, 3)), rng.standard_normal(5)
    np.savez(tmp_path / "arrays.npz", x=x, y=y, other=1)
    data = rl.Dataset.from_file(tmp_path / "arrays.npz")
    np.testing.assert_array_equal(data.x, x)
    np.testing.assert_array_equal(data.y, y)
    assert data.name == "arrays"


HOW = "save with np.savez(path, x=x, y=y)."


@pytest.mark.parametrize(("arrays", "found"), [({"x": [1.0]}, "x"), ({"b": 1, "a": 2}, "a, b"), ({}, "none")])
def test_npz_without_x_and_y_is_refused(tmp_path, arrays, found):
    np.savez(tmp_path / "arrays.npz", **arrays)
    sentence = refusal(rl.Dataset.from_file, tmp_path / "arrays.npz")
    assert sentence == f"arrays.npz: arrays named x and y are required, found {found}; {HOW}"


def test_npz_with_unusable_arrays_is_refused(tmp_path):
    np.savez(tmp_path / "arrays.npz", x=[[1.0], [np.nan]], y=[1.0, 1.0])
    sentence = refusal(rl.Dataset.from_file, tmp_path / "arrays.npz")
    assert sentence == "arrays.npz: x must be finite, found nan at x[1, 0]; remove or impute such samples."


def objects_archive():
    file = io.BytesIO()
    np.savez(file, x=np.array([{"a": 1}], dtype=object), y=np.ones(1))
    return file.getvalue()


def truncated_member():
    file = io.BytesIO()
    np.savez_compressed(file, x=np.random.default_rng(0).standard_normal((50, 2)), y=np.ones(50))
    content = bytearray(file.getvalue())
    content[200:260] = bytes(60)
    return bytes(content)


NOT_ARCHIVES = {
    "empty": b"",
    "text": b"1,2,3\n",
    "pickle": pickle.dumps({"x": 1}),
    "half a zip": b"PK\x03\x04" + bytes(40),
}


@pytest.mark.parametrize("content", NOT_ARCHIVES.values(), ids=NOT_ARCHIVES.keys())
def test_files_that_are_not_archives_are_refused(write, content):
    sentence = refusal(rl.Dataset.from_file, write(content, "arrays.npz"))
    assert sentence == f"arrays.npz: a NumPy .npz archive is required, found another kind of file; {HOW}"


@pytest.mark.parametrize("content", [objects_archive(), truncated_member()], ids=["objects", "damaged"])
def test_archives_of_other_than_plain_arrays_are_refused(write, content):
    sentence = refusal(rl.Dataset.from_file, write(content, "arrays.npz"))
    assert sentence.startswith("arrays.npz: a NumPy .npz archive of plain arrays is required (")
    assert sentence.endswith(HOW)


def test_a_zip_of_other_things_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "arrays.npz", "w") as archive:
        archive.writestr("x", "not an array")
        archive.writestr("y", "neither")
    sentence = refusal(rl.Dataset.from_file, tmp_path / "arrays.npz")
    assert sentence.startswith("arrays.npz: x and y must be arrays of numbers (")
