"""Sparse tables whose index arrays lie are refused in a sentence, before anything follows them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from rekmeans import EulerKMeans, KernelKMeans
from rekmeans.engines.native import _core
from rekmeans.table.refusals import as_rows

X = np.round(np.random.default_rng(0).random((40, 12)) * (np.random.default_rng(1).random((40, 12)) < 0.4), 2)
X[:, 0] += 1


def change(name, at, value):
    def damage(table):
        getattr(table, name)[at] = value

    return damage


def shorten(name):
    def damage(table):
        setattr(table, name, getattr(table, name)[:-3].copy())

    return damage


DAMAGES = {
    "column far outside": change("indices", 3, 10**6),
    "column one outside": change("indices", -1, 12),
    "negative column": change("indices", 5, -1),
    "decreasing indptr": change("indptr", 6, 3),
    "negative indptr": change("indptr", 1, -7),
    "first indptr not 0": change("indptr", 0, 2),
    "last indptr too large": change("indptr", -1, 10**9),
    "few indices": shorten("indices"),
    "few data": shorten("data"),
    "few indptr": shorten("indptr"),
}


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("damage", DAMAGES)
def test_index_arrays_that_lie_are_refused(damage, form, index):
    table = form(X)
    table.indices, table.indptr = table.indices.astype(index), table.indptr.astype(index)
    if form is sparse.csc_array and damage.startswith("column one"):
        table.indices[-1] = 40
    else:
        DAMAGES[damage](table)
    for estimator in (EulerKMeans(2), KernelKMeans(2, kernel="rbf"), EulerKMeans(2, engine="reference")):
        with pytest.raises(ValueError, match=r"X is a damaged sparse table: .*; build it anew from its cells\."):
            estimator.fit(table)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("value", [-1, 40])
def test_coordinates_outside_are_refused(axis, value):
    table = sparse.coo_array(X)
    table.coords[axis][2] = value
    with pytest.raises(ValueError, match=r"damaged sparse table: .*axis \d index"):
        EulerKMeans(2).fit(table)


@pytest.mark.parametrize("flag", ["has_canonical_format", "has_sorted_indices"])
def test_false_flags_are_found_out(flag):
    table = sparse.csr_array(X)
    data, indices = np.repeat(table.data, 2) / 2, np.repeat(table.indices, 2)  # each cell twice
    double = sparse.csr_array((data, indices, table.indptr * 2), shape=X.shape)
    for i in range(40):  # and backwards
        row = slice(double.indptr[i], double.indptr[i + 1])
        double.indices[row], double.data[row] = double.indices[row][::-1].copy(), double.data[row][::-1].copy()
    double.has_canonical_format = double.has_sorted_indices = False
    setattr(double, flag, True)
    assert_array_equal(as_rows(double).toarray(), X)
    one, two = (EulerKMeans(3, random_state=0).fit(t) for t in (X, double))
    assert_array_equal(one.labels_, two.labels_)
    assert_array_equal(one.centroids_, two.centroids_)


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
        lambda: _core.Seeding(rows).row_at(1, 0, 0),
        lambda: _core.Seeding(rows).add_best(np.zeros((0, 6), np.int32)),
        lambda: _core.Seeding(rows).swap_best(C),
    ]
    for call in bad:
        with pytest.raises(ValueError, match=r"\w+"):
            call()
