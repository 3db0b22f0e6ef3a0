"""Text columns with mostly numbers give the same table as plain numbers."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from rekmeans.io.selection import ColumnSelection, UnreadableFileError
from rekmeans.table.file_table import read_table_file

WRITERS = {
    "t.csv": lambda frame, path: frame.to_csv(path, index=False),
    "t.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "packed.csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "t.parquet": lambda frame, path: frame.to_parquet(path),
    "t.feather": lambda frame, path: frame.to_feather(path),
}
GERMAN = str.maketrans(",.", ".,")


def plain_frame(n=200):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            name: random.uniform(-9000, 9000, n).round(2)
            for name in ("price", "sales", "share", "age")
        }
    )
    frame.loc[3, "price"] = frame.loc[5:9, "age"] = np.nan
    return frame


def messy_frame(frame):
    return pd.DataFrame(
        {
            "price": [
                f"${x:,.2f}".replace("$-", "-$") if x == x else "n/a?" for x in frame["price"]
            ],
            "sales": [f"{x:,.2f} €".translate(GERMAN) for x in frame["sales"]],
            "share": [f"({-x} %)" if x < 0 else f"{x} %" for x in frame["share"]],
            "age": [str(x) if x == x else "unknown" for x in frame["age"]],
            "town": "Ulm",
        }
    )


@pytest.mark.parametrize("name", WRITERS)
def test_formatted_numbers_are_read_as_the_plain_ones(name, tmp_path):
    frame = plain_frame()
    WRITERS[name](messy_frame(frame), tmp_path / name)
    table = read_table_file(tmp_path / name)
    assert table.names == frame.columns.tolist()
    assert table.X.tobytes() == frame.to_numpy().tobytes()
    assert table.skipped == {"town": "text"}
    assert table.notes == [
        "text read as numbers: price ($ and thousands commas in 199 cells), "
        "sales (decimal commas and thousands points and € in 200 cells), "
        "share (% and parentheses for minus in 200 cells)",
        "text read as missing: price (1 cell: 'n/a?'), age (5 cells: 'unknown')",
    ]


@pytest.mark.parametrize("text", ["unknown", "1,234.5", " NA", "gr\xfcn"])
def test_text_far_down_the_file_is_as_text_at_its_beginning(text, tmp_path):
    """The file has 4 MB and is read in blocks of 1 MB; a second file has its rows reversed."""
    n = 150_000
    frame = pd.DataFrame(
        np.random.default_rng(0).normal(size=(n, 3)).round(6), columns=["a", "b", "c"]
    ).astype(str)
    frame.loc[n - 1, ["a", "c"]] = text
    frame.to_csv(tmp_path / "late.csv", index=False)
    frame[::-1].to_csv(tmp_path / "early.csv", index=False)
    late, early = (read_table_file(tmp_path / name) for name in ("late.csv", "early.csv"))
    value = {"1,234.5": 1234.5}.get(text, np.nan)
    expected = frame.replace(text, value).astype(np.float64).to_numpy()
    assert late.X.tobytes() == expected.tobytes()
    assert_array_equal(early.X[::-1], late.X)
    assert early.notes == late.notes
    assert len(late.notes) == (text != " NA")


def test_four_of_five_cells_make_a_column_numeric(tmp_path):
    """Missing cells do not count."""
    for n_numbers, is_numeric in ((8, True), (7, False)):
        cells = [str(i**2) for i in range(n_numbers)] + ["x", "y", "", "NA", "?"]
        pd.DataFrame({"a": cells, "b": 0.5}).to_csv(tmp_path / "t.csv", index=False)
        table = read_table_file(tmp_path / "t.csv")
        assert ("a" in table.names) == is_numeric
        assert table.skipped.get("a") == (None if is_numeric else "text")


DECIMALS = {  # (separator, cells of a column): their values
    "only groups": (",", ["1,234", "5,678"], [1234, 5678]),
    "a cell that is not grouped": (",", ["1,234", "5,67"], [1.234, 5.67]),
    "a leading zero": (",", ["1,234", "0,678"], [1.234, 0.678]),
    "two groups": (",", ["1,234", "5,678,000"], [1234, 5678000]),
    "two marks": (",", ["1.234", "5.678,5"], [1234, 5678.5]),
    "decimal commas of the file": (";", ["1,234", "5,678"], [1.234, 5.678]),
    "groups in a file of decimal commas": (";", ["1.234", "5.678"], [1234, 5678]),
    "points in a file of decimal commas": (";", ["1.234", "5.67"], [1.234, 5.67]),
}


@pytest.mark.parametrize("case", DECIMALS)
def test_the_decimal_mark_is_that_of_the_column(case, tmp_path):
    separator, cells, numbers = DECIMALS[case]
    frame = pd.DataFrame({"a": cells, "b": [0.5, 2.25], "c": [1.5, 2.5], "d": [0.1, 0.2]})
    frame.to_csv(
        tmp_path / "t.csv", index=False, sep=separator, decimal="," if separator == ";" else "."
    )
    table = read_table_file(tmp_path / "t.csv")
    assert_array_equal(table.X[:, 0], numbers)
    assert_array_equal(table.X[:, 1:], frame.drop(columns="a"))


@pytest.mark.parametrize(
    "cell", ["2020-01-{:02}.", "12:3{}h", "555-{:04}", "612 345 {:03}", "1.2.{}", "no. {}"]
)
def test_dates_phones_and_versions_stay_text(cell, tmp_path):
    pd.DataFrame({"a": [cell.format(i) for i in range(20)], "b": 0.5}).to_csv(
        tmp_path / "t.csv", index=False
    )
    assert read_table_file(tmp_path / "t.csv").skipped == {"a": "text"}


def test_columns_of_a_model_are_converted_too(tmp_path):
    frame = plain_frame()
    messy_frame(frame).to_csv(tmp_path / "t.csv", index=False)
    table = read_table_file(tmp_path / "t.csv", ColumnSelection(only=("age", "price")))
    assert_array_equal(table.X, frame[["age", "price"]])
    with pytest.raises(UnreadableFileError, match=r"columns of the model, got town \(text\)"):
        read_table_file(tmp_path / "t.csv", ColumnSelection(only=("age", "town")))


def test_text_that_is_not_utf8_far_down_a_column_of_text_does_not_matter(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,kind\n" + b"1.5,red\n" * 400_000 + b"2.5,gr\xfcn\n")
    table = read_table_file(tmp_path / "t.csv")
    assert (len(table.X), table.skipped) == (400_001, {"kind": "text"})
