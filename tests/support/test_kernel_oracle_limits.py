"""The kernel oracles in limits that equal other methods, and their means against explicit rows."""

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from support import kernel_oracle, oracle
from support.kernel_oracle_tables import WIDTHS, K, blobs, mapped_rows, weights_of

# limits that equal other methods


@pytest.mark.parametrize("kind", ["plain", "weights", "gaps"])
def test_a_wide_rbf_kernel_gives_k_means(kind):
    X, start = blobs(1, gaps=0.15 if kind == "gaps" else 0.0)
    w = weights_of(len(X)) if kind == "weights" else None
    gamma = 1e-9
    runs = (
        kernel_oracle.rectified_rbf(X, start, gamma, 20, w),
        kernel_oracle.gas(X, start, 0, "rbf", gamma, 20, w),
        kernel_oracle.som(X, start, np.eye(K), "rbf", gamma, 20, w),
        kernel_oracle.fuzzy(X, start, "rbf", gamma, 1.0001, 20, w),
    )
    for records in runs:
        for record, plain in zip(records, oracle.kmeans(X, start, 20, w), strict=False):
            assert_array_equal(record.labels, plain.labels)
            assert_allclose(record.centroids, plain.centroids, atol=1e-6)
            assert record.objective / (2 * gamma) == pytest.approx(plain.objective, rel=1e-4)


