"""A centroid rule from outside the package needs one line to register."""

import numpy as np
import pytest

from rekmeans import RectifiedEulerKMeans
from rekmeans.centroids import CENTROIDS, rectified

X = np.random.default_rng(0).normal(size=(300, 3))


class OwnRule(RectifiedEulerKMeans):
    """An estimator with another centroid rule."""

    centroids = "own"


def test_a_new_centroid_rule_runs_on_the_reference(monkeypatch):
    monkeypatch.setitem(CENTROIDS, "own", lambda kernel, sums, C: rectified(kernel, sums, C))
    model = OwnRule(3, init=X[:3]).fit(X)
    assert model.engine_ == "reference"
    assert model.inertia_ == RectifiedEulerKMeans(3, init=X[:3]).fit(X).inertia_
    with pytest.raises(
        ValueError, match="engine='native' supports only the centroid rules mean and rectified"
    ):
        OwnRule(3, init=X[:3], engine="native").fit(X)
