"""The kernel printed in docs/method.md runs unchanged."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rekmeans import KernelKMeans
from rekmeans.kernels import KERNELS
from support.extension_rows import K, X
from support.paths import ROOT

PAGE = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def documented_kernel(monkeypatch):
    """Return the kernel on the page, registered for one test."""
    (block,) = [
        code
        for code in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
        if "KERNELS[" in code
    ]
    monkeypatch.setitem(KERNELS, "cosine", None)  # so that it is removed after the test
    namespace = {}
    exec(block, namespace)
    assert KERNELS["cosine"] is namespace["Cosine"]


@pytest.mark.parametrize("weighted", [False, True])
def test_it_runs_with_the_defaults_of_kernel_k_means(weighted):
    w = np.random.default_rng(1).uniform(0.5, 2, len(X)) if weighted else None
    model = KernelKMeans(K, kernel="cosine", random_state=0).fit(X, sample_weight=w)
    assert model.engine_ == "reference"
    assert (np.diff(model.history_["inertia"]) < 0).all()
    assert_array_equal(model.predict(X), model.labels_)
    # the objective and the centroids follow from the labels
    Z = (X - model.scale_.shift[:, 0]) / model.scale_.unit[:, 0]
    F = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    weights = np.ones(len(X)) if w is None else w
    totals = [weights[model.labels_ == c] @ F[model.labels_ == c] for c in range(K)]
    lengths = np.linalg.norm(totals, axis=1)
    assert_allclose(model.inertia_, 2 * (weights.sum() - lengths.sum()), rtol=1e-5)
    assert_allclose(model.centroids_, totals / lengths[:, None], atol=1e-2)


def test_a_zero_row_and_an_empty_cluster_give_finite_results():
    table = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    start = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    model = KernelKMeans(3, kernel="cosine", scale=None, init=start).fit(table)
    assert np.isfinite(model.inertia_)
    assert np.isfinite(model.centroids_).all()


@pytest.mark.parametrize("init", ["k-means++", "random", X[:K]], ids=["++", "random", "given"])
def test_a_missing_cell_raises_a_clear_error_with_the_defaults(init):
    table = X.copy()
    table[5, 1] = np.nan
    with pytest.raises(
        ValueError,
        match="KernelKMeans with kernel='cosine' does not support missing values",
    ):
        KernelKMeans(K, kernel="cosine", init=init, random_state=0).fit(table)


def test_an_outlier_raises_a_clear_error_with_the_defaults():
    table = np.concatenate([X, [[1e4, 1.0]]])
    model = KernelKMeans(K, kernel="cosine", random_state=0)
    with pytest.raises(ValueError, match="Use beyond='clip'"):
        model.fit(table)
    assert np.isfinite(model.set_params(beyond="clip").fit(table).inertia_)
