"""Ignored values are counted as plain loops count them, and warnings name columns and the fix."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from rekmeans import RectifiedEulerKMeans
from rekmeans.scales import identity_scale
from rekmeans.scales.left_out import (
    IgnoredValues,
    IgnoredValuesWarning,
    LeftOutWarning,
    count_ignored_values,
)
from rekmeans.table import MemoryTable
from support.models import scale_of


def warned(X, **parameters):
    """Return the text of the warning about ignored values, or ''."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        RectifiedEulerKMeans(2, random_state=0, **parameters).fit(X)
    return " ".join(str(one.message) for one in caught if one.category is IgnoredValuesWarning)


def with_far_cells(share, columns, n=1000):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 4))
    rows = random.permutation(n)[: int(share * n)]
    X[np.ix_(rows, columns)] = random.uniform(50, 500, (len(rows), len(columns)))
    return X


def test_few_ignored_values_raise_no_warning():
    assert warned(with_far_cells(0.008, [1])) == ""
    assert warned(with_far_cells(0.05, [1]), scale="range") == ""
    assert warned(with_far_cells(0.05, [1]), beyond="clip") == ""
    few = np.array([[0.0, 1.0], [0.1, 2.0], [0.2, 1.5], [0.3, 1.2], [0.4, 1.8], [99.0, 1.1]])
    assert warned(few) == ""  # 17 %, but a single cell


def test_columns_are_named_with_their_shares_kept_values_and_the_fix():
    X = with_far_cells(0.05, [1])
    text = warned(pd.DataFrame(X, columns=["age", "income", "calls", "days"]))
    match = re.match(
        r"Ignored 5\.\d% of `income` as outliers \(kept: (-\d\.\d+) to (\d\.\d+)\)\. ", text
    )
    low, high = map(float, match.groups())
    bulk = X[np.abs(X[:, 1]) < 10, 1]
    assert_allclose([low, high], bulk.mean() + np.array([-4, 4]) * bulk.std(), atol=0.1)
    assert text.endswith("If these values are real, pass beyond='clip'.")
    assert "rows" not in text
    assert re.match(r"Ignored 5\.\d% of column 1 as outliers", warned(X))


def test_several_columns_are_named_and_further_ones_counted():
    shares = np.array([0.02, 0.05, 0.0, 0.03])
    ignored = IgnoredValues(identity_scale(4), shares, 1000, 0, 0)
    kept = "(kept: -inf to inf)"
    assert ignored.messages(list("abcd")) == [
        f"Ignored as outliers: 5.0% of `b` {kept}, 3.0% of `d` {kept} and 2.0% of `a` {kept}."
    ]
    ignored = IgnoredValues(identity_scale(5), np.array([*shares, 0.015]), 1000, 0, 0)
    assert ignored.messages(list("abcde"))[0].endswith(" and more than 1% of 1 other column.")


def test_the_old_name_of_the_warning_still_works():
    assert LeftOutWarning is IgnoredValuesWarning


def test_rows_that_are_extreme_in_several_columns_are_distinguished_from_chance():
    together = warned(with_far_cells(0.05, [0, 1, 2]))
    assert re.search(
        r"5\d rows are extreme in several columns \(\d+ expected by chance\)\.", together
    )
    random = np.random.default_rng(1)
    X = random.normal(size=(1000, 4))
    apart = np.where(random.random(X.shape) < 0.05, random.uniform(50, 500, X.shape), X)
    assert "several columns" not in warned(apart)


def test_rows_without_a_kept_value_are_counted():
    text = "30 of 1,000 rows have no kept value and do not influence the centroids."
    assert text in warned(with_far_cells(0.03, [0, 1, 2, 3]))
    one = IgnoredValues(identity_scale(2), np.zeros(2), 50, 0, 1)
    assert one.messages() == [
        "1 of 50 rows has no kept value and does not influence the centroids."
    ]


@pytest.mark.parametrize("seed", range(3))
def test_counts_are_those_of_plain_loops(seed):
    random = np.random.default_rng(seed)
    X = random.standard_cauchy((300, 5))
    X[random.random(X.shape) < 0.1] = np.nan
    scale = scale_of("robust", X)
    found = count_ignored_values(scale, MemoryTable(X).column_summary(), len(X), 0)
    outside = ~np.isnan(X) & ~scale.inside(X)
    assert_allclose(found.shares, outside.sum(axis=0) / (~np.isnan(X)).sum(axis=0))
    assert found.n_in_several == sum(sum(row) > 1 for row in outside.tolist())


def test_the_number_expected_by_chance_is_that_of_independent_columns():
    shares = np.array([0.05, 0.2, 0.1])
    drawn = np.random.default_rng(0).random((200_000, 3)) < shares
    expected = IgnoredValues(identity_scale(3), shares, 200_000, 0, 0).expected_in_several
    assert_allclose(expected, np.count_nonzero(drawn.sum(axis=1) > 1), rtol=0.02)
