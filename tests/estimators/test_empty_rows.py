"""Rows without an observed value: weight 0, the label -1, and the same bits for all other rows."""

import warnings
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from dask import array as dask_array
from dask import config, dataframe
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rekmeans import (
    EulerKMeans,
    EulerMap,
    FuzzyCMeans,
    KernelKMeans,
    MahalanobisFuzzyCMeans,
    RectifiedEulerKMeans,
    load,
    read_table,
    representation_score,
    save,
)
from rekmeans.analysis.summary import summary
from rekmeans.html_report.html import render_page
from rekmeans.table import MemoryTable
from support.assertions import assert_same_fit
from support.clusterers import CLUSTERERS, K
from support.streams import FORMS
from support.tables import with_missing_cells

N = 700
SMALL = 20_000  # bytes: blocks of 256 rows
WORDS = "rows have no observed value and get the label -1."
EXACT = {"EulerKMeans", "RectifiedEulerKMeans", "KernelKMeans-euler-rectified"}

pytestmark = pytest.mark.filterwarnings("ignore:.*out(side|liers)", "ignore:Only")


def make_tables(n=N, n_empty=9, seed=0):
    """Return rows with missing cells, the same rows and empty ones, and a mask of the latter."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3)) + 5 * random.integers(0, K, (n, 1))
    X = with_missing_cells(X, 0.1)
    X[np.isnan(X).all(axis=1)] = 0.0
    inner = random.choice(np.arange(1, n + n_empty - 1), n_empty - 2, replace=False)
    is_empty = np.zeros(n + n_empty, bool)
    is_empty[[0, *inner, -1]] = True
    Y = np.full((n + n_empty, 3), np.nan)
    Y[~is_empty] = X
    return X, Y, is_empty


X, Y, IS_EMPTY = make_tables()


def fit(make, X, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make().set_params(random_state=0, **parameters).fit(X)


def assert_same_rows(model, expected, is_empty=IS_EMPTY, exact=True):
    labels = np.asarray(model.labels_)
    assert labels.dtype == expected.labels_.dtype
    assert_array_equal(labels[is_empty], -1)
    assert_array_equal(labels[~is_empty], expected.labels_)
    same = assert_array_equal if exact else partial(assert_allclose, rtol=1e-9, atol=1e-12)
    same(model.cluster_centers_, expected.cluster_centers_)
    same(model.inertia_, expected.inertia_)
    same(model.history_["inertia"], expected.history_["inertia"])
    assert model.n_iter_ == expected.n_iter_
    if exact:
        assert_array_equal(model.centroids_, expected.centroids_)


# the law: a fit with empty rows is the fit without them


@pytest.mark.parametrize("scale", ["robust", "range", "global", None])
@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("make", [EulerKMeans, RectifiedEulerKMeans])
@pytest.mark.parametrize("beyond", ["ignore", "clip", "wrap"])
def test_exact_engines_give_the_bits_of_the_fit_without_them(make, engine, scale, beyond):
    make = partial(make, K, engine=engine, scale=scale, beyond=beyond)
    assert_same_rows(fit(make, Y), fit(make, X))


WITH_GAPS = [name for name in CLUSTERERS if "precomputed" not in name and "Mahalanobis" not in name]


@pytest.mark.parametrize("name", WITH_GAPS)
@pytest.mark.parametrize("init", ["k-means++", "random", "array"])
def test_every_clusterer_gives_the_fit_without_them(name, init):
    make = partial(CLUSTERERS[name], init=np.nan_to_num(X[:K]) if init == "array" else init)
    model, expected = fit(make, Y), fit(make, X)
    if not hasattr(model, "cluster_centers_"):
        pytest.skip("no points")
    assert_same_rows(model, expected, exact=name in EXACT)


@pytest.mark.parametrize("init", ["circle", "k-means||"])
def test_other_starts_give_the_same_bits(init):
    make = partial(RectifiedEulerKMeans, K, init=init, n_init=2)
    assert_same_rows(fit(make, Y), fit(make, X))


def test_many_clusters_give_the_same_bits():
    make = partial(RectifiedEulerKMeans, 70)
    assert_same_rows(fit(make, Y), fit(make, X))


def test_weights_of_empty_rows_are_ignored():
    random = np.random.default_rng(1)
    w = random.integers(0, 4, len(X)) / 2.0
    v = np.full(len(Y), 1e6)
    v[~IS_EMPTY] = w
    for engine in ("reference", "native"):
        model = RectifiedEulerKMeans(K, engine=engine, random_state=0)
        expected = model.fit(X, sample_weight=w)
        with pytest.warns(UserWarning, match=WORDS):
            found = RectifiedEulerKMeans(K, engine=engine, random_state=0).fit(Y, sample_weight=v)
        assert_same_rows(found, expected)
    with pytest.raises(ValueError, match="not be all zero"):
        found.fit(Y, sample_weight=IS_EMPTY.astype(float))


def test_tables_whose_statistics_are_of_a_sample_give_the_same_bits(tmp_path):
    """Above 100,000 rows, the scale and the start use samples, which are drawn by weight."""
    rows, more, is_empty = make_tables(100_500, 20)
    assert len(rows) // 64 == len(more) // 64  # the size of the sample of the start
    expected = fit(partial(RectifiedEulerKMeans, K), rows)
    assert_same_rows(fit(partial(RectifiedEulerKMeans, K), more), expected, is_empty)
    np.save(tmp_path / "t.npy", more)
    in_blocks = fit(partial(RectifiedEulerKMeans, K), tmp_path / "t.npy")
    assert_same_rows(in_blocks, expected, is_empty)


# every input


def as_csr(Y):
    """Return a CSR array that stores NaN, but no zero."""
    return sparse.csr_array(Y)


def with_partitions(Y):
    return dataframe.from_pandas(pd.DataFrame(Y, columns=["a", "b", "c"]), npartitions=3)


IN_MEMORY = {
    "float32": lambda Y: Y.astype(np.float32),
    "fortran": np.asfortranarray,
    "csr": as_csr,
    "csc": lambda Y: sparse.csc_matrix(Y),
    "pandas": lambda Y: pd.DataFrame(Y, columns=["a", "b", "c"]),
    "pandas objects": lambda Y: pd.DataFrame(Y, columns=["a", "b", "c"]).astype(object),
    "polars": lambda Y: pl.DataFrame(Y, schema=["a", "b", "c"]).fill_nan(None),
    "pyarrow": lambda Y: pa.table(dict(zip("abc", Y.T, strict=True))),
    "lists": lambda Y: Y.tolist(),
    "masked": lambda Y: np.ma.masked_invalid(Y),
    "dask array": lambda Y: dask_array.from_array(Y, chunks=(100, 3)),
    "dask frame": with_partitions,
}


@pytest.mark.parametrize("form", IN_MEMORY)
def test_every_table_in_memory_gives_the_same_labels(form):
    convert = IN_MEMORY[form]
    make = partial(RectifiedEulerKMeans, K)
    with config.set(scheduler="synchronous"):
        expected = fit(make, np.asarray(X, np.float32) if form == "float32" else X)
        table = convert(Y)
        model = fit(make, table)
        assert_same_rows(model, expected)
        labels = model.predict(table)
        assert_array_equal(np.asarray(labels), np.asarray(model.labels_))
        distances = np.asarray(model.transform(table))
        assert np.isnan(distances[IS_EMPTY]).all()
        assert not np.isnan(distances[~IS_EMPTY]).any()


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize("engine", ["reference", "native"])
def test_every_table_in_blocks_gives_the_same_labels(form, engine, tmp_path):
    rows, more, is_empty = make_tables(983, 17)  # as many rows as the blocks of the forms have
    table = form(tmp_path, more, None)
    make = partial(RectifiedEulerKMeans, K, engine=engine, memory_limit=SMALL)
    expected = fit(partial(RectifiedEulerKMeans, K), rows)
    model = fit(make, table)
    assert_same_rows(model, expected, is_empty)
    with pytest.warns(UserWarning, match=f"17 of 1,000 {WORDS}"):
        assert_array_equal(model.predict(table), model.labels_)


@pytest.mark.parametrize("memory_limit", [None, SMALL])
def test_a_csv_file_gives_the_same_labels(memory_limit, tmp_path):
    pd.DataFrame(Y, columns=["a", "b", "c"]).to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv", memory_limit=memory_limit)
    expected = fit(partial(RectifiedEulerKMeans, K), X)
    assert_same_rows(fit(partial(RectifiedEulerKMeans, K), table), expected)
    assert_same_rows(fit(partial(RectifiedEulerKMeans, K), tmp_path / "t.csv"), expected)


def test_an_implicit_zero_is_a_value():
    table = sparse.csr_array(([np.nan, np.nan, np.nan, np.nan], ([0, 0, 1, 1], [0, 1, 0, 2])))
    assert_array_equal(MemoryTable(table).empty_rows, [])
    assert_array_equal(MemoryTable(table[:, :2].tocsr()).empty_rows, [0])


def test_dask_partitions_of_only_empty_rows(tmp_path):
    more = np.r_[np.full((100, 3), np.nan), X, np.full((100, 3), np.nan)]
    is_empty = np.isnan(more).all(axis=1)
    with config.set(scheduler="synchronous"):
        model = fit(partial(RectifiedEulerKMeans, K), dask_array.from_array(more, chunks=(100, 3)))
        expected = fit(partial(RectifiedEulerKMeans, K), X)
        assert_same_rows(model, expected, is_empty)


# predictions


@pytest.mark.parametrize("name", ["RectifiedEulerKMeans", "FuzzyCMeans-rbf", "NeuralGas"])
def test_predictions_mark_empty_rows(name):
    model = fit(CLUSTERERS[name], X)
    with pytest.warns(UserWarning, match=f"9 of 709 {WORDS}"):
        labels = model.predict(Y)
    assert_array_equal(labels[IS_EMPTY], -1)
    assert_array_equal(labels[~IS_EMPTY], model.predict(X))
    for method in ("transform", "score_samples"):
        found = getattr(model, method)(Y)
        assert np.isnan(found[IS_EMPTY]).all()
        assert_array_equal(found[~IS_EMPTY], getattr(model, method)(X))
    assert model.score(Y) == pytest.approx(model.score(X), rel=1e-12)


def test_memberships_of_empty_rows_are_nan(tmp_path):
    model = fit(partial(FuzzyCMeans, K), Y)
    expected = fit(partial(FuzzyCMeans, K), X)
    for found in (model.memberships_, model.memberships(Y)):
        assert np.isnan(found[IS_EMPTY]).all()
        assert_allclose(found[~IS_EMPTY], expected.memberships_)
    save(model, tmp_path / "m.safetensors")
    assert_array_equal(load(tmp_path / "m.safetensors").memberships_, model.memberships_)


def test_labels_and_files(tmp_path):
    model = fit(partial(RectifiedEulerKMeans, K), Y)
    save(model, tmp_path / "m.safetensors")
    assert_array_equal(load(tmp_path / "m.safetensors").labels_, model.labels_)


def test_mapped_empty_rows_are_zero():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mapped = EulerMap().fit_transform(Y)
    assert_array_equal(mapped[~IS_EMPTY], EulerMap().fit_transform(X))
    assert not mapped[IS_EMPTY].any()


def test_representation_ignores_them():
    model = fit(partial(RectifiedEulerKMeans, K), X)
    with pytest.warns(UserWarning, match=WORDS):
        found = representation_score(model, Y)
    assert found == representation_score(model, X)


# warnings and errors


@pytest.mark.parametrize(
    ("n", "empty", "text"),
    [
        (1000, [1, 2, 3], "3 of 1,000 rows have no observed value and get the label -1."),
        (1000, [999], "1 of 1,000 rows has no observed value and gets the label -1."),
    ],
)
def test_one_warning_for_each_call(n, empty, text):
    rows = np.random.default_rng(0).uniform(size=(n, 2))
    rows[empty] = np.nan
    model = RectifiedEulerKMeans(2, random_state=0)
    for method in (model.fit, model.predict, model.fit_predict, model.partial_fit):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            method(rows)
        assert [str(one.message) for one in caught if "label" in str(one.message)] == [text]
        assert all(one.filename == __file__ for one in caught)


def test_without_empty_rows_nothing_is_said():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        EulerKMeans(K, scale="range", random_state=0).fit(X).predict(X)


@pytest.mark.parametrize("form", ["numpy", "csr", "blocks", "dask"])
def test_a_table_without_any_value_raises(form):
    forms = {
        "numpy": np.asarray,
        "csr": sparse.csr_array,
        "blocks": lambda rows: lambda: iter([rows]),
        "dask": lambda rows: dask_array.from_array(rows, chunks=(4, 3)),
    }
    rows = forms[form](np.full((9, 3), np.nan))
    with pytest.raises(ValueError, match="X has no observed value: all 9 rows contain only NaN"):
        RectifiedEulerKMeans(2).fit(rows)
    if form != "dask":
        with pytest.raises(ValueError, match="no observed value"):
            fit(partial(RectifiedEulerKMeans, K), X).predict(rows)


def test_clusters_need_as_many_rows_with_values():
    rows = np.r_[X[:2], np.full((3, 3), np.nan)]
    with pytest.raises(ValueError, match="at least 3 rows, got n_samples=2"):
        RectifiedEulerKMeans(3).fit(rows)


def test_an_empty_row_occupies_no_cluster():
    """Label 0 of the engine would hide that no row has it."""
    rows = np.r_[np.full((5, 1), np.nan), np.ones((3, 1))]
    with pytest.warns(UserWarning, match="Only 1 of 2 clusters has rows"):
        RectifiedEulerKMeans(2, init=[[5.0], [1.0]], scale=None, alpha=0.1).fit(rows)


@pytest.mark.parametrize("make", [MahalanobisFuzzyCMeans, KernelKMeans])
def test_methods_without_missing_values_raise_their_own_error(make):
    rows = np.random.default_rng(0).uniform(size=(10, 10))
    rows[4] = np.nan
    model = make(K)
    if make is KernelKMeans:
        model.set_params(kernel="precomputed", centroids="mean")
    with pytest.raises(ValueError, match=r"does not support missing|requires all kernel values"):
        model.fit(rows)


# streams and checkpoints


@pytest.mark.parametrize("half_life", [None, 150.0])
def test_partial_fit_gives_the_bits_of_the_stream_without_them(half_life):
    one, two = (RectifiedEulerKMeans(K, half_life=half_life, random_state=0) for _ in range(2))
    cuts = [0, 200, 450, len(Y)]
    for a, b in pairwise(cuts):
        block, is_empty = Y[a:b], IS_EMPTY[a:b]
        with pytest.warns(UserWarning, match="no observed value"):
            one.partial_fit(block)
        two.partial_fit(block[~is_empty])
        assert_same_rows(one, two, is_empty)
    assert one.n_samples_seen_ == len(Y)


def test_a_checkpoint_continues_in_any_storage(tmp_path):
    """The digest of a table with empty rows depends on its rows only."""
    np.save(tmp_path / "t.npy", Y)
    path = tmp_path / "c.safetensors"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = RectifiedEulerKMeans(K, random_state=0).fit(Y)
        RectifiedEulerKMeans(K, random_state=0, max_iter=1, tol=0, checkpoint=path).fit(Y)
        for table in (tmp_path / "t.npy", Y):
            again = RectifiedEulerKMeans(K, random_state=0, checkpoint=path).fit(table)
            assert_same_fit(again, whole)


# reports


def test_a_summary_counts_them():
    model = fit(partial(RectifiedEulerKMeans, K), Y)
    expected = fit(partial(RectifiedEulerKMeans, K), X)
    y = np.arange(len(Y)) % 3
    of_all, of_others = summary(model, Y, y=y), summary(expected, X, y=y[~IS_EMPTY])
    assert of_all["own_fit"]
    assert of_all["left_out"]["rows_without_values"] == 9
    assert of_others["left_out"]["rows_without_values"] == 0
    for name in ("sizes", "features", "kappa", "classes", "map"):
        assert of_all[name] == of_others[name], name
    assert of_all["method"]["objective"] == model.inertia_ == of_others["method"]["objective"]
    lists = (of_all["rows"][name] for name in ("typical", "doubtful", "unusual"))
    assert not IS_EMPTY[[one["row"] for rows in lists for one in rows]].any()
    page = render_page(of_all)
    assert "rows without an observed value" in page
    assert "rows without an observed value" not in render_page(of_others)
