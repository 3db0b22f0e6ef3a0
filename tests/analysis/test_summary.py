"""The summary matches plain NumPy, and its size and memory are bounded."""

import json
import math
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA

from rekmeans import EulerKMeans, EulerMap, RectifiedEulerKMeans, load, save
from rekmeans.analysis.fit_analysis import MAX_ROWS_DRAWN, analyse_fit
from rekmeans.analysis.summary import summary
from rekmeans.html_report.figures import history_figure
from rekmeans.html_report.html import render_page
from support import oracle


@pytest.fixture(scope="module", params=[RectifiedEulerKMeans, EulerKMeans])
def case(request, dirty_wine):
    """Return a fitted model, its table, the classes and the summary."""
    X, y = dirty_wine
    with pytest.warns(UserWarning, match="1 of 178 rows has no kept value"):
        model = request.param(3, random_state=0).fit(X)
    return model, X, y, summary(model, X, y=y, title="Wine")


def cells(model, X):
    """Return a mask of the kept cells, (n, d)."""
    low, high = model.kernel_.scale.bounds
    return (X >= low) & (X <= high)


def test_sizes_objective_and_classes_are_those_of_the_fit(case):
    model, X, y, contents = case
    assert contents["sizes"] == [int((model.labels_ == c).sum()) for c in range(3)]
    assert (contents["table"]["rows"], contents["table"]["columns"]) == X.shape
    assert_allclose(contents["method"]["objective"], model.inertia_, rtol=1e-12)
    assert contents["classes"]["accuracy"] == pytest.approx(oracle.accuracy(y, model.labels_))
    assert contents["classes"]["nmi"] == pytest.approx(oracle.nmi(y, model.labels_))
    counts = [[int(((y == a) & (model.labels_ == c)).sum()) for c in range(3)] for a in range(3)]
    assert contents["classes"]["counts"] == counts


def with_missing_classes(y):
    """Yield classes that are missing in some rows, in the form of each library."""
    gone = np.arange(len(y)) % 4 == 0
    series = pd.Series(y).mask(gone)
    yield "NaN", series.to_numpy()
    yield "pandas' NA", series.astype("Int64")
    yield "None beside text", np.where(gone, None, np.array(["a", "b", "nan"])[y])
    yield "masked", np.ma.masked_array(y, gone)


@pytest.mark.parametrize(
    "at", range(4), ids=[name for name, _ in with_missing_classes(np.zeros(4, int))]
)
def test_rows_without_a_class_are_excluded_from_the_scores(case, at):
    model, X, y, _ = case
    contents = summary(model, X, y=list(with_missing_classes(y))[at][1])["classes"]
    known = np.arange(len(y)) % 4 != 0
    assert contents["accuracy"] == pytest.approx(oracle.accuracy(y[known], model.labels_[known]))
    assert contents["nmi"] == pytest.approx(oracle.nmi(y[known], model.labels_[known]))
    assert np.sum(contents["counts"]) == known.sum() == len(y) - contents["unknown"]
    assert contents["number"] == 3


def test_classes_need_a_value_per_row_and_may_all_be_missing(case):
    model, X, y, _ = case
    message = r"one class for each of the 178 rows, got an array of shape \(50,\)"
    with pytest.raises(ValueError, match=message):
        summary(model, X, y=y[:50])
    assert summary(model, X, y=[None] * 178)["classes"] is None


def test_spread_and_centres_match_numpy(case):
    model, X, _, contents = case
    counted = cells(model, X)
    assert sorted(f["column"] for f in contents["features"]) == list(range(13))
    for f in contents["features"]:
        x = np.sort(X[counted[:, f["column"]], f["column"]])
        at = np.array([0.05, 0.25, 0.5, 0.75, 0.95]) * (len(x) - 1)
        by_hand = x[np.floor(at).astype(int)] * (1 - at % 1) + x[np.ceil(at).astype(int)] * (at % 1)
        assert_allclose([f[q] for q in ("q05", "q25", "median", "q75", "q95")], by_hand)
        assert f["centres"] == model.cluster_centers_[:, f["column"]].tolist()


def test_missing_values_and_gross_errors_are_counted(case):
    model, X, _, contents = case
    missing = np.isnan(X)
    beyond = ~np.isnan(X) & ~cells(model, X)
    assert (contents["left_out"]["missing"], contents["left_out"]["beyond"]) == (
        missing.sum(),
        beyond.sum(),
    )
    assert contents["left_out"]["rows"] == 1
    for column in contents["left_out"]["columns"]:
        j = int(column["name"].removeprefix("x"))
        assert (column["missing"], column["beyond"]) == (missing[:, j].sum(), beyond[:, j].sum())
    assert len(contents["left_out"]["columns"]) == ((missing | beyond).any(axis=0)).sum()


def angles(model, X):
    """Return the angles of the rows with a kept value, NaN for ignored cells, and their labels."""
    counted = cells(model, X)
    scale = model.kernel_.scale
    part = counted.any(axis=1)
    units = scale.to_units(np.where(counted, X, np.nan), "ignore")
    theta = np.where(counted, math.pi * model.alpha_ * units, np.nan)
    return theta[part], model.labels_[part]


