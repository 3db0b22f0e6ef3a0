"""Precision of the kernel estimators: data far from zero, units, repeated fits, memory."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from rekmeans import (
    FuzzyCMeans,
    KernelKMeans,
    MahalanobisFuzzyCMeans,
    MultipleKernelKMeans,
    NeuralGas,
    SelfOrganizingMap,
)
from rekmeans.kernels import combination, gram
from rekmeans.table import MemoryTable
from support.kernels import WIDTH_KERNELS

PAIR = np.random.default_rng(0).normal(size=(80, 2)) * [0.3, 0.1] + np.repeat(
    [[0.0, 0.0], [2.0, 1.0]], 40, axis=0
)


def test_shapes_do_not_depend_on_the_origin():
    """Shapes agree up to the rounding of the table itself, which keeps eight digits."""
    near, far = (
        MahalanobisFuzzyCMeans(
            2, kernel="linear", scale=None, tol=0.0, init=PAIR[[0, -1]] + zero
        ).fit(PAIR + zero)
        for zero in (0.0, 1e7)
    )
    assert_allclose(far.shapes_, near.shapes_, rtol=1e-6)
    assert_allclose(far.inertia_, near.inertia_, rtol=1e-6)


@pytest.mark.parametrize(("kernel", "degree"), [("rbf", 2), ("laplace", 1), ("laplace-l2", 1)])
@pytest.mark.parametrize("exponent", [-400, -20, 20, 40, 400])
def test_the_default_width_follows_the_units(kernel, degree, exponent):
    plain, other = (
        KernelKMeans(3, kernel=kernel, scale=None, random_state=0).fit(PAIR * unit)
        for unit in (1.0, 2.0**exponent)
    )
    assert other.gamma_ == plain.gamma_ * 2.0 ** (-exponent * degree)


def test_a_second_fit_replaces_all_attributes():
    model = KernelKMeans(2, kernel="rbf", random_state=0).fit(PAIR)
    for change in (
        {"kernel": "euler"},
        {"kernel": "linear"},
        {"kernel": "precomputed", "centroids": "mean"},
    ):
        X = PAIR @ PAIR.T if change["kernel"] == "precomputed" else PAIR
        fresh = clone(model.set_params(**change)).fit(X)
        assert vars(model.fit(X)).keys() == vars(fresh).keys()


def test_an_outlier_in_the_first_row_does_not_change_weights_of_kernels():
    kernels = (("rbf", 3.0), ("laplace", 2.0), ("laplace-l2", 1.0))
    start = PAIR[[0, -1]]
    first, last = (
        MultipleKernelKMeans(2, kernels=kernels, scale=None, tol=0, init=start)
        .fit(X)
        .kernel_weights_
        for X in (np.r_[[[90.0, 90.0]], PAIR], np.r_[PAIR, [[90.0, 90.0]]])
    )
    assert_allclose(first, last, rtol=1e-6)


@pytest.mark.parametrize("kernels", [(2.0, 3.0), (1.5, 2.5), (0.5, 1.25), (0.05, 4.0)])
@pytest.mark.parametrize("scale", [None, "range", "robust"])
def test_a_shared_pre_image_is_the_best_point_of_a_fine_grid(kernels, scale):
    """Also if all kernels turn more than once over the table: u and u + 2/alpha then differ."""
    X = np.random.default_rng(0).normal(0, 0.05, (80, 2)) + np.repeat([[-0.8], [0.8]], 40, axis=0)
    model = MultipleKernelKMeans(
        2, kernels=kernels, shared=True, scale=scale, init=X[[3, -3]], tol=0
    ).fit(X)
    share = model.kernel_weights_**2 / np.array(model.kernel_.units)
    Z = model.kernel_.scale.to_units(X, "wrap")
    line = np.linspace(-3, 3, 6001)
    least = 0.0
    for c, column in np.ndindex(2, 2):
        own = Z[model.labels_ == c, column]
        loss = [
            s * (1 - np.cos(a * np.pi * (line[:, None] - own))).sum(axis=1)
            for s, a in zip(share, kernels, strict=True)
        ]
        least += np.sum(loss, axis=0).min()
    assert model.inertia_ <= least * (1 + 1e-6)


@pytest.mark.parametrize("kernel", WIDTH_KERNELS)
def test_cached_kernel_values_are_stored_once(kernel, monkeypatch):
    for module in (gram, combination):
        monkeypatch.setattr(module, "BLOCK_VALUES", 1 << 16)
    X = np.tile(PAIR, (20, 1))
    model = KernelKMeans(
        2, kernel=kernel, centroids="mean", init=PAIR[[0, -1]], max_iter=1, n_threads=1
    )
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * 8 * len(X) ** 2


def test_a_prediction_by_means_stores_no_kernel_values(monkeypatch):
    for module in (gram, combination):
        monkeypatch.setattr(module, "BLOCK_VALUES", 1 << 16)
    model = KernelKMeans(2, kernel="rbf", centroids="mean", random_state=0).fit(
        np.tile(PAIR, (4, 1))
    )
    X = np.tile(PAIR, (100, 1))
    tracemalloc.start()
    model.predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * 8 * len(X) * 4 * len(PAIR)


@pytest.mark.parametrize(
    "model", [KernelKMeans(2), FuzzyCMeans(2), KernelKMeans(2, kernel="linear")]
)
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("engine", ["native", "reference"])
def test_weights_whose_sum_overflows_give_the_same_centroids_as_small_ones(model, engine):
    w = np.random.default_rng(0).integers(1, 5, len(PAIR)) * 1.0
    model = clone(model).set_params(engine=engine, random_state=0)
    one, two = (clone(model).fit(PAIR, sample_weight=v) for v in (w, w * 2.0**1020))
    assert_array_equal(one.centroids_, two.centroids_)
    assert two.inertia_ == one.inertia_ * 2.0**1020 or two.inertia_ == np.inf


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("engine", ["native", "reference"])
def test_the_smallest_positive_reach_equals_reach_zero(engine):
    least, none = (
        NeuralGas(3, reach=reach, stages=1, engine=engine, random_state=0).fit(PAIR)
        for reach in (5e-324, 0)
    )
    assert_array_equal(least.labels_, none.labels_)
    assert_allclose(least.cluster_centers_, none.cluster_centers_, rtol=1e-6)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_rows_at_the_origin_do_not_deviate():
    K = np.zeros((6, 6))
    K[3:, 3:] = 1.0
    model = KernelKMeans(2, kernel="precomputed", centroids="mean", random_state=0).fit(K)
    assert_array_equal(model.deviation_, 0.0)
    assert_array_equal(model.labels_[:3] == model.labels_[3:], False)


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_labels_are_correct_if_the_objective_overflows(engine):
    model = KernelKMeans(2, kernel="linear", scale=None, engine=engine, init=PAIR[[0, -1]] * 1e149)
    model.fit(PAIR * 1e149, sample_weight=np.full(len(PAIR), 1e20))
    assert model.inertia_ == np.inf
    assert_array_equal(model.labels_, np.repeat([0, 1], 40))


@pytest.mark.parametrize("kernel", WIDTH_KERNELS)
@pytest.mark.parametrize("kinds", [2, 3, 5, 8])
def test_samples_of_rows_in_periodic_order_contain_all_kinds(kernel, kinds):
    """A sample at equal steps, one step per period, would contain a single kind of row."""
    middles = 3.0 * np.arange(kinds)
    X = np.random.default_rng(0).normal(0, 0.05, (16_000 * kinds, 1)) + np.resize(
        middles, (16_000 * kinds, 1)
    )
    model = KernelKMeans(kinds, kernel=kernel, scale="range", random_state=0).fit(X)
    assert_allclose(np.sort(model.cluster_centers_[:, 0]), middles, atol=0.01)


def sample_rows(w, max_rows):
    """Return the numbers of the rows in a sample, and their weights in it."""
    sample = MemoryTable(np.arange(len(w))[:, None], w).sample(max_rows, 0)
    return sample.X[:, 0], sample.weights


def test_a_sample_represents_the_weights():
    w = np.random.default_rng(0).uniform(size=5000) * (np.arange(5000) % 3 > 0)
    w[1234] = 500.0
    for max_rows in (100, 3000):
        at, weights = sample_rows(w, max_rows)
        assert weights.sum() == max_rows
        assert len(at) == len(np.unique(at)) <= max_rows
        assert (w[at] > 0).all()
        near = np.array(
            [weights[at < end].sum() / weights.sum() for end in (1234, 1235, 2000, 4000)]
        )
        share = np.array([w[:end].sum() / w.sum() for end in (1234, 1235, 2000, 4000)])
        # variance of independent draws
        assert (np.abs(near - share) <= 3 * np.sqrt(share * (1 - share) / max_rows)).all()
    at, weights = sample_rows(w, 5000)
    assert_array_equal(at, np.flatnonzero(w))
    assert_array_equal(weights, w[at])


PREDICTS = """
import resource
import numpy as np
from rekmeans import FuzzyCMeans

X = np.random.default_rng(0).normal(size=(200_000, 2))
model = FuzzyCMeans(100, kernel="laplace", random_state=0, max_iter=1).fit(X[:500])
model.predict(X[:500])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model.predict(X)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has other units elsewhere")
def test_a_prediction_stores_no_memberships():
    """The memberships of 200 000 rows in 100 clusters would take 160 MB; the rows take 3 MB."""
    printed = subprocess.run(
        [sys.executable, "-c", PREDICTS], capture_output=True, text=True, check=True
    ).stdout
    assert int(printed) < 80_000


@pytest.mark.parametrize(
    "make", [FuzzyCMeans, NeuralGas, lambda k, **own: SelfOrganizingMap((1, k), **own)]
)
def test_soft_rules_support_wide_tables_whose_distances_exceed_64_bits(make):
    wide = np.random.default_rng(1).normal(size=(6, 33_000))
    model = make(2, init=wide[:2], max_iter=2).fit(wide)
    assert_array_equal(model.predict(wide), model.labels_)
    assert np.isfinite(model.inertia_)
