"""Out-of-core tables behave like the same rows in memory, and each query reads them once."""

import threading
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from rekmeans import RectifiedEulerKMeans
from rekmeans.engines import read_input
from rekmeans.table import MemoryTable
from rekmeans.table.array_blocks import ArrayBlocks
from rekmeans.table.base import EXACT_ROWS, SUMMARY_ROWS, numbers_of_rows
from rekmeans.table.source_parts import RawBlock, SourcePart, prefetch
from rekmeans.table.stream import StreamTable, block_rows
from rekmeans.table.stream_input import survey_rows
from support.assertions import assert_message_states_fix, assert_same_fit, raises_mentioning
from support.streams import (
    FORMS,
    NAMED,
    NAMELESS,
    D,
    N,
    called_arrays,
    frame,
    stream_rows,
    stream_weights,
    weights_of,
)

X = stream_rows()
W = stream_weights()
SMALL = 20_000  # bytes, fewer than the table needs: blocks of 256 rows

each_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
weighted = pytest.mark.parametrize("w", [None, W], ids=["equal", "weighted"])


def read(X, sample_weight=None, memory_limit=SMALL, fitting=True):
    return read_input(RectifiedEulerKMeans(3), X, sample_weight, memory_limit, fitting=fitting)


def assert_same_table(one, two):
    assert_array_equal(one.dense(), two.dense())
    assert (one.weights is None) == (two.weights is None)
    if one.weights is not None:
        assert_array_equal(one.weights, two.weights)


def middle(x, w):
    return (len(x), float(np.median(x)), -1.0 if w is None else float(w.sum()))


def place(cells, w, v):
    return np.stack(
        [np.nanmean(cells, axis=0), np.full(cells.shape[1], v if w is None else v + w.sum())]
    )


@each_form
@weighted
def test_every_form_answers_as_the_rows_in_memory(form, w, tmp_path):
    stream = read(form(tmp_path, X, w), weights_of(form, w))
    memory = MemoryTable(X, w)
    assert isinstance(stream, StreamTable)
    assert (stream.n_rows, stream.n_columns, stream.has_missing()) == (1000, 3, True)
    assert stream.columns["n_features_in_"] == 3
    assert list(stream.columns.get("feature_names_in_", [])) == (
        ["c0", "c1", "c2"] if form in NAMED else []
    )
    for count, seed in [(20, 1), (400, 2), (2000, 3)]:
        assert_same_table(stream.sample(count, seed), memory.sample(count, seed))
    one, two = stream.column_summary(), memory.column_summary()
    assert_array_equal(one.extent, two.extent)
    assert one.by_column(middle) == two.by_column(middle)
    assert_array_equal(one.by_block(place), two.by_block(place))
    assert_array_equal(stream.dense(np.array([999, 3, 3, 0])), X[[999, 3, 3, 0]])
    assert_array_equal(stream.dense(slice(130, 520)), X[130:520])
    if w is not None:
        assert_array_equal(stream.weights, w)


@weighted
def test_summaries_of_large_tables_are_those_of_the_same_sample(w, tmp_path):
    n = EXACT_ROWS + 40_000
    large = np.random.default_rng(3).normal(size=(n, 2)).astype(np.float32)
    weights = None if w is None else np.resize(w, n)
    stream = read(lambda: iter(np.array_split(large, 7)), weights)
    memory = MemoryTable(large, weights)
    one, two = stream.column_summary(), memory.column_summary()
    assert one.rows.n_rows == two.rows.n_rows == SUMMARY_ROWS
    assert_array_equal(one.rows.columns(slice(0, 2)), two.rows.columns(slice(0, 2)))
    assert_array_equal(one.extent, two.extent)


class CountedReads(ArrayBlocks):
    """An array that counts how often it is read from the first row, without random access."""

    def __init__(self, array):
        object.__setattr__(self, "array", array)
        object.__setattr__(self, "reads", [])

    def blocks(self, size):
        self.reads.append(size)
        return super().blocks(size)

    def parts(self, size):
        return [SourcePart(0, partial(self.blocks, size))]

    def take(self, rows):
        return None


def test_each_question_costs_one_read_and_some_none():
    source = CountedReads(X)
    table = StreamTable(source, survey_rows(source, list(range(3)), SMALL), {}, SMALL)
    assert source.reads == [256]
    table.column_summary().extent  # noqa: B018
    table.has_missing()
    assert len(source.reads) == 1
    table.column_summary().by_column(middle)
    table.column_summary().by_column(middle)
    assert len(source.reads) == 2
    table.sample(20, 0)
    assert len(source.reads) == 3


