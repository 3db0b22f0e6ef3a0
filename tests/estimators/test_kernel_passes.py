"""The kernel estimators compared with plain loops, a public package and their limits."""

import json
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans

from rekmeans import (
    FuzzyCMeans,
    KernelKMeans,
    MahalanobisFuzzyCMeans,
    MultipleKernelKMeans,
    NeuralGas,
    RectifiedEulerKMeans,
    SelfOrganizingMap,
)
from support import kernel_oracle, multiple_kernel_oracle, oracle
from support.kernels import WIDTH_KERNELS, engines_of
from support.paths import DATA

K = 3
PASSES = 6
WIDTHS = {"euler": 0.15, "rbf": 0.2, "laplace": 0.3, "laplace-l2": 0.4}
FUZZINESS = 1.7
REACH = 0.8
POWER = 2.5
PRIOR = 0.2
ALPHAS = (0.05, 0.1, 0.2)
# grid distances of a map with K nodes in a row
LINE = np.exp(-(np.subtract.outer(np.arange(K), np.arange(K)) ** 2) / (2 * REACH**2))
LINE /= LINE.sum(axis=1, keepdims=True)  # h
GRID = 1e-6  # Euler features are rounded to 2^-23, their angles to about 1e-7
ROUNDING = 1e-9  # effect of the order of summation

engines = pytest.mark.parametrize("engine", ["reference", "native"])
kinds = pytest.mark.parametrize("kind", ["plain", "weights", "gaps", "weights and gaps"])
kernels = pytest.mark.parametrize("kernel", WIDTHS)


def example(kind, n=60, d=2):
    """Return rows around K centers, starting points that are not rows, and weights or None; the
    first K rows have no missing cells.
    """
    rng = np.random.default_rng(7)
    X = rng.uniform(0, 5, (K, d))[np.arange(n) % K] + 1.3 * rng.standard_normal((n, d))
    holes = rng.uniform(size=(n, d)) < (0.15 if "gaps" in kind else 0)
    holes[:K] = False
    holes[holes.all(axis=1)] = False
    w = rng.integers(0, 4, n) * rng.uniform(0.5, 1, n) if "weights" in kind else None
    return np.where(holes, np.nan, X), X[:K] + 0.3 * rng.standard_normal((K, d)), w


def tolerance(kernel):
    return GRID if kernel == "euler" else ROUNDING


def width(kernel):
    return {"alpha" if kernel == "euler" else "gamma": WIDTHS[kernel], "kernel": kernel}


COMMON = {"scale": None, "tol": 0.0}
RULES = {  # rule: the estimator, the rule of the oracle
    "hard": (partial(KernelKMeans, K), kernel_oracle.hard_rule),
    "fuzzy": (
        partial(FuzzyCMeans, K, fuzziness=FUZZINESS),
        partial(kernel_oracle.fuzzy_rule, fuzziness=FUZZINESS),
    ),
    "map": (
        partial(SelfOrganizingMap, (1, K), reach=REACH, stages=1),
        partial(kernel_oracle.som_rule, h=LINE),
    ),
    "gas": (
        partial(NeuralGas, K, reach=REACH, stages=1),
        partial(kernel_oracle.gas_rule, reach=REACH),
    ),
}
rules = pytest.mark.parametrize("rule", RULES)


def assert_passes(model, records, X, rtol):
    """Compare the objectives of all passes and the last labels; return the oracle's record of that
    pass.
    """
    inertias = model.history_["inertia"]
    assert len(inertias) > 1
    assert_allclose(inertias, [record.objective for record in records[: len(inertias)]], rtol=rtol)
    last = records[len(inertias) - 1]
    assert_array_equal(model.labels_, last.labels)
    assert_array_equal(model.predict(X), last.labels)
    return last


@kinds
@rules
@pytest.mark.parametrize(
    ("kernel", "engine"), [(kernel, engine) for kernel in WIDTHS for engine in engines_of(kernel)]
)
def test_rectified_passes_match_plain_loops(kernel, rule, kind, engine):
    (X, start, w) = example(kind)
    (method, shares) = RULES[rule]
    records = kernel_oracle.rectified_passes(
        X, start, kernel, WIDTHS[kernel], shares, PASSES + 1, w
    )
    model = method(**width(kernel), **COMMON, init=start, max_iter=PASSES, engine=engine).fit(
        X, sample_weight=w
    )
    last = assert_passes(model, records, X, tolerance(kernel))
    assert_allclose(model.cluster_centers_, last.centroids, atol=10 * tolerance(kernel))
    assert_allclose(model.deviation_, 0, atol=GRID)
    if rule == "fuzzy":
        assert_allclose(model.memberships_, last.memberships, atol=100 * tolerance(kernel))
        assert_array_equal(model.memberships(X), model.memberships_)


