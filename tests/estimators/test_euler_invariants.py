"""Invariants of Euler fits: the objective never increases, and many changes have no effect."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rekmeans import RectifiedEulerKMeans
from rekmeans.assignment import Hard
from rekmeans.centroids import mean, rectified
from rekmeans.engines.reference import ReferenceRows
from rekmeans.lloyd import run
from rekmeans.model import Model, Stop
from rekmeans.table import MemoryTable
from support.models import euler, scale_of
from support.overlapping_groups import assert_same, both, seeds, table


def rows_without_gaps(X, k):
    """Return the first k rows without missing cells, as a start."""
    return np.nan_to_num(X[:k], nan=0.5)


# The objective, and consistency of the fitted attributes


@pytest.mark.parametrize("rule", [mean, rectified])
@pytest.mark.parametrize("alpha", np.geomspace(1e-4, 2, 10))
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_the_integer_objective_decreases_until_convergence(rule, alpha, gaps):
    for seed in range(5):
        X = table(seed, gaps=gaps)
        n, d = X.shape
        kernel = euler(float(alpha), scale_of(None, X))
        rows = ReferenceRows(kernel, MemoryTable(X))
        model = Model(kernel, Hard(), rule)
        fit = run(rows, model, kernel.from_points(rows_without_gaps(X, 4)), Stop(300, 0.0))
        assert (np.diff(fit.history["inertia"]) < 0).all()
        assert fit.n_iter < 300
        more = rows.start_run(model)
        assignment = more.assign(fit.centroids)
        assert assignment.sums.loss == fit.loss
        after = more.assign(more.update(assignment.sums, fit.centroids)).sums.loss
        assert after >= fit.loss
        # the largest effect of half a grid step
        assert after - fit.loss <= 2 * math.isqrt(2 * n * d * fit.loss) + n * d


@pytest.mark.parametrize("alpha", [0.01, 0.3])
def test_a_pass_that_raises_the_objective_is_dropped_with_its_centroids(alpha):
    X = table(0, n=200)
    kernel = euler(alpha, scale_of(None, X))
    rows = ReferenceRows(kernel, MemoryTable(X))
    means = run(rows, Model(kernel, Hard(), mean), kernel.from_points(X[:4]), Stop(300, 0.0))
    # rectified centroids never have a lower objective than means
    fit = run(rows, Model(kernel, Hard(), rectified), means.centroids, Stop(300, 0.0))
    assert (fit.loss, fit.n_iter) == (means.loss, 1)
    assert fit.centroids == means.centroids
    assert_array_equal(fit.labels, means.labels)


@both
@given(
    seed=seeds,
    k=st.integers(1, 5),
    passes=st.sampled_from([1, 2, 3, 300]),
    gaps=st.sampled_from([0.0, 0.2]),
)
def test_labels_centroids_and_objective_are_consistent_after_any_number_of_passes(
    method, seed, k, passes, gaps
):
    X = table(seed, gaps=gaps)
    model = method(
        k, scale="range", init="random", n_init=1, max_iter=passes, random_state=seed % 99
    ).fit(X)
    assert_array_equal(model.labels_, model.predict(X))
    assert model.inertia_ == -model.score(X) == model.history_["inertia"][-1]
    assert_allclose((model.transform(X).min(axis=1) ** 2).sum(), model.inertia_, rtol=1e-9)
    assert model.n_iter_ <= passes
    assert len({len(column) for column in model.history_.values()}) == 1


@given(seed=seeds, alpha=st.sampled_from([0.05, 0.3, 0.7, 1.9]), gaps=st.sampled_from([0.0, 0.2]))
def test_no_nearby_pre_image_is_better(seed, alpha, gaps):
    X = table(seed, gaps=gaps)
    model = RectifiedEulerKMeans(3, alpha=alpha, scale=None, init=rows_without_gaps(X, 3)).fit(X)

    def losses(U):  # (k, d), each coordinate of each cluster over its own rows
        own = 1 - np.cos(alpha * np.pi * (X - U[model.labels_]))
        return np.array([np.nansum(own[model.labels_ == c], axis=0) for c in range(3)])

    U = model.cluster_centers_
    for turn in (1e-4, 1e-2, 0.2, 0.5, 1.0):  # half-turns
        for side in (-1, 1):
            assert (losses(U + side * turn / alpha) - losses(U) > -1e-11).all()


@both
@pytest.mark.parametrize("tol", [0.3, 0.01])
def test_tolerance_stops_after_the_first_small_decrease(method, tol):
    X = table(1, n=200)
    full, early = (method(4, scale="range", init=X[:4], tol=limit).fit(X) for limit in (0.0, tol))
    falls = -np.diff(full.history_["inertia"]) / full.history_["inertia"][:-1]
    passes = int(np.argmax(falls <= tol)) + 2
    assert 2 <= passes < len(falls) + 1
    assert_array_equal(early.history_["inertia"], full.history_["inertia"][:passes])
    assert_array_equal(early.labels_, early.predict(X))


# Changes of the input without effect


@both
@pytest.mark.parametrize("scale", ["robust", "range", "global", None])
@given(seed=seeds)
@settings(max_examples=12)
def test_row_order_has_no_effect(method, scale, seed):
    X = table(seed, gaps=0.1)
    order = np.random.default_rng(seed).permutation(60)
    one, two = (
        method(3, scale=scale, init=rows_without_gaps(X, 3)).fit(rows) for rows in (X[order], X)
    )
    assert_same(one, two, labels=order)
    assert_array_equal(one.cluster_centers_, two.cluster_centers_)


@both
@pytest.mark.parametrize("scale", ["robust", "range", "global", None])
@given(seed=seeds)
@settings(max_examples=12)
def test_column_order_has_no_effect(method, scale, seed):
    X = table(seed, d=5, gaps=0.1)
    order = np.random.default_rng(seed).permutation(5)
    start = rows_without_gaps(X, 3)
    one = method(3, scale=scale, init=start[:, order]).fit(X[:, order])
    two = method(3, scale=scale, init=start).fit(X)
    assert_same(one, two, columns=order)
    assert_array_equal(one.cluster_centers_, two.cluster_centers_[:, order])


@both
@pytest.mark.parametrize("scale", ["robust", "range", None])
@pytest.mark.parametrize("init", ["array", "k-means++"])
@given(seed=seeds, most=st.sampled_from([1, 2, 5]))
@settings(max_examples=12)
def test_a_repeated_row_equals_a_row_of_weight_two(method, scale, init, seed, most):
    X = table(seed, gaps=0.1)
    times = np.random.default_rng(seed).integers(1, most + 1, 60)
    model = method(
        3,
        scale=scale,
        init=rows_without_gaps(X, 3) if init == "array" else init,
        random_state=seed % 99,
    )
    repeated = np.repeat(np.arange(60), times)
    one = model.fit(X[repeated])
    two = method(**model.get_params()).fit(X, sample_weight=times)
    assert_same(one, two, labels=repeated)
    assert_array_equal(one.cluster_centers_, two.cluster_centers_)
    assert one.score(X[repeated]) == two.score(X, sample_weight=times)


@both
@pytest.mark.parametrize("init", ["k-means++", "random", "circle"])
@pytest.mark.parametrize("weight", [1, 2.0**-40, 3, 0.1, 1e300])
def test_equal_weights_have_no_effect(method, init, weight):
    X = table(7, gaps=0.1)
    one, two = (
        method(3, init=init, random_state=4).fit(X, sample_weight=w)
        for w in (None, np.full(60, weight))
    )
    assert_array_equal(one.labels_, two.labels_)
    assert_array_equal(one.centroids_, two.centroids_)
    # weights are rounded to 31 bits
    assert_allclose(two.inertia_ / weight, one.inertia_, rtol=2.0**-30)


@both
@pytest.mark.parametrize("scale", ["robust", "range", None])
@pytest.mark.parametrize("init", ["array", "k-means++"])
@given(seed=seeds)
@settings(max_examples=12)
def test_a_row_of_weight_zero_is_ignored(method, scale, init, seed):
    X = table(seed, gaps=0.1)
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 3, 60)
    X[weights == 0] *= 50
    model = method(
        3,
        scale=scale,
        init=rng.normal(size=(3, 3)) if init == "array" else init,
        random_state=seed % 99,
    )
    kept = weights > 0
    one = model.fit(X[kept], sample_weight=weights[kept])
    two = method(**model.get_params()).fit(X, sample_weight=weights)
    assert_same(one, two, labels=kept)
    assert_array_equal(one.cluster_centers_, two.cluster_centers_)


@both
@pytest.mark.parametrize("alpha", [0.25, 1.0])
@given(seed=seeds, turns=st.integers(-50, 50))
@settings(max_examples=20)
def test_adding_a_full_turn_to_a_column_only_moves_its_centers(method, alpha, seed, turns):
    X = np.rint(table(seed, gaps=0.1) * 2**20) / 2**20  # so that additions are exact
    turn = np.array([0, turns * 2 / alpha, 0])
    one, two = (
        method(3, alpha=alpha, scale=None, init=rows_without_gaps(X, 3)).fit(rows)
        for rows in (X, X + turn)
    )
    assert_same(one, two)
    assert_allclose(two.cluster_centers_ - one.cluster_centers_, np.tile(turn, (3, 1)), atol=1e-9)


@both
@pytest.mark.parametrize("scale", ["robust", "range", "global", None])
@pytest.mark.parametrize("init", ["array", "k-means++"])
def test_a_column_of_missing_cells_is_ignored(method, scale, init):
    for seed in range(4):
        X = 20 + table(seed, gaps=0.1)  # far from 0, so that missing cells read as 0 would show
        with_empty_column = np.insert(X, 1, np.nan, axis=1)
        columns = [0, 2, 3]
        weights = np.random.default_rng(seed).uniform(0.5, 2, 60) if seed % 2 else None
        start = np.random.default_rng(seed).uniform(20, 22, (3, 4))
        one, two = (
            method(
                3, scale=scale, init=start[:, at] if init == "array" else init, random_state=seed
            )
            for at in (columns, range(4))
        )
        one.fit(X, sample_weight=weights)
        two.fit(with_empty_column, sample_weight=weights)
        assert_same(one, two, columns=columns)
        assert_array_equal(one.cluster_centers_, two.cluster_centers_[:, columns])
        assert_array_equal(one.transform(X), two.transform(with_empty_column))
        assert_array_equal(one.score_samples(X), two.score_samples(with_empty_column))


@pytest.mark.parametrize("init", ["k-means++", "random", "circle", "array"])
def test_rectified_centroids_stay_on_the_circle_where_a_column_is_missing(init):
    X = np.insert(table(2), 1, np.nan, axis=1)
    model = RectifiedEulerKMeans(
        3, init=np.ones((3, 4)) if init == "array" else init, random_state=0
    ).fit(X)
    assert_allclose(model.deviation_, 0, atol=1e-6)
