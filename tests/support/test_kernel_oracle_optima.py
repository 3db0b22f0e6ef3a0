"""The kernel oracles end in local optima of points, weights and shapes; representation scores."""

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from support import kernel_oracle, multiple_kernel_oracle, oracle
from support.kernel_oracle_tables import (
    ALPHAS,
    POWER,
    RECTIFIED,
    WIDTHS,
    K,
    blobs,
    mapped_rows,
    weights_of,
)

# local optima


def converged_pass(run, X, start, w):
    """Return the last record of a run whose objective no longer falls."""
    records = run(X, start, 150, w)
    while records[0].objective > records[-1].objective:
        records = run(X, records[-1].centroids, 150, w)
    return records[-1]


@pytest.mark.parametrize("kernel", WIDTHS)
@pytest.mark.parametrize("rule", ["hard", "fuzzy", "som", "gas"])
def test_final_points_are_locally_optimal(rule, kernel):
    X, start = blobs(11, gaps=0.05)
    w = weights_of(len(X))
    width = WIDTHS[kernel]
    last = converged_pass(RECTIFIED[f"{rule} {kernel}"], X, start, w)
    W = w[:, None] * (last.memberships**1.7 if rule == "fuzzy" else last.memberships)

    # The memberships are fixed. Otherwise, a row next to a border might improve the objective.
    def objective(V):
        return (
            W
            * kernel_oracle.KERNELS[kernel].loss(
                kernel_oracle.KERNELS[kernel].radii(X, V, width), width
            )
        ).sum()

    assert objective(last.centroids) == pytest.approx(last.objective, rel=1e-12)
    rng = np.random.default_rng(0)
    for step in (1e-5, 1e-4, 1e-3, 1e-2):
        for _ in range(20):
            nearby = last.centroids + step * rng.standard_normal(last.centroids.shape)
            assert objective(nearby) >= last.objective * (1 - 1e-12)


@pytest.mark.parametrize("points", ["multiple", "shared"])
def test_final_points_and_shares_are_locally_optimal(points):
    X, start = blobs(11, gaps=0.05)
    w = weights_of(len(X))
    rng = np.random.default_rng(0)
    last = RECTIFIED[points](X, start, 12, w)[-1]
    single = [oracle.rek2(X, [[0.0] * X.shape[1]], alpha, 2, w)[-1].objective for alpha in ALPHAS]

    def objective(V, shares):
        own = []
        for b, alpha in enumerate(ALPHAS):
            D = oracle.angle_distances(oracle.phases(X, alpha), oracle.phases(V[b], alpha))
            own.append((w * D[np.arange(len(X)), last.labels]).sum() / single[b])
        return (shares**POWER * own).sum()

    assert objective(last.centroids, last.shares) == pytest.approx(last.objective, rel=1e-12)
    assert last.shares.sum() == pytest.approx(1)
    for step in (1e-4, 1e-3, 1e-2, 0.05):
        for _ in range(10):
            shape = (1 if points == "shared" else len(ALPHAS), *start.shape)
            other = last.shares * np.exp(step * rng.standard_normal(len(ALPHAS)))
            assert (
                objective(last.centroids + step * rng.standard_normal(shape), last.shares)
                >= last.objective
            )
            assert objective(last.centroids, other / other.sum()) >= last.objective


# several widths


@pytest.mark.parametrize("points", multiple_kernel_oracle.STEPS)
def test_one_width_gives_rek_and_equal_widths_get_equal_shares(points):
    X, start = blobs(2)
    # The table spans less than one half-turn, so that the circular mean is between the cells.
    alpha = 0.1
    assert alpha * np.ptp(X, axis=0).max() < 1
    single = oracle.rek2(X, start[:1], alpha, 2)[-1].objective  # all rows in one cluster
    paper = oracle.rek2(X, start, alpha, 15)
    for widths in ([alpha], [alpha, alpha]):
        records = multiple_kernel_oracle.multiple_euler(
            X, start, widths, 3, len(paper), None, points
        )
        for record, rek in zip(records, paper, strict=True):
            assert_array_equal(record.labels, rek.labels)
            assert_allclose(record.centroids[-1], rek.centroids / (alpha * math.pi), atol=1e-6)
            assert_allclose(record.shares, 1 / len(widths))
            share = len(widths) * (1 / len(widths)) ** 3
            assert record.objective == pytest.approx(share * rek.objective / single, rel=1e-12)