def resultant(theta):
    """Return the mean resultant length of some angles."""
    theta = theta[~np.isnan(theta)]
    return math.hypot(math.fsum(np.cos(theta)), math.fsum(np.sin(theta))) / len(theta)


def test_kappa_of_the_averages_and_of_the_model(case):
    model, X, _, contents = case
    theta, labels = angles(model, X)
    R = np.array([[resultant(theta[labels == c, j]) for j in range(13)] for c in range(3)])
    assert_allclose(contents["kappa"]["mean"], oracle.deviation(R.astype(complex)), atol=1e-6)
    own = 0 if isinstance(model, RectifiedEulerKMeans) else contents["kappa"]["mean"]
    assert_allclose(contents["kappa"]["model"], own, atol=1e-6)
    assert min(contents["kappa"]["mean"]) > 0.05


def test_separation_is_the_share_of_circular_variance_between_clusters(case):
    model, X, _, contents = case
    theta, labels = angles(model, X)
    shares = []
    for j in range(13):
        observed = ~np.isnan(theta[:, j])
        within = [
            (labels[observed] == c).sum() * (1 - resultant(theta[labels == c, j])) for c in range(3)
        ]
        shares.append(1 - sum(within) / (observed.sum() * (1 - resultant(theta[:, j]))))
    assert_allclose(
        [f["separation"] for f in contents["features"]], np.sort(shares)[::-1], atol=1e-6
    )
    assert [f["column"] for f in contents["features"]] == np.argsort(-np.array(shares)).tolist()
    assert [c["column"] for c in contents["circles"]["features"]] == np.argsort(-np.array(shares))[
        :6
    ].tolist()


def test_typical_doubtful_and_unusual_rows_follow_score_samples_and_transform(case):
    model, X, _, contents = case
    score = model.score_samples(X)
    D = np.sort(model.transform(X), axis=1)
    margin = 1 - D[:, 0] / D[:, 1]
    next_one = np.argsort(model.transform(X), axis=1)[:, 1]
    numbers = {
        name: [r["row"] for r in contents["rows"][name]]
        for name in ("typical", "doubtful", "unusual")
    }
    assert numbers["doubtful"] == np.argsort(margin, kind="stable")[:8].tolist()
    assert numbers["unusual"] == np.argsort(score, kind="stable")[:8].tolist()
    best = [
        np.argsort(np.where(model.labels_ == c, -score, 2), kind="stable")[:2].tolist()
        for c in range(3)
    ]
    assert numbers["typical"] == [row for rows in best for row in rows]
    first = [f["column"] for f in contents["features"][:5]]
    for r in contents["rows"]["doubtful"]:
        assert (r["cluster"], r["next"]) == (model.labels_[r["row"]], next_one[r["row"]])
        assert_allclose((r["score"], r["margin"]), (score[r["row"]], margin[r["row"]]), atol=1e-12)
        assert_array_equal(np.array(r["values"], dtype=float), X[r["row"], first])


def test_the_map_is_the_principal_components_of_the_mapped_rows():
    X = load_wine().data
    model = RectifiedEulerKMeans(3, random_state=0, beyond="clip").fit(X)
    contents = summary(model, X)["map"]
    F = EulerMap(beyond="clip").fit_transform(X)
    pca = PCA(2).fit(F)
    assert_allclose(np.abs(contents["points"]), np.abs(pca.transform(F)), atol=1e-4)
    assert_allclose(contents["share"], pca.explained_variance_ratio_, atol=1e-9)
    m = np.concatenate([model.centroids_.real, model.centroids_.imag], axis=1)
    assert_allclose(np.abs(contents["centroids"]), np.abs(pca.transform(m)), atol=1e-4)
    wide = np.random.default_rng(0).random((20, 30))  # more directions than rows
    contents = summary(RectifiedEulerKMeans(2, random_state=0, beyond="clip").fit(wide), wide)[
        "map"
    ]
    F = EulerMap(beyond="clip").fit_transform(wide)
    assert_allclose(np.abs(contents["points"]), np.abs(PCA(2).fit_transform(F)), atol=1e-4)


def test_the_python_code_reproduces_the_clusters(case):
    model, X, _, contents = case
    names = {"X": X}
    with pytest.warns(UserWarning, match="no kept value"):
        exec("\n".join(contents["repeat"]["python"]), names)
    assert_array_equal(names["model"].labels_, model.labels_)
    assert contents["repeat"]["exact"]
    assert not summary(EulerKMeans(2).fit(X[9:50]), X[9:50])["repeat"]["exact"]


def test_the_report_on_another_table_does_not_describe_the_fit(case, tmp_path, monkeypatch):
    model, X, _, contents = case
    assert contents["own_fit"]
    other = X.copy()
    other[7, 2] += 0.05  # one cell, too little to change the label
    assert_array_equal(model.predict(other), model.labels_)
    for table in (other, X[::-1], X[4:6]):
        contents = summary(model, table)
        assert not contents["own_fit"]
        assert contents["history"] == {}
        assert (contents["method"]["passes"], contents["method"]["seconds"]) == (None, None)
        text = render_page(contents)
        assert "model fitted on another table" in text
        assert not any(
            words in text
            for words in (
                "iteration time",
                "same table and settings",
                "Convergence and centres",
            )
        )
    save(model, tmp_path / "model.safetensors")
    monkeypatch.chdir(tmp_path)
    names = {"X": X[4:6]}
    exec("\n".join(contents["repeat"]["python"]), names)
    assert_array_equal(names["labels"], model.predict(X[4:6]))


