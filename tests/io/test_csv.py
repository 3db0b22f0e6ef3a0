"""CSV: separators, headers, row names, encodings, decimal commas."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from rekmeans.io.labels import write_labels
from rekmeans.io.selection import ColumnSelection, UnreadableFileError
from rekmeans.table.file_table import read_table_file
from support.frames import FRAME, NUMBERS


def test_many_blocks_of_csv_are_the_table_that_was_written(tmp_path):
    """Far down the file, integers become floats, others become text, and a first value appears."""
    n = 150_000  # about 4 MB, read in blocks of 1 MB
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": random.normal(size=n),
            "late": np.arange(n).astype(object),
            "word": "7",
            "first": None,
        }
    )
    frame.loc[n - 2, "late"] = 0.5
    frame.loc[n - 1, "word"] = "seven"
    frame.loc[n - 1, "first"] = 3.25
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = read_table_file(tmp_path / "t.csv", ColumnSelection(label="word"))
    assert table.names == ["a", "late", "first"]
    assert_array_equal(table.X, frame[table.names].astype(np.float64).to_numpy())
    assert table.classes == ["7", "seven"]
    word = read_table_file(tmp_path / "t.csv", ColumnSelection(only=("word",))).X[:, 0]
    assert_array_equal(word, [7.0] * (n - 1) + [np.nan])


def test_row_names_of_pandas_are_not_a_feature(tmp_path):
    frame = FRAME[["length", "width"]].set_axis(["a", "b", "c", "d"])
    frame.to_csv(tmp_path / "t.csv")
    frame.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        table = read_table_file(tmp_path / name)
        assert table.names == ["length", "width"]
        assert table.ids.tolist() == ["a", "b", "c", "d"]


def test_a_first_line_of_numbers_is_not_a_header(tmp_path):
    np.savetxt(tmp_path / "t.csv", NUMBERS[:, 2:], delimiter=",")
    table = read_table_file(tmp_path / "t.csv")
    assert_array_equal(table.X, NUMBERS[:, 2:])
    assert (table.has_names, table.names) == (False, ["x0", "x1"])


def test_a_quoted_line_break_is_part_of_its_cell(tmp_path):
    """This includes cells at the border of two blocks."""
    frame = pd.DataFrame({"note": ["line\n" * 300] * 2000, "a": np.arange(2000.0)})  # some 3 MB
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert_array_equal(read_table_file(tmp_path / "t.csv").X, frame[["a"]])


def test_row_names_and_classes_of_csv_stay_integers(tmp_path):
    """This includes integers above 2^53, and columns with missing cells or longer integers."""
    frame = pd.DataFrame({"a": [1, 2, 3], "kind": [0, 2, 0]}, index=[2**53, 2**53 + 1, 7])
    frame.to_csv(tmp_path / "t.csv")
    table = read_table_file(tmp_path / "t.csv", ColumnSelection(label="kind"))
    assert table.ids.tolist() == frame.index.tolist()
    assert table.classes == ["0", "2"]
    write_labels(tmp_path / "l.csv", np.array([1, 0, 1]), table.ids)
    assert_array_equal(pd.read_csv(tmp_path / "l.csv")["row"], frame.index)
    (tmp_path / "t.csv").write_text(f",a\n{2**64 - 1},1\n{2**64 - 2},2\n")
    assert read_table_file(tmp_path / "t.csv").ids.tolist() == [f"{2**64 - 1}", f"{2**64 - 2}"]
    (tmp_path / "t.csv").write_text(f",a\n{2**53 + 1},1\n,2\n")
    assert read_table_file(tmp_path / "t.csv").ids.tolist() == [f"{2**53 + 1}", None]


def test_row_names_and_classes_that_turn_into_text_are_kept_as_written(tmp_path):
    n = 300_000  # about 4 MB, read in blocks of 1 MB
    frame = pd.DataFrame({"a": 0.5, "kind": "1"}, index=[*range(n - 1), "total"])
    frame.loc["total", "kind"] = "1b"
    frame.to_csv(tmp_path / "t.csv")
    table = read_table_file(tmp_path / "t.csv", ColumnSelection(label="kind"))
    assert table.ids.tolist() == frame.index.astype(str).tolist()
    assert table.classes == ["1", "1b"]


def test_bytes_that_are_not_utf8_are_refused_wherever_they_are(tmp_path):
    head, row = b"a,kind\n", b"1,red\n"
    for before in (10, 20_000, 500_000):  # in the head, the first block, a later block
        (tmp_path / "t.csv").write_bytes(head + row * before + b"1,gr\xfcn\n" + row)
        with pytest.raises(
            UnreadableFileError, match=r"t\.csv is not valid UTF-8 .*\. Save it as UTF-8\."
        ):
            read_table_file(tmp_path / "t.csv", ColumnSelection(label="kind"))


def test_text_in_a_wide_file_is_read_like_text_in_a_narrow_one(tmp_path):
    row = {"town": "Ulm", "price": "$1.50", "kind": "b"}
    narrow = pd.DataFrame([row, row | {"town": "Bari", "kind": "a", "price": "$7"}] * 300)
    wide = narrow.assign(**{f"c{j}": ["$8", "7"] * 300 for j in range(120)})
    tables = []
    for frame in (narrow, wide):
        frame.to_csv(tmp_path / "t.csv", index=False)
        tables.append(read_table_file(tmp_path / "t.csv", ColumnSelection(label="kind")))
    one, two = tables
    assert_array_equal(one.X[:, 0], two.X[:, 0])
    assert_array_equal(one.y, two.y)
    assert_array_equal(two.X[:, 1:], np.tile([[8.0], [7.0]], (300, 120)))
    assert one.classes == two.classes
    assert one.skipped == two.skipped
    with (tmp_path / "t.csv").open("ab") as file:  # far below the lines that determine the layout
        file.write(b"Ulm,$7,gr\xfcn" + b",$8" * 120 + b"\n")
    with pytest.raises(UnreadableFileError, match=r"^t\.csv is not valid UTF-8 .*kind"):
        read_table_file(tmp_path / "t.csv", ColumnSelection(label="kind"))


@pytest.mark.parametrize("note", ["room 3,4", "3,4 m"])
def test_a_comma_in_text_is_not_a_decimal_point(note, tmp_path):
    frame = pd.DataFrame({"note": [note, "none", ""], "a": [0.5, 1.5, 2.5], "b": [1, 2, 3]})
    for decimal in ".,":
        frame.to_csv(tmp_path / "t.csv", sep=";", index=False, decimal=decimal)
        assert_array_equal(read_table_file(tmp_path / "t.csv").X, frame[["a", "b"]])


def test_separators_in_quotes_do_not_count(tmp_path):
    frame = pd.DataFrame({"a, b, c, d": [0.5, 1.5], "e\n;;": [2, 3], "f": [4, 5]})
    for separator in ",;\t|":
        frame.to_csv(tmp_path / "t.csv", sep=separator, index=False, quoting=2)
        table = read_table_file(tmp_path / "t.csv")
        assert table.names == frame.columns.tolist()
        assert_array_equal(table.X, frame)


def test_row_names_that_pandas_read_and_wrote_again_are_not_a_feature(tmp_path):
    frame = pd.DataFrame({"a": [0.5, 1.5]}, index=[7, 8])
    frame.to_csv(tmp_path / "t.csv")
    pd.read_csv(tmp_path / "t.csv").to_csv(tmp_path / "t.csv", index=False)
    assert (tmp_path / "t.csv").read_text().startswith("Unnamed: 0,")
    table = read_table_file(tmp_path / "t.csv")
    assert (table.names, table.ids.tolist()) == (["a"], [7, 8])
    selection = ColumnSelection(only=("a", "Unnamed: 0"))
    assert read_table_file(tmp_path / "t.csv", selection).X.tolist() == [[0.5, 7], [1.5, 8]]


FIRST_LINES = {  # the text, whether its first line is a header, the numbers
    "a flower and its name": ("5.1,3.5,setosa\n4.9,3.0,setosa\n", False, [[5.1, 3.5], [4.9, 3.0]]),
    "a missing value": ("5.1,,1\n4.9,3.0,2\n", False, [[5.1, np.nan, 1], [4.9, 3.0, 2]]),
    "a missing first value": (",5,1\n4,3,2\n", False, [[np.nan, 5, 1], [4, 3, 2]]),
    "a mark for missing": ("5,?,1\n4,3,2\n", False, [[5, np.nan, 1], [4, 3, 2]]),
    "a separator at the end": ("5,3,\n4,2,\n", False, [[5, 3], [4, 2]]),
    "sizes and classes": ("9,2,red\n1,2,3\n5,6,7\n", True, [[1, 2, 3], [5, 6, 7]]),
    "text above a missing value": ("a,7\n,1\n2,3\n", True, [[np.nan, 1], [2, 3]]),
    "years beside towns": ("town,2019,2020\nUlm,1,3\nBari,3,8\n", True, [[1, 3], [3, 8]]),
    "numbers of pandas": (pd.DataFrame([[1, 2], [3, 5]]).to_csv(), True, [[1, 2], [3, 5]]),
    "one number of pandas": (pd.DataFrame([1, 3]).to_csv(), True, [[1], [3]]),
}


@pytest.mark.parametrize("case", FIRST_LINES)
def test_a_first_line_of_numbers_and_others_is_classified_with_a_warning(case, tmp_path):
    text, headed, numbers = FIRST_LINES[case]
    (tmp_path / "t.csv").write_text(text)
    with pytest.warns(
        UserWarning, match=f"first line of t.csv as {'the header' if headed else 'data'}: "
    ):
        table = read_table_file(tmp_path / "t.csv")
    assert_array_equal(table.X, numbers)
    assert table.has_names == headed


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "a,b\nx,2\n", "2019,2020\n1,2\n", "1,nan\n2,3\n"])
def test_a_plain_first_line_gives_no_warning(text, tmp_path, recwarn):
    (tmp_path / "t.csv").write_text(text)
    assert read_table_file(tmp_path / "t.csv").has_names == text.startswith("a")
    assert not recwarn.list


def test_names_have_no_blanks_round_them(tmp_path):
    (tmp_path / "t.csv").write_text("a , b, kind \n1,2,x\n3,4,y\n")
    table = read_table_file(tmp_path / "t.csv", ColumnSelection(label="kind", drop=("b",)))
    assert (table.names, table.X.tolist(), table.classes) == (["a"], [[1], [3]], ["x", "y"])
    (tmp_path / "t.csv").write_text("a, a\n1,2\n")
    with pytest.raises(
        UnreadableFileError, match=r"unique column names\. Rename the duplicates of .a."
    ):
        read_table_file(tmp_path / "t.csv")


def test_empty_columns_without_a_name_are_dropped(tmp_path):
    (tmp_path / "t.csv").write_text(",a,b,,\nu,1,2,,\nv,3,4,,\n")
    table = read_table_file(tmp_path / "t.csv")
    assert (table.names, table.X.tolist(), table.ids.tolist()) == (
        ["a", "b"],
        [[1, 2], [3, 4]],
        ["u", "v"],
    )
    (tmp_path / "t.csv").write_text("a,,b,\n1,2,3,4\n")
    with pytest.raises(UnreadableFileError, match="2 unnamed columns with values"):
        read_table_file(tmp_path / "t.csv")


def test_utf16_is_named(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", encoding="utf-16")
    with pytest.raises(
        UnreadableFileError, match=r"^t\.csv is encoded as UTF-16\. Save it as UTF-8\.$"
    ):
        read_table_file(tmp_path / "t.csv")


@pytest.mark.parametrize("headed", [True, False])
def test_a_line_may_be_longer_than_the_first_block_read(headed, tmp_path):
    # lines of about 170 kB
    frame = pd.DataFrame(np.random.default_rng(0).random((3, 9000))).add_prefix("measure ")
    frame.to_csv(tmp_path / "t.csv", index=False, header=headed)
    table = read_table_file(tmp_path / "t.csv")
    assert_array_equal(table.X, frame)
    assert table.has_names == headed
    (tmp_path / "t.csv").write_text(f'a,"{"b" * 200_000}"\n1,2\n')
    with pytest.raises(UnreadableFileError, match="cannot be read as csv: field larger"):
        read_table_file(tmp_path / "t.csv")


def test_decimal_commas_are_not_separators(tmp_path):
    np.savetxt(tmp_path / "t.csv", NUMBERS[:, 3:] + [0, 1], fmt="%.3f", delimiter=";")
    text = (tmp_path / "t.csv").read_text()
    expected = np.loadtxt(tmp_path / "t.csv", delimiter=";")
    (tmp_path / "t.csv").write_text(text.replace(".", ","))
    assert_array_equal(read_table_file(tmp_path / "t.csv").X, expected)