def test_shares_follow_from_the_losses_and_labels_from_the_shares():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, (200, 2))
    alphas = (0.02, 0.3, 0.9)
    records = multiple_kernel_oracle.multiple_euler(X, X[:K], alphas, 2, 6)
    assert_allclose(records[0].shares, 1 / 3)
    single = [oracle.rek2(X, X[:1], alpha, 2)[-1].objective for alpha in alphas]
    for now, after in pairwise(records):
        inverse = 1 / now.losses  # p = 2
        assert_allclose(after.shares, inverse / inverse.sum(), rtol=1e-12)
        assert now.objective == pytest.approx((now.shares**2 * now.losses).sum())
        for j, x in enumerate(X):
            sums = [
                sum(
                    s**2 * oracle.mapped_distance(x, v, alpha) / one
                    for s, v, alpha, one in zip(
                        after.shares, after.centroids[:, c], alphas, single, strict=True
                    )
                )
                for c in range(K)
            ]
            assert after.labels[j] == np.argmin(sums)


# one covariance shape per cluster


def test_the_shape_of_one_cluster_is_the_covariance_with_the_prior():
    F = np.random.default_rng(0).standard_normal((40, 3)) @ np.diag([3.0, 1.0, 0.2])
    w = weights_of(40)
    nu = 0.05
    first, second = multiple_kernel_oracle.mahalanobis_fuzzy(F, F[:1], 2.0, nu, 2, w)
    S = np.cov(F.T, aweights=w, ddof=0)
    s2 = np.trace(S) / 3
    assert first.objective == pytest.approx(
        (w * (((F - F[0]) ** 2).sum(axis=1) + 3 * nu * s2)).sum()
    )
    S += nu * s2 * np.eye(3)
    assert_allclose(second.shapes[0] @ S, np.linalg.det(S) ** (1 / 3) * np.eye(3), atol=1e-12)
    assert second.objective == pytest.approx(w.sum() * 3 * np.linalg.det(S) ** (1 / 3))


@pytest.mark.parametrize("nu", [0.001, 0.1])
def test_shapes_have_determinant_one_and_are_locally_optimal(nu):
    X, start = blobs(11)
    F = mapped_rows(X, 0.3)
    w = weights_of(len(X))
    m = 1.7
    last = multiple_kernel_oracle.mahalanobis_fuzzy(F, mapped_rows(start, 0.3), m, nu, 150, w)[-1]
    assert_allclose(np.linalg.det(last.shapes), 1, rtol=1e-9)
    s2 = np.trace(np.cov(F.T, aweights=w, ddof=0)) / F.shape[1]

    def objective(M, A):
        D = np.zeros(last.memberships.shape)
        for c in range(K):
            D[:, c] = np.sum((F - M[c]) @ A[c] * (F - M[c]), axis=1) + nu * s2 * np.trace(A[c])
        U = D ** (-1 / (m - 1))
        return (w[:, None] * (U / U.sum(axis=1, keepdims=True)) ** m * D).sum()

    assert objective(last.centroids, last.shapes) == pytest.approx(last.objective, rel=1e-10)
    rng = np.random.default_rng(0)
    for step in (1e-4, 1e-3, 1e-2):
        for _ in range(10):
            A = np.zeros_like(last.shapes)
            for c in range(K):
                turn = np.eye(F.shape[1]) + step * rng.standard_normal((F.shape[1], F.shape[1]))
                A[c] = turn @ last.shapes[c] @ turn.T
                A[c] /= np.linalg.det(A[c]) ** (1 / F.shape[1])
            M = last.centroids + step * rng.standard_normal(last.centroids.shape)
            assert objective(last.centroids, A) >= last.objective * (1 - 1e-10)
            assert objective(M, last.shapes) >= last.objective * (1 - 1e-10)


