"""Invariants of the kernel estimators: monotone objective, local optimality, edge cases."""

import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from rekmeans import (
    FuzzyCMeans,
    KernelKMeans,
    MahalanobisFuzzyCMeans,
    MultipleKernelKMeans,
    NeuralGas,
    SelfOrganizingMap,
)
from rekmeans.estimators.placement import check_parameters, place_for_fit
from support import kernel_oracle
from support.kernels import NATIVE_KERNELS, WIDTH_KERNELS

K = 3
POINTS = ("euler", *WIDTH_KERNELS)
GRID = 1e-6  # bound on the effect of rounding a centroid to 2^-23
FLOAT = 1e-11
RULES = {
    "hard": partial(KernelKMeans, K),
    "fuzzy": partial(FuzzyCMeans, K, fuzziness=1.6),
    "map": partial(SelfOrganizingMap, (1, K), reach=0.7),
    "gas": partial(NeuralGas, K, reach=0.6),
}
METHODS = {
    **{
        f"{rule} {kernel}": partial(make, kernel=kernel)
        for rule, make in RULES.items()
        for kernel in POINTS
    },
    **{
        f"{rule} {kernel} mean": partial(RULES[rule], kernel=kernel, centroids="mean")
        for rule in RULES
        for kernel in POINTS
    },
    "hard linear": partial(KernelKMeans, K, kernel="linear"),
    "multiple": partial(MultipleKernelKMeans, K),
    "multiple mean": partial(MultipleKernelKMeans, K, centroids="mean"),
    "multiple shared": partial(MultipleKernelKMeans, K, kernels=(0.4, 0.9), shared=True),
    "multiple mixed": partial(
        MultipleKernelKMeans, K, kernels=(0.5, ("rbf", 2.0), ("laplace", 1.0), ("linear", 1.0))
    ),
    "mahalanobis": partial(MahalanobisFuzzyCMeans, K),
    "mahalanobis mean": partial(MahalanobisFuzzyCMeans, K, centroids="mean"),
    "mahalanobis linear": partial(MahalanobisFuzzyCMeans, K, kernel="linear"),
}
seeds = st.integers(0, 10**6)
methods = pytest.mark.parametrize("name", METHODS)


