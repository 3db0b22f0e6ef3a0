"""An assignment rule from outside the package needs one line to register."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rekmeans import (
    KernelKMeans,
)
from rekmeans.model import Shares
from support.extension_rows import K, X

# an assignment rule


@dataclass(frozen=True)
class Trimmed:
    """Assign rows to the nearest centroid, but give rows farther than `cut` no weight.

    Their loss is that of a row at the distance `cut`.
    """

    labels_are_nearest: ClassVar[bool] = True
    is_hard: ClassVar[bool] = False

    cut: float

    def __call__(self, D, loss, w):
        labels = D.argmin(axis=1).astype(np.int32)
        own = loss(D[np.arange(len(D)), labels]).astype(np.float64)
        kept = own <= self.cut
        W = np.zeros(D.shape)
        W[np.arange(len(D)), labels] = w * kept
        return Shares(labels, W, np.where(kept, own, self.cut))


class TrimmedKMeans(KernelKMeans):
    """Kernel k-means without distant rows."""

    def _assignment_rule(self):
        return Trimmed(0.2)


def test_a_new_rule_matches_a_plain_implementation():
    far = np.concatenate([X, [[40.0, -40.0], [50.0, 50.0]]])
    model = TrimmedKMeans(
        K, kernel="linear", scale=None, init=X[:K], max_iter=5, tol=0, engine="auto"
    ).fit(far)
    C = X[:K]
    for _ in range(model.n_iter_):
        D = ((far[:, None] - C) ** 2).sum(axis=2)
        labels = D.argmin(axis=1)
        kept = D.min(axis=1) <= 0.2
        C = np.stack([far[kept & (labels == c)].mean(axis=0) for c in range(K)])
    D = ((far[:, None] - C) ** 2).sum(axis=2)
    assert model.engine_ == "reference"
    assert_allclose(model.cluster_centers_, C, rtol=1e-12)
    assert_array_equal(model.labels_, D.argmin(axis=1))
    assert_allclose(model.inertia_, np.minimum(D.min(axis=1), 0.2).sum(), rtol=1e-12)


@pytest.mark.parametrize("kernel", ["euler", "rbf", "laplace"])
def test_a_new_rule_runs_with_every_kernel(kernel):
    model = TrimmedKMeans(K, kernel=kernel, random_state=0).fit(X)
    assert model.engine_ == "reference"
    assert_array_equal(model.predict(X), model.labels_)
    assert (np.diff(model.history_["inertia"]) <= 1e-9).all()
    with pytest.raises(
        ValueError, match="engine='native' does not support the assignment rule Trimmed"
    ):
        TrimmedKMeans(K, kernel=kernel, engine="native").fit(X)
