"""Self-organizing maps unfold over the data, and nodes without rows give no warning."""

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from rekmeans import FuzzyCMeans, RectifiedEulerKMeans, SelfOrganizingMap
from rekmeans.assignment import SomNeighbourhood, node_places


@pytest.mark.parametrize("grid", [(1, 1), (1, 7), (4, 5)])
@pytest.mark.parametrize("reach", [0.2, 0.5, 3.0])
def test_the_weights_of_every_node_sum_to_one(grid, reach):
    h = SomNeighbourhood(grid, reach).neighbourhood
    np.testing.assert_allclose(h.sum(axis=1), 1)
    for c, here in enumerate(node_places(grid)):
        bare = [
            np.exp(-((here - there) ** 2).sum() / (2 * reach**2)) for there in node_places(grid)
        ]
        np.testing.assert_allclose(h[c], np.array(bare) / np.sum(bare))


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("kernel", ["euler", "linear"])
def test_a_map_unfolds_over_a_square(kernel, engine):
    X = np.random.default_rng(0).uniform(size=(600, 2))
    model = SelfOrganizingMap((6, 6), kernel=kernel, engine=engine, random_state=0).fit(X)
    counts = np.bincount(model.labels_, minlength=36)
    # with unequal sums of h, nodes at the rim got nearly all rows
    assert counts.min() > 0
    assert counts.max() < 4 * 600 / 36
    between = cdist(model.cluster_centers_, model.cluster_centers_)
    steps = cdist(node_places((6, 6)), node_places((6, 6)), "cityblock")
    assert between[steps == 1].max() < between[steps >= 4].min()
    assert model.topographic_error_ < 0.05


def test_nodes_without_rows_give_no_warning():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 20, axis=0)
    with warnings.catch_warnings(action="error"):
        assert len(np.unique(SelfOrganizingMap((3, 3), scale=None).fit(X).labels_)) < 9


def test_identical_fuzzy_centroids_give_a_warning():
    X = np.linspace(0, 1, 9)[:, None]
    with pytest.warns(
        UserWarning,
        match=r"Only 1 of 2 clusters has rows: some centroids are identical at fuzziness=2\. ",
    ):
        FuzzyCMeans(2, fuzziness=2.0, init=[[0.5], [0.5]]).fit(X)


def test_a_map_with_reach_zero_is_k_means_from_the_same_start():
    X = np.random.default_rng(0).normal(size=(80, 3))
    start = X[[3, 40, 70]]
    node_map = SelfOrganizingMap((1, 3), reach=0, stages=1, init=start, tol=0).fit(X)
    plain = RectifiedEulerKMeans(3, init=start, tol=0).fit(X)
    np.testing.assert_array_equal(node_map.labels_, plain.labels_)
    np.testing.assert_allclose(node_map.centroids_, plain.centroids_, atol=1e-6)
