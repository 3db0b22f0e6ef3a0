"""Parts of a source that several threads read: every row once, faults raised, decoded blocks kept
in their room.
"""

import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from pyarrow import dataset

from rekmeans import EulerKMeans, RectifiedEulerKMeans
from rekmeans.table.source_parts import RawBlock, SourcePart, map_parts
from rekmeans.table.stream_input import room_for_blocks
from support.scans import open_blocks

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(9000, 4)) + RANDOM.integers(0, 3, (9000, 1)) * 3.0
NAMES = list("abcd")


@pytest.fixture
def folder(tmp_path):
    """Files of different length, in row groups of different size; one of them has no row."""
    for number, (start, stop, group) in enumerate(
        [(0, 4000, 1000), (4000, 4000, 10), (4000, 8500, 37), (8500, 9000, 999)]
    ):
        table = pa.table({name: X[start:stop, j] for j, name in enumerate(NAMES)})
        pyarrow.parquet.write_table(table, tmp_path / f"{number}.parquet", row_group_size=group)
    return tmp_path


def source_of(folder):
    return open_blocks(dataset.dataset(str(folder), format="parquet"))


def rows_of(parts, n_threads=3):
    """All rows, put where the parts say that they belong."""
    found = np.full_like(X, np.nan)

    def put(start, block):
        found[start : start + len(block.X)] = np.asarray(block.X)

    assert sum(n for n, _ in map_parts(parts, put, n_threads)) == len(X)
    return found


@pytest.mark.parametrize("size", [100, 999, 10**6])
def test_parts_of_parquet_are_all_rows_in_their_places(folder, size):
    np.testing.assert_array_equal(rows_of(source_of(folder).parts(size)), X)


def test_small_row_groups_are_read_together(folder):
    assert len(source_of(folder).parts(100)) == 3  # a part of each file that has rows


def test_rows_that_a_filter_leaves_are_those_that_are_read(folder):
    data = dataset.dataset(str(folder), format="parquet").filter(dataset.field("a") > 1)
    found = np.concatenate([np.asarray(block.X) for block in open_blocks(data).blocks(1000)])
    np.testing.assert_array_equal(found, X[X[:, 0] > 1])


def test_a_fault_in_a_thread_is_raised_and_ends_the_others():
    n_read = []

    def blocks():
        for _ in range(10**6):
            n_read.append(1)
            yield RawBlock(np.zeros((1, 1)), None)

    def fail_at_third(start, block):
        if start == 2:
            raise ValueError("the third")
        return start

    with pytest.raises(ValueError, match="the third"):
        list(map_parts([SourcePart(0, blocks), SourcePart(10**7, blocks)], fail_at_third, 2))
    assert len(n_read) < 10**6


def test_a_read_that_is_given_up_ends_its_threads():
    before = threading.active_count()

    def blocks():
        while True:
            yield RawBlock(np.zeros((1, 1)), None)

    reading = map_parts(
        [SourcePart(0, blocks), SourcePart(0, blocks)], lambda start, block: start, 2
    )
    next(reading)
    reading.close()
    assert threading.active_count() == before


def test_decoded_blocks_are_kept_as_far_as_there_is_room(folder):
    source = source_of(folder)
    first_file = 4000 * 4 * 8
    source.keep_blocks(first_file + 100)
    for _ in range(3):
        np.testing.assert_array_equal(rows_of(source.parts(500)), X)
    # whoever came first, and never more
    kept = sum(len(block.X) for blocks in source.kept.values() for block in blocks)
    assert kept in (4000, 500, 4500)
    assert source.room >= 0


def test_a_table_that_is_kept_is_decoded_once(folder):
    source = source_of(folder)
    source.keep_blocks(10**9)
    rows_of(source.parts(500))
    for path in folder.glob("*.parquet"):
        path.unlink()
    np.testing.assert_array_equal(rows_of(source.parts(700)), X)
    np.testing.assert_array_equal(
        np.concatenate([np.asarray(block.X) for block in source.blocks(700)]), X
    )


def test_a_read_that_is_given_up_takes_no_room(folder):
    source = source_of(folder)
    source.keep_blocks(10**9)
    reading = source.blocks(100)
    next(reading)
    reading.close()
    assert (source.room, source.kept) == (10**9, {})


def test_room_for_blocks_is_what_the_limit_leaves():
    assert room_for_blocks(10**6, 10**6) == 0
    assert 0 < room_for_blocks(10**6, 10**9) < 10**9 * 3 // 4 - 12 * 10**6


@pytest.mark.parametrize("limit", [None, "100KB", "1GB"])
@pytest.mark.parametrize("estimator", [EulerKMeans, RectifiedEulerKMeans])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_any_number_of_readers_gives_the_bits_of_memory(folder, estimator, limit, n_threads):
    ours = estimator(3, random_state=0, memory_limit=limit, n_threads=n_threads).fit(str(folder))
    theirs = estimator(3, random_state=0).fit(X)
    for name in ("labels_", "centroids_", "cluster_centers_"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    assert ours.inertia_ == theirs.inertia_
    np.testing.assert_array_equal(ours.history_["n_changed"], theirs.history_["n_changed"])
