"""Every file format gives the table that pandas or NumPy wrote."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from rekmeans.io.labels import write_labels
from rekmeans.io.selection import ColumnSelection, UnreadableFileError
from rekmeans.table.file_table import read_table_file
from support.frames import FRAME, NUMBERS

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
    assert dropped.skipped["length"] == dropped.skipped["city"] == "dropped"
    wanted = read_table_file(tmp_path / name, ColumnSelection(only=("width", "length")))
    assert_array_equal(wanted.X, NUMBERS[:, [3, 0]])


def test_columns_exact_in_float32_stay_narrow(tmp_path):
    frame = pd.DataFrame(
        {"a": np.array([0.1, np.nan], np.float32), "b": np.array([7, -7], np.int16)}
    )
    frame.to_parquet(tmp_path / "t.parquet")
    assert read_table_file(tmp_path / "t.parquet").X.dtype == np.float32
    frame.astype({"b": np.int64}).to_parquet(tmp_path / "t.parquet")
    table = read_table_file(tmp_path / "t.parquet")
    assert table.X.dtype == np.float64
    assert_array_equal(table.X, frame.to_numpy(np.float64))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8, np.int64, np.bool_])
def test_arrays_of_numpy(dtype, tmp_path):
    X = np.arange(12).reshape(4, 3).astype(dtype)
    y = np.array(["b", "a", "b", "c"])
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
    assert read_table_file(tmp_path / "t.csv", ColumnSelection(label="kind")).y.tolist() == [
        0,
        -1,
        1,
    ]


def test_unknown_columns_are_named(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    for asked in ({"label": "nope"}, {"drop": ("nope",)}, {"only": ("a", "nope")}):
        with pytest.raises(
            UnreadableFileError, match=r"t\.csv has no column nope\. Available columns: a, b\."
        ):
            read_table_file(tmp_path / "t.csv", ColumnSelection(**asked))


def test_labels_are_written_alike_in_both_formats(tmp_path):
    labels = np.array([2, 0, 1], np.int32)
    ids = np.array(["a", 'b"', "c,d"], object)
    for name in ("l.csv", "l.parquet"):
        write_labels(tmp_path / name, labels, ids)
        theirs = (
            pd.read_csv(tmp_path / name)
            if name.endswith("csv")
            else pd.read_parquet(tmp_path / name)
        )
        assert theirs["cluster"].tolist() == labels.tolist()
        assert theirs["row"].tolist() == ids.tolist()


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


@pytest.mark.parametrize(
    ("ending", "packing"), {".GZ": "gzip", ".Bz2": "bz2", ".ZST": "zstd"}.items()
)
def test_endings_may_be_large(ending, packing, tmp_path):
    import pyarrow as pa

    for name, separator in {f"t.CSV{ending}": ",", f"t.Tsv{ending}": "\t"}.items():
        with pa.output_stream(tmp_path / name, compression=packing) as stream:
            stream.write(FRAME.to_csv(index=False, sep=separator).encode())
        assert_array_equal(read_table_file(tmp_path / name).X, NUMBERS)
    (tmp_path / "t.txt").write_text("1\n")
    with pytest.raises(UnreadableFileError, match=r"\.csv, .*\.gz, \.bz2, \.zst\)\.$"):
        read_table_file(tmp_path / "t.txt")


def test_columns_of_libsvm_count_from_1_unless_there_is_a_0(tmp_path, recwarn):
    (tmp_path / "t.svm").write_text("1 2:5\n2 3:7\n")
    table = read_table_file(tmp_path / "t.svm", ColumnSelection(label="y"))
    assert (table.X.toarray().tolist(), table.classes) == ([[0, 5, 0], [0, 0, 7]], ["1", "2"])
    assert not recwarn.list
    (tmp_path / "t.svm").write_text("1.5 0:4 2:5\n2 1:7\n")
    with pytest.warns(UserWarning, match=r"t\.svm has zero-based column indices"):
        table = read_table_file(tmp_path / "t.svm", ColumnSelection(label="y"))
    assert (table.X.toarray().tolist(), table.classes) == ([[4, 0, 5], [0, 7, 0]], ["1.5", "2.0"])
