"""Scales match plain loops and closed forms.

A weight is equivalent to repeated rows, and the order of the rows has no effect.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from rekmeans.scales import BEYOND, SCALES
from support.models import scale_of


@pytest.mark.parametrize("name", ["robust", "range", "global"])
@pytest.mark.parametrize("value", [0.0, -7.25])
@pytest.mark.parametrize("rows", [1, 2, 30])
def test_a_constant_column_has_unit_one(name, value, rows):
    found = scale_of(name, np.full((rows, 1), value))
    assert (found.origin[0], found.unit[0]) == (value, 1.0)
    assert found.inside(np.array([[value]])).all()


@pytest.mark.parametrize("name", SCALES)
def test_an_empty_column_has_unit_one_and_does_not_change_others(name):
    X = np.random.default_rng(0).normal(size=(30, 3))
    with_empty_column = np.insert(X, 1, np.nan, axis=1)
    found, alone = scale_of(name, with_empty_column), scale_of(name, X)
    if name != "global":
        assert (found.origin[1], found.unit[1]) == (0.0, 1.0)
    assert_array_equal(found.origin[[0, 2, 3]], alone.origin)
    assert_array_equal(found.unit[[0, 2, 3]], alone.unit)


@pytest.mark.parametrize("name", SCALES)
def test_an_empty_table_has_unit_one(name):
    assert_array_equal(scale_of(name, np.full((3, 2), np.nan)).unit[:, 0], [1.0, 1.0])


TABLE = np.array([[1.0, -8.0, 5.0], [np.nan, 4.0, 5.0], [3.5, 0.0, np.nan], [2.0, -2.0, 5.0]])


def test_the_range_is_the_minimum_and_maximum_of_each_column():
    scale = scale_of("range", TABLE)
    assert_array_equal(scale.origin, [1, -8, 5])
    assert_array_equal(scale.unit[:, 0], [2.5, 12, 1])
    assert_array_equal([scale.low[:, 0], scale.high[:, 0]], [[1, -8, 5], [3.5, 4, 5]])
    assert_array_equal(
        scale.to_units(TABLE, "wrap"),
        [[0, 0, 0], [np.nan, 1, 0], [1, 8 / 12, np.nan], [1 / 2.5, 0.5, 0]],
    )


def test_the_global_range_is_one_for_all_columns():
    scale = scale_of("global", TABLE)
    assert_array_equal(scale.origin, [-8, -8, -8])
    assert_array_equal(scale.unit[:, 0], [13, 13, 13])
    assert_array_equal([scale.low[:, 0], scale.high[:, 0]], [[-8, -8, -8], [5, 5, 5]])


def test_without_a_scale_values_are_unchanged_and_in_range():
    scale = scale_of(None, TABLE)
    assert_array_equal(scale.to_units(TABLE, "wrap"), TABLE)
    assert_array_equal(scale.inside(TABLE), ~np.isnan(TABLE))
    assert_array_equal([scale.low[:, 0], scale.high[:, 0]], [[-np.inf] * 3, [np.inf] * 3])


@pytest.mark.parametrize(
    ("beyond", "expected"),
    [
        ("ignore", [[0.5, np.nan], [np.nan, 20.0], [1.0, 20.0], [1.0, 10.0]]),
        ("clip", [[0.5, 20.0], [1.0, 20.0], [1.0, 20.0], [1.0, 10.0]]),
        ("wrap", [[0.5, 21.0], [1.5, 20.0], [9.0, 99.0], [7.0, -9.0]]),
    ],
)
def test_a_value_out_of_range_is_ignored_clipped_or_kept(beyond, expected):
    scale = scale_of("range", np.array([[0.0, 10.0], [1.0, 20.0]]))
    X = np.array(
        [[0.5, 21.0], [1.5, 20.0], [9.0, 99.0], [7.0, -9.0]]
    )  # all cells of the last two rows are out of range
    assert_array_equal(BEYOND[beyond](scale, X)[0], expected)


def test_a_row_without_a_kept_value_is_clipped_and_keeps_missing_cells():
    scale = scale_of("range", np.array([[0.0, 10.0], [1.0, 20.0]]))
    X = np.array([[np.nan, 30.0], [-2.0, np.nan]])
    assert_array_equal(BEYOND["ignore"](scale, X)[0], [[np.nan, 20.0], [0.0, np.nan]])


def test_the_inverse_scale_returns_the_table():
    X = np.random.default_rng(0).normal(3, 50, (40, 3))
    for name in SCALES:
        scale = scale_of(name, X)
        assert_allclose(
            scale.from_units(scale.to_units(X, "wrap")), X, rtol=1e-12, err_msg=str(name)
        )


cells = st.one_of(st.integers(-4, 4).map(float), st.floats(-1e3, 1e3, width=32), st.just(np.nan))
tables = arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=cells)


def assert_same_scale(one, other):
    for name in ("low", "high", "shift", "unit", "period"):
        assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize("name", SCALES)
@given(X=tables, data=st.data())
def test_a_weight_repeats_the_row(name, X, data):
    w = np.array(
        data.draw(st.lists(st.integers(0, 5), min_size=len(X), max_size=len(X)).filter(any))
    )
    repeated = np.repeat(X, w, axis=0)
    assert_same_scale(scale_of(name, X, w.astype(float)), scale_of(name, repeated))
    # weights that are not counts are divided by their mean, so a factor has no effect
    fractional = w + 0.3 * (w > 0)
    assert_same_scale(scale_of(name, X, fractional), scale_of(name, X, fractional / 8))


@pytest.mark.parametrize("name", SCALES)
@given(X=tables, data=st.data())
def test_row_order_has_no_effect(name, X, data):
    order = np.array(data.draw(st.permutations(range(len(X)))))
    w = np.array(data.draw(st.lists(st.floats(0.5, 4), min_size=len(X), max_size=len(X))))
    assert_same_scale(scale_of(name, X[order], w[order]), scale_of(name, X, w))
    assert_same_scale(scale_of(name, X[order]), scale_of(name, X))


@pytest.mark.parametrize("name", ["robust", "range", None])
@given(X=tables)
def test_missing_cells_are_ignored(name, X):
    found = scale_of(name, X)
    for j, column in enumerate(X.T):
        observed = column[~np.isnan(column)]
        if len(observed):
            alone = scale_of(name, observed[:, None])
            assert (found.origin[j], found.unit[j]) == (alone.origin[0], alone.unit[0])


@pytest.mark.parametrize("rows", [50, 400])
def test_a_gross_error_changes_the_range_much_and_the_robust_unit_little(rows):
    X = np.random.default_rng(2).normal(0, 1, (rows, 1))
    clean = {name: scale_of(name, X) for name in ("robust", "range")}
    X[7] = 1e6
    dirty = {name: scale_of(name, X) for name in ("robust", "range")}
    assert abs(dirty["robust"].unit[0] / clean["robust"].unit[0] - 1) < 12 / rows
    assert abs(dirty["robust"].origin[0] - clean["robust"].origin[0]) < 5 / rows
    assert dirty["range"].unit[0] / clean["range"].unit[0] > 1e5


@pytest.mark.parametrize("share", [0.1, 0.2, 0.3])
def test_outliers_change_the_standard_deviation_more_than_the_robust_unit(share):
    random = np.random.default_rng(3)
    X = random.normal(0, 1, (2000, 1))
    dirty = np.where(random.random(X.shape) < share, 15 * random.standard_normal(X.shape), X)
    assert scale_of("robust", dirty).unit[0] < 4 * 2
    assert dirty.std() > 4
