"""The Parquet files of a table must have the same columns; errors name the file."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from numpy.testing import assert_array_equal
from pyarrow import dataset
from sklearn.base import clone

from rekmeans import RectifiedEulerKMeans
from rekmeans.io.file_names import table_files, would_read
from support.assertions import assert_same_fit, raises_mentioning
from support.scans import open_blocks

RANDOM = np.random.default_rng(0)
FRAME = pd.DataFrame(RANDOM.integers(-50, 50, (40, 2)).astype(float), columns=["a", "b"])


def write(folder, **frames):
    for name, frame in frames.items():
        frame.to_parquet(folder / f"{name}.parquet", index=False)
    return f"{folder}/*.parquet"


def read(name):
    return np.concatenate([np.asarray(block.X) for block in open_blocks(str(name)).blocks(7)])


def assert_rejected(name, *words, error=ValueError):
    with raises_mentioning(error, *words):
        open_blocks(str(name))


@pytest.mark.parametrize(
    "kinds", [("int8", "int64"), ("int64", "float64"), ("float32", "int8"), ("uint64", "int8")]
)
@pytest.mark.parametrize("order", [1, -1], ids=["narrow first", "wide first"])
def test_numbers_of_several_types_are_the_numbers(kinds, order, tmp_path):
    one, two = ((FRAME.abs() + 0.25 * ("float" in kind)).astype(kind) for kind in kinds[::order])
    assert_array_equal(
        read(write(tmp_path, p=one, q=two)), pd.concat([one, two]).to_numpy(np.float64)
    )


def test_a_column_without_values_or_of_decimals_is_one_of_numbers(tmp_path):
    pattern = write(tmp_path, p=FRAME.assign(b=None), q=FRAME)
    assert_array_equal(read(pattern), pd.concat([FRAME.assign(b=np.nan), FRAME]))
    decimals = pa.table({"a": pa.array([1, 2], pa.decimal128(5, 2)), "b": [0.5, 1.5]})
    pyarrow.parquet.write_table(decimals, tmp_path / "r.parquet")
    assert_array_equal(read(pattern)[-2:], [[1, 0.5], [2, 1.5]])


IN_FILE = [pa.float64(), pa.float32(), pa.int64(), pa.int32(), pa.uint8(), pa.bool_()]
IN_SCHEMA = [*IN_FILE, pa.int8(), pa.uint32(), pa.float16(), pa.decimal128(10, 2)]


@pytest.mark.parametrize("in_file", IN_FILE, ids=str)
@pytest.mark.parametrize("in_schema", IN_SCHEMA, ids=str)
@pytest.mark.parametrize(
    "values", [[0, 1, 1, 0], [0, 1, 5, 200], [-3, 0, 2, None], [0.1, 1.5, None, 3.25]], ids=str
)
def test_a_schema_of_the_user_gives_the_numbers_of_pyarrow_or_its_error(
    in_file, in_schema, values, tmp_path
):
    column = pa.array(values, pa.float64()).cast(in_file, safe=False)
    pyarrow.parquet.write_table(pa.table({"a": column}), tmp_path / "t.parquet")
    data = dataset.dataset(tmp_path / "t.parquet", schema=pa.schema([("a", in_schema)]))
    try:
        expected = data.to_table()["a"].cast(pa.float64()).to_numpy()
    except pa.ArrowException as error:
        # cells are counted when the dataset is opened, which raises our error
        with pytest.raises((type(error), ValueError)):
            list(open_blocks(data).blocks(3))
        return
    found = [np.asarray(block.X) for block in open_blocks(data).blocks(3)]
    assert_array_equal(np.concatenate(found)[:, 0], expected)


def test_a_dataset_with_a_schema_of_its_own_fits_like_the_table_in_memory(tmp_path):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        random.normal(size=(3000, 2)) + 3 * random.integers(0, 3, (3000, 1)), columns=["a", "b"]
    )
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=700)
    narrow = dataset.dataset(
        tmp_path / "t.parquet", schema=pa.schema([("a", pa.float32()), ("b", pa.float32())])
    )
    model = RectifiedEulerKMeans(3, random_state=0)
    assert_same_fit(clone(model).fit(narrow), clone(model).fit(narrow.to_table()))
    integers = dataset.dataset(
        tmp_path / "t.parquet", schema=pa.schema([("a", pa.int32()), ("b", pa.int32())])
    )
    with raises_mentioning(ValueError, "X cannot be read", "truncated"):
        model.fit(integers)


def test_columns_that_are_not_in_every_file_are_refused(tmp_path):
    for number, (p, q) in enumerate([(FRAME, FRAME[["a"]]), (FRAME[["a"]], FRAME)]):
        (folder := tmp_path / str(number)).mkdir()
        whole, part = ("p", "q") if "b" in p else ("q", "p")
        words = f"'b' is in {folder}/{whole}.parquet and not in {folder}/{part}.parquet"
        assert_rejected(write(folder, p=p, q=q), "same columns in every file", words)
        assert_rejected(folder, words)
    (other := tmp_path / "other").mkdir()
    assert_rejected(
        write(other, p=FRAME, q=FRAME.rename(columns=str.upper)),
        "'a' is in",
        "p.parquet and not in",
    )


def test_text_and_numbers_in_one_column_are_refused(tmp_path):
    pattern = write(tmp_path, p=FRAME, q=FRAME.assign(b="1.5"))
    assert_rejected(pattern, "'b' is double in", "p.parquet and", "string in", "q.parquet")
    assert open_blocks(pattern, only=["a"]).names == ["a"]  # unused columns are not compared


def test_columns_in_another_order_are_taken_by_name(tmp_path):
    assert_array_equal(
        read(write(tmp_path, p=FRAME, q=FRAME[["b", "a"]])), pd.concat([FRAME, FRAME])
    )


def test_files_that_are_not_parquet_are_named(tmp_path):
    write(tmp_path, p=FRAME)
    for content in (b"", b"some text that is no parquet file"):
        (tmp_path / "q.parquet").write_bytes(content)
        assert_rejected(tmp_path, "must be a parquet file", f"{tmp_path}/q.parquet")
    # such names are reserved for other files
    (tmp_path / "q.parquet").rename(tmp_path / "_q.parquet")
    assert_array_equal(read(tmp_path), FRAME)


def test_the_message_of_a_folder_without_parquet_offers_no_pattern_of_parquet(tmp_path):
    (tmp_path / "p.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"p\.csv .* Convert it to parquet\.$"):
        open_blocks(str(tmp_path))
    write(tmp_path, q=FRAME)
    assert_rejected(tmp_path, "Use a pattern that excludes it", f"{tmp_path}/*.parquet")


def test_other_places_are_refused(tmp_path):
    assert_rejected(tmp_path, "No files match", error=FileNotFoundError)
    table = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["a", "a"])
    pyarrow.parquet.write_table(table, tmp_path / "twice.parquet")
    assert_rejected(tmp_path / "twice.parquet", "unique column names", "duplicates of 'a'")


def test_a_folder_that_a_pattern_matches_stands_for_its_files_once(tmp_path):
    (tmp_path / "q.parquet").mkdir()
    write(tmp_path / "q.parquet", part=FRAME + 1)
    (tmp_path / "q.parquet" / "_SUCCESS").write_text("")
    write(tmp_path, p=FRAME, r=FRAME + 2)
    expected = pd.concat([FRAME, FRAME + 1, FRAME + 2])
    for pattern in ("*.parquet", "**/*.parquet"):
        assert_array_equal(read(tmp_path / pattern), expected)


def test_names_with_brackets_are_names_of_files_that_are_there(tmp_path):
    write(tmp_path, **{"a[1]": FRAME, "a1": FRAME + 1})
    assert_array_equal(read(tmp_path / "a[1].parquet"), FRAME)
    assert_array_equal(read(tmp_path / "a[12].parquet"), FRAME + 1)
    np.save(tmp_path / "x[0].npy", FRAME.to_numpy())
    model = RectifiedEulerKMeans(2, random_state=0).fit(tmp_path / "x[0].npy")
    assert_array_equal(
        model.labels_, RectifiedEulerKMeans(2, random_state=0).fit(FRAME.to_numpy()).labels_
    )


PATTERNS = ["*", "*.parquet", "**/*.parquet", "d", "d/*", "**", "?[ab].parquet", "d/**/e/*", "."]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_what_would_be_read_is_what_is_read_once_it_is_there(pattern, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d" / "e" / "e").mkdir(parents=True)
    paths = [
        "xa.parquet",
        ".xa.parquet",
        "_x.parquet",
        "d/y.parquet",
        "d/e/z.parquet",
        "d/e/e/z.csv",
        "d/_y.csv",
    ]
    for path in paths:
        before = would_read(pattern, tmp_path / path)
        (tmp_path / path).write_bytes(b"")
        assert before == (path in table_files(pattern)), path
