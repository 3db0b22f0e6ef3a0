"""Invalid parameters of the kernel estimators, alone and combined, raise an error with the fix."""

import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone

from rekmeans import (
    FuzzyCMeans,
    KernelKMeans,
    MahalanobisFuzzyCMeans,
    MultipleKernelKMeans,
    NeuralGas,
    RectifiedEulerKMeans,
    SelfOrganizingMap,
)
from support.assertions import raises_mentioning
from support.kernels import WIDTH_KERNELS
from support.tables import with_missing_cells

# Errors

X = np.random.default_rng(0).normal(size=(12, 3))
POSITIVE = (0, -1, np.nan, np.inf, "1", None, True)
PARAMETERS = {
    KernelKMeans: {
        "kernel": [(value, ["'rbf'", "'precomputed'"]) for value in ("gauss", None, 1)],
        "gamma": [(value, ["greater than 0"]) for value in POSITIVE],
        "centroids": [(value, ["'mean'", "'rectified'"]) for value in ("median", None, 0)],
        "init": [("circle", ["'k-means++'", "'random'"])],
    },
    FuzzyCMeans: {
        "fuzziness": [
            (value, ["greater than 1", "at most 100"])
            for value in (1, 0.5, 101, np.nan, np.inf, "2", None)
        ],
        "kernel": [("precomputed", ["'rbf'"])],
    },
    SelfOrganizingMap: {
        "grid": [(value, ["(rows, columns)"]) for value in (3, (3,), (2, 2, 2), "22")],
        "reach": [(value, ["at least 0"]) for value in (-1, np.nan, "wide", None)],
        "init": [("planes", ["'plane'", "'k-means++'"])],
    },
    NeuralGas: {
        "reach": [(value, ["at least 0"]) for value in (-1, np.inf, None)],
        "start_reach": [(value, ["greater than 0"]) for value in (0, -1, "far")],
        "stages": [(value, ["at least 1"]) for value in (0, 2.5, None)],
    },
    MultipleKernelKMeans: {
        "kernels": [(value, ["list", "alpha"]) for value in ((), 5, None)],
        "power": [(value, ["greater than 1", "at most 100"]) for value in (1, 0, 101, np.nan, "2")],
    },
    MahalanobisFuzzyCMeans: {
        "prior": [(value, ["greater than 0"]) for value in POSITIVE],
        "kernel": [("rbf", ["'euler'", "'linear'"])],
        "beyond": [("ignore", ["'clip'", "'wrap'"])],
    },
}


@pytest.mark.parametrize(
    ("method", "name", "value", "words"),
    [
        pytest.param(method, name, value, words, id=f"{method.__name__} {name}={value!r}")
        for method, cases in PARAMETERS.items()
        for name, values in cases.items()
        for value, words in values
    ],
)
def test_an_invalid_parameter_raises(method, name, value, words):
    with raises_mentioning(ValueError, f"{name} must be", f"got {value!r}", *words):
        method(**{name: value} | ({} if method is SelfOrganizingMap else {"n_clusters": 2})).fit(X)


