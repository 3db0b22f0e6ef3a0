"""The surfaces of Lemmas 1 and 2: the sign of a side indicates the nearer centroid."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rekmeans import (
    EulerKMeans,
    EulerMap,
    RectifiedEulerKMeans,
    mean_surface,
    rectified_surface,
)
from support import oracle

# surfaces


def points(random, n, d):
    """Return random points of the circle, (n, d) complex."""
    return np.exp(2j * np.pi * random.random((n, d)))


def mapped_rows(Z):
    return np.concatenate([Z.real, Z.imag], axis=1)


def nearer(Z, p, q):
    """Return |z - q|^2 - |z - p|^2, which is positive if p is nearer."""
    return (np.abs(Z - q) ** 2).sum(axis=1) - (np.abs(Z - p) ** 2).sum(axis=1)


@given(d=st.integers(1, 5), seed=st.integers(0, 999))
def test_the_surface_of_two_means_follows_lemma_1(d, seed):
    random = np.random.default_rng(seed)
    Z = points(random, 30, d)
    (p, q) = points(random, 2, d) * random.random((2, d))
    side = mean_surface(p, q).side(mapped_rows(Z))
    assert_allclose(side, [oracle.surface_eulerk(p, q, z) for z in Z], atol=1e-12)
    assert_allclose(side, nearer(Z, p, q), atol=1e-12)
    assert_allclose(mean_surface(p, q).side(mapped_rows(((p + q) / 2)[None])), 0, atol=1e-12)


@given(d=st.integers(1, 5), seed=st.integers(0, 999))
def test_the_surface_of_two_rectified_centroids_follows_lemma_2(d, seed):
    random = np.random.default_rng(seed)
    Z = points(random, 30, d)
    (p, q) = points(random, 2, d)
    side = rectified_surface(p, q).side(mapped_rows(Z))
    assert_allclose(side, [oracle.surface_rek(p, q, z) for z in Z], atol=1e-12)
    assert_allclose(2 * side, nearer(Z, p, q), atol=1e-12)


@pytest.mark.parametrize(
    ("clusterer", "surface"),
    [(EulerKMeans, mean_surface), (RectifiedEulerKMeans, rectified_surface)],
)
def test_the_labels_of_a_fitted_model_change_at_the_surface(clusterer, surface):
    X = np.random.default_rng(1).random((200, 3))
    model = clusterer(2, alpha=0.9, scale="range", random_state=0).fit(X)
    F = EulerMap(alpha=0.9, scale="range").fit_transform(X)
    side = surface(*model.centroids_).side(F)
    clear = np.abs(side) > 1e-5  # closer to the surface, the rounding to the grid matters
    assert clear.sum() > 190
    assert_array_equal(side[clear] > 0, model.labels_[clear] == 0)
