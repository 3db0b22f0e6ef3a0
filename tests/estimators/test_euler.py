"""The scikit-learn face: the contract, tables and number types, starts, stops, centres in units of X, nothing half."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from rekmeans import REK1, REK2, EulerKMeans, EulerMap, RectifiedEulerKMeans
from rekmeans.estimators import base
from rekmeans.seeding import starts_of
from support import oracle
from support.assertions import assert_same_fit
from support.sklearn_checks import weight_equivalence_failures
from support.tables import with_missing_cells

CLUSTERERS = {EulerKMeans: oracle.eulerk, RectifiedEulerKMeans: oracle.rek1}  # each with its oracle
ANGLE = 2.0**-23  # radians: two coordinates rounded to 2^-24 turn a point of the circle by at most 2^-23.5

each_clusterer = pytest.mark.parametrize("clusterer", CLUSTERERS)


@parametrize_with_checks(
    [EulerKMeans(), RectifiedEulerKMeans(), EulerMap()], expected_failed_checks=weight_equivalence_failures
)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def blobs(seed=0, n=60, d=3, k=3):
    """Whole numbers of 0..255 in k loose heaps, (n, d)."""
    random = np.random.default_rng(seed)
    heaps = random.integers(40, 210, (k, d))
    return np.clip(heaps[np.arange(n) % k] + random.integers(-30, 31, (n, d)), 0, 255).astype(np.float64)


def test_rek1_and_rek2_are_the_rectified_class():
    assert REK1 is RectifiedEulerKMeans
    assert REK2 is RectifiedEulerKMeans


# number types and tables


@each_clusterer
@pytest.mark.parametrize("fitted", ["float64", "float32", "int64", "uint8"])
@pytest.mark.parametrize("asked", ["float64", "float32", "int32", "uint8", "list"])
def test_equal_values_get_equal_labels_in_every_number_type(clusterer, fitted, asked):
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
    return pa.table({name: pa.array(X[:, j], mask=np.isnan(X[:, j])) for j, name in enumerate("abc")})


def object_array(X):
    return np.where(np.isnan(X), None, X.astype(object))


@each_clusterer
@pytest.mark.parametrize(
    "table", [pandas_nullable, pandas_objects, polars_nulls, polars_whole, arrow_nulls, object_array]
)
def test_a_table_of_any_make_gives_the_fit_of_its_numbers(clusterer, table):
    X = with_missing_cells(blobs())
    reference = clusterer(3, random_state=0).fit(X)
    model = clusterer(3, random_state=0).fit(table(X))
    assert_same_fit(model, reference)
    assert_array_equal(model.predict(table(X)), reference.labels_)


def mostly_zero(seed=0):
    """Three cells of ten are not zero, one in twenty of those is missing; (60, 5)."""
    random = np.random.default_rng(seed)
    X = np.where(random.random((60, 5)) < 0.3, random.normal(1, 1, (60, 5)), 0.0)
    return np.where((X != 0) & (random.random(X.shape) < 0.05), np.nan, X)


@each_clusterer
@pytest.mark.parametrize("scale", ["robust", "range", "global", None])
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_a_sparse_table_gives_the_fit_of_its_dense_form(clusterer, scale, form):
    X, w = mostly_zero(), np.arange(60.0) % 4
    dense, other = (clusterer(3, scale=scale, random_state=0) for _ in range(2))
    assert_same_fit(other.fit(form(X)), dense.fit(X))
    for method in ("predict", "transform", "score_samples", "score"):
        assert_array_equal(getattr(other, method)(form(X)), getattr(dense, method)(X), err_msg=method)
    assert_same_fit(other.fit(form(X), sample_weight=w), dense.fit(X, sample_weight=w))


@pytest.mark.parametrize("scale", ["robust", "range", "global", None])
def test_a_sparse_table_maps_like_its_dense_form(scale):
    X = mostly_zero()
    sparsely, densely = EulerMap(scale=scale).fit(sparse.csr_array(X)), EulerMap(scale=scale).fit(X)
    assert_array_equal(sparsely.transform(sparse.csr_array(X)), densely.transform(X))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_truth_values_count_as_zero_and_one(frame):
    X = np.random.default_rng(0).integers(0, 2, (40, 3)).astype(np.float64)
    reference = RectifiedEulerKMeans(2, random_state=0).fit(X)
    model = RectifiedEulerKMeans(2, random_state=0)
    model.fit(frame({"a": X[:, 0], "b": X[:, 1].astype(bool), "c": X[:, 2].astype(bool)}))
    assert_same_fit(model, reference)
    assert_same_fit(clone(model).fit(X.astype(bool)), reference)


@pytest.mark.parametrize("estimator", [EulerKMeans(3), RectifiedEulerKMeans(3), EulerMap()])
@pytest.mark.parametrize("table", [pandas_nullable, polars_nulls, arrow_nulls])
def test_column_names_are_remembered(estimator, table):
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


def test_feature_names_out_say_what_the_columns_are():
    X = blobs()
    assert EulerKMeans(2).fit(X).get_feature_names_out().tolist() == ["eulerkmeans0", "eulerkmeans1"]
    assert EulerMap().fit(X[:, :2]).get_feature_names_out().tolist() == ["cos(x0)", "cos(x1)", "sin(x0)", "sin(x1)"]
    assert EulerMap().fit(X[:, :1]).get_feature_names_out(["width"]).tolist() == ["cos(width)", "sin(width)"]


# a model and its data


@each_clusterer
def test_a_clone_fits_alike_and_a_pickle_answers_alike(clusterer):
    X = with_missing_cells(blobs())
    model = clusterer(3, alpha=0.6, scale="range", beyond="clip", random_state=4).fit(X)
    again = clone(model)
    with pytest.raises(NotFittedError):
        check_is_fitted(again)
    assert_same_fit(again.fit(X), model)
    back = pickle.loads(pickle.dumps(model))
    assert_same_fit(back, model)
    for method in ("predict", "transform", "score_samples", "score"):
        assert_array_equal(getattr(back, method)(X), getattr(model, method)(X), err_msg=method)


@pytest.mark.parametrize("estimator", [EulerKMeans(3, random_state=0), RectifiedEulerKMeans(3), EulerMap()])
@pytest.mark.parametrize("beyond", ["ignore", "clip", "wrap"])
def test_the_input_is_left_as_it_was(estimator, beyond):
    X, w = with_missing_cells(blobs()), np.arange(60.0)
    X[3] = 1e6
    before, weights = X.copy(), w.copy()
    model = clone(estimator).set_params(beyond=beyond).fit(X, sample_weight=w)
    model.transform(X)
    assert_array_equal(X, before)
    assert_array_equal(w, weights)


@each_clusterer
def test_parameters_stay_as_they_were_given(clusterer):
    start = blobs()[:3]
    model = clusterer(3, init=start, alpha=np.float32(0.5), n_init="auto")
    before = model.get_params()
    model.fit(blobs())
    assert all(model.get_params()[name] is value for name, value in before.items())


@each_clusterer
@pytest.mark.parametrize("init", ["k-means++", "random", "circle"])
def test_a_seed_gives_one_answer_and_another_seed_another(clusterer, init):
    X = np.random.default_rng(5).random((80, 4))
    fits = [clusterer(8, init=init, n_init=1, random_state=seed).fit(X) for seed in (0, 0, 1, 2, 3)]
    assert_same_fit(fits[0], fits[1])
    assert len({fit.inertia_ for fit in fits}) > 1
    assert_same_fit(clone(fits[0]).set_params(random_state=np.random.RandomState(0)).fit(X), fits[0])


@each_clusterer
def test_no_global_seed_is_touched(clusterer):
    np.random.seed(3)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    clusterer(3, random_state=0).fit(blobs())
    assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@each_clusterer
def test_the_number_of_threads_changes_nothing(clusterer):
    X = with_missing_cells(np.random.default_rng(2).random((400, 20)))
    one, two = (clusterer(5, n_threads=threads, random_state=0).fit(X) for threads in (1, 2))
    assert_same_fit(one, two)
    assert_array_equal(one.transform(X), two.transform(X))


@each_clusterer
@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_a_common_weight_changes_nothing_however_wide_the_table(clusterer, engine):
    X = np.random.default_rng(0).random((1000, 2000)) * 0.1  # a few hundred rows a block; weighted sums pass 64 bits
    factor, model = 3.0, clusterer(1, scale=None, init=X[:1], engine=engine)
    plain, weighted = clone(model).fit(X), clone(model).fit(X, sample_weight=np.full(1000, factor))
    assert_array_equal(weighted.centroids_, plain.centroids_)
    assert_allclose(weighted.inertia_, factor * plain.inertia_, rtol=1e-12)


# starts


@each_clusterer
def test_an_array_start_is_the_first_centroids_in_units_of_x(clusterer):
    X = blobs() / 256
    start = X[:3]
    objective = CLUSTERERS[clusterer](X, start, 0.8, 1)[0].objective
    model = clusterer(3, alpha=0.8, scale=None, init=start).fit(X)
    assert_allclose(model.history_["inertia"][0], objective, rtol=1e-6)
    assert_same_fit(clone(model).set_params(init=start.tolist()).fit(X), model)


@each_clusterer
def test_a_callable_start_is_asked_once_a_start_and_its_points_are_used(clusterer):
    X, asked = blobs(), []

    def last_rows(table, k, random_state):
        asked.append((table.copy(), k, random_state))
        return table[-k:]

    model = clusterer(3, init=last_rows, random_state=0).fit(X)
    assert_same_fit(model, clusterer(3, init=X[-3:]).fit(X))
    assert len(asked) == 1
    assert_array_equal(asked[0][0], X)
    assert asked[0][1] == 3
    assert isinstance(asked[0][2], np.random.RandomState)
    clone(model).set_params(n_init=4).fit(X)
    assert len(asked) == 5


@pytest.mark.parametrize(("init", "starts"), [("k-means++", 1), ("random", 10), ("circle", 10)])
@pytest.mark.parametrize("n_init", ["auto", 3])
def test_n_init_counts_the_starts(monkeypatch, init, starts, n_init):
    calls = []

    def counted(kernel):
        return {init: lambda *given: calls.append(1) or starts_of(kernel)[init](*given)}

    monkeypatch.setattr(base, "starts_of", counted)
    RectifiedEulerKMeans(4, init=init, n_init=n_init, random_state=0).fit(blobs())
    assert len(calls) == (starts if n_init == "auto" else n_init)


@each_clusterer
@pytest.mark.parametrize("init", ["k-means++", "random", "circle"])
def test_more_starts_are_never_worse(clusterer, init):
    X = np.random.default_rng(6).random((80, 4))
    seeds, counts = range(5), (1, 2, 4, 8)
    runs = [[clusterer(8, init=init, n_init=n, random_state=seed).fit(X).inertia_ for n in counts] for seed in seeds]
    assert all(run == sorted(run, reverse=True) for run in runs)
    assert any(run[-1] < run[0] for run in runs)


# stops and the history


@each_clusterer
@pytest.mark.parametrize("max_iter", [1, 2, 3, 300])
def test_max_iter_cuts_the_passes_and_the_rest_belongs_together(clusterer, max_iter):
    X = np.random.default_rng(7).random((200, 3))
    start = X[:6]
    passes = CLUSTERERS[clusterer](X, start, 0.8, max_iter + 1)  # max_iter moves, and the labels after the last
    whole = clusterer(6, alpha=0.8, scale=None, init=start).fit(X)
    model = clusterer(6, alpha=0.8, scale=None, init=start, max_iter=max_iter).fit(X)
    assert whole.n_iter_ > 3
    assert model.n_iter_ == min(max_iter, whole.n_iter_)
    seen = len(model.history_["inertia"])
    assert_array_equal(model.history_["inertia"], whole.history_["inertia"][:seen])
    assert_array_equal(model.labels_, passes[-1].labels)
    assert_allclose(model.inertia_, passes[-1].objective, rtol=1e-6)
    assert_array_equal(model.predict(X), model.labels_)
    assert_allclose((model.transform(X).min(axis=1) ** 2).sum(), model.inertia_, rtol=1e-12)


@each_clusterer
@pytest.mark.parametrize("tol", [0.3, 0.03, 0.003])
def test_tol_stops_at_the_first_small_fall(clusterer, tol):
    X = np.random.default_rng(8).random((300, 3))
    start = X[:8]
    whole = clusterer(8, init=start).fit(X)
    model = clusterer(8, init=start, tol=tol).fit(X)
    objective = whole.history_["inertia"]
    falls = 1 - objective[1:] / objective[:-1]
    first = int(np.argmax(falls <= tol)) + 1  # the pass that brought the first small fall is kept, and is the last
    assert first + 1 < len(objective)
    assert_array_equal(model.history_["inertia"], objective[: first + 1])
    assert_array_equal(model.predict(X), model.labels_)


@each_clusterer
@pytest.mark.parametrize("init", ["k-means++", "random", "circle"])
def test_the_history_has_one_entry_a_pass(clusterer, init):
    X = np.random.default_rng(9).random((150, 3))
    model = clusterer(7, init=init, random_state=0).fit(X)
    assert set(model.history_) == {"inertia", "n_changed", "n_relocated", "seconds"}
    assert {len(values) for values in model.history_.values()} == {len(model.history_["inertia"])}
    assert model.n_iter_ <= len(model.history_["inertia"]) <= model.n_iter_ + 1
    assert model.history_["inertia"][-1] == model.inertia_
    assert (np.diff(model.history_["inertia"]) < 0).all()
    assert model.history_["n_changed"][0] == len(X)
    assert (model.history_["seconds"] >= 0).all()


@pytest.mark.parametrize("starts", [1, 3])
def test_verbose_prints_a_line_a_pass(capsys, starts):
    X = np.random.default_rng(9).random((150, 3))
    fits = RectifiedEulerKMeans(5, init="random", n_init=starts, random_state=0)
    fits.fit(X)
    assert capsys.readouterr().out == ""
    fits.set_params(verbose=1).fit(X)
    lines = capsys.readouterr().out.splitlines()
    firsts = [i for i, line in enumerate(lines) if f"changed {len(X)} " in line]  # all rows, in a start's first pass
    passes = np.diff([*firsts, len(lines)])
    assert len(firsts) == starts
    assert len(fits.history_["inertia"]) in passes
    assert any(f"objective {fits.inertia_:.6g} " in line for line in lines)
    if starts == 1:
        assert [line.split()[3] for line in lines] == [f"{value:.6g}" for value in fits.history_["inertia"]]
        assert [line.split()[:2] for line in lines] == [["pass", str(t + 1)] for t in range(len(lines))]


def test_rows_that_take_no_part_are_counted_in_a_warning():
    random = np.random.default_rng(0)
    X = np.vstack([random.standard_normal((95, 2)), 20 + random.standard_normal((5, 2))])
    with pytest.warns(UserWarning, match=r"5 of 100 rows take no part.*scale='range'"):
        RectifiedEulerKMeans(2, random_state=0).fit(X)
    labels = RectifiedEulerKMeans(2, scale="range", random_state=0).fit(X).labels_
    assert len(set(labels[95:])) == 1
    assert set(labels[95:]).isdisjoint(labels[:95])


# missing values and values beyond


@each_clusterer
def test_a_missing_cell_adds_nothing_to_distance_sums_and_objective(clusterer):
    X = with_missing_cells(blobs() / 256, share=0.3)
    start = blobs()[:3] / 256
    passes = CLUSTERERS[clusterer](X, start, 0.9, 300)
    model = clusterer(3, alpha=0.9, scale=None, init=start).fit(X)
    assert_array_equal(model.labels_, passes[-1].labels)
    assert_allclose(model.centroids_, passes[-1].centroids, atol=1e-6)
    assert_allclose(model.inertia_, passes[-1].objective, rtol=1e-6)
    asked = with_missing_cells(blobs(seed=0) / 256, share=0.4, seed=7)
    D = oracle.half_squared_distances(np.exp(1j * oracle.phases(asked, 0.9)), passes[-1].centroids)
    assert_array_equal(model.predict(asked), oracle.nearest(D))
    assert_allclose(model.transform(asked), np.sqrt(D), atol=1e-6)


STEP = 1 / 64  # table cells and periods are multiples of it: phases are exact


def unit_table(seed=0):
    """Multiples of 1/64 whose columns run from 0 to 1 exactly, (50, 4)."""
    X = np.random.default_rng(seed).integers(0, 65, (50, 4)) * STEP
    X[0], X[1] = 0, 1
    return X


def far_rows(seed=3):
    """Rows of unit_table's kind with one or two cells beyond [0, 1], and where those are."""
    X = unit_table(seed)
    far = np.zeros(X.shape, bool)
    far[np.arange(50), np.arange(50) % 4] = True
    far[::3, 1] = True
    return np.where(far, X + np.where(X > 0.5, 1.5, -1.25), X), far


