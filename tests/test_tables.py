"""Data from CSV and NPZ files: round trips, and one sentence for every way a file can be wrong."""

import io
import pickle
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
    data = rl.Dataset.from_csv(write("\ufeffheight, label ,width\n1,1,2\n\n 3.5 ,-1,-4e0\n"), target="label")
    assert data.x.tolist() == [[1.0, 2.0], [3.5, -4.0]]
    assert data.y.tolist() == [1.0, -1.0]
    assert data.name == "table"
    assert data.promises == frozenset()


@pytest.mark.parametrize(("target", "y"), [(-1, [3.0, 6.0]), (0, [1.0, 4.0]), ("1", [2.0, 5.0]), ("-2", [2.0, 5.0])])
def test_csv_without_header_takes_the_target_by_position(write, target, y):
    assert rl.Dataset.from_csv(write("1,2,3\n4,5,6\n"), target=target).y.tolist() == y


def test_csv_columns_may_be_named_by_numbers(write):
    path = write("0,1,y\n1.5,2.5,1\n3.5,4.5,-1\n")
    assert rl.Dataset.from_csv(path, target="y").x.tolist() == [[1.5, 2.5], [3.5, 4.5]]
    assert rl.Dataset.from_csv(write("5,1,y\n1.5,2.5,1\n"), target="1").y.tolist() == [2.5]


def test_csv_constant_columns_and_labels_are_data_like_any_other(write):
    """A constant input is a bias, and constant labels are a target."""
    data = rl.Dataset.from_csv(write("one,a,y\n1,2,5\n1,3,5\n"))
    assert data.x.tolist() == [[1.0, 2.0], [1.0, 3.0]]
    assert data.y.tolist() == [5.0, 5.0]


def test_csv_single_input_and_single_sample(write):
    data = rl.Dataset.from_csv(write("a,y\n2,5\n"))
    assert (data.x.tolist(), data.y.tolist()) == ([[2.0]], [5.0])


def test_csv_numbers_survive_to_the_last_bit(write):
    numbers = np.random.default_rng(0).standard_normal((20, 4))
    text = "\n".join(",".join(map(repr, row)) for row in numbers.tolist())
    data = rl.Dataset.from_csv(write(text))
    np.testing.assert_array_equal(np.column_stack([data.x, data.y]), numbers)


