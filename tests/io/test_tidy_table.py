"""Ids, constant columns, empty rows, and the line numbers in messages."""

import gzip

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from rekmeans.io.labels import write_labels
from rekmeans.io.selection import ColumnSelection, UnreadableFileError
from rekmeans.table.file_table import read_table_file
from rekmeans.table.schema import has_id_name

N = 40
RANDOM = np.random.default_rng(0)
SPREAD = RANDOM.permutation(10**6)[:N]  # distinct integers that are far apart
IDS = {
    "consecutive": ("number", np.arange(N) + 7),
    "in any order": ("number", RANDOM.permutation(N)),
    "one gap": ("number", np.arange(N) + (np.arange(N) > 5)),
    "by name": ("customer_id", SPREAD),
    "by a camel's name": ("customerID", SPREAD),
    "too long to measure": ("number", 2**60 + np.arange(N) * 10**12),
}
NOT_IDS = {
    "repeated": ("customer_id", np.arange(N) // 2),
    "spread": ("number", SPREAD),
    "gaps": ("number", np.arange(N) * 2),
    "not integers": ("id", SPREAD + 0.5),
    "missing": ("id", np.where(np.arange(N) == 3, np.nan, np.arange(N))),
}


def write_frame(path, name, cells):
    frame = pd.DataFrame({name: cells, "a": RANDOM.normal(size=len(cells))})
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
    return frame


@pytest.mark.parametrize("file", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("case", IDS)
def test_ids_are_left_out_unless_asked_for(case, file, tmp_path):
    name, cells = IDS[case]
    frame = write_frame(tmp_path / file, name, cells)
    table = read_table_file(tmp_path / file)
    assert (table.names, table.skipped) == (["a"], {name: "an id"})
    assert table.notes == [
        f"skipped as ids: {name} (40 integers); pass --keep NAME to use one as a feature"
    ]
    assert_array_equal(table.X, frame[["a"]])
    for selection in (ColumnSelection(keep=(name,)), ColumnSelection(only=(name, "a"))):
        assert_array_equal(read_table_file(tmp_path / file, selection).X, frame)


@pytest.mark.parametrize("case", NOT_IDS)
def test_other_columns_are_not_ids(case, tmp_path):
    frame = write_frame(tmp_path / "t.csv", *NOT_IDS[case])
    table = read_table_file(tmp_path / "t.csv")
    assert_array_equal(table.X, frame)
    assert table.notes == []


def test_a_few_integers_in_a_row_are_an_accident(tmp_path):
    for n, names in ((9, ["number", "a"]), (10, ["a"])):
        write_frame(tmp_path / "t.csv", "number", np.arange(n))
        assert read_table_file(tmp_path / "t.csv").names == names


def test_a_line_of_totals_and_an_empty_line_do_not_hide_ids(tmp_path):
    rows = "".join(f"{i},{i * 0.3:.1f}\n" for i in range(20))
    (tmp_path / "t.csv").write_text(f"no,a\n{rows}\nTotal,57.0\n")
    table = read_table_file(tmp_path / "t.csv")
    assert table.names == ["a"]
    assert (
        "skipped as ids: no (20 integers); pass --keep NAME to use one as a feature" in table.notes
    )


def test_a_table_of_ids_alone_names_the_way_out(tmp_path):
    (tmp_path / "t.csv").write_text("id\n4\n9\n")
    with pytest.raises(
        UnreadableFileError,
        match=r"skipped id \(an id\)\. Pass --keep NAME to use an id as a feature\.",
    ):
        read_table_file(tmp_path / "t.csv")
    with pytest.raises(UnreadableFileError, match="no column nope"):
        read_table_file(tmp_path / "t.csv", ColumnSelection(keep=("nope",)))


def test_names_of_ids_are_found_by_their_words():
    assert all(
        map(
            has_id_name,
            ["id", "ID", "customer_id", "Customer Id", "userID", "IDNumber", "row-index", "UUID"],
        )
    )
    assert not any(
        map(has_id_name, ["width", "kid", "Idaho", "monkey", "solid", "paid", "indexed", "", "x1"])
    )


def test_constants_are_named_and_stay(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c\n1,5,0.5\n1,6,\n1,5,0.5\n")
    table = read_table_file(tmp_path / "t.csv")
    assert table.names == ["a", "b", "c"]
    assert table.notes == ["constant: a (1 in 3 rows), c (0.5 in 2 rows)"]
    assert read_table_file(tmp_path / "t.csv", ColumnSelection(only=("a", "b"))).notes == []


HOLLOW = "\n\na,b,kind\n1,2,x\n\n,,y\n3,,x\n,4,\n?,NA,x\n5,6,y\n\n"


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_rows_without_a_value_are_left_out_and_counted(name, tmp_path):
    (tmp_path / "raw.csv").write_text(HOLLOW)
    frame = pd.read_csv(tmp_path / "raw.csv", skip_blank_lines=False, header=2, na_values=["?"])
    frame.to_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text(HOLLOW)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(HOLLOW.encode()))
    table = read_table_file(tmp_path / name, ColumnSelection(label="kind"))
    has_value = frame[["a", "b"]].notna().any(axis=1)
    assert_array_equal(table.X, frame[["a", "b"]][has_value])
    assert_array_equal(table.has_value, has_value)
    assert [[*table.classes, None][c] for c in table.y] == ["x", "x", None, "y"]
    place = "row 1 (counting from 0)" if "parquet" in name else "line 5"
    expected = (
        f"skipped 4 of 8 rows without values (first: {place}); the skipped rows have no label"
    )
    assert table.notes == [expected]


@pytest.mark.parametrize("name", ["l.csv", "l.parquet"])
def test_labels_have_a_line_for_each_row_of_the_file(name, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n\n3,4\n,\n5,6\n")
    table = read_table_file(tmp_path / "t.csv")
    write_labels(tmp_path / name, table.labels_of_file(np.array([2, 0, 1])), table.ids)
    found = pd.read_csv(tmp_path / name) if "csv" in name else pd.read_parquet(tmp_path / name)
    assert found["row"].tolist() == [0, 1, 2, 3, 4]
    assert_array_equal(found["cluster"], [2, np.nan, 0, np.nan, 1])


def test_row_names_stay_beside_rows_without_a_value(tmp_path):
    (tmp_path / "t.csv").write_text(",a,b\nu,1,2\n\nv,,\nw,5,6\n")
    table = read_table_file(tmp_path / "t.csv")
    assert table.ids.tolist() == ["u", None, "v", "w"]
    assert table.X.tolist() == [[1, 2], [5, 6]]


def test_a_file_without_any_value_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n,\n\n")
    with pytest.raises(UnreadableFileError, match="no values in a, b"):
        read_table_file(tmp_path / "t.csv", ColumnSelection(only=("a", "b")))


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2\n3,inf\n",
        "\n\na,b\n\n1,inf\n",
        '"a",b\n"1\n\n",2\n\n"3 ""x""",inf\n',
        "1,2\n\n3,inf\n",
    ],
)
def test_messages_name_the_line_of_the_file(text, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    line = next(i for i, words in enumerate(text.split("\n"), start=1) if "inf" in words)
    with pytest.raises(UnreadableFileError, match=f"infinity in line {line}, column '(b|x1)'"):
        read_table_file(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n\n3\n")
    with pytest.raises(UnreadableFileError, match="Row #4: Expected 2 columns, got 1"):
        read_table_file(tmp_path / "t.csv")
