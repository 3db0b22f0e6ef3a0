"""The core checks arrays from Python: sizes, labels, row numbers, and sparse arrays while it reads
them.
"""

import numpy as np
import pytest

from rekmeans.engines.native import Native, _core
from rekmeans.table import MemoryTable


def rows_of(data, indices, indptr, d=3):
    ends = [np.full(d, end) for end in (-10.0, 10.0, 0.0)]
    scale = _core.Scale(*ends, np.full(d, 0.1), np.zeros(d), "clip")
    return _core.SparseRows(
        np.asarray(data, float), np.array(indices), np.array(indptr), d, scale, None, 2, ""
    )


def test_the_core_checks_sparse_arrays():
    assert rows_of([1, 2, 3], [0, 2, 1], [0, 2, 3]).is_complete
    for indices, indptr, message in [
        ([0, 3, 1], [0, 2, 3], "column 3 after 0"),
        ([2, 0, 1], [0, 2, 3], "column 0 after 2"),
        ([0, 0, 1], [0, 2, 3], "column 0 after 0"),
        ([-5, 0, 1], [0, 2, 3], "column -5"),
        ([0, 1, 1], [0, 2, 4], "outside its 3 stored cells"),
        ([0, 1, 1], [0, 3, 2], "row 0|row 1"),
        ([0, 1, 1], [-1, 2, 3], "row 0 of the sparse table is outside"),
        ([0, 1], [0, 2, 3], r"indices must have shape \(n_stored,\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            rows_of([1, 2, 3], indices, indptr)


def test_the_core_rejects_arrays_of_the_wrong_size():
    rows = rows_of([1, 2, 3], [0, 2, 1], [0, 2, 3])
    C = np.zeros((2, 6), np.int32)
    run = _core.Run(rows, 2, True)
    plan = _core.SeedingPlan(2, 4, 1, 8, 3)
    bad = [
        lambda: run.assign(C[:1]),
        lambda: run.centroids(True, np.zeros((2, 5), np.int32)),
        lambda: rows.grid(np.array([2])),
        lambda: rows.grid(np.array([-1])),
        lambda: rows.phase_sums(np.array([0, 2], np.int32), 2),
        lambda: rows.phase_sums(np.array([0], np.int32), 2),
        lambda: rows.distances(C, np.array([0, -1], np.int32)),
        lambda: rows.distances(C[:, :4].copy(), np.array([0, 1], np.int32)),
        lambda: _core.Run(rows, 0, True),
        lambda: _core.fit_starts(rows, C, 0, True, True, 5, 0.0),
        lambda: _core.fit_starts(rows, C[:, :4].copy(), 2, True, True, 5, 0.0),
        lambda: _core.fit_starts(rows, np.zeros((3, 6), np.int32), 2, True, True, 5, 0.0),
        lambda: _core.Seeding(rows, np.zeros(5, np.int32)),
        lambda: _core.Seeding(rows, None).add_best(np.zeros((0, 6), np.int32)),
        lambda: _core.Seeding(rows, None).add_best(np.zeros((17, 6), np.int32)),
        lambda: _core.Seeding(rows, None).add_rows(np.zeros((1, 0), np.uint64)),
        lambda: _core.Seeding(rows, None).add_rows(np.zeros((1, 17), np.uint64)),
        lambda: _core.Seeding(rows, None).swap_best(C),
        lambda: _core.Seeding(rows, None).swap_rows(np.zeros((1, 8), np.uint64), 3),
        lambda: _core.fit_drawn_starts(
            rows, None, np.zeros((1, 4), np.uint64), plan, True, True, 5, 0.0
        ),
        lambda: _core.fit_drawn_starts(
            rows, None, np.zeros((0, 13), np.uint64), plan, True, True, 5, 0.0
        ),
    ]
    for call in bad:
        with pytest.raises(ValueError, match=r"\w+"):
            call()


def test_column_scales_reject_inconsistent_arrays():
    X = np.zeros((4, 3))
    ends = np.zeros((1, 3))
    data = np.ones(3)
    indices = np.array([0, 1, 3])
    indptr = np.array([0, 2, 3])
    assert _core.place_columns(X, np.array([0, 3]), np.array([1, 2]), 1.0, 0).shape == (97, 3)
    assert _core.place_columns(data, indices, indptr, 4, None, 1.0, 2).shape == (97, 2)
    bad = [
        lambda: _core.place_columns(X, np.array([0, 4]), None, 1.0, 1),
        lambda: _core.place_columns(X, np.array([-1]), None, 1.0, 1),
        lambda: _core.place_columns(X, np.array([0, 3]), np.array([1, 2, 3, 4]), 1.0, 1),
        lambda: _core.place_columns(data, indices, indptr, 3, None, 1.0, 1),
        lambda: _core.place_columns(data, indices[:2], indptr, 4, None, 1.0, 1),
        lambda: _core.place_columns(data, indices, np.array([0, 2, 4]), 4, None, 1.0, 1),
        lambda: _core.place_columns(data, indices, np.array([0, 3, 2]), 4, None, 1.0, 1),
        lambda: _core.place_columns(data, indices, np.array([-1, 2, 3]), 4, None, 1.0, 1),
        lambda: _core.place_columns(data, np.array([0, 1, 0]), np.array([0, 3]), 2, None, 1.0, 1),
        lambda: _core.place_columns(data, indices, indptr, 4, np.array([1, 2]), 1.0, 1),
        lambda: _core.cells_left_out_by_row(X, None, ends[:, :2].copy(), ends, 1),
        lambda: _core.cells_left_out_by_row(X, None, ends, np.zeros((2, 3)), 1),
        lambda: _core.cells_left_out_by_row(X, np.array([9]), ends, ends, 1),
    ]
    for call in bad:
        with pytest.raises(ValueError, match=r"\w+"):
            call()


def dense_rows(n=4, d=3, weights=None):
    ends = [np.full(d, end) for end in (-10.0, 10.0, 0.0)]
    scale = _core.Scale(*ends, np.full(d, 0.1), np.zeros(d), "ignore")
    return _core.DenseRows(
        np.arange(float(n * d)).reshape(n, d) / 10, scale, weights, True, 1, ""
    ), scale


def test_a_fit_of_rows_without_weight_ends():
    rows, _ = dense_rows(weights=np.zeros(4, np.int64))
    C = np.zeros((2, 6), np.int32)
    centroids, labels, _, losses, *_ = _core.fit_starts(rows, C, 2, True, True, 5, 0.0)
    assert (centroids == C).all()
    assert losses == [0]
    assert labels.shape == (4,)


def test_calls_in_the_wrong_order_raise():
    rows, scale = dense_rows()
    C = np.zeros((2, 6), np.int32)
    words = np.zeros((1, 2), np.uint64)
    block = np.zeros((4, 3))
    seeding = _core.Seeding(rows, None)
    with pytest.raises(RuntimeError, match="no centroids yet"):
        seeding.nearest_masses()
    seeding.add_all(C)
    with pytest.raises(RuntimeError, match="swaps are not possible after add_all"):
        seeding.swap_rows(words, 1)
    empty = _core.Seeding(dense_rows(n=0)[0], None)
    for call in (empty.sample, empty.add_rows, empty.add_drawn):
        with pytest.raises(ValueError, match="without rows"):
            call(words)

    run = _core.BlockRun(scale, 2, 3, "")
    state = np.zeros(4, np.int32), np.zeros(4, np.float32), np.zeros(4, np.float32)
    with pytest.raises(RuntimeError, match="start_pass first"):
        run.assign_rows(block, None, *state, 1)
    with pytest.raises(RuntimeError, match="start_pass first"):
        _ = run.loss
    run.start_pass(C)
    run.assign_rows(block, None, *state, 1)
    with pytest.raises(ValueError, match="this block has weights, but earlier blocks had none"):
        run.assign_rows(block, np.ones(4, np.int64), *state, 1)
    run.start_pass(C)
    with pytest.raises(RuntimeError, match="assigned 0 rows and the first 4"):
        run.start_pass(C)


def test_numbers_out_of_range_raise():
    rows, scale = dense_rows()
    X = np.zeros((4, 3))
    C = np.zeros((2, 6), np.int32)
    off_circle = np.full((2, 6), _core.GRID, np.int32)
    none = np.zeros((0, 6), np.int32)
    labels = np.zeros(4, np.int32)
    state = labels, np.zeros(4, np.float32), np.zeros(4, np.float32)
    run = _core.Run(rows, 2, True)
    blocks = _core.BlockRun(scale, 2, 3, "")
    seeding = _core.Seeding(rows, None)
    blocks.start_pass(C)
    for call, message in [
        (lambda: run.assign(off_circle), "C must lie within circles"),
        (lambda: run.assign(np.full((2, 6), -(1 << 31), np.int32)), "C must lie within circles"),
        (lambda: run.centroids(True, off_circle), "old must lie within circles"),
        (lambda: blocks.start_pass(off_circle), "C must lie within circles"),
        (lambda: seeding.add_best(off_circle), "candidates must lie within circles"),
        (
            lambda: _core.fit_starts(rows, off_circle, 2, True, True, 5, 0.0),
            "starts must lie within circles",
        ),
        (lambda: _core.fit_starts(rows, C, 2, True, True, 5, np.nan), "tol must be a number"),
        (lambda: _core.Seeding(rows, off_circle[0]), "overall must lie within circles"),
        (lambda: rows.distances(none, labels), "k must be 1 to"),
        (lambda: rows.phase_sums(labels, 0), "k must be 1 to"),
        (lambda: _core.Run(rows, 1 << 60, True), "k must be 1 to"),
        (lambda: _core.SeedingPlan(1 << 33, 16, 1, 8, 3), "k must be 1 to"),
        (lambda: _core.SeedingPlan(2, 0, 1, 8, 3), "candidates must be 1 to 16, got 0"),
        (lambda: _core.SeedingPlan(2, 2, 1, 17, 3), "swap_candidates must be 1 to 16, got 17"),
        (lambda: _core.SeedingPlan(2, 2, 1 << 60, 8, 3), "batches must be 0 to"),
        (
            lambda: _core.DenseRows(X, scale, np.full(4, -1), True, 1, ""),
            "weights must be 0 to 2147483648, got -1",
        ),
        (lambda: _core.DenseRows(X, scale, None, True, 1 << 40, ""), "threads must be at most 256"),
        (
            lambda: _core.DenseRows(np.zeros((4, 40_000)), scale, None, True, 1, ""),
            "1 to 32767 columns, got 40000",
        ),
        (
            lambda: blocks.assign_rows(X, None, labels, labels.view(np.float32), state[2], 1),
            "must not share memory",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


def test_arrays_of_another_type_order_or_alignment_are_not_converted():
    rows, scale = dense_rows()
    X = np.zeros((4, 3))
    state = (np.zeros(4, np.float32), np.zeros(4, np.float32))
    unaligned = np.zeros(4 * 3 * 8 + 1, np.uint8)[1:].view(np.float64).reshape(4, 3)
    blocks = _core.BlockRun(scale, 2, 3, "")
    blocks.start_pass(np.zeros((2, 6), np.int32))
    data, indptr = np.ones(4), np.arange(5)
    for call in [
        # labels would be written to a copy
        lambda: blocks.assign_rows(X, None, np.zeros(4, np.int64), *state, 1),
        # the core would keep a pointer to a freed copy
        lambda: _core.SparseRows(
            data.astype(np.float32), indptr[:4], indptr, 4, scale, None, 1, ""
        ),
        lambda: rows.grid(np.array([0.7])),
        lambda: rows.distances(
            np.asfortranarray(np.zeros((2, 6), np.int32)), np.zeros(4, np.int32)
        ),
        lambda: _core.DenseRows(unaligned, scale, None, True, 1, ""),
        lambda: _core.DenseRows(X.astype(np.complex64), scale, None, True, 1, ""),
        lambda: _core.DenseRows(X.astype(np.float16), scale, None, True, 1, ""),
    ]:
        with pytest.raises(TypeError, match=r"\w+"):
            call()


def test_too_many_rows_raise_an_error_before_any_work():
    n = _core.MAX_ROWS + 1
    X = np.broadcast_to(np.zeros((1, 1)), (n, 1))  # needs no memory
    scale = _core.Scale(*(np.array([end]) for end in (-1.0, 1.0, 0.0, 1.0, 0.0)), "clip")
    for call in (
        lambda: _core.DenseRows(X, scale, None, False, 1, ""),
        lambda: _core.SparseRows(X, scale, None, 1, ""),
        lambda: _core.place_columns(X, None, None, 1.0, 1),
    ):
        with pytest.raises(
            ValueError,
            match=r"supports at most 2147483648 rows in memory, got 2147483649\. Fit a sample",
        ):
            call()


def test_the_engine_rejects_a_table_with_too_many_rows():
    table = MemoryTable(np.broadcast_to(np.zeros((1, 1)), (_core.MAX_ROWS + 1, 1)))
    assert "supports at most 2147483648 rows in memory, got 2147483649" in Native().unsupported(
        [], table
    )
