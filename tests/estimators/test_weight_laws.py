"""In all clusterers, a row of weight w equals w rows, and rows of weight 0 are ignored."""

import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rekmeans import FuzzyCMeans, KernelKMeans, NeuralGas, SelfOrganizingMap
from support.clusterers import CLUSTERERS, RULES, K
from support.kernels import TABLE_KERNELS

N = 50
SOFT = {
    "FuzzyCMeans": partial(FuzzyCMeans, K, fuzziness=1.6),
    "SelfOrganizingMap": partial(SelfOrganizingMap, (1, K), stages=3),
    "NeuralGas": partial(NeuralGas, K, stages=3),
}
METHODS = CLUSTERERS | {
    f"{name}-{kernel}-{rule}": partial(make, kernel=kernel, centroids=rule)
    for name, make in SOFT.items()
    for kernel in TABLE_KERNELS
    for rule in RULES
}
PAIRWISE = "KernelKMeans-precomputed-mean"
RANDOM_STARTS = {"k-means++", "random", "circle"}


def starts(name):
    """Return the starts that a method supports, by name."""
    if name == PAIRWISE:
        return ["k-means++", "random"]
    circle = ["circle"] if not {"linear", "rbf", "laplace", "mixed"} & set(name.split("-")) else []
    plane = ["plane"] if name.startswith("SelfOrganizingMap") else []
    return ["array", "k-means++", "random", *circle, *plane]


CASES = [
    (name, start)
    for name in METHODS
    if name != "KernelKMeans-precomputed-rectified"
    for start in starts(name)
]


def random_table(seed):
    """Return rows of three groups without ties, and weights from 0 to 3."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 3, (K, 2))[rng.integers(0, K, N)] + 0.4 * rng.standard_t(4, (N, 2))
    return X, rng.integers(0, 4, N)


def fit_of_rows(name, start, X, numbers, weights=None):
    """Fit the rows of these numbers, or their kernel values."""
    table = X[numbers]
    init = X[:K] + 0.01 if start == "array" else start
    if name == PAIRWISE:
        table = np.exp(-0.5 * ((table[:, None] - table) ** 2).sum(axis=2))
    model = METHODS[name](init=init, n_init=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows out of range, empty clusters
        return model.fit(table, sample_weight=weights)


def assert_same_result(one, two, numbers):
    """Compare labels, objectives and points; medians are not compared, because rounding may change
    them.
    """
    assert_array_equal(one.labels_, two.labels_[numbers])
    assert_allclose(one.inertia_, two.inertia_, rtol=1e-7)
    has_medians = (
        one.get_params().get("kernel") in ("laplace", "laplace-l2") and one.centroids == "mean"
    )
    if hasattr(one, "cluster_centers_") and not has_medians:
        assert_allclose(one.cluster_centers_, two.cluster_centers_, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "start"), [case for case in CASES if case[1] != "random"])
def test_an_integer_weight_equals_repeated_rows(name, start):
    """Random starts are not compared: with repeated rows they draw other rows, or one row twice."""
    X, times = random_table(11)
    repeated = np.repeat(np.arange(N), times)
    assert_same_result(
        fit_of_rows(name, start, X, repeated),
        fit_of_rows(name, start, X, np.arange(N), times),
        repeated,
    )


@pytest.mark.parametrize(("name", "start"), CASES)
def test_a_row_of_weight_zero_is_ignored(name, start):
    X, weights = random_table(11)
    there = np.flatnonzero(weights)
    assert_same_result(
        fit_of_rows(name, start, X, there, weights[there]),
        fit_of_rows(name, start, X, np.arange(N), weights),
        there,
    )


@pytest.mark.parametrize("kernel", ["rbf", "laplace", "laplace-l2"])
def test_kernel_means_do_not_start_on_a_row_of_weight_zero(kernel):
    """A given start on a row of weight 0 is replaced by the nearest row with weight."""
    X = np.array([[0.0], [0.2], [1.0], [5.0], [6.0], [6.2]])
    model = KernelKMeans(
        2, kernel=kernel, centroids="mean", gamma=0.5, scale=None, init=[[5.0], [6.2]], max_iter=1
    )
    one = model.fit(X[[0, 1, 2, 4, 5]]).inertia_
    two = model.fit(X, sample_weight=[1, 1, 1, 0, 1, 1]).inertia_
    assert one == pytest.approx(two, rel=1e-12)


def test_kernel_means_do_not_start_on_a_row_without_kept_values():
    """A row with all values out of range has weight 0: its centroid starts on the nearest other
    row.
    """
    X = np.concatenate([np.linspace(0, 1, 40), [30.0]])[:, None]
    model = KernelKMeans(2, kernel="rbf", centroids="mean", gamma=2.0, max_iter=1)
    with pytest.warns(UserWarning, match="1 of 41 rows has no kept value"):
        first = [
            model.set_params(init=[[start], [0.0]]).fit(X).history_["inertia"][0]
            for start in (30.0, 1.0)
        ]
    assert first[0] == first[1]