@each_clusterer
def test_a_value_beyond_is_ignored_like_a_missing_one(clusterer):
    rows, far = far_rows()
    model = clusterer(4, scale="range", beyond="ignore", random_state=0).fit(unit_table())
    assert_array_equal(model.transform(rows), model.transform(np.where(far, np.nan, rows)))
    assert_array_equal(model.predict(rows), model.transform(rows).argmin(axis=1))


@each_clusterer
def test_a_value_beyond_is_clipped_to_the_range_of_the_fitted_column(clusterer):
    rows, _ = far_rows()
    model = clusterer(4, scale="range", beyond="clip", random_state=0).fit(unit_table())
    assert_array_equal(model.transform(rows), model.transform(np.clip(rows, 0, 1)))
    assert_array_equal(model.predict(rows), model.predict(np.clip(rows, 0, 1)))


@each_clusterer
@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_a_value_beyond_wraps_round_the_circle(clusterer, alpha):
    X = unit_table()
    model = clusterer(4, alpha=alpha, scale="range", beyond="wrap", random_state=0).fit(X)
    turns = np.random.default_rng(1).integers(-3, 4, X.shape)
    assert_array_equal(model.transform(X + turns * 2 / alpha), model.transform(X))
    bare = clusterer(4, alpha=alpha, scale=None, beyond="ignore", random_state=0).fit(X + turns * 2 / alpha)
    assert_array_equal(bare.labels_, clone(bare).fit(X).labels_)


