"""Starts of all clusterers with all scales, missing values and weights: a valid fit or an error."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rekmeans import RectifiedEulerKMeans
from rekmeans.kernels import KERNELS
from support.assertions import assert_message_states_fix
from support.clusterers import CLUSTERERS, K

N = 40
# no first objective exceeds this multiple of the last one (measured: 22 at most)
MAX_RATIO = 1000
SCALES = ("robust", "range", "global", None)
RNG = np.random.default_rng(5)
# (N, 2)
COMPLETE = RNG.uniform(0, 3, (K, 2))[RNG.integers(0, K, N)] + 0.4 * RNG.standard_t(4, (N, 2))
# one missing cell per row at most
WITH_MISSING = np.where((np.arange(2 * N).reshape(N, 2) % 9) == 4, np.nan, COMPLETE)
WEIGHTS = RNG.uniform(0.5, 2, N)
SIMILARITY = np.exp(-0.5 * ((COMPLETE[:, None] - COMPLETE) ** 2).sum(axis=2))  # (N, N)
SIMILARITY_WITH_MISSING = np.where(np.eye(N)[::-1] == 1, np.nan, SIMILARITY)
FITS = [  # (has missing values, weights, max_iter)
    (False, None, 10),
    (False, None, 1),  # one pass, so that a bad start shows
    (False, WEIGHTS, 10),
    (True, None, 10),
    (True, WEIGHTS, 10),
]


def first_rows(X, n_clusters, random_state):
    """Return the first k rows, with missing cells replaced by a constant."""
    return np.nan_to_num(X[:n_clusters], nan=0.5)


STARTS = {
    "k-means++": "k-means++",
    "k-means||": "k-means||",
    "random": "random",
    "circle": "circle",
    "plane": "plane",
    "array": first_rows(COMPLETE, K, None),
    "callable": first_rows,
}

# Combinations that raise an error; all others must fit.
PRECOMPUTED = {name for name in CLUSTERERS if "precomputed" in name}
SHAPED = {name for name in CLUSTERERS if name.startswith("Mahalanobis")}
NOT_EULER = {
    name
    for name in CLUSTERERS
    for word in (*KERNELS, "mixed")
    if word != "euler" and f"-{word}" in name
}
# kernel values between rows have no points for rectified centroids
INVALID = {"KernelKMeans-precomputed-rectified"}
NOT_ADDITIVE = {  # kernels with medians or with means by kernel values
    name
    for name in CLUSTERERS
    if "-laplace" in name.replace("laplace-l2-rectified", "")
    or "-mixed" in name
    or ("-rbf-mean" in name)
}
INVALID_STARTS = {
    "k-means||": NOT_ADDITIVE | PRECOMPUTED,
    "circle": NOT_EULER,  # only Euler kernels map to circles
    "plane": {name for name in CLUSTERERS if not name.startswith("SelfOrganizingMap")},
    "array": PRECOMPUTED,
    "callable": PRECOMPUTED,
}
INVALID_MISSING_VALUES = SHAPED | PRECOMPUTED


def is_invalid(name, start, has_missing):
    by_start = name in INVALID_STARTS.get(start, ())
    return name in INVALID or by_start or (has_missing and name in INVALID_MISSING_VALUES)


def table_of(name, has_missing):
    complete, incomplete = (
        (SIMILARITY, SIMILARITY_WITH_MISSING) if name in PRECOMPUTED else (COMPLETE, WITH_MISSING)
    )
    return incomplete if has_missing else complete


def fit_without_numpy_warnings(name, start, scale, X, weights, max_iter):
    """Fit, and turn NumPy's warnings into errors."""
    model = CLUSTERERS[name](
        init=STARTS[start], scale=scale, max_iter=max_iter, n_init=2, random_state=3
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows out of range, empty clusters
        warnings.simplefilter("error", RuntimeWarning)
        return model.fit(X, sample_weight=weights)


def objectives(model):
    return model.history_["inertia" if "inertia" in model.history_ else "objective"]


def assert_objective_never_increases(model):
    found = objectives(model)
    assert np.isfinite(found).all()
    stage = np.asarray(
        model.history_.get("stage", model.history_.get("reach", np.zeros(len(found))))
    )
    within = stage[1:] == stage[:-1]
    assert (np.diff(found)[within] <= 0).all(), found
    assert found[0] <= MAX_RATIO * found[-1], found


def assert_predictions_match_the_fit(model, X, weights):
    assert_array_equal(model.predict(X), model.labels_)
    assert np.isfinite(model.inertia_)
    assert model.inertia_ >= 0
    assert model.inertia_ == objectives(model)[-1]
    if model.get_params().get("kernel") != "precomputed":
        assert model.score(X, sample_weight=weights) == -model.inertia_


def assert_centroids_are_valid(model, X):
    assert ((model.deviation_ > -1e-6) & (model.deviation_ <= 1)).all(), model.deviation_
    assert np.isfinite(model.centroids_).all()
    if model.get_params().get("kernel") == "precomputed":
        return
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    room = 2 * (high - low)
    U = model.cluster_centers_
    assert U.shape == (K, X.shape[1])
    assert ((U >= low - room) & (U <= high + room)).all(), U


def assert_weights_and_shapes_are_valid(model):
    if hasattr(model, "kernel_weights_"):
        shares = model.kernel_weights_
        assert ((shares >= 0) & (shares <= 1)).all(), shares
        assert_allclose(shares.sum(), 1, rtol=1e-12)
        assert np.isfinite(model.kernel_centers_).all()
    if hasattr(model, "memberships_"):
        assert ((model.memberships_ >= 0) & (model.memberships_ <= 1)).all()
        assert_allclose(model.memberships_.sum(axis=1), 1, rtol=1e-12)
    if hasattr(model, "shapes_"):
        assert_allclose(np.linalg.det(model.shapes_), 1, rtol=1e-6)
        assert_allclose(model.shapes_, model.shapes_.transpose(0, 2, 1), rtol=1e-9, atol=1e-12)
        assert (np.linalg.eigvalsh(model.shapes_) > 0).all()


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("name", CLUSTERERS)
def test_a_start_gives_a_valid_fit_or_raises(name, start, scale):
    for has_missing, weights, max_iter in FITS:
        X = table_of(name, has_missing)
        if is_invalid(name, start, has_missing):
            with pytest.raises((ValueError, TypeError)) as caught:
                fit_without_numpy_warnings(name, start, scale, X, weights, max_iter)
            assert_message_states_fix(caught.value)
            continue
        model = fit_without_numpy_warnings(name, start, scale, X, weights, max_iter)
        assert_predictions_match_the_fit(model, X, weights)
        assert_objective_never_increases(model)
        assert_centroids_are_valid(model, X)
        assert_weights_and_shapes_are_valid(model)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", [name for name in CLUSTERERS if name not in PRECOMPUTED])
def test_a_callable_and_the_array_it_returns_give_one_fit(name, scale):
    by_call, by_array = (
        fit_without_numpy_warnings(name, start, scale, COMPLETE, WEIGHTS, 10)
        for start in ("callable", "array")
    )
    assert_array_equal(by_call.labels_, by_array.labels_)
    assert_array_equal(by_call.cluster_centers_, by_array.cluster_centers_)
    assert_array_equal(objectives(by_call), objectives(by_array))


def test_heavy_candidates_give_the_same_start_on_every_engine():
    """The weight of a candidate, a sum over the rows nearest to it, exceeds 2^43, so Python
    integers are used.
    """
    random = np.random.default_rng(0)
    rows = random.normal(size=(20_000, 2)) * 0.1
    rows[:50] += random.normal(size=(50, 2)) * 5
    weights = random.integers(1, 5, len(rows))
    one, two = (
        RectifiedEulerKMeans(4, init="k-means||", engine=engine, max_iter=2, random_state=0).fit(
            rows, None, weights
        )
        for engine in ("reference", "native")
    )
    assert_array_equal(one.labels_, two.labels_)
    assert_array_equal(one.centroids_, two.centroids_)
