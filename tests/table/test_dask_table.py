"""A Dask collection behaves like the same rows in memory, for any partitions."""

import numpy as np
import pytest
from dask import array, dataframe
from numpy.testing import assert_array_equal

from rekmeans import RectifiedEulerKMeans
from rekmeans.engines import read_input
from rekmeans.table import MemoryTable
from rekmeans.table.base import EXACT_ROWS, SUMMARY_ROWS
from support.streams import CUTS, frame, stream_rows, stream_weights

X = stream_rows()
W = stream_weights()
weighted = pytest.mark.parametrize("w", [None, W], ids=["equal", "weighted"])


def read(rows, w, lengths):
    weights = None if w is None else array.from_array(w, chunks=(lengths,))
    collection = array.from_array(rows, chunks=(lengths, rows.shape[1]))
    return read_input(RectifiedEulerKMeans(3), collection, weights, fitting=True)


@weighted
@pytest.mark.parametrize("lengths", [tuple(np.diff(CUTS).tolist()), (1000,), (0, 1, 0, 999)])
def test_any_partitions_answer_as_the_rows_in_memory(lengths, w):
    table = read(X, w, lengths)
    memory = MemoryTable(X, w)
    assert (table.n_rows, table.n_columns, table.has_missing()) == (1000, 3, True)
    for count, seed in [(20, 1), (400, 2), (2000, 3)]:
        one, two = table.sample(count, seed), memory.sample(count, seed)
        assert_array_equal(one.dense(), two.dense())
        assert (one.weights is None) == (two.weights is None)
        if one.weights is not None:
            assert_array_equal(one.weights, two.weights)
    assert_array_equal(table.column_summary().extent, memory.column_summary().extent)
    assert_array_equal(table.dense(np.array([999, 3, 3, 0])), X[[999, 3, 3, 0]])
    assert_array_equal(table.dense(slice(130, 520)), X[130:520])
    if w is not None:
        assert_array_equal(table.weights, w)


@weighted
def test_summaries_of_large_tables_are_those_of_the_same_sample(w):
    n = EXACT_ROWS + 40_000
    large = np.random.default_rng(3).normal(size=(n, 2)).astype(np.float32)
    weights = None if w is None else np.resize(w, n)
    one = read(large, weights, (n // 3, n - n // 3)).column_summary()
    two = MemoryTable(large, weights).column_summary()
    assert one.rows.n_rows == two.rows.n_rows == SUMMARY_ROWS
    assert_array_equal(one.rows.columns(slice(0, 2)), two.rows.columns(slice(0, 2)))


def test_a_frame_of_a_fit_with_a_column_of_weights_is_taken_again_without_it():
    rows = dataframe.from_pandas(frame(X, W), npartitions=3)
    model = RectifiedEulerKMeans(3, random_state=0, n_init=1).fit(rows, sample_weight="w")
    assert_array_equal(model.predict(rows).compute(), model.labels_.compute())
    assert model.score(rows, sample_weight="w") == model.score(frame(X), sample_weight=W)