SQUARE = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
ASYMMETRIC = SQUARE.copy()
WITH_NAN = SQUARE.copy()
NEGATIVE_DIAGONAL = SQUARE - 2 * np.eye(12)
ASYMMETRIC[0, 1] = 9.0
WITH_NAN[2, 3] = np.nan
MEANS = KernelKMeans(2, kernel="precomputed", centroids="mean")
COMBINATIONS = {
    "grid side of zero": (SelfOrganizingMap((0, 3)), X, ["grid", "at least 1", "got 0"]),
    "more nodes than rows": (
        SelfOrganizingMap((5, 5)),
        X,
        ["grid=(5, 5)", "25", "12", "smaller grid"],
    ),
    "unknown kernel in a list": (
        MultipleKernelKMeans(2, kernels=(("gauss", 1.0),)),
        X,
        ["kernels", "'gauss'"],
    ),
    "triple in a list of kernels": (
        MultipleKernelKMeans(2, kernels=(("rbf", 1.0, 2),)),
        X,
        ["kernels", "('rbf', 1.0, 2)"],
    ),
    "negative width in a list of kernels": (
        MultipleKernelKMeans(2, kernels=(0.5, -1)),
        X,
        ["kernels", "greater than 0", "-1"],
    ),
    "shared centroids of non-Euler kernels": (
        MultipleKernelKMeans(2, kernels=(0.5, ("rbf", 1.0)), shared=True),
        X,
        ["shared", "Euler", "'rbf'"],
    ),
    "shared centroids with means": (
        MultipleKernelKMeans(2, shared=True, centroids="mean"),
        X,
        ["shared", "'mean'", "'rectified'"],
    ),
    "circle start for mixed kernels": (
        MultipleKernelKMeans(2, kernels=(0.5, ("rbf", 1.0)), init="circle"),
        X,
        ["init must be", "'k-means++'", "'random'", "got 'circle'"],
    ),
    "means of an RBF kernel in a list": (
        MultipleKernelKMeans(2, kernels=(("rbf", 1.0),), centroids="mean"),
        X,
        ["'mean'", "'rbf'"],
    ),
    "precomputed kernel, rectified centroids": (
        KernelKMeans(2, kernel="precomputed"),
        SQUARE,
        ["precomputed", "centroids='mean'"],
    ),
    "precomputed kernel, starting points": (
        clone(MEANS).set_params(init=X[:2]),
        SQUARE,
        ["precomputed", "init", "'k-means++'"],
    ),
    "matrix that is not square": (
        MEANS,
        SQUARE[:, :5],
        ["precomputed", "(n_samples, n_samples)", "(12, 5)"],
    ),
    "asymmetric matrix": (MEANS, ASYMMETRIC, ["precomputed", "symmetric"]),
    "negative diagonal": (MEANS, NEGATIVE_DIAGONAL, ["precomputed", "diagonal"]),
    "NaN among kernel values": (MEANS, WITH_NAN, ["precomputed", "NaN"]),
    "missing cells with covariances": (
        MahalanobisFuzzyCMeans(2),
        with_missing_cells(X),
        ["MahalanobisFuzzyCMeans", "NaN", "FuzzyCMeans"],
    ),
    "too many columns for covariances": (
        MahalanobisFuzzyCMeans(2),
        np.ones((3, 501)),
        ["500", "501"],
    ),
}


@pytest.mark.parametrize(("estimator", "rows", "words"), COMBINATIONS.values(), ids=COMBINATIONS)
def test_an_invalid_combination_raises(estimator, rows, words):
    with raises_mentioning(ValueError, *words) as caught:
        clone(estimator).fit(rows)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("method", ["transform", "score", "score_samples"])
def test_a_precomputed_kernel_supports_only_predict(method):
    fit = clone(MEANS).fit(SQUARE)
    assert_array_equal(fit.predict(SQUARE), fit.labels_)
    assert not hasattr(fit, "cluster_centers_")
    with raises_mentioning(ValueError, method, "predict"):
        getattr(fit, method)(SQUARE)


@pytest.mark.parametrize("kernel", WIDTH_KERNELS)
@pytest.mark.parametrize("method", [KernelKMeans, FuzzyCMeans, NeuralGas, SelfOrganizingMap])
def test_too_many_rows_for_kernel_means_raise_at_once(method, kernel):
    rows = np.zeros((1_000_000, 1))
    began = time.perf_counter()
    with raises_mentioning(
        ValueError, "centroids='mean'", "50000", "1000000", "8e+03 GB", "'rectified'", "sample"
    ):
        method(kernel=kernel, centroids="mean").fit(rows)
    assert time.perf_counter() - began < 5


ROWS = np.random.default_rng(0).normal(size=(300, 3))


@pytest.mark.parametrize("answer", ["predict", "transform", "score", "score_samples"])
def test_an_unknown_engine_raises_in_every_method(answer):
    model = RectifiedEulerKMeans(2, random_state=0).fit(ROWS).set_params(engine="bogus")
    with pytest.raises(ValueError, match="engine must be one of"):
        getattr(model, answer)(ROWS)


def test_predictions_use_the_fitted_kernel_not_a_parameter_set_later():
    model = KernelKMeans(2, random_state=0).fit(ROWS)
    labels = model.predict(ROWS)
    assert_array_equal(model.set_params(kernel="bogus").predict(ROWS), labels)


def test_an_estimator_with_any_parameter_has_an_html_representation():
    assert "KernelKMeans" in KernelKMeans(kernel=["rbf"])._repr_html_()


def test_a_wide_sparse_table_raises_before_it_is_made_dense():
    table = sparse.csr_array(([1.0, 2.0], ([0, 7], [1, 200_000])), shape=(5000, 300_000))
    with pytest.raises(ValueError, match="at most 500 features, got 300000"):
        MahalanobisFuzzyCMeans(2).fit(table)
