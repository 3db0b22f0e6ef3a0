"""Fits on skewed columns: values that wrap, pre-images, and sparse tables with large phases."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rekmeans import EulerKMeans, EulerMap, KernelKMeans, RectifiedEulerKMeans


def skewed(sign, n=400):
    return sign * np.random.default_rng(0).lognormal(0, 1.0, (n, 1))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    "make",
    [
        lambda: RectifiedEulerKMeans(2, beyond="wrap", random_state=0),
        lambda: EulerKMeans(2, beyond="wrap", random_state=0),
        lambda: KernelKMeans(2, kernel="linear", beyond="wrap", random_state=0),
    ],
)
def test_wrapped_values_have_one_interval_and_exact_pre_images(make, sign):
    X = skewed(sign)
    assert RectifiedEulerKMeans(2, random_state=0).fit(X).scale_.low.shape[1] > 1
    model = make().fit(X)
    assert model.scale_.low.shape[1] == 1
    assert_array_equal(model.predict(model.cluster_centers_), [0, 1])
    for c, center in enumerate(model.cluster_centers_):
        rows = X[model.labels_ == c]
        if isinstance(model, KernelKMeans):  # on circles, distant values wrap
            assert rows.min() <= center[0] <= rows.max()


def test_wrapped_values_are_mapped_with_the_unit_of_the_bulk():
    """The first interval of a reversed column is the end of its tail, with the largest unit."""
    one, other = (
        RectifiedEulerKMeans(2, beyond="wrap", random_state=0).fit(skewed(sign)).scale_
        for sign in (1, -1)
    )
    assert_allclose(one.unit, other.unit, rtol=0.2)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_inverse_map_returns_all_kept_values(sign):
    X = skewed(sign, 1000)
    mapper = EulerMap().fit(X)
    kept = mapper.kernel_.scale.inside(X)
    assert kept.mean() > 0.95
    found = mapper.inverse_transform(mapper.transform(X))
    assert_allclose(found[kept], X[kept], rtol=1e-4, atol=1e-4)


def test_differences_of_large_phases_of_sparse_rows_do_not_overflow():
    pytest.importorskip("rekmeans.engines.native._core")
    X = np.full((9, 2), 2.0**53)
    X[:, 1] = np.arange(9)
    X[0, 0] = 2.0**54
    X[1, 0] = 0
    X[2:, 0] += 2 * np.arange(7)
    centers = [
        RectifiedEulerKMeans(2, beyond="wrap", random_state=0, engine=engine)
        .fit(sparse.csr_array(X))
        .cluster_centers_
        for engine in ("reference", "native")
    ]
    assert_array_equal(*centers)
