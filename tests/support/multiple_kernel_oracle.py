"""Oracles in plain loops: several weighted kernels, and one covariance shape per cluster."""

import math
from typing import NamedTuple

import numpy as np

from support.kernel_oracle import KERNELS, hard_rule, rectified_step
from support.oracle import memberships, phases

# several widths at once


class MultiplePass(NamedTuple):
    """One assignment pass with several alphas."""

    labels: np.ndarray  # (n,)
    centroids: np.ndarray  # (b, k, d) pre-images, each modulo its own 2/alpha, or one for all b
    shares: np.ndarray  # (b,) kernel weights of this pass, with sum 1
    losses: np.ndarray  # (b,) L_b / L1_b of these labels and centroids
    objective: float


def separate_step(X, V, W, alphas, pulls):
    """Move the separate points of each alpha to the circular mean for that alpha."""
    return np.array([rectified_step(X, V[b], W, "euler", alpha) for b, alpha in enumerate(alphas)])


def shared_step(X, V, W, alphas, pulls):
    """Move the shared points of all alphas.

    They are argmin_u sum_b pull_b sum_j W_jc (1 - cos(alpha_b pi (x_jl - u))), with u between the
    smallest and the largest cell.
    """
    new = V[0].copy()
    for c in range(new.shape[0]):
        for column in range(new.shape[1]):
            counted = ~np.isnan(X[:, column]) & (W[:, c] > 0)
            if counted.any():
                new[c, column] = shared_point(
                    X[counted, column], W[counted, c], new[c, column], alphas, pulls
                )
    return np.array([new for _ in alphas])


def shared_point(x, w, old, alphas, pulls):
    """Return the best shared point of one column, or `old` if that is better.

    The search takes the best of 401 points between the smallest and the largest cell, and then
    bisects the derivative next to it.
    """

    def loss(u):  # u is a point or an array of points
        gaps = np.subtract.outer(x, u)
        return sum(
            pull * (w @ (1 - np.cos(phases(gaps, a))))
            for a, pull in zip(alphas, pulls, strict=True)
        )

    def slope(u):
        return -sum(
            pull * a * (w @ np.sin(phases(x - u, a))) for a, pull in zip(alphas, pulls, strict=True)
        )

    grid = np.linspace(x.min(), x.max(), 401)
    best = np.argmin(loss(grid))
    low = grid[max(best - 1, 0)]
    high = grid[min(best + 1, 400)]
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return min((old, (low + high) / 2), key=loss)


STEPS = {"separate": separate_step, "shared": shared_step}


def multiple_euler(X, start, alphas, p, passes, w=None, points="separate"):
    """Minimize sum_b s_b^p L_b / L1_b with sum_b s_b = 1.

    L_b is the REK loss for alpha_b, and L1_b is the loss of all rows in one cluster.
    """
    X = np.asarray(X, dtype=np.float64)
    w = np.ones(len(X)) if w is None else np.asarray(w, dtype=np.float64)
    V = np.array([start for _ in alphas], dtype=np.float64)  # (b, k, d)
    single = np.zeros(len(alphas))  # L1_b, at the best point for that alpha
    for b, alpha in enumerate(alphas):
        one = rectified_step(X, np.zeros((1, X.shape[1])), w[:, None], "euler", alpha)
        single[b] = math.fsum(w * KERNELS["euler"].radii(X, one, alpha)[:, 0])
    single[single == 0] = 1  # equal rows have no loss for any alpha
    shares = np.full(len(alphas), 1 / len(alphas))
    records = []
    for _ in range(passes):
        D = np.zeros((len(alphas), len(X), V.shape[1]))
        for b, alpha in enumerate(alphas):
            D[b] = KERNELS["euler"].radii(X, V[b], alpha) / single[b]
        mixed = sum(shares[b] ** p * D[b] for b in range(len(alphas)))  # (n, k)
        labels, P, _ = hard_rule(mixed, mixed)
        losses = np.array([math.fsum((w[:, None] * P * D[b]).ravel()) for b in range(len(alphas))])
        records.append(MultiplePass(labels, V, shares, losses, math.fsum(shares**p * losses)))
        shares = memberships(losses[None], p)[0]  # s_b = losses_b^(-1/(p-1)) / sum
        V = STEPS[points](X, V, w[:, None] * P, alphas, shares**p / single)
    return records


# one covariance shape per cluster


class MahalanobisPass(NamedTuple):
    """One assignment pass with a metric per cluster."""

    memberships: np.ndarray  # (n, k)
    centroids: np.ndarray  # (k, p)
    shapes: np.ndarray  # (k, p, p), determinant 1
    objective: float


def mahalanobis_fuzzy(F, start, fuzziness, nu, passes, w=None):
    """Minimize sum_jc w_j u_jc^m D_jc with det A_c = 1, starting from A_c = I.

    D_jc = (f_j - m_c)' A_c (f_j - m_c) + nu s2 tr A_c.
    """
    F = np.asarray(F, dtype=np.float64)
    M = np.array(start, dtype=np.float64)
    w = np.ones(len(F)) if w is None else np.asarray(w, dtype=np.float64)
    k, p = M.shape
    # Mean squared distance to the mean, per column.
    s2 = np.sum(w[:, None] * (F - w @ F / w.sum()) ** 2) / w.sum() / p
    A = np.array([np.eye(p) for _ in range(k)])  # (k, p, p)
    records = []
    for _ in range(passes):
        D = np.zeros((len(F), k))
        for c in range(k):
            for j in range(len(F)):
                gap = F[j] - M[c]  # (p,)
                D[j, c] = gap @ A[c] @ gap + nu * s2 * np.trace(A[c])
        U = memberships(D, fuzziness)
        W = w[:, None] * U**fuzziness  # (n, k)
        records.append(MahalanobisPass(U, M, A, math.fsum((W * D).ravel())))
        M = M.copy()
        A = A.copy()
        for c in range(k):
            M[c] = W[:, c] @ F / W[:, c].sum()
            gaps = F - M[c]  # (n, p)
            S = (W[:, c, None] * gaps).T @ gaps / W[:, c].sum() + nu * s2 * np.eye(p)
            A[c] = np.linalg.det(S) ** (1 / p) * np.linalg.inv(S)
    return records