@pytest.mark.filterwarnings("ignore:.*no kept value")
@pytest.mark.parametrize(
    "settings",
    [{"max_iter": 1}, {"n_init": 3}, {"beyond": "clip"}, {"engine": "reference"}],
    ids=str,
)
@pytest.mark.parametrize("kind", [RectifiedEulerKMeans, EulerKMeans])
def test_the_table_of_the_fit_is_recognized(kind, settings, dirty_wine, tmp_path):
    X = dirty_wine[0]
    model = kind(4, random_state=0, **settings).fit(X)
    save(model, tmp_path / "m.safetensors")
    contents = summary(load(tmp_path / "m.safetensors"), X)
    assert contents["own_fit"]
    assert contents["method"]["passes"] == model.n_iter_
    assert contents["history"]["inertia"] == list(model.history_["inertia"])


def test_the_table_of_a_weighted_fit_is_not_recognized():
    X = load_wine().data
    weights = 1 + np.arange(len(X)) % 2
    assert not summary(RectifiedEulerKMeans(1, random_state=0).fit(X, sample_weight=weights), X)[
        "own_fit"
    ]


def test_the_summary_survives_json(case):
    *_, contents = case
    assert json.loads(json.dumps(contents, allow_nan=False)) == contents


def test_sparse_and_dense_tables_have_the_same_summary():
    X = sparse.random(300, 12, 0.3, format="csr", random_state=0)
    model = RectifiedEulerKMeans(3, random_state=0).fit(X)
    assert summary(model, X) == summary(model, X.toarray())


def test_memory_and_summary_are_small_for_many_rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(500_000, 16)) + 2 * random.integers(0, 3, (500_000, 1))
    model = RectifiedEulerKMeans(3, random_state=0, n_threads=2).fit(X[:5000])
    tracemalloc.start()
    contents = summary(model, X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * X.nbytes
    assert sum(contents["sizes"]) == 500_000
    assert contents["table"]["drawn"] == MAX_ROWS_DRAWN
    assert len(json.dumps(contents)) < 1.1 * len(json.dumps(summary(model, X[:5000])))


def test_each_cluster_has_its_share_of_the_drawn_rows():
    X = np.concatenate([np.zeros((9000, 1)), np.ones((900, 1)), 2 * np.ones((100, 1))])
    analysis = analyse_fit(RectifiedEulerKMeans(3, random_state=0, scale="range").fit(X), X)
    drawn = analysis.rows_to_draw(1000)
    assert len(set(drawn.tolist())) == 1000
    assert_allclose(np.bincount(analysis.labels[drawn]) * 10, analysis.sizes, atol=10)
    assert_array_equal(analysis.rows_to_draw(10_000), np.arange(10_000))


def edge_cases():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3))
    hole, far = X.copy(), X.copy()
    hole[:, 1] = np.nan
    far[:5] = 1e7
    yield "one row", RectifiedEulerKMeans(1), X[:1]
    yield "constant", RectifiedEulerKMeans(1), np.ones((5, 2))
    yield "k = n", RectifiedEulerKMeans(6), X[:6]
    yield "one column", EulerKMeans(2), X[:, :1]
    yield "a column of NaN", RectifiedEulerKMeans(3), hole
    yield "far rows", RectifiedEulerKMeans(3), far
    yield "bare map, many turns", EulerKMeans(3, scale=None, alpha=5.0), X
    yield "40 clusters", RectifiedEulerKMeans(40), X
    yield "100 columns", RectifiedEulerKMeans(2), random.normal(size=(30, 100))


@pytest.mark.filterwarnings("ignore:.*no kept value")
@pytest.mark.parametrize(
    ("model", "X"), [pytest.param(m, X, id=name) for name, m, X in edge_cases()]
)
def test_edge_cases_have_a_report(model, X):
    contents = summary(model.fit(X), X)
    assert sum(contents["sizes"]) == len(X)
    assert len(contents["map"]["points"]) == len(X)
    assert np.isfinite(contents["map"]["points"]).all()
    assert all(0 <= f["separation"] <= 1 for f in contents["features"])
    assert f"<dd>{len(X)}</dd>" in render_page(contents)


def test_a_model_without_history_has_a_report():
    X = load_wine().data
    model = RectifiedEulerKMeans(3, random_state=0).fit(X)
    complete = summary(model, X)
    for name in ("history_", "labels_", "n_iter_", "inertia_"):
        delattr(model, name)
    contents = summary(model, X)
    assert contents["method"]["passes"] is None
    assert history_figure(contents) is None
    ours = dict.fromkeys(("own_fit", "history", "method", "repeat"), 0)
    assert (contents | ours) == (complete | ours)
    assert "after each iteration" not in render_page(contents)