def crowd(gross):
    """Small whole numbers of which each column has long runs of equal ones, so that few more rows move no quartile."""
    few = np.array([[0, 7, 2], [1, 6, 3], [2, 5, 1], [3, 4, 4], [6, 1, 9], [7, 2, 8], [8, 0, 7]], dtype=np.float64)
    return np.concatenate([np.tile(few, (11, 1)), np.array([[1e6, -1e6, 1e6], [-1e6, 1e6, -1e6]])[:gross]])


@each_clusterer
@pytest.mark.parametrize("gross", [1, 2])
def test_a_row_of_only_values_beyond_is_labelled_but_takes_no_part(clusterer, gross):
    start = crowd(0)[[0, 6]]
    clean = clusterer(2, init=start).fit(crowd(0))
    dirty = clusterer(2, init=start).fit(crowd(gross))
    assert_array_equal(dirty.kernel_.scale.unit, clean.kernel_.scale.unit)
    assert_array_equal(dirty.centroids_, clean.centroids_)
    assert_array_equal(dirty.cluster_centers_, clean.cluster_centers_)
    assert dirty.inertia_ == clean.inertia_
    assert_array_equal(dirty.labels_[:-gross], clean.labels_)
    edge = np.clip(crowd(gross)[-gross:], *clean.kernel_.scale.bounds)
    assert_array_equal(dirty.labels_[-gross:], clean.predict(edge))
    assert_array_equal(clean.transform(crowd(gross)[-gross:]), clean.transform(edge))
    assert dirty.score(crowd(gross)) == clean.score(crowd(0))


