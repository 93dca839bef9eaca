"""Files as people have them: each is read as what it means, or refused with one sentence that says what to do."""

import gzip
import io

import numpy as np
import pytest

import rectilinear as rl

RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 3))
Y = X @ [1.0, -2.0, 0.5]
CLASSES = np.sign(Y)


def table(columns, separator=",", decimal=".", header=True, form="{!r}"):
    """Text of named columns."""

    def written(cell):
        return cell if isinstance(cell, str) else form.format(float(cell)).replace(".", decimal)

    rows = [separator.join(columns)] if header else []
    rows += [separator.join(map(written, cells)) for cells in zip(*columns.values(), strict=True)]
    return ("\n".join(rows) + "\n").encode()


def inputs(x=X):
    return {f"x{k + 1}": x[:, k] for k in range(x.shape[1])}


def archive(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def array(values):
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def words(low, high):
    return [high if label > 0 else low for label in CLASSES]


def zeros_first(x):
    return np.vstack([np.zeros((1, x.shape[1])), x[1:]])


BOTH = {**inputs(), "y": Y}
CLASSED = {**inputs(), "kind": CLASSES}

# name: (file, content, options, expected x, expected y, expected notes)
READ = {
    "plain": ("a.csv", table(BOTH), {}, X, Y, ()),
    "no header": ("a.csv", table(BOTH, header=False), {}, X, Y, ()),
    "semicolons": ("a.csv", table(BOTH, ";"), {}, X, Y, ("columns are separated by semicolons",)),
    "semicolons and decimal commas": (
        "a.csv", table(BOTH, ";", ","), {}, X, Y, ("columns are separated by semicolons, decimals by commas",),
    ),
    "tabs": ("a.tsv", table(BOTH, "\t"), {}, X, Y, ("columns are separated by tabs",)),
    "tabs and decimal commas": (
        "a.tsv", table(BOTH, "\t", ","), {}, X, Y, ("columns are separated by tabs, decimals by commas",),
    ),
    "spaces": ("a.txt", table(BOTH, "  "), {}, X, Y, ("columns are separated by spaces",)),
    "gz": ("a.csv.gz", gzip.compress(table(BOTH)), {}, X, Y, ()),
    "Windows": ("a.csv", b"\xef\xbb\xbf" + table(BOTH).replace(b"\n", b"\r\n"), {}, X, Y, ()),
    "quotes": ("a.csv", table({f'"{name}"': column for name, column in BOTH.items()}), {}, X, Y, ()),
    "comments": ("a.csv", b"# from the lab\n#\n" + table(BOTH), {}, X, Y, ()),
    "target first": ("a.csv", table({"y": Y, **inputs()}), {"target": "y"}, X, Y, ()),
    "dates dropped": ("a.csv", table({"day": ["2024-01-31"] * 12, **BOTH}), {"drop": ["day"]}, X, Y, ()),
    "text labels": (
        "a.csv", table({**inputs(), "pet": words("cat", "dog")}), {}, X, CLASSES,
        ("labels in column 'pet': 'cat' is -1, 'dog' is +1",),
    ),
    "true and false": (
        "a.csv", table({**inputs(), "ill": words("False", "True")}), {}, X, CLASSES,
        ("labels in column 'ill': 'False' is -1, 'True' is +1",),
    ),
    "zero and one": (
        "a.csv", table({**inputs(), "ill": (CLASSES + 1) / 2}), {}, X, CLASSES, ("labels in column 'ill': 0 is -1, 1 is +1",),
    ),
    "truth values as inputs": (
        "a.csv", table({"a": X[:, 0], "on": ["true", "false"] * 6, "y": Y}), {},
        np.column_stack([X[:, 0], [1.0, 0.0] * 6]), Y, (),
    ),
    "intercept": ("a.csv", table({"one": np.ones(12), **BOTH}), {}, np.column_stack([np.ones(12), X]), Y, ()),
    "a row of zeros": ("a.csv", table({**inputs(zeros_first(X)), "y": Y}), {}, zeros_first(X), Y, ()),
    "300 columns": ("a.csv", table({**inputs(np.tile(X, 100)), "y": Y}), {}, np.tile(X, 100), Y, ()),
    "one feature": ("a.csv", table({"a": X[:, 0], "y": Y}), {}, X[:, :1], Y, ()),
    "conflicting rows": ("a.csv", table({"a": [1.0, 1.0], "y": [1.0, -1.0]}), {}, [[1.0], [1.0]], [1.0, -1.0], ()),
    "float32": ("a.npz", archive(x=X.astype("f4"), y=Y.astype("f4")), {}, X.astype("f4"), Y.astype("f4"), ()),
    "capital letters": ("a.npz", archive(X=X, Y=Y[:, None]), {}, X, Y, ()),
    "one array": ("a.npy", array(np.column_stack([X, Y])), {}, X, Y, ()),
    "truth values": ("a.npz", archive(x=X, y=CLASSES > 0), {}, X, CLASSES, ("labels in column 'y': False is -1, True is +1",)),
    "six digits": ("a.csv", table(BOTH, form="{:.6g}"), {}, X, Y, ()),
    "UTF-16": ("a.csv", table(BOTH, ";").decode().encode("utf-16"), {}, X, Y, ("columns are separated by semicolons",)),
    "separators at the ends of lines": ("a.csv", table(BOTH).replace(b"\n", b",\n"), {}, X, Y, ()),
    "separators at the ends of rows": ("a.csv", table(BOTH).replace(b"\n", b",\n").replace(b"y,\n", b"y\n"), {}, X, Y, ()),
    "a line that names the separator": ("a.csv", b"sep=;\n" + table(BOTH, ";"), {}, X, Y, ("columns are separated by semicolons",)),
    "numbered columns": (
        "a.csv", table({"0": X[:, 0], "1": X[:, 1], "2": X[:, 2], "3": Y}), {}, X, Y,
        ("the first line numbers the columns, 0 to 3",),
    ),
    "whole numbers that rise": ("a.csv", b"0,1,2\n3,1,2\n", {}, [[0.0, 1.0], [3.0, 1.0]], [2.0, 2.0], ()),
    "vertical bars": ("a.csv", table(BOTH, "|"), {}, X, Y, ("columns are separated by vertical bars",)),
    "typographic minus signs": ("a.csv", table(BOTH).replace(b"-", "\N{MINUS SIGN}".encode()), {}, X, Y, ()),
    "yes and no": (
        "a.csv", table({"a": X[:, 0], "smokes": ["yes", "No"] * 6, "ill": words("no", "yes")}), {},
        np.column_stack([X[:, 0], [1.0, 0.0] * 6]), CLASSES, ("labels in column 'ill': 'no' is -1, 'yes' is +1",),
    ),
    "one and two": (
        "a.csv", table({**inputs(), "group": (CLASSES + 3) / 2}), {}, X, CLASSES, ("labels in column 'group': 1 is -1, 2 is +1",),
    ),
    "mixed quoting": ("a.csv", b'"a",b,y\n"1.5",2,"4"\n2.5,"3",5\n', {}, [[1.5, 2.0], [2.5, 3.0]], [4.0, 5.0], ()),
    "an index and blank lines": (
        "a.csv", b"\r\nid,a,y\r\n\r\n7,1,2.5\r\n   \r\n9,2,3\r\n\r\n", {"drop": "id"}, [[1.0], [2.0]], [2.5, 3.0], (),
    ),
    "Windows, Europe": (
        "a.csv", b"\xef\xbb\xbfa;y\r\n1,5;2\r\n-2,5;3\r\n", {}, [[1.5], [-2.5]], [2.0, 3.0],
        ("columns are separated by semicolons, decimals by commas",),
    ),
    "a line break in a name": ("a.csv", b'"a\nlong",y\n1,2.5\n2,3\n', {}, [[1.0], [2.0]], [2.5, 3.0], ()),
    "an index of pandas": (
        "a.csv", table({"": [str(k) for k in range(12)], **BOTH}), {}, X, Y,
        ("the first column has no name and numbers the rows: it is left out",),
    ),
    "row names of R": (
        "a.csv", table({'""': [f'"{k}"' for k in range(1, 13)], **BOTH}), {"target": 3}, X, Y,
        ("the first column has no name and numbers the rows: it is left out",),
    ),
    "one row": ("a.csv", b"a,b,y\n1,2,3\n", {}, [[1.0, 2.0]], [3.0], ()),
    "old Macintosh": ("a.csv", table(BOTH).replace(b"\n", b"\r"), {}, X, Y, ()),
    "separators within quotes": ("a.csv", b'"size, cm","b;c",y\n1,2,3\n4,5,6\n', {}, [[1.0, 2.0], [4.0, 5.0]], [3.0, 6.0], ()),
}  # fmt: skip
REFUSED = {
    "dates": (
        table({"day": ["31.01.2024"] * 12, **BOTH}), {},
        "a.csv, line 2, column 'day': a finite number is required, found '31.01.2024'; "
        "write dates as numbers, e.g. days since the first, or drop the column.",
    ),
    "text as input": (
        table({"colour": ["red"] * 12, **BOTH}), {},
        "a.csv, line 2, column 'colour': a finite number is required, found 'red'; write it as a number, or drop the column.",
    ),
    "a missing value": (
        table(BOTH).replace(repr(float(X[3, 1])).encode(), b"NA"), {},
        "a.csv, line 5, column 'x2': a finite number is required, found 'NA'; fill it in, or drop the row or column.",
    ),
    "an index": (
        b",a,y\n0,1,2\n", {},
        "a.csv: every column must have a name, found none for column 1; "
        "name it, or drop it if it only numbers the rows (pandas: to_csv(index=False)).",
    ),
    "a first column without a name that does not number the rows": (
        b",a,y\n1,1,2\n2,3,4\n4,5,6\n", {},
        "a.csv: every column must have a name, found none for column 1; "
        "name it, or drop it if it only numbers the rows (pandas: to_csv(index=False)).",
    ),
    "three classes": (
        b"a,kind\n1,cat\n2,dog\n3,cow\n", {},
        "a.csv, column 'kind': labels must be numbers or words of two kinds, found 3: 'cat', 'cow', 'dog'; "
        "keep the rows of two classes, or write numbers.",
    ),
    "separators of thousands": (
        b'a,y\n"1,234.5",2\n', {},
        "a.csv, line 2, column 'a': a finite number is required, found '1,234.5'; write it without separators of thousands.",
    ),
    "separators of thousands like decimal commas": (
        b"a;b;y\n1,234;2.5;1\n", {},
        "a.csv: decimals must be written in one way, found '1,234' in line 2 and '2.5' in line 2; write no separators of thousands.",
    ),
    "percent": (
        b"a,y\n45 %,2\n", {},
        "a.csv, line 2, column 'a': a finite number is required, found '45 %'; write it without '%'.",
    ),
    "labels that are not all numbers": (
        b"a,y\n1,2\n2,?\n", {},
        "a.csv, line 3, column 'y': a finite number is required, found '?'; fill it in, or drop the row.",
    ),
    "a column without values": (
        b"a,b,y\n1,2,\n2,3,\n", {},
        "a.csv, line 2, column 'y': a finite number is required, found an empty cell; fill it in, or drop the row.",
    ),
    "row names of R": (
        b'"a" "y"\n"1" 2 3\n"2" 4 5\n', {},
        "a.csv, line 2: 2 cells are required as in the first row, found 3; "
        "name every column, or write no row names (R: row.names=FALSE).",
    ),
    "Excel": (
        b"PK\x03\x04\x14", {},
        "a.csv: a text table is required, found a zip archive, as Excel's .xlsx is; save or unpack it as .csv.",
    ),
    "money": (
        b'a,y\n"$1,450.10",2\n$50.00,3\n', {},
        "a.csv, line 2, column 'a': a finite number is required, found '$1,450.10'; "
        "write it without '$' and separators of thousands.",
    ),
    "money with decimal commas": (
        "a;b;y\n45,10 €;1;2\n50,00 €;2;3\n".encode(), {},
        "a.csv, line 2, column 'a': a finite number is required, found '45,10 €'; write it without '€'.",
    ),
    "dates with times": (
        b"when,a,y\n1/31/2024 12:30 PM,1,2\n", {},
        "a.csv, line 2, column 'when': a finite number is required, found '1/31/2024 12:30 PM'; "
        "write dates as numbers, e.g. days since the first, or drop the column.",
    ),
    "times of day": (
        b"when,a,y\n12:30:05,1,2\n", {},
        "a.csv, line 2, column 'when': a finite number is required, found '12:30:05'; "
        "write dates as numbers, e.g. days since the first, or drop the column.",
    ),
    "names of months": (
        b"when,a,y\n31 Jan 2024,1,2\n", {},
        "a.csv, line 2, column 'when': a finite number is required, found '31 Jan 2024'; "
        "write dates as numbers, e.g. days since the first, or drop the column.",
    ),
    "a row of totals": (
        b"a,b,y\n1,2,3\n2,3,4\nTotal,5,7\n", {},
        "a.csv, line 4, column 'a': a finite number is required, found 'Total'; write it as a number, or drop the row.",
    ),
    "a formula that failed, first in its row": (
        b"a,b,y\n1,2,3\n#N/A,3,4\n", {},
        "a.csv, line 3, column 'a': a finite number is required, found '#N/A'; fill it in, or drop the row or column.",
    ),
    "a missing label": (
        b"a,y\n1,cat\n2,-\n3,dog\n", {},
        "a.csv, line 3, column 'y': a label is required, found '-'; fill it in, or drop the row.",
    ),
    "two kinds as input": (
        table({"sex": ["M", "F"] * 6, **BOTH}), {},
        "a.csv, line 2, column 'sex': a finite number is required, found 'M'; write the two kinds as 0 and 1, or drop the column.",
    ),
    "three kinds as input": (
        table({"city": ["Rome", "Oslo", "Bern"] * 4, **BOTH}), {},
        "a.csv, line 2, column 'city': a finite number is required, found 'Rome'; "
        "write 0 or 1 into a column for each of the 3 kinds (pandas: get_dummies), or drop the column.",
    ),
    "long identifiers": (
        b"id,a,y\n1000000000000000001,1,2\n1000000000000000002,2,3.5\n", {},
        "a.csv, line 2, column 'id': whole numbers of 15 digits at most are required, found 1000000000000000001, "
        "which would be rounded; drop the column if it names the rows, or write fewer digits.",
    ),
    "a header over two lines": (
        b"a,b,y\nm,kg,eur\n1,2,3\n2,3,4\n", {},
        "a.csv, line 2: one line of names is required, found a second, beginning with 'm'; join it with the first, or begin it with #.",
    ),
    "a title": (
        b"Measurements 2024\na,b,y\n1,2,3\n", {},
        "a.csv, line 1: names of columns or numbers are required, found one cell, 'Measurements 2024'; "
        "remove a title, or begin its line with #.",
    ),
    "a title of a spreadsheet": (
        b"Measurements 2024,,\na,b,y\n1,2,3\n", {},
        "a.csv, line 1: names of columns or numbers are required, found one cell, 'Measurements 2024'; "
        "remove a title, or begin its line with #.",
    ),
    "a page instead of a table": (
        b"<!DOCTYPE html>\n<html>404</html>\n", {},
        "a.csv: a text table is required, found a web page; save or unpack it as .csv.",
    ),
    "a target misspelt": (
        b"a,Price\n1,2\n2,3\n", {"target": "price"},
        "a.csv: target 'price' is not a column; there are a, Price; did you mean 'Price'?",
    ),
    "a header alone": (
        b"a;b;y\r\n\r\n", {},
        "a.csv: at least one row of numbers is required, found only a header; add samples.",
    ),
    "300 names that repeat": (
        (",".join(["f"] * 300) + ",y\n" + ",".join(map(str, range(301)))).encode(), {},
        "a.csv: column names must differ, found 'f' for columns 1 and 2; rename or drop one.",
    ),
    "names that repeat": (
        b"a,a,y\n1,2,3\n", {},
        "a.csv: column names must differ, found 'a' for columns 1 and 2; rename or drop one.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("file", "content", "options", "x", "y", "notes"), READ.values(), ids=READ.keys())
def test_a_file_is_read_as_what_it_means(tmp_path, file, content, options, x, y, notes):
    (tmp_path / file).write_bytes(content)
    data = rl.Dataset.from_file(tmp_path / file, **options)
    written = 1e-5 if data.precision.name == "6 digits" else 0.0
    np.testing.assert_allclose(data.x, x, rtol=written)
    np.testing.assert_allclose(data.y, y, rtol=written)
    assert (data.name, data.notes) == ("a", notes)


@pytest.mark.parametrize(("content", "options", "sentence"), REFUSED.values(), ids=REFUSED.keys())
def test_a_file_that_cannot_be_used_is_refused_with_what_to_do(tmp_path, content, options, sentence):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(rl.FileError) as refusal:
        rl.Dataset.from_file(tmp_path / "a.csv", **options)
    assert str(refusal.value) == sentence


def test_few_digits_are_exact_unless_a_precision_is_stated(tmp_path):
    rounded = np.column_stack([X, Y]).round(3)
    (tmp_path / "a.csv").write_text("\n".join(",".join(map(str, row)) for row in rounded.tolist()))
    holds = [rl.conditions.linear_target(rl.Dataset.from_file(tmp_path / "a.csv", precision=p)).holds for p in (None, 1e-2)]
    assert holds == [False, True]
    with pytest.raises(rl.FileError, match=r"^a\.csv: precision must be a relative tolerance from 0 up to 1, found -1"):
        rl.Dataset.from_file(tmp_path / "a.csv", precision=-1.0)


def test_folders_and_archives_are_no_tables(tmp_path):
    for call in (rl.Dataset.from_file, rl.load):
        with pytest.raises(rl.FileError, match=r": a file is required, found a folder; name a file in it\.$"):
            call(tmp_path)
    with pytest.raises(
        rl.FileError, match=r"^a\.csv\.zip: a table by itself is required, found an archive; unpack it first\.$"
    ):
        rl.Dataset.from_file(tmp_path / "a.csv.zip")
    net = rl.Network(1, (2,))
    run = rl.descend(rl.Problem(rl.Dataset([[1.0]], [1.0]), net), 0.1, 1)
    with pytest.raises(rl.FileError, match=r": a file to save in is required, found a folder; name a file in it\.$"):
        run.save(tmp_path)


def test_parquet_is_read_where_pyarrow_is(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({**inputs(), "pet": words("cat", "dog")}), tmp_path / "a.parquet")
    data = rl.Dataset.from_file(tmp_path / "a.parquet")
    np.testing.assert_array_equal(data.x, X)
    np.testing.assert_array_equal(data.y, CLASSES)
    assert data.features == ("x1", "x2", "x3")