FILL_IN = "fill it in, or drop the row or column."
WRITE_NUMBERS = "write it as a number, or drop the column."
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
        "table.csv: at least two columns (one input, one label) are required, found 1; separate columns by commas.",
    ),
    "semicolons": (
        "a;b\n1;2\n",
        -1,
        "table.csv: at least two columns (one input, one label) are required, found 1; separate columns by commas.",
    ),
    "text cell": (
        "a,b\n1,2\n\n3,red\n",
        -1,
        f"table.csv, line 4, column 'b': a finite number is required, found 'red'; {WRITE_NUMBERS}",
    ),
    "text in the first row": (
        "0.5,red\n1,2\n",
        -1,
        f"table.csv, line 1, column 2: a finite number is required, found 'red'; {WRITE_NUMBERS}",
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
    "nan": ("1,nan\n", -1, f"table.csv, line 1, column 2: a finite number is required, found 'nan'; {FILL_IN}"),
    "infinity": (
        "a,b\n1,-inf\n",
        -1,
        f"table.csv, line 2, column 'b': a finite number is required, found '-inf'; {FILL_IN}",
    ),
    "short row": ("1,2,3\n4,5\n", -1, "table.csv, line 2: 3 cells are required as in the first row, found 2."),
    "long row": ("a,b\n1,2,3\n", -1, "table.csv, line 2: 2 cells are required as in the first row, found 3."),
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
        f"table.csv, line 2, column 'a': a finite number is required, found '1,000'; {WRITE_NUMBERS}",
    ),
    "target without header": (
        "1,2\n",
        "label",
        "table.csv: target 'label' needs a header row, found none; give its position, 0 for the first.",
    ),
    "target beyond": ("1,2\n", 2, "table.csv: target must be a column from 0 to 1, found 2."),
    "target before": ("1,2\n", "-3", "table.csv: target must be a column from 0 to 1, found -3."),
    "zero row": (
        "a,b,y\n1,2,1\n0,0,1\n",
        -1,
        "table.csv: every sample must be non-zero, found 1 zero row(s), the first at x[1]: "
        "a bias-free network outputs 0 there whatever its weights; drop them, or add a constant input.",
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
    assert refusal(rl.Dataset.from_csv, write(text), target) == sentence


@pytest.mark.parametrize("text", [b"\xff\xfe\x00,\x80\n", b'"' + b"1" * 200_000 + b'",2\n'], ids=["binary", "endless cell"])
def test_files_that_are_not_csv_are_refused(write, text):
    sentence = refusal(rl.Dataset.from_csv, write(text))
    assert sentence.startswith("table.csv: a comma-separated text file is required (")


def test_a_folder_is_not_a_csv(tmp_path):
    assert "a comma-separated text file is required (" in refusal(rl.Dataset.from_csv, tmp_path)


@pytest.mark.parametrize("read", [rl.Dataset.from_csv, rl.Dataset.from_npz])
def test_missing_files_are_named(tmp_path, read):
    assert refusal(read, tmp_path / "none.csv") == f"{tmp_path / 'none.csv'}: no such file; check the path."


def test_npz_round_trip(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((5, 3)), rng.standard_normal(5)
    np.savez(tmp_path / "arrays.npz", x=x, y=y, other=1)
    data = rl.Dataset.from_npz(tmp_path / "arrays.npz")
    np.testing.assert_array_equal(data.x, x)
    np.testing.assert_array_equal(data.y, y)
    assert data.name == "arrays"


HOW = "save with np.savez(path, x=x, y=y)."


@pytest.mark.parametrize(("arrays", "found"), [({"x": [1.0]}, "x"), ({"b": 1, "a": 2}, "a, b"), ({}, "none")])
def test_npz_without_x_and_y_is_refused(tmp_path, arrays, found):
    np.savez(tmp_path / "arrays.npz", **arrays)
    sentence = refusal(rl.Dataset.from_npz, tmp_path / "arrays.npz")
    assert sentence == f"arrays.npz: arrays named x and y are required, found {found}; {HOW}"


def test_npz_with_unusable_arrays_is_refused(tmp_path):
    np.savez(tmp_path / "arrays.npz", x=[[1.0], [np.nan]], y=[1.0, 1.0])
    sentence = refusal(rl.Dataset.from_npz, tmp_path / "arrays.npz")
    assert sentence == "arrays.npz: x must be finite, found nan at x[1, 0]; remove or impute such samples."


def test_a_single_array_is_not_an_archive(tmp_path):
    np.save(tmp_path / "array.npy", np.ones((2, 2)))
    sentence = refusal(rl.Dataset.from_npz, tmp_path / "array.npy")
    assert sentence == f"array.npy: a NumPy .npz archive is required, found a single array; {HOW}"


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
    sentence = refusal(rl.Dataset.from_npz, write(content, "arrays.npz"))
    assert sentence == f"arrays.npz: a NumPy .npz archive is required, found another kind of file; {HOW}"


@pytest.mark.parametrize("content", [objects_archive(), truncated_member()], ids=["objects", "damaged"])
def test_archives_of_other_than_plain_arrays_are_refused(write, content):
    sentence = refusal(rl.Dataset.from_npz, write(content, "arrays.npz"))
    assert sentence.startswith("arrays.npz: a NumPy .npz archive of plain arrays is required (")
    assert sentence.endswith(HOW)


def test_a_zip_of_other_things_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "arrays.npz", "w") as archive:
        archive.writestr("x", "not an array")
        archive.writestr("y", "neither")
    sentence = refusal(rl.Dataset.from_npz, tmp_path / "arrays.npz")
    assert sentence.startswith("arrays.npz: x and y must be arrays of numbers (")
