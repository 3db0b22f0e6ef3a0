"""Missing cells, cells out of range, and centers in the units of X."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from rekmeans import RectifiedEulerKMeans
from support import oracle
from support.euler import CLUSTERERS, blobs, each_clusterer
from support.tables import with_missing_cells

# Missing values and values out of range


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


STEP = 1 / 64  # cells and periods are multiples of this, so that phases are exact


def unit_table(seed=0):
    """Return multiples of 1/64, (50, 4), whose columns range from 0 to 1 exactly."""
    X = np.random.default_rng(seed).integers(0, 65, (50, 4)) * STEP
    X[0] = 0
    X[1] = 1
    return X


def far_rows(seed=3):
    """Return rows like those of unit_table with one or two cells outside [0, 1], and their mask."""
    X = unit_table(seed)
    far = np.zeros(X.shape, bool)
    far[np.arange(50), np.arange(50) % 4] = True
    far[::3, 1] = True
    return np.where(far, X + np.where(X > 0.5, 1.5, -1.25), X), far


@each_clusterer
def test_a_value_out_of_range_is_ignored_like_a_missing_one(clusterer):
    rows, far = far_rows()
    model = clusterer(4, scale="range", beyond="ignore", random_state=0).fit(unit_table())
    assert_array_equal(model.transform(rows), model.transform(np.where(far, np.nan, rows)))
    assert_array_equal(model.predict(rows), model.transform(rows).argmin(axis=1))


@each_clusterer
def test_a_value_out_of_range_is_clipped_to_the_range_of_the_fitted_column(clusterer):
    rows, _ = far_rows()
    model = clusterer(4, scale="range", beyond="clip", random_state=0).fit(unit_table())
    assert_array_equal(model.transform(rows), model.transform(np.clip(rows, 0, 1)))
    assert_array_equal(model.predict(rows), model.predict(np.clip(rows, 0, 1)))


@each_clusterer
@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_a_value_out_of_range_wraps_around_the_circle(clusterer, alpha):
    X = unit_table()
    model = clusterer(4, alpha=alpha, scale="range", beyond="wrap", random_state=0).fit(X)
    turns = np.random.default_rng(1).integers(-3, 4, X.shape)
    assert_array_equal(model.transform(X + turns * 2 / alpha), model.transform(X))
    bare = clusterer(4, alpha=alpha, scale=None, beyond="ignore", random_state=0).fit(
        X + turns * 2 / alpha
    )
    assert_array_equal(bare.labels_, clone(bare).fit(X).labels_)


def tied_integers(gross):
    """Return small integers with many ties, so that a few more rows do not change any quartile."""
    few = np.array(
        [[0, 7, 2], [1, 6, 3], [2, 5, 1], [3, 4, 4], [6, 1, 9], [7, 2, 8], [8, 0, 7]],
        dtype=np.float64,
    )
    return np.concatenate(
        [np.tile(few, (11, 1)), np.array([[1e6, -1e6, 1e6], [-1e6, 1e6, -1e6]])[:gross]]
    )


@each_clusterer
@pytest.mark.parametrize("gross", [1, 2])
def test_a_row_with_all_values_out_of_range_has_a_label_but_no_influence(clusterer, gross):
    start = tied_integers(0)[[0, 6]]
    clean = clusterer(2, init=start).fit(tied_integers(0))
    dirty = clusterer(2, init=start).fit(tied_integers(gross))
    assert_array_equal(dirty.kernel_.scale.unit, clean.kernel_.scale.unit)
    assert_array_equal(dirty.centroids_, clean.centroids_)
    assert_array_equal(dirty.cluster_centers_, clean.cluster_centers_)
    assert dirty.inertia_ == clean.inertia_
    assert_array_equal(dirty.labels_[:-gross], clean.labels_)
    edge = np.clip(tied_integers(gross)[-gross:], *clean.kernel_.scale.bounds)
    assert_array_equal(dirty.labels_[-gross:], clean.predict(edge))
    assert_array_equal(clean.transform(tied_integers(gross)[-gross:]), clean.transform(edge))
    assert dirty.score(tied_integers(gross)) == clean.score(tied_integers(0))


# Centers in the units of X


@each_clusterer
@pytest.mark.parametrize("alpha", [0.3, 1.0, 40.0, 1e4])
def test_a_center_is_the_preimage_nearest_to_the_mean_of_its_rows(clusterer, alpha):
    X = np.random.default_rng(4).normal(5, 2, (120, 3))
    model = clusterer(5, alpha=alpha, scale=None, random_state=0).fit(X)
    means = np.stack([X[model.labels_ == c].mean(axis=0) for c in range(5)])
    U = model.cluster_centers_
    assert (np.abs(U - means) <= (1 + 1e-4) / alpha).all()
    direction = model.centroids_ / np.abs(model.centroids_)
    assert_allclose(np.exp(1j * np.pi * alpha * U), direction, atol=1e-6 + 1e-12 * alpha)


@each_clusterer
@pytest.mark.parametrize("scale", ["robust", "range", "global", None])
def test_two_rows_have_their_center_in_the_middle(clusterer, scale):
    X = np.array([[10.0, -3.0], [10.5, -2.0], [14.0, 9.0], [14.5, 8.0]])
    model = clusterer(2, alpha=0.05 if scale is None else 0.75, scale=scale, init=X[[0, 2]]).fit(X)
    assert_array_equal(model.labels_, [0, 0, 1, 1])
    assert_allclose(model.cluster_centers_, [[10.25, -2.5], [14.25, 8.5]], rtol=1e-5)


def test_gross_errors_do_not_move_the_center():
    X = np.random.default_rng(0).normal(0, 1, (200, 2)) + np.repeat(
        [[0.0, 0.0], [8.0, 8.0]], 100, axis=0
    )
    start = np.array([[0.0, 0.0], [8.0, 8.0]])
    clean = RectifiedEulerKMeans(2, init=start).fit(X)
    X[::10, 0] = 1e9
    assert_allclose(
        RectifiedEulerKMeans(2, init=start).fit(X).cluster_centers_,
        clean.cluster_centers_,
        atol=0.3,
    )
