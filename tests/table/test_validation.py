"""Invalid input raises the right exception; its message names the parameter and the value."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from rekmeans import EulerKMeans, EulerMap, RectifiedEulerKMeans, deviation_degree
from support.assertions import raises_mentioning

X = np.random.default_rng(0).normal(size=(12, 3))
NAMED = pd.DataFrame(X, columns=["length", "width", "height"])
ONES = np.ones(12)
# row 7 is missing; about half are zeros
GAP = np.where(np.arange(12)[:, None] == 7, np.nan, np.where(X < 0, 0, X))


def with_cell(value, table=X):
    """Return the table with `value` in row 4, column 1."""
    changed = table.copy()
    changed[4, 1] = value
    return changed


def with_weight(value):
    return np.append(ONES[:11], value)


def cases(table):
    """Return test parameters from {name: (value, exception, words of the message)}."""
    return pytest.mark.parametrize(
        ("value", "error", "words"), [pytest.param(*case, id=name) for name, case in table.items()]
    )


TABLES = {
    "a number": (5.0, ValueError, ["X", "2-D", "0-D", "()"]),
    "None": (None, ValueError, ["X", "2-D", "0-D"]),
    "one row": (X[0], ValueError, ["X", "2-D", "1-D", "(3,)", "reshape"]),
    "a pandas series": (NAMED["width"], ValueError, ["X", "2-D", "1-D", "(12,)"]),
    "a polars series": (pl.Series([1.0, 2.0]), ValueError, ["X", "2-D", "1-D", "(2,)"]),
    "three axes": (X[None], ValueError, ["X", "2-D", "3-D", "(1, 12, 3)"]),
    "ragged lists": ([[1.0, 2.0], [3.0]], ValueError, ["X", "2-D"]),
    "a lazy frame": (pl.LazyFrame({"a": [1.0, 2.0]}), (TypeError, ValueError), ["X", "LazyFrame"]),
    "no rows": (X[:0], ValueError, ["X", "0 sample(s)", "(0, 3)"]),
    "no columns": (X[:, :0], ValueError, ["X", "0 feature(s)", "(12, 0)"]),
    "an empty frame": (pd.DataFrame(), ValueError, ["X", "0 sample(s)", "(0, 0)"]),
    "infinity": (with_cell(np.inf), ValueError, ["X", "infinity", "row 4", "column 1"]),
    "minus infinity": (with_cell(-np.inf), ValueError, ["X", "infinity", "row 4", "column 1"]),
    "infinity in a named column": (
        NAMED.replace(X[4, 1], np.inf),
        ValueError,
        ["X", "infinity", "row 4", "'width'"],
    ),
    "a huge value": (with_cell(1e200), ValueError, ["X", "1e+200", "row 4", "column 1"]),
    "a huge negative value": (with_cell(-3e151), ValueError, ["X", "-3e+151", "row 4", "column 1"]),
    "only NaN": (np.full_like(X, np.nan), ValueError, ["X", "no observed value", "all 12 rows"]),
    "only nulls": (
        pl.DataFrame({name: [None] * 3 for name in "abc"}, schema=dict.fromkeys("abc", pl.Float64)),
        ValueError,
        ["X", "no observed value", "all 3 rows"],
    ),
    "objects": (
        with_cell("red", X.astype(object)),
        ValueError,
        ["X", "numeric", "column 1", "str"],
    ),
    "dicts": (
        with_cell({}, X.astype(object)),
        (TypeError, ValueError),
        ["X", "numeric", "column 1", "dict"],
    ),
    "strings": (X.astype(str), ValueError, ["X", "numeric", "column 0", "str"]),
    "bytes": (X.astype(bytes), ValueError, ["X", "numeric", "column 0", "bytes"]),
    "complex numbers": (X + 1j, ValueError, ["X", "Complex", "complex128"]),
    "complex objects": (
        with_cell(1j, X.astype(object)),
        (TypeError, ValueError),
        ["X", "column 1", "complex"],
    ),
    "a complex column": (
        NAMED.assign(width=X[:, 1] + 1j),
        (TypeError, ValueError),
        ["X", "'width'", "complex"],
    ),
    "complex numbers, sparse": (
        sparse.csr_array(X + 1j),
        ValueError,
        ["X", "Complex", "complex128"],
    ),
    "infinity, sparse": (
        sparse.csr_array(with_cell(np.inf)),
        ValueError,
        ["X", "inf", "row 4", "column 1"],
    ),
    "a huge value, sparse": (
        sparse.csc_array(with_cell(1e200)),
        ValueError,
        ["X", "1e+200", "row 4", "column 1"],
    ),
    "one row, sparse": (sparse.coo_array(X[0]), ValueError, ["X", "2-D", "1-D", "(3,)"]),
    "no rows, sparse": (sparse.csr_array((0, 3)), ValueError, ["X", "0 sample(s)", "(0, 3)"]),
    "no columns, sparse": (sparse.csr_array((12, 0)), ValueError, ["X", "0 feature(s)", "(12, 0)"]),
    "only NaN, sparse": (
        sparse.csr_array(np.full_like(X, np.nan)),
        ValueError,
        ["X", "no observed value", "all 12 rows"],
    ),
}

COLOUR = {"colour": "red"}
SKIPPED = {  # frames with a non-numeric column, and the reason why it is skipped
    "text in pandas": (NAMED.assign(**COLOUR), "colour (text)"),
    "text in polars": (pl.DataFrame(NAMED.assign(**COLOUR)), "colour (text)"),
    "text in arrow": (pa.table(NAMED.assign(**COLOUR)), "colour (text)"),
    "categories": (NAMED.assign(kind=pd.Categorical(["a"] * 12)), "kind (text)"),
    "dates": (NAMED.assign(day=pd.Timestamp("2021-01-01")), "day (dates or times)"),
    "durations": (NAMED.assign(took=pd.Timedelta(1, "s")), "took (dates or times)"),
    "lists": (pl.DataFrame(NAMED).with_columns(b=pl.Series([[1, 2]] * 12)), "b (large_list"),
    "an id": (NAMED.assign(row_id=np.arange(12)), "row_id (an id)"),
    "no value": (NAMED.assign(gone=np.nan), "gone (every value is missing)"),
}


@pytest.mark.parametrize("case", SKIPPED)
def test_columns_that_are_no_numbers_are_skipped_with_a_warning(case):
    frame, words = SKIPPED[case]
    with pytest.warns(UserWarning, match=re.escape(words)) as caught:
        model = RectifiedEulerKMeans(2, random_state=0).fit(frame)
    assert len([one for one in caught if "Ignored columns" in str(one.message)]) == 1
    expected = RectifiedEulerKMeans(2, random_state=0).fit(NAMED)
    np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)
    assert list(model.feature_names_in_) == list(NAMED.columns)
    assert model.n_features_in_ == NAMED.shape[1]
    assert len(model.schema_.columns) == NAMED.shape[1] + 1
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    # a skipped column may be absent
    np.testing.assert_array_equal(model.predict(NAMED), model.labels_)
    with pytest.raises(ValueError, match=r"no column 'width'.*the model requires"):
        model.predict(NAMED.drop(columns="width").assign(**COLOUR))


def test_numbers_as_text_are_parsed_as_in_the_fit():
    texts = NAMED.assign(width=[f"{x:.3f}".replace(".", ",") + " €" for x in NAMED["width"]])
    numbers = NAMED.assign(width=NAMED["width"].round(3))
    model = RectifiedEulerKMeans(2, random_state=0).fit(texts)
    expected = RectifiedEulerKMeans(2, random_state=0).fit(numbers)
    np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)
    # "1,234" alone would be 1234, but the fit found decimal commas
    few = texts[:2].assign(width=["1,234", "2,345"])
    found = model.transform(few)
    np.testing.assert_array_equal(
        found, expected.transform(numbers[:2].assign(width=[1.234, 2.345]))
    )


@pytest.mark.parametrize("estimator", [EulerKMeans(2), RectifiedEulerKMeans(2), EulerMap()])
@cases(TABLES)
def test_fit_refuses_a_bad_table(estimator, value, error, words):
    with raises_mentioning(error, *words):
        clone(estimator).fit(value)


def test_fit_refuses_two_columns_of_one_name():
    with raises_mentioning(ValueError, "X", "column", "'width'"):
        RectifiedEulerKMeans(2).fit(NAMED.set_axis(["length", "width", "width"], axis=1))


@pytest.mark.parametrize("method", ["predict", "transform", "score", "score_samples"])
@cases(TABLES)
def test_a_fitted_model_refuses_a_bad_table(method, value, error, words):
    model = RectifiedEulerKMeans(2, random_state=0).fit(X)
    with raises_mentioning(error, *words):
        getattr(model, method)(value)


WEIGHTS = {
    "negative": (with_weight(-2.5), ["negative", "-2.5"]),
    "NaN": (with_weight(np.nan), ["finite", "nan"]),
    "infinite": (with_weight(np.inf), ["finite", "inf"]),
    "all zero": (0 * ONES, ["zero"]),
    "too few": (ONES[:5], ["(5,)", "(12,)"]),
    "too many": (np.ones(13), ["(13,)", "(12,)"]),
    "a column": (ONES[:, None], ["(12, 1)", "(12,)"]),
    "a ratio that is too large": (with_weight(1e-12), ["ratio", "1e+12", "2**31"]),
    "text": (["heavy"] * 12, ["numeric", "heavy"]),
    "a negative number for all": (-1.0, ["negative", "-1.0"]),
}


@pytest.mark.parametrize("estimator", [EulerKMeans(2), RectifiedEulerKMeans(2), EulerMap()])
@pytest.mark.parametrize(("weights", "words"), WEIGHTS.values(), ids=WEIGHTS)
def test_fit_refuses_bad_weights(estimator, weights, words):
    with raises_mentioning(ValueError, "sample_weight", *words):
        clone(estimator).fit(X, sample_weight=weights)


@pytest.mark.parametrize(("weights", "words"), WEIGHTS.values(), ids=WEIGHTS)
def test_score_refuses_bad_weights(weights, words):
    with raises_mentioning(ValueError, "sample_weight", *words):
        RectifiedEulerKMeans(2, random_state=0).fit(X).score(X, sample_weight=weights)


@pytest.mark.parametrize("smallest", [1.0, 2.0**-30])
def test_weights_within_the_ratio_are_taken(smallest):
    assert (
        RectifiedEulerKMeans(2, random_state=0).fit(X, sample_weight=with_weight(smallest)).inertia_
        > 0
    )


SCALES = ["'robust'", "'range'", "'global'", "None"]
BEYOND = ["'ignore'", "'clip'", "'wrap'"]
MAP = {
    "alpha": [
        (value, ["greater than 0"])
        for value in (0, 0.0, -1, np.nan, np.inf, "1", True, None, 1j, [0.5])
    ],
    "scale": [(value, SCALES) for value in ("minmax", 1, True, ["robust"])],
    "beyond": [(value, BEYOND) for value in ("drop", None, 0)],
}
LOOP = {
    "n_clusters": [(value, ["at least 1"]) for value in (0, -1, 2.5, 3.0, "3", None, True)],
    "init": [
        ("kmeans", ["'k-means++'", "'random'", "'circle'"]),
        ("", ["'k-means++'", "'random'", "'circle'"]),
    ],
    "n_init": [(value, ["at least 1"]) for value in (0, -1, 1.5, "many", None, True)],
    "max_iter": [(value, ["at least 1"]) for value in (0, -5, 2.5, None, True)],
    "tol": [(value, ["at least 0"]) for value in (-1, -1e-9, np.nan, np.inf, "small", None)],
    "n_threads": [(value, ["at least 1"]) for value in (0, -2, 1.5, "all")],
    "engine": [(value, ["'auto'", "'reference'"]) for value in ("abacus", None, 1, ["auto"])],
}


def parameters(table):
    return [
        pytest.param(name, value, words, id=f"{name}={value!r}")
        for name, values in table.items()
        for value, words in values
    ]


@pytest.mark.parametrize("clusterer", [EulerKMeans, RectifiedEulerKMeans])
@pytest.mark.parametrize(("name", "value", "words"), parameters(MAP | LOOP))
def test_a_clusterer_refuses_a_bad_parameter(clusterer, name, value, words):
    with raises_mentioning(ValueError, f"{name} must be", f"got {value!r}", *words):
        clusterer(**{"n_clusters": 2, name: value}).fit(X)


@pytest.mark.parametrize(("name", "value", "words"), parameters(MAP))
def test_the_map_refuses_a_bad_parameter(name, value, words):
    with raises_mentioning(ValueError, f"{name} must be", f"got {value!r}", *words):
        EulerMap(**{name: value}).fit(X)


@pytest.mark.parametrize("estimator", [EulerKMeans(2), RectifiedEulerKMeans(2), EulerMap()])
@pytest.mark.parametrize(
    ("scale", "factor"), [("robust", 0.01), ("range", 0.01), ("global", 0.01), (None, 100.0)]
)
def test_an_alpha_that_overflows_on_the_table_is_refused(estimator, scale, factor):
    with raises_mentioning(ValueError, "alpha", "1e+308"):
        clone(estimator).set_params(alpha=1e308, scale=scale).fit(factor * X)


def test_more_clusters_than_rows_are_refused():
    with raises_mentioning(ValueError, "n_clusters=13", "at least 13 rows", "n_samples=12"):
        RectifiedEulerKMeans(13).fit(X)


STARTS = {
    "too many points": (X[:3], ["(2, 3)", "(3, 3)"]),
    "too few columns": (X[:2, :2], ["(2, 3)", "(2, 2)"]),
    "one point": (X[0], ["(2, 3)", "(3,)"]),
    "NaN": (with_cell(np.nan)[3:5], ["finite", "NaN"]),
    "infinity": (with_cell(np.inf)[3:5], ["finite", "infinity"]),
    "too large": (np.full((2, 3), 1e300), ["finite"]),
    "a number": (5, ["(2, 3)"]),
    "None": (None, ["'k-means++'", "None"]),
    "an object": (object(), ["object"]),
    "a dict": ({"a": 1}, ["dict"]),
    "text": ([["a", "b", "c"], ["d", "e", "f"]], ["'a'"]),
    "ragged lists": ([[1.0, 2.0], [3.0]], []),
    "complex points": (X[:2] + 1j, ["complex"]),
    "a callable's wrong shape": (lambda X, k, random_state: X[:1], ["(2, 3)", "(1, 3)"]),
    "a callable's NaN": (lambda X, k, random_state: np.full((2, 3), np.nan), ["finite", "NaN"]),
}


@pytest.mark.parametrize("clusterer", [EulerKMeans, RectifiedEulerKMeans])
@pytest.mark.parametrize(("start", "words"), STARTS.values(), ids=STARTS)
def test_a_clusterer_refuses_a_bad_start(clusterer, start, words):
    with raises_mentioning((TypeError, ValueError), "init", *words):
        clusterer(2, init=start).fit(X)


METHODS = ["predict", "transform", "score", "score_samples"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("columns", [1, 2, 4])
def test_another_number_of_columns_is_refused(method, columns):
    model = RectifiedEulerKMeans(2, random_state=0).fit(X)
    with raises_mentioning(
        ValueError, f"X has {columns} features", "RectifiedEulerKMeans", "expecting 3 features"
    ):
        getattr(model, method)(np.tile(X, (1, 2))[:, :columns])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_other_column_names_are_refused(method, frame):
    model = RectifiedEulerKMeans(2, random_state=0).fit(NAMED)
    with raises_mentioning(ValueError, "feature names", "unseen", "- depth", "missing", "- height"):
        getattr(model, method)(frame(NAMED.rename(columns={"height": "depth"})))
    with raises_mentioning(ValueError, "feature names", "same order"):
        getattr(model, method)(frame(NAMED[["width", "length", "height"]]))


UNFITTED = [
    *((RectifiedEulerKMeans(2), method, X) for method in METHODS),
    *((EulerKMeans(2), method, X) for method in METHODS),
    (EulerMap(), "transform", X),
    (EulerMap(), "inverse_transform", np.ones((2, 6))),
    *(
        (estimator, "get_feature_names_out", None)
        for estimator in (RectifiedEulerKMeans(2), EulerKMeans(2), EulerMap())
    ),
]


@pytest.mark.parametrize(("estimator", "method", "table"), UNFITTED)
def test_nothing_is_answered_before_fit(estimator, method, table):
    with raises_mentioning(NotFittedError, type(estimator).__name__, "not fitted"):
        getattr(estimator, method)(table)


@pytest.mark.parametrize("width", [3, 5, 7, 12])
def test_the_inverse_map_refuses_another_width(width):
    with raises_mentioning(ValueError, "6 columns", "3 features", f"got {width}"):
        EulerMap().fit(X).inverse_transform(np.ones((2, width)))


def test_the_map_refuses_other_columns():
    with raises_mentioning(ValueError, "X has 2 features", "EulerMap", "expecting 3 features"):
        EulerMap().fit(X).transform(X[:, :2])


def test_the_deviation_degree_refuses_an_unknown_form():
    with raises_mentioning(ValueError, "form must be", "'root'", "'printed'", "got 'square'"):
        deviation_degree([[1j]], form="square")


def test_infinity_among_float32_cells_is_named():
    X = np.arange(20, dtype=np.float32).reshape(10, 2)
    X[3, 1] = np.inf
    with pytest.raises(
        ValueError, match="X must be finite, but contains infinity in row 3, column 1"
    ):
        EulerKMeans(2).fit(X)