# centres in the units of X


@each_clusterer
@pytest.mark.parametrize("alpha", [0.3, 1.0, 40.0, 1e4])
def test_a_centre_is_the_preimage_nearest_the_mean_of_its_rows(clusterer, alpha):
    X = np.random.default_rng(4).normal(5, 2, (120, 3))
    model = clusterer(5, alpha=alpha, scale=None, random_state=0).fit(X)
    means = np.stack([X[model.labels_ == c].mean(axis=0) for c in range(5)])
    U = model.cluster_centers_
    assert (np.abs(U - means) <= (1 + 1e-4) / alpha).all()
    direction = model.centroids_ / np.abs(model.centroids_)
    assert_allclose(np.exp(1j * np.pi * alpha * U), direction, atol=1e-6 + 1e-12 * alpha)


@each_clusterer
@pytest.mark.parametrize("scale", ["robust", "range", "global", None])
def test_a_pair_of_rows_has_its_centre_in_the_middle(clusterer, scale):
    X = np.array([[10.0, -3.0], [10.5, -2.0], [14.0, 9.0], [14.5, 8.0]])
    model = clusterer(2, alpha=0.05 if scale is None else 0.75, scale=scale, init=X[[0, 2]]).fit(X)
    assert_array_equal(model.labels_, [0, 0, 1, 1])
    assert_allclose(model.cluster_centers_, [[10.25, -2.5], [14.25, 8.5]], rtol=1e-5)


