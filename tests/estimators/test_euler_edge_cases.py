"""Edge cases of Euler fits: closed forms, empty clusters, ties, equal rows, constant columns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from rekmeans import EulerKMeans, RectifiedEulerKMeans
from support.overlapping_groups import assert_same, both, seeds, table

# Closed forms


@pytest.mark.parametrize("alpha", [0.01, 0.3, 1.0, 7.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_cluster_has_the_closed_form(alpha, weighted):
    X = table(3, n=200, d=4)
    w = np.random.default_rng(0).integers(1, 5, 200) if weighted else np.ones(200)
    R = np.abs(np.average(np.exp(1j * np.pi * alpha * X), axis=0, weights=w))
    for method, objective in (
        (EulerKMeans, (1 - R**2).sum() / 2),
        (RectifiedEulerKMeans, (1 - R).sum()),
    ):
        model = method(1, alpha=alpha, scale=None).fit(X, sample_weight=w)
        assert_allclose(model.inertia_, w.sum() * objective, rtol=1e-6)


@both
@pytest.mark.parametrize("init", ["k-means++", "random", "array"])
def test_as_many_clusters_as_rows_have_inertia_zero(method, init):
    X = np.random.default_rng(0).normal(size=(9, 2))
    model = method(9, init=X if init == "array" else init, scale="range", random_state=0).fit(X)
    assert model.inertia_ == 0
    assert sorted(model.labels_) == list(range(9))


# Edge cases


@both
@pytest.mark.parametrize("alpha", np.geomspace(1e-4, 1e4, 9))
@pytest.mark.parametrize("scale", ["robust", "range", "global", None])
def test_centers_lie_within_the_range_of_their_rows_for_any_alpha(method, alpha, scale):
    X = table(5, gaps=0.1)
    model = method(3, alpha=alpha, scale=scale, beyond="wrap", random_state=0).fit(X)
    assert (np.diff(model.history_["inertia"]) < 0).all()
    middle = np.array([np.nanmean(X[model.labels_ == c], axis=0) for c in range(3)])
    half_turn = model.kernel_.scale.unit[:, 0] / alpha
    assert (np.abs(model.cluster_centers_ - middle) <= 1.001 * half_turn).all()
    assert_array_equal(model.labels_, model.predict(X))


@pytest.mark.parametrize("offset", [0.0, 0.25, 3.0])
def test_rows_that_cancel_keep_the_old_angle(offset):
    X = offset + np.array([[0.0, 0.0], [1.0, 0.2]])  # opposite in the first column
    start = offset + np.array([[0.3, 0.5]])
    cosine = np.cos(0.1 * np.pi)
    model = RectifiedEulerKMeans(1, alpha=1.0, scale=None, init=start).fit(X)
    assert_allclose(model.cluster_centers_, offset + np.array([[0.3, 0.1]]), atol=1e-6)
    # 1 - cos(0.3 pi) + 1 - cos(0.7 pi) = 2
    assert_allclose(model.inertia_, 2 + 2 * (1 - cosine), rtol=1e-6)
    flat = EulerKMeans(1, alpha=1.0, scale=None, init=start).fit(X)
    assert flat.centroids_[0, 0] == 0
    assert_allclose(flat.deviation_, 1 - cosine / np.sqrt(2), rtol=1e-6)
    assert_allclose(flat.inertia_, 1 + (1 - cosine**2), rtol=1e-6)


@both
def test_an_empty_cluster_is_relocated_to_the_farthest_row_and_counted(method):
    X = np.array([[0.0], [0.1], [0.2], [1.0], [0.65]])
    model = method(2, alpha=0.1, scale=None, init=[[0.1], [10.0]]).fit(X)
    assert model.history_["n_relocated"].tolist()[:2] == [1, 0]
    assert_array_equal(model.labels_, [0, 0, 0, 1, 1])
    first = method(2, alpha=0.1, scale=None, init=[[0.1], [10.0]], max_iter=1).fit(X)
    # only the farthest row is in its cluster until the cluster has moved
    assert_array_equal(first.labels_, [0, 0, 0, 1, 0])
    assert_allclose(first.cluster_centers_[1], 1.0, atol=1e-5)


@both
def test_several_empty_clusters_are_relocated_to_different_rows(method):
    X = np.array([[-1.0], [0.0], [0.0], [1.0]])
    model = method(2, alpha=0.25, scale=None, init=[[0.0], [4.0]], max_iter=1).fit(X)
    assert_array_equal(model.labels_, [1, 0, 0, 0])
    model = method(3, alpha=0.25, scale=None, init=[[0.0], [4.0], [4.0]]).fit(X)
    assert model.history_["n_relocated"][0] == 2
    assert_array_equal(model.labels_, [1, 0, 0, 2])
    assert model.inertia_ == 0


@both
def test_relocation_ignores_rows_of_weight_zero(method):
    X = np.array([[-1.0], [0.0], [0.1], [0.5]])
    model = method(2, alpha=0.25, scale=None, init=[[0.0], [4.0]], max_iter=1).fit(
        X, sample_weight=[0, 1, 1, 1]
    )
    assert_array_equal(model.labels_, [0, 0, 0, 1])


@both
@pytest.mark.parametrize("start", [[[-1.0], [1.0]], [[1.0], [-1.0]]])
def test_a_row_half_way_goes_to_the_first_of_two_clusters(method, start):
    model = method(2, alpha=0.25, scale=None, init=start).fit(
        [[-1.0], [1.0], [0.0]], sample_weight=[1, 1, 0]
    )
    assert model.labels_[2] == 0
    assert model.predict([[0.0], [4.0], [-4.0]]).tolist() == [0, 0, 0]


@both
@pytest.mark.parametrize("init", ["k-means++", "random", "circle"])
@pytest.mark.parametrize("copies", [1, 4])
def test_more_clusters_than_distinct_rows_warn_and_equal_rows_share_a_label(method, init, copies):
    distinct = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    X = np.tile(distinct, (copies + 2, 1))
    with pytest.warns(ConvergenceWarning, match="Only . of 5 clusters"):
        model = method(5, scale="range", init=init, random_state=0).fit(X)
    assert_array_equal(model.labels_, np.tile(model.labels_[:3], copies + 2))
    assert len(set(model.labels_)) == 3
    assert model.inertia_ == 0


@both
@given(seed=seeds, scale=st.sampled_from(["robust", "range", None]))
def test_equal_rows_share_a_label(method, seed, scale):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (40, 2)).astype(float)
    labels = (
        method(4, scale=scale, alpha=0.4, init="random", n_init=1, random_state=seed % 99)
        .fit(X)
        .labels_
    )
    for row in np.unique(X, axis=0):
        assert len(set(labels[(X == row).all(axis=1)])) == 1


@both
@pytest.mark.parametrize("scale", ["robust", "range", "global", None])
@pytest.mark.parametrize("init", ["k-means++", "random", "circle"])
def test_one_row_one_column_and_constant_columns_can_be_fitted(method, scale, init):
    lone = method(1, scale=scale, init=init, random_state=0).fit([[3.0, -2.0]])
    assert lone.inertia_ == 0
    assert_allclose(lone.cluster_centers_, [[3.0, -2.0]], atol=1e-5)
    x = np.array([[0.0], [0.1], [0.9], [1.0]])
    line = method(2, scale=scale, init=init, alpha=0.5, random_state=0).fit(x)
    assert line.labels_[0] == line.labels_[1] != line.labels_[2] == line.labels_[3]
    padded = method(2, scale=scale, init=init, alpha=0.5, random_state=0).fit(
        np.insert(x, 1, 0.3, axis=1)
    )
    if init != "circle" and scale != "global":  # these depend on all columns
        assert_same(line, padded, columns=[0])
    assert_allclose(padded.cluster_centers_[:, 1], 0.3, atol=1e-6)


@both
def test_a_constant_table_is_one_cluster(method):
    with pytest.warns(ConvergenceWarning, match="Only 1 of 2 clusters has rows"):
        model = method(2, random_state=0).fit(np.full((5, 3), 7.0))
    assert model.labels_.tolist() == [0] * 5
    assert model.inertia_ == 0
    assert_allclose(model.cluster_centers_[0], 7.0, atol=1e-5)