def test_blocks_follow_the_memory_limit():
    assert block_rows(100, 10**9) == block_rows(100)
    assert block_rows(100, 10**8) * (6 * 8 * 100) < 10**8 / 2
    assert block_rows(10**6, 1) == 256


def test_the_next_block_is_read_in_a_thread_while_the_last_is_used():
    asked = threading.Semaphore(0)
    threads = set()

    def blocks():
        for number in range(4):
            threads.add(threading.get_ident())
            asked.release()
            yield number

    for number in prefetch(blocks()):
        if number < 3:  # otherwise nothing would be left to read
            assert asked.acquire(timeout=10)  # this block
            assert asked.acquire(timeout=10)  # and the next one, which is read ahead
            asked.release()
    assert threads.isdisjoint({threading.get_ident()})


def test_a_memmap_is_read_in_blocks_only_where_it_is_larger_than_the_limit(tmp_path):
    array = FORMS[0](tmp_path, X, None)
    assert isinstance(read(array, memory_limit=X.nbytes - 1), StreamTable)
    assert isinstance(read(array, memory_limit=X.nbytes), MemoryTable)
    assert isinstance(read(array, memory_limit=None), MemoryTable)


# functions that reuse the same memory for each block


def refilled(make_blocks, n_rows, n_buffers, size=7000):
    """Return a function that yields blocks of rows a to b, alternating between these buffers."""
    buffers = [np.empty((size, D + 1)) for _ in range(n_buffers)]

    def blocks():
        for number, at in enumerate(range(0, n_rows, size)):
            yield make_blocks(buffers[number % n_buffers], slice(at, min(at + size, n_rows)))

    return blocks


