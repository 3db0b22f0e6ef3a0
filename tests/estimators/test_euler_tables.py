"""Tables of any library and dtype, sparse or dense, give the fit of their numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone

from rekmeans import EulerKMeans, EulerMap, RectifiedEulerKMeans
from support.assertions import assert_same_fit
from support.euler import blobs, each_clusterer
from support.tables import with_missing_cells

# Dtypes and table libraries


@each_clusterer
@pytest.mark.parametrize("fitted", ["float64", "float32", "int64", "uint8"])
@pytest.mark.parametrize("asked", ["float64", "float32", "int32", "uint8", "list"])
def test_labels_do_not_depend_on_the_dtype(clusterer, fitted, asked):
    X = blobs()
    reference = clusterer(3, random_state=0).fit(X)
    model = clusterer(3, random_state=0).fit(X.astype(fitted))
    assert_same_fit(model, reference)
    rows = X.tolist() if asked == "list" else X.astype(asked)
    assert_array_equal(model.predict(rows), reference.labels_)
    assert_array_equal(model.transform(rows), reference.transform(X))


def pandas_nullable(X):
    return pd.DataFrame(X, columns=list("abc")).astype("Int64")


def pandas_objects(X):
    return pd.DataFrame(X, columns=list("abc")).astype(object)


def polars_nulls(X):
    return pl.DataFrame(X, schema=list("abc")).fill_nan(None)


def polars_whole(X):
    return polars_nulls(X).cast(pl.Int32)


def arrow_nulls(X):
    return pa.table(
        {name: pa.array(X[:, j], mask=np.isnan(X[:, j])) for j, name in enumerate("abc")}
    )


def object_array(X):
    return np.where(np.isnan(X), None, X.astype(object))


@each_clusterer
@pytest.mark.parametrize(
    "table",
    [pandas_nullable, pandas_objects, polars_nulls, polars_whole, arrow_nulls, object_array],
)
def test_tables_of_all_libraries_give_the_same_fit(clusterer, table):
    X = with_missing_cells(blobs())
    reference = clusterer(3, random_state=0).fit(X)
    model = clusterer(3, random_state=0).fit(table(X))
    assert_same_fit(model, reference)
    assert_array_equal(model.predict(table(X)), reference.labels_)


def mostly_zero(seed=0):
    """Return a table (60, 5) with 30 % nonzero cells; 5 % of these are missing."""
    random = np.random.default_rng(seed)
    X = np.where(random.random((60, 5)) < 0.3, random.normal(1, 1, (60, 5)), 0.0)
    return np.where((X != 0) & (random.random(X.shape) < 0.05), np.nan, X)


@each_clusterer
@pytest.mark.parametrize("scale", ["robust", "range", "global", None])
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_a_sparse_table_gives_the_fit_of_its_dense_form(clusterer, scale, form):
    X = mostly_zero()
    w = np.arange(60.0) % 4
    dense, other = (clusterer(3, scale=scale, random_state=0) for _ in range(2))
    assert_same_fit(other.fit(form(X)), dense.fit(X))
    for method in ("predict", "transform", "score_samples", "score"):
        assert_array_equal(
            getattr(other, method)(form(X)), getattr(dense, method)(X), err_msg=method
        )
    assert_same_fit(other.fit(form(X), sample_weight=w), dense.fit(X, sample_weight=w))


@pytest.mark.parametrize("scale", ["robust", "range", "global", None])
def test_a_sparse_table_maps_like_its_dense_form(scale):
    X = mostly_zero()
    sparsely = EulerMap(scale=scale).fit(sparse.csr_array(X))
    densely = EulerMap(scale=scale).fit(X)
    assert_array_equal(sparsely.transform(sparse.csr_array(X)), densely.transform(X))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_booleans_count_as_zero_and_one(frame):
    X = np.random.default_rng(0).integers(0, 2, (40, 3)).astype(np.float64)
    reference = RectifiedEulerKMeans(2, random_state=0).fit(X)
    model = RectifiedEulerKMeans(2, random_state=0)
    model.fit(frame({"a": X[:, 0], "b": X[:, 1].astype(bool), "c": X[:, 2].astype(bool)}))
    assert_same_fit(model, reference)
    assert_same_fit(clone(model).fit(X.astype(bool)), reference)


@pytest.mark.parametrize("estimator", [EulerKMeans(3), RectifiedEulerKMeans(3), EulerMap()])
@pytest.mark.parametrize("table", [pandas_nullable, polars_nulls, arrow_nulls])
def test_column_names_are_stored(estimator, table):
    model = clone(estimator).fit(table(blobs()))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.n_features_in_ == 3
    assert not hasattr(model.fit(blobs()), "feature_names_in_")


@pytest.mark.parametrize(("library", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output_names_the_columns(library, frame):
    X = pd.DataFrame(blobs(), columns=list("abc"))
    model = RectifiedEulerKMeans(2, random_state=0).set_output(transform=library).fit(X)
    plain = RectifiedEulerKMeans(2, random_state=0).fit(X)
    out = model.transform(X)
    assert isinstance(out, frame)
    assert list(out.columns) == ["rectifiedeulerkmeans0", "rectifiedeulerkmeans1"]
    assert_array_equal(out.to_numpy(), plain.transform(X))
    mapped = EulerMap().set_output(transform=library).fit_transform(X)
    assert isinstance(mapped, frame)
    assert list(mapped.columns) == ["cos(a)", "cos(b)", "cos(c)", "sin(a)", "sin(b)", "sin(c)"]
    assert_array_equal(mapped.to_numpy(), EulerMap().fit_transform(X))


def test_feature_names_out_name_the_mapped_columns():
    X = blobs()
    assert EulerKMeans(2).fit(X).get_feature_names_out().tolist() == [
        "eulerkmeans0",
        "eulerkmeans1",
    ]
    assert EulerMap().fit(X[:, :2]).get_feature_names_out().tolist() == [
        "cos(x0)",
        "cos(x1)",
        "sin(x0)",
        "sin(x1)",
    ]
    assert EulerMap().fit(X[:, :1]).get_feature_names_out(["width"]).tolist() == [
        "cos(width)",
        "sin(width)",
    ]
