"""Fits with linear and RBF kernels on a torch device agree with the reference engine up to
rounding.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

torch = pytest.importorskip("torch")

from rekmeans import KernelKMeans  # noqa: E402

KERNELS = {"linear": {}, "rbf": {"gamma": 0.7}, "wide rbf": {"gamma": "auto"}}
RTOL = 1e-9  # relative tolerance for float sums, as in docs/method.md


def table(with_gaps, with_errors=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4)) + 6 * rng.integers(0, 3, (900, 1)) + 1e4
    if with_gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
        X[np.isnan(X).all(axis=1)] = 1e4
    return X


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("with_gaps", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_a_fit_agrees_to_rounding(name, with_gaps, weighted, init, monkeypatch):
    monkeypatch.setattr("rekmeans.engines.torch.cells.HOST_CELLS", 1000)
    X = table(with_gaps)
    w = np.random.default_rng(1).uniform(0, 2, len(X)) if weighted else None
    settings = {
        "kernel": name.split()[-1],
        "n_clusters": 4,
        "random_state": 0,
        "init": init,
        "n_init": 2,
    }
    one = KernelKMeans(engine="reference", **settings, **KERNELS[name]).fit(X, sample_weight=w)
    for rows in (X, torch.from_numpy(X)):
        two = KernelKMeans(engine="torch", **settings, **KERNELS[name]).fit(rows, sample_weight=w)
        assert two.engine_ == "torch"
        assert type(two.labels_) is type(rows)
        assert_array_equal(one.labels_, np.asarray(two.labels_))
        assert_allclose(one.cluster_centers_, two.cluster_centers_, rtol=RTOL)
        assert_allclose(one.history_["inertia"], two.history_["inertia"], rtol=RTOL)
        assert_array_equal(one.predict(X), np.asarray(two.predict(rows)))
        assert_allclose(one.transform(X), np.asarray(two.transform(rows)), rtol=1e-6)


def test_an_empty_cluster_moves_to_the_farthest_row():
    X = np.array([[0.0], [0.1], [0.2], [5.0], [9.0]])
    start = np.array([[0.0], [100.0], [200.0]])
    one, two = (
        KernelKMeans(3, kernel="linear", scale=None, init=start, engine=engine).fit(X)
        for engine in ("reference", "torch")
    )
    assert one.history_["n_relocated"].sum() > 0
    assert_array_equal(one.labels_, two.labels_)
    assert_allclose(one.cluster_centers_, two.cluster_centers_, rtol=RTOL)


@pytest.mark.parametrize("count", [1, 2])
def test_two_runs_give_the_same_bits(count):
    X = table(True)
    fits = [
        KernelKMeans(5, kernel="rbf", random_state=count, engine="torch").fit(X) for _ in range(2)
    ]
    assert_array_equal(fits[0].cluster_centers_, fits[1].cluster_centers_)