@pytest.mark.parametrize("n_rows", [N, 120_000], ids=["small", "large"])
@pytest.mark.parametrize("n_buffers", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_in_the_same_memory_give_the_bits_of_a_table_in_memory(n_rows, n_buffers, weighted):
    X = stream_rows(n_rows)
    w = stream_weights(n_rows)

    def fill(buffer, rows):
        n = rows.stop - rows.start
        buffer[:n, :D] = X[rows]
        buffer[:n, D] = w[rows]
        return (
            pd.DataFrame(buffer[:n], columns=[*"abc", "w"], copy=False)
            if weighted
            else buffer[:n, :D]
        )

    size = 100 if n_rows == N else 7000
    function = refilled(fill, n_rows, n_buffers, size)
    expected = RectifiedEulerKMeans(3, random_state=0).fit(X, sample_weight=w if weighted else None)
    found = RectifiedEulerKMeans(3, random_state=0).fit(
        function, sample_weight="w" if weighted else None
    )
    assert_same_fit(found, expected)


def test_memory_that_is_used_for_something_else_after_the_last_block():
    X = stream_rows(3000)

    def blocks():
        block = X.copy()
        yield block
        block[:] = 0

    expected = RectifiedEulerKMeans(3, random_state=0).fit(X)
    assert_same_fit(RectifiedEulerKMeans(3, random_state=0, memory_limit=1).fit(blocks), expected)


# errors


@each_form
def test_bad_cells_are_refused_with_their_row_and_column(form, tmp_path):
    bad = X.copy()
    bad[700, 1] = np.inf
    with raises_mentioning(
        ValueError, "infinity in row 700", "'c1'" if form in NAMED else "column 1"
    ):
        read(form(tmp_path, bad, None))


@pytest.mark.parametrize("form", NAMELESS, ids=lambda form: form.__name__)
def test_a_name_of_weights_needs_column_names(form, tmp_path):
    with raises_mentioning(ValueError, "sample_weight='w'"):
        read(form(tmp_path, X, None), "w")


@pytest.mark.parametrize("form", NAMED, ids=lambda form: form.__name__)
def test_weights_are_refused_as_in_memory(form, tmp_path):
    with raises_mentioning(ValueError, "sample_weight='v' must be a column"):
        read(form(tmp_path, X, W), "v")
    for number, (weight, sentence) in enumerate(
        [(-1.0, "not negative"), (1e30, "ratio"), (np.nan, "finite")]
    ):
        (folder := tmp_path / str(number)).mkdir()
        with raises_mentioning(ValueError, sentence):
            read(form(folder, X, np.where(np.arange(len(X)) == 600, weight, W)), "w")
    (tmp_path / "zero").mkdir()
    with raises_mentioning(ValueError, "all zero"):
        read(form(tmp_path / "zero", X, 0 * W), "w")


def test_other_input_is_refused_in_a_sentence(tmp_path):
    with raises_mentioning(FileNotFoundError, "does not exist"):
        read(tmp_path / "no.parquet")
    with raises_mentioning(FileNotFoundError, "No files match"):
        read(f"{tmp_path}/*.parquet")
    (tmp_path / "text.parquet").write_text("a,b\n1,2\n")
    with raises_mentioning(ValueError, "must be a parquet file"):
        read(tmp_path / "text.parquet")
    np.save(tmp_path / "line.npy", X[:, 0])
    with raises_mentioning(ValueError, "2-D array of numbers"):
        read(tmp_path / "line.npy")
    with raises_mentioning(TypeError, "new iterator over blocks"):
        read(lambda: X)
    with raises_mentioning(ValueError, "at least one row"):
        read(lambda: iter([]))
    with raises_mentioning(ValueError, "blocks of 3 columns", "got 2"):
        read(lambda: iter([X[:5], X[:5, :2]]))
    with raises_mentioning(ValueError, "999 weights, but X has more rows"):
        read(called_arrays(tmp_path, X, None), W[:-1])
    with raises_mentioning(ValueError, "1001 weights, but X has 1000 rows"):
        read(called_arrays(tmp_path, X, None), np.ones(1001))
    fitted = RectifiedEulerKMeans(3).fit(np.nan_to_num(X)[:, :2])
    with raises_mentioning(ValueError, "X has 3 features", "expecting 2"):
        read_input(fitted, called_arrays(tmp_path, X, None), fitting=False)


def test_frames_of_a_function_have_one_set_of_names():
    dense = np.nan_to_num(X)
    whole = frame(dense)
    mixed = read(lambda: iter([whole[:400], whole[400:][["c2", "c0", "c1"]]]))
    assert_array_equal(mixed.dense(), dense)  # by name
    sentence = "in every block."
    for other in (
        whole.rename(columns={"c1": "z"}),
        whole.assign(z=0.0),
        whole[["c0", "c1"]],
        dense,
    ):
        for blocks in ([whole, other], [other, whole]):
            with raises_mentioning(ValueError, sentence) as caught:
                read(lambda blocks=blocks: iter(blocks))
            assert_message_states_fix(caught.value)


@pytest.mark.parametrize("form", NAMED, ids=lambda form: form.__name__)
def test_the_table_of_a_fit_with_a_column_of_weights_is_taken_again_without_it(form, tmp_path):
    table = form(tmp_path, X, W)
    model = RectifiedEulerKMeans(3, random_state=0, n_init=1).fit(table, sample_weight="w")
    assert_array_equal(model.predict(table), model.labels_)
    assert_array_equal(model.transform(table), model.transform(frame(X)))
    assert model.score(table, sample_weight="w") == model.score(frame(X), sample_weight=W)
    fewer = RectifiedEulerKMeans(3, random_state=0, n_init=1).fit(frame(X).assign(more=1.0))
    words = (
        ("Feature names seen",) if callable(table) else ("no column 'more'", "the model requires")
    )
    with raises_mentioning(ValueError, *words):
        fewer.predict(table)


def test_a_copy_of_a_memmap_is_in_memory(tmp_path):
    copied = FORMS[0](tmp_path, X, None).copy()
    assert isinstance(copied, np.memmap)
    table = read(copied, memory_limit=1)
    assert isinstance(table, MemoryTable)
    assert_array_equal(table.dense(), X)


def test_few_rows_of_many_take_few_numbers():
    n = 10**12
    assert_array_equal(numbers_of_rows(slice(10, 2, -3), n), [10, 7, 4])
    assert_array_equal(numbers_of_rows(slice(-2, None), n), [n - 2, n - 1])
    assert_array_equal(numbers_of_rows(np.array([3, -1, 3]), n), [3, n - 1, 3])
    assert_array_equal(numbers_of_rows(np.array([True, False, True]), 3), [0, 2])
    with raises_mentioning(IndexError, "between 0 and 2", "3"):
        numbers_of_rows(np.array([3]), 3)


def test_rows_that_change_between_two_reads_are_refused():
    sizes = iter([1000, 1000, 900])  # the first block is read before the survey
    table = read(lambda: iter([X[: next(sizes)]]))
    with raises_mentioning(ValueError, "must not change", "1,000 rows", "900"):
        table.sample(20, 0)


def test_a_block_has_its_weights_beside_it():
    assert RawBlock(X, None).weights is None


def test_a_memmap_that_is_read_in_blocks_keeps_what_was_changed_in_memory(tmp_path):
    X = np.random.default_rng(0).normal(size=(3000, 4))
    np.save(tmp_path / "X.npy", X)
    changed = np.load(tmp_path / "X.npy", mmap_mode="c")
    changed += 1.0  # only in memory; the file has the old cells
    seen = np.concatenate([block.X for block in ArrayBlocks(changed).blocks(500)])
    assert_array_equal(seen, X + 1.0)
    assert_array_equal(changed, X + 1.0)