def table(seed, n=50, d=2):
    """Return overlapping groups with heavy tails and some repeated rows, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 3, (K, d))[rng.integers(0, K, n)] + 0.6 * rng.standard_t(4, (n, d))
    X[n // 2] = X[n // 3]
    return X, rng.uniform(0.5, 2, n)


# The objective never increases


@methods
@given(
    seed=seeds,
    width=st.sampled_from([0.3, 1.0, 4.0]),
    engine=st.sampled_from(["auto", "reference"]),
)
@settings(max_examples=6)
def test_no_pass_increases_the_objective(name, seed, width, engine):
    """Run passes without the loop, which would drop a pass that increases the objective; the reach
    is fixed.
    """
    X, w = table(seed)
    own = {"gamma": width} if "gamma" in METHODS[name]().get_params() else {}
    model = METHODS[name](scale="range", engine=engine, **own)
    check_parameters(model)
    placed = place_for_fit(model, X, w)
    C = placed.model.kernel.from_points(X[:K])
    for stage in placed.stages[-3:]:
        run = placed.rows.start_run(stage)
        losses = []
        for _ in range(6):
            assignment = run.assign(C)
            losses.append(float(assignment.sums.loss))
            C = run.update(assignment.sums, C)
        slack = (
            FLOAT
            if isinstance(losses[0], float) and "euler" not in name and name[:8] != "multiple"
            else GRID
        )
        assert (np.diff(losses) <= slack * np.array(losses[:-1])).all(), losses


# No nearby point is better


LINE = np.exp(-(np.subtract.outer(np.arange(K), np.arange(K)) ** 2) / (2 * 0.7**2))
ORACLES = {
    "hard": kernel_oracle.hard_rule,
    "fuzzy": partial(kernel_oracle.fuzzy_rule, fuzziness=1.6),
    "map": partial(kernel_oracle.som_rule, h=LINE / LINE.sum(axis=1, keepdims=True)),
    "gas": partial(kernel_oracle.gas_rule, reach=0.6),
}


@pytest.mark.parametrize("kernel", POINTS)
@pytest.mark.parametrize("rule", RULES)
@given(seed=seeds, width=st.sampled_from([0.1, 0.3, 0.8]), weighted=st.booleans())
@settings(max_examples=5)
def test_no_nearby_pre_image_is_better(rule, kernel, seed, width, weighted):
    X, w = table(seed)
    w = w if weighted else np.ones(len(X))
    own = {"alpha" if kernel == "euler" else "gamma": width}
    model = RULES[rule](kernel=kernel, scale=None, init=X[:K] + 0.01, tol=0.0, max_iter=5000, **own)
    U = model.fit(X, sample_weight=w).cluster_centers_
    radii, loss = kernel_oracle.KERNELS[kernel].radii, kernel_oracle.KERNELS[kernel].loss

    def losses(V):
        R = radii(X, V, width)
        return R, loss(R, width)

    shares = w[:, None] * ORACLES[rule](*losses(U))[2]  # fixed: they are the best ones for U
    least = (shares * losses(U)[1]).sum(axis=0)  # (k,)
    assert_allclose(least.sum(), model.inertia_, rtol=GRID)
    rng = np.random.default_rng(seed)
    # each row gives a local minimum at its own value
    for size in (1e-4, 1e-5) if kernel == "laplace" else (1e-3, 1e-2, 0.1):
        for step in (*np.eye(2), *-np.eye(2), *rng.normal(size=(4, 2))):
            there = (shares * losses(U + size * step / np.linalg.norm(step))[1]).sum(axis=0)
            # between two local minima the objective is concave
            bend = (size * width) ** 2 * shares.sum(axis=0) if kernel == "laplace" else 0.0
            assert (there >= least * (1 - 1e-9) - 1e-12 - bend).all(), (size, step, there - least)


@given(seed=seeds)
@settings(max_examples=8)
def test_no_nearby_angle_is_better_in_the_metric_of_a_shape(seed):
    X, w = table(seed)
    model = MahalanobisFuzzyCMeans(
        K, alpha=0.2, scale=None, fuzziness=1.6, tol=0.0, max_iter=2000, init=X[:K]
    )
    model.fit(X, sample_weight=w)
    T = 0.2 * np.pi * X
    angles = np.angle(model.centroids_)
    W = w[:, None] * model.memberships_**1.6

    def losses(V):
        gaps = [np.concatenate([np.cos(T) - np.cos(v), np.sin(T) - np.sin(v)], axis=1) for v in V]
        bent = [np.einsum("ij,jk,ik->i", g, A, g) for g, A in zip(gaps, model.shapes_, strict=True)]
        return (W * np.transpose(bent)).sum(axis=0)

    assert_allclose(model.deviation_, 0, atol=1e-6)
    assert_allclose(np.linalg.det(model.shapes_), 1, rtol=1e-9)
    for size in (1e-3, 1e-2, 0.1):
        for step in (*np.eye(2), *-np.eye(2)):
            assert (losses(angles + size * step) >= losses(angles) * (1 - 1e-9)).all()


@given(seed=seeds)
@settings(max_examples=8)
def test_no_nearby_shared_point_and_no_other_kernel_weights_are_better(seed):
    X, w = table(seed)
    alphas = (0.1, 0.25)
    power = 2.5
    model = MultipleKernelKMeans(
        K, kernels=alphas, power=power, shared=True, scale=None, tol=0.0, init=X[:K]
    )
    model.fit(X, sample_weight=w)
    U = model.cluster_centers_
    shares = model.kernel_weights_
    units = model.kernel_.units

    def losses(V):  # (b,)
        return (
            np.array(
                [
                    (w * (1 - np.cos(a * np.pi * (X - V[model.labels_]))).sum(axis=1)).sum()
                    for a in alphas
                ]
            )
            / units
        )

    least = shares**power @ losses(U)
    assert_allclose(least, model.inertia_, rtol=GRID)
    for size in (1e-3, 1e-2, 0.1):
        for c, column in np.ndindex(*U.shape):
            for side in (-size, size):
                aside = U.copy()
                aside[c, column] += side
                assert shares**power @ losses(aside) >= least * (1 - 1e-9)
        for side in (-size, size):
            assert (shares + np.array([side, -side])) ** power @ losses(U) >= least * (1 - 1e-9)


# Edge cases


NATIVE = [f"{rule} {kernel}" for rule in RULES for kernel in NATIVE_KERNELS] + [
    f"{rule} euler mean" for rule in RULES
]
PLACED = [
    *((name, "reference") for name in METHODS),
    *((name, "native") for name in METHODS if name in NATIVE),
]
ROWS = table(0)[0]
WITH_HUGE_CELL = np.where(np.arange(100).reshape(50, 2) == 7, 1e140, ROWS)
EDGES = {  # name: (table, parameters)
    "identical rows": (np.ones((12, 2)), {}),
    "two distinct rows": (np.tile([[0.0, 1.0], [1.0, 3.0]], (6, 1)), {}),
    "constant column": (np.column_stack([ROWS[:, 0], np.full(50, 7.0)]), {}),
    "one column": (ROWS[:, :1], {}),
    "as many clusters as rows": (ROWS[:K], {}),
    "huge": (ROWS * 1e149, {}),
    "huge, no scale": (ROWS * 1e149, {"scale": None}),
    "tiny": (ROWS * 1e-150, {}),
    "tiny, no scale": (ROWS * 1e-150, {"scale": None}),
    "subnormal": (ROWS * 1e-310, {}),
    "one huge cell": (WITH_HUGE_CELL, {}),
    "one huge cell, range scale": (WITH_HUGE_CELL, {"scale": "range"}),
    "far from zero": (ROWS + 1e9, {}),
    "flat": (ROWS, {"gamma": 1e-12}),
    "steep": (ROWS, {"gamma": 1e12}),
    "flat, no scale": (ROWS, {"gamma": 1e-12, "scale": None}),
    "steep, no scale": (ROWS, {"gamma": 1e12, "scale": None}),
    "steeper, no scale": (ROWS, {"gamma": 1e300, "scale": None}),
}


@pytest.mark.parametrize("case", EDGES)
@pytest.mark.parametrize(("name", "engine"), PLACED)
def test_an_edge_case_gives_finite_numbers_without_numpy_warnings(name, case, engine):
    X, own = EDGES[case]
    if "gamma" in own and "gamma" not in METHODS[name]().get_params():
        own = {key: value for key, value in own.items() if key != "gamma"}
    model = METHODS[name](random_state=0, engine=engine, max_iter=20, **own)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        fit = model.fit(X)
        answers = (fit.predict(X), fit.transform(X), fit.score_samples(X), fit.score(X))
    for values in (
        *answers,
        fit.inertia_,
        fit.cluster_centers_,
        fit.centroids_,
        fit.deviation_,
        fit.history_["inertia"],
    ):
        assert np.isfinite(values).all()
    assert fit.inertia_ >= 0
    assert_array_equal(answers[0], fit.labels_)
    assert -answers[3] == fit.inertia_
    assert ((fit.deviation_ > -1e-6) & (fit.deviation_ <= 1)).all()
    low, high = X.min(axis=0), X.max(axis=0)
    reach = 2 * (high - low) + 1e-5 * np.abs(X).max()
    assert ((fit.cluster_centers_ >= low - reach) & (fit.cluster_centers_ <= high + reach)).all()


@pytest.mark.parametrize("kernel", POINTS)
@pytest.mark.parametrize("rule", ["map", "gas"])
def test_a_reach_near_zero_equals_reach_zero(rule, kernel):
    method = RULES[rule].func
    own = {"kernel": kernel, "scale": "range", "stages": 1, "init": ROWS[:K]}
    first = RULES[rule].args[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        one, *others = (
            method(first, reach=reach, **own).fit(ROWS) for reach in (0.0, 1e-3, 1e-200, 1e-310)
        )
    for other in others:
        assert_array_equal(other.labels_, one.labels_)
        assert_allclose(other.cluster_centers_, one.cluster_centers_, atol=1e-6)


@pytest.mark.parametrize("kernel", POINTS)
def test_the_largest_exponents_give_finite_numbers(kernel):
    fuzzy = FuzzyCMeans(K, kernel=kernel, fuzziness=100.0, init=ROWS[:K] + 0.3).fit(ROWS)
    assert fuzzy.inertia_ > 0
    assert_allclose(np.median(fuzzy.memberships_, axis=0), 1 / K, atol=0.05)
    several = MultipleKernelKMeans(K, kernels=(0.5, (kernel, 1.0)), power=100.0, init=ROWS[:K]).fit(
        ROWS
    )
    assert several.inertia_ > 0
    assert_allclose(several.kernel_weights_, 0.5, atol=0.05)


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("kernel", ["euler", "rbf"])
def test_clusters_without_weight_keep_their_centroids(kernel, engine):
    """(1/k)^m underflows: no centroid has any weight, and none is far from the others."""
    X = np.random.default_rng(0).normal(size=(1800, 1))
    own = {"alpha" if kernel == "euler" else "gamma": 1e-3}
    model = FuzzyCMeans(
        1800, kernel=kernel, fuzziness=100.0, init=X[::-1] + 1e3, engine=engine, scale=None, **own
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = model.fit(X)
    assert fit.inertia_ == 0
    assert fit.history_["n_relocated"].tolist() == [0]


@methods
@pytest.mark.parametrize("n", [1, 2])
def test_a_row_or_two_are_enough(name, n):
    X = np.array([[1.0, 2.0], [3.0, -1.0]])[:n]
    first = (1, n) if name.startswith("map") else n
    method = METHODS[name].func
    own = {key: value for key, value in METHODS[name].keywords.items() if key != "reach"}
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        fit = method(first, random_state=0, **own).fit(X)
    assert len(fit.labels_) == n
    assert np.isfinite(fit.cluster_centers_).all()
    assert np.isfinite(fit.inertia_)
    if n == 1:
        assert_allclose(fit.cluster_centers_, X, atol=1e-6)