def square(X, kernel):
    return kernel_oracle.MATRICES[kernel](X, X, WIDTHS[kernel])


# no missing cells: the matrix would not be positive definite
@pytest.mark.parametrize("kind", ["plain", "weights"])
@rules
@kernels
def test_passes_with_means_match_plain_loops_over_the_kernel_matrix(kernel, rule, kind):
    (X, _, w) = example(kind)
    (method, shares) = RULES[rule]
    gram = square(X, kernel)
    at = np.arange(K) if w is None else np.flatnonzero(w)[:K]  # a row of weight 0 cannot be a start
    records = kernel_oracle.mean_passes(gram, np.eye(len(X))[at], shares, PASSES + 1, w)
    model = method(**width(kernel), **COMMON, centroids="mean", init=X[at], max_iter=PASSES).fit(
        X, sample_weight=w
    )
    last = assert_passes(model, records, X, tolerance(kernel))
    lengths = np.sqrt(kernel_oracle.norms(gram, last.centroids) / gram[0, 0])
    assert_allclose(model.deviation_, 1 - lengths, atol=tolerance(kernel))
    assert (model.deviation_ > 1e-3).all()
    if kernel != "euler":
        assert_allclose(model.centroids_, last.centroids, atol=ROUNDING)


@pytest.mark.parametrize("memory_limit", [None, 1000])
@kernels
def test_the_objective_of_kernel_k_means_has_the_trace_form(kernel, memory_limit):
    X, _, w = example("weights")
    model = KernelKMeans(
        K, **width(kernel), **COMMON, centroids="mean", random_state=0, memory_limit=memory_limit
    )
    model.fit(X, sample_weight=w)
    assert_allclose(
        model.inertia_,
        kernel_oracle.trace_objective(square(X, kernel), model.labels_, w),
        rtol=tolerance(kernel),
    )


@pytest.mark.parametrize("init", ["k-means++", "random"])
@pytest.mark.parametrize("kernel", WIDTH_KERNELS)
def test_a_precomputed_kernel_gives_the_fit_of_the_kernel(kernel, init):
    X, _, w = example("weights")
    common = {"init": init, "centroids": "mean", "random_state": 0}
    named = KernelKMeans(K, **width(kernel), scale=None, **common).fit(X, sample_weight=w)
    given = KernelKMeans(K, kernel="precomputed", **common).fit(square(X, kernel), sample_weight=w)
    assert_array_equal(given.labels_, named.labels_)
    assert_allclose(given.history_["inertia"], named.history_["inertia"], rtol=ROUNDING)
    assert_allclose(given.deviation_, named.deviation_, atol=ROUNDING)
    new = X + 0.4 * np.random.default_rng(1).standard_normal(X.shape)
    assert_array_equal(
        given.predict(kernel_oracle.MATRICES[kernel](new, X, WIDTHS[kernel])), named.predict(new)
    )
    assert len(set(named.predict(new))) == K


@pytest.mark.parametrize("points", ["separate", "shared"])
@kinds
def test_multiple_kernels_match_plain_loops(points, kind):
    X, start, w = example(kind)
    records = multiple_kernel_oracle.multiple_euler(X, start, ALPHAS, POWER, PASSES + 1, w, points)
    model = MultipleKernelKMeans(
        K,
        kernels=ALPHAS,
        power=POWER,
        shared=points == "shared",
        init=start,
        max_iter=PASSES,
        **COMMON,
    ).fit(X, sample_weight=w)
    inertias = model.history_["inertia"]
    total = len(X) if w is None else w.sum()
    assert len(inertias) > 2
    assert_allclose(
        inertias / total, [record.objective for record in records[: len(inertias)]], rtol=GRID
    )
    last = records[len(inertias) - 1]
    assert_array_equal(model.labels_, last.labels)
    assert_array_equal(model.predict(X), last.labels)
    assert_allclose(model.kernel_weights_, last.shares, rtol=GRID)
    turns = (model.kernel_centers_ - last.centroids) * np.array(ALPHAS)[:, None, None] / 2
    assert_allclose(turns - np.rint(turns), 0, atol=GRID)
    assert_array_equal(
        model.cluster_centers_, model.kernel_centers_[model.kernel_weights_.argmax()]
    )


