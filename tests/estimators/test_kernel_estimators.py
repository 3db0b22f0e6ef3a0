"""The kernel estimators as scikit-learn estimators: conventions, tables, weights, units of X."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from rekmeans import (
    FuzzyCMeans,
    KernelKMeans,
    MahalanobisFuzzyCMeans,
    MultipleKernelKMeans,
    NeuralGas,
    SelfOrganizingMap,
)
from support.kernels import TABLE_KERNELS
from support.sklearn_checks import weight_equivalence_failures
from support.tables import with_missing_cells

DEFAULTS = [
    KernelKMeans(),
    FuzzyCMeans(),
    SelfOrganizingMap((2, 2)),
    NeuralGas(),
    MultipleKernelKMeans(),
    MahalanobisFuzzyCMeans(),
]
AFFECTED_CHECKS = (  # checks that depend on the kernel and the centroid rule
    "check_clustering",
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_estimator_sparse_array",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_methods_subset_invariance",
    "check_positive_only_tag_during_fit",
)


@parametrize_with_checks(DEFAULTS, expected_failed_checks=weight_equivalence_failures)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("rule", ["rectified", "mean"])
@pytest.mark.parametrize("kernel", TABLE_KERNELS)
def test_scikit_learn_accepts_every_kernel_and_rule(kernel, rule):
    checks = estimator_checks_generator(KernelKMeans(kernel=kernel, centroids=rule))
    selected = [
        (estimator, check) for estimator, check in checks if check.func.__name__ in AFFECTED_CHECKS
    ]
    assert {check.func.__name__ for _, check in selected} == set(AFFECTED_CHECKS)
    for estimator, check in selected:
        check(estimator)


MODELS = {
    **{
        f"{kernel} {rule}": KernelKMeans(3, kernel=kernel, centroids=rule, random_state=0)
        for kernel in TABLE_KERNELS
        for rule in ("rectified", "mean")
    },
    **{
        f"fuzzy {kernel}": FuzzyCMeans(3, kernel=kernel, random_state=0) for kernel in TABLE_KERNELS
    },
    "fuzzy rbf mean": FuzzyCMeans(3, kernel="rbf", centroids="mean", random_state=0),
    "map": SelfOrganizingMap((1, 3)),
    "map laplace": SelfOrganizingMap((3, 1), kernel="laplace", reach=0.7, stages=3),
    "gas": NeuralGas(3, random_state=0),
    "gas rbf": NeuralGas(3, kernel="rbf", reach=0.6, random_state=0),
    "multiple": MultipleKernelKMeans(3, random_state=0),
    "multiple shared": MultipleKernelKMeans(3, kernels=(0.5, 0.9), shared=True, random_state=0),
    "multiple mixed": MultipleKernelKMeans(
        3, kernels=(0.5, ("rbf", "auto"), ("laplace", 2.0)), random_state=0
    ),
    # closer to 1, rounding errors grow by a factor of 1e7
    "mahalanobis": MahalanobisFuzzyCMeans(3, fuzziness=1.5, random_state=0),
    "mahalanobis linear": MahalanobisFuzzyCMeans(3, kernel="linear", fuzziness=1.5, random_state=0),
}
HARD = ("euler", "linear", "rbf", "laplace", "laplace-l2", "multiple", "gas")
WITH_MISSING = [name for name in MODELS if "mahalanobis" not in name]
models = pytest.mark.parametrize("name", MODELS)


def model(name, **parameters):
    return clone(MODELS[name]).set_params(**parameters)


def table(seed=0, n=60, d=2, gaps=0.0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 4, (3, d))[np.arange(n) % 3] + 0.8 * rng.standard_normal((n, d))
    return with_missing_cells(X, gaps) if gaps else X


def assert_same(one, two, rows=slice(None), rtol=None):
    """Compare two fits up to rounding; `rows` selects labels of `two`.

    A sum may be rounded to the next step of the Euler grid, 2^-23.
    """
    rtol = (
        (1e-7 if "kernels" in one.get_params() or one.kernel == "euler" else 1e-9)
        if rtol is None
        else rtol
    )
    assert_array_equal(one.labels_, two.labels_[rows])
    assert_allclose(one.cluster_centers_, two.cluster_centers_, rtol=1e-6, atol=1e-6)
    assert_allclose(one.deviation_, two.deviation_, atol=1e-6)
    assert_allclose(one.inertia_, two.inertia_, rtol=rtol)
    passes = min(one.n_iter_, two.n_iter_)  # rounding may end a fit one pass earlier
    assert_allclose(one.history_["inertia"][:passes], two.history_["inertia"][:passes], rtol=rtol)


# Consistency of the fitted attributes


@models
@pytest.mark.parametrize("passes", [1, 2, 300])
def test_labels_centroids_and_objective_are_consistent_after_any_number_of_passes(name, passes):
    X = table(1, gaps=0.1 if name in WITH_MISSING else 0.0)
    fit = model(name, init=np.nan_to_num(X[:3], nan=1.0), max_iter=passes, tol=0.0).fit(X)
    assert_array_equal(fit.labels_, fit.predict(X))
    assert fit.inertia_ == -fit.score(X) == fit.history_["inertia"][-1]
    assert len({len(column) for column in fit.history_.values()}) == 1
    assert fit.transform(X).shape == (60, 3)
    if "map" not in name:
        assert_array_equal(fit.transform(X).argmin(axis=1), fit.labels_)
    if name.split()[0] in HARD and name != "gas rbf":  # whose reach stays above 0
        assert_allclose((fit.transform(X).min(axis=1) ** 2).sum(), fit.inertia_, rtol=1e-9)
    likeness = fit.score_samples(X)
    assert ((likeness > -1 - 1e-9) & (likeness <= 1)).all()


@models
def test_clones_and_pickles_give_the_same_results(name):
    X = table()
    fit = model(name).fit(X)
    for other in (clone(fit).fit(X), pickle.loads(pickle.dumps(fit))):
        for attribute in ("labels_", "centroids_", "cluster_centers_", "deviation_", "inertia_"):
            assert_array_equal(
                getattr(other, attribute), getattr(fit, attribute), err_msg=attribute
            )
        for method in ("predict", "transform", "score_samples", "score"):
            assert_array_equal(getattr(other, method)(X), getattr(fit, method)(X), err_msg=method)


# Tables and weights


@models
def test_tables_of_all_libraries_give_the_same_fit(name):
    X = np.where(table() > 1, table(), 0.0)
    gaps = (
        np.where(np.arange(120).reshape(60, 2) % 17 == 3, np.nan, X) if name in WITH_MISSING else X
    )
    plain = model(name).fit(gaps)
    assert_same(model(name).fit(pd.DataFrame(gaps, columns=["a", "b"])), plain, rtol=0)
    assert_same(
        model(name).fit(pl.DataFrame(gaps, schema=["a", "b"]).fill_nan(None)), plain, rtol=0
    )
    from_sparse = model(name).fit(sparse.csr_array(gaps))
    assert_same(from_sparse, plain)
    assert_array_equal(from_sparse.predict(sparse.csc_array(gaps)), plain.labels_)


@models
def test_a_row_of_weight_two_equals_two_rows(name):
    X = table(2)
    times = np.random.default_rng(2).integers(1, 3, 60)
    repeated = np.repeat(np.arange(60), times)
    one, two = (model(name, init=X[:3], tol=0.0, max_iter=5) for _ in range(2))
    one.fit(X[repeated])
    two.fit(X, sample_weight=times)
    assert_same(one, two, repeated)
    assert_allclose(one.score(X[repeated]), two.score(X, sample_weight=times), rtol=1e-7)


@models
@pytest.mark.parametrize("scale", ["robust", None])
def test_a_row_of_weight_zero_is_ignored(name, scale):
    X = table(3)
    weights = np.random.default_rng(3).integers(0, 3, 60)
    X[weights == 0] *= 50
    kept = weights > 0
    start = X[kept][:3]
    one, two = (model(name, init=start, tol=0.0, max_iter=5, scale=scale) for _ in range(2))
    one.fit(X[kept], sample_weight=weights[kept])
    two.fit(X, sample_weight=weights)
    # points are rounded to the Euler grid
    assert_same(one, two, kept, rtol=1e-7 if "shared" in name else 1e-9)


@models
def test_row_order_has_no_effect(name):
    X = table(4)
    order = np.random.default_rng(4).permutation(60)
    # given: "auto" draws from the rows
    widths = {"gamma": 3.0, "kernels": (0.5, ("rbf", 3.0), ("laplace", 2.0))}
    own = {
        key: value
        for key, value in widths.items()
        if key in MODELS[name].get_params() and "shared" not in name
    }
    one, two = (
        model(name, init=X[:3], tol=0.0, max_iter=5, **own).fit(rows) for rows in (X[order], X)
    )
    assert_same(one, two, order)


@models
@pytest.mark.parametrize("scale", ["robust", "range"])
def test_centers_are_in_units_of_x(name, scale):
    X = table(5)
    factor = np.array([0.25, 64.0])
    offset = np.array([1024.0, -8.0])
    one = model(name, init=X[:3], scale=scale, max_iter=5).fit(X)
    two = model(name, init=X[:3] * factor + offset, scale=scale, max_iter=5).fit(
        X * factor + offset
    )
    assert_array_equal(one.labels_, two.labels_)
    assert_allclose(two.inertia_, one.inertia_, rtol=1e-6)
    assert_allclose(
        (two.cluster_centers_ - offset) / factor, one.cluster_centers_, rtol=1e-5, atol=1e-5
    )
    middle = np.array([X[one.labels_ == c].mean(axis=0) for c in np.unique(one.labels_)])
    assert_allclose(one.cluster_centers_[np.unique(one.labels_)], middle, atol=1.0)
