"""Samples of a table, drawn by weight, and column summaries of large tables."""

from bisect import bisect_right

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from rekmeans import EulerKMeans, FuzzyCMeans, KernelKMeans, RectifiedEulerKMeans
from rekmeans._grid import integer_weights
from rekmeans.estimators.placement import place_for_fit
from rekmeans.table import MemoryTable, draw_rows
from rekmeans.table.base import EXACT_ROWS, SUMMARY_ROWS, _high_words
from rekmeans.table.validation import pairwise_table

K = 4
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 3)) + 3 * RANDOM.integers(0, 3, (60, 1))


# samples


def drawn_by_hand(weights, count, seed):
    """Compute draws in Python integers: the first row with a running weight above r total/2^64."""
    bits = np.random.PCG64(seed)
    total = sum(weights)
    numbers = []
    for _ in range(count):
        goal = (int(bits.random_raw()) * total) >> 64
        running = 0
        for number, weight in enumerate(weights):
            running += weight
            if running > goal:
                numbers.append(number)
                break
    return numbers


@given(seed=st.integers(0, 1000), weighted=st.booleans())
@settings(max_examples=20)
def test_a_sample_is_drawn_by_the_rule_written_out(seed, weighted):
    weights = np.random.default_rng(seed).integers(0, 4, 60).astype(float) if weighted else None
    table = MemoryTable(np.arange(60.0)[:, None], weights)
    sample = table.sample(20, seed)
    if weighted and (weights > 0).sum() <= 20:
        return
    integer_w = np.ones(60, int) if weights is None else integer_weights(weights)[0]
    numbers, times = np.unique(drawn_by_hand(integer_w.tolist(), 20, seed), return_counts=True)
    assert_array_equal(sample.dense()[:, 0], numbers)
    assert_array_equal(sample.weights, times)


def test_repeated_rows_and_weights_draw_the_same_rows():
    times = np.random.default_rng(3).integers(1, 5, 60)
    weighted = MemoryTable(np.arange(60.0)[:, None], times.astype(float)).sample(30, 7)
    repeated = MemoryTable(np.repeat(np.arange(60.0), times)[:, None]).sample(30, 7)
    one, two = (np.repeat(s.dense()[:, 0], s.weights.astype(int)) for s in (weighted, repeated))
    assert_array_equal(one, two)


def test_a_small_table_is_its_own_sample_without_the_rows_that_do_not_count():
    table = MemoryTable(X)
    assert table.sample(60, 0) is table
    weights = np.where(np.arange(60) % 3 == 0, 0.0, 2.0)
    sample = MemoryTable(X, weights).sample(60, 0)
    assert_array_equal(sample.dense(), X[weights > 0])


def test_a_sample_of_kernel_values_takes_both_sides():
    K = X @ X.T
    sample = pairwise_table(MemoryTable(K), fitting=True).sample(20, 3)
    numbers = MemoryTable(np.arange(60.0)[:, None]).sample(20, 3).dense()[:, 0].astype(int)
    assert_array_equal(sample.dense()[:, :-1], K[np.ix_(numbers, numbers)])
    assert_array_equal(sample.dense()[:, -1], np.diag(K)[numbers])
    new = pairwise_table(MemoryTable(K[:, :10]), fitting=False).sample(20, 3)
    assert_array_equal(new.dense()[:, :-1], K[numbers, :10])


def test_rows_of_a_sample_live_on_the_same_engine():
    for estimator in (
        EulerKMeans(K),
        KernelKMeans(K),
        FuzzyCMeans(K, kernel="laplace", engine="reference"),
    ):
        rows = place_for_fit(estimator, X).rows
        few = rows.place(rows.table.sample(25, 1))
        assert type(few) is type(rows)
        assert np.ldexp(float(few.weights().sum()), -few.weight_bits) == 25
        assert len(few) == len(MemoryTable(X).sample(25, 1).X)


# column summaries


def test_summaries_of_a_large_table_have_its_extent_and_the_quantiles_of_its_sample():
    n = EXACT_ROWS + 1
    x = np.random.default_rng(0).normal(size=(n, 1))
    x[n // 2] = 1e6  # a single row, which a sample may miss
    table = MemoryTable(x)
    summary = table.column_summary()
    assert summary.extent[1] == 1e6
    sample = table.sample(SUMMARY_ROWS, 0)
    cells = np.repeat(sample.dense()[:, 0], sample.weights.astype(int))
    assert len(cells) == SUMMARY_ROWS
    (median,) = summary.by_column(
        lambda x, w: float(np.quantile(x, 0.5, weights=w, method="inverted_cdf"))
    )
    assert median == np.quantile(cells, 0.5, method="inverted_cdf")
    exact = MemoryTable(x[:-1]).column_summary().by_column(lambda x, w: (len(x), w))
    assert exact == [(EXACT_ROWS, None)]


def test_rows_of_no_weight_do_not_change_the_scale_of_a_large_table():
    table = np.random.default_rng(0).normal(size=(EXACT_ROWS - 1000, 2))
    more = np.concatenate([table, table[:2000] + 5])
    weights = np.concatenate([np.ones(len(table)), np.zeros(2000)])
    own = {"n_clusters": 3, "init": table[:3], "max_iter": 3}
    alone = RectifiedEulerKMeans(**own).fit(table)
    beside = RectifiedEulerKMeans(**own).fit(more, sample_weight=weights)
    assert alone.inertia_ == beside.inertia_
    assert_array_equal(alone.labels_, beside.labels_[: len(table)])


def test_rows_are_drawn_by_exact_products_of_words():
    """Return the first row whose running sum exceeds total r/2^64, in Python integers."""
    random = np.random.default_rng(3)
    for largest in (1, 5, 2**31, 2**40):
        weights = random.integers(0, largest, 1000, endpoint=True)
        ends = np.cumsum(weights).tolist()
        bits = np.random.PCG64(9)
        expected = [bisect_right(ends, int(bits.random_raw()) * ends[-1] >> 64) for _ in range(500)]
        assert draw_rows(weights, np.random.PCG64(9).random_raw(500)).tolist() == expected


def test_high_words_are_those_of_python_integers():
    words = np.concatenate(
        [np.random.PCG64(5).random_raw(1000), [0, 2**64 - 1, 2**32, 2**32 - 1]]
    ).astype(np.uint64)
    for factor in (1, 2**32 - 1, 2**32, 2**33 + 12345, 2**63 - 1):
        assert _high_words(words, factor).tolist() == [int(word) * factor >> 64 for word in words]