@pytest.mark.parametrize("kernel", ["euler", "linear"])
@pytest.mark.parametrize("kind", ["plain", "weights"])
def test_shapes_match_plain_loops(kernel, kind):
    X, start, w = example(kind)
    alpha = WIDTHS["euler"]

    def mapped_rows(points):
        T = oracle.phases(points, alpha)
        return points if kernel == "linear" else np.concatenate([np.cos(T), np.sin(T)], axis=1)

    records = multiple_kernel_oracle.mahalanobis_fuzzy(
        mapped_rows(X), mapped_rows(start), FUZZINESS, PRIOR, PASSES + 1, w
    )
    own = {
        "kernel": kernel,
        "alpha": alpha,
        "fuzziness": FUZZINESS,
        "prior": PRIOR,
        "centroids": "mean",
    }
    model = MahalanobisFuzzyCMeans(K, **own, init=start, max_iter=PASSES, **COMMON).fit(
        X, sample_weight=w
    )
    inertias = model.history_["inertia"]
    rtol = tolerance(kernel)
    assert len(inertias) == PASSES + 1
    assert_allclose(inertias, [record.objective for record in records], rtol=rtol)
    assert_allclose(model.memberships_, records[-1].memberships, atol=100 * rtol)
    assert_array_equal(model.labels_, records[-1].memberships.argmax(axis=1))
    assert_allclose(model.shapes_, records[-1].shapes, rtol=100 * rtol, atol=100 * rtol)
    m = model.centroids_
    places = m if kernel == "linear" else np.concatenate([m.real, m.imag], axis=1)
    assert_allclose(places, records[-1].centroids, atol=10 * rtol)


# A public package


REFERENCE = json.loads((DATA / "kfcm_reference.json").read_text())


@engines
@pytest.mark.parametrize(
    "run", REFERENCE["runs"], ids=lambda run: f"m={run['m']}, {run['passes']} passes"
)
def test_fuzzy_rbf_matches_the_kfcm_of_fuzzy_c_means(run, engine):
    model = FuzzyCMeans(
        3,
        kernel="rbf",
        fuzziness=run["m"],
        gamma=run["gamma"],
        init=REFERENCE["start"],
        max_iter=run["passes"],
        **COMMON,
    )
    model.set_params(engine=engine).fit(REFERENCE["X"])
    atol = (
        1e-6 if run["passes"] > 5 else 1e-10
    )  # a run to convergence may stop a pass earlier or later
    assert_allclose(model.cluster_centers_, run["centres"], atol=atol)
    assert_allclose(model.memberships_, run["memberships"], atol=atol)


# Limits


@engines
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_wide_rbf_is_k_means(kernel, engine):
    X, start, w = example("weights")
    peer = KMeans(K, init=start, n_init=1, algorithm="lloyd", tol=0).fit(X, sample_weight=w)
    model = KernelKMeans(K, kernel=kernel, gamma=1e-9, init=start, engine=engine, **COMMON).fit(
        X, sample_weight=w
    )
    assert_array_equal(model.labels_, peer.labels_)
    assert_allclose(model.cluster_centers_, peer.cluster_centers_, rtol=1e-6)
    assert_allclose(model.inertia_ / (2e-9 if kernel == "rbf" else 1), peer.inertia_, rtol=1e-6)


@engines
@kinds
@pytest.mark.parametrize("method", [NeuralGas, SelfOrganizingMap])
def test_reach_zero_is_rectified_euler_k_means_bit_for_bit(method, kind, engine):
    X, start, w = example(kind)
    common = COMMON | {"alpha": 0.15, "init": start, "engine": engine}
    first = (1, K) if method is SelfOrganizingMap else K
    model = method(first, reach=0.0, stages=1, **common).fit(X, sample_weight=w)
    rek = RectifiedEulerKMeans(K, **common).fit(X, sample_weight=w)
    assert rek.n_iter_ > 2
    for name in ("labels_", "centroids_", "cluster_centers_", "n_iter_"):
        assert_array_equal(getattr(model, name), getattr(rek, name), err_msg=name)
    assert_allclose(model.history_["inertia"], rek.history_["inertia"], rtol=1e-12)


@engines
@kinds
def test_fuzziness_near_one_is_rectified_euler_k_means(kind, engine):
    X, start, w = example(kind)
    common = COMMON | {"alpha": 0.15, "init": start, "engine": engine}
    model = FuzzyCMeans(K, fuzziness=1.001, **common).fit(X, sample_weight=w)
    rek = RectifiedEulerKMeans(K, **common).fit(X, sample_weight=w)
    assert_array_equal(model.labels_, rek.labels_)
    assert_allclose(model.cluster_centers_, rek.cluster_centers_, atol=0.02)


@engines
@pytest.mark.parametrize("kind", ["plain", "weights"])
def test_a_map_with_one_node_is_the_mean_direction(kind, engine):
    X, _, w = example(kind)
    model = SelfOrganizingMap((1, 1), alpha=0.15, engine=engine, **COMMON).fit(X, sample_weight=w)
    S = np.average(np.exp(0.15j * np.pi * X), axis=0, weights=w)
    assert_allclose(model.cluster_centers_, np.angle(S)[None] / (0.15 * np.pi), atol=GRID)
    total = len(X) if w is None else w.sum()
    assert_allclose(model.inertia_, total * (1 - np.abs(S)).sum(), rtol=GRID)