def test_a_wide_laplace_kernel_gives_k_medians():
    X, start = blobs(1, n=63)
    for before, after in pairwise(kernel_oracle.rectified_laplace(X, start, 1e-9, 10)):
        for c in range(K):
            inside = np.sort(X[before.labels == c], axis=0)
            # The median row, or the two middle rows of an even number.
            low = inside[(len(inside) - 1) // 2]
            high = inside[len(inside) // 2]
            assert ((after.centroids[c] == low) | (after.centroids[c] == high)).all()


@pytest.mark.parametrize("kind", ["plain", "weights", "gaps"])
def test_a_gas_without_reach_a_map_without_neighbours_and_hard_euler_equal_rek(kind):
    alpha = WIDTHS["euler"]
    (X, start) = blobs(2, gaps=0.15 if kind == "gaps" else 0.0)
    w = weights_of(len(X)) if kind == "weights" else None
    runs = (
        kernel_oracle.gas(X, start, 0, "euler", alpha, 20, w),
        kernel_oracle.gas(X, start, 1e-3, "euler", alpha, 20, w),
        kernel_oracle.som(X, start, np.eye(K), "euler", alpha, 20, w),
        kernel_oracle.rectified_passes(X, start, "euler", alpha, kernel_oracle.hard_rule, 20, w),
    )
    paper = oracle.rek2(X, start, alpha, 20, w)
    assert len(paper) > 2
    for records in runs:
        for record, rek in zip(records, paper, strict=False):
            assert_array_equal(record.labels, rek.labels)
            assert_allclose(
                np.exp(1j * oracle.phases(record.centroids, alpha)),
                np.exp(1j * rek.centroids),
                atol=1e-12,
            )
            assert record.objective == pytest.approx(rek.objective, rel=1e-12)


def test_a_fuzziness_close_to_one_gives_rek():
    alpha = WIDTHS["euler"]
    (X, start) = blobs(2)
    for record, rek in zip(
        kernel_oracle.fuzzy(X, start, "euler", alpha, 1.01, 20),
        oracle.rek2(X, start, alpha, 20),
        strict=False,
    ):
        clear = np.sort(record.memberships, axis=1)[:, -1] > 1 - 1e-6
        assert clear.mean() > 0.8
        assert_array_equal(record.labels, rek.labels)
        assert record.objective == pytest.approx(rek.objective, rel=0.01)
    assert_allclose(
        np.exp(1j * oracle.phases(record.centroids, alpha)), np.exp(1j * rek.centroids), atol=0.02
    )


def test_both_oracles_agree_on_their_common_methods():
    X, start = blobs(4)
    for ours, theirs in (
        (
            kernel_oracle.fuzzy(X, start, "euler", 0.3, 1.7, 10),
            oracle.fuzzy(X, start, 0.3, 1.7, 10),
        ),
        (
            kernel_oracle.rectified_rbf(X, start, 1 / (2 * 0.8**2), 10),
            oracle.rbf(X, start, 0.8, 10),
        ),
    ):
        for one, two in zip(ours, theirs, strict=True):
            assert_array_equal(one.labels, two.labels)
            assert one.objective == pytest.approx(two.objective, rel=1e-12)


def test_the_node_of_a_map_with_one_node_is_the_resultant():
    alpha = WIDTHS["euler"]
    (X, start) = blobs(6)
    node = kernel_oracle.som(X, start[:1], [[1.0]], "euler", alpha, 2)[1].centroids[0]
    S = np.exp(1j * oracle.phases(X, alpha)).sum(axis=0)
    assert_allclose(node, np.angle(S) / (alpha * math.pi), rtol=1e-12)


# mean centroids


@pytest.mark.parametrize("weighted", [False, True])
def test_kernel_k_means_with_the_linear_kernel_equals_k_means(weighted):
    X, start = blobs(1, d=3)
    w = weights_of(len(X)) if weighted else None
    records = kernel_oracle.kernel_kmeans(X @ X.T, np.eye(K, len(X)), 20, w)
    for record, plain in zip(records, oracle.kmeans(X, start, 20, w), strict=False):
        assert_array_equal(record.labels, plain.labels)
        assert_allclose(record.centroids @ X, plain.centroids, rtol=1e-10)
        assert record.objective == pytest.approx(plain.objective, rel=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_kernel_k_means_with_the_euler_kernel_equals_eulerk(weighted):
    alpha = 0.3
    (X, start) = blobs(1, d=3)
    w = weights_of(len(X)) if weighted else None
    E = kernel_oracle.euler_matrix(X, X, alpha)
    records = kernel_oracle.kernel_kmeans(E, np.eye(K, len(X)), 20, w)
    for record, paper in zip(records, oracle.eulerk(X, start, alpha, 20, w), strict=False):
        assert_array_equal(record.labels, paper.labels)
        assert record.objective == pytest.approx(paper.objective, rel=1e-10)
        deviation = 1 - np.sqrt(kernel_oracle.norms(E, record.centroids) / (3 / 2))
        assert_allclose(deviation, oracle.deviation(paper.centroids), atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", WIDTHS)
def test_the_trace_form_is_between_two_passes_and_equals_the_last(kernel, weighted):
    X, _ = blobs(7)
    w = weights_of(len(X)) if weighted else None
    M = kernel_oracle.MATRICES[kernel](X, X, WIDTHS[kernel])
    records = kernel_oracle.kernel_kmeans(M, np.random.default_rng(0).integers(0, K, len(X)), 20, w)
    for now, after in pairwise(records):
        trace = kernel_oracle.trace_objective(M, now.labels, w)
        assert after.objective - 1e-12 <= trace <= now.objective + 1e-12
    assert_array_equal(records[-1].labels, records[-2].labels)
    assert kernel_oracle.trace_objective(M, records[-1].labels, w) == pytest.approx(
        records[-1].objective, rel=1e-12
    )
    for c, a in enumerate(records[-1].centroids):  # |m_c|^2 as a double sum
        square = sum(a[q] * a[r] * M[q, r] for q in range(len(X)) for r in range(len(X)))
        assert kernel_oracle.norms(M, records[-1].centroids)[c] == pytest.approx(square, rel=1e-12)


def test_mean_distances_agree_with_explicit_rows():
    X, _ = blobs(8, d=3)
    F = mapped_rows(X, 0.3) / math.sqrt(2)
    records = kernel_oracle.kernel_fuzzy(F @ F.T, np.eye(K, len(X)), 1.7, 6)
    for record in records:
        means = record.centroids @ F  # (k, 2d)
        D = ((F[:, None] - means) ** 2).sum(axis=2)
        # The first centroids lie on rows, so the formula would divide by 0.
        U = D ** (-1 / 0.7) if record is not records[0] else record.memberships
        U = U / U.sum(axis=1, keepdims=True)
        assert_allclose(record.memberships, U, atol=1e-9)
        assert record.objective == pytest.approx((U**1.7 * D).sum(), rel=1e-9)


def test_a_mean_gas_without_reach_and_a_mean_map_without_neighbours_equal_kernel_k_means():
    X, _ = blobs(8)
    M = kernel_oracle.rbf_matrix(X, X, 0.4)
    A = np.eye(K, len(X))
    hard = kernel_oracle.kernel_kmeans(M, A, 8)
    for records in (
        kernel_oracle.kernel_gas(M, A, 0, 8),
        kernel_oracle.kernel_som(M, A, np.eye(K), 8),
    ):
        for one, two in zip(records, hard, strict=True):
            assert_array_equal(one.labels, two.labels)
            assert one.objective == pytest.approx(two.objective, rel=1e-12)
