"""Files: every format gives the table that pandas or NumPy wrote; outputs appear whole or not at all."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from rekmeans.io.atomic import atomic_write, atomic_writes
from rekmeans.io.file_table import ColumnSelection, UnreadableFileError
from rekmeans.io.labels import write_labels
from rekmeans.io.read import read_table_file

FRAME = pd.DataFrame(
    {
        "length": [1.5, 2.0, None, 1e-300],
        "count": [1, 2, 3, 2**53],
        "city": ["Ulm", "Bari", "Ulm", "Łódź, PL"],
        "day": pd.to_datetime(["2020-01-01", "2021-01-01", "2022-01-01", None]),
        "ok": pd.array([True, False, None, True], dtype="boolean"),
        "gone": [None] * 4,
        "width": [0.1, 0.2, 0.3, 0.1 + 0.2],
    }
)
NUMBERS = FRAME[["length", "count", "ok", "width"]].astype("Float64").to_numpy(np.float64, na_value=np.nan)
WRITERS = {
    "t.csv": lambda frame, path: frame.to_csv(path, index=False),
    "t.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "semicolons.csv": lambda frame, path: frame.to_csv(path, index=False, sep=";", decimal=","),
    "packed.csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "t.parquet": lambda frame, path: frame.to_parquet(path),
    "t.feather": lambda frame, path: frame.to_feather(path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_numeric_columns_are_read_exactly_and_others_named(name, tmp_path):
    WRITERS[name](FRAME, tmp_path / name)
    table = read_table_file(tmp_path / name, ColumnSelection(label="city"))
    assert_array_equal(table.X, NUMBERS)
    assert table.names == ["length", "count", "ok", "width"]
    assert table.skipped == {"day": "dates or times", "gone": "every value is missing"}
    assert [table.classes[c] for c in table.y] == FRAME["city"].tolist()
    assert table.has_names
    assert table.ids is None


@pytest.mark.parametrize("name", WRITERS)
def test_columns_are_dropped_or_taken_in_the_order_asked(name, tmp_path):
    WRITERS[name](FRAME, tmp_path / name)
    dropped = read_table_file(tmp_path / name, ColumnSelection(drop=("length", "city")))
    assert dropped.names == ["count", "ok", "width"]
    assert dropped.skipped["length"] == dropped.skipped["city"] == "asked to drop"
    wanted = read_table_file(tmp_path / name, ColumnSelection(only=("width", "length")))
    assert_array_equal(wanted.X, NUMBERS[:, [3, 0]])


def test_many_blocks_of_csv_are_the_table_that_was_written(tmp_path):
    """A column of integers turns into floats, another into text, a third has its first value, far down the file."""
    n = 150_000  # some 4 MB, read in blocks of 1 MB
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.normal(size=n), "late": np.arange(n).astype(object), "word": "7", "first": None})
    frame.loc[n - 2, "late"], frame.loc[n - 1, "word"], frame.loc[n - 1, "first"] = 0.5, "seven", 3.25
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = read_table_file(tmp_path / "t.csv", ColumnSelection(label="word"))
    assert table.names == ["a", "late", "first"]
    assert_array_equal(table.X, frame[table.names].astype(np.float64).to_numpy())
    assert table.classes == ["7", "seven"]
    assert read_table_file(tmp_path / "t.csv").skipped == {"word": "text"}


def test_row_names_of_pandas_are_no_feature(tmp_path):
    frame = FRAME[["length", "width"]].set_axis(["a", "b", "c", "d"])
    frame.to_csv(tmp_path / "t.csv")
    frame.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        table = read_table_file(tmp_path / name)
        assert table.names == ["length", "width"]
        assert table.ids.tolist() == ["a", "b", "c", "d"]


def test_a_first_line_of_numbers_is_no_header(tmp_path):
    np.savetxt(tmp_path / "t.csv", NUMBERS[:, 2:], delimiter=",")
    table = read_table_file(tmp_path / "t.csv")
    assert_array_equal(table.X, NUMBERS[:, 2:])
    assert (table.has_names, table.names) == (False, ["x0", "x1"])


def test_columns_exact_in_float32_stay_narrow(tmp_path):
    frame = pd.DataFrame({"a": np.array([0.1, np.nan], np.float32), "b": np.array([7, -7], np.int16)})
    frame.to_parquet(tmp_path / "t.parquet")
    assert read_table_file(tmp_path / "t.parquet").X.dtype == np.float32
    frame.astype({"b": np.int64}).to_parquet(tmp_path / "t.parquet")
    table = read_table_file(tmp_path / "t.parquet")
    assert table.X.dtype == np.float64
    assert_array_equal(table.X, frame.to_numpy(np.float64))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8, np.int64, np.bool_])
def test_arrays_of_numpy(dtype, tmp_path):
    X, y = np.arange(12).reshape(4, 3).astype(dtype), np.array(["b", "a", "b", "c"])
    np.save(tmp_path / "t.npy", X)
    np.savez(tmp_path / "t.npz", X=X, y=y)
    assert_array_equal(read_table_file(tmp_path / "t.npy").X, X.astype(np.float64))
    table = read_table_file(tmp_path / "t.npz", ColumnSelection(label="y", drop=("x1",)))
    assert_array_equal(table.X, X[:, [0, 2]].astype(np.float64))
    assert [table.classes[c] for c in table.y] == y.tolist()
    assert read_table_file(tmp_path / "t.npz", ColumnSelection(label="x1")).names == ["x0", "x2"]


def test_libsvm_stays_sparse(tmp_path):
    X = sparse.random_array((30, 9), density=0.3, rng=np.random.default_rng(0), format="csr")
    X.data = X.data.round(6)  # the format has 16 digits
    y = np.arange(30) % 3
    dump_svmlight_file(X, y, str(tmp_path / "t.svm"), zero_based=False)
    table = read_table_file(tmp_path / "t.svm", ColumnSelection(label="y"))
    assert sparse.issparse(table.X)
    assert_array_equal(table.X.toarray(), X.toarray())
    assert_array_equal(table.y, y)


def test_missing_classes_are_counted_apart(tmp_path):
    (tmp_path / "t.csv").write_text("a,kind\n1,x\n2,\n3,y\n")
    assert read_table_file(tmp_path / "t.csv", ColumnSelection(label="kind")).y.tolist() == [0, -1, 1]


def test_a_quoted_line_break_is_part_of_its_cell(tmp_path):
    """Also where the file is cut into blocks."""
    frame = pd.DataFrame({"note": ["line\n" * 300] * 2000, "a": np.arange(2000.0)})  # some 3 MB
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert_array_equal(read_table_file(tmp_path / "t.csv").X, frame[["a"]])


def test_outputs_are_replaced_together(tmp_path):
    paths = [tmp_path / "new" / name for name in ("a.txt", "b.txt")]
    for text in ("one", "two"):
        with atomic_writes(paths) as parts:
            for part in parts:
                part.write_text(text)
            assert not any(path.exists() and path.read_text() == text for path in paths)
        assert [path.read_text() for path in paths] == [text, text]
    assert sorted(tmp_path.glob("new/*")) == paths
    assert sorted(tmp_path.glob("new/.*")) == []


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_failure_leaves_earlier_outputs_and_nothing_else(error, tmp_path):
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    paths[0].write_text("earlier")

    def fail():
        with atomic_writes(paths) as parts:
            parts[0].write_text("later")
            raise error

    with pytest.raises(error):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert paths[0].read_text() == "earlier"
    paths[1].mkdir()  # found out before the first is replaced

    def collide():
        with atomic_writes(paths) as parts:
            for part in parts:
                part.write_text("later")

    with pytest.raises(IsADirectoryError):
        collide()
    assert paths[0].read_text() == "earlier"


def test_a_folder_made_for_nothing_goes(tmp_path):
    def fail():
        with atomic_writes([tmp_path / "new" / "a.txt"]) as parts:
            parts[0].write_text("half")
            raise OSError

    with pytest.raises(OSError):  # noqa: PT011 - any
        fail()
    assert list(tmp_path.iterdir()) == []


def test_files_get_the_rights_of_any_new_file(tmp_path):
    (tmp_path / "plain.txt").touch()
    with atomic_write(tmp_path / "ours.txt") as part:
        part.touch(mode=0o600)
    assert (tmp_path / "ours.txt").stat().st_mode == (tmp_path / "plain.txt").stat().st_mode


def test_names_that_are_not_there_are_named(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    for asked in ({"label": "nope"}, {"drop": ("nope",)}, {"only": ("a", "nope")}):
        with pytest.raises(UnreadableFileError, match=r"t\.csv has no column nope: its columns are a, b\."):
            read_table_file(tmp_path / "t.csv", ColumnSelection(**asked))


def test_labels_are_written_alike_in_both_formats(tmp_path):
    labels, ids = np.array([2, 0, 1], np.int32), np.array(["a", 'b"', "c,d"], object)
    for name in ("l.csv", "l.parquet"):
        write_labels(tmp_path / name, labels, ids)
        theirs = pd.read_csv(tmp_path / name) if name.endswith("csv") else pd.read_parquet(tmp_path / name)
        assert theirs["cluster"].tolist() == labels.tolist()
        assert theirs["row"].tolist() == ids.tolist()


def test_row_names_and_classes_of_csv_stay_whole_numbers(tmp_path):
    """Also above 2^53, where floats are no longer all integers, and beside missing or longer ones."""
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
    n = 300_000  # some 4 MB, read in blocks of 1 MB
    frame = pd.DataFrame({"a": 0.5, "kind": "1"}, index=[*range(n - 1), "total"])
    frame.loc["total", "kind"] = "1b"
    frame.to_csv(tmp_path / "t.csv")
    table = read_table_file(tmp_path / "t.csv", ColumnSelection(label="kind"))
    assert table.ids.tolist() == frame.index.astype(str).tolist()
    assert table.classes == ["1", "1b"]


def test_bytes_that_are_no_utf8_are_refused_wherever_they_are(tmp_path):
    head, row = b"a,kind\n", b"1,red\n"
    for before in (10, 20_000, 500_000):  # in the head, the first block, a later block
        (tmp_path / "t.csv").write_bytes(head + row * before + b"1,gr\xfcn\n" + row)
        with pytest.raises(UnreadableFileError, match=r"t\.csv is no UTF-8 text .*: save it so\."):
            read_table_file(tmp_path / "t.csv", ColumnSelection(label="kind"))


def test_an_index_of_pandas_may_be_gone(tmp_path):
    from pyarrow import parquet

    FRAME[["length", "width"]].set_axis(list("abcd")).to_parquet(tmp_path / "t.parquet")
    kept = parquet.read_table(tmp_path / "t.parquet").drop_columns("__index_level_0__")
    parquet.write_table(kept, tmp_path / "t.parquet")
    table = read_table_file(tmp_path / "t.parquet")
    assert_array_equal(table.X, FRAME[["length", "width"]])
    assert table.ids is None


def test_a_class_that_is_nan_is_missing(tmp_path):
    y = np.array([2.0, np.nan, 1.0, np.nan])
    np.savez(tmp_path / "t.npz", X=np.eye(4), y=y)
    table = read_table_file(tmp_path / "t.npz", ColumnSelection(label="y"))
    assert (table.y.tolist(), table.classes) == ([1, -1, 0, -1], ["1.0", "2.0"])
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"a": np.arange(4.0), "y": pa.array(y)}), tmp_path / "t.parquet")
    table = read_table_file(tmp_path / "t.parquet", ColumnSelection(label="y"))
    assert (table.y.tolist(), table.classes) == ([0, -1, 1, -1], ["2.0", "1.0"])


@pytest.mark.parametrize("note", ["room 3,4", "3,4 m"])
def test_a_comma_in_text_is_no_decimal_point(note, tmp_path):
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


def test_row_names_that_pandas_read_and_wrote_again_are_no_feature(tmp_path):
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
def test_a_first_line_of_numbers_and_others_is_judged_and_told(case, tmp_path):
    text, headed, numbers = FIRST_LINES[case]
    (tmp_path / "t.csv").write_text(text)
    with pytest.warns(UserWarning, match=f"first line of t.csv taken as {'header' if headed else 'a row'}: "):
        table = read_table_file(tmp_path / "t.csv")
    assert_array_equal(table.X, numbers)
    assert table.has_names == headed


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "a,b\nx,2\n", "2019,2020\n1,2\n", "1,nan\n2,3\n"])
def test_a_plain_first_line_needs_no_word(text, tmp_path, recwarn):
    (tmp_path / "t.csv").write_text(text)
    assert read_table_file(tmp_path / "t.csv").has_names == text.startswith("a")
    assert not recwarn.list


def test_names_have_no_blanks_round_them(tmp_path):
    (tmp_path / "t.csv").write_text("a , b, kind \n1,2,x\n3,4,y\n")
    table = read_table_file(tmp_path / "t.csv", ColumnSelection(label="kind", drop=("b",)))
    assert (table.names, table.X.tolist(), table.classes) == (["a"], [[1], [3]], ["x", "y"])
    (tmp_path / "t.csv").write_text("a, a\n1,2\n")
    with pytest.raises(UnreadableFileError, match="different column names: a comes"):
        read_table_file(tmp_path / "t.csv")


def test_empty_columns_without_a_name_are_nothing(tmp_path):
    (tmp_path / "t.csv").write_text(",a,b,,\nu,1,2,,\nv,3,4,,\n")
    table = read_table_file(tmp_path / "t.csv")
    assert (table.names, table.X.tolist(), table.ids.tolist()) == (["a", "b"], [[1, 2], [3, 4]], ["u", "v"])
    (tmp_path / "t.csv").write_text("a,,b,\n1,2,3,4\n")
    with pytest.raises(UnreadableFileError, match="2 with values have no name"):
        read_table_file(tmp_path / "t.csv")


def test_utf16_is_named(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", encoding="utf-16")
    with pytest.raises(UnreadableFileError, match=r"^t\.csv is UTF-16 text: save it as UTF-8\.$"):
        read_table_file(tmp_path / "t.csv")


@pytest.mark.parametrize(("ending", "packing"), {".GZ": "gzip", ".Bz2": "bz2", ".ZST": "zstd"}.items())
def test_endings_may_be_large(ending, packing, tmp_path):
    import pyarrow as pa

    for name, separator in {f"t.CSV{ending}": ",", f"t.Tsv{ending}": "\t"}.items():
        with pa.output_stream(tmp_path / name, compression=packing) as stream:
            stream.write(FRAME.to_csv(index=False, sep=separator).encode())
        assert_array_equal(read_table_file(tmp_path / name).X, NUMBERS)
    (tmp_path / "t.txt").write_text("1\n")
    with pytest.raises(UnreadableFileError, match=r"\.csv, .*\.gz, \.bz2, \.zst\.$"):
        read_table_file(tmp_path / "t.txt")


def test_columns_of_libsvm_count_from_1_unless_there_is_a_0(tmp_path, recwarn):
    (tmp_path / "t.svm").write_text("1 2:5\n2 3:7\n")
    table = read_table_file(tmp_path / "t.svm", ColumnSelection(label="y"))
    assert (table.X.toarray().tolist(), table.classes) == ([[0, 5, 0], [0, 0, 7]], ["1", "2"])
    assert not recwarn.list
    (tmp_path / "t.svm").write_text("1.5 0:4 2:5\n2 1:7\n")
    with pytest.warns(UserWarning, match=r"t\.svm counts its columns from 0"):
        table = read_table_file(tmp_path / "t.svm", ColumnSelection(label="y"))
    assert (table.X.toarray().tolist(), table.classes) == ([[4, 0, 5], [0, 7, 0]], ["1.5", "2.0"])


@pytest.mark.parametrize("headed", [True, False])
def test_a_line_may_be_longer_than_the_first_look(headed, tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).random((3, 9000))).add_prefix("measure ")  # lines of some 170 kB
    frame.to_csv(tmp_path / "t.csv", index=False, header=headed)
    table = read_table_file(tmp_path / "t.csv")
    assert_array_equal(table.X, frame)
    assert table.has_names == headed
    (tmp_path / "t.csv").write_text(f'a,"{"b" * 200_000}"\n1,2\n')
    with pytest.raises(UnreadableFileError, match="cannot be read as csv: field larger"):
        read_table_file(tmp_path / "t.csv")


def test_decimal_commas_are_no_separators(tmp_path):
    np.savetxt(tmp_path / "t.csv", NUMBERS[:, 3:] + [0, 1], fmt="%.3f", delimiter=";")
    text = (tmp_path / "t.csv").read_text()
    expected = np.loadtxt(tmp_path / "t.csv", delimiter=";")
    (tmp_path / "t.csv").write_text(text.replace(".", ","))
    assert_array_equal(read_table_file(tmp_path / "t.csv").X, expected)
