"""Parameters of the kernel estimators, and combinations of them, that are refused in one
sentence.
"""

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

# refusals

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
def test_a_bad_parameter_is_refused(method, name, value, words):
    with raises_mentioning(ValueError, f"{name} must be", f"got {value!r}", *words):
        method(**{name: value} | ({} if method is SelfOrganizingMap else {"n_clusters": 2})).fit(X)


SQUARE = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
LOPSIDED = SQUARE.copy()
HOLED = SQUARE.copy()
BELOW = SQUARE - 2 * np.eye(12)
LOPSIDED[0, 1] = 9.0
HOLED[2, 3] = np.nan
MEANS = KernelKMeans(2, kernel="precomputed", centroids="mean")
COMBINATIONS = {
    "a side of no nodes": (SelfOrganizingMap((0, 3)), X, ["grid", "at least 1", "got 0"]),
    "more nodes than rows": (
        SelfOrganizingMap((5, 5)),
        X,
        ["grid=(5, 5)", "25", "12", "lower grid"],
    ),
    "an unknown kernel of several": (
        MultipleKernelKMeans(2, kernels=(("gauss", 1.0),)),
        X,
        ["kernels", "'gauss'"],
    ),
    "a triple of several": (
        MultipleKernelKMeans(2, kernels=(("rbf", 1.0, 2),)),
        X,
        ["kernels", "('rbf', 1.0, 2)"],
    ),
    "a width of several": (
        MultipleKernelKMeans(2, kernels=(0.5, -1)),
        X,
        ["kernels", "greater than 0", "-1"],
    ),
    "shared points of other kernels": (
        MultipleKernelKMeans(2, kernels=(0.5, ("rbf", 1.0)), shared=True),
        X,
        ["shared", "Euler", "'rbf'"],
    ),
    "shared means": (
        MultipleKernelKMeans(2, shared=True, centroids="mean"),
        X,
        ["shared", "'mean'", "'rectified'"],
    ),
    "a start on circles of mixed kernels": (
        MultipleKernelKMeans(2, kernels=(0.5, ("rbf", 1.0)), init="circle"),
        X,
        ["init must be", "'k-means++'", "'random'", "got 'circle'"],
    ),
    "means of several": (
        MultipleKernelKMeans(2, kernels=(("rbf", 1.0),), centroids="mean"),
        X,
        ["'mean'", "'rbf'"],
    ),
    "precomputed, rectified": (
        KernelKMeans(2, kernel="precomputed"),
        SQUARE,
        ["precomputed", "centroids='mean'"],
    ),
    "precomputed, points": (
        clone(MEANS).set_params(init=X[:2]),
        SQUARE,
        ["precomputed", "init", "'k-means++'"],
    ),
    "not square": (MEANS, SQUARE[:, :5], ["precomputed", "square", "(12, 5)"]),
    "asymmetric": (MEANS, LOPSIDED, ["precomputed", "symmetric"]),
    "negative lengths": (MEANS, BELOW, ["precomputed", "diagonal"]),
    "NaN among kernel values": (MEANS, HOLED, ["precomputed", "NaN"]),
    "gaps under shapes": (
        MahalanobisFuzzyCMeans(2),
        with_missing_cells(X),
        ["MahalanobisFuzzyCMeans", "NaN", "FuzzyCMeans"],
    ),
    "too many columns for shapes": (MahalanobisFuzzyCMeans(2), np.ones((3, 501)), ["500", "501"]),
}


@pytest.mark.parametrize(("estimator", "rows", "words"), COMBINATIONS.values(), ids=COMBINATIONS)
def test_what_does_not_go_together_is_refused_in_a_sentence(estimator, rows, words):
    with raises_mentioning(ValueError, *words) as caught:
        clone(estimator).fit(rows)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("method", ["transform", "score", "score_samples"])
def test_precomputed_values_answer_by_predict_alone(method):
    fit = clone(MEANS).fit(SQUARE)
    assert_array_equal(fit.predict(SQUARE), fit.labels_)
    assert not hasattr(fit, "cluster_centers_")
    with raises_mentioning(ValueError, method, "predict"):
        getattr(fit, method)(SQUARE)


@pytest.mark.parametrize("kernel", WIDTH_KERNELS)
@pytest.mark.parametrize("method", [KernelKMeans, FuzzyCMeans, NeuralGas, SelfOrganizingMap])
def test_too_many_pairs_are_refused_at_once(method, kernel):
    rows = np.zeros((1_000_000, 1))
    began = time.perf_counter()
    with raises_mentioning(
        ValueError, "centroids='mean'", "50000", "1000000", "8e+03 GB", "'rectified'", "sample"
    ):
        method(kernel=kernel, centroids="mean").fit(rows)
    assert time.perf_counter() - began < 5


ROWS = np.random.default_rng(0).normal(size=(300, 3))


@pytest.mark.parametrize("answer", ["predict", "transform", "score", "score_samples"])
def test_an_unknown_engine_is_refused_in_every_answer(answer):
    model = RectifiedEulerKMeans(2, random_state=0).fit(ROWS).set_params(engine="bogus")
    with pytest.raises(ValueError, match="engine must be one of"):
        getattr(model, answer)(ROWS)


def test_answers_go_by_the_fitted_kernel_not_by_a_parameter_set_later():
    model = KernelKMeans(2, random_state=0).fit(ROWS)
    labels = model.predict(ROWS)
    assert_array_equal(model.set_params(kernel="bogus").predict(ROWS), labels)


def test_an_estimator_with_any_parameter_has_an_html_representation():
    assert "KernelKMeans" in KernelKMeans(kernel=["rbf"])._repr_html_()


def test_a_wide_sparse_table_is_refused_before_it_is_made_dense():
    table = sparse.csr_array(([1.0, 2.0], ([0, 7], [1, 200_000])), shape=(5000, 300_000))
    with pytest.raises(ValueError, match="at most 500 features, got 300000"):
        MahalanobisFuzzyCMeans(2).fit(table)