def test_cell_errors_do_not_pull_the_centre():
    X = np.random.default_rng(0).normal(0, 1, (200, 2)) + np.repeat([[0.0, 0.0], [8.0, 8.0]], 100, axis=0)
    start = np.array([[0.0, 0.0], [8.0, 8.0]])
    clean = RectifiedEulerKMeans(2, init=start).fit(X)
    X[::10, 0] = 1e9
    assert_allclose(RectifiedEulerKMeans(2, init=start).fit(X).cluster_centers_, clean.cluster_centers_, atol=0.3)


# the map


@pytest.mark.parametrize("alpha", [0.05, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("scale", ["range", "global"])
def test_the_map_inverts_where_alpha_is_at_most_one(alpha, scale):
    X = np.random.default_rng(0).normal(3, 5, (60, 4))
    euler = EulerMap(alpha=alpha, scale=scale)
    back = euler.inverse_transform(euler.fit_transform(X))
    unit = np.ptp(X, axis=0) if scale == "range" else np.ptp(X)
    assert (np.abs(back - X) <= unit * ANGLE / (alpha * np.pi) + 1e-12).all()


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.5])
def test_the_map_is_cosine_and_sine_of_the_scaled_phase(alpha):
    X = np.random.default_rng(0).normal(3, 5, (60, 4))
    phase = np.pi * alpha * (X - X.min(axis=0)) / np.ptp(X, axis=0)
    F = EulerMap(alpha=alpha, scale="range").fit_transform(X)
    assert_allclose(F, np.concatenate([np.cos(phase), np.sin(phase)], axis=1), atol=2.0**-24 + 1e-14)
    assert_array_equal(F * 2**23, np.rint(F * 2**23))


