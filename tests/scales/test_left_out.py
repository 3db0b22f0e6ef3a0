"""What is left out is counted as plain loops count it, and said where it matters, by name and with
the way out.
"""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from rekmeans import RectifiedEulerKMeans
from rekmeans.scales.left_out import LeftOut, LeftOutWarning, count_left_out
from rekmeans.table import MemoryTable
from support.models import scale_of


def warned(X, **parameters):
    """The words of the warning on what is left out, or ''."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        RectifiedEulerKMeans(2, random_state=0, **parameters).fit(X)
    return " ".join(str(one.message) for one in caught if one.category is LeftOutWarning)


def with_far_cells(share, columns, n=1000):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 4))
    rows = random.permutation(n)[: int(share * n)]
    X[np.ix_(rows, columns)] = random.uniform(50, 500, (len(rows), len(columns)))
    return X


def test_few_cells_are_left_out_without_a_word():
    assert warned(with_far_cells(0.008, [1])) == ""
    assert warned(with_far_cells(0.05, [1]), scale="range") == ""
    assert warned(with_far_cells(0.05, [1]), beyond="clip") == ""
    few = np.array([[0.0, 1.0], [0.1, 2.0], [0.2, 1.5], [0.3, 1.2], [0.4, 1.8], [99.0, 1.1]])
    assert warned(few) == ""  # 17 %, but a single cell


def test_columns_are_named_with_their_shares_and_the_way_out():
    X = with_far_cells(0.05, [1])
    said = warned(pd.DataFrame(X, columns=["age", "income", "calls", "days"]))
    assert re.match(r"5\.\d% of income left out as far from all others\.", said)
    assert said.endswith("use scale='range'.")
    assert "rows" not in said
    assert re.match(r"5\.\d% of column 1 left out", warned(X))


def test_rows_left_out_in_several_columns_at_once_are_told_from_chance():
    together = warned(with_far_cells(0.05, [0, 1, 2]))
    assert re.search(
        r"5\d of 1,000 rows are left out in several columns at once, \d+ by chance", together
    )
    random = np.random.default_rng(1)
    X = random.normal(size=(1000, 4))
    apart = np.where(random.random(X.shape) < 0.05, random.uniform(50, 500, X.shape), X)
    assert "several columns" not in warned(apart)


def test_rows_that_take_no_part_are_counted():
    assert "30 of 1,000 rows take no part: all their cells are left out." in warned(
        with_far_cells(0.03, [0, 1, 2, 3])
    )


@pytest.mark.parametrize("seed", range(3))
def test_counts_are_those_of_plain_loops(seed):
    random = np.random.default_rng(seed)
    X = random.standard_cauchy((300, 5))
    X[random.random(X.shape) < 0.1] = np.nan
    scale = scale_of("robust", X)
    found = count_left_out(scale, MemoryTable(X).column_summary(), len(X), 0)
    outside = ~np.isnan(X) & ~scale.inside(X)
    assert_allclose(found.shares, outside.sum(axis=0) / (~np.isnan(X)).sum(axis=0))
    assert found.n_in_several == sum(sum(row) > 1 for row in outside.tolist())


def test_the_number_expected_by_chance_is_that_of_independent_columns():
    shares = np.array([0.05, 0.2, 0.1])
    drawn = np.random.default_rng(0).random((200_000, 3)) < shares
    expected = LeftOut(shares, 200_000, 0, 0).expected_in_several
    assert_allclose(expected, np.count_nonzero(drawn.sum(axis=1) > 1), rtol=0.02)
