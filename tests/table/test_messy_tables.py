"""Messy tables: the same columns and the same bits in memory, in blocks and from data frames."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from rekmeans import RectifiedEulerKMeans, read_table
from rekmeans.io import csv
from rekmeans.table.schema import TableSchema
from support.messy_tables import TABLES

SMALL = 20_000  # bytes: blocks of 256 rows

pytestmark = pytest.mark.filterwarnings("ignore")
each_table = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


def fit(X, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RectifiedEulerKMeans(3, random_state=0, **parameters).fit(X)


def kinds_of(schema):
    return {column.name: column.kind for column in schema.columns}


def assert_same(model, expected):
    assert model.schema_.feature_names == expected.schema_.feature_names
    assert_array_equal(np.asarray(model.labels_), expected.labels_)
    assert_array_equal(model.cluster_centers_, expected.cluster_centers_)


def test_there_are_more_than_fifty_tables():
    assert len(TABLES) > 50


@each_table
def test_a_table_in_blocks_has_the_columns_and_the_bits_of_memory(table, tmp_path, monkeypatch):
    path = table.write(tmp_path)
    in_memory = read_table(path)
    assert kinds_of(in_memory.schema) == table.kinds
    expected = fit(in_memory)
    assert expected.schema_ == in_memory.schema
    monkeypatch.setattr(csv, "BLOCK_BYTES", 2048)
    in_blocks = read_table(path, memory_limit=SMALL)
    assert in_blocks.is_in_blocks
    assert kinds_of(in_blocks.schema) == table.kinds
    assert in_blocks.schema == in_memory.schema
    model = fit(in_blocks, memory_limit=SMALL)
    assert_same(model, expected)
    assert_array_equal(model.labels_, expected.labels_)
    record = TableSchema.from_record(in_memory.schema.to_record())
    assert record == in_memory.schema


WITH_FRAMES = [table for table in TABLES.values() if table.frame is not None]


@pytest.mark.parametrize("table", WITH_FRAMES, ids=[table.name for table in WITH_FRAMES])
def test_a_data_frame_has_the_columns_and_the_bits_of_its_file(table, tmp_path):
    from dask import config, dataframe

    expected = fit(read_table(table.write(tmp_path)))
    partitions = dataframe.from_pandas(table.frame, npartitions=3)
    forms = [table.frame, pl.from_pandas(table.frame)]
    for form in forms:
        model = fit(form)
        assert_same(model, expected)
        assert_array_equal(model.predict(form), expected.labels_)
    with config.set(scheduler="synchronous"):
        model = fit(partitions)
        assert_same(model, expected)
        assert_array_equal(np.asarray(model.predict(table.frame)), expected.labels_)


@each_table
def test_the_path_of_a_table_has_its_columns(table, tmp_path):
    path = table.write(tmp_path)
    assert_same(fit(path), fit(read_table(path)))


def test_rows_of_csv_that_do_not_fit_are_decoded_once(tmp_path, monkeypatch):
    """Decoded rows are kept in a temporary file, even with weights or empty rows."""
    from rekmeans.io.csv import CsvScan
    from rekmeans.table.schema_blocks import SchemaBlocks

    reads = []
    batches = CsvScan.batches

    def counted(scan, columns, size=None):
        reads.append(list(columns))
        return batches(scan, columns, size)

    monkeypatch.setattr(CsvScan, "batches", counted)
    path = TABLES["rows without a value"].write(tmp_path)
    expected = fit(read_table(path))
    table = read_table(path, memory_limit=SMALL)
    assert isinstance(table.X, SchemaBlocks)
    reads.clear()
    assert_same(fit(table, memory_limit=SMALL), expected)
    assert len(reads) == 1
    rows = np.array([0, 3, 397])
    assert_array_equal(table.X.take(rows), read_table(path).X[rows])
    weighted = fit_weighted(path, tmp_path)
    assert_array_equal(weighted[0].labels_, weighted[1].labels_)


def fit_weighted(path, folder):
    """Compare fits with a column of weights, from a file in blocks and from rows in memory."""
    table = read_table(path)
    weights = np.arange(len(table.X)) % 3 + 1.0
    lines = [f"{a},{b},{w}" for (a, b), w in zip(table.X.tolist(), weights, strict=True)]
    (folder / "w.csv").write_text("\n".join(["a,b,w", *lines]))
    model = RectifiedEulerKMeans(3, random_state=0, memory_limit=SMALL)
    model.fit(folder / "w.csv", sample_weight="w")
    expected = RectifiedEulerKMeans(3, random_state=0).fit(table.X, sample_weight=weights)
    return model, expected


def test_integers_beyond_64_bits_in_a_data_frame_are_those_of_its_file(tmp_path):
    size = np.arange(90) % 3
    frame = pd.DataFrame({"a": np.arange(90) * 0.5 + 100.0 * size, "b": [10**30] * 90})
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv")
    model = fit(frame)
    assert kinds_of(model.schema_) == kinds_of(table.schema) == {"a": "number", "b": "number"}
    assert_array_equal(model.labels_, fit(table).labels_)
    with pytest.raises(ValueError, match="infinity in row 1, column 'b'"):
        fit(pd.DataFrame({"a": [0.5, 1.5], "b": [1, -(10**400)]}))


def test_an_arrow_table_with_a_repeated_name_is_an_error_that_names_it():
    cells = pa.array([1.0, 2.0])
    with pytest.raises(ValueError, match=r"got \['a', 'a'\]\. Rename the duplicates"):
        RectifiedEulerKMeans(2).fit(pa.Table.from_arrays([cells, cells], names=["a", "a"]))