def test_a_missing_cell_maps_to_the_centre_of_the_circle_and_back():
    X = with_missing_cells(np.random.default_rng(0).random((40, 3)))
    euler = EulerMap(scale="range").fit(X)
    F, missing = euler.transform(X), np.isnan(X)
    assert_array_equal(F[:, :3] ** 2 + F[:, 3:] ** 2 == 0, missing)
    assert_array_equal(np.isnan(euler.inverse_transform(F)), missing)


@pytest.mark.parametrize("alpha", [2.5, 3.0, 12.0])
@pytest.mark.parametrize("scale", ["range", None])
def test_the_inverse_lies_on_the_branch_nearest_the_middle_of_the_range(alpha, scale):
    X = np.random.default_rng(0).uniform(20, 24, (60, 2))
    euler = EulerMap(alpha=alpha, scale=scale)
    back = euler.inverse_transform(euler.fit_transform(X))
    unit = np.ptp(X, axis=0) if scale else np.ones(2)
    middle, turn = (X.min(axis=0) + X.max(axis=0)) / 2, 2 * unit / alpha
    assert (np.abs(back - middle) <= turn / 2 * (1 + 1e-6)).all()
    turns = (back - X) / turn
    assert_allclose(turns, np.rint(turns), atol=1e-6)
    assert np.abs(turns).max() > 0.5


# nothing half-fitted


def boom(X, k, random_state):
    raise RuntimeError("no start")


FAILURES = {
    "alpha": ({"alpha": -1.0}, lambda X: X),
    "engine": ({"engine": "abacus"}, lambda X: X),
    "init shape": ({"init": np.zeros((9, 9))}, lambda X: X),
    "init callable": ({"init": boom}, lambda X: X),
    "infinity": ({}, lambda X: np.where(X == X[0, 0], np.inf, X)),
    "too few rows": ({}, lambda X: X[:2]),
    "1-D": ({}, lambda X: X[:, 0]),
}

each_failure = pytest.mark.parametrize(("parameters", "spoiled"), FAILURES.values(), ids=FAILURES)


@each_clusterer
@each_failure
def test_a_fit_that_fails_leaves_nothing_fitted(clusterer, parameters, spoiled):
    model = clusterer(3, random_state=0).set_params(**parameters)
    with pytest.raises((ValueError, RuntimeError)):
        model.fit(spoiled(blobs()))
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    assert not [name for name in vars(model) if name.endswith("_") and not name.startswith("_")]


@each_clusterer
@each_failure
@pytest.mark.parametrize("columns", [2, 3])
def test_a_refit_that_fails_leaves_the_old_fit(clusterer, parameters, spoiled, columns):
    X = pd.DataFrame(blobs(), columns=list("abc"))
    model = clusterer(3, random_state=0).fit(X)
    before, old = pickle.loads(pickle.dumps(model)), model.get_params()
    with pytest.raises((ValueError, RuntimeError)):
        model.set_params(**parameters).fit(spoiled(blobs(seed=1)[:, :columns]))
    model.set_params(**old)
    assert_same_fit(model, before)
    assert_array_equal(model.predict(X), before.predict(X))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


def test_a_map_whose_refit_fails_keeps_its_old_scale():
    X = blobs()
    euler = EulerMap().fit(X)
    F = euler.transform(X)
    with pytest.raises(ValueError, match="infinity"):
        euler.fit(np.full((3, 2), np.inf))
    assert_array_equal(euler.transform(X), F)
