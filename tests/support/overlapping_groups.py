"""Rows of overlapping groups, a comparison of fits, and the two Euler clusterers as a parameter."""

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from rekmeans import EulerKMeans, RectifiedEulerKMeans

both = pytest.mark.parametrize("method", [EulerKMeans, RectifiedEulerKMeans])
seeds = st.integers(0, 10**6)


def table(seed, n=60, d=3, gaps=0.0):
    """Return rows of three overlapping groups, with a duplicate and a share of missing cells."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 2, (3, d))[rng.integers(0, 3, n)] + 0.4 * rng.standard_t(3, (n, d))
    X[n // 2] = X[n // 3]
    X[rng.uniform(size=(n, d)) < gaps] = np.nan
    X[np.isnan(X).all(axis=1)] = 1.0
    return X


def assert_same(one, two, labels=slice(None), columns=slice(None)):
    """Compare the bits of labels, centroids and objectives.

    `labels` and `columns` select the labels and the centroid columns of `two`.
    """
    assert_array_equal(one.labels_, two.labels_[labels])
    assert_array_equal(one.centroids_, two.centroids_[:, columns])
    assert_array_equal(one.history_["inertia"], two.history_["inertia"])
    assert one.inertia_ == two.inertia_
