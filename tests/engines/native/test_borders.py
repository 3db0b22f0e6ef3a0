"""Arrays that cross into the core are checked: sizes, labels, numbers of rows, and sparse arrays as they are read."""

import numpy as np
import pytest

from rekmeans.engines.native import _core


def rows_of(data, indices, indptr, d=3):
    ends = [np.full(d, end) for end in (-10.0, 10.0, 0.0)]
    scale = _core.Scale(*ends, np.full(d, 0.1), np.zeros(d), "clip")
    return _core.SparseRows(np.asarray(data, float), np.array(indices), np.array(indptr), d, scale, None, 2, "")


def test_the_core_checks_what_it_reads():
    assert rows_of([1, 2, 3], [0, 2, 1], [0, 2, 3]).is_complete
    for indices, indptr, says in [
        ([0, 3, 1], [0, 2, 3], "column 3 after 0"),
        ([2, 0, 1], [0, 2, 3], "column 0 after 2"),
        ([0, 0, 1], [0, 2, 3], "column 0 after 0"),
        ([-5, 0, 1], [0, 2, 3], "column -5"),
        ([0, 1, 1], [0, 2, 4], "outside its 3 stored cells"),
        ([0, 1, 1], [0, 3, 2], "row 0|row 1"),
        ([0, 1, 1], [-1, 2, 3], "row 0 of the sparse table lies outside"),
        ([0, 1], [0, 2, 3], "indices are as many as data"),
    ]:
        with pytest.raises(ValueError, match=says):
            rows_of([1, 2, 3], indices, indptr)


def test_the_core_refuses_arrays_of_another_size():
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
        lambda: _core.fit_drawn_starts(rows, None, np.zeros((1, 4), np.uint64), plan, True, True, 5, 0.0),
        lambda: _core.fit_drawn_starts(rows, None, np.zeros((0, 13), np.uint64), plan, True, True, 5, 0.0),
    ]
    for call in bad:
        with pytest.raises(ValueError, match=r"\w+"):
            call()


def test_scales_of_columns_refuse_arrays_that_do_not_fit_together():
    X, ends = np.zeros((4, 3)), np.zeros((1, 3))
    data, indices, indptr = np.ones(3), np.array([0, 1, 3]), np.array([0, 2, 3])
    assert _core.place_columns(X, np.array([0, 3]), np.array([1, 2]), 1.0, 0).shape == (26, 3)
    assert _core.place_columns(data, indices, indptr, 4, None, 1.0, 2).shape == (26, 2)
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