def test_shapes_separate_two_elongated_groups_that_round_clusters_split():
    rng = np.random.default_rng(0)
    truth = np.arange(120) % 2
    F = np.stack([rng.uniform(-5, 5, 120), 1.5 * truth + 0.1 * rng.standard_normal(120)], axis=1)
    start = [[-0.5, 0.2], [0.5, 1.3]]
    shaped = multiple_kernel_oracle.mahalanobis_fuzzy(F, start, 2.0, 1e-3, 60)[
        -1
    ].memberships.argmax(axis=1)
    round_ = kernel_oracle.fuzzy(F, start, "rbf", 1e-9, 2.0, 60)[-1].labels
    assert oracle.accuracy(truth, shaped) == 1
    assert oracle.accuracy(truth, round_) < 0.7


# representation of rows by points


@pytest.mark.parametrize("kernel", WIDTHS)
def test_the_loss_of_points_exceeds_that_of_means_by_their_distance(kernel):
    X, start = blobs(12)
    w = weights_of(len(X))
    width = WIDTHS[kernel]
    last = kernel_oracle.rectified_passes(X, start, kernel, width, kernel_oracle.hard_rule, 100, w)[
        -1
    ]
    found = kernel_oracle.representation(X, last.centroids, last.labels, kernel, width, w)
    M = kernel_oracle.MATRICES[kernel](X, X, width)
    assert found.rectified == pytest.approx(last.objective, rel=1e-12)
    assert found.mean == pytest.approx(kernel_oracle.trace_objective(M, last.labels, w), rel=1e-10)
    off = 0.0  # sum_c s_c |m_c - phi(v_c)|^2
    for c, v in enumerate(last.centroids):
        s = w * (last.labels == c)
        a = s / s.sum()
        own = kernel_oracle.MATRICES[kernel](v[None], v[None], width)[0, 0]
        off += s.sum() * (
            a @ M @ a - 2 * a @ kernel_oracle.MATRICES[kernel](X, v[None], width)[:, 0] + own
        )
    assert found.rectified - found.mean == pytest.approx(off, rel=1e-9)
    assert 0 < found.score < 1


@pytest.mark.parametrize("kernel", WIDTHS)
def test_random_rows_score_zero_on_average_and_narrow_kernels_score_low(kernel):
    X, _ = blobs(12, n=30)
    labels = np.zeros(30, dtype=int)
    w = weights_of(30)
    rows = [
        kernel_oracle.representation(X, x[None], labels, kernel, WIDTHS[kernel], w).score for x in X
    ]
    assert np.average(rows, weights=w) == pytest.approx(0, abs=1e-12)
    scores = []
    for factor in (0.01, 1, 100):
        width = factor * WIDTHS[kernel]
        last = kernel_oracle.rectified_passes(
            X, X[np.argmax(rows)][None], kernel, width, kernel_oracle.hard_rule, 60, w
        )[-1]
        scores.append(
            kernel_oracle.representation(X, last.centroids, last.labels, kernel, width, w).score
        )
    assert scores[0] > scores[1] > scores[2]


def test_the_euler_score_follows_from_the_resultant_lengths():
    alpha = 0.3
    (X, start) = blobs(12)
    last = oracle.rek2(X, start, alpha, 50)[-1]
    at_means = at_points = 0.0
    for c in range(K):
        inside = X[last.labels == c]
        R = np.abs(np.exp(1j * oracle.phases(inside, alpha)).mean(axis=0))
        at_means += len(inside) * (1 - R**2).sum() / 2
        at_points += len(inside) * (1 - R).sum()
    found = kernel_oracle.representation(
        X, last.centroids / (alpha * math.pi), last.labels, "euler", alpha
    )
    assert_allclose(found, (at_means, at_points, 2 - at_points / at_means), rtol=1e-9)
