"""Kernel weights of MultipleKernelKMeans in extreme cases."""

import numpy as np
import pytest

from rekmeans import MultipleKernelKMeans
from rekmeans.estimators.placement import fitted_centroids

PAIR = np.repeat([[0.0, 1.0], [1.0, 3.0]], 5, axis=0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("power", [1.001, 1.1, 2.0, 50.0])
@pytest.mark.parametrize(
    "kernels", [(0.1, 0.2, 0.5, 0.75, 1.0, 1.25), (0.5, ("rbf", 1.0)), (0.9,)], ids=len
)
def test_kernels_with_perfect_clusters_share_the_weight(kernels, power):
    model = MultipleKernelKMeans(2, kernels=kernels, power=power, random_state=0).fit(PAIR)
    np.testing.assert_allclose(model.kernel_weights_, 1 / len(kernels))
    assert model.inertia_ == 0
    assert len(np.unique(model.labels_)) == 2


def parts(model):
    """Return each kernel with its unit and its centroids."""
    return zip(model.kernel_.parts, model.kernel_.units, fitted_centroids(model).parts, strict=True)


def own_loss(kernel, unit, C, X, labels):
    """Return the loss of the rows for one kernel alone, in its unit."""
    losses = kernel.loss(kernel.distance(kernel.embed(X), C)) * (kernel.loss_unit / unit)
    return losses[np.arange(len(X)), labels].sum()


def test_weights_follow_the_objectives_of_the_kernels():
    X = np.random.default_rng(0).normal(size=(120, 3)) + np.repeat([[0.0], [3.0]], 60, axis=0)
    model = MultipleKernelKMeans(2, kernels=(0.4, 0.9, 1.8), power=3.0, tol=0, random_state=0).fit(
        X
    )
    losses = np.array([own_loss(*part, X, model.labels_) for part in parts(model)])
    expected = losses ** (-1 / 2)
    np.testing.assert_allclose(model.kernel_weights_, expected / expected.sum(), rtol=1e-4)
    np.testing.assert_allclose(model.inertia_, (model.kernel_weights_**3 * losses).sum())
