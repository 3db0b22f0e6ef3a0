"""Sorted columns match NumPy's quantiles and plain counts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rekmeans.scales.sorted_columns import SortedColumns


def random_columns(n, is_weighted):
    random = np.random.default_rng(n)
    X = random.normal(size=(n, 30)).round(1)
    w = random.integers(1, 5, n)
    X[random.random(X.shape) < 0.2] = np.nan
    return X, w, SortedColumns.sort(X, w if is_weighted else None, 1.0)


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 20, 21, 400])
def test_quantiles_of_columns_are_those_of_numpy(n, is_weighted):
    X, w, columns = random_columns(n, is_weighted)
    shares = (0.05, 0.25, 0.5, 0.75, 0.95)
    found = np.stack([columns.quantile(share) for share in shares])
    for j, (x, mine) in enumerate(zip(X.T, found.T, strict=True)):
        at = ~np.isnan(x)
        weights = w[at] if is_weighted else None
        theirs = (
            np.quantile(x[at], shares, weights=weights, method="inverted_cdf")
            if at.any()
            else np.nan
        )
        assert_allclose(mine, theirs, rtol=0)
        if at.any():
            assert_array_equal([columns.cells(j).quantile(share) for share in shares], theirs)


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("n", [1, 7, 200])
def test_masses_are_sums_over_the_cells(n, is_weighted):
    X, w, columns = random_columns(n, is_weighted)
    mass = w if is_weighted else np.ones(n)
    bounds = np.random.default_rng(0).normal(size=30).round(1)
    assert_array_equal(columns.total, [mass[~np.isnan(x)].sum() for x in X.T])
    assert_array_equal(
        columns.mass_of_first(columns.count_up_to(bounds)),
        [mass[x <= b].sum() for x, b in zip(X.T, bounds, strict=True)],
    )
    assert_array_equal(
        columns.mass_of_first(columns.count_below(bounds)),
        [mass[x < b].sum() for x, b in zip(X.T, bounds, strict=True)],
    )
    for j, (x, bound) in enumerate(zip(X.T, bounds, strict=True)):
        if columns.n_observed[j]:
            cells = columns.cells(j)
            assert (
                cells.mass_within(-bound, bound) == mass[(x >= -bound) & (x <= bound)].sum()
                or bound < 0
            )
            values, counts = cells.distinct()
            assert_array_equal(values, np.unique(x[~np.isnan(x)]))
            assert_array_equal(counts, [mass[x == value].sum() for value in values])


@pytest.mark.parametrize("is_weighted", [False, True])
def test_cells_at_a_mass_from_either_end(is_weighted):
    X, w, columns = random_columns(50, is_weighted)
    for goal in (0.0, 3.0, 10.5):
        first = columns.first_after_mass(np.full(30, goal))
        last = columns.last_before_mass(columns.total - goal)
        for j, x in enumerate(X.T):
            x, repeats = x[~np.isnan(x)], (w if is_weighted else np.ones(50, int))[~np.isnan(x)]
            rows = np.sort(np.repeat(x, repeats))
            assert first[j] == rows[int(np.floor(goal))]
            assert last[j] == rows[::-1][int(np.floor(goal))]
